#include "neural/core/loss_domain.h"

#include <math.h>
#include <stdio.h>

#define ANY -DBL_MAX, DBL_MAX
#define UNIT 0, 1

const hm_loss_domain hm_loss_domains[HM_LOSS_SUMS] = {
    [HM_LOSS_SQUARED] = {HM_TARGET_RANGE, ANY, ANY, "prediction"},
    [HM_LOSS_ABSOLUTE] = {HM_TARGET_RANGE, ANY, ANY, "prediction"},
    [HM_LOSS_HUBER] = {HM_TARGET_RANGE, ANY, ANY, "prediction"},
    [HM_LOSS_SMOOTH] = {HM_TARGET_RANGE, ANY, ANY, "prediction"},
    [HM_LOSS_BINARY_ENTROPY] = {HM_TARGET_RANGE, UNIT, UNIT, "prediction"},
    [HM_LOSS_CATEGORICAL_ENTROPY] = {HM_TARGET_RANGE, UNIT, UNIT, "prediction"},
    [HM_LOSS_LIKELIHOOD] = {HM_TARGET_RANGE, UNIT, -DBL_MAX, 0, "prediction"},
    [HM_LOSS_DIVERGENCE] = {HM_TARGET_RANGE, UNIT, UNIT, "prediction"},
    [HM_LOSS_HINGE] = {HM_TARGET_SIGN, -1, 1, ANY, "prediction"},
    [HM_LOSS_LOGISTIC] = {HM_TARGET_RANGE, UNIT, ANY, "logits"},
};

const hm_loss_domain hm_class_domain = {HM_TARGET_CLASS, UNIT, UNIT, "prediction"};

bool hm_in_loss_domain(const hm_kernels *k, const hm_loss_domain *domain, const double *target,
                       const double *prediction, int64_t n)
{
    const bool targets =
        domain->target_rule == HM_TARGET_RANGE
            ? k->reduce->within(target, n, domain->target_low, domain->target_high)
            : k->reduce->either(target, n, domain->target_low, domain->target_high);
    return targets &&
           k->reduce->within(prediction, n, domain->prediction_low, domain->prediction_high);
}

static const char *range_text(double low, double high)
{
    return high == 1 ? "in [0, 1]" : low == -DBL_MAX && high == 0 ? "<= 0" : "finite";
}

hm_status hm_fail_loss_domain(hm_context *ctx, const hm_loss_domain *domain, const double *target,
                              const double *prediction, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double t = target[i], low = domain->target_low, high = domain->target_high;
        if (!isfinite(t))
            return hm_fail_nonfinite(ctx, "target", i, t);
        if (domain->target_rule == HM_TARGET_SIGN && t != low && t != high)
            return hm_fail_domain(ctx, "target", i, t, "exactly -1 or 1");
        if (domain->target_rule == HM_TARGET_CLASS && t != low && t != high)
            return hm_fail_domain(ctx, "target", i, t, "exactly 0 or 1");
        if (!(low <= t && t <= high))
            return hm_fail_domain(ctx, "target", i, t, range_text(low, high));
    }
    for (int64_t i = 0; i < n; i++) {
        const double p = prediction[i], low = domain->prediction_low,
                     high = domain->prediction_high;
        if (!isfinite(p))
            return hm_fail_nonfinite(ctx, domain->prediction_name, i, p);
        if (!(low <= p && p <= high))
            return hm_fail_domain(ctx, domain->prediction_name, i, p, range_text(low, high));
    }
    return HMATH_OK;
}

hm_status hm_check_pair(hm_context *ctx, const char *first_name, const hm_doubles *first,
                        const char *second_name, const hm_doubles *second)
{
    hm_status st;
    if ((st = hm_check_vector(ctx, first_name, first)) != HMATH_OK ||
        (st = hm_check_vector(ctx, second_name, second)) != HMATH_OK)
        return st;
    return hm_check_length(ctx, second_name, second->length, first->length);
}

hm_status hm_fail_impossible(hm_context *ctx, int64_t i, double target, double prediction)
{
    char reason[96];
    snprintf(reason, sizeof reason, "gives an impossible event (target %.17g %s)", target,
             prediction > 0 ? "< 1" : "> 0");
    return hm_fail_domain_because(ctx, "prediction", i, prediction, reason,
                                  prediction > 0 ? "< 1" : "> 0");
}
