/*
 * Softmax and its logarithm along the last axis.
 *
 * Rows of up to a block go to the kernel, a few to a chunk. Longer ones go block by block: largest
 * entry, exponentials with their sum, division; the sum in two parts, so that in the logarithm the
 * largest entry keeps its relative accuracy (kernels/softmax.h).
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#include "neural/core/core.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/reduce.h"

enum { CHUNK_ELEMENTS = 8192 }; /* some 10 microseconds */

hm_status hm_check_rows_of_some(hm_context *ctx, const char *argument, const hm_doubles *view,
                                int64_t *rows, int64_t *columns)
{
    if (view->rank == 0)
        return hm_fail_shape(ctx, argument, "rank 1 or more", "rank 0");
    const hm_tensor *tensor = hm_tensor_from_value(view->source);
    *rows = 1;
    *columns = tensor ? tensor->shape.extent[view->rank - 1] : view->length;
    for (int32_t axis = 0; axis + 1 < view->rank; axis++)
        *rows *= tensor->shape.extent[axis];
    return *rows == 0 ? HMATH_OK : hm_check_some(ctx, argument, *columns);
}

typedef struct softmax_task {
    const hm_context *ctx;
    const hm_kernels *kernels;
    const double *x;
    int64_t rows, n, rows_per_chunk;
    double *out;
    bool logarithm;
    atomic_bool spoiled;
} softmax_task;

static void rows_chunk(void *task, int64_t chunk)
{
    softmax_task *t = task;
    const hm_softmax_kernels *k = t->kernels->softmax;
    const int64_t first = chunk * t->rows_per_chunk, left = t->rows - first;
    const int64_t rows = left < t->rows_per_chunk ? left : t->rows_per_chunk;
    if (!(t->logarithm ? k->log_softmax : k->softmax)(t->x + first * t->n, rows, t->n,
                                                      t->out + first * t->n))
        atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
}

/* ---- one row of more than a block ---- */

typedef struct long_row {
    const hm_kernels *kernels;
    const double *x;
    int64_t n;
    double most,
        by;      /* largest entry; what exponentials are multiplied by, or logarithms lessened by */
    double *out; /* NULL: the exponentials are not kept */
    atomic_bool spoiled;
} long_row;

static void sum_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const long_row *row = job;
    const hm_softmax_kernels *k = row->kernels->softmax;
    const hm_exp_sum sum = row->out
                               ? k->exponentials(row->x + first, n, row->most, row->out + first)
                               : k->exponential_sum(row->x + first, n, row->most);
    *out = (hm_partial){{sum.high, sum.low}};
}

static const hm_reduction exp_sums = {sum_block, hm_join_exp_sums};

static void scale_block(void *task, int64_t block)
{
    long_row *row = task;
    const int64_t first = block * HM_BLOCK, left = row->n - first;
    const int64_t n = left < HM_BLOCK ? left : HM_BLOCK;
    row->kernels->softmax->scale(row->out + first, n, row->by, row->out + first);
}

static void log_block(void *task, int64_t block)
{
    long_row *row = task;
    const int64_t first = block * HM_BLOCK, left = row->n - first;
    const int64_t n = left < HM_BLOCK ? left : HM_BLOCK;
    if (!row->kernels->softmax->log_shift(row->x + first, n, row->most, row->by, row->out + first))
        atomic_store_explicit(&row->spoiled, true, memory_order_relaxed);
}

static bool long_row_softmax(const softmax_task *t, const double *x, double *out)
{
    long_row row = {
        .kernels = t->kernels, .x = x, .n = t->n, .most = t->kernels->reduce->maximum(x, t->n)};
    if (isnan(row.most))
        return false;
    const int64_t blocks = (t->n - 1) / HM_BLOCK + 1;
    hm_partial total;
    row.out = t->logarithm ? NULL : out;
    hm_reduce(t->ctx, &exp_sums, &row, t->n, &total);
    const hm_exp_sum sum = {total.of[0], total.of[1]};
    row.out = out;
    row.by = t->logarithm ? t->kernels->softmax->log_of_sum(sum) : 1.0 / (sum.high + sum.low);
    hm_parallel_for(t->ctx, blocks, t->logarithm ? log_block : scale_block, &row);
    return !row.spoiled;
}

static bool run(softmax_task *t)
{
    t->kernels = hm_context_kernels(t->ctx);
    if (t->n > HM_BLOCK) {
        for (int64_t i = 0; i < t->rows; i++)
            if (!long_row_softmax(t, t->x + i * t->n, t->out + i * t->n))
                return false;
        return true;
    }
    if (t->rows == 0)
        return true;
    t->rows_per_chunk = CHUNK_ELEMENTS / t->n + 1;
    hm_parallel_for(t->ctx, (t->rows - 1) / t->rows_per_chunk + 1, rows_chunk, t);
    return !t->spoiled;
}

bool hm_softmax_rows(const hm_context *ctx, bool logarithm, const double *x, int64_t rows,
                     int64_t n, double *out)
{
    softmax_task task = {
        .ctx = ctx, .x = x, .rows = rows, .n = n, .out = out, .logarithm = logarithm};
    return run(&task);
}

static hm_status softmax(hm_context *ctx, bool logarithm, const hm_doubles *values, hm_value **out)
{
    softmax_task task = {.ctx = ctx, .x = values->data, .logarithm = logarithm};
    hm_value *result = NULL;
    hm_status st;
    if ((st = hm_check_rows_of_some(ctx, "values", values, &task.rows, &task.n)) != HMATH_OK ||
        (st = hm_result_like(ctx, values->source, values->length, &result, &task.out)) != HMATH_OK)
        return st;
    if (!run(&task)) {
        hm_release(result);
        st = hm_check_finite(ctx, "values", values->data, values->length);
        return st != HMATH_OK ? st : hm_fail_overflow(ctx);
    }
    *out = result;
    return HMATH_OK;
}

hm_status hm_softmax(hm_context *ctx, const hm_doubles *values, hm_value **out)
{
    return softmax(ctx, false, values, out);
}

hm_status hm_log_softmax(hm_context *ctx, const hm_doubles *values, hm_value **out)
{
    return softmax(ctx, true, values, out);
}
