/* deeplearning_metrics at the edge. */
#include "abi/edge.h"
#include "abi/field.h"
#include "hmath_deeplearning.h"
#include "neural/metrics/classification.h"
#include "neural/metrics/ranking.h"
#include "neural/metrics/record.h"
#include "neural/metrics/scores.h"

/* ------------------------------------------------- the record */

static hm_status create_record(hm_context *ctx, double accuracy, const hm_doubles fields[3],
                               hm_classification_metrics **out)
{
    static const char *const names[] = {"precision", "recall", "f1"};
    hm_list *lists[3] = {NULL};
    hm_status st = HMATH_OK;
    for (int i = 0; i < 3 && st == HMATH_OK; i++)
        st = hm_check_vector(ctx, names[i], &fields[i]);
    for (int i = 0; i < 3 && st == HMATH_OK; i++)
        st = hm_list_of_doubles(ctx, &fields[i], &lists[i]);
    if (st == HMATH_OK)
        st = hm_classification_metrics_create(ctx, accuracy, lists[0], lists[1], lists[2], out);
    for (int i = 0; i < 3; i++)
        hm_release(lists[i]);
    return st;
}

hmath_status hmath_neural_metrics_classification_metrics_create(
    hmath_context *ctx, const hmath_value *accuracy, const hmath_value *precision,
    const hmath_value *recall, const hmath_value *f1, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "metrics.ClassificationMetrics", out);
    if (st != HMATH_OK)
        return st;
    double share;
    hm_doubles fields[3];
    hm_classification_metrics *created = NULL;
    if ((st = hm_arg_double(ctx, "accuracy", accuracy, &share)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "precision", precision, &fields[0])) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "recall", recall, &fields[1])) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "f1", f1, &fields[2])) == HMATH_OK &&
        (st = create_record(ctx, share, fields, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

HM_FIELD(metrics, accuracy, metrics, HMATH_KIND_CLASSIFICATION_METRICS, hm_classification_metrics,
         accuracy)
HM_FIELD(metrics, precision_by_class, metrics, HMATH_KIND_CLASSIFICATION_METRICS,
         hm_classification_metrics, precision)
HM_FIELD(metrics, recall_by_class, metrics, HMATH_KIND_CLASSIFICATION_METRICS,
         hm_classification_metrics, recall)
HM_FIELD(metrics, f1_by_class, metrics, HMATH_KIND_CLASSIFICATION_METRICS,
         hm_classification_metrics, f1)

/* ------------------------------------------------- classification */

hmath_status hmath_neural_metrics_confusion_matrix(hmath_context *ctx, const hmath_value *classes,
                                                   const hmath_value *truth,
                                                   const hmath_value *prediction, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "metrics.confusion_matrix", out);
    if (st != HMATH_OK)
        return st;
    int64_t count;
    hm_ints labels, predicted;
    hm_list *matrix = NULL;
    if ((st = hm_arg_int(ctx, "classes", classes, &count)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "truth", truth, &labels)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "prediction", prediction, &predicted)) == HMATH_OK &&
        (st = hm_confusion_matrix(ctx, count, &labels, &predicted, &matrix)) == HMATH_OK)
        *out = &matrix->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_metrics_classification_metrics(hmath_context *ctx,
                                                         const hmath_value *classes,
                                                         const hmath_value *truth,
                                                         const hmath_value *prediction,
                                                         hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "metrics.classification_metrics", out);
    if (st != HMATH_OK)
        return st;
    int64_t count;
    hm_ints labels, predicted;
    hm_classification_metrics *metrics = NULL;
    if ((st = hm_arg_int(ctx, "classes", classes, &count)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "truth", truth, &labels)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "prediction", prediction, &predicted)) == HMATH_OK &&
        (st = hm_classification(ctx, count, &labels, &predicted, &metrics)) == HMATH_OK)
        *out = &metrics->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_metrics_top_k_accuracy(hmath_context *ctx, const hmath_value *k,
                                                 const hmath_value *truth,
                                                 const hmath_value *scores, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "metrics.top_k_accuracy", out);
    if (st != HMATH_OK)
        return st;
    int64_t most;
    hm_ints labels;
    hm_double_rows rows;
    double share;
    if ((st = hm_arg_int(ctx, "k", k, &most)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "truth", truth, &labels)) == HMATH_OK &&
        (st = hm_arg_double_rows(ctx, "scores", scores, &rows)) == HMATH_OK &&
        (st = hm_top_k_accuracy(ctx, most, &labels, &rows, &share)) == HMATH_OK)
        st = hm_double_create(ctx, share, out);
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- ranking */

/* [Bool], [Int] or [Double]; the empty list is one of each. */
static hm_status arg_truths(hm_context *ctx, const hm_value *v, hm_truths *out)
{
    const hm_list *list = hm_list_from_value(v);
    const hm_element elements[] = {HM_ELEMENT_BOOL, HM_ELEMENT_INT, HM_ELEMENT_DOUBLE};
    for (int i = 0; list && i < 3; i++)
        if (hm_list_is_flat(list, elements[i])) {
            *out = (hm_truths){elements[i], list->data, list->length, 1};
            return HMATH_OK;
        }
    const hm_tensor *tensor = hm_tensor_from_value(v);
    if (tensor) {
        *out = (hm_truths){HM_ELEMENT_DOUBLE, tensor->data, tensor->size, tensor->shape.rank};
        return HMATH_OK;
    }
    hm_bools bools;
    return hm_arg_bools(ctx, "truth", v, &bools); /* fails, and says what was expected */
}

static hm_status enter_ranking(hm_context *ctx, const char *operation, const hm_value *truth,
                               const hm_value *scores, hm_value **out, hm_truths *truths,
                               hm_doubles *numbers)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    if ((st = arg_truths(ctx, truth, truths)) != HMATH_OK ||
        (st = hm_arg_doubles(ctx, "scores", scores, numbers)) != HMATH_OK)
        return hm_leave(ctx, st);
    return HMATH_OK;
}

typedef hm_status area_under(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores,
                             double *out);
typedef hm_status curve_over(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores,
                             hm_tuple **out);

static hm_status area(hm_context *ctx, const char *operation, area_under *under,
                      const hm_value *truth, const hm_value *scores, hm_value **out)
{
    hm_truths truths;
    hm_doubles numbers;
    double result;
    hm_status st = enter_ranking(ctx, operation, truth, scores, out, &truths, &numbers);
    if (st != HMATH_OK)
        return st;
    if ((st = under(ctx, &truths, &numbers, &result)) == HMATH_OK)
        st = hm_double_create(ctx, result, out);
    return hm_leave(ctx, st);
}

static hm_status curve(hm_context *ctx, const char *operation, curve_over *over,
                       const hm_value *truth, const hm_value *scores, hm_value **out)
{
    hm_truths truths;
    hm_doubles numbers;
    hm_tuple *result = NULL;
    hm_status st = enter_ranking(ctx, operation, truth, scores, out, &truths, &numbers);
    if (st != HMATH_OK)
        return st;
    if ((st = over(ctx, &truths, &numbers, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_metrics_roc_auc(hmath_context *ctx, const hmath_value *truth,
                                          const hmath_value *scores, hmath_value **out)
{
    return area(ctx, "metrics.roc_auc", hm_roc_auc, truth, scores, out);
}

hmath_status hmath_neural_metrics_pr_auc(hmath_context *ctx, const hmath_value *truth,
                                         const hmath_value *scores, hmath_value **out)
{
    return area(ctx, "metrics.pr_auc", hm_pr_auc, truth, scores, out);
}

hmath_status hmath_neural_metrics_roc_curve(hmath_context *ctx, const hmath_value *truth,
                                            const hmath_value *scores, hmath_value **out)
{
    return curve(ctx, "metrics.roc_curve", hm_roc_curve, truth, scores, out);
}

hmath_status hmath_neural_metrics_precision_recall_curve(hmath_context *ctx,
                                                         const hmath_value *truth,
                                                         const hmath_value *scores,
                                                         hmath_value **out)
{
    return curve(ctx, "metrics.precision_recall_curve", hm_precision_recall_curve, truth, scores,
                 out);
}

/* ------------------------------------------------- scores */

hmath_status hmath_neural_metrics_perplexity(hmath_context *ctx,
                                             const hmath_value *negative_log_probabilities,
                                             hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "metrics.perplexity", out);
    if (st != HMATH_OK)
        return st;
    hm_doubles numbers;
    double result;
    if ((st = hm_arg_doubles(ctx, "negative_log_probabilities", negative_log_probabilities,
                             &numbers)) == HMATH_OK &&
        (st = hm_perplexity(ctx, &numbers, &result)) == HMATH_OK)
        st = hm_double_create(ctx, result, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_metrics_cosine_similarity_matrix(hmath_context *ctx,
                                                           const hmath_value *left,
                                                           const hmath_value *right,
                                                           hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "metrics.cosine_similarity_matrix", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *a, *b;
    hm_tensor *result = NULL;
    if ((st = hm_arg_tensor(ctx, "left", left, &a)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "right", right, &b)) == HMATH_OK &&
        (st = hm_cosine_similarity_matrix(ctx, a, b, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_metrics_margin_ranking_loss(hmath_context *ctx, const hmath_value *margin,
                                                      const hmath_value *left,
                                                      const hmath_value *right,
                                                      const hmath_value *labels, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "metrics.margin_ranking_loss", out);
    if (st != HMATH_OK)
        return st;
    double bound, result;
    hm_doubles a, b;
    hm_ints signs;
    if ((st = hm_arg_double(ctx, "margin", margin, &bound)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "left", left, &a)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "right", right, &b)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "labels", labels, &signs)) == HMATH_OK &&
        (st = hm_margin_ranking_loss(ctx, bound, &a, &b, &signs, &result)) == HMATH_OK)
        st = hm_double_create(ctx, result, out);
    return hm_leave(ctx, st);
}
