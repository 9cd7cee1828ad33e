/*
 * Connectionist temporal classification (Graves, Fernandez, Gomez and Schmidhuber 2006): the steps
 * are the kernels' (kernels/ctc.h), here are the rows they run over and what is made of them.
 *
 * Whole numbers taken out of all levels keep these small, so that a hundred thousand frames lose no
 * accuracy: their sum is exact, and is put back once, at the end.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/ctc.h"
#include "kernels/elementwise.h"
#include "neural/core/core.h"
#include "runtime/checked.h"
#include "runtime/context.h"
#include "tensor/reduce.h"

/* ---- checks ---- */

static hm_status check_labels(hm_context *ctx, int64_t blank, const hm_ints *labels,
                              int64_t classes)
{
    for (int64_t i = 0; i < labels->length; i++) {
        const int64_t label = labels->data[i];
        if (label < 0 || label >= classes)
            return hm_fail_index(ctx, "labels", i, label, classes);
        if (label == blank)
            return hm_fail_domain_int(ctx, "labels", i, label, "a class other than blank");
    }
    return HMATH_OK;
}

static hm_status check_log_probabilities(hm_context *ctx, const hm_double_rows *rows)
{
    const int64_t n = rows->rows * rows->columns;
    if (hm_context_kernels(ctx)->reduce->within(rows->data, n, -DBL_MAX, 0))
        return HMATH_OK;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(rows->data[i]))
            return hm_fail_nonfinite(ctx, "log_probabilities", i, rows->data[i]);
        if (rows->data[i] > 0)
            return hm_fail_domain(ctx, "log_probabilities", i, rows->data[i], "<= 0");
    }
    return HMATH_OK;
}

/* Frames that any alignment needs: one a label, and a blank between equal neighbours. */
static int64_t frames_needed(const hm_ints *labels)
{
    int64_t needed = labels->length;
    for (int64_t i = 1; i < labels->length; i++)
        needed += labels->data[i] == labels->data[i - 1];
    return needed;
}

static hm_status check_arguments(hm_context *ctx, int64_t blank, const hm_ints *labels,
                                 const hm_double_rows *rows)
{
    hm_status st;
    if (blank < 0 && (rows->ragged || rows->rank != 2))
        return hm_fail_index(ctx, "blank", HM_SCALAR, blank, INT64_MAX);
    if ((st = hm_check_matrix(ctx, "log_probabilities", rows)) != HMATH_OK)
        return st;
    /* Without frames nobody knows how many classes there are: any blank from 0 on will do. */
    const int64_t classes = rows->rows > 0 ? rows->columns : INT64_MAX;
    if (blank < 0 || blank >= classes)
        return hm_fail_index(ctx, "blank", HM_SCALAR, blank, classes);
    if (rows->rows > 0 && ((st = check_labels(ctx, blank, labels, classes)) != HMATH_OK ||
                           (st = check_log_probabilities(ctx, rows)) != HMATH_OK))
        return st;
    const int64_t needed = frames_needed(labels);
    if (rows->rows < needed)
        return hm_fail_domain_because(
            ctx, "log_probabilities", HM_SCALAR, (double)rows->rows,
            "frames have no room for labels and the blanks between equal ones",
            "at least as many frames");
    return HMATH_OK;
}

/* ---- rows of states ---- */

typedef struct ctc {
    const hm_kernels *kernels;
    const double *log_probabilities;
    double scale; /* what they are multiplied by, a power of two */
    const int64_t *labels;
    int64_t frames, classes, label_count, blank, width;
    double *skip,
        *frame; /* may a label follow its neighbour at once; the labels' log-probabilities now */
} ctc;

/* Row i of rows that lie one behind the other. */
static hm_ctc_row row_at(const ctc *c, double *rows, int64_t i)
{
    double *base = rows + 4 * i * c->width;
    return (hm_ctc_row){base, base + c->width, base + 2 * c->width + HM_CTC_BEFORE,
                        base + 3 * c->width + HM_CTC_BEFORE};
}

static void set_nowhere(const ctc *c, const hm_ctc_row *row)
{
    for (int64_t s = 0; s < c->width; s++) {
        row->blank_level[s] = row->label_level[s - HM_CTC_BEFORE] = HM_CTC_NOWHERE;
        row->blank_rest[s] = row->label_rest[s - HM_CTC_BEFORE] = 0;
    }
}

/* All that a step forwards needs of a row it is going to fill: what stands before label 0. */
static void set_front(const hm_ctc_row *row)
{
    for (int64_t s = -HM_CTC_BEFORE; s < 0; s++) {
        row->label_level[s] = HM_CTC_NOWHERE;
        row->label_rest[s] = 0;
    }
}

static void look_at_frame(const ctc *c, int64_t t)
{
    const double *now = c->log_probabilities + t * c->classes;
    for (int64_t s = 0; s < c->label_count; s++)
        c->frame[s] = now[c->labels[s]] * c->scale;
}

static double blank_at(const ctc *c, int64_t t)
{
    return c->log_probabilities[t * c->classes + c->blank] * c->scale;
}

static void prepare(ctc *c)
{
    for (int64_t s = 0; s < c->width; s++) {
        const bool label = s > 0 && s < c->label_count;
        c->skip[s] = label && c->labels[s] != c->labels[s - 1] ? INFINITY : HM_CTC_NOWHERE;
        c->frame[s] = HM_CTC_NOWHERE;
    }
}

/*
 * All frames, forwards. With `kept` rows = frames every time has a row of its own, and taken[t] is
 * what has been taken out of its levels; with two they take turns. Returns ln P.
 */
static double run_forward(const ctc *c, double *rows, bool keep, double *taken)
{
    const hm_ctc_kernels *k = c->kernels->ctc;
    double out_of_levels = 0;
    hm_ctc_row row = row_at(c, rows, 0);
    set_nowhere(c, &row);
    look_at_frame(c, 0);
    row.blank_level[0] = blank_at(c, 0);
    if (c->label_count > 0)
        row.label_level[0] = c->frame[0];
    if (keep)
        taken[0] = 0;
    for (int64_t t = 1; t < c->frames; t++) {
        const hm_ctc_row next = row_at(c, rows, keep ? t : t % 2);
        set_front(&next);
        look_at_frame(c, t);
        k->forward(&row, c->label_count, c->skip, blank_at(c, t), c->frame, &next);
        if (t % HM_CTC_STEPS == 0)
            out_of_levels += k->settle(&next, c->label_count);
        if (keep)
            taken[t] = out_of_levels;
        row = next;
    }
    const int64_t last = c->label_count;
    const double total =
        last > 0 ? k->log_total(row.blank_level[last], row.blank_rest[last],
                                row.label_level[last - 1], row.label_rest[last - 1])
                 : k->log_total(row.blank_level[0], row.blank_rest[0], HM_CTC_NOWHERE, 0);
    return total + out_of_levels;
}

/* What part of all alignments runs through each state of a frame, and through all of a kind. */
typedef struct shares {
    double *blank, *label;
    double through_blank, through_label;
} shares;

static void sum_shares(const ctc *c, shares *s)
{
    const hm_kernels *k = c->kernels;
    s->through_blank = hm_wide_round(hm_sum_row(k, HM_ROW_SUM, s->blank, NULL, c->label_count + 1));
    s->through_label = hm_wide_round(hm_sum_row(k, HM_ROW_SUM, s->label, NULL, c->label_count));
}

/* n shares from the levels of both sides, the largest of which is e^0. */
static void share_by_largest(const ctc *c, const double *level, const double *rest,
                             const double *other_level, const double *other_rest, int64_t n,
                             double largest, double *share)
{
    for (int64_t i = 0; i < n; i++)
        share[i] = fmax(level[i] + other_level[i] - largest, -DBL_MAX);
    (void)c->kernels->elementwise->unary[HM_UNARY_exp]((size_t)n, share, share);
    for (int64_t i = 0; i < n; i++)
        share[i] *= (1.0 + rest[i]) * (1.0 + other_rest[i]);
}

static double largest_sum(const double *level, const double *other_level, int64_t n, double most)
{
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, level[i] + other_level[i]);
    return most;
}

/*
 * Shares of a frame whose levels are so large that the total's rounding is more than all there is to share out:
 * from 2^50 or so on. They are taken against the frame's own largest instead.
 */
static void share_large(const ctc *c, const hm_ctc_row *before, const hm_ctc_row *after, shares *s)
{
    const int64_t blanks = c->label_count + 1, labels = c->label_count;
    const double largest =
        largest_sum(before->label_level, after->label_level, labels,
                    largest_sum(before->blank_level, after->blank_level, blanks, -DBL_MAX));
    share_by_largest(c, before->blank_level, before->blank_rest, after->blank_level,
                     after->blank_rest, blanks, largest, s->blank);
    share_by_largest(c, before->label_level, before->label_rest, after->label_level,
                     after->label_rest, labels, largest, s->label);
    sum_shares(c, s);
}

/* A row of the gradient: each class loses what runs through it. */
static void publish_shares(const ctc *c, const shares *s, double *gradient)
{
    const double share = 1.0 / (s->through_blank + s->through_label); /* 1, but for rounding */
    memset(gradient, 0, (size_t)c->classes * sizeof *gradient);
    gradient[c->blank] = 0 - s->through_blank * share;
    for (int64_t i = 0; i < c->label_count; i++)
        gradient[c->labels[i]] -= s->label[i] * share;
}

/* All frames, backwards, against the rows that run_forward kept. `rows` has room for two, `room`
 * for two widths. */
static void run_backward(const ctc *c, double *kept, const double *taken, double log_total,
                         double *rows, double *room, double *gradient)
{
    const hm_ctc_kernels *k = c->kernels->ctc;
    shares s = {.blank = room, .label = room + c->width};
    double out_of_levels = 0;
    hm_ctc_row after = row_at(c, rows, 0), next = row_at(c, rows, 1);
    set_nowhere(c, &after);
    set_nowhere(c, &next);
    after.blank_level[c->label_count] = 0;
    if (c->label_count > 0)
        after.label_level[c->label_count - 1] = 0;
    for (int64_t t = c->frames - 1; t >= 0; t--) {
        const hm_ctc_row before = row_at(c, kept, t);
        k->share(&before, &after, c->label_count, log_total - taken[t] - out_of_levels, s.blank,
                 s.label);
        sum_shares(c, &s);
        if (!(fabs(s.through_blank + s.through_label - 1.0) <= 0.25))
            share_large(c, &before, &after, &s);
        publish_shares(c, &s, gradient + t * c->classes);
        if (t == 0)
            break;
        look_at_frame(c, t);
        k->backward(&after, c->label_count, c->skip, blank_at(c, t), c->frame, &next);
        if (t % HM_CTC_STEPS == 0)
            out_of_levels += k->settle(&next, c->label_count);
        const hm_ctc_row swap = after;
        after = next;
        next = swap;
    }
}

/* ---- the two operations ---- */

static ctc problem(hm_context *ctx, int64_t blank, const hm_ints *labels,
                   const hm_double_rows *rows)
{
    return (ctc){.kernels = hm_context_kernels(ctx),
                 .log_probabilities = rows->data,
                 .scale = 1,
                 .labels = labels->data,
                 .frames = rows->rows,
                 .classes = rows->columns,
                 .label_count = labels->length,
                 .blank = blank,
                 .width = HM_CTC_WIDTH(labels->length)};
}

/* Room for `rows` rows of states, `extra` doubles, skip and frame, in one block. */
static hm_status make_room(hm_context *ctx, ctc *c, int64_t rows, int64_t extra, double **room)
{
    size_t states, size;
    if (!hm_multiply_size((size_t)rows, 4 * (size_t)c->width, &states) ||
        !hm_add_size(states, 2 * (size_t)c->width + (size_t)extra, &size))
        return hm_fail_memory(ctx);
    const hm_status st = hm_scratch_create(ctx, size, sizeof(double), room);
    if (st != HMATH_OK)
        return st;
    c->skip = *room + states;
    c->frame = c->skip + c->width;
    prepare(c);
    return HMATH_OK;
}

/*
 * Levels have a floor, -DBL_MAX. A total that lies there is taken again with logarithms so small that no level
 * comes near it: what ln 2 for each meeting of two alignments would then be too much, is nothing beside 2^1023.
 */
#define SMALL 0x1p-40

static double forward_in_range(ctc *c, double *rows, bool keep, double *taken)
{
    const double total = run_forward(c, rows, keep, taken);
    if (total > -DBL_MAX)
        return total;
    c->scale = SMALL;
    return run_forward(c, rows, keep, taken);
}

static hm_status publish_loss(hm_context *ctx, const ctc *c, double log_total, double *loss)
{
    const double found = 0 - log_total / c->scale;
    if (!isfinite(found))
        return hm_fail_overflow(ctx);
    *loss = found;
    return HMATH_OK;
}

hm_status hm_ctc_loss(hm_context *ctx, int64_t blank, const hm_ints *labels,
                      const hm_double_rows *log_probabilities, double *out)
{
    hm_status st = check_arguments(ctx, blank, labels, log_probabilities);
    if (st != HMATH_OK)
        return st;
    if (log_probabilities->rows == 0) {
        *out = 0;
        return HMATH_OK;
    }
    ctc c = problem(ctx, blank, labels, log_probabilities);
    double *room = NULL;
    if ((st = make_room(ctx, &c, 2, 0, &room)) == HMATH_OK)
        st = publish_loss(ctx, &c, forward_in_range(&c, room, false, NULL), out);
    hm_scratch_release(ctx, room);
    return st;
}

hm_status hm_ctc_loss_gradient(hm_context *ctx, int64_t blank, const hm_ints *labels,
                               const hm_double_rows *log_probabilities, double *loss,
                               hm_value **gradient)
{
    hm_status st = check_arguments(ctx, blank, labels, log_probabilities);
    if (st != HMATH_OK)
        return st;
    ctc c = problem(ctx, blank, labels, log_probabilities);
    double *room = NULL, *slopes;
    hm_value *result = NULL;
    if ((st = hm_rows_result_like(ctx, log_probabilities->source, c.frames, c.classes, &result,
                                  &slopes)) != HMATH_OK)
        return st;
    double found = 0;
    if (c.frames > 0) {
        if ((st = make_room(ctx, &c, c.frames + 2, c.frames + 2 * c.width, &room)) != HMATH_OK)
            goto done;
        double *rows = room + 4 * c.frames * c.width, *taken = c.frame + c.width,
               *states = taken + c.frames;
        const double log_total = forward_in_range(&c, room, true, taken);
        if ((st = publish_loss(ctx, &c, log_total, &found)) != HMATH_OK)
            goto done;
        run_backward(&c, room, taken, log_total, rows, states, slopes);
    }
    *loss = found;
    *gradient = result;
    result = NULL;
done:
    hm_scratch_release(ctx, room);
    hm_release(result);
    return st;
}
