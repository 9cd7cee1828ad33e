/* What a classifier got right: counts of (truth, prediction) pairs, and what follows from them. */
#ifndef HM_CLASSIFICATION_H
#define HM_CLASSIFICATION_H

#include "neural/metrics/record.h"
#include "runtime/context.h"

/* classes rows of classes counts; rows are truth, columns prediction. */
hm_status hm_confusion_matrix(hm_context *ctx, int64_t classes, const hm_ints *truth,
                              const hm_ints *prediction, hm_list **out);

/* Needs memory for the classes, not for their pairs. */
hm_status hm_classification(hm_context *ctx, int64_t classes, const hm_ints *truth,
                            const hm_ints *prediction, hm_classification_metrics **out);

/* The share of rows whose true class has fewer than k classes before it. */
hm_status hm_top_k_accuracy(hm_context *ctx, int64_t k, const hm_ints *truth,
                            const hm_double_rows *scores, double *out);

#endif
