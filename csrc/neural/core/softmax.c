/*
 * Softmax and its logarithm along the last axis.
 *
 * Rows of up to a block go to the kernel, a few to a chunk. Longer ones go block by block: largest
 * entry, exponentials with their sum, division; the sum in two parts, so that in the logarithm the
 * largest entry keeps its relative accuracy (kernels/softmax.h).
 */
#include <math.h>
#include <stdatomic.h>

#include "kernels/cpu.h"
#include "neural/core/core.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/reduce.h"

/* A chunk takes some 10 microseconds. */
enum { CHUNK_ELEMENTS = 8192, FEW_ROWS = 8, LONG_ROW = 1 << 16 };

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

/* ---- the logarithm of a sum of exponentials ---- */

typedef hm_exp_sum sum_kernel(const double *x, int64_t n, double most);

typedef struct exp_sum_job {
    sum_kernel *kernel;
    const double *x;
    double most;
} exp_sum_job;

static void exp_sum_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const exp_sum_job *j = job;
    const hm_exp_sum sum = j->kernel(j->x + first, n, j->most);
    *out = (hm_partial){{sum.high, sum.low}};
}

/* On the context's threads, or here where it is NULL. */
static hm_exp_sum sum_blocks(const hm_context *ctx, const hm_reduction *sums, const void *job,
                             int64_t n)
{
    hm_partial total;
    if (ctx)
        hm_reduce(ctx, sums, job, n, &total);
    else
        hm_reduce_here(sums, job, n, &total);
    return (hm_exp_sum){total.of[0], total.of[1]};
}

double hm_log_sum_exp(const hm_context *ctx, const hm_softmax_kernels *kernels, const double *x,
                      int64_t n, double most)
{
    static const hm_reduction sums = {exp_sum_block, hm_join_exp_sums};
    exp_sum_job job = {kernels->exponential_sum, x, most};
    hm_exp_sum sum = sum_blocks(ctx, &sums, &job, n);
    if (hm_exp_sum_is_near_one(sum)) {
        job.kernel = kernels->accurate_exponential_sum;
        sum = sum_blocks(ctx, &sums, &job, n);
    }
    return kernels->log_of_sum(sum);
}

/* ---- one row of more than a block ---- */

typedef struct long_row {
    const hm_kernels *kernels;
    const double *x;
    int64_t n, chunks;
    bool logarithm;
    double most,
        by; /* largest entry; what exponentials are multiplied by, or logarithms lessened by */
    double *out;
    atomic_bool spoiled;
} long_row;

static void exponentials_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const long_row *row = job;
    const hm_softmax_kernels *k = row->kernels->softmax;
    const hm_exp_sum sum = k->exponentials(row->x + first, n, row->most, row->out + first);
    *out = (hm_partial){{sum.high, sum.low}};
}

/* Exponentials into the result, and the reciprocal of their sum. */
static double exponentials(const hm_context *ctx, const long_row *row)
{
    static const hm_reduction sums = {exponentials_block, hm_join_exp_sums};
    const hm_exp_sum sum = sum_blocks(ctx, &sums, row, row->n);
    return 1.0 / (sum.high + sum.low);
}

static void finish_chunk(void *task, int64_t chunk)
{
    long_row *row = task;
    const hm_softmax_kernels *k = row->kernels->softmax;
    const int64_t first = hm_split(row->n, row->chunks, chunk);
    const int64_t n = hm_split(row->n, row->chunks, chunk + 1) - first;
    if (!row->logarithm)
        k->scale(row->out + first, n, row->by, row->out + first);
    else if (!k->log_shift(row->x + first, n, row->most, row->by, row->out + first))
        atomic_store_explicit(&row->spoiled, true, memory_order_relaxed);
}

/* On the context's threads, or here where it is NULL. */
static bool run_long_row(const hm_context *ctx, long_row *row)
{
    row->most = row->kernels->reduce->maximum(row->x, row->n);
    if (isnan(row->most))
        return false;
    row->by = row->logarithm ? hm_log_sum_exp(ctx, row->kernels->softmax, row->x, row->n, row->most)
                             : exponentials(ctx, row);
    row->chunks = ctx ? hm_chunks(row->n, 8 * HM_BLOCK, 64) : 1;
    if (ctx)
        hm_parallel_for(ctx, row->chunks, finish_chunk, row);
    else
        finish_chunk(row, 0);
    return !row->spoiled;
}

/* ---- rows ---- */

typedef struct softmax_task {
    const hm_context *ctx;
    const hm_kernels *kernels;
    const double *x;
    int64_t rows, n, chunks;
    double *out;
    bool logarithm;
    atomic_bool spoiled;
} softmax_task;

static long_row row_of(const softmax_task *t, int64_t i)
{
    return (long_row){.kernels = t->kernels,
                      .x = t->x + i * t->n,
                      .n = t->n,
                      .logarithm = t->logarithm,
                      .out = t->out + i * t->n};
}

typedef bool short_rows(const double *x, int64_t rows, int64_t n, double *out);

static short_rows *kernel_of(const softmax_task *t)
{
    enum { LARGE = 2 << 20 };
    const hm_softmax_kernels *k = t->kernels->softmax;
    return !t->logarithm                         ? k->softmax
           : hm_cpu_own_caches().second >= LARGE ? k->log_softmax_fetching
                                                 : k->log_softmax;
}

static bool run_rows(const softmax_task *t, int64_t first, int64_t rows)
{
    if (t->n <= HM_BLOCK)
        return kernel_of(t)(t->x + first * t->n, rows, t->n, t->out + first * t->n);
    for (int64_t i = first; i < first + rows; i++) {
        long_row row = row_of(t, i);
        if (!run_long_row(NULL, &row))
            return false;
    }
    return true;
}

static void rows_chunk(void *task, int64_t chunk)
{
    softmax_task *t = task;
    const int64_t first = hm_split(t->rows, t->chunks, chunk);
    if (!run_rows(t, first, hm_split(t->rows, t->chunks, chunk + 1) - first))
        atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
}

static bool run(softmax_task *t)
{
    t->kernels = hm_context_kernels(t->ctx);
    if (t->rows < FEW_ROWS && t->n >= LONG_ROW) { /* the threads share each row */
        for (int64_t i = 0; i < t->rows; i++) {
            long_row row = row_of(t, i);
            if (!run_long_row(t->ctx, &row))
                return false;
        }
        return true;
    }
    if (t->rows == 0)
        return true;
    t->chunks = hm_chunks(t->rows, CHUNK_ELEMENTS / t->n + 1, INT64_MAX);
    hm_parallel_for(t->ctx, t->chunks, rows_chunk, t);
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
