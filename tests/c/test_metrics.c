/* Metrics through the public functions: what Python cannot do wrong, and memory. */
#include "hmath_deeplearning.h"
#include "tensors.h"

static hmath_value *ints(size_t n, const int64_t *data)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_list_from_ints(ctx, data, n, &v), HMATH_OK);
    return v;
}

static hmath_value *doubles(size_t n, const double *data)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_list_from_doubles(ctx, data, n, &v), HMATH_OK);
    return v;
}

static hmath_value *integer(int64_t x)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_int_create(ctx, x, &v), HMATH_OK);
    return v;
}

static hmath_value *number(double x)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_double_create(ctx, x, &v), HMATH_OK);
    return v;
}

static double taken(hmath_value *v)
{
    double x = NAN;
    CHECK_INT(hmath_double_get(v, &x), HMATH_OK);
    hmath_release(v);
    return x;
}

static hmath_value *classes, *truth, *prediction, *rows, *scores, *tensor, *logs, *labels, *margin,
    *record;

static void make_inputs(void)
{
    const int64_t t[] = {0, 1, 1, 0}, p[] = {0, 1, 0, 1}, y[] = {1, -1, 1, -1};
    const double s[] = {0.1, 0.9, 0.4, 0.4}, l[] = {-1, -2, -0.5, 0};
    classes = integer(2);
    truth = ints(4, t);
    prediction = ints(4, p);
    labels = ints(4, y);
    scores = doubles(4, s);
    logs = doubles(4, l);
    margin = number(0.5);
    tensor = counting(2, (int64_t[]){4, 2});
    CHECK_INT(hmath_rows_from_doubles(ctx, s, 2, 2, &rows), HMATH_OK);
    CHECK_INT(hmath_neural_metrics_classification_metrics(ctx, classes, truth, prediction, &record),
              HMATH_OK);
}

static void drop_inputs(void)
{
    hmath_value *all[] = {classes, truth, prediction, rows,   scores,
                          tensor,  logs,  labels,     margin, record};
    for (int i = 0; i < 10; i++)
        hmath_release(all[i]);
}

static void test_values(void)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_neural_metrics_roc_auc(ctx, truth, scores, &v), HMATH_OK);
    CHECK_BITS(taken(v), 0.875); /* 1 > both, 0.4 > 0.1 and ties with 0.4 */
    CHECK_INT(hmath_neural_metrics_accuracy(ctx, record, &v), HMATH_OK);
    CHECK_BITS(taken(v), 0.5);
    CHECK_INT(hmath_neural_metrics_confusion_matrix(ctx, classes, truth, prediction, &v), HMATH_OK);
    const int64_t *counts;
    size_t n, columns;
    CHECK_INT(hmath_rows_ints(v, &counts, &n, &columns), HMATH_OK);
    CHECK(n == 2 && columns == 2 && counts[0] == 1 && counts[1] == 1 && counts[2] == 1 &&
          counts[3] == 1);
    hmath_release(v);
    CHECK_INT(hmath_neural_metrics_roc_curve(ctx, truth, scores, &v), HMATH_OK);
    CHECK_INT(hmath_tuple_length(v), 3);
    hmath_release(v);
}

static void test_bad_arguments(void)
{
    CHECK_BAD(hmath_neural_metrics_confusion_matrix(ctx, classes, NULL, prediction, &out));
    CHECK_BAD(hmath_neural_metrics_classification_metrics(ctx, NULL, truth, prediction, &out));
    CHECK_BAD(hmath_neural_metrics_classification_metrics_create(ctx, margin, scores, scores, NULL,
                                                                 &out));
    CHECK_BAD(hmath_neural_metrics_top_k_accuracy(ctx, classes, truth, NULL, &out));
    CHECK_BAD(hmath_neural_metrics_roc_auc(ctx, NULL, scores, &out));
    CHECK_BAD(hmath_neural_metrics_pr_auc(ctx, truth, NULL, &out));
    CHECK_BAD(hmath_neural_metrics_perplexity(NULL, logs, &out));
    CHECK_BAD(hmath_neural_metrics_cosine_similarity_matrix(ctx, tensor, NULL, &out));
    CHECK_INT(hmath_neural_metrics_margin_ranking_loss(ctx, margin, scores, scores, labels, NULL),
              HMATH_BAD_ARGUMENT);
    CHECK_FAILS(hmath_neural_metrics_accuracy(ctx, margin, &out), HMATH_TYPE_MISMATCH, "metrics",
                -1);
    CHECK_FAILS(hmath_neural_metrics_roc_auc(ctx, rows, scores, &out), HMATH_TYPE_MISMATCH, "truth",
                -1);
    CHECK_FAILS(hmath_neural_metrics_roc_auc(ctx, tensor, scores, &out), HMATH_DIMENSION_MISMATCH,
                "truth", -1);
    CHECK_FAILS(hmath_neural_metrics_confusion_matrix(ctx, classes, truth, scores, &out),
                HMATH_TYPE_MISMATCH, "prediction", -1);
    CHECK_FAILS(hmath_neural_metrics_cosine_similarity_matrix(ctx, scores, tensor, &out),
                HMATH_TYPE_MISMATCH, "left", -1);
    hmath_value *huge = integer(INT64_MAX), *result = NULL;
    CHECK_INT(hmath_neural_metrics_confusion_matrix(ctx, huge, truth, prediction, &result),
              HMATH_NO_MEMORY);
    CHECK_INT(hmath_neural_metrics_classification_metrics(ctx, huge, truth, prediction, &result),
              HMATH_NO_MEMORY);
    CHECK(result == NULL);
    hmath_release(huge);
}

/*
 * Large enough for several chunks and blocks: the same bits on every instruction set and thread
 * count.
 */
static void test_same_bits_everywhere(void)
{
    enum { N = 20000, RESULTS = 6 };
    uint64_t state = 1;
    double *x = malloc(sizeof *x * N), *y = malloc(sizeof *y * N);
    int64_t *t = malloc(sizeof *t * N), *sign = malloc(sizeof *sign * N);
    for (int i = 0; i < N; i++) {
        x[i] = -ldexp((double)random_below(&state, 1 << 20), -16);
        y[i] = ldexp((double)random_below(&state, 1 << 20), -18);
        t[i] = random_below(&state, 2);
        sign[i] = 2 * t[i] - 1;
    }
    hmath_value *logits = doubles(N, x), *other = doubles(N, y), *truths = ints(N, t),
                *signs = ints(N, sign);
    hmath_value *matrix = tensor_of(2, (int64_t[]){100, 200}, y), *first[RESULTS] = {NULL};
    hmath_value *columns = NULL, *five = integer(5);
    int64_t row_labels[100];
    for (int i = 0; i < 100; i++)
        row_labels[i] = random_below(&state, 200);
    columns = ints(100, row_labels);
    for (int32_t isa = HMATH_ISA_DEFAULT; isa <= HMATH_ISA_NEON; isa++)
        for (int32_t threads = 1; threads <= 4; threads++) {
            hmath_options options = {.struct_size = sizeof options, .threads = threads, .isa = isa};
            hmath_context *own = NULL;
            if (hmath_context_create(&options, &own) != HMATH_OK)
                break; /* not on this processor */
            hmath_value *r[RESULTS] = {NULL};
            CHECK_INT(hmath_neural_metrics_roc_auc(own, truths, logits, &r[0]), HMATH_OK);
            CHECK_INT(hmath_neural_metrics_pr_auc(own, truths, logits, &r[1]), HMATH_OK);
            CHECK_INT(hmath_neural_metrics_perplexity(own, logits, &r[2]), HMATH_OK);
            CHECK_INT(
                hmath_neural_metrics_margin_ranking_loss(own, margin, logits, other, signs, &r[3]),
                HMATH_OK);
            CHECK_INT(hmath_neural_metrics_top_k_accuracy(own, five, columns, matrix, &r[4]),
                      HMATH_OK);
            CHECK_INT(hmath_neural_metrics_cosine_similarity_matrix(own, matrix, matrix, &r[5]),
                      HMATH_OK);
            for (int i = 0; i < RESULTS; i++) {
                double a = 0, b = 0;
                if (!first[i])
                    first[i] = hmath_retain(r[i]);
                if (i == 5) {
                    CHECK_INT(hmath_tensor_identical(first[i], r[i]), 1);
                } else {
                    CHECK_INT(hmath_double_get(first[i], &a), HMATH_OK);
                    CHECK_INT(hmath_double_get(r[i], &b), HMATH_OK);
                    CHECK_BITS(b, a);
                }
                hmath_release(r[i]);
            }
            hmath_context_destroy(own);
        }
    for (int i = 0; i < RESULTS; i++)
        hmath_release(first[i]);
    hmath_value *all[] = {logits, other, truths, signs, matrix, columns, five};
    for (int i = 0; i < 7; i++)
        hmath_release(all[i]);
    free(x);
    free(y);
    free(t);
    free(sign);
}

static hmath_status make_record(hmath_value **out)
{
    return hmath_neural_metrics_classification_metrics_create(ctx, margin, scores, logs, scores,
                                                              out);
}

static hmath_status count_pairs(hmath_value **out)
{
    return hmath_neural_metrics_confusion_matrix(ctx, classes, truth, prediction, out);
}

static hmath_status classify(hmath_value **out)
{
    return hmath_neural_metrics_classification_metrics(ctx, classes, truth, prediction, out);
}

static hmath_status rank(hmath_value **out)
{
    return hmath_neural_metrics_top_k_accuracy(ctx, classes, truth, tensor, out);
}

static hmath_status roc_area(hmath_value **out)
{
    return hmath_neural_metrics_roc_auc(ctx, truth, scores, out);
}

static hmath_status pr_area(hmath_value **out)
{
    return hmath_neural_metrics_pr_auc(ctx, truth, scores, out);
}

static hmath_status trace(hmath_value **out)
{
    return hmath_neural_metrics_roc_curve(ctx, truth, scores, out);
}

static hmath_status perplex(hmath_value **out)
{
    return hmath_neural_metrics_perplexity(ctx, logs, out);
}

static hmath_status compare(hmath_value **out)
{
    return hmath_neural_metrics_cosine_similarity_matrix(ctx, tensor, tensor, out);
}

static hmath_status margin_loss(hmath_value **out)
{
    return hmath_neural_metrics_margin_ranking_loss(ctx, margin, scores, logs, labels, out);
}

static void test_every_allocation_fails(void)
{
    hmath_status (*const builds[])(hmath_value **) = {make_record, count_pairs, classify, rank,
                                                      roc_area,    pr_area,     trace,    perplex,
                                                      compare,     margin_loss};
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        check_every_allocation(builds[i]);
}

int main(void)
{
    if (hmath_context_create(NULL, &ctx) != HMATH_OK)
        return 1;
    make_inputs();
    RUN(test_values);
    RUN(test_bad_arguments);
    RUN(test_same_bits_everywhere);
    RUN(test_every_allocation_fails);
    drop_inputs();
    CHECK_INT(hmath_live_values(), 0);
    hmath_context_destroy(ctx);
    return check_report();
}
