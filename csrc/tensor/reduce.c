/*
 * The tree is a binary counter: after block b, the subtrees waiting on the stack are those of the
 * bits of b + 1, and joining what waits at the end from the right is the odd last one passing up.
 */
#include "tensor/reduce.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/pool.h"

enum { LEVELS = 52 }; /* 2^51 blocks of 4,096 doubles exceed any address space */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

void hm_join_sums(hm_partial *left, const hm_partial *right)
{
    for (int i = 0; i < 4; i++)
        left->of[i] += right->of[i];
}

void hm_join_exp_sums(hm_partial *left, const hm_partial *right)
{
    const double a = left->of[0], b = right->of[0], s = a + b, b_part = s - a; /* Knuth's sum */
    left->of[0] = s;
    left->of[1] = (left->of[1] + right->of[1]) + ((a - (s - b_part)) + (b - b_part));
}

/* Blocks first, ..., of elements first*HM_BLOCK ... end-1. */
static void reduce_range(const hm_reduction *how, const void *job, int64_t first, int64_t end,
                         hm_partial *out)
{
    hm_partial waiting[LEVELS];
    int height = 0;
    for (int64_t block = 0; first < end; first += HM_BLOCK) {
        how->block(job, first, least(end - first, HM_BLOCK), &waiting[height++]);
        block++;
        for (int64_t bits = block; (bits & 1) == 0; bits >>= 1) {
            how->join(&waiting[height - 2], &waiting[height - 1]);
            height--;
        }
    }
    for (; height > 1; height--)
        how->join(&waiting[height - 2], &waiting[height - 1]);
    *out = waiting[0];
}

void hm_reduce_here(const hm_reduction *how, const void *job, int64_t n, hm_partial *out)
{
    reduce_range(how, job, 0, n, out);
}

/* ---- on threads: at most MOST_CHUNKS subtrees of equal size, then the tree over those ---- */

enum { MOST_CHUNKS = 64, BLOCKS_WORTH_A_CHUNK = 8 };

typedef struct reduce_task {
    const hm_reduction *how;
    const void *job;
    int64_t n, chunk_length;
    hm_partial parts[MOST_CHUNKS];
} reduce_task;

static void reduce_chunk(void *task, int64_t chunk)
{
    reduce_task *t = task;
    const int64_t first = chunk * t->chunk_length;
    reduce_range(t->how, t->job, first, least(t->n, first + t->chunk_length), &t->parts[chunk]);
}

void hm_reduce(const hm_context *ctx, const hm_reduction *how, const void *job, int64_t n,
               hm_partial *out)
{
    int64_t chunk_length = (int64_t)BLOCKS_WORTH_A_CHUNK * HM_BLOCK;
    while ((n - 1) / chunk_length >= MOST_CHUNKS)
        chunk_length *= 2;
    const int64_t chunks = (n - 1) / chunk_length + 1;
    if (chunks == 1) {
        reduce_range(how, job, 0, n, out);
        return;
    }

    reduce_task task = {.how = how, .job = job, .n = n, .chunk_length = chunk_length};
    hm_parallel_for(ctx, chunks, reduce_chunk, &task);
    for (int64_t step = 1; step < chunks; step *= 2)
        for (int64_t i = 0; i + step < chunks; i += 2 * step)
            how->join(&task.parts[i], &task.parts[i + step]);
    *out = task.parts[0];
}

/* ---- elements out of place or out of range ---- */

const double *hm_read_block(const hm_source *from, int64_t at, int64_t n, double room[HM_BLOCK])
{
    const double *x = from->first + at * from->stride;
    if (from->stride == 1 && from->shift == 0)
        return x;
    const int half = from->shift / 2;
    const double one = ldexp(1.0, half), other = ldexp(1.0, from->shift - half);
    for (int64_t i = 0; i < n; i++)
        room[i] = x[i * from->stride] * one * other;
    return room;
}

/* The power of two that brings a largest magnitude into [1, 2), as an exponent. */
static int shift_for(double magnitude)
{
    return isfinite(magnitude) && magnitude > 0 ? -ilogb(magnitude) : 0;
}

/* ---- sums over a row ---- */

typedef struct sum_job {
    const hm_kernels *kernels;
    hm_row_sum of;
    hm_source x, y;
} sum_job;

/*
 * (x - y) * 2^shift: small differences are scaled up once they are taken, for the elements themselves may be
 * large; large ones are scaled down before, since they may overflow.
 */
static const double *shifted_differences(const sum_job *j, int64_t first, int64_t n, double *room)
{
    const double *x = j->x.first + first, *y = j->y.first + first;
    const int shift = j->x.shift, before = shift < 0 ? shift : 0, after = shift - before;
    for (int64_t i = 0; i < n; i++)
        room[i] = ldexp(ldexp(x[i], before) - ldexp(y[i], before), after);
    return room;
}

/* One block of elements where they stand. */
static double block_sum(const hm_reduce_kernels *k, hm_row_sum of, const double *x, const double *y,
                        int64_t n)
{
    switch (of) {
    case HM_ROW_SUM: return k->sum(x, n);
    case HM_ROW_ABSOLUTE: return k->absolute_sum(x, n);
    case HM_ROW_SQUARES: return k->square_sum(x, n);
    case HM_ROW_DOT: return k->dot(x, y, n);
    case HM_ROW_DISTANCE: return k->distance(x, y, n);
    }
    return NAN;
}

static void sum_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const sum_job *j = job;
    const hm_reduce_kernels *k = j->kernels->reduce;
    double x_room[HM_BLOCK], y_room[HM_BLOCK];
    *out = (hm_partial){{0}};
    if (j->of == HM_ROW_DISTANCE && j->x.shift != 0) {
        out->of[0] = k->square_sum(shifted_differences(j, first, n, x_room), n);
        return;
    }
    const double *x = hm_read_block(&j->x, first, n, x_room);
    const double *y = j->y.first ? hm_read_block(&j->y, first, n, y_room) : NULL;
    out->of[0] = block_sum(k, j->of, x, y, n);
}

static const hm_reduction sums = {sum_block, hm_join_sums};

/* ctx is NULL where the row stays on this thread. */
static double sum_once(const hm_context *ctx, const sum_job *job, int64_t n)
{
    hm_partial total;
    if (ctx)
        hm_reduce(ctx, &sums, job, n, &total);
    else
        hm_reduce_here(&sums, job, n, &total);
    return total.of[0];
}

/*
 * Squares and products that vanish below 2^-1074 come to no more than n/2^1075 together: nothing
 * against a sum above 2^-900. A plain sum of elements is exact in the subnormal range.
 */
static bool stands(hm_row_sum of, double total)
{
    if (!isfinite(total))
        return false;
    return of == HM_ROW_SUM || of == HM_ROW_ABSOLUTE || fabs(total) > 0x1p-900;
}

/* The power of two that brings the largest |x - y| to about 1. */
static int shift_for_differences(const double *x, const double *y, int64_t n)
{
    double most = 0;
    bool beyond = false; /* it overflows: halves of such numbers are exact */
    for (int64_t i = 0; i < n; i++) {
        const double d = fabs(x[i] - y[i]);
        beyond |= isinf(d) != 0;
        most = d > most ? d : most;
    }
    return beyond ? -DBL_MAX_EXP : shift_for(most);
}

static hm_wide sum_row(const hm_context *ctx, sum_job job, int64_t n)
{
    if (n == 0)
        return (hm_wide){0, 0};
    const double plain = sum_once(ctx, &job, n);
    if (stands(job.of, plain))
        return hm_wide_of(plain);

    /* Again in range: x brought near 1, and y with it or, in a product, on its own. */
    const hm_reduce_kernels *k = job.kernels->reduce;
    const double x_most = k->largest_magnitude(job.x.first, n);
    const double y_most = job.y.first ? k->largest_magnitude(job.y.first, n) : 0;
    if (isnan(x_most) || isnan(y_most))
        return (hm_wide){NAN, 0};
    int undo;
    switch (job.of) {
    case HM_ROW_DOT:
        job.x.shift = shift_for(x_most);
        job.y.shift = shift_for(y_most);
        undo = job.x.shift + job.y.shift;
        break;
    case HM_ROW_DISTANCE:
        job.x.shift = shift_for_differences(job.x.first, job.y.first, n);
        undo = 2 * job.x.shift;
        break;
    default:
        job.x.shift = shift_for(x_most);
        undo = job.of == HM_ROW_SQUARES ? 2 * job.x.shift : job.x.shift;
    }
    return hm_wide_normal(sum_once(ctx, &job, n), -undo);
}

static sum_job plain_sum_job(const hm_kernels *k, hm_row_sum of, const double *x, const double *y)
{
    return (sum_job){k, of, {x, 1, 0}, {y, 1, 0}};
}

hm_wide hm_sum_row(const hm_kernels *k, hm_row_sum of, const double *x, const double *y, int64_t n)
{
    return sum_row(NULL, plain_sum_job(k, of, x, y), n);
}

double hm_sum_row_rounded(const hm_kernels *k, hm_row_sum of, const double *x, const double *y,
                          int64_t n)
{
    if (n <= HM_BLOCK) {
        const double plain = block_sum(k->reduce, of, x, y, n);
        if (stands(of, plain))
            return plain;
    }
    return hm_wide_round(hm_sum_row(k, of, x, y, n));
}

hm_wide hm_sum_row_threads(const hm_context *ctx, hm_row_sum of, const double *x, const double *y,
                           int64_t n)
{
    return sum_row(ctx, plain_sum_job(hm_context_kernels(ctx), of, x, y), n);
}

static void products_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const sum_job *j = job;
    const hm_products p = j->kernels->reduce->products(j->x.first + first, j->y.first + first, n);
    *out = (hm_partial){{p.xx, p.yy, p.xy}};
}

static const hm_reduction products = {products_block, hm_join_sums};

hm_row_products hm_sum_row_products(const hm_context *ctx, const double *x, const double *y,
                                    int64_t n)
{
    hm_partial total = {{0}};
    if (n > 0) {
        const sum_job job = plain_sum_job(hm_context_kernels(ctx), HM_ROW_DOT, x, y);
        hm_reduce(ctx, &products, &job, n, &total);
    }
    const double xx = total.of[0], yy = total.of[1], xy = total.of[2];
    return (hm_row_products){
        stands(HM_ROW_SQUARES, xx) ? hm_wide_of(xx)
                                   : hm_sum_row_threads(ctx, HM_ROW_SQUARES, x, NULL, n),
        stands(HM_ROW_SQUARES, yy) ? hm_wide_of(yy)
                                   : hm_sum_row_threads(ctx, HM_ROW_SQUARES, y, NULL, n),
        stands(HM_ROW_DOT, xy) ? hm_wide_of(xy) : hm_sum_row_threads(ctx, HM_ROW_DOT, x, y, n),
    };
}

/* ---- moments over a row ---- */

typedef struct moments_job {
    const hm_kernels *kernels;
    hm_source x;
} moments_job;

static void moments_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const moments_job *j = job;
    double room[HM_BLOCK];
    const hm_moments m = j->kernels->reduce->moments(hm_read_block(&j->x, first, n, room), n);
    *out = (hm_partial){{m.mean, m.squares, (double)n}};
}

/* Chan, Golub and LeVeque (1979): the moments of two sets make those of their union. */
void hm_join_moments(hm_partial *left, const hm_partial *right)
{
    const double count = left->of[2] + right->of[2], share = right->of[2] / count;
    const double delta = right->of[0] - left->of[0];
    left->of[0] += delta * share;
    left->of[1] = (left->of[1] + right->of[1]) + delta * delta * (left->of[2] * share);
    left->of[2] = count;
}

static const hm_reduction moment_sums = {moments_block, hm_join_moments};

static hm_moments moments_once(const hm_context *ctx, const hm_kernels *k, hm_source x, int64_t n)
{
    if (n <= HM_BLOCK && x.stride == 1 && x.shift == 0)
        return k->reduce->moments(x.first, n);
    const moments_job job = {k, x};
    hm_partial total;
    if (ctx)
        hm_reduce(ctx, &moment_sums, &job, n, &total);
    else
        hm_reduce_here(&moment_sums, &job, n, &total);
    return (hm_moments){total.of[0], total.of[1]};
}

hm_moments hm_moments_shifted(const hm_context *ctx, const hm_kernels *k, const double *x,
                              int64_t n, int shift)
{
    return moments_once(ctx, k, (hm_source){x, 1, shift}, n);
}

double hm_square_sum_shifted(const hm_context *ctx, const hm_kernels *k, const double *x, int64_t n,
                             int shift)
{
    const sum_job job = {k, HM_ROW_SQUARES, {x, 1, shift}, {NULL, 1, 0}};
    return sum_once(ctx, &job, n);
}

/*
 * Squares of deviations that vanished are nothing against a sum of them above 2^-900; and
 * deviations are 0 or above 2^-53 times the largest element, so that 2^-300 there cannot make any
 * vanish.
 */
enum { HARMLESS_SHIFT = 300 };

/*
 * Two elements of a row that differ do so by 2^-53 of the larger or more, and their squares about the
 * mean come to 2^-107 of its square. What is found below that is the rounding of a constant row's mean,
 * squared: little beside it, but not beside an epsilon.
 */
static const double CONSTANT = 0x1p-100;

static bool moments_stand(double squares) { return isfinite(squares) && squares > 0x1p-900; }

hm_moments hm_moments_row(const hm_kernels *k, const double *x, int64_t n, int *shift)
{
    *shift = 0;
    hm_moments m = moments_once(NULL, k, (hm_source){x, 1, 0}, n);
    if (!moments_stand(m.squares)) {
        const int needed = shift_for(k->reduce->largest_magnitude(x, n));
        if (abs(needed) >= HARMLESS_SHIFT) {
            *shift = needed;
            m = moments_once(NULL, k, (hm_source){x, 1, needed}, n);
        }
    }
    if (m.squares != 0 && m.squares < CONSTANT * m.mean * m.mean && k->reduce->either(x, n, *x, *x))
        m.squares = 0;
    return m;
}

/* ---- along an axis ---- */

/* What is done down a panel of columns: a kernel on one block of rows, and the join of two results.
 */
typedef struct column_kind {
    int parts; /* doubles a column */
    void (*block)(const hm_kernels *k, const double *x, int64_t rows, int64_t stride,
                  int64_t columns, double *out);
    void (*join)(double *left, const double *right, int64_t columns, double rows_left,
                 double rows_right);
} column_kind;

enum { PANEL = 64, MOST_PARTS = 2, PANEL_PARTS = PANEL * MOST_PARTS };

static void block_sums(const hm_kernels *k, const double *x, int64_t rows, int64_t stride,
                       int64_t columns, double *out)
{
    k->reduce->column_sums(x, rows, stride, columns, out);
}

static void block_maxima(const hm_kernels *k, const double *x, int64_t rows, int64_t stride,
                         int64_t columns, double *out)
{
    k->reduce->column_maxima(x, rows, stride, columns, out);
}

static void block_minima(const hm_kernels *k, const double *x, int64_t rows, int64_t stride,
                         int64_t columns, double *out)
{
    k->reduce->column_minima(x, rows, stride, columns, out);
}

static void block_moments(const hm_kernels *k, const double *x, int64_t rows, int64_t stride,
                          int64_t columns, double *out)
{
    hm_moments moments[PANEL];
    k->reduce->column_moments(x, rows, stride, columns, moments);
    for (int64_t j = 0; j < columns; j++) {
        out[2 * j] = moments[j].mean;
        out[2 * j + 1] = moments[j].squares;
    }
}

static void join_column_sums(double *left, const double *right, int64_t columns, double rows_left,
                             double rows_right)
{
    (void)rows_left, (void)rows_right;
    for (int64_t j = 0; j < columns; j++)
        left[j] += right[j];
}

static void join_column_maxima(double *left, const double *right, int64_t columns, double rows_left,
                               double rows_right)
{
    (void)rows_left, (void)rows_right;
    for (int64_t j = 0; j < columns; j++)
        left[j] = right[j] > left[j] || isnan(right[j]) ? right[j] : left[j];
}

static void join_column_minima(double *left, const double *right, int64_t columns, double rows_left,
                               double rows_right)
{
    (void)rows_left, (void)rows_right;
    for (int64_t j = 0; j < columns; j++)
        left[j] = right[j] < left[j] || isnan(right[j]) ? right[j] : left[j];
}

static void join_column_moments(double *left, const double *right, int64_t columns,
                                double rows_left, double rows_right)
{
    for (int64_t j = 0; j < columns; j++) {
        hm_partial a = {{left[2 * j], left[2 * j + 1], rows_left}};
        const hm_partial b = {{right[2 * j], right[2 * j + 1], rows_right}};
        hm_join_moments(&a, &b);
        left[2 * j] = a.of[0];
        left[2 * j + 1] = a.of[1];
    }
}

static const column_kind column_sum = {1, block_sums, join_column_sums};
static const column_kind column_maximum = {1, block_maxima, join_column_maxima};
static const column_kind column_minimum = {1, block_minima, join_column_minima};
static const column_kind column_moment = {2, block_moments, join_column_moments};

/* The same binary counter as reduce_range, over a panel of columns with at most PANEL_PARTS parts. */
static void reduce_panel(const hm_kernels *k, const column_kind *kind, const double *x,
                         int64_t rows, int64_t stride, int64_t columns, double *out)
{
    if (rows <= HM_BLOCK) {
        kind->block(k, x, rows, stride, columns, out);
        return;
    }
    double waiting[LEVELS][PANEL_PARTS], counts[LEVELS];
    int height = 0;
    int64_t block = 0;
    for (int64_t first = 0; first < rows; first += HM_BLOCK) {
        const int64_t n = least(rows - first, HM_BLOCK);
        kind->block(k, x + first * stride, n, stride, columns, waiting[height]);
        counts[height++] = (double)n;
        block++;
        for (int64_t bits = block; (bits & 1) == 0; bits >>= 1, height--) {
            kind->join(waiting[height - 2], waiting[height - 1], columns, counts[height - 2],
                       counts[height - 1]);
            counts[height - 2] += counts[height - 1];
        }
    }
    for (; height > 1; height--) {
        kind->join(waiting[height - 2], waiting[height - 1], columns, counts[height - 2],
                   counts[height - 1]);
        counts[height - 2] += counts[height - 1];
    }
    memcpy(out, waiting[0], (size_t)columns * (size_t)kind->parts * sizeof *out);
}

typedef enum axis_kind { AXIS_SUM, AXIS_MAXIMUM, AXIS_MINIMUM, AXIS_MOMENTS } axis_kind;

typedef struct axis_task {
    const hm_kernels *kernels;
    axis_kind kind;
    const double *x;
    int64_t outer, extent, inner;
    double divisor;
    double *out, *variance; /* out: sums, maxima or means; both may be NULL for moments */
    int64_t panel, panels, units_per_chunk, units; /* panel: columns of one */
} axis_task;

static double mean_of(hm_wide total, double divisor)
{
    const double plain = hm_wide_round(total);
    return isfinite(plain) ? plain / divisor
                           : hm_wide_round(hm_wide_divide(total, hm_wide_of(divisor)));
}

/* One column once more, brought in range: the exact result may be a double although this was not.
 */
static void rescue(const axis_task *t, int64_t slab, int64_t column)
{
    hm_source x = {t->x + slab * t->extent * t->inner + column, t->inner, 0};
    const int64_t at = slab * t->inner + column;
    double most = 0;
    for (int64_t i = 0; i < t->extent; i++) {
        const double magnitude = fabs(x.first[i * x.stride]);
        most = magnitude > most || isnan(magnitude) ? magnitude : most;
    }
    x.shift = shift_for(most);
    if (abs(x.shift) < HARMLESS_SHIFT)
        return;
    if (t->kind == AXIS_SUM) {
        const sum_job job = {t->kernels, HM_ROW_SUM, x, {NULL, 1, 0}};
        t->out[at] = mean_of(hm_wide_normal(sum_once(NULL, &job, t->extent), -x.shift), t->divisor);
        return;
    }
    const hm_moments m = moments_once(NULL, t->kernels, x, t->extent);
    if (t->out)
        t->out[at] = ldexp(m.mean, -x.shift);
    if (t->variance)
        t->variance[at] = ldexp(m.squares / t->divisor, -2 * x.shift);
}

/* Columns at ... at+columns-1 of slab i. */
static void reduce_unit(const axis_task *t, int64_t slab, int64_t at, int64_t columns)
{
    const double *x = t->x + slab * t->extent * t->inner + at;
    double *out = t->out ? t->out + slab * t->inner + at : NULL;
    if (t->kind == AXIS_MAXIMUM || t->kind == AXIS_MINIMUM) {
        const bool largest = t->kind == AXIS_MAXIMUM;
        const hm_reduce_kernels *k = t->kernels->reduce;
        if (t->inner == 1)
            *out = largest ? k->maximum(x, t->extent) : k->minimum(x, t->extent);
        else
            reduce_panel(t->kernels, largest ? &column_maximum : &column_minimum, x, t->extent,
                         t->inner, columns, out);
        return;
    }
    double parts[PANEL_PARTS];
    if (t->inner > 1) {
        reduce_panel(t->kernels, t->kind == AXIS_SUM ? &column_sum : &column_moment, x, t->extent,
                     t->inner, columns, parts);
    } else if (t->kind == AXIS_SUM && t->extent <= HM_BLOCK) {
        parts[0] = t->kernels->reduce->sum(x, t->extent); /* one block: no tree, +0 of nothing */
    } else if (t->kind == AXIS_SUM) {
        const sum_job job = plain_sum_job(t->kernels, HM_ROW_SUM, x, NULL);
        parts[0] = sum_once(NULL, &job, t->extent);
    } else {
        const hm_moments m = moments_once(NULL, t->kernels, (hm_source){x, 1, 0}, t->extent);
        parts[0] = m.mean;
        parts[1] = m.squares;
    }

    for (int64_t j = 0; j < columns; j++) {
        if (t->kind == AXIS_SUM) {
            out[j] = parts[j] / t->divisor;
            if (!isfinite(out[j]))
                rescue(t, slab, at + j);
            continue;
        }
        if (out)
            out[j] = parts[2 * j];
        if (t->variance)
            t->variance[slab * t->inner + at + j] = parts[2 * j + 1] / t->divisor;
        if (!moments_stand(parts[2 * j + 1]))
            rescue(t, slab, at + j);
    }
}

/* Rows too short to be worth a call each are turned into the columns of a panel: the same bits. */
enum { SHORT_ROW = 64 };

static bool rows_are_short(const axis_task *t)
{
    return t->inner == 1 && t->extent <= SHORT_ROW && t->outer > 1;
}

static void reduce_short_rows(const axis_task *t, int64_t first, int64_t rows)
{
    double turned[SHORT_ROW * PANEL];
    t->kernels->arrange->transpose(t->extent, rows, t->x + first * t->extent, t->extent, turned,
                                   PANEL);
    axis_task panel = *t;
    panel.x = turned;
    panel.outer = 1;
    panel.inner = PANEL;
    panel.out = t->out ? t->out + first : NULL;
    panel.variance = t->variance ? t->variance + first : NULL;
    reduce_unit(&panel, 0, 0, rows);
}

static void axis_chunk(void *task, int64_t chunk)
{
    const axis_task *t = task;
    const int64_t end = least(t->units, (chunk + 1) * t->units_per_chunk);
    for (int64_t unit = chunk * t->units_per_chunk; unit < end; unit++) {
        if (rows_are_short(t)) {
            const int64_t first = unit * PANEL;
            reduce_short_rows(t, first, least(t->outer - first, PANEL));
            continue;
        }
        const int64_t slab = unit / t->panels, at = unit % t->panels * t->panel;
        reduce_unit(t, slab, at, least(t->inner - at, t->panel));
    }
}

/* One long row is a tree of its own; everything else is many rows or panels, a few to a chunk. */
static void run_axis(const hm_context *ctx, axis_task *t)
{
    if (t->outer == 0 || t->inner == 0)
        return;
    t->kernels = hm_context_kernels(ctx);
    t->panel = t->kind == AXIS_MOMENTS ? PANEL : PANEL_PARTS;
    t->panels = (t->inner - 1) / t->panel + 1;
    t->units = rows_are_short(t) ? (t->outer - 1) / PANEL + 1 : t->outer * t->panels;
    const int64_t columns = rows_are_short(t) ? PANEL : least(t->inner, t->panel);
    const int64_t unit_elements = t->extent * columns + 1;
    t->units_per_chunk = 32768 / unit_elements + 1;
    hm_parallel_for(ctx, (t->units - 1) / t->units_per_chunk + 1, axis_chunk, t);
}

enum { LONG_ROW = 1 << 17 };

void hm_axis_sum(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                 int64_t inner, double divisor, double *out)
{
    if (inner == 1 && outer < 16 && extent >= LONG_ROW) {
        for (int64_t i = 0; i < outer; i++)
            out[i] =
                mean_of(hm_sum_row_threads(ctx, HM_ROW_SUM, x + i * extent, NULL, extent), divisor);
        return;
    }
    axis_task task = {.kind = AXIS_SUM,
                      .x = x,
                      .outer = outer,
                      .extent = extent,
                      .inner = inner,
                      .divisor = divisor,
                      .out = out};
    run_axis(ctx, &task);
}

/* One long row, a block at a time: for an extreme any order of blocks gives the same. */
static void extreme_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const axis_task *t = job;
    const hm_reduce_kernels *k = t->kernels->reduce;
    *out = (hm_partial){
        {t->kind == AXIS_MAXIMUM ? k->maximum(t->x + first, n) : k->minimum(t->x + first, n)}};
}

static void join_maxima(hm_partial *left, const hm_partial *right)
{
    join_column_maxima(left->of, right->of, 1, 0, 0);
}

static void join_minima(hm_partial *left, const hm_partial *right)
{
    join_column_minima(left->of, right->of, 1, 0, 0);
}

static void run_extreme(const hm_context *ctx, axis_task *t)
{
    const hm_reduction how = {extreme_block, t->kind == AXIS_MAXIMUM ? join_maxima : join_minima};
    if (t->inner != 1 || t->outer >= 16 || t->extent < LONG_ROW) {
        run_axis(ctx, t);
        return;
    }
    t->kernels = hm_context_kernels(ctx);
    for (int64_t i = 0; i < t->outer; i++, t->x += t->extent) {
        hm_partial extreme;
        hm_reduce(ctx, &how, t, t->extent, &extreme);
        t->out[i] = extreme.of[0];
    }
}

void hm_axis_maximum(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                     int64_t inner, double *out)
{
    axis_task task = {
        .kind = AXIS_MAXIMUM, .x = x, .outer = outer, .extent = extent, .inner = inner, .out = out};
    run_extreme(ctx, &task);
}

void hm_axis_minimum(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                     int64_t inner, double *out)
{
    axis_task task = {
        .kind = AXIS_MINIMUM, .x = x, .outer = outer, .extent = extent, .inner = inner, .out = out};
    run_extreme(ctx, &task);
}

void hm_axis_moments(const hm_context *ctx, const double *x, int64_t outer, int64_t extent,
                     int64_t inner, double divisor, double *mean, double *variance)
{
    axis_task task = {.kind = AXIS_MOMENTS,
                      .x = x,
                      .outer = outer,
                      .extent = extent,
                      .inner = inner,
                      .divisor = divisor,
                      .out = mean,
                      .variance = variance};
    run_axis(ctx, &task);
}
