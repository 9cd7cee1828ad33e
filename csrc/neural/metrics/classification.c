#include "neural/metrics/classification.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/pool.h"

static hm_status check_labels(hm_context *ctx, const char *argument, const hm_ints *labels,
                              int64_t classes)
{
    for (int64_t i = 0; i < labels->length; i++)
        if (labels->data[i] < 0 || labels->data[i] >= classes)
            return hm_fail_index(ctx, argument, i, labels->data[i], classes);
    return HMATH_OK;
}

static hm_status check_pairs(hm_context *ctx, int64_t classes, const hm_ints *truth,
                             const hm_ints *prediction)
{
    hm_status st;
    if (classes < 1)
        return hm_fail_domain_int(ctx, "classes", HM_SCALAR, classes, ">= 1");
    if ((st = hm_check_length(ctx, "prediction", prediction->length, truth->length)) != HMATH_OK ||
        (st = hm_check_some(ctx, "truth", truth->length)) != HMATH_OK ||
        (st = check_labels(ctx, "truth", truth, classes)) != HMATH_OK)
        return st;
    return check_labels(ctx, "prediction", prediction, classes);
}

hm_status hm_confusion_matrix(hm_context *ctx, int64_t classes, const hm_ints *truth,
                              const hm_ints *prediction, hm_list **out)
{
    hm_list *matrix = NULL;
    hm_status st = check_pairs(ctx, classes, truth, prediction);
    if (st != HMATH_OK ||
        (st = hm_rows_reserve(ctx, HM_ELEMENT_INT, classes, classes, &matrix)) != HMATH_OK)
        return st;
    int64_t *counts = matrix->data;
    memset(counts, 0, (size_t)classes * (size_t)classes * sizeof *counts);
    for (int64_t i = 0; i < truth->length; i++)
        counts[truth->data[i] * classes + prediction->data[i]]++;
    *out = matrix;
    return HMATH_OK;
}

/* ------------------------------------------------- by class */

typedef struct class_counts {
    int64_t hits, true_ones, predicted; /* both; rows of the class; times it was predicted */
} class_counts;

static double share(int64_t part, int64_t whole)
{
    return whole == 0 ? 0.0 : (double)part / (double)whole;
}

/*
 * Each is one quotient of counts; 2*hits / (true_ones + predicted) is the harmonic mean of the
 * others.
 */
static void fill_by_class(const class_counts *counts, int64_t classes, double *precision,
                          double *recall, double *f1)
{
    for (int64_t c = 0; c < classes; c++) {
        precision[c] = share(counts[c].hits, counts[c].predicted);
        recall[c] = share(counts[c].hits, counts[c].true_ones);
        f1[c] = share(2 * counts[c].hits, counts[c].true_ones + counts[c].predicted);
    }
}

hm_status hm_classification(hm_context *ctx, int64_t classes, const hm_ints *truth,
                            const hm_ints *prediction, hm_classification_metrics **out)
{
    hm_status st = check_pairs(ctx, classes, truth, prediction);
    if (st != HMATH_OK)
        return st;
    class_counts *counts = NULL;
    hm_list *precision = NULL, *recall = NULL, *f1 = NULL;
    if ((st = hm_scratch_create(ctx, (size_t)classes, sizeof *counts, &counts)) != HMATH_OK ||
        (st = hm_list_reserve(ctx, HM_ELEMENT_DOUBLE, classes, &precision)) != HMATH_OK ||
        (st = hm_list_reserve(ctx, HM_ELEMENT_DOUBLE, classes, &recall)) != HMATH_OK ||
        (st = hm_list_reserve(ctx, HM_ELEMENT_DOUBLE, classes, &f1)) != HMATH_OK)
        goto done;
    memset(counts, 0, (size_t)classes * sizeof *counts);
    int64_t hits = 0;
    for (int64_t i = 0; i < truth->length; i++) {
        const int64_t t = truth->data[i], p = prediction->data[i];
        counts[t].true_ones++;
        counts[p].predicted++;
        counts[t].hits += t == p;
        hits += t == p;
    }
    fill_by_class(counts, classes, precision->data, recall->data, f1->data);
    st = hm_classification_metrics_create(ctx, share(hits, truth->length), precision, recall, f1,
                                          out);
done:
    hm_scratch_release(ctx, counts);
    hm_release(precision);
    hm_release(recall);
    hm_release(f1);
    return st;
}

/* ------------------------------------------------- top k */

typedef struct top_k {
    int64_t k, classes, rows, chunks;
    const int64_t *truth;
    const double *scores;
    _Atomic int64_t hits;
} top_k;

/* Classes that come before class t: a larger score, or an equal one and a smaller index. */
static int64_t place_of(const double *scores, int64_t classes, int64_t t)
{
    const double own = scores[t];
    int64_t before = 0;
    for (int64_t c = 0; c < t; c++)
        before += scores[c] >= own;
    for (int64_t c = t + 1; c < classes; c++)
        before += scores[c] > own;
    return before;
}

static void count_chunk(void *task, int64_t chunk)
{
    top_k *t = task;
    int64_t hits = 0;
    const int64_t last = hm_split(t->rows, t->chunks, chunk + 1);
    for (int64_t i = hm_split(t->rows, t->chunks, chunk); i < last; i++)
        hits += place_of(t->scores + i * t->classes, t->classes, t->truth[i]) < t->k;
    atomic_fetch_add_explicit(&t->hits, hits, memory_order_relaxed);
}

static hm_status check_top_k(hm_context *ctx, int64_t k, const hm_ints *truth,
                             const hm_double_rows *scores)
{
    hm_status st;
    if (k < 1)
        return hm_fail_domain_int(ctx, "k", HM_SCALAR, k, ">= 1");
    if ((st = hm_check_matrix(ctx, "scores", scores)) != HMATH_OK ||
        (st = hm_check_length(ctx, "scores", scores->rows, truth->length)) != HMATH_OK)
        return st;
    const bool columns_unknown = scores->rows == 0 && scores->columns == 0; /* an empty list */
    if (k > scores->columns && !columns_unknown) {
        char expected[64], actual[32];
        snprintf(expected, sizeof expected, "at most %lld classes", (long long)scores->columns);
        snprintf(actual, sizeof actual, "%lld", (long long)k);
        return hm_fail_shape(ctx, "k", expected, actual);
    }
    if ((st = hm_check_some(ctx, "truth", truth->length)) != HMATH_OK ||
        (st = check_labels(ctx, "truth", truth, scores->columns)) != HMATH_OK)
        return st;
    return hm_check_rows_finite(ctx, "scores", scores);
}

hm_status hm_top_k_accuracy(hm_context *ctx, int64_t k, const hm_ints *truth,
                            const hm_double_rows *scores, double *out)
{
    hm_status st = check_top_k(ctx, k, truth, scores);
    if (st != HMATH_OK)
        return st;
    top_k task = {.k = k,
                  .classes = scores->columns,
                  .rows = scores->rows,
                  .chunks = hm_chunks(scores->rows, 32768 / scores->columns + 1, 64),
                  .truth = truth->data,
                  .scores = scores->data};
    hm_parallel_for(ctx, task.chunks, count_chunk, &task);
    *out = share(task.hits, task.rows);
    return HMATH_OK;
}
