/* The tree over blocks, reductions along an axis, and both beyond the range of a double. */
#include "tensor/reduce.h"

#include <stdlib.h>

#include "check.h"
#include "runtime/context.h"

static int same(double a, double b) { return (isnan(a) && isnan(b)) || a == b; }

static double number(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1;
}

static double *numbers(int64_t n, double scale)
{
    double *x = malloc((size_t)n * sizeof *x);
    uint64_t state = 7;
    for (int64_t i = 0; i < n; i++)
        x[i] = number(&state) * scale;
    return x;
}

static hmath_context *context(int32_t threads)
{
    const hmath_options options = {.struct_size = sizeof options, .threads = threads};
    hmath_context *ctx = NULL;
    CHECK(hmath_context_create(&options, &ctx) == HMATH_OK);
    return ctx;
}

/* ---- the tree, by rounds, as the contract words it ---- */

static double tree_by_rounds(double *parts, int64_t count)
{
    while (count > 1) {
        int64_t next = 0;
        for (int64_t i = 0; i + 1 < count; i += 2)
            parts[next++] = parts[i] + parts[i + 1];
        if (count % 2)
            parts[next++] = parts[count - 1];
        count = next;
    }
    return parts[0];
}

static void test_reduce__tree_pairs_neighbours(void)
{
    enum { MOST = 70 * HM_BLOCK };
    double *x = numbers(MOST, 1e5), parts[71];
    const hm_kernels *k = hm_kernels_default();
    hmath_context *contexts[] = {context(1), context(2), context(3), context(4)};
    for (int64_t n = 1; n <= MOST; n += n < 3 * HM_BLOCK ? 1021 : 7919) {
        int64_t count = 0;
        for (int64_t at = 0; at < n; at += HM_BLOCK)
            parts[count++] = k->reduce->sum(x + at, n - at < HM_BLOCK ? n - at : HM_BLOCK);
        const double right = tree_by_rounds(parts, count);
        CHECK(same(hm_wide_round(hm_sum_row(k, HM_ROW_SUM, x, NULL, n)), right));
        for (int c = 0; c < 4; c++) {
            CHECK(same(hm_wide_round(hm_sum_row_threads(contexts[c], HM_ROW_SUM, x, NULL, n)),
                       right));
            double sum;
            hm_axis_sum(contexts[c], x, 1, n, 1, 1.0, &sum);
            CHECK(same(sum, right));
        }
    }
    for (int c = 0; c < 4; c++)
        hmath_context_destroy(contexts[c]);
    free(x);
}

/* Column j of (outer, extent, inner) has the bits of the same numbers as a row. */
static void check_axis(const hmath_context *ctx, int64_t outer, int64_t extent, int64_t inner,
                       double scale)
{
    const hm_kernels *k = hm_context_kernels(ctx);
    const size_t results = (size_t)(outer * inner);
    double *x = numbers(outer * extent * inner, scale), *row = malloc((size_t)extent * sizeof *row);
    double *sum = malloc(results * sizeof *sum), *most = malloc(results * sizeof *most);
    double *smallest = malloc(results * sizeof *smallest);
    double *mean = malloc(results * sizeof *mean), *variance = malloc(results * sizeof *variance);
    hm_axis_sum(ctx, x, outer, extent, inner, 1.0, sum);
    hm_axis_maximum(ctx, x, outer, extent, inner, most);
    hm_axis_minimum(ctx, x, outer, extent, inner, smallest);
    hm_axis_moments(ctx, x, outer, extent, inner, (double)extent, mean, variance);
    for (int64_t i = 0; i < outer; i++)
        for (int64_t j = 0; j < inner; j++) {
            for (int64_t l = 0; l < extent; l++)
                row[l] = x[(i * extent + l) * inner + j];
            const int64_t at = i * inner + j;
            int shift;
            const hm_moments m = hm_moments_row(k, row, extent, &shift);
            CHECK(same(sum[at], hm_wide_round(hm_sum_row(k, HM_ROW_SUM, row, NULL, extent))));
            CHECK(same(most[at], k->reduce->maximum(row, extent)));
            CHECK(same(smallest[at], k->reduce->minimum(row, extent)));
            CHECK(same(mean[at], ldexp(m.mean, -shift)));
            CHECK(same(variance[at], ldexp(m.squares / (double)extent, -2 * shift)));
        }
    free(x), free(row), free(sum), free(most), free(smallest), free(mean), free(variance);
}

static void test_reduce__along_any_axis(void)
{
    const double scales[] = {1.0, 1e200, 1e-200, 1.7e308};
    for (int32_t threads = 1; threads <= 4; threads++) {
        hmath_context *ctx = context(threads);
        for (int s = 0; s < 4; s++) {
            check_axis(ctx, 3, 5, 7, scales[s]);
            check_axis(ctx, 1, 100, 131, scales[s]);
            check_axis(ctx, 5, 1000, 1, scales[s]);
            check_axis(ctx, 1, 3 * HM_BLOCK + 5, 3, scales[s]);
            check_axis(ctx, 2, 5 * HM_BLOCK + 1, 1, scales[s]);
            check_axis(ctx, 2, 140000, 1, scales[s]);
        }
        hmath_context_destroy(ctx);
    }
}

/* ---- out of range on the way, in range at the end ---- */

static void test_reduce__range(void)
{
    const hm_kernels *k = hm_kernels_default();
    hmath_context *ctx = context(1);
    const double huge[] = {1e308, 1e308, -1e308, 1e308}, tiny[] = {3e-200, 4e-200};
    double mean;
    hm_axis_sum(ctx, huge, 1, 4, 1, 4.0, &mean);
    CHECK(mean == 5e307);
    hm_axis_sum(ctx, huge, 1, 3, 1, 1.0, &mean);
    CHECK(mean == 1e308);

    const hm_wide norm = hm_wide_root(hm_sum_row(k, HM_ROW_SQUARES, tiny, NULL, 2));
    CHECK(fabs(hm_wide_round(norm) / 5e-200 - 1) <
          4e-16); /* root, scaling of 3e-200: two roundings */
    const double big[] = {3e300, 4e300};
    CHECK(fabs(hm_wide_round(hm_wide_root(hm_sum_row(k, HM_ROW_SQUARES, big, NULL, 2))) / 5e300 -
               1) < 4e-16);
    CHECK(isinf(hm_wide_round(hm_sum_row(k, HM_ROW_SQUARES, big, NULL, 2))));

    /* a difference of 3.4e308 has a square, and half of its root is a double */
    const double right[] = {1.7e308, 0}, left[] = {-1.7e308, 0};
    hm_wide distance = hm_wide_root(hm_sum_row(k, HM_ROW_DISTANCE, right, left, 2));
    distance.exponent -= 1;
    CHECK(hm_wide_round(distance) == 1.7e308);

    /* a small difference beside large equal elements */
    const double near[] = {2, 1e300, 3e-161}, far[] = {2, 1e300, 7e-161};
    distance = hm_wide_root(hm_sum_row(k, HM_ROW_DISTANCE, near, far, 3));
    CHECK(fabs(hm_wide_round(distance) / 4e-161 - 1) < 1e-15);

    const double up[] = {1e200, 1e-200}, down[] = {1e-200, 1e200};
    CHECK(fabs(hm_wide_round(hm_sum_row(k, HM_ROW_DOT, up, down, 2)) - 2) < 1e-15);

    int shift;
    const double apart[] = {1e-200, 3e-200};
    const hm_moments m = hm_moments_row(k, apart, 2, &shift);
    CHECK(fabs(ldexp(sqrt(m.squares / 2), -shift) / 1e-200 - 1) < 1e-15);
    CHECK(fabs(ldexp(m.mean, -shift) / 2e-200 - 1) < 1e-15);

    const double constant[] = {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
    const hm_moments none = hm_moments_row(k, constant, 7, &shift);
    CHECK(shift == 0 && none.squares == 0 && none.mean == 0.1);
    hmath_context_destroy(ctx);
}

static int same_wide(hm_wide a, hm_wide b)
{
    return same(a.value, b.value) && a.exponent == b.exponent;
}

/* The three sums of one reading are those of three, in range and out of it. */
static void test_reduce__products(void)
{
    static const double scales[] = {1, 1e-160, 1e160, 1e-310, 0};
    static const int64_t lengths[] = {0, 1, 77, 4096, 4097, 300000};
    for (int32_t threads = 1; threads <= 3; threads++) {
        hmath_context *ctx = context(threads);
        for (int i = 0; i < 25; i++)
            for (int l = 0; l < 6; l++) {
                const int64_t n = lengths[l];
                double *x = numbers(n + 1, scales[i / 5]), *y = numbers(n + 2, scales[i % 5]);
                for (int64_t j = 0; i == 0 && j < n; j++) /* orthogonal */
                    *(j % 2 ? x + j : y + j + 1) = 0;
                for (int bad = 0; bad < 2; bad++) {
                    const hm_row_products got = hm_sum_row_products(ctx, x, y + 1, n);
                    CHECK(same_wide(got.xx, hm_sum_row_threads(ctx, HM_ROW_SQUARES, x, NULL, n)));
                    CHECK(
                        same_wide(got.yy, hm_sum_row_threads(ctx, HM_ROW_SQUARES, y + 1, NULL, n)));
                    CHECK(same_wide(got.xy, hm_sum_row_threads(ctx, HM_ROW_DOT, x, y + 1, n)));
                    x[n / 2] = NAN;
                }
                free(x);
                free(y);
            }
        hmath_context_destroy(ctx);
    }
}

static void test_wide__arithmetic(void)
{
    const hm_wide most = hm_wide_of(1.7e308), one = hm_wide_of(1.0), zero = hm_wide_of(0.0);
    CHECK(hm_wide_round(hm_wide_subtract(hm_wide_add(most, most), most)) == 1.7e308);
    CHECK(hm_wide_round(hm_wide_divide(hm_wide_multiply(most, most), most)) == 1.7e308);
    CHECK(hm_wide_round(hm_wide_root(hm_wide_multiply(most, most))) == 1.7e308);
    CHECK(isinf(hm_wide_round(hm_wide_add(most, most))));
    CHECK(hm_wide_round(hm_wide_add(zero, one)) == 1 && hm_wide_round(hm_wide_add(one, zero)) == 1);
    CHECK(hm_wide_less(zero, one) && !hm_wide_less(one, zero) && !hm_wide_less(one, one));
    CHECK(hm_wide_round(hm_wide_of(0x1p-1074)) == 0x1p-1074);
}

int main(void)
{
    test_reduce__tree_pairs_neighbours();
    test_reduce__along_any_axis();
    test_reduce__range();
    test_reduce__products();
    test_wide__arithmetic();
    return check_report();
}
