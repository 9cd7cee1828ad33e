#include "neural/metrics/ranking.h"

#include <math.h>

#include "neural/metrics/sort.h"
#include "tensor/reduce.h"

__extension__ typedef unsigned __int128
    pair_count; /* of 2^31 positives and as many negatives, doubled */

/* ------------------------------------------------- truth */

static bool is_positive(const hm_truths *truth, int64_t i)
{
    switch (truth->element) {
    case HM_ELEMENT_BOOL: return ((const uint8_t *)truth->data)[i] != 0;
    case HM_ELEMENT_INT: return ((const int64_t *)truth->data)[i] != 0;
    default: return ((const double *)truth->data)[i] != 0;
    }
}

static hm_status check_truth(hm_context *ctx, const hm_truths *truth)
{
    if (truth->element == HM_ELEMENT_BOOL)
        return HMATH_OK;
    const char *requirement = "0 or 1";
    if (truth->element == HM_ELEMENT_INT) {
        const int64_t *labels = truth->data;
        for (int64_t i = 0; i < truth->length; i++)
            if (labels[i] != 0 && labels[i] != 1)
                return hm_fail_domain_int(ctx, "truth", i, labels[i], requirement);
        return HMATH_OK;
    }
    const double *labels = truth->data;
    hm_status st = hm_check_finite(ctx, "truth", labels, truth->length);
    for (int64_t i = 0; i < truth->length && st == HMATH_OK; i++)
        if (labels[i] != 0 && labels[i] != 1)
            st = hm_fail_domain(ctx, "truth", i, labels[i], requirement);
    return st;
}

/* ------------------------------------------------- the two sorted sets */

typedef struct ranks {
    uint64_t *block;                     /* the keys, and as much room again */
    const uint64_t *positive, *negative; /* ascending */
    int64_t positives, negatives;
} ranks;

static void ranks_close(hm_context *ctx, ranks *r) { hm_scratch_release(ctx, r->block); }

static hm_status check_scores(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores)
{
    hm_status st;
    if (truth->rank != 1) {
        const hm_doubles vector = {.rank = truth->rank};
        return hm_check_vector(ctx, "truth", &vector);
    }
    if ((st = hm_check_vector(ctx, "scores", scores)) != HMATH_OK ||
        (st = hm_check_length(ctx, "scores", scores->length, truth->length)) != HMATH_OK ||
        (st = hm_check_some(ctx, "truth", truth->length)) != HMATH_OK ||
        (st = check_truth(ctx, truth)) != HMATH_OK)
        return st;
    return hm_check_doubles_finite(ctx, "scores", scores);
}

/* Checks everything but that both classes are there. */
static hm_status ranks_open(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores,
                            ranks *out)
{
    hm_status st = check_scores(ctx, truth, scores);
    ranks r = {.block = NULL};
    const int64_t n = truth->length;
    if (st != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)n, 2 * sizeof *r.block, &r.block)) != HMATH_OK)
        return st;
    /* positives from the front, negatives from the back */
    int64_t front = 0, back = n;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = hm_sort_key(scores->data[i]);
        const int64_t positive = is_positive(truth, i);
        r.block[positive ? front : back - 1] = key;
        front += positive;
        back -= !positive;
    }
    r.positives = front;
    r.negatives = n - front;
    hm_sort_keys(r.block, r.block + n, r.positives);
    hm_sort_keys(r.block + front, r.block + n, r.negatives);
    r.positive = r.block;
    r.negative = r.block + front;
    *out = r;
    return HMATH_OK;
}

static hm_status require(hm_context *ctx, bool holds, double found, const char *requirement)
{
    return holds ? HMATH_OK
                 : hm_fail_domain_because(ctx, "truth", HM_SCALAR, found, "for every element",
                                          requirement);
}

static hm_status require_positive(hm_context *ctx, const ranks *r)
{
    return require(ctx, r->positives > 0, 0.0, "at least one positive");
}

static hm_status require_both(hm_context *ctx, const ranks *r)
{
    hm_status st = require(ctx, r->positives > 0, 0.0, "both classes");
    return st != HMATH_OK ? st : require(ctx, r->negatives > 0, 1.0, "both classes");
}

/* Equal scores at the top of what is left: how many of them are positive, how many negative. */
typedef struct group {
    uint64_t key;
    int64_t positives, negatives;
} group;

/* Takes the group off the ends of the two sets; false where nothing is left. */
static bool next_group(const ranks *r, int64_t *positives_left, int64_t *negatives_left, group *out)
{
    int64_t p = *positives_left, n = *negatives_left;
    if (p + n == 0)
        return false;
    const uint64_t top_positive = p ? r->positive[p - 1] : 0,
                   top_negative = n ? r->negative[n - 1] : 0;
    const uint64_t key = top_positive > top_negative ? top_positive : top_negative;
    while (p > 0 && r->positive[p - 1] == key)
        p--;
    while (n > 0 && r->negative[n - 1] == key)
        n--;
    *out = (group){key, *positives_left - p, *negatives_left - n};
    *positives_left = p;
    *negatives_left = n;
    return true;
}

/* ------------------------------------------------- areas */

hm_status hm_roc_auc(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores, double *out)
{
    ranks r;
    hm_status st = ranks_open(ctx, truth, scores, &r);
    if (st != HMATH_OK)
        return st;
    if ((st = require_both(ctx, &r)) != HMATH_OK)
        goto done;
    pair_count twice = 0; /* two for a pair in order, one for a tie: exact */
    int64_t below = 0, tied = 0;
    for (int64_t i = 0; i < r.positives; i++) {
        while (below < r.negatives && r.negative[below] < r.positive[i])
            below++;
        if (tied < below)
            tied = below;
        while (tied < r.negatives && r.negative[tied] == r.positive[i])
            tied++;
        twice += (pair_count)(below + tied);
    }
    *out = (double)twice / (2.0 * (double)r.positives * (double)r.negatives);
done:
    ranks_close(ctx, &r);
    return st;
}

static double precision_of(int64_t positives, int64_t negatives)
{
    return (double)positives / (double)(positives + negatives);
}

/*
 * Sum of (recall_i - recall_{i-1}) * (precision_i + precision_{i-1}) / 2 over the groups that hold
 * a positive; the constant factors wait until the sum is done.
 */
hm_status hm_pr_auc(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores, double *out)
{
    ranks r;
    hm_status st = ranks_open(ctx, truth, scores, &r);
    if (st != HMATH_OK)
        return st;
    if ((st = require_positive(ctx, &r)) != HMATH_OK)
        goto done;
    double *terms = (double *)(void *)(r.block + truth->length), precision = 1;
    int64_t positives = r.positives, negatives = r.negatives, count = 0;
    group g;
    while (next_group(&r, &positives, &negatives, &g)) {
        const double before = precision;
        precision = precision_of(r.positives - positives, r.negatives - negatives);
        if (g.positives > 0)
            terms[count++] = (double)g.positives * (before + precision);
    }
    const hm_wide sum = hm_sum_row_threads(ctx, HM_ROW_SUM, terms, NULL, count);
    *out = fmin(hm_wide_round(sum) / (2.0 * (double)r.positives), 1.0);
done:
    ranks_close(ctx, &r);
    return st;
}

/* ------------------------------------------------- curves */

typedef void write_point(const ranks *r, int64_t positives, int64_t negatives, double *x,
                         double *y);

static void roc_point(const ranks *r, int64_t positives, int64_t negatives, double *x, double *y)
{
    *x = (double)negatives / (double)r->negatives;
    *y = (double)positives / (double)r->positives;
}

static void precision_recall_point(const ranks *r, int64_t positives, int64_t negatives, double *x,
                                   double *y)
{
    *x = (double)positives / (double)r->positives;
    *y = positives + negatives == 0 ? 1.0 : precision_of(positives, negatives);
}

static int64_t count_groups(const ranks *r)
{
    int64_t positives = r->positives, negatives = r->negatives, count = 0;
    group g;
    while (next_group(r, &positives, &negatives, &g))
        count++;
    return count;
}

/* Room for n numbers in the container of the scores. */
static hm_status reserve(hm_context *ctx, const hm_doubles *scores, int64_t n, hm_value **out,
                         double **data)
{
    hm_tensor *tensor = NULL;
    hm_list *list = NULL;
    const hm_shape shape = {.rank = 1, .extent = {n}};
    const bool in_tensors = hm_tensor_from_value(scores->source) != NULL;
    hm_status st = in_tensors ? hm_tensor_create(ctx, &shape, &tensor)
                              : hm_list_reserve(ctx, HM_ELEMENT_DOUBLE, n, &list);
    if (st != HMATH_OK)
        return st;
    *out = in_tensors ? &tensor->base : &list->base;
    *data = in_tensors ? tensor->data : list->data;
    return HMATH_OK;
}

static hm_status trace(hm_context *ctx, const ranks *r, const hm_doubles *scores,
                       write_point *write, hm_tuple **out)
{
    hm_value *parts[3] = {NULL};
    double *x, *y, *threshold;
    const int64_t groups = count_groups(r);
    hm_status st;
    if ((st = reserve(ctx, scores, groups + 1, &parts[0], &x)) != HMATH_OK ||
        (st = reserve(ctx, scores, groups + 1, &parts[1], &y)) != HMATH_OK ||
        (st = reserve(ctx, scores, groups, &parts[2], &threshold)) != HMATH_OK)
        goto done;
    int64_t positives = r->positives, negatives = r->negatives, i = 0;
    group g;
    write(r, 0, 0, &x[0], &y[0]);
    while (next_group(r, &positives, &negatives, &g)) {
        threshold[i++] = hm_sort_value(g.key);
        write(r, r->positives - positives, r->negatives - negatives, &x[i], &y[i]);
    }
    st = hm_tuple_create(ctx, (const hm_value *const *)parts, 3, out);
done:
    for (int part = 0; part < 3; part++)
        hm_release(parts[part]);
    return st;
}

hm_status hm_roc_curve(hm_context *ctx, const hm_truths *truth, const hm_doubles *scores,
                       hm_tuple **out)
{
    ranks r;
    hm_status st = ranks_open(ctx, truth, scores, &r);
    if (st != HMATH_OK)
        return st;
    if ((st = require_both(ctx, &r)) == HMATH_OK)
        st = trace(ctx, &r, scores, roc_point, out);
    ranks_close(ctx, &r);
    return st;
}

hm_status hm_precision_recall_curve(hm_context *ctx, const hm_truths *truth,
                                    const hm_doubles *scores, hm_tuple **out)
{
    ranks r;
    hm_status st = ranks_open(ctx, truth, scores, &r);
    if (st != HMATH_OK)
        return st;
    if ((st = require_positive(ctx, &r)) == HMATH_OK)
        st = trace(ctx, &r, scores, precision_recall_point, out);
    ranks_close(ctx, &r);
    return st;
}
