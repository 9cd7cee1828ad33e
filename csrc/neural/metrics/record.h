/* ClassificationMetrics (290): an immutable record, made without validation. */
#ifndef HM_METRICS_RECORD_H
#define HM_METRICS_RECORD_H

#include "runtime/list.h"
#include "tensor/view.h"

typedef struct hm_classification_metrics {
    hm_value base;
    double accuracy;
    const hm_list *precision, *recall, *f1; /* of Double, one entry a class */
} hm_classification_metrics;

/* Takes a reference of its own to each list. */
hm_status hm_classification_metrics_create(hm_context *ctx, double accuracy,
                                           const hm_list *precision, const hm_list *recall,
                                           const hm_list *f1, hm_classification_metrics **out);

#endif
