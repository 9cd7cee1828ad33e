#include "neural/precision/int8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/context.h"
#include "tensor/extent.h"
#include "tensor/panels.h"

/*
 * A panel of 32 columns is 32 KiB, and a sliver of 14 or 32 rows 14 or 32 KiB. SERIAL: 5 us at 200 G/s.
 * Matrix registers gain more than their setting up takes from 64 x 64 x 64 on, where they are not filled with
 * zeros: not for up to 4 rows or 32 steps.
 */
enum { DEPTH_BLOCK = 1024, SERIAL = 1 << 20, WORTH_MATRIX = 1 << 18, FEW_ROWS = 4, FEW_STEPS = 32 };

typedef struct product {
    const hm_int8_kernels *kernels;
    const int8_t *left, *right;
    int64_t rows, columns, depth;
    const double *left_scales;            /* one a row, or NULL: all 1 */
    const double *left_zeros, *left_sums; /* one a row; none where zeros are NULL */
    const double *zeros, *scales;         /* one a column; zeros NULL: none anywhere */
    double *sums; /* one a column, grow as columns are packed; NULL: no zero point asks for them */
    double *out;
    _Atomic bool too_large;
} product;

/* Packed depth, of the deepest block. */
static size_t padded(const product *p)
{
    return (size_t)hm_round_up(hm_least(p->depth, DEPTH_BLOCK), p->kernels->unit);
}

static size_t panel_bytes(const product *p) { return p->kernels->right_step * padded(p); }

static void pack_right(const void *job, hm_range k, hm_range columns, void *panels)
{
    const product *p = job;
    p->kernels->pack_right(k.count, columns.count, p->right + k.first * p->columns + columns.first,
                           p->columns, panels, panel_bytes(p),
                           p->sums ? p->sums + columns.first : NULL);
}

static void pack_left(const void *job, hm_range rows, hm_range k, void *sliver)
{
    const product *p = job;
    p->kernels->pack_left(rows.count, k.count, p->left + rows.first * p->depth + k.first, p->depth,
                          sliver);
}

static void multiply_panels(void *job, hm_range rows, hm_range columns, hm_range k,
                            const void *sliver, const void *panels)
{
    product *p = job;
    const bool first = k.first == 0, last = k.first + k.count == p->depth;
    const hm_int8_coding coding = {
        .row_zeros = p->zeros ? p->left_zeros + rows.first : NULL,
        .row_sums = p->zeros ? p->left_sums + rows.first : NULL,
        .row_scales = p->left_scales ? p->left_scales + rows.first : NULL,
        .zeros = p->zeros ? p->zeros + columns.first : NULL,
        .sums = p->sums ? p->sums + columns.first : NULL,
        .scales = p->scales + columns.first,
        .depth = (double)p->depth,
    };
    if (!p->kernels->multiply(&coding, rows.count, columns.count, k.count, sliver, panels,
                              panel_bytes(p), first, last,
                              p->out + rows.first * p->columns + columns.first, p->columns))
        p->too_large = true;
}

/* ------------------------------------------------- codings and sums, one a row or column */

static void spread_zeros(const hm_quantized *quantized, int64_t n, double *zeros)
{
    const int64_t *zero = quantized->zeros->data;
    const int64_t step = quantized->axis == HM_PER_TENSOR ? 0 : 1;
    for (int64_t i = 0; i < n; i++)
        zeros[i] = (double)zero[i * step];
}

static void spread_scales(const hm_quantized *quantized, int64_t n, double *scales)
{
    const double *scale = quantized->scales->data;
    const int64_t step = quantized->axis == HM_PER_TENSOR ? 0 : 1;
    for (int64_t i = 0; i < n; i++)
        scales[i] = scale[i * step];
}

/*
 * A scale is a fraction in [1/2, 1) and a power of two. The fractions take part in the product, where
 * they can neither overflow nor underflow; the powers come last.
 */
static void split(double *scales, int64_t n, int *powers, bool *any)
{
    for (int64_t i = 0; i < n; i++) {
        scales[i] = frexp(scales[i], &powers[i]);
        *any |= powers[i] != 0;
    }
}

static bool apply_powers(const product *p, const int *left, const int *right)
{
    bool finite = true;
    for (int64_t i = 0; i < p->rows; i++) {
        for (int64_t j = 0; j < p->columns; j++) {
            double *x = &p->out[i * p->columns + j];
            *x = ldexp(*x, left[i] + right[j]);
            finite &= isfinite(*x) != 0;
        }
    }
    return finite;
}

/* Scales so far from 1 that a product could leave the range of normal doubles on its way. */
static bool extreme(const hm_quantized *quantized)
{
    const double *scales = quantized->scales->data;
    for (int64_t i = 0; i < quantized->scales->length; i++)
        if (!(scales[i] >= 0x1p-480 && scales[i] <= 0x1p480))
            return true;
    return false;
}

static bool coded(const hm_quantized *quantized)
{
    const int64_t *zeros = quantized->zeros->data;
    for (int64_t i = 0; i < quantized->zeros->length; i++)
        if (zeros[i] != 0)
            return true;
    return false;
}

static hm_status multiply(hm_context *ctx, product *p)
{
    const hm_int8_kernels *k = p->kernels;
    const hm_panels panels = {
        .rows = p->rows,
        .columns = p->columns,
        .depth = p->depth,
        .tile_rows = k->tile_rows,
        .tile_columns = k->tile_columns,
        .depth_block = DEPTH_BLOCK,
        .sliver_bytes = k->left_step * padded(p) + k->left_head,
        .panel_bytes = panel_bytes(p),
        .serial = SERIAL,
        .pack_right = pack_right,
        .pack_left = pack_left,
        .multiply = multiply_panels,
    };
    return hm_run_panels(ctx, &panels, p);
}

/* Zero points, and the sums that those of the other side multiply, in scratch for two of each. */
static void prepare_zeros(const hm_quantized *left, const hm_quantized *right, product *p,
                          double *row, double *column)
{
    const int64_t m = p->rows, n = p->columns;
    const bool left_coded = coded(left), right_coded = coded(right);
    if (!left_coded && !right_coded)
        return;
    spread_zeros(left, m, row);
    spread_zeros(right, n, column);
    for (int64_t i = 0; i < m; i++)
        row[m + i] = right_coded ? (double)p->kernels->sum(p->left + i * p->depth, p->depth) : 0;
    p->left_zeros = row;
    p->left_sums = row + m;
    p->zeros = column;
    if (left_coded) {
        p->sums = column + n;
        memset(p->sums, 0, (size_t)n * sizeof *p->sums);
    }
}

/* With scratch for rows + columns zeros, sums and scales. */
static hm_status compute(hm_context *ctx, const hm_quantized *left, const hm_quantized *right,
                         product *p, double *scratch, int *powers)
{
    const int64_t m = p->rows, n = p->columns;
    double *row_scales = scratch, *scales = scratch + m;
    bool any = false;
    prepare_zeros(left, right, p, scales + n, scales + n + 2 * m);
    p->scales = scales;
    spread_scales(left, m, row_scales);
    spread_scales(right, n, scales);
    if (extreme(left) || extreme(right)) {
        split(row_scales, m, powers, &any);
        split(scales, n, powers + m, &any);
    }
    if (left->axis == HM_PER_TENSOR) /* one for all: let the columns have it */
        for (int64_t j = 0; j < n; j++)
            scales[j] *= row_scales[0];
    else
        p->left_scales = row_scales;
    hm_status st = multiply(ctx, p);
    if (st != HMATH_OK)
        return st;
    if (p->too_large || (any && !apply_powers(p, powers, powers + m)))
        return hm_fail_overflow(ctx);
    return HMATH_OK;
}

/* All of them give the same sums. */
static const hm_int8_kernels *choose_kernels(hm_context *ctx, const product *p)
{
    const hm_kernels *kernels = hm_context_kernels(ctx);
    const double work = (double)p->rows * (double)p->columns * (double)p->depth;
    const bool worth = work >= WORTH_MATRIX && p->rows > FEW_ROWS && p->depth > FEW_STEPS;
    const hm_int8_kernels *matrix = kernels->int8_matrix;
    return matrix && worth && matrix->granted() ? matrix : kernels->int8;
}

/* ------------------------------------------------- checks */

static hm_status check_axis(hm_context *ctx, const char *argument, const hm_quantized *quantized,
                            int64_t axis)
{
    if (quantized->axis == HM_PER_TENSOR || quantized->axis == axis)
        return HMATH_OK;
    char expected[64], actual[64];
    snprintf(expected, sizeof expected, "calibrated per tensor or along axis %lld",
             (long long)axis);
    snprintf(actual, sizeof actual, "calibrated along axis %lld", (long long)quantized->axis);
    return hm_fail_shape(ctx, argument, expected, actual);
}

static hm_status check(hm_context *ctx, const hm_quantized *left, const hm_quantized *right)
{
    hm_status st;
    if ((st = hm_check_rank(ctx, "left", &left->shape, 2)) != HMATH_OK ||
        (st = check_axis(ctx, "left", left, 0)) != HMATH_OK ||
        (st = hm_check_rank(ctx, "right", &right->shape, 2)) != HMATH_OK ||
        (st = check_axis(ctx, "right", right, 1)) != HMATH_OK)
        return st;
    if (right->shape.extent[0] != left->shape.extent[1])
        return hm_fail_dimension(ctx, "right", left->shape.extent[1], right->shape.extent[0]);
    return HMATH_OK;
}

hm_status hm_int8_gemm(hm_context *ctx, const hm_quantized *left, const hm_quantized *right,
                       hm_tensor **out)
{
    hm_status st = check(ctx, left, right);
    if (st != HMATH_OK)
        return st;
    product p = {
        .left = left->values->data,
        .right = right->values->data,
        .rows = left->shape.extent[0],
        .columns = right->shape.extent[1],
        .depth = left->shape.extent[1], /* quantized tensors are never empty */
    };
    p.kernels = choose_kernels(ctx, &p);
    const hm_shape shape = {.rank = 2, .extent = {p.rows, p.columns}};
    hm_tensor *result = NULL;
    double *scratch = NULL;
    int *powers = NULL;
    if ((st = hm_tensor_create(ctx, &shape, &result)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)(p.rows + p.columns), 3 * sizeof *scratch,
                                &scratch)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)(p.rows + p.columns), sizeof *powers, &powers)) !=
            HMATH_OK)
        goto done;
    p.out = result->data;
    if ((st = compute(ctx, left, right, &p, scratch, powers)) != HMATH_OK)
        goto done;
    atomic_init(&result->known_finite, true);
    *out = result;
    result = NULL;
done:
    hm_scratch_release(ctx, powers);
    hm_scratch_release(ctx, scratch);
    hm_release(result);
    return st;
}
