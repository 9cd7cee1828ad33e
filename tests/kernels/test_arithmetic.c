/*
 * Chains of arithmetic on every instruction set, against one operation after the other on single doubles:
 * each step alone at every length and alignment, random chains, and what a watch sees.
 */
#include <float.h>

#include "check.h"

#include "hmath.h"
#include "kernels/kernels.h"

enum { MOST = 300, STEPS = 48 };

static double x[MOST + 3], y[MOST + 3], out[MOST + 3], other[MOST + 3];

/* xorshift64* (Vigna 2016) */
static uint64_t next(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717u;
}

/* Of either sign, over 2^-30 ... 2^30. */
static double some_number(void)
{
    double fraction = 1.0 + (double)(next() >> 12) * 0x1p-52;
    return ldexp(next() & 1 ? fraction : -fraction, (int)(next() % 61) - 30);
}

static void fill(void)
{
    for (int i = 0; i < MOST + 3; i++) {
        x[i] = some_number();
        y[i] = some_number();
        out[i] = other[i] = -7.0;
    }
}

static double compute(int64_t code, double a, double b, double number)
{
    switch ((hm_chain_code)code) {
    case HM_CHAIN_LOAD: return b;
    case HM_CHAIN_ADD:
    case HM_CHAIN_ADD_NUMBER: return a + b;
    case HM_CHAIN_SUBTRACT:
    case HM_CHAIN_SUBTRACT_NUMBER: return a - b;
    case HM_CHAIN_SUBTRACT_FROM:
    case HM_CHAIN_SUBTRACT_FROM_NUMBER: return b - a;
    case HM_CHAIN_MULTIPLY:
    case HM_CHAIN_MULTIPLY_NUMBER: return a * b;
    case HM_CHAIN_DIVIDE:
    case HM_CHAIN_DIVIDE_NUMBER: return a / b;
    case HM_CHAIN_DIVIDE_INTO:
    case HM_CHAIN_DIVIDE_INTO_NUMBER: return b / a;
    case HM_CHAIN_NEGATE: return -a;
    case HM_CHAIN_SQUARE: return a * a;
    case HM_CHAIN_SQRT: return sqrt(a);
    case HM_CHAIN_ADD_PRODUCT: {
        volatile double product = b * number; /* rounded, whatever the compiler would like */
        return a + product;
    }
    case HM_CHAIN_SUBTRACT_PRODUCT: {
        volatile double product = b * number;
        return a - product;
    }
    case HM_CHAIN_SUBTRACT_FROM_PRODUCT: {
        volatile double product = b * number;
        return product - a;
    }
    case HM_CHAIN_ADD_FUSED: return fma(b, number, a);
    default: return a;
    }
}

static int takes_number(int64_t code)
{
    return code >= HM_CHAIN_ADD_NUMBER && code <= HM_CHAIN_DIVIDE_INTO_NUMBER;
}

/* The chain on element i; STORE is left to the caller. */
static double follow(const hm_chain_step *steps, int64_t count, size_t i, int *finite)
{
    double a = 0;
    for (int64_t s = 0; s < count; s++) {
        const hm_chain_step *step = &steps[s];
        if (step->code == HM_CHAIN_WATCH)
            *finite &= isfinite(a) != 0;
        else if (step->code != HM_CHAIN_STORE)
            a = compute(step->code, a, step->x ? step->x[takes_number(step->code) ? 0 : i] : 0,
                        step->y ? *step->y : 0);
    }
    return a;
}

/* `steps` end in a STORE to `to`. */
static void check_chain(const hm_kernels *k, const hm_chain_step *steps, int64_t count,
                        const double *to, size_t n)
{
    int finite = 1;
    double wanted[MOST], beyond = to[n];
    for (size_t i = 0; i < n; i++)
        wanted[i] = follow(steps, count, i, &finite);
    CHECK_INT(k->arithmetic->chain(n, steps, count), finite);
    for (size_t i = 0; i < n; i++)
        if (!CHECK_BITS(to[i], wanted[i]))
            printf("  %s, element %zu of %zu\n", k->name, i, n);
    CHECK_BITS(to[n], beyond);
}

static void test_chain__each_step(const hm_kernels *k)
{
    for (int64_t code = HM_CHAIN_LOAD; code < HM_CHAIN_STORE; code++)
        for (size_t n = 0; n <= 140; n += n < 20 ? 1 : 13) {
            const size_t shift = n % 3;
            double number = 0.7;
            fill();
            const hm_chain_step steps[] = {{HM_CHAIN_LOAD, {x + shift}, NULL},
                                           {code, {takes_number(code) ? y : y + 1}, &number},
                                           {HM_CHAIN_WATCH, {NULL}, NULL},
                                           {HM_CHAIN_STORE, {.out = out + 2}, NULL}};
            check_chain(k, steps, 4, out + 2, n);
        }
}

/* Quotients are those of a division whatever the number, and wherever in a strip something unusual stands. */
static void test_chain__division_by_a_number(const hm_kernels *k)
{
    const double unusual[] = {0.0,      -0.0,      0x1p-1074, -0x1.8p-1022, 0x1p-801, 0x1p801,
                              0x1p1023, -INFINITY, NAN,       DBL_MAX,      DBL_MIN,  1.0};
    const double numbers[] = {1.0,
                              -3.0,
                              0x1.fffffffffffffp+0,
                              0x1.0000000000001p-1,
                              0x1p-100,
                              -0x1p100,
                              0x1.8p-101,
                              0x1.8p100,
                              0x1p-1074,
                              0x1p1023,
                              0.0,
                              INFINITY,
                              1.0 / 3};
    const size_t count = sizeof unusual / sizeof *unusual;
    for (size_t c = 0; c < 200; c++) {
        const size_t n = 100 + c % 70;
        const double number = c < sizeof numbers / sizeof *numbers ? numbers[c] : some_number();
        fill();
        const hm_chain_step steps[] = {{HM_CHAIN_LOAD, {x}, NULL},
                                       {HM_CHAIN_DIVIDE_NUMBER, {&number}, NULL},
                                       {HM_CHAIN_STORE, {.out = out}, NULL}};
        check_chain(k, steps, 3, out, n);
        for (size_t i = 0; i < n; i += 50)
            x[(i + c) % n] = unusual[(i / 50 + c) % count];
        check_chain(k, steps, 3, out, n);
        for (size_t i = 0; i < n; i++) /* the ends of what is moderate */
            x[i] = ldexp(x[i], next() & 1 ? 770 : -770);
        check_chain(k, steps, 3, out, n);
    }
}

/* Roots are those of the instruction in strips of positive numbers, and wherever in one something else stands. */
static void test_chain__roots(const hm_kernels *k)
{
    const double unusual[] = {0.0,  -0.0,    0x1p-1074, 0x1.fffffffffffffp-961, 0x1p-960, INFINITY,
                              -1.0, DBL_MAX, NAN,       0x1.fffffffffffffp+1,   DBL_MIN};
    const size_t count = sizeof unusual / sizeof *unusual;
    const hm_chain_step steps[] = {{HM_CHAIN_LOAD, {x}, NULL},
                                   {HM_CHAIN_SQRT, {NULL}, NULL},
                                   {HM_CHAIN_STORE, {.out = out}, NULL}};
    for (size_t c = 0; c < 60; c++) {
        const size_t n = 100 + c % 70;
        fill();
        for (size_t i = 0; i < n; i++)
            x[i] = fabs(x[i]);
        check_chain(k, steps, 3, out, n);
        for (size_t i = 0; i < n; i += 50)
            x[(i + c) % n] = unusual[(i / 50 + c) % count];
        check_chain(k, steps, 3, out, n);
    }
}

/* One that stores on the way and reads that again, in place too. */
static void test_chain__through_memory(const hm_kernels *k)
{
    for (size_t n = 0; n < 200; n += 37) {
        fill();
        const hm_chain_step steps[] = {{HM_CHAIN_LOAD, {x}, NULL},
                                       {HM_CHAIN_MULTIPLY, {y}, NULL},
                                       {HM_CHAIN_STORE, {.out = other}, NULL},
                                       {HM_CHAIN_SQUARE, {NULL}, NULL},
                                       {HM_CHAIN_SUBTRACT, {other}, NULL},
                                       {HM_CHAIN_STORE, {.out = other}, NULL}};
        double wanted[MOST];
        for (size_t i = 0; i < n; i++) {
            const volatile double product = x[i] * y[i], square = product * product;
            wanted[i] = square - product;
        }
        CHECK(k->arithmetic->chain(n, steps, 6));
        for (size_t i = 0; i < n; i++)
            CHECK_BITS(other[i], wanted[i]);
        CHECK_BITS(other[n], -7.0);
    }
}

static void test_chain__random(const hm_kernels *k)
{
    static double numbers[STEPS];
    for (int trial = 0; trial < 300; trial++) {
        hm_chain_step steps[STEPS] = {{HM_CHAIN_LOAD, {x}, NULL}};
        const int64_t count = 3 + (int64_t)(next() % (STEPS - 3));
        fill();
        for (int64_t s = 1; s + 1 < count; s++) {
            numbers[s] = some_number();
            const int64_t code = (int64_t)(next() % (HM_CHAIN_STORE - 1)) + 1;
            const double *operand = takes_number(code) ? &numbers[s] : next() & 1 ? x + 2 : y;
            steps[s] = (hm_chain_step){next() % 8 ? code : HM_CHAIN_WATCH, {operand}, &numbers[s]};
        }
        steps[count - 1] = (hm_chain_step){HM_CHAIN_STORE, {.out = out}, NULL};
        check_chain(k, steps, count, out, (size_t)(next() % MOST));
    }
}

typedef struct adam_state {
    double parameter, first, second;
} adam_state;

static const double beta1 = 0.9, rest1 = 0.1, beta2 = 0.999, rest2 = 0.001, epsilon = 1e-8;
static double spread, size, shrink;

/* Each operation rounded, as written in optim.py; `decays`: AdamW. */
static adam_state adam(double g, adam_state s, int decays)
{
    const volatile double a = beta1 * s.first, b = rest1 * g, square = g * g;
    const volatile double c = beta2 * s.second, d = rest2 * square;
    const volatile double first = b + a, second = d + c, root = sqrt(second);
    const volatile double even = root / spread, divisor = even + epsilon;
    const volatile double share = first / divisor, step = size * share;
    const volatile double from = decays ? s.parameter * shrink : s.parameter;
    return (adam_state){from - step, first, second};
}

/* Adam's chain, which has a loop of its own; with a scaled gradient, and moments in place, too. */
static void check_adam(const hm_kernels *k, size_t n, int scales, int decays, int in_place)
{
    static double p[MOST], m[MOST], v[MOST], g[MOST], new_p[MOST], new_m[MOST], new_v[MOST];
    const double half = 0.5;
    adam_state wanted[MOST];
    double *const to_m = in_place ? m : new_m, *const to_v = in_place ? v : new_v;
    for (size_t i = 0; i < n; i++) {
        g[i] = some_number();
        v[i] = fabs(some_number());
        if (i % 50 >= 7 && i % 50 < 10) { /* roots at the ends of what there is */
            v[i] = i % 50 == 7 ? 0x1p-1000 : i % 50 == 8 ? 0x1p-1074 : 0;
            g[i] = i % 50 == 7 ? 0x1p-505 : 0;
        }
        m[i] = some_number();
        p[i] = some_number();
        wanted[i] = adam(scales ? g[i] * half : g[i], (adam_state){p[i], m[i], v[i]}, decays);
    }
    const hm_chain_step steps[] = {
        {HM_CHAIN_LOAD, {g}, NULL},
        {HM_CHAIN_MULTIPLY_NUMBER, {&half}, NULL},
        {HM_CHAIN_STORE, {.out = out}, NULL},
        {HM_CHAIN_LOAD, {scales ? out : g}, NULL},
        {HM_CHAIN_MULTIPLY_NUMBER, {&rest1}, NULL},
        {HM_CHAIN_ADD_PRODUCT, {m}, &beta1},
        {HM_CHAIN_STORE, {.out = to_m}, NULL},
        {HM_CHAIN_WATCH, {NULL}, NULL},
        {HM_CHAIN_LOAD, {scales ? out : g}, NULL},
        {HM_CHAIN_SQUARE, {NULL}, NULL},
        {HM_CHAIN_MULTIPLY_NUMBER, {&rest2}, NULL},
        {HM_CHAIN_ADD_PRODUCT, {v}, &beta2},
        {HM_CHAIN_STORE, {.out = to_v}, NULL},
        {HM_CHAIN_WATCH, {NULL}, NULL},
        {HM_CHAIN_SQRT, {NULL}, NULL},
        {HM_CHAIN_WATCH, {NULL}, NULL},
        {HM_CHAIN_DIVIDE_NUMBER, {&spread}, NULL},
        {HM_CHAIN_ADD_NUMBER, {&epsilon}, NULL},
        {HM_CHAIN_WATCH, {NULL}, NULL},
        {HM_CHAIN_DIVIDE_INTO, {to_m}, NULL},
        {HM_CHAIN_MULTIPLY_NUMBER, {&size}, NULL},
        {decays ? HM_CHAIN_SUBTRACT_FROM_PRODUCT : HM_CHAIN_SUBTRACT_FROM, {p}, &shrink},
        {HM_CHAIN_STORE, {.out = new_p}, NULL},
        {HM_CHAIN_WATCH, {NULL}, NULL}};
    const int64_t count = sizeof steps / sizeof *steps;
    CHECK(k->arithmetic->chain(n, scales ? steps : steps + 3, scales ? count : count - 3));
    for (size_t i = 0; i < n; i++) {
        CHECK_BITS(to_m[i], wanted[i].first);
        CHECK_BITS(to_v[i], wanted[i].second);
        if (!CHECK_BITS(new_p[i], wanted[i].parameter))
            printf("  %s, element %zu of %zu\n", k->name, i, n);
    }
    for (size_t i = 0; i < n; i += 9) {
        const double kept = p[i];
        p[i] = INFINITY;
        CHECK(!k->arithmetic->chain(n, scales ? steps : steps + 3, scales ? count : count - 3));
        p[i] = kept;
    }
}

static void test_chain__adam(const hm_kernels *k)
{
    for (size_t n = 0; n < MOST; n += n < 40 ? 1 : 29)
        for (int form = 0; form < 8; form++) {
            spread = n % 3 ? 0.0316 : 0x1p-101; /* one that divisions have to take */
            size = 1e-2;
            shrink = 0.99;
            check_adam(k, n, form & 1, form >> 1 & 1, form >> 2 & 1);
        }
}

/* One number that is not finite anywhere is seen, and only where a watch stands. */
static void test_chain__watch(const hm_kernels *k)
{
    const double wrong[] = {INFINITY, -INFINITY, NAN};
    const hm_chain_step steps[] = {{HM_CHAIN_LOAD, {x}, NULL},
                                   {HM_CHAIN_WATCH, {NULL}, NULL},
                                   {HM_CHAIN_LOAD, {y}, NULL},
                                   {HM_CHAIN_STORE, {.out = out}, NULL}};
    for (size_t n = 1; n < 150; n += 7)
        for (size_t i = 0; i < n; i++) {
            fill();
            y[i] = wrong[i % 3];
            CHECK(k->arithmetic->chain(n, steps, 4));
            x[i] = wrong[i % 3];
            CHECK(!k->arithmetic->chain(n, steps, 4));
        }
}

int main(void)
{
    for (int32_t isa = HMATH_ISA_BASELINE; isa <= HMATH_ISA_NEON; isa++) {
        const hm_kernels *k = hm_kernels_for(isa);
        if (!k)
            continue;
        printf("%s\n", k->name);
        test_chain__each_step(k);
        test_chain__division_by_a_number(k);
        test_chain__roots(k);
        test_chain__through_memory(k);
        test_chain__random(k);
        test_chain__adam(k);
        test_chain__watch(k);
    }
    return check_report();
}
