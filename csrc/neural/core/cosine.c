/*
 * CosineLoss, 1 - cos(t, p), without the cancellation for nearly parallel vectors: with r what is
 * left of p beside t, |r| = |p| sin, and 1 - cos = sin^2/(1 + cos). r is formed with the fused
 * multiply-add, so each of its elements is right to its own last place; what its coefficient's
 * rounding leaves along t is measured and taken out.
 */
#include <math.h>
#include <stdlib.h>

#include "neural/core/loss_domain.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/reduce.h"

/* Both vectors times powers of two that keep their squares in range; 2^0 for ordinary ones. */
typedef struct angle {
    const hm_kernels *kernels;
    hm_source target, prediction;
    double target_squares, prediction_squares, dot; /* of the shifted vectors */
} angle;

enum { COMFORTABLE = 800 };

static int shift_for(const hm_kernels *k, const hm_doubles *v, hm_wide squares)
{
    if (llabs(squares.exponent) < COMFORTABLE)
        return 0;
    return -ilogb(k->reduce->largest_magnitude(v->data, v->length));
}

static double shifted(hm_wide sum, int64_t shift)
{
    sum.exponent += shift;
    return hm_wide_round(sum);
}

static hm_status check_vector_of_some_length(hm_context *ctx, const char *argument,
                                             const hm_doubles *v, hm_wide squares)
{
    if (!isfinite(squares.value))
        return hm_check_finite(ctx, argument, v->data, v->length);
    return squares.value != 0
               ? HMATH_OK
               : hm_fail_domain(ctx, argument, HM_SCALAR, 0.0, "a vector other than zero");
}

static hm_status measure(hm_context *ctx, const hm_doubles *target, const hm_doubles *prediction,
                         angle *out)
{
    const hm_row_products sums =
        hm_sum_row_products(ctx, target->data, prediction->data, target->length);
    const hm_wide t = sums.xx, p = sums.yy, dot = sums.xy;
    hm_status st;
    if ((st = check_vector_of_some_length(ctx, "target", target, t)) != HMATH_OK ||
        (st = check_vector_of_some_length(ctx, "prediction", prediction, p)) != HMATH_OK)
        return st;

    const hm_kernels *k = hm_context_kernels(ctx);
    const int t_shift = shift_for(k, target, t), p_shift = shift_for(k, prediction, p);
    *out = (angle){.kernels = k,
                   .target = {target->data, 1, t_shift},
                   .prediction = {prediction->data, 1, p_shift},
                   .target_squares = shifted(t, 2 * (int64_t)t_shift),
                   .prediction_squares = shifted(p, 2 * (int64_t)p_shift),
                   .dot = shifted(dot, (int64_t)t_shift + p_shift)};
    return HMATH_OK;
}

/* ---- what is left of y beside x ---- */

typedef struct residual_job {
    const hm_kernels *kernels;
    hm_source x, y;
    double factor;
} residual_job;

static void residual_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const residual_job *j = job;
    double x_room[HM_BLOCK], y_room[HM_BLOCK];
    const double *x = hm_read_block(&j->x, first, n, x_room);
    const double *y = hm_read_block(&j->y, first, n, y_room);
    const hm_residual r = j->kernels->reduce->residual(j->factor, x, y, n);
    *out = (hm_partial){{r.squares, r.along}};
}

static const hm_reduction residual_sums = {residual_block, hm_join_sums};

static hm_residual residual_of(const hm_context *ctx, const residual_job *job, int64_t n)
{
    hm_partial total;
    hm_reduce(ctx, &residual_sums, job, n, &total);
    return (hm_residual){total.of[0], total.of[1]};
}

hm_status hm_cosine_loss(hm_context *ctx, const hm_doubles *target, const hm_doubles *prediction,
                         double *out)
{
    angle a;
    hm_status st = measure(ctx, target, prediction, &a);
    if (st != HMATH_OK)
        return st;
    const double cosine = a.dot / (sqrt(a.target_squares) * sqrt(a.prediction_squares));
    if (cosine < 0.5) {
        *out = 1.0 - fmax(cosine, -1.0);
        return HMATH_OK;
    }
    const residual_job job = {a.kernels, a.target, a.prediction, a.dot / a.target_squares};
    const hm_residual r = residual_of(ctx, &job, target->length);
    const double left = fmax(r.squares - r.along * (r.along / a.target_squares), 0.0);
    *out = left / a.prediction_squares / (1.0 + fmin(cosine, 1.0));
    return HMATH_OK;
}

/* ---- the gradient: -(t - p (t.p)/(p.p)) / (|t| |p|) ---- */

typedef struct gradient_task {
    angle angle;
    int64_t n;
    double high, low, by;
    double *out;
} gradient_task;

static void gradient_chunk(void *task, int64_t chunk)
{
    const gradient_task *t = task;
    const int64_t first = chunk * HM_BLOCK, left = t->n - first;
    const int64_t n = left < HM_BLOCK ? left : HM_BLOCK;
    double x_room[HM_BLOCK], y_room[HM_BLOCK];
    const double *x = hm_read_block(&t->angle.prediction, first, n, x_room);
    const double *y = hm_read_block(&t->angle.target, first, n, y_room);
    t->angle.kernels->loss->residual_scaled(x, y, n, t->high, t->low, t->by, t->out + first);
    const int back = t->angle.prediction.shift; /* the gradient goes with 1/|p| */
    for (int64_t i = 0; back != 0 && i < n; i++)
        t->out[first + i] = ldexp(t->out[first + i], back);
}

hm_status hm_cosine_loss_gradient(hm_context *ctx, const hm_doubles *target,
                                  const hm_doubles *prediction, hm_value **out)
{
    gradient_task task = {.n = target->length};
    angle *a = &task.angle;
    hm_value *result = NULL;
    hm_status st;
    if ((st = measure(ctx, target, prediction, a)) != HMATH_OK ||
        (st = hm_result_like(ctx, prediction->source, task.n, &result, &task.out)) != HMATH_OK)
        return st;
    task.high = a->dot / a->prediction_squares;
    const residual_job job = {a->kernels, a->prediction, a->target, task.high};
    task.low = residual_of(ctx, &job, task.n).along / a->prediction_squares;
    task.by = -1.0 / (sqrt(a->target_squares) * sqrt(a->prediction_squares));
    hm_parallel_for(ctx, (task.n - 1) / HM_BLOCK + 1, gradient_chunk, &task);
    if (!hm_all_finite(ctx, task.out, task.n)) {
        hm_release(result);
        return hm_fail_overflow(ctx);
    }
    *out = result;
    return HMATH_OK;
}
