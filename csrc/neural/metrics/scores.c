#include "neural/metrics/scores.h"

#include <math.h>

#include "runtime/pool.h"
#include "tensor/contract.h"
#include "tensor/reduce.h"

/* ------------------------------------------------- perplexity */

hm_status hm_perplexity(hm_context *ctx, const hm_doubles *log_probabilities, double *out)
{
    const char *argument =
        "negative_log_probabilities"; /* the parameter's name, not what it holds */
    const double *x = log_probabilities->data;
    const int64_t n = log_probabilities->length;
    hm_status st;
    if ((st = hm_check_vector(ctx, argument, log_probabilities)) != HMATH_OK ||
        (st = hm_check_some(ctx, argument, n)) != HMATH_OK ||
        (st = hm_check_doubles_finite(ctx, argument, log_probabilities)) != HMATH_OK)
        return st;
    for (int64_t i = 0; i < n; i++)
        if (x[i] > 0)
            return hm_fail_domain(ctx, argument, i, x[i], "<= 0");

    const hm_wide sum = hm_sum_row_threads(ctx, HM_ROW_SUM, x, NULL, n);
    const double mean = hm_wide_round(hm_wide_divide(hm_wide_negate(sum), hm_wide_of((double)n)));
    double result;
    hm_context_kernels(ctx)->elementwise->unary[HM_UNARY_exp](1, &mean, &result);
    if (!isfinite(result))
        return hm_fail_overflow(ctx);
    *out = result;
    return HMATH_OK;
}

/* ------------------------------------------------- cosine similarities */

typedef struct rows_task {
    const hm_kernels *kernels;
    const double *rows;
    double *units;
    int64_t count, width, chunks;
    _Atomic int64_t zero_row; /* the first that has no direction, or count */
} rows_task;

/* x * 2^-e / value for a norm of value * 2^e; the power in two steps, since one may not reach. */
static void write_unit(const double *x, int64_t width, hm_wide norm, double *unit)
{
    const int half = (int)(norm.exponent / 2);
    const double first = ldexp(1, -half), second = ldexp(1, -(int)(norm.exponent - half));
    for (int64_t i = 0; i < width; i++)
        unit[i] = x[i] * first * second / norm.value;
}

static void remember_least(_Atomic int64_t *least, int64_t i)
{
    int64_t known = atomic_load(least);
    while (i < known && !atomic_compare_exchange_weak(least, &known, i)) {
    }
}

static void write_units(void *task, int64_t chunk)
{
    rows_task *t = task;
    const int64_t last = hm_split(t->count, t->chunks, chunk + 1);
    for (int64_t i = hm_split(t->count, t->chunks, chunk); i < last; i++) {
        const double *x = t->rows + i * t->width;
        const hm_wide norm =
            hm_wide_root(hm_sum_row(t->kernels, HM_ROW_SQUARES, x, NULL, t->width));
        if (norm.value == 0)
            remember_least(&t->zero_row, i);
        else
            write_unit(x, t->width, norm, t->units + i * t->width);
    }
}

/* Every row brought to length 1, in scratch memory. */
static hm_status unit_rows(hm_context *ctx, const char *argument, const hm_tensor *tensor,
                           double **out)
{
    double *units = NULL;
    hm_status st = hm_scratch_create(ctx, (size_t)tensor->size, sizeof *units, &units);
    if (st != HMATH_OK)
        return st;
    rows_task task = {.kernels = hm_context_kernels(ctx),
                      .rows = tensor->data,
                      .units = units,
                      .count = tensor->shape.extent[0],
                      .width = tensor->shape.extent[1]};
    task.zero_row = task.count;
    task.chunks = hm_chunks(task.count, 16384 / task.width + 1, 64);
    hm_parallel_for(ctx, task.chunks, write_units, &task);
    if (task.zero_row < task.count) {
        hm_scratch_release(ctx, units);
        return hm_fail_domain_because(ctx, argument, task.zero_row * task.width, 0.0,
                                      "begins a row of zeros", "a row with a direction");
    }
    *out = units;
    return HMATH_OK;
}

static hm_status check_sides(hm_context *ctx, const hm_tensor *left, const hm_tensor *right)
{
    hm_status st;
    if ((st = hm_check_rank(ctx, "left", &left->shape, 2)) != HMATH_OK ||
        (st = hm_check_rank(ctx, "right", &right->shape, 2)) != HMATH_OK ||
        (st = hm_check_length(ctx, "right", right->shape.extent[1], left->shape.extent[1])) !=
            HMATH_OK ||
        (st = hm_check_some(ctx, "left", left->size)) != HMATH_OK ||
        (st = hm_check_some(ctx, "right", right->size)) != HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "left", left)) != HMATH_OK)
        return st;
    return hm_check_tensor_finite(ctx, "right", right);
}

hm_status hm_cosine_similarity_matrix(hm_context *ctx, const hm_tensor *left,
                                      const hm_tensor *right, hm_tensor **out)
{
    hm_status st = check_sides(ctx, left, right);
    if (st != HMATH_OK)
        return st;
    const int64_t rows = left->shape.extent[0], columns = right->shape.extent[0];
    const int64_t width = left->shape.extent[1];
    const hm_shape shape = {.rank = 2, .extent = {rows, columns}};
    double *left_units = NULL, *right_units = NULL;
    hm_tensor *result = NULL;
    bool finite;
    if ((st = unit_rows(ctx, "left", left, &left_units)) != HMATH_OK ||
        (st = unit_rows(ctx, "right", right, &right_units)) != HMATH_OK ||
        (st = hm_tensor_create(ctx, &shape, &result)) != HMATH_OK)
        goto done;
    const hm_product product = {
        .batch = 1,
        .rows = rows,
        .columns = columns,
        .depth = width,
        .left = hm_matrix_rows(left_units, width),
        .right = hm_matrix_transposed(right_units, width),
        .out = result->data,
        .out_row = columns,
    };
    if ((st = hm_contract(ctx, &product, &finite)) != HMATH_OK)
        goto done;
    for (int64_t i = 0; i < result->size; i++) {
        const double cosine = result->data[i];
        result->data[i] = cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
    }
    hm_tensor_remember_finite(result);
    *out = result;
    result = NULL;
done:
    hm_scratch_release(ctx, left_units);
    hm_scratch_release(ctx, right_units);
    hm_release(result);
    return st;
}

/* ------------------------------------------------- margin ranking */

typedef struct margin_job {
    const hm_kernels *kernels;
    double margin, scale; /* everything times a power of two */
    const double *left, *right;
    const int64_t *labels;
} margin_job;

/*
 * l - r is d + e without error (Knuth's TwoSum), so that the loss keeps its accuracy where margin
 * and y d nearly cancel.
 */
static double margin_term(double margin, double l, double r, double y)
{
    const double d = l - r, part = d - l;
    const double e = (l - (d - part)) - (r + part);
    const double loss = (margin - y * d) - y * e;
    return loss > 0 || isnan(loss) ? loss : 0.0;
}

static void margin_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const margin_job *j = job;
    double terms[HM_BLOCK];
    for (int64_t i = 0; i < n; i++)
        terms[i] = margin_term(j->margin * j->scale, j->left[first + i] * j->scale,
                               j->right[first + i] * j->scale, (double)j->labels[first + i]);
    *out = (hm_partial){{j->kernels->reduce->sum(terms, n)}};
}

static hm_status check_margin(hm_context *ctx, double margin, const hm_doubles *left,
                              const hm_doubles *right, const hm_ints *labels)
{
    hm_status st = hm_check_scalar_finite(ctx, "margin", margin);
    if (st != HMATH_OK)
        return st;
    if (margin < 0)
        return hm_fail_domain(ctx, "margin", HM_SCALAR, margin, ">= 0");
    if ((st = hm_check_vector(ctx, "left", left)) != HMATH_OK ||
        (st = hm_check_vector(ctx, "right", right)) != HMATH_OK ||
        (st = hm_check_length(ctx, "right", right->length, left->length)) != HMATH_OK ||
        (st = hm_check_length(ctx, "labels", labels->length, left->length)) != HMATH_OK ||
        (st = hm_check_some(ctx, "left", left->length)) != HMATH_OK ||
        (st = hm_check_doubles_finite(ctx, "left", left)) != HMATH_OK ||
        (st = hm_check_doubles_finite(ctx, "right", right)) != HMATH_OK)
        return st;
    for (int64_t i = 0; i < labels->length; i++)
        if (labels->data[i] != 1 && labels->data[i] != -1)
            return hm_fail_domain_int(ctx, "labels", i, labels->data[i], "1 or -1");
    return HMATH_OK;
}

hm_status hm_margin_ranking_loss(hm_context *ctx, double margin, const hm_doubles *left,
                                 const hm_doubles *right, const hm_ints *labels, double *out)
{
    static const hm_reduction how = {margin_block, hm_join_sums};
    hm_status st = check_margin(ctx, margin, left, right, labels);
    if (st != HMATH_OK)
        return st;
    margin_job job = {hm_context_kernels(ctx), margin, 1.0, left->data, right->data, labels->data};
    const double n = (double)left->length;
    hm_partial total;
    hm_reduce(ctx, &how, &job, left->length, &total);
    double mean = total.of[0] / n;
    if (!isfinite(
            mean)) { /* once more where neither a term nor a sum of 2^62 of them can overflow */
        job.scale = 0x1p-64;
        hm_reduce(ctx, &how, &job, left->length, &total);
        mean = total.of[0] / n * 0x1p64;
    }
    if (!isfinite(mean))
        return hm_fail_overflow(ctx);
    *out = mean;
    return HMATH_OK;
}
