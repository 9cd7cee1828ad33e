#include "neural/precision/reduced.h"

#include <string.h>

#include "runtime/context.h"
#include "tensor/extent.h"
#include "tensor/panels.h"
#include "tensor/view.h"

/* Packed words: a panel of 32 columns is 128 KiB, and a sliver of 14 rows 56 KiB; both stay in L2. */
enum { DEPTH_BLOCK = 1024, SERIAL = 1 << 18 /* 5 us at 100 GFLOP/s */ };

static const hm_class precision_class = {.kind = HMATH_KIND_PRECISION, .name = "Precision"};

hm_status hm_precision_create(hm_context *ctx, hm_format format, hm_precision **out)
{
    hm_status st = hm_value_create(ctx, &precision_class, sizeof(hm_precision), out);
    if (st == HMATH_OK)
        (*out)->format = format;
    return st;
}

/* IEEE 754 binary16, and its binary32 cut to 8 significant bits. */
static hm_reduced_format description(hm_format format)
{
    if (format == HM_FP16)
        return (hm_reduced_format){.precision = 11, .least = -14, .largest = 65504};
    return (hm_reduced_format){.precision = 8, .least = -126, .largest = 0x1.fep127};
}

typedef struct product {
    const hm_reduced_kernels *kernels;
    hm_reduced_format format;
    const double *left, *right;
    int64_t columns, depth;
    double *out;
    _Atomic bool *overflow;
} product;

/* Words of depth, of the deepest block. */
static int64_t words_of(const product *p)
{
    return hm_least(hm_ceiling(p->depth, p->kernels->step), DEPTH_BLOCK);
}

static int64_t panel_size(const product *p) { return p->kernels->tile_columns * words_of(p); }

static void pack_right(const void *job, hm_range k, hm_range columns, void *panels)
{
    const product *p = job;
    if (!p->kernels->pack_right(&p->format, k.count, columns.count,
                                p->right + k.first * p->columns + columns.first, p->columns, panels,
                                panel_size(p)))
        *p->overflow = true;
}

static void pack_left(const void *job, hm_range rows, hm_range k, void *sliver)
{
    const product *p = job;
    if (!p->kernels->pack_left(&p->format, rows.count, k.count,
                               p->left + rows.first * p->depth + k.first, p->depth, sliver))
        *p->overflow = true;
}

static void multiply_panels(void *job, hm_range rows, hm_range columns, hm_range k,
                            const void *sliver, const void *panels)
{
    const product *p = job;
    if (!p->kernels->multiply(rows.count, columns.count, k.count, sliver, panels, panel_size(p),
                              k.first == 0, p->out + rows.first * p->columns + columns.first,
                              p->columns))
        *p->overflow = true;
}

static hm_status multiply_with(hm_context *ctx, const hm_reduced_kernels *k, product *p,
                               int64_t rows)
{
    p->kernels = k;
    const hm_panels panels = {
        .rows = rows,
        .columns = p->columns,
        .depth = p->depth,
        .tile_rows = k->tile_rows,
        .tile_columns = k->tile_columns,
        .depth_block = DEPTH_BLOCK * k->step,
        .sliver_bytes = (size_t)(k->tile_rows * (words_of(p) + HM_SLIVER_GAP)) * sizeof(float),
        .panel_bytes = (size_t)panel_size(p) * sizeof(float),
        .serial = SERIAL,
        .pack_right = pack_right,
        .pack_left = pack_left,
        .multiply = multiply_panels,
    };
    return hm_run_panels(ctx, &panels, p);
}

/* In pairs where all operands allow it, as they nearly always do; else, to the same bits, one by one. */
static hm_status multiply(hm_context *ctx, product *p, int64_t rows)
{
    const hm_kernels *kernels = hm_context_kernels(ctx);
    if (kernels->reduced_pairs && p->format.precision == 8) {
        const hm_status st = multiply_with(ctx, kernels->reduced_pairs, p, rows);
        if (st != HMATH_OK || !*p->overflow)
            return st;
        *p->overflow = false;
    }
    return multiply_with(ctx, kernels->reduced, p, rows);
}

/* Operands that meet no partner (no rows, no columns) are rounded and looked at all the same. */
static bool operand_fits(const product *p, const double *x, int64_t n)
{
    float rounded[64];
    bool fits = true;
    for (int64_t i = 0; i < n; i += 64)
        fits &= p->kernels->round(&p->format, x + i, n - i < 64 ? n - i : 64, rounded);
    return fits;
}

static hm_status check(hm_context *ctx, const hm_tensor *left, const hm_tensor *right)
{
    hm_status st;
    if ((st = hm_check_rank(ctx, "left", &left->shape, 2)) != HMATH_OK ||
        (st = hm_check_rank(ctx, "right", &right->shape, 2)) != HMATH_OK)
        return st;
    if (right->shape.extent[0] != left->shape.extent[1])
        return hm_fail_dimension(ctx, "right", left->shape.extent[1], right->shape.extent[0]);
    if ((st = hm_check_tensor_finite(ctx, "left", left)) != HMATH_OK)
        return st;
    return hm_check_tensor_finite(ctx, "right", right);
}

hm_status hm_reduced_gemm(hm_context *ctx, hm_format format, const hm_tensor *left,
                          const hm_tensor *right, hm_tensor **out)
{
    hm_status st = check(ctx, left, right);
    if (st != HMATH_OK)
        return st;
    const int64_t rows = left->shape.extent[0], columns = right->shape.extent[1];
    const hm_shape shape = {.rank = 2, .extent = {rows, columns}};
    hm_tensor *result = NULL;
    if ((st = hm_tensor_create(ctx, &shape, &result)) != HMATH_OK)
        return st;
    _Atomic bool overflow = false;
    product p = {
        .kernels = hm_context_kernels(ctx)->reduced,
        .format = description(format),
        .left = left->data,
        .right = right->data,
        .columns = columns,
        .depth = left->shape.extent[1],
        .out = result->data,
        .overflow = &overflow,
    };
    if (result->size == 0)
        overflow = !operand_fits(&p, left->data, left->size) ||
                   !operand_fits(&p, right->data, right->size);
    else if (p.depth == 0)
        memset(result->data, 0, (size_t)result->size * sizeof *result->data);
    else
        st = multiply(ctx, &p, rows);
    if (st == HMATH_OK && overflow)
        st = hm_fail_overflow(ctx);
    if (st != HMATH_OK) {
        hm_release(result);
        return st;
    }
    atomic_init(&result->known_finite, true);
    *out = result;
    return HMATH_OK;
}
