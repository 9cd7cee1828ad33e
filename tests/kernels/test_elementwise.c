/*
 * The elementwise kernels of every instruction set: the bits of the baseline's taken one by one,
 * whatever the length, the place and the neighbours; nothing written beyond the end; the answer
 * about finiteness; and values that MPFR rounded (vectors/elementwise.inc).
 */
#include <float.h>
#include <stdlib.h>

#include "tables.h"

enum { POINTS = 4096, GUARD = 8 };

static const double parameters[] = {0.01, 1.0, 1e300};

static double points[POINTS], others[POINTS];

/* Where functions change their ways: kinks, ends of fast paths, of the normal range, of everything.
 */
static const double landmarks[] = {
    0.0,        -0.0,       5e-324,       -5e-324, 0x1p-1022, -0x1p-1022, 0x1.8p-1030, 1.0,
    -1.0,       3.0,        -3.0,         -1.5,    INFINITY,  -INFINITY,  NAN,         DBL_MAX,
    -DBL_MAX,   1e160,      600.0,        -600.0,  601.0,     -601.0,     700.0,       -700.0,
    700.5,      -700.5,     708.0,        -708.0,  709.0,     -709.0,     709.79,      -745.0,
    -745.5,     -750.0,     -1400.0,      -1481.0, 350.0,     -350.0,     360.0,       -373.0,
    36.0,       -36.0,      36.5,         -36.5,   -38.5,     -39.5,      26.0,        26.5,
    27.25,      27.5,       28.0,         -6.0,    6.0,       20.0,       40.0,        0x1p27,
    -0x1p27,    0x1p28,     1e22,         -1e300,  0x1p1000,  0x1p1001,   0.1953125,   -0.7517915,
    -1.2784645, -1.1924313, -1 + 0x1p-53, 0.34657, -0.34657,  M_PI_2,     0x1p52,      0x1p53};
enum { LANDMARKS = sizeof landmarks / sizeof landmarks[0] };

/* Landmarks, all magnitudes, and the usual range, mixed so that every vector meets several kinds.
 */
static void fill_points(void)
{
    uint64_t state = 7;
    for (int i = 0; i < POINTS; i++) {
        const uint64_t kind = next_word(&state) % 8;
        points[i] = kind == 0   ? landmarks[next_word(&state) % LANDMARKS]
                    : kind == 1 ? next_spread(&state, 1070)
                    : kind == 2 ? 1500 * (next_uniform(&state) - 0.5)
                                : 20 * (next_uniform(&state) - 0.5);
        others[i] =
            i % 5 ? 4 * (next_uniform(&state) - 0.5) : landmarks[next_word(&state) % LANDMARKS];
    }
    for (int i = 0; i < LANDMARKS; i++)
        points[i] = landmarks[i];
}

/* One kernel of any kind behind one face: the loops below do not care. */
typedef struct slot {
    const hm_elementwise_kernels *k;
    enum {
        UNARY,
        VALUE,
        SLOPE,
        PULLBACK,
        BINARY,
        BINARY_LEFT,
        BINARY_RIGHT,
        MULTIPLY_ADD,
        SELECT,
        KINDS
    } kind;
    int index;
    double parameter;
} slot;

static bool run(slot s, size_t n, const double *x, const double *y, double *out)
{
    switch (s.kind) {
    case UNARY: return s.k->unary[s.index](n, x, out);
    case VALUE: return s.k->activation[s.index](n, s.parameter, x, out);
    case SLOPE: return s.k->activation_derivative[s.index](n, s.parameter, x, out);
    case PULLBACK: return s.k->activation_pullback[s.index](n, s.parameter, x, y, out);
    case BINARY: return s.k->binary[s.index](n, x, 1, y, 1, out);
    case BINARY_LEFT: return s.k->binary[s.index](n, &s.parameter, 0, y, 1, out);
    case BINARY_RIGHT: return s.k->binary[s.index](n, x, 1, &s.parameter, 0, out);
    case MULTIPLY_ADD: return s.k->multiply_add(n, x, 1, y, 1, &s.parameter, 0, out);
    case SELECT: return s.k->select(n, y, x, 1, &s.parameter, 0, out);
    default: abort();
    }
}

/* Whether the kernel reads y at all. */
static bool reads_y(slot s) { return s.kind >= PULLBACK && s.kind != BINARY_RIGHT; }

static bool reads_x(slot s) { return s.kind != BINARY_LEFT; }

static int count(int kind)
{
    return kind == UNARY                            ? HM_UNARY_COUNT
           : kind <= PULLBACK                       ? HM_ACTIVATION_COUNT
           : kind == MULTIPLY_ADD || kind == SELECT ? 1
                                                    : HM_BINARY_COUNT;
}

static double wanted[POINTS];
static bool wanted_finite[POINTS];

/* The baseline's answer, element by element. */
static void expect(slot s)
{
    s.k = hm_kernels_for(HMATH_ISA_BASELINE)->elementwise;
    for (int i = 0; i < POINTS; i++)
        wanted_finite[i] = run(s, 1, points + i, others + i, wanted + i);
}

static void check_finite_answer(slot s)
{
    for (int i = 0; i < POINTS; i++) {
        const bool inputs =
            (!reads_x(s) || isfinite(points[i])) && (!reads_y(s) || isfinite(others[i]));
        CHECK(wanted_finite[i] == (inputs && isfinite(wanted[i])));
    }
}

static void check_stretch(slot s, size_t n, size_t from)
{
    double out[LONGEST + 2 * GUARD];
    bool finite = true;
    for (size_t i = 0; i < n + 2 * GUARD; i++)
        out[i] = 12345.0;
    const bool answer = run(s, n, points + from, others + from, out + GUARD);
    for (size_t i = 0; i < n; i++) {
        CHECK_BITS(out[GUARD + i], wanted[from + i]);
        finite = finite && wanted_finite[from + i];
    }
    for (size_t i = 0; i < GUARD; i++)
        CHECK(out[i] == 12345.0 && out[GUARD + n + i] == 12345.0);
    CHECK(answer == finite);
}

static void check_in_place(slot s, size_t n, size_t from)
{
    double x[LONGEST];
    memcpy(x, points + from, n * sizeof *x);
    run(s, n, x, others + from, x);
    for (size_t i = 0; i < n; i++)
        CHECK_BITS(x[i], wanted[from + i]);
    if (!reads_y(s))
        return;
    memcpy(x, others + from, n * sizeof *x);
    run(s, n, points + from, x, x);
    for (size_t i = 0; i < n; i++)
        CHECK_BITS(x[i], wanted[from + i]);
}

static void test_elementwise__same_bits_everywhere(void)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int index = 0; index < count(kind); index++)
            for (int p = 0; p < 3; p++) {
                slot s = {NULL, kind, index, parameters[p]};
                const int failures = check_failures;
                expect(s);
                check_finite_answer(s);
                const hm_kernels *k;
                for (int isa = 0; (k = next_table(&isa));) {
                    s.k = k->elementwise;
                    for (int length = 0; length < AWKWARD_LENGTHS; length++) {
                        const size_t n = (size_t)awkward_lengths[length];
                        const size_t from = n + 3 <= POINTS ? (size_t)length % 4 : 0;
                        check_stretch(s, n, from);
                        check_in_place(s, n, from);
                    }
                }
                if (check_failures != failures)
                    printf("in kind %d, index %d, parameter %g\n", kind, index, parameters[p]);
                if (kind == UNARY)
                    break;
            }
}

/* A value and its slope at once: the bits of both apart, also where one of them takes the place of x. */
static void check_pair(const hm_elementwise_kernels *k, int index, size_t n, size_t from, int place)
{
    double value[LONGEST], slope[LONGEST], x[LONGEST], out[2][LONGEST + 2 * GUARD];
    bool finite = k->activation[index](n, 1.0, points + from, value);
    finite &= k->activation_derivative[index](n, 1.0, points + from, slope);
    for (int i = 0; i < 2; i++)
        for (size_t j = 0; j < n + 2 * GUARD; j++)
            out[i][j] = 12345.0;
    memcpy(x, points + from, n * sizeof *x);
    double *to[2] = {place == 0 ? x : out[0] + GUARD, place == 1 ? x : out[1] + GUARD};
    CHECK(k->activation_pair[index](n, 1.0, x, to[0], to[1]) == finite);
    for (size_t i = 0; i < n; i++) {
        CHECK_BITS(to[0][i], value[i]);
        CHECK_BITS(to[1][i], slope[i]);
    }
    for (int i = 0; i < 2; i++)
        for (size_t j = 0; j < GUARD; j++)
            CHECK(out[i][j] == 12345.0 && out[i][GUARD + n + j] == 12345.0);
}

static void test_activation_pair__same_bits_as_apart(void)
{
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (int index = 0; index < HM_ACTIVATION_COUNT; index++)
            for (int length = 0; k->elementwise->activation_pair[index] && length < AWKWARD_LENGTHS;
                 length++)
                for (int place = 0; place < 3; place++) {
                    const size_t n = (size_t)awkward_lengths[length];
                    check_pair(k->elementwise, index, n, n + 3 <= POINTS ? (size_t)place : 0,
                               place);
                }
}

/* FNV-1a over the bits of the answers, every NaN alike. */
static uint64_t digest(uint64_t hash)
{
    for (int i = 0; i < POINTS; i++) {
        uint64_t word;
        memcpy(&word, wanted + i, sizeof word);
        if (isnan(wanted[i]))
            word = 0x7FF8000000000000;
        for (int byte = 0; byte < 8; byte++)
            hash = (hash ^ (word >> 8 * byte & 0xFF)) * 0x100000001b3;
    }
    return hash;
}

/*
 * One number for all architectures and compilers. It changes with hmath_numerics_version() and at no other
 * time, but when slots are added.
 */
static void test_elementwise__same_bits_on_every_architecture(void)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (int kind = 0; kind < KINDS; kind++)
        for (int index = 0; index < count(kind); index++) {
            slot s = {NULL, kind, index, parameters[0]};
            expect(s);
            hash = digest(hash);
        }
    CHECK_INT((int64_t)hash, (int64_t)0xbb5c3a782a07a4b2u);
}

static void test_all_finite__finds_each_place(void)
{
    static double x[100];
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (size_t n = 0; n <= 100; n++) {
            for (size_t i = 0; i < 100; i++)
                x[i] = i % 2 ? DBL_MAX : -DBL_MAX;
            CHECK(k->elementwise->all_finite(n, x));
            for (size_t i = 0; i < 100; i++) {
                const double kept = x[i];
                x[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY;
                CHECK(k->elementwise->all_finite(n, x) == (i >= n));
                x[i] = kept;
            }
        }
}

/* The C library's fma is the judge: triples that cancel, underflow and overflow among them. */
static void test_multiply_add__rounds_once(void)
{
    uint64_t state = 11;
    for (int round = 0; round < 400; round++) {
        double a[64], b[64], c[64], out[64];
        for (int i = 0; i < 64; i++) {
            const int spread = round % 4 == 0 ? 1070 : round % 4 == 1 ? 500 : 40;
            a[i] = next_spread(&state, spread);
            b[i] = next_spread(&state, spread);
            c[i] = i % 3 == 0   ? -a[i] * b[i]
                   : i % 3 == 1 ? -a[i] * b[i] * (1 + 0x1p-52)
                                : next_spread(&state, spread);
            if (i % 16 == 5)
                c[i] = landmarks[next_word(&state) % LANDMARKS];
            if (i % 16 == 9)
                a[i] = landmarks[next_word(&state) % LANDMARKS];
        }
        const hm_kernels *k;
        for (int isa = 0; (k = next_table(&isa));) {
            k->elementwise->multiply_add(64, a, 1, b, 1, c, 1, out);
            for (int i = 0; i < 64; i++)
                CHECK_BITS(out[i], fma(a[i], b[i], c[i]));
        }
    }
}

typedef struct sample {
    const char *name;
    int kind, index;
    double parameter, x, y, exact, bound; /* bound in units in the last place of exact */
} sample;

static const sample samples[] = {
#include "../vectors/elementwise.inc"
};
enum { SAMPLES = sizeof samples / sizeof samples[0] };

static double unit_of(double exact)
{
    int exponent;
    frexp(exact, &exponent);
    return exact == 0.0 || exponent < -1021 ? 0x1p-1074 : ldexp(1.0, exponent - 53);
}

/* The stored number is the exact value rounded, so half a unit joins the bound. */
static void test_elementwise__agrees_with_mpfr(void)
{
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (int i = 0; i < SAMPLES; i++) {
            const sample at = samples[i];
            const slot s = {k->elementwise, at.kind, at.index, at.parameter};
            double got;
            run(s, 1, &at.x, &at.y, &got);
            if (!CHECK(got == at.exact ||
                       fabs(got - at.exact) <= (at.bound + 0.5) * unit_of(at.exact)))
                printf("%s(%a, %a) is %a, not %a\n", at.name, at.x, at.y, got, at.exact);
        }
}

typedef struct turn_sample {
    double position, high, low, sine, cosine;
} turn_sample;

static const turn_sample turn_samples[] = {
#include "../vectors/turn.inc"
};
enum { TURN_SAMPLES = sizeof turn_samples / sizeof turn_samples[0] };

/* The contract allows 4 * 2^-53 for positions up to 2^31; all below 2^53 are held to that here. */
static void test_turn__agrees_with_mpfr(void)
{
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (int i = 0; i < TURN_SAMPLES; i++) {
            const turn_sample at = turn_samples[i];
            double sines[9], cosines[9], high[9], low[9];
            for (int j = 0; j < 9; j++) {
                high[j] = at.high;
                low[j] = at.low;
            }
            k->elementwise->turn(9, at.position, high, low, sines, cosines);
            for (int j = 0; j < 9; j++) {
                if (!CHECK(fabs(sines[j] - at.sine) <= 0x1p-51 &&
                           fabs(cosines[j] - at.cosine) <= 0x1p-51))
                    printf("at %g * (%a + %a)\n", at.position, at.high, at.low);
            }
        }
}

/*
 * x Phi(x) near zero is about x/2, and just below a power of two an ulp is smallest for its size: there 1 - Phi(-x),
 * rounded on its own, cost one and errors came to 4.4 ulp. Exact values by MPFR, in two parts.
 */
static void test_gelu__just_below_powers_of_two(void)
{
    static const struct {
        double x, exact, rest;
    } aimed[] = {
        {0x1.fc67d5f1796a2p-11, 0x1.fccc893774489p-12, -0x1.bf52a9d715bd9p-66},
        {0x1.fb240129059f8p-17, 0x1.fb2591f5a34f1p-18, -0x1.a0f6d76a6ed4ep-72},
        {0x1.fd3ab76687c34p-9, 0x1.feced2accdc15p-10, 0x1.1415e05f87624p-64},
    };
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (int i = 0; i < 3; i++) {
            double got;
            k->elementwise->activation[HM_ACTIVATION_gelu](1, 0.0, &aimed[i].x, &got);
            CHECK(fabs((got - aimed[i].exact) - aimed[i].rest) <= 4 * unit_of(aimed[i].exact));
        }
}

static void test_pow__special_cases(void)
{
    static const struct {
        double x, y, power;
    } rows[] = {
        {0.0, 0.0, 1.0},           {-2.0, 3.0, -8.0},        {-2.0, 4.0, 16.0},
        {-2.0, 0.5, NAN},          {0.0, 2.0, 0.0},          {-0.0, 3.0, -0.0},
        {-0.0, 2.0, 0.0},          {0.0, -1.0, INFINITY},    {-0.0, -3.0, -INFINITY},
        {1.0, NAN, 1.0},           {NAN, 0.0, 1.0},          {NAN, 1.0, NAN},
        {-1.0, INFINITY, 1.0},     {0.5, INFINITY, 0.0},     {2.0, -INFINITY, 0.0},
        {2.0, INFINITY, INFINITY}, {INFINITY, -1.0, 0.0},    {-INFINITY, 3.0, -INFINITY},
        {-1.0, 0x1p53, 1.0},       {-1.0, 0x1p53 - 1, -1.0}, {2.0, -1074.0, 5e-324},
        {2.0, 1024.0, INFINITY},   {5e-324, 0.5, 0x1p-537},  {10.0, 2.0, 100.0},
    };
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            double got;
            k->elementwise->binary[HM_BINARY_pow](1, &rows[i].x, 1, &rows[i].y, 1, &got);
            CHECK_BITS(got, rows[i].power);
        }
}

int main(void)
{
    fill_points();
    RUN(test_elementwise__same_bits_everywhere);
    RUN(test_activation_pair__same_bits_as_apart);
    RUN(test_elementwise__same_bits_on_every_architecture);
    RUN(test_all_finite__finds_each_place);
    RUN(test_multiply_add__rounds_once);
    RUN(test_elementwise__agrees_with_mpfr);
    RUN(test_turn__agrees_with_mpfr);
    RUN(test_gelu__just_below_powers_of_two);
    RUN(test_pow__special_cases);
    return check_report();
}
