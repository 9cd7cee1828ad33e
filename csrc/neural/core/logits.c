/*
 * Cross entropy of one vector of class logits: -sum of t_i log_softmax(x)_i, entries with t_i = 0
 * left out. All terms have one sign. (Binary cross entropy of logits is an elementwise loss:
 * losses.c.)
 */
#include <float.h>
#include <math.h>

#include "neural/core/core.h"
#include "runtime/context.h"
#include "tensor/reduce.h"

typedef struct logits_job {
    const hm_kernels *kernels;
    const double *target, *logits;
    double most, log_sum;
} logits_job;

static void term_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const logits_job *j = job;
    double room[HM_BLOCK];
    j->kernels->softmax->log_shift(j->logits + first, n, j->most, j->log_sum, room);
    *out = (hm_partial){{j->kernels->reduce->dot(j->target + first, room, n)}};
}

/* -t log_softmax, where x - max may overflow although its share does not */
static hm_wide wide_term(const logits_job *j, int64_t i)
{
    if (j->target[i] == 0)
        return (hm_wide){0, 0};
    const hm_wide gap = hm_wide_subtract(hm_wide_of(j->most), hm_wide_of(j->logits[i]));
    return hm_wide_multiply(hm_wide_of(j->target[i]), hm_wide_add(gap, hm_wide_of(j->log_sum)));
}

static hm_wide wide_sum(const logits_job *j, int64_t n)
{
    hm_wide sum = {0, 0};
    for (int64_t i = 0; i < n; i++)
        sum = hm_wide_add(sum, wide_term(j, i));
    return sum;
}

static const hm_reduction term_sums = {term_block, hm_join_sums};

static hm_status check_target(hm_context *ctx, const hm_doubles *target)
{
    const bool inside =
        hm_context_kernels(ctx)->reduce->within(target->data, target->length, 0, DBL_MAX);
    for (int64_t i = 0; !inside && i < target->length; i++) {
        if (!isfinite(target->data[i]))
            return hm_fail_nonfinite(ctx, "target", i, target->data[i]);
        if (target->data[i] < 0)
            return hm_fail_domain(ctx, "target", i, target->data[i], ">= 0");
    }
    const double sum =
        hm_wide_round(hm_sum_row_threads(ctx, HM_ROW_SUM, target->data, NULL, target->length));
    if (!(fabs(sum - 1) <= 1e-9))
        return hm_fail_domain_because(ctx, "target", HM_SCALAR, sum, "is the sum of target",
                                      "a sum within 1e-9 of 1");
    return HMATH_OK;
}

hm_status hm_categorical_cross_entropy_logits(hm_context *ctx, const hm_doubles *target,
                                              const hm_doubles *logits, double *out)
{
    const int64_t n = target->length;
    hm_status st;
    if ((st = hm_check_vector(ctx, "target", target)) != HMATH_OK ||
        (st = hm_check_vector(ctx, "logits", logits)) != HMATH_OK ||
        (st = hm_check_length(ctx, "logits", logits->length, n)) != HMATH_OK ||
        (st = hm_check_some(ctx, "target", n)) != HMATH_OK ||
        (st = check_target(ctx, target)) != HMATH_OK)
        return st;
    logits_job job = {
        .kernels = hm_context_kernels(ctx), .target = target->data, .logits = logits->data};
    job.most = job.kernels->reduce->maximum(job.logits, n);
    if (isnan(job.most)) {
        st = hm_check_finite(ctx, "logits", job.logits, n);
        return st != HMATH_OK ? st : hm_fail_overflow(ctx);
    }
    job.log_sum = hm_log_sum_exp(ctx, job.kernels->softmax, job.logits, n, job.most);
    hm_partial total;
    hm_reduce(ctx, &term_sums, &job, n, &total);
    double result = 0 - total.of[0];
    if (!isfinite(result))
        result = hm_wide_round(wide_sum(&job, n));
    if (!isfinite(result))
        return hm_fail_overflow(ctx);
    *out = result;
    return HMATH_OK;
}
