/*
 * Tensor arithmetic, matrix products and reductions, against plain loops, through the public
 * functions.
 */
#include <float.h>

#include "tensors.h"

/* Numbers of many magnitudes and both signs, some of them equal, some zero. */
static double some_number(uint64_t *state)
{
    switch (random_below(state, 8)) {
    case 0: return 0.0;
    case 1: return -0.0;
    case 2: return (double)(random_below(state, 5) - 2);
    default:
        return ldexp((double)random_below(state, 1 << 20) - (1 << 19),
                     (int)random_below(state, 40) - 40);
    }
}

static hmath_value *some_tensor(uint64_t *state, int32_t rank, const int64_t *shape)
{
    int64_t size = size_of(rank, shape);
    double *values = malloc(sizeof *values * (size_t)(size ? size : 1));
    for (int64_t i = 0; i < size; i++)
        values[i] = some_number(state);
    hmath_value *v = tensor_of(rank, shape, values);
    free(values);
    return v;
}

static hmath_value *scalar_of(double x) { return tensor_of(0, NULL, &x); }

/* ------------------------------------------------- two tensors */

typedef hmath_status binary_function(hmath_context *, const hmath_value *, const hmath_value *,
                                     hmath_value **);

static double add(double a, double b) { return a + b; }
static double subtract(double a, double b) { return a - b; }
static double multiply(double a, double b) { return a * b; }
static double larger(double a, double b) { return a == b ? (signbit(a) ? b : a) : a > b ? a : b; }
static double smaller(double a, double b) { return a == b ? (signbit(a) ? a : b) : a < b ? a : b; }
static double equal(double a, double b) { return a == b; }
static double not_equal(double a, double b) { return a != b; }
static double less(double a, double b) { return a < b; }
static double less_equal(double a, double b) { return a <= b; }
static double greater(double a, double b) { return a > b; }
static double greater_equal(double a, double b) { return a >= b; }

static const struct {
    binary_function *function;
    double (*plain)(double, double);
} binaries[] = {
    {hmath_tensor_add, add},
    {hmath_tensor_subtract, subtract},
    {hmath_tensor_multiply, multiply},
    {hmath_tensor_maximum, larger},
    {hmath_tensor_minimum, smaller},
    {hmath_tensor_equal, equal},
    {hmath_tensor_not_equal, not_equal},
    {hmath_tensor_less, less},
    {hmath_tensor_less_equal, less_equal},
    {hmath_tensor_greater, greater},
    {hmath_tensor_greater_equal, greater_equal},
};
enum { BINARIES = sizeof binaries / sizeof *binaries };

/* left and right have shapes that agree or are 1, aligned at the last axis. */
static void check_binary(int op, const hmath_value *left, const hmath_value *right)
{
    const int32_t left_rank = hmath_tensor_rank(left), right_rank = hmath_tensor_rank(right);
    const int64_t *left_shape = hmath_tensor_shape(left), *right_shape = hmath_tensor_shape(right);
    hmath_value *r = NULL;
    if (!CHECK_INT(binaries[op].function(ctx, left, right, &r), HMATH_OK))
        return;
    const int32_t rank = hmath_tensor_rank(r);
    const int64_t *shape = hmath_tensor_shape(r);
    CHECK_INT(rank, left_rank > right_rank ? left_rank : right_rank);
    int64_t position[RANKS] = {0};
    if (hmath_tensor_size(r) > 0)
        do {
            double a = value_at(left, place_of(left_rank, left_shape, position + rank - left_rank));
            double b =
                value_at(right, place_of(right_rank, right_shape, position + rank - right_rank));
            double wanted = binaries[op].plain(a, b);
            if (!CHECK_BITS(value_at(r, place_of(rank, shape, position)), wanted))
                break;
        } while (advance(rank, shape, position));
    hmath_release(r);
}

/* Extents from none to more than any run, tile or vector is long. */
static void test_broadcast_patterns(void)
{
    const int64_t extents[] = {1, 2, 3, 7, 8, 16, 47, 48, 49, 100};
    uint64_t state = 5;
    for (int trial = 0; trial < 1200; trial++) {
        int32_t rank = (int32_t)random_below(&state, 5);
        int64_t left[RANKS], right[RANKS], size = 1;
        for (int32_t i = 0; i < rank; i++) {
            int64_t n = random_below(&state, 40) == 0 ? 0 : extents[random_below(&state, 10)];
            if (size * n > 20000)
                n = 2;
            size *= n ? n : 1;
            int64_t which = random_below(&state, 4);
            left[i] = which == 0 ? 1 : n;
            right[i] = which == 1 ? 1 : n;
        }
        /* leading axes that one side does not have */
        int32_t cut_left = 0, cut_right = 0;
        if (rank > 0 && random_below(&state, 3) == 0)
            cut_left = (int32_t)random_below(&state, rank + 1);
        else if (rank > 0 && random_below(&state, 3) == 0)
            cut_right = (int32_t)random_below(&state, rank + 1);
        hmath_value *a = some_tensor(&state, rank - cut_left, left + cut_left);
        hmath_value *b = some_tensor(&state, rank - cut_right, right + cut_right);
        check_binary(trial % BINARIES, a, b);
        hmath_release(a);
        hmath_release(b);
    }
}

/* Tiles that repeat a row, a column, both; and results of several chunks. */
static void test_broadcast_large(void)
{
    const int64_t shapes[][2][3] = {
        {{1, 20000, 3}, {1, 1, 3}},   {{1, 20000, 3}, {1, 20000, 1}}, {{1, 1, 3}, {1, 20000, 1}},
        {{1, 7001, 11}, {7, 1, 11}},  {{30, 40, 50}, {30, 1, 50}},    {{30, 40, 50}, {1, 40, 1}},
        {{200, 1, 47}, {1, 30, 1}},   {{1, 1, 100000}, {1, 1, 1}},    {{100, 1000, 1}, {1, 1, 1}},
        {{1, 300, 400}, {1, 1, 400}}, {{1, 300, 400}, {1, 300, 1}},
    };
    uint64_t state = 6;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        hmath_value *a = some_tensor(&state, 3, shapes[i][0]),
                    *b = some_tensor(&state, 3, shapes[i][1]);
        check_binary(1, a, b);
        check_binary(7, b, a);
        hmath_release(a);
        hmath_release(b);
    }
}

static void test_divide_and_power(void)
{
    const double left[] = {1, -7, 0, 0.5, 3}, right[] = {3, 2, -5, 0x1p-1074, -0.25};
    hmath_value *a = tensor_of(1, (int64_t[]){5}, left), *b = tensor_of(1, (int64_t[]){5}, right),
                *r = NULL;
    CHECK_FAILS(hmath_tensor_divide(ctx, a, b, &out), HMATH_OVERFLOW, NULL, -1);
    hmath_value *c = tensor_of(1, (int64_t[]){3}, right);
    hmath_value *d = tensor_of(1, (int64_t[]){3}, left);
    CHECK_INT(hmath_tensor_divide(ctx, d, c, &r), HMATH_OK);
    for (int i = 0; i < 3; i++)
        CHECK_BITS(value_at(r, i), left[i] / right[i]);
    hmath_release(r);

    /* powers that are exact */
    const double base[] = {2, -2, -2, 0, -0.0, 9, 1, 5, 0},
                 exponent[] = {10, 3, -2, 3, 1, 0.5, 1e300, 0, 0};
    const double power[] = {1024, -8, 0.25, 0, -0.0, 3, 1, 1, 1};
    hmath_value *x = tensor_of(1, (int64_t[]){9}, base),
                *y = tensor_of(1, (int64_t[]){9}, exponent);
    CHECK_INT(hmath_tensor_power(ctx, x, y, &r), HMATH_OK);
    for (int i = 0; i < 9; i++)
        CHECK_BITS(value_at(r, i), power[i]);
    hmath_release(r);
    hmath_value *all[] = {a, b, c, d, x, y};
    for (int i = 0; i < 6; i++)
        hmath_release(all[i]);
}

static void test_binary_failures(void)
{
    const double plain[] = {1, 2, 3, 4, 5, 6}, infinite[] = {1, 2, 3, 4, -INFINITY, 6};
    const double spoiled[] = {NAN, 2, 3}, zero[] = {1, -0.0, 0}, huge[] = {1e308, -1e308, 1};
    hmath_value *a = tensor_of(2, (int64_t[]){2, 3}, plain),
                *bad = tensor_of(2, (int64_t[]){2, 3}, infinite);
    hmath_value *n = tensor_of(1, (int64_t[]){3}, spoiled), *z = tensor_of(1, (int64_t[]){3}, zero);
    hmath_value *h = tensor_of(1, (int64_t[]){3}, huge), *f = counting_floats(2, (int64_t[]){2, 3});
    hmath_value *ten = scalar_of(10), *number = NULL;
    CHECK_INT(hmath_double_create(ctx, 1.0, &number), HMATH_OK);

    for (int op = 0; op < BINARIES; op++) {
        binary_function *function = binaries[op].function;
        CHECK_FAILS(function(ctx, bad, n, &out), HMATH_NON_FINITE, "left", 4);
        CHECK_FAILS(function(ctx, a, n, &out), HMATH_NON_FINITE, "right", 0);
        CHECK_FAILS(function(ctx, n, bad, &out), HMATH_NON_FINITE, "left", 0);
        CHECK_FAILS(function(ctx, f, number, &out), HMATH_TYPE_MISMATCH, "left", -1);
        CHECK_FAILS(function(ctx, bad, f, &out), HMATH_TYPE_MISMATCH, "right", -1);
        hmath_value *two = counting(1, (int64_t[]){2});
        CHECK_FAILS(function(ctx, bad, two, &out), HMATH_DIMENSION_MISMATCH, "right", -1);
        hmath_release(two);
        /* elements count even where the result has none */
        hmath_value *none = tensor_of(2, (int64_t[]){0, 3}, NULL);
        CHECK_FAILS(function(ctx, none, n, &out), HMATH_NON_FINITE, "right", 0);
        hmath_value *empty = NULL;
        CHECK_INT(function(ctx, none, a, &empty), HMATH_CHECKED); /* (0, 3) and (2, 3) */
        CHECK_INT(function(ctx, none, z, &empty), HMATH_OK);
        CHECK(has_shape(empty, 2, (int64_t[]){0, 3}));
        hmath_release(empty);
        hmath_release(none);
        CHECK_BAD(function(NULL, a, a, &out));
        CHECK_BAD(function(ctx, NULL, a, &out));
        CHECK_BAD(function(ctx, a, NULL, &out));
        CHECK_INT(function(ctx, a, a, NULL), HMATH_BAD_ARGUMENT);
    }

    /*
     * 2^21 elements a side, 2^42 * 8 bytes of result, which no machine gives; and 2^63, which do
     * not fit
     */
    hmath_value *tall = NULL, *wide = NULL, *result = NULL;
    CHECK_INT(hmath_tensor_zeros(ctx, 2, (int64_t[]){1 << 21, 1}, &tall), HMATH_OK);
    CHECK_INT(hmath_tensor_zeros(ctx, 1, (int64_t[]){1 << 21}, &wide), HMATH_OK);
    CHECK_INT(hmath_tensor_add(ctx, tall, wide, &result), HMATH_NO_MEMORY);
    hmath_release(tall);
    CHECK_INT(hmath_tensor_zeros(ctx, 4, (int64_t[]){0, INT64_MAX >> 20, 1, 1}, &tall), HMATH_OK);
    CHECK_INT(hmath_tensor_add(ctx, tall, wide, &result), HMATH_NO_MEMORY);
    CHECK(result == NULL);
    hmath_release(tall);
    hmath_release(wide);

    CHECK_FAILS(hmath_tensor_divide(ctx, a, z, &out), HMATH_DOMAIN_ERROR, "right", 1);
    CHECK_FAILS(hmath_tensor_divide(ctx, z, z, &out), HMATH_DOMAIN_ERROR, "right", 1);
    CHECK_FAILS(hmath_tensor_divide(ctx, bad, z, &out), HMATH_NON_FINITE, "left", 4);
    CHECK_FAILS(hmath_tensor_divide(ctx, a, bad, &out), HMATH_NON_FINITE, "right",
                4); /* though x/inf is 0 */
    CHECK_FAILS(hmath_tensor_add(ctx, h, h, &out), HMATH_OVERFLOW, NULL, -1);
    CHECK_FAILS(hmath_tensor_multiply(ctx, h, ten, &out), HMATH_OVERFLOW, NULL, -1);

    const double left[] = {1, 0, -8}, right[] = {-1, -1, 0.5};
    hmath_value *x = tensor_of(1, (int64_t[]){3}, left), *y = tensor_of(1, (int64_t[]){3}, right);
    CHECK_FAILS(hmath_tensor_power(ctx, x, y, &out), HMATH_DOMAIN_ERROR, "right", 1);
    hmath_value *half = scalar_of(0.5), *big = scalar_of(1e4);
    CHECK_FAILS(hmath_tensor_power(ctx, x, half, &out), HMATH_DOMAIN_ERROR, "right", 0);
    CHECK_FAILS(hmath_tensor_power(ctx, ten, big, &out), HMATH_OVERFLOW, NULL, -1);
    hmath_value *all[] = {a, bad, n, z, h, f, ten, number, x, y, half, big};
    for (int i = 0; i < 12; i++)
        hmath_release(all[i]);
}

/* ------------------------------------------------- one tensor */

typedef hmath_status unary_function(hmath_context *, const hmath_value *, hmath_value **);

static double negate(double x) { return -x; }
static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double square(double x) { return x * x; }
static double reciprocal(double x) { return 1 / x; }
static double sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
static double softplus(double x) { return (x > 0 ? x : 0) + log1p(exp(-fabs(x))); }
static double log_sigmoid(double x) { return -softplus(-x); }

/*
 * Against the C library's functions, to 4 ulp: those are allowed an error of their own; the
 * accuracy tests hold the kernels to their bounds. `low` and `high` bound the arguments that are
 * tried.
 */
static const struct {
    unary_function *function;
    double (*plain)(double);
    double low, high;
    int exact;
} unaries[] = {
    {hmath_tensor_negate, negate, -9, 9, 1},
    {hmath_tensor_absolute, fabs, -9, 9, 1},
    {hmath_tensor_sign, sign, -9, 9, 1},
    {hmath_tensor_square, square, -9, 9, 1},
    {hmath_tensor_sqrt, sqrt, 0, 9, 1},
    {hmath_tensor_reciprocal, reciprocal, 0.1, 9, 1},
    {hmath_tensor_exp, exp, -700, 700, 0},
    {hmath_tensor_expm1, expm1, -30, 700, 0},
    {hmath_tensor_log, log, 1e-3, 1e3, 0},
    {hmath_tensor_log1p, log1p, -0.9, 1e3, 0},
    {hmath_tensor_sin, sin, -3, 1e6, 0},
    {hmath_tensor_cos, cos, -1e6, 2, 0},
    {hmath_tensor_tan, tan, -1e3, 1e3, 0},
    {hmath_tensor_tanh, tanh, -20, 20, 0},
    {hmath_tensor_sigmoid, sigmoid, -700, 40, 0},
    {hmath_tensor_log_sigmoid, log_sigmoid, -40, 700, 0},
    {hmath_tensor_softplus, softplus, -700, 40, 0},
    {hmath_tensor_erf, erf, -6, 6, 0},
    {hmath_tensor_erfc, erfc, -6, 26, 0},
};
enum { UNARIES = sizeof unaries / sizeof *unaries };

static int within_ulps(double got, double wanted, double ulps)
{
    return fabs(got - wanted) <= ulps * (nextafter(fabs(wanted), INFINITY) - fabs(wanted));
}

static void test_unary(void)
{
    const int64_t sizes[] = {0, 1, 3, 8, 31, 100, 40000};
    uint64_t state = 7;
    for (int f = 0; f < UNARIES; f++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            const int64_t n = sizes[s];
            double *x = malloc(sizeof *x * (size_t)(n + 1));
            for (int64_t i = 0; i < n; i++)
                x[i] = unaries[f].low + (unaries[f].high - unaries[f].low) *
                                            ldexp((double)random_below(&state, 1 << 30), -30);
            hmath_value *v = tensor_of(1, &n, x), *r = NULL;
            if (CHECK_INT(unaries[f].function(ctx, v, &r), HMATH_OK)) {
                CHECK(has_shape(r, 1, &n));
                int64_t bad = 0;
                for (int64_t i = 0; i < n; i++) {
                    double wanted = unaries[f].plain(x[i]), got = value_at(r, i);
                    bad +=
                        unaries[f].exact ? !same_bits(got, wanted) : !within_ulps(got, wanted, 4);
                }
                if (!CHECK_INT(bad, 0))
                    printf("of function %d\n", f);
                hmath_release(r);
            }
            hmath_release(v);
            free(x);
        }
}

static void test_unary_failures(void)
{
    const struct {
        unary_function *function;
        double x;
        int32_t constructor;
    } cases[] = {
        {hmath_tensor_sqrt, -0x1p-1074, HMATH_DOMAIN_ERROR},
        {hmath_tensor_log, 0, HMATH_DOMAIN_ERROR},
        {hmath_tensor_log, -1, HMATH_DOMAIN_ERROR},
        {hmath_tensor_log1p, -1, HMATH_DOMAIN_ERROR},
        {hmath_tensor_log1p, -2, HMATH_DOMAIN_ERROR},
        {hmath_tensor_reciprocal, -0.0, HMATH_DOMAIN_ERROR},
        {hmath_tensor_reciprocal, 1e-309, HMATH_OVERFLOW},
        {hmath_tensor_square, 1e200, HMATH_OVERFLOW},
        {hmath_tensor_exp, 710, HMATH_OVERFLOW},
        {hmath_tensor_expm1, 710, HMATH_OVERFLOW},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int64_t place = 0; place < 40; place += 13) {
            double values[40];
            for (int i = 0; i < 40; i++)
                values[i] = 1;
            values[place] = cases[c].x;
            hmath_value *v = tensor_of(2, (int64_t[]){4, 10}, values);
            const int is_overflow = cases[c].constructor == HMATH_OVERFLOW;
            CHECK_FAILS(cases[c].function(ctx, v, &out), cases[c].constructor,
                        is_overflow ? NULL : "input", is_overflow ? -1 : place);
            hmath_release(v);
        }
    hmath_value *f = counting_floats(0, NULL);
    for (int u = 0; u < UNARIES; u++)
        for (int64_t place = 0; place < 40; place += 13) {
            double values[40] = {0};
            for (int i = 0; i < 40; i++)
                values[i] = 0.5;
            const double bad[] = {NAN, INFINITY, -INFINITY};
            values[place] = bad[u % 3];
            hmath_value *v = tensor_of(1, (int64_t[]){40}, values);
            CHECK_FAILS(unaries[u].function(ctx, v, &out), HMATH_NON_FINITE, "input", place);
            hmath_release(v);
            CHECK_FAILS(unaries[u].function(ctx, f, &out), HMATH_TYPE_MISMATCH, "input", -1);
            CHECK_BAD(unaries[u].function(ctx, NULL, &out));
        }
    hmath_release(f);
}

/* ------------------------------------------------- matrix products */

/* One chain of fused multiply-adds an element, and a +0 at the end. */
static void check_matmul(const hmath_value *left, const hmath_value *right)
{
    hmath_value *r = NULL;
    if (!CHECK_INT(hmath_tensor_matmul(ctx, left, right, &r), HMATH_OK))
        return;
    int64_t a[RANKS], b[RANKS], c[RANKS];
    int32_t a_rank = hmath_tensor_rank(left), b_rank = hmath_tensor_rank(right), rank;
    memcpy(a, hmath_tensor_shape(left), sizeof a);
    memcpy(b, hmath_tensor_shape(right), sizeof b);
    if (a_rank == 1)
        a[1] = a[0], a[0] = 1, a_rank = 2;
    if (b_rank == 1)
        b[1] = 1, b_rank = 2;
    rank = a_rank > b_rank ? a_rank : b_rank;
    for (int32_t i = 0; i < rank - 2; i++) {
        int64_t m = i - rank + a_rank >= 0 ? a[i - rank + a_rank] : 1;
        int64_t n = i - rank + b_rank >= 0 ? b[i - rank + b_rank] : 1;
        c[i] = m == 1 ? n : m;
    }
    c[rank - 2] = a[a_rank - 2];
    c[rank - 1] = b[b_rank - 1];
    const int64_t depth = a[a_rank - 1];
    CHECK_INT(hmath_tensor_size(r), size_of(rank, c));
    int64_t position[RANKS] = {0};
    if (hmath_tensor_size(r) > 0)
        do {
            int64_t at_a[RANKS], at_b[RANKS];
            memcpy(at_a, position + rank - a_rank, sizeof(int64_t) * (size_t)a_rank);
            memcpy(at_b, position + rank - b_rank, sizeof(int64_t) * (size_t)b_rank);
            double chain = 0;
            for (int64_t k = 0; k < depth; k++) {
                at_a[a_rank - 1] = at_b[b_rank - 2] = k;
                chain = fma(value_at(left, place_of(a_rank, a, at_a)),
                            value_at(right, place_of(b_rank, b, at_b)), chain);
            }
            if (!CHECK_BITS(value_at(r, place_of(rank, c, position)), chain + 0.0))
                break;
        } while (advance(rank, c, position));
    hmath_release(r);
}

static void test_matmul(void)
{
    static const struct {
        int32_t left_rank, right_rank;
        int64_t left[5], right[5];
    } cases[] = {
        {1, 1, {5}, {5}},
        {1, 1, {0}, {0}},
        {1, 2, {5}, {5, 3}},
        {2, 1, {4, 5}, {5}},
        {2, 2, {4, 5}, {5, 3}},
        {2, 2, {1, 1}, {1, 1}},
        {2, 2, {37, 41}, {41, 29}},
        {2, 2, {3, 0}, {0, 2}},
        {2, 2, {0, 3}, {3, 2}},
        {3, 2, {6, 4, 5}, {5, 3}},
        {2, 3, {4, 5}, {6, 5, 3}},
        {3, 3, {6, 4, 5}, {6, 5, 3}},
        {3, 3, {1, 4, 5}, {6, 5, 3}},
        {3, 3, {6, 4, 5}, {1, 5, 3}},
        {3, 1, {6, 4, 5}, {5}},
        {1, 3, {5}, {6, 5, 3}},
        {4, 3, {2, 3, 4, 5}, {3, 5, 2}},
        {4, 4, {2, 1, 4, 5}, {1, 3, 5, 2}},
        {5, 3, {2, 1, 3, 4, 5}, {1, 5, 2}},
        {5, 5, {2, 1, 3, 4, 5}, {2, 2, 1, 5, 2}},
        {3, 3, {0, 4, 5}, {0, 5, 3}},
    };
    uint64_t state = 8;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hmath_value *a = some_tensor(&state, cases[i].left_rank, cases[i].left);
        hmath_value *b = some_tensor(&state, cases[i].right_rank, cases[i].right);
        check_matmul(a, b);
        hmath_release(a);
        hmath_release(b);
    }
}

static void test_matmul_failures(void)
{
    const double plain[] = {1, 2, 3, 4, 5, 6}, spoiled[] = {1, 2, 3, 4, NAN, 6},
                 huge[] = {1e300, 1, 1, 1, 1, 1};
    hmath_value *a = tensor_of(2, (int64_t[]){2, 3}, plain),
                *b = tensor_of(2, (int64_t[]){3, 2}, plain);
    hmath_value *bad = tensor_of(2, (int64_t[]){3, 2}, spoiled), *scalar = scalar_of(1);
    hmath_value *h = tensor_of(2, (int64_t[]){2, 3}, huge),
                *g = tensor_of(2, (int64_t[]){3, 2}, huge);
    hmath_value *f = counting_floats(2, (int64_t[]){3, 2}),
                *none = tensor_of(2, (int64_t[]){2, 0}, NULL);
    CHECK_FAILS(hmath_tensor_matmul(ctx, a, a, &out), HMATH_DIMENSION_MISMATCH, "right", -1);
    CHECK_FAILS(hmath_tensor_matmul(ctx, scalar, a, &out), HMATH_DIMENSION_MISMATCH, "left", -1);
    CHECK_FAILS(hmath_tensor_matmul(ctx, a, scalar, &out), HMATH_DIMENSION_MISMATCH, "right", -1);
    CHECK_FAILS(hmath_tensor_matmul(ctx, a, bad, &out), HMATH_NON_FINITE, "right", 4);
    CHECK_FAILS(hmath_tensor_matmul(ctx, bad, a, &out), HMATH_NON_FINITE, "left", 4);
    CHECK_FAILS(hmath_tensor_matmul(ctx, bad, none, &out), HMATH_NON_FINITE, "left", 4);
    CHECK_FAILS(hmath_tensor_matmul(ctx, h, g, &out), HMATH_OVERFLOW, NULL, -1);
    CHECK_FAILS(hmath_tensor_matmul(ctx, a, f, &out), HMATH_TYPE_MISMATCH, "right", -1);
    hmath_value *x = counting(3, (int64_t[]){2, 2, 3}), *y = counting(3, (int64_t[]){3, 3, 2});
    CHECK_FAILS(hmath_tensor_matmul(ctx, x, y, &out), HMATH_DIMENSION_MISMATCH, "right", -1);
    CHECK_BAD(hmath_tensor_matmul(ctx, NULL, b, &out));
    hmath_value *all[] = {a, b, bad, scalar, h, g, f, none, x, y};
    for (int i = 0; i < 10; i++)
        hmath_release(all[i]);
}

/* ------------------------------------------------- along axes */

/*
 * The order of the numerics contract, spelled out: 32 lanes, blocks of 4,096, neighbours in pairs.
 */
static double contract_sum(const double *x, int64_t n)
{
    double blocks[64];
    int64_t count = 0;
    for (int64_t first = 0; first < n; first += 4096) {
        double lanes[32] = {0};
        for (int64_t i = first; i < n && i < first + 4096; i++)
            lanes[(i - first) % 32] += x[i];
        for (int half = 16; half; half /= 2)
            for (int i = 0; i < half; i++)
                lanes[i] += lanes[i + half];
        blocks[count++] = lanes[0];
    }
    for (; count > 1; count = (count + 1) / 2)
        for (int64_t i = 0; i < count; i += 2)
            blocks[i / 2] = i + 1 < count ? blocks[i] + blocks[i + 1] : blocks[i];
    return n ? blocks[0] : 0;
}

static double largest_of(const double *x, int64_t n)
{
    double largest = x[0];
    for (int64_t i = 1; i < n; i++)
        largest = x[i] > largest ? x[i] : largest;
    return largest + 0.0;
}

static double smallest_of(const double *x, int64_t n)
{
    double smallest = x[0];
    for (int64_t i = 1; i < n; i++)
        smallest = x[i] < smallest ? x[i] : smallest;
    return smallest + 0.0;
}

static void check_axes(const hmath_value *v, uint32_t set)
{
    const int32_t rank = hmath_tensor_rank(v);
    const int64_t *shape = hmath_tensor_shape(v);
    int64_t axes[RANKS], kept[RANKS], extent = 1;
    int32_t count = 0;
    for (int32_t i = rank - 1; i >= 0; i--) { /* in any order */
        kept[i] = set >> i & 1 ? 1 : shape[i];
        if (set >> i & 1)
            axes[count++] = i, extent *= shape[i];
    }
    const int64_t results = size_of(rank, kept);
    hmath_value *sum = NULL, *mean = NULL, *largest = NULL, *smallest = NULL, *flat = NULL;
    CHECK_INT(hmath_tensor_sum(ctx, v, count, axes, 1, &sum), HMATH_OK);
    CHECK_INT(hmath_tensor_sum(ctx, v, count, axes, 0, &flat), HMATH_OK);
    CHECK(has_shape(sum, rank, kept));
    CHECK_INT(hmath_tensor_rank(flat), rank - count);
    CHECK_INT(hmath_tensor_size(flat), results);
    if (extent > 0 || results == 0) {
        CHECK_INT(hmath_tensor_mean(ctx, v, count, axes, 1, &mean), HMATH_OK);
        CHECK_INT(hmath_tensor_max(ctx, v, count, axes, 1, &largest), HMATH_OK);
        CHECK_INT(hmath_tensor_min(ctx, v, count, axes, 1, &smallest), HMATH_OK);
    } else {
        CHECK_FAILS(hmath_tensor_mean(ctx, v, count, axes, 1, &out), HMATH_EMPTY_INPUT, "input",
                    -1);
        CHECK_FAILS(hmath_tensor_max(ctx, v, count, axes, 0, &out), HMATH_EMPTY_INPUT, "input", -1);
        CHECK_FAILS(hmath_tensor_min(ctx, v, count, axes, 0, &out), HMATH_EMPTY_INPUT, "input", -1);
    }

    double *row = malloc(sizeof *row * (size_t)(extent + 1));
    int64_t position[RANKS] = {0}, wrong = 0;
    if (results > 0)
        do {
            int64_t inner[RANKS], n = 0;
            memcpy(inner, position, sizeof inner);
            int64_t reduced[RANKS] = {0}, extents[RANKS];
            for (int32_t i = 0; i < rank; i++)
                extents[i] = set >> i & 1 ? shape[i] : 1;
            if (extent > 0)
                do {
                    for (int32_t i = 0; i < rank; i++)
                        inner[i] = position[i] + reduced[i];
                    row[n++] = value_at(v, place_of(rank, shape, inner));
                } while (advance(rank, extents, reduced));
            const int64_t at = place_of(rank, kept, position);
            const double total = contract_sum(row, n);
            wrong += !same_bits(value_at(sum, at), total) || !same_bits(value_at(flat, at), total);
            if (mean) {
                wrong += !same_bits(value_at(mean, at), total / (double)n);
                wrong += !same_bits(value_at(largest, at), largest_of(row, n));
                wrong += !same_bits(value_at(smallest, at), smallest_of(row, n));
            }
        } while (advance(rank, kept, position));
    CHECK_INT(wrong, 0);
    free(row);
    hmath_value *all[] = {sum, mean, largest, smallest, flat};
    for (int i = 0; i < 5; i++)
        hmath_release(all[i]);
}

static void test_axes(void)
{
    const struct {
        int32_t rank;
        int64_t shape[5];
    } cases[] = {
        {0, {0}},
        {1, {1}},
        {1, {33}},
        {1, {9000}},
        {2, {5, 7}},
        {2, {0, 4}},
        {2, {4, 0}},
        {3, {3, 4, 5}},
        {3, {2, 1, 3}},
        {3, {65, 3, 70}},
        {4, {2, 3, 4, 5}},
        {4, {1, 3, 1, 5}},
        {5, {2, 3, 2, 3, 4}},
        {3, {3, 0, 2}},
        {3, {70, 2, 90}},
        {3, {2, 5000, 3}},
        {2, {5000, 3}},
        {4, {16, 3, 20, 20}},
    };
    uint64_t state = 9;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hmath_value *v = some_tensor(&state, cases[i].rank, cases[i].shape);
        for (uint32_t set = 0; set < 1u << cases[i].rank; set++)
            check_axes(v, set);
        hmath_value *all = NULL, *counted = NULL;
        int64_t axes[] = {0, 1, 2, 3, 4};
        CHECK_INT(hmath_tensor_sum(ctx, v, HMATH_ALL_AXES, NULL, 0, &all), HMATH_OK);
        CHECK_INT(hmath_tensor_sum(ctx, v, cases[i].rank, axes, 0, &counted), HMATH_OK);
        CHECK_INT(hmath_tensor_identical(all, counted), 1);
        hmath_release(all);
        hmath_release(counted);
        hmath_release(v);
    }
}

/* Sums whose parts leave the range although the result does not, in a box and scattered. */
static void test_sums_near_the_largest_double(void)
{
    const double m = DBL_MAX;
    const double rows[] = {m, m, -m, -m, m, 3, -m, -1}; /* (2, 2, 2): scattered over axes 0 and 2 */
    hmath_value *v = tensor_of(3, (int64_t[]){2, 2, 2}, rows), *r = NULL;
    CHECK_INT(hmath_tensor_mean(ctx, v, 2, (int64_t[]){0, 2}, 0, &r), HMATH_OK);
    CHECK_BITS(value_at(r, 0), m / 4 * 3); /* (m + m + m + 3) / 4 */
    CHECK_BITS(value_at(r, 1), -m / 4 * 3);
    hmath_release(r);
    CHECK_FAILS(hmath_tensor_sum(ctx, v, 2, (int64_t[]){0, 2}, 0, &out), HMATH_OVERFLOW, NULL, -1);
    CHECK_INT(hmath_tensor_sum(ctx, v, HMATH_ALL_AXES, NULL, 0, &r), HMATH_OK);
    CHECK(within_ulps(value_at(r, 0), 2, 0x1p52)); /* what is left beside sums of the size of m */
    hmath_release(r);
    hmath_release(v);

    const double three[] = {m, m, -m};
    v = tensor_of(1, (int64_t[]){3}, three);
    CHECK_INT(hmath_tensor_sum(ctx, v, 1, (int64_t[]){0}, 0, &r), HMATH_OK);
    CHECK_BITS(value_at(r, 0), m);
    hmath_release(r);
    CHECK_INT(hmath_tensor_mean(ctx, v, 1, (int64_t[]){0}, 0, &r), HMATH_OK);
    CHECK_BITS(value_at(r, 0), m / 3);
    hmath_release(r);
    hmath_release(v);
}

static void test_axes_failures(void)
{
    double values[] = {1, 2, 3, INFINITY, 5, NAN};
    hmath_value *v = tensor_of(2, (int64_t[]){2, 3}, values),
                *f = counting_floats(1, (int64_t[]){2});
    typedef hmath_status reduction(hmath_context *, const hmath_value *, int32_t, const int64_t *,
                                   int, hmath_value **);
    reduction *const reductions[] = {hmath_tensor_sum, hmath_tensor_mean, hmath_tensor_max,
                                     hmath_tensor_min};
    for (int i = 0; i < 4; i++) {
        reduction *reduce = reductions[i];
        for (uint32_t set = 0; set < 4; set++) {
            int64_t axes[2];
            int32_t count = 0;
            for (int32_t a = 0; a < 2; a++)
                if (set >> a & 1)
                    axes[count++] = a;
            CHECK_FAILS(reduce(ctx, v, count, axes, 0, &out), HMATH_NON_FINITE, "input", 3);
        }
        CHECK_FAILS(reduce(ctx, v, 1, (int64_t[]){2}, 0, &out), HMATH_INDEX_OUT_OF_BOUNDS, "axes",
                    0);
        CHECK_FAILS(reduce(ctx, v, 2, (int64_t[]){0, -1}, 0, &out), HMATH_INDEX_OUT_OF_BOUNDS,
                    "axes", 1);
        CHECK_FAILS(reduce(ctx, v, 2, (int64_t[]){1, 1}, 0, &out), HMATH_DOMAIN_ERROR, "axes", 1);
        CHECK_FAILS(reduce(ctx, f, 1, (int64_t[]){7}, 0, &out), HMATH_TYPE_MISMATCH, "input", -1);
        CHECK_BAD(reduce(ctx, v, 1, NULL, 0, &out));
        CHECK_BAD(reduce(ctx, v, -2, NULL, 0, &out));
        CHECK_BAD(reduce(ctx, NULL, HMATH_ALL_AXES, NULL, 0, &out));
    }
    hmath_release(v);
    hmath_release(f);
}

/* Rows long enough to be cut over threads: extremes at every end, and a NaN anywhere. */
static void test_long_rows(void)
{
    enum { LONG = 150001 };
    uint64_t state = 12;
    hmath_options options = {.struct_size = sizeof options, .threads = 3};
    hmath_context *own = NULL;
    CHECK_INT(hmath_context_create(&options, &own), HMATH_OK);
    double *x = malloc(sizeof *x * 2 * LONG);
    for (int i = 0; i < 2 * LONG; i++)
        x[i] = ldexp((double)random_below(&state, 1 << 20), -20);
    const int64_t places[] = {0, 4095, 4096, 77777, LONG - 1};
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        hmath_value *largest = NULL, *smallest = NULL;
        const double kept = x[places[p]];
        x[places[p]] = 2;
        x[LONG + places[p]] = -2;
        hmath_value *v = tensor_of(2, (int64_t[]){2, LONG}, x);
        CHECK_INT(hmath_tensor_max(own, v, 1, (int64_t[]){1}, 0, &largest), HMATH_OK);
        CHECK_INT(hmath_tensor_min(own, v, 1, (int64_t[]){1}, 0, &smallest), HMATH_OK);
        CHECK_BITS(value_at(largest, 0), 2);
        CHECK_BITS(value_at(smallest, 1), -2);
        hmath_release(v);
        x[places[p]] = NAN;
        v = tensor_of(2, (int64_t[]){2, LONG}, x);
        CHECK_FAILS(hmath_tensor_max(ctx, v, 1, (int64_t[]){1}, 0, &out), HMATH_NON_FINITE, "input",
                    places[p]);
        CHECK_FAILS(hmath_tensor_min(ctx, v, 1, (int64_t[]){1}, 0, &out), HMATH_NON_FINITE, "input",
                    places[p]);
        hmath_value *all[] = {v, largest, smallest};
        for (int i = 0; i < 3; i++)
            hmath_release(all[i]);
        x[places[p]] = kept;
        x[LONG + places[p]] = 0.5;
    }
    free(x);
    hmath_context_destroy(own);
}

static void test_argmax(void)
{
    const double values[] = {1, 3, 3, -0.0, 0.0, -1, 7, 7, 2, 5, 6, 7};
    hmath_value *v = tensor_of(2, (int64_t[]){4, 3}, values), *r = NULL;
    const int64_t rows[] = {1, 0, 0, 2}, columns[] = {2, 2, 3}, *found;
    size_t n;
    CHECK_INT(hmath_tensor_argmax(ctx, v, 1, &r), HMATH_OK);
    CHECK_INT(hmath_list_ints(r, &found, &n), HMATH_OK);
    CHECK(n == 4 && memcmp(found, rows, sizeof rows) == 0);
    hmath_release(r);
    CHECK_INT(hmath_tensor_argmax(ctx, v, 0, &r), HMATH_OK);
    CHECK_INT(hmath_list_ints(r, &found, &n), HMATH_OK);
    CHECK(n == 3 && memcmp(found, columns, sizeof columns) == 0);
    hmath_release(r);
    CHECK_FAILS(hmath_tensor_argmax(ctx, v, 2, &out), HMATH_INDEX_OUT_OF_BOUNDS, "axis", -1);
    hmath_release(v);

    /* (3, 400, 5) against a plain search, every axis */
    uint64_t state = 10;
    const int64_t shape[] = {3, 400, 5};
    v = some_tensor(&state, 3, shape);
    for (int64_t axis = 0; axis < 3; axis++) {
        CHECK_INT(hmath_tensor_argmax(ctx, v, axis, &r), HMATH_OK);
        CHECK_INT(hmath_list_ints(r, &found, &n), HMATH_OK);
        int64_t kept[] = {3, 400, 5}, position[3] = {0}, at = 0;
        kept[axis] = 1;
        do {
            int64_t best = 0, p[] = {position[0], position[1], position[2]};
            double most = -INFINITY;
            for (p[axis] = 0; p[axis] < shape[axis]; p[axis]++)
                if (value_at(v, place_of(3, shape, p)) > most)
                    most = value_at(v, place_of(3, shape, p)), best = p[axis];
            CHECK_INT(found[at++], best);
        } while (advance(3, kept, position));
        CHECK_INT((int64_t)n, at);
        hmath_release(r);
    }
    hmath_release(v);

    v = tensor_of(2, (int64_t[]){0, 3}, NULL);
    CHECK_FAILS(hmath_tensor_argmax(ctx, v, 0, &out), HMATH_EMPTY_INPUT, "input", -1);
    CHECK_INT(hmath_tensor_argmax(ctx, v, 1, &r), HMATH_OK);
    CHECK_INT(hmath_list_length(r), 0);
    hmath_release(r);
    hmath_release(v);
    const double spoiled[] = {1, NAN};
    v = tensor_of(1, (int64_t[]){2}, spoiled);
    CHECK_FAILS(hmath_tensor_argmax(ctx, v, 0, &out), HMATH_NON_FINITE, "input", 1);
    hmath_release(v);
    v = scalar_of(1);
    CHECK_FAILS(hmath_tensor_argmax(ctx, v, 0, &out), HMATH_INDEX_OUT_OF_BOUNDS, "axis", -1);
    hmath_release(v);
}

/* ------------------------------------------------- the same bits everywhere, memory */

enum { RESULTS = BINARIES + UNARIES + 6 };

static void compute_all(hmath_context *own, const hmath_value *a, const hmath_value *row,
                        const hmath_value *positive, const hmath_value *b,
                        hmath_value *results[RESULTS])
{
    int n = 0;
    for (int i = 0; i < BINARIES; i++)
        CHECK_INT(binaries[i].function(own, a, row, &results[n++]), HMATH_OK);
    for (int i = 0; i < UNARIES; i++)
        CHECK_INT(unaries[i].function(own, positive, &results[n++]), HMATH_OK);
    CHECK_INT(hmath_tensor_power(own, positive, positive, &results[n++]), HMATH_OK);
    CHECK_INT(hmath_tensor_divide(own, a, positive, &results[n++]), HMATH_OK);
    CHECK_INT(hmath_tensor_sum(own, a, 1, (int64_t[]){0}, 0, &results[n++]), HMATH_OK);
    CHECK_INT(hmath_tensor_mean(own, a, 2, (int64_t[]){0, 2}, 0, &results[n++]), HMATH_OK);
    CHECK_INT(hmath_tensor_sum(own, a, HMATH_ALL_AXES, NULL, 0, &results[n++]), HMATH_OK);
    CHECK_INT(hmath_tensor_matmul(own, a, b, &results[n++]), HMATH_OK);
}

static void test_same_bits_everywhere(void)
{
    uint64_t state = 11;
    const int64_t shape[] = {5, 61, 203}, columns[] = {203};
    double *x = malloc(sizeof *x * 5 * 61 * 203);
    for (int i = 0; i < 5 * 61 * 203; i++)
        x[i] = 0.01 + ldexp((double)random_below(&state, 1 << 30), -27);
    hmath_value *a = some_tensor(&state, 3, shape), *row = some_tensor(&state, 1, columns);
    hmath_value *positive = tensor_of(3, shape, x),
                *b = some_tensor(&state, 2, (int64_t[]){203, 17});
    hmath_value *first[RESULTS] = {NULL};
    free(x);
    compute_all(ctx, a, row, positive, b, first);
    for (int32_t isa = HMATH_ISA_BASELINE; isa <= HMATH_ISA_NEON; isa++)
        for (int32_t threads = 1; threads <= 4; threads++) {
            hmath_options options = {.struct_size = sizeof options, .threads = threads, .isa = isa};
            hmath_context *own = NULL;
            if (hmath_context_create(&options, &own) != HMATH_OK)
                break; /* not on this processor */
            hmath_value *results[RESULTS] = {NULL};
            compute_all(own, a, row, positive, b, results);
            for (int i = 0; i < RESULTS; i++) {
                CHECK_INT(hmath_tensor_identical(first[i], results[i]), 1);
                hmath_release(results[i]);
            }
            hmath_context_destroy(own);
        }
    for (int i = 0; i < RESULTS; i++)
        hmath_release(first[i]);
    hmath_value *all[] = {a, row, positive, b};
    for (int i = 0; i < 4; i++)
        hmath_release(all[i]);
}

static hmath_value *square_matrix, *vector;

static hmath_status add_them(hmath_value **out)
{
    return hmath_tensor_add(ctx, square_matrix, vector, out);
}

static hmath_status exp_it(hmath_value **out) { return hmath_tensor_exp(ctx, vector, out); }

static hmath_status multiply_them(hmath_value **out)
{
    return hmath_tensor_matmul(ctx, square_matrix, square_matrix, out);
}

static hmath_status sum_it(hmath_value **out)
{
    return hmath_tensor_sum(ctx, square_matrix, 1, (int64_t[]){0}, 0, out);
}

static hmath_status search_it(hmath_value **out)
{
    return hmath_tensor_argmax(ctx, square_matrix, 0, out);
}

static void test_every_allocation_fails(void)
{
    square_matrix = counting(2, (int64_t[]){20, 20});
    vector = counting(1, (int64_t[]){20});
    hmath_status (*const builds[])(hmath_value **) = {add_them, exp_it, multiply_them, sum_it,
                                                      search_it};
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        check_every_allocation(builds[i]);
    hmath_release(square_matrix);
    hmath_release(vector);
}

int main(void)
{
    if (hmath_context_create(NULL, &ctx) != HMATH_OK)
        return 1;
    RUN(test_broadcast_patterns);
    RUN(test_broadcast_large);
    RUN(test_divide_and_power);
    RUN(test_binary_failures);
    RUN(test_unary);
    RUN(test_unary_failures);
    RUN(test_matmul);
    RUN(test_matmul_failures);
    RUN(test_axes);
    RUN(test_sums_near_the_largest_double);
    RUN(test_axes_failures);
    RUN(test_long_rows);
    RUN(test_argmax);
    RUN(test_same_bits_everywhere);
    RUN(test_every_allocation_fails);
    CHECK_INT(hmath_live_values(), 0);
    hmath_context_destroy(ctx);
    return check_report();
}
