/* What targets and predictions of a loss may be; the same for a loss, its gradient and its
 * relatives. */
#ifndef HM_LOSS_DOMAIN_H
#define HM_LOSS_DOMAIN_H

#include <float.h>

#include "kernels/kernels.h"
#include "neural/core/core.h"

typedef enum hm_target_rule {
    HM_TARGET_RANGE, /* low ... high */
    HM_TARGET_SIGN,  /* exactly -1 or 1 */
    HM_TARGET_CLASS  /* exactly 0 or 1 */
} hm_target_rule;

typedef struct hm_loss_domain {
    hm_target_rule target_rule;
    double target_low, target_high, prediction_low, prediction_high;
    const char *prediction_name; /* "prediction" or "logits" */
} hm_loss_domain;

/* Of a formula with sums (kernels/loss.h). */
extern const hm_loss_domain hm_loss_domains[HM_LOSS_SUMS];
extern const hm_loss_domain hm_class_domain; /* targets 0 or 1, predictions in [0, 1] */

/* Are n targets and predictions in the domain? */
bool hm_in_loss_domain(const hm_kernels *k, const hm_loss_domain *domain, const double *target,
                       const double *prediction, int64_t n);

/* Step 5: the first target that is not, else the first prediction, else HMATH_OK. */
hm_status hm_fail_loss_domain(hm_context *ctx, const hm_loss_domain *domain, const double *target,
                              const double *prediction, int64_t n);

/* Steps 3 and 4 for two vectors of the same length. */
hm_status hm_check_pair(hm_context *ctx, const char *first_name, const hm_doubles *first,
                        const char *second_name, const hm_doubles *second);

/* "prediction[i] = p gives an impossible event (target t > 0); required > 0", or with t < 1. */
hm_status hm_fail_impossible(hm_context *ctx, int64_t i, double target, double prediction);

#endif
