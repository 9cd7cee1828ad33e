/* Row and channel normalisation against the formulas in extended precision, at every magnitude. */
#include "tensor/normalize.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "runtime/context.h"

static uint64_t state = 11;

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static double *filled(int64_t n, double centre, double width)
{
    double *x = malloc((size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = centre + width * (2 * uniform() - 1);
    return x;
}

static double *room(int64_t n) { return malloc((size_t)n * sizeof(double)); }

static hmath_context *context(int32_t threads, int32_t isa)
{
    const hmath_options options = {.struct_size = sizeof options, .threads = threads, .isa = isa};
    hmath_context *ctx = NULL;
    return hmath_context_create(&options, &ctx) == HMATH_OK ? ctx : NULL;
}

/*
 * long double has the exponents for any sum of squares. Bound: the mean to an ulp of the data,
 * which moves every element by that over the deviation; a few roundings beside it.
 */
static void check_standardized(const double *x, int64_t n, double epsilon, const double *got,
                               int centred)
{
    long double mean = 0, squares = 0, most = 0;
    for (int64_t i = 0; i < n; i++) {
        mean += (long double)x[i] / (long double)n;
        most = fmaxl(most, fabsl(x[i]));
    }
    if (!centred)
        mean = 0;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean) / (long double)n;
    const long double deviation = sqrtl(squares + epsilon);
    const long double slack = centred ? 2 * most * 0x1p-52L / deviation : 0;
    for (int64_t i = 0; i < n; i++) {
        const long double right = (x[i] - mean) / deviation;
        CHECK(fabsl(got[i] - right) <= slack + fabsl(right) * 16 * 0x1p-52L + 0x1p-1074L);
    }
}

static void test_normalize__rows(void)
{
    const double magnitudes[] = {1, 1e-6, 1e150, 1e300, 8e307, 1e-150, 1e-300, 1e-320};
    const double epsilons[] = {1e-5, 1e-290, 5e-324, 1e300};
    const int64_t lengths[] = {1, 2, 7, 64, 1000, 4096, 4097, 20000};
    hmath_context *ctx = context(2, 0);
    for (int m = 0; m < 8; m++)
        for (int e = 0; e < 4; e++)
            for (int l = 0; l < 8; l++) {
                const int64_t n = lengths[l], rows = 3;
                double *x = filled(rows * n, magnitudes[m] / 3, magnitudes[m]),
                       *out = room(rows * n);
                for (int64_t i = 0; i < n; i++)
                    x[n + i] = x[0]; /* a constant row: nothing deviates */
                CHECK(hm_layer_rows(ctx, x, rows, n, epsilons[e], out));
                for (int64_t r = 0; r < rows; r++)
                    check_standardized(x + r * n, n, epsilons[e], out + r * n, 1);
                for (int64_t i = 0; i < n; i++)
                    CHECK(out[n + i] == 0);
                CHECK(hm_rms_rows(ctx, x, rows, n, epsilons[e], out));
                for (int64_t r = 0; r < rows; r++)
                    check_standardized(x + r * n, n, epsilons[e], out + r * n, 0);
                free(x), free(out);
            }
    hmath_context_destroy(ctx);
}

/* Mean 1e8, deviation 1: the data's own rounding and no more. */
static void test_normalize__offset(void)
{
    enum { N = 5000 };
    double *x = filled(N, 1e8, 1.7), *out = room(N);
    hmath_context *ctx = context(1, 0);
    CHECK(hm_layer_rows(ctx, x, 1, N, 1e-5, out));
    check_standardized(x, N, 1e-5, out, 1);
    hmath_context_destroy(ctx);
    free(x), free(out);
}

static void test_normalize__not_finite(void)
{
    double x[3 * 40], out[3 * 40];
    hmath_context *ctx = context(1, 0);
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int b = 0; b < 3; b++)
        for (int at = 0; at < 120; at++) {
            for (int i = 0; i < 120; i++)
                x[i] = i % 7;
            x[at] = bad[b];
            CHECK(!hm_layer_rows(ctx, x, 3, 40, 1e-5, out) &&
                  !hm_rms_rows(ctx, x, 3, 40, 1e-5, out));
            hm_spread s[3];
            hm_channel_spreads(ctx, x, 1, 3, 40, s);
            CHECK(isnan(hm_spread_variance(&s[at / 40], 40)) ||
                  isinf(hm_spread_variance(&s[at / 40], 40)));
            hm_standard standards[3];
            const double gamma[3] = {1, 1, 1}, beta[3] = {0};
            CHECK(!hm_channel_norm(ctx, x, 1, 3, 40, 1e-5, gamma, beta, s, standards, out) &&
                  !hm_channel_norm(ctx, x, 40, 3, 1, 1e-5, gamma, beta, s, standards, out));
        }
    hmath_context_destroy(ctx);
}

/* A channel's statistics are those of its elements in (batch, spatial) order. */
static void check_channels(hmath_context *ctx, int64_t batch, int64_t channels, int64_t spatial,
                           double scale)
{
    const int64_t n = batch * spatial, total = n * channels;
    double *x = filled(total, scale, scale), *out = room(total), *row = room(n), *right = room(n);
    double *gamma = filled(channels, 1, 0.5), *beta = filled(channels, 0, 1);
    hm_spread *spreads = malloc((size_t)channels * sizeof *spreads);
    hm_standard *standards = malloc((size_t)channels * sizeof *standards);
    hm_channel_spreads(ctx, x, batch, channels, spatial, spreads);
    for (int64_t c = 0; c < channels; c++)
        standards[c] = hm_standard_of_spread(&spreads[c], 1e-5);
    hm_channel_affine(ctx, x, batch, channels, spatial, standards, gamma, beta, out);
    hm_spread *same_spreads = malloc((size_t)channels * sizeof *spreads);
    double *same =
        room(total); /* in one go, where channels are small; in two, where they are not */
    CHECK(hm_channel_norm(ctx, x, batch, channels, spatial, 1e-5, gamma, beta, same_spreads,
                          standards, same));
    CHECK(memcmp(out, same, (size_t)total * sizeof *out) == 0);
    for (int64_t c = 0; c < channels; c++) {
        CHECK(same_spreads[c].mean == spreads[c].mean &&
              same_spreads[c].squares == spreads[c].squares &&
              same_spreads[c].shift == spreads[c].shift);
        for (int64_t i = 0; i < batch; i++)
            for (int64_t s = 0; s < spatial; s++)
                row[i * spatial + s] = x[(i * channels + c) * spatial + s];
        int shift;
        const hm_moments m = hm_moments_row(hm_context_kernels(ctx), row, n, &shift);
        CHECK(spreads[c].mean == m.mean && spreads[c].squares == m.squares &&
              spreads[c].shift == shift);
        CHECK(hm_layer_rows(ctx, row, 1, n, 1e-5, right));
        for (int64_t i = 0; i < n; i++) {
            const double got = out[(i / spatial * channels + c) * spatial + i % spatial];
            CHECK(fabs(got - fma(right[i], gamma[c], beta[c])) <= 1e-14 * (1 + fabs(right[i])));
        }
    }
    free(x), free(out), free(row), free(right), free(gamma), free(beta), free(spreads),
        free(standards), free(same_spreads), free(same);
}

static void test_normalize__channels(void)
{
    hmath_context *ctx = context(3, 0);
    const double scales[] = {1, 1e-3, 1e200, 1.7e308 / 2, 1e-200};
    for (int s = 0; s < 5; s++) {
        check_channels(ctx, 3, 5, 49, scales[s]);
        check_channels(ctx, 7, 130, 1, scales[s]);
        check_channels(ctx, 5000, 3, 1, scales[s]);
        check_channels(ctx, 3, 2, 5000, scales[s]);
        check_channels(ctx, 300, 2, 33, scales[s]);
        check_channels(ctx, 2, 2, 20000, scales[s]); /* more than stays near */
    }
    hmath_context_destroy(ctx);
}

/* Every instruction set, every number of threads: the same bits. */
static void test_normalize__bits(void)
{
    enum { ROWS = 37, N = 1003, LONG = 140000 };
    double *x = filled(LONG, 3, 2), *first = room(LONG), *out = room(LONG);
    hm_spread spreads[2][17];
    memset(spreads, 0, sizeof spreads);
    int runs = 0;
    for (int32_t isa = HMATH_ISA_BASELINE; isa <= HMATH_ISA_NEON; isa++)
        for (int32_t threads = 1; threads <= 4; threads++) {
            hmath_context *ctx = context(threads, isa);
            if (!ctx)
                continue;
            CHECK(hm_layer_rows(ctx, x, ROWS, N, 1e-5, out));
            CHECK(hm_rms_rows(ctx, x + ROWS * N, ROWS, N, 1e-5, out + ROWS * N));
            hm_channel_spreads(ctx, x, 40, 17, 33, spreads[runs > 0]);
            if (runs++ == 0)
                memcpy(first, out, 2 * ROWS * N * sizeof *out);
            CHECK(memcmp(first, out, 2 * ROWS * N * sizeof *out) == 0);
            CHECK(runs == 1 || memcmp(spreads[0], spreads[1], sizeof spreads[0]) == 0);
            CHECK(hm_layer_rows(ctx, x + 5 * N, 1, N, 1e-5, out)); /* alone as in the batch */
            CHECK(memcmp(first + 5 * N, out, N * sizeof *out) == 0);
            hmath_context_destroy(ctx);
        }
    for (int32_t threads = 1; threads <= 3; threads++) {
        hmath_context *ctx = context(threads, 0);
        CHECK(hm_layer_rows(ctx, x, 1, LONG, 1e-5, threads == 1 ? first : out));
        CHECK(threads == 1 || memcmp(first, out, LONG * sizeof *out) == 0);
        hmath_context_destroy(ctx);
    }
    free(x), free(first), free(out);
}

int main(void)
{
    test_normalize__rows();
    test_normalize__offset();
    test_normalize__not_finite();
    test_normalize__channels();
    test_normalize__bits();
    return check_report();
}
