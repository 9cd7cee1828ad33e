#include "neural/metrics/record.h"

static void dispose(hm_value *self, hm_released *released)
{
    const hm_classification_metrics *metrics = (hm_classification_metrics *)self;
    hm_release_later(released, metrics->precision);
    hm_release_later(released, metrics->recall);
    hm_release_later(released, metrics->f1);
}

static const hm_class metrics_class = {
    .kind = HMATH_KIND_CLASSIFICATION_METRICS, .name = "ClassificationMetrics", .dispose = dispose};

hm_status hm_classification_metrics_create(hm_context *ctx, double accuracy,
                                           const hm_list *precision, const hm_list *recall,
                                           const hm_list *f1, hm_classification_metrics **out)
{
    hm_classification_metrics *created = NULL;
    hm_status st = hm_value_create(ctx, &metrics_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    created->accuracy = accuracy;
    created->precision = hm_retain(precision);
    created->recall = hm_retain(recall);
    created->f1 = hm_retain(f1);
    *out = created;
    return HMATH_OK;
}
