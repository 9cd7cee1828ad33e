/*
 * Elementwise losses, summed. One pass checks a block's domain and sums its losses, while the block
 * is in the first cache. Whatever is not finite after that is looked at again: it was an element
 * outside the domain, an impossible event, or a sum whose parts leave the range of a double. The
 * last is summed once more in wide numbers, since a mean can be in range when its sum is not.
 */
#include <math.h>
#include <stdatomic.h>

#include "neural/core/loss_domain.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/reduce.h"

hm_status hm_check_loss_shapes(hm_context *ctx, const hm_loss_method *method,
                               const hm_doubles *target, const hm_doubles *prediction)
{
    hm_status st;
    if ((st = hm_check_loss_method(ctx, method)) != HMATH_OK ||
        (st = hm_check_pair(ctx, "target", target, "prediction", prediction)) != HMATH_OK)
        return st;
    return hm_check_some(ctx, "target", target->length);
}

typedef struct loss_job {
    const hm_kernels *kernels;
    const hm_loss_domain *domain;
    int formula;
    const double *target, *prediction;
    double parameter;
    int64_t top; /* wide sums: the exponent that terms are taken relative to */
} loss_job;

static void sum_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const loss_job *j = job;
    const double *target = j->target + first, *prediction = j->prediction + first;
    const bool inside = j->formula <= HM_LOSS_SMOOTH || /* NaN and infinities show in their sums */
                        hm_in_loss_domain(j->kernels, j->domain, target, prediction, n);
    *out = (hm_partial){{j->kernels->loss->sum[j->formula](target, prediction, n, j->parameter),
                         inside ? 0.0 : 1.0}};
}

static const hm_reduction loss_sums = {sum_block, hm_join_sums};

/* ---- in wide numbers ---- */

/* p - t, where the difference may overflow; halves are exact for such numbers */
static hm_wide difference(double p, double t)
{
    const double d = p - t;
    return isfinite(d) ? hm_wide_of(d) : hm_wide_normal(0.5 * p - 0.5 * t, 1);
}

static hm_wide half(hm_wide a)
{
    a.exponent -= a.value != 0;
    return a;
}

/* t ln(t/p), whose logarithm stays what it is where both are scaled alike. */
static hm_wide divergence(const loss_job *j, double t, double p)
{
    const int up = t < 0x1p-500 ? 600 : 0; /* p is at most 1 */
    const double target = ldexp(t, up), prediction = ldexp(p, up);
    hm_wide term =
        hm_wide_of(j->kernels->loss->sum[HM_LOSS_DIVERGENCE](&target, &prediction, 1, 0));
    term.exponent -= term.value == 0 ? 0 : up;
    return term;
}

static hm_wide wide_term(const loss_job *j, double t, double p)
{
    const hm_wide e = hm_wide_magnitude(difference(p, t)), c = hm_wide_of(j->parameter);
    const double one = 1;
    double plain;
    switch (j->formula) {
    case HM_LOSS_SQUARED: return hm_wide_multiply(e, e);
    case HM_LOSS_ABSOLUTE: return e;
    case HM_LOSS_HUBER:
        return hm_wide_less(c, e) ? hm_wide_multiply(c, hm_wide_subtract(e, half(c)))
                                  : half(hm_wide_multiply(e, e));
    case HM_LOSS_SMOOTH:
        return hm_wide_less(e, c) ? half(hm_wide_divide(hm_wide_multiply(e, e), c))
                                  : hm_wide_subtract(e, half(c));
    case HM_LOSS_CATEGORICAL_ENTROPY:
        plain = t == 0 ? 0 : j->kernels->loss->sum[j->formula](&one, &p, 1, 0);
        return hm_wide_multiply(hm_wide_of(t), hm_wide_of(plain));
    case HM_LOSS_DIVERGENCE: return divergence(j, t, p);
    case HM_LOSS_LIKELIHOOD: return hm_wide_negate(hm_wide_multiply(hm_wide_of(t), hm_wide_of(p)));
    case HM_LOSS_HINGE: {
        const hm_wide gap = hm_wide_subtract(c, hm_wide_multiply(hm_wide_of(t), hm_wide_of(p)));
        return gap.value > 0 ? gap : (hm_wide){0, 0};
    }
    default: /* terms that are always in range */
        return hm_wide_of(j->kernels->loss->sum[j->formula](&t, &p, 1, j->parameter));
    }
}

static void wide_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const loss_job *j = job;
    double room[HM_BLOCK];
    for (int64_t i = 0; i < n; i++) {
        hm_wide term = wide_term(j, j->target[first + i], j->prediction[first + i]);
        term.exponent -= term.value == 0 ? 0 : j->top;
        room[i] = hm_wide_round(term);
    }
    *out = (hm_partial){{j->kernels->reduce->sum(room, n)}};
}

static const hm_reduction wide_sums = {wide_block, hm_join_sums};

static hm_wide wide_sum(loss_job job, int64_t n)
{
    job.top = INT64_MIN;
    for (int64_t i = 0; i < n; i++) {
        const hm_wide term = wide_term(&job, job.target[i], job.prediction[i]);
        if (term.value != 0 && term.exponent > job.top)
            job.top = term.exponent;
    }
    if (job.top == INT64_MIN)
        return (hm_wide){0, 0};
    hm_partial total;
    hm_reduce_here(&wide_sums, &job, n, &total);
    return hm_wide_normal(total.of[0], job.top);
}

/* ---- what was wrong ---- */

static hm_status check_events(hm_context *ctx, int formula, const double *target,
                              const double *prediction, int64_t n)
{
    const bool both = formula == HM_LOSS_BINARY_ENTROPY;
    if (!both && formula != HM_LOSS_CATEGORICAL_ENTROPY && formula != HM_LOSS_DIVERGENCE)
        return HMATH_OK;
    for (int64_t i = 0; i < n; i++)
        if ((prediction[i] == 0 && target[i] > 0) || (both && prediction[i] == 1 && target[i] < 1))
            return hm_fail_impossible(ctx, i, target[i], prediction[i]);
    return HMATH_OK;
}

/* Step 5 of the order of checks. */
static hm_status check_elements(hm_context *ctx, int formula, const double *target,
                                const double *prediction, int64_t n)
{
    const hm_status st = hm_fail_loss_domain(ctx, &hm_loss_domains[formula], target, prediction, n);
    return st != HMATH_OK ? st : check_events(ctx, formula, target, prediction, n);
}

/* ---- the loss ---- */

/* Can a term that is not 0 be rounded to 0, and the wide one is not? */
static bool can_vanish(int formula)
{
    switch (formula) {
    case HM_LOSS_SQUARED:
    case HM_LOSS_HUBER:
    case HM_LOSS_SMOOTH:
    case HM_LOSS_CATEGORICAL_ENTROPY:
    case HM_LOSS_LIKELIHOOD:
    case HM_LOSS_DIVERGENCE: return true;
    default: return false;
    }
}

/*
 * Below this a sum may have lost terms that vanished on their own. Where all have, none was more than half the
 * smallest double: their mean is 0, but their sum need not be.
 */
#define LEAST_COMFORTABLE 0x1p-900

static bool is_comfortable(int formula, double sum, double divisor)
{
    return sum == 0 ? divisor != 1 || !can_vanish(formula) : fabs(sum) >= LEAST_COMFORTABLE;
}

/* The loss of a formula that is summed, over `divisor`. */
static hm_status summed_loss(hm_context *ctx, int formula, double parameter,
                             const hm_doubles *target, const hm_doubles *prediction, double divisor,
                             double *out)
{
    const int64_t n = target->length;
    const loss_job job = {.kernels = hm_context_kernels(ctx),
                          .domain = &hm_loss_domains[formula],
                          .formula = formula,
                          .target = target->data,
                          .prediction = prediction->data,
                          .parameter = parameter};
    hm_partial total;
    hm_reduce(ctx, &loss_sums, &job, n, &total);
    const double sum = total.of[0];
    double result = sum / divisor;
    if (total.of[1] != 0 || !isfinite(sum)) {
        const hm_status st = check_elements(ctx, formula, target->data, prediction->data, n);
        if (st != HMATH_OK)
            return st;
    }
    if (!isfinite(sum) || !is_comfortable(formula, sum, divisor))
        result = hm_wide_round(hm_wide_divide(wide_sum(job, n), hm_wide_of(divisor)));
    if (!isfinite(result))
        return hm_fail_overflow(ctx);
    *out = result;
    return HMATH_OK;
}

hm_status hm_loss(hm_context *ctx, const hm_loss_method *method, const hm_loss_reduction *reduction,
                  const hm_doubles *target, const hm_doubles *prediction, double *out)
{
    const hm_status st = hm_check_loss_shapes(ctx, method, target, prediction);
    if (st != HMATH_OK)
        return st;
    if (method->formula == HM_LOSS_COSINE)
        return hm_cosine_loss(ctx, target, prediction, out);
    return summed_loss(ctx, method->formula, method->parameter, target, prediction,
                       reduction->mean ? (double)target->length : 1.0, out);
}

hm_status hm_binary_cross_entropy_logits(hm_context *ctx, const hm_loss_reduction *reduction,
                                         const hm_doubles *target, const hm_doubles *logits,
                                         double *out)
{
    hm_status st;
    if ((st = hm_check_pair(ctx, "target", target, "logits", logits)) != HMATH_OK ||
        (st = hm_check_some(ctx, "target", target->length)) != HMATH_OK)
        return st;
    return summed_loss(ctx, HM_LOSS_LOGISTIC, 0, target, logits,
                       reduction->mean ? (double)target->length : 1.0, out);
}

/* ---- its gradient ---- */

typedef struct gradient_task {
    const hm_kernels *kernels;
    int formula;
    const double *target, *prediction;
    int64_t n;
    double parameter, divisor;
    double *out;
    atomic_bool spoiled;
} gradient_task;

static void gradient_chunk(void *task, int64_t chunk)
{
    gradient_task *t = task;
    const int64_t first = chunk * HM_BLOCK, left = t->n - first;
    const int64_t n = left < HM_BLOCK ? left : HM_BLOCK;
    const double *target = t->target + first, *prediction = t->prediction + first;
    const bool finite = t->kernels->loss->gradient[t->formula](target, prediction, n, t->parameter,
                                                               t->divisor, t->out + first);
    const bool inside =
        t->formula == HM_LOSS_SQUARED || /* NaN and infinities show in its slopes */
        hm_in_loss_domain(t->kernels, &hm_loss_domains[t->formula], target, prediction, n);
    if (!finite || !inside)
        atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
}

/* 2 (p - t) can overflow where its share of a mean does not. */
static void rescue_squared(const gradient_task *t)
{
    for (int64_t i = 0; i < t->n; i++)
        if (!isfinite(t->out[i]))
            t->out[i] = (0.25 * t->prediction[i] - 0.25 * t->target[i]) / t->divisor * 8;
}

hm_status hm_loss_gradient(hm_context *ctx, const hm_loss_method *method,
                           const hm_loss_reduction *reduction, const hm_doubles *target,
                           const hm_doubles *prediction, hm_value **out)
{
    hm_status st = hm_check_loss_shapes(ctx, method, target, prediction);
    if (st != HMATH_OK)
        return st;
    if (method->formula == HM_LOSS_COSINE)
        return hm_cosine_loss_gradient(ctx, target, prediction, out);

    const int64_t n = target->length;
    gradient_task task = {.kernels = hm_context_kernels(ctx),
                          .formula = method->formula,
                          .target = target->data,
                          .prediction = prediction->data,
                          .n = n,
                          .parameter = method->parameter,
                          .divisor = reduction->mean ? (double)n : 1.0};
    hm_value *result = NULL;
    if ((st = hm_result_like(ctx, prediction->source, n, &result, &task.out)) != HMATH_OK)
        return st;
    hm_parallel_for(ctx, (n - 1) / HM_BLOCK + 1, gradient_chunk, &task);
    if (task.spoiled) {
        st = check_elements(ctx, method->formula, task.target, task.prediction, n);
        if (st != HMATH_OK)
            goto done;
        if (method->formula == HM_LOSS_SQUARED)
            rescue_squared(&task);
        if (!hm_all_finite(ctx, task.out, n)) {
            st = hm_fail_overflow(ctx);
            goto done;
        }
    }
    *out = result;
    result = NULL;
done:
    hm_release(result);
    return st;
}
