/*
 * How well scores tell positives from negatives. Everything here comes from the two sets of scores,
 * each sorted on its own: no pairs of score and truth are moved.
 */
#ifndef HM_RANKING_H
#define HM_RANKING_H

#include "runtime/context.h"
#include "tensor/view.h"

/* Binary labels: Bools, or Ints or Doubles that are exactly 0 or 1. */
typedef struct hm_truths {
    hm_element element;
    const void *data;
    int64_t length;
    int32_t rank; /* 1, or the tensor's */
} hm_truths;

/*
 * The share of (positive, negative) pairs in which the positive has the higher score; ties one
 * half.
 */
hm_status hm_roc_auc(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores,
                     double *out);

/* The area under the precision-recall curve by trapezoids between its points. */
hm_status hm_pr_auc(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores, double *out);

/*
 * The points behind the areas: a tuple of abscissae, ordinates and thresholds, in the scores'
 * container. (false positive rate, true positive rate) from (0, 0); (recall, precision) from (0,
 * 1). Point i + 1 belongs to calling positive what scores at least threshold i.
 */
hm_status hm_roc_curve(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores,
                       hm_tuple **out);
hm_status hm_precision_recall_curve(hm_context *ctx, const hm_truths *truth,
                                    const hm_doubles *scores, hm_tuple **out);

#endif
