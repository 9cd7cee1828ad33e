/*
 * Losses of predictions in [0, 1] against masks: focal (Lin et al. 2017), Dice (Milletari et al.
 * 2016) and intersection over union. The last two are 1 less a quotient; they are formed as the
 * part in which the sets differ over the whole, a sum of non-negative terms, so that nothing
 * cancels where the sets nearly agree.
 */
#include <math.h>

#include "neural/core/loss_domain.h"
#include "runtime/context.h"
#include "tensor/reduce.h"

typedef struct binary_job {
    const hm_kernels *kernels;
    const hm_loss_domain *domain;
    const double *target, *prediction;
    double alpha, gamma;
} binary_job;

static void focal_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const binary_job *j = job;
    const double *target = j->target + first, *prediction = j->prediction + first;
    const bool inside = hm_in_loss_domain(j->kernels, j->domain, target, prediction, n);
    *out = (hm_partial){
        {inside ? j->kernels->loss->focal_sum(target, prediction, n, j->alpha, j->gamma) : 0,
         inside ? 0.0 : 1.0}};
}

static void overlap_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const binary_job *j = job;
    const double *target = j->target + first, *prediction = j->prediction + first;
    const bool inside = hm_in_loss_domain(j->kernels, j->domain, target, prediction, n);
    const hm_overlap o = j->kernels->loss->overlap(target, prediction, n);
    *out = (hm_partial){{o.apart, o.total, o.either, inside ? 0.0 : 1.0}};
}

static const hm_reduction focal_sums = {focal_block, hm_join_sums};
static const hm_reduction overlap_sums = {overlap_block, hm_join_sums};

static hm_status fail_focal_event(hm_context *ctx, double alpha, const double *target,
                                  const double *prediction, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double weight = target[i] == 1 ? alpha : 1 - alpha;
        if (weight > 0 && prediction[i] == 1 - target[i])
            return hm_fail_impossible(ctx, i, target[i], prediction[i]);
    }
    return hm_fail_overflow(ctx);
}

hm_status hm_focal_loss(hm_context *ctx, double alpha, double gamma, const hm_doubles *target,
                        const hm_doubles *prediction, double *out)
{
    const int64_t n = target->length;
    hm_status st;
    if ((st = hm_check_scalar_finite(ctx, "alpha", alpha)) != HMATH_OK)
        return st;
    if (!(0 <= alpha && alpha <= 1))
        return hm_fail_domain(ctx, "alpha", HM_SCALAR, alpha, "in [0, 1]");
    if ((st = hm_check_scalar_finite(ctx, "gamma", gamma)) != HMATH_OK)
        return st;
    if (!(gamma >= 0))
        return hm_fail_domain(ctx, "gamma", HM_SCALAR, gamma, ">= 0");
    if ((st = hm_check_pair(ctx, "target", target, "prediction", prediction)) != HMATH_OK ||
        (st = hm_check_some(ctx, "target", n)) != HMATH_OK)
        return st;

    const binary_job job = {.kernels = hm_context_kernels(ctx),
                            .domain = &hm_class_domain,
                            .target = target->data,
                            .prediction = prediction->data,
                            .alpha = alpha,
                            .gamma = gamma};
    hm_partial total;
    hm_reduce(ctx, &focal_sums, &job, n, &total);
    if (total.of[1] != 0)
        return hm_fail_loss_domain(ctx, job.domain, job.target, job.prediction, n);
    if (!isfinite(total.of[0]))
        return fail_focal_event(ctx, alpha, job.target, job.prediction, n);
    *out = total.of[0] / (double)n;
    return HMATH_OK;
}

/* apart/(whole + smooth), whole being the sum of both sets or their union */
static hm_status overlap_loss(hm_context *ctx, double smooth, const hm_doubles *target,
                              const hm_doubles *prediction, bool by_union, double *out)
{
    const int64_t n = target->length;
    hm_status st;
    if ((st = hm_check_scalar_finite(ctx, "smooth", smooth)) != HMATH_OK)
        return st;
    if (!(smooth >= 0))
        return hm_fail_domain(ctx, "smooth", HM_SCALAR, smooth, ">= 0");
    if ((st = hm_check_pair(ctx, "target", target, "prediction", prediction)) != HMATH_OK)
        return st;

    const binary_job job = {.kernels = hm_context_kernels(ctx),
                            .domain = &hm_loss_domains[HM_LOSS_BINARY_ENTROPY],
                            .target = target->data,
                            .prediction = prediction->data};
    hm_partial total = {{0}};
    if (n > 0)
        hm_reduce(ctx, &overlap_sums, &job, n, &total);
    if (total.of[3] != 0)
        return hm_fail_loss_domain(ctx, job.domain, job.target, job.prediction, n);
    const double whole = (by_union ? total.of[2] : total.of[1]) + smooth;
    if (whole == 0)
        return hm_fail_domain_because(
            ctx, "prediction", HM_SCALAR, 0.0,
            "as the sum of target, prediction and smooth makes a zero denominator", "> 0");
    *out = total.of[0] / whole;
    return HMATH_OK;
}

hm_status hm_dice_loss(hm_context *ctx, double smooth, const hm_doubles *target,
                       const hm_doubles *prediction, double *out)
{
    return overlap_loss(ctx, smooth, target, prediction, false, out);
}

hm_status hm_iou_loss(hm_context *ctx, double smooth, const hm_doubles *target,
                      const hm_doubles *prediction, double *out)
{
    return overlap_loss(ctx, smooth, target, prediction, true, out);
}
