/*
 * Sums and extremes. Each kernel is the formula of one step (lanes.h); down columns the same additions
 * are made in the same order, a strip of columns at a time.
 */
#include <math.h>
#include <string.h>

#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"
#include "kernels/reduce.h"

/* ---- one block ---- */

VEC_INLINE vec add_step(vec lanes, vec x, vec y, const vec *constants)
{
    (void)y, (void)constants;
    return lanes + x;
}

VEC_INLINE vec absolute_step(vec lanes, vec x, vec y, const vec *constants)
{
    (void)y, (void)constants;
    return lanes + vec_abs(x);
}

VEC_INLINE vec dot_step(vec lanes, vec x, vec y, const vec *constants)
{
    (void)constants;
    return vec_fma(x, y, lanes);
}

VEC_INLINE vec distance_step(vec lanes, vec x, vec y, const vec *constants)
{
    (void)constants;
    const vec d = x - y;
    return vec_fma(d, d, lanes);
}

static double sum(const double *x, int64_t n) { return sum_over_lanes(add_step, NULL, x, x, n); }

/* To the next whole row of lanes one by one, then whole rows in registers, then what is left. */
static void add_to_lanes(const double *x, int64_t n, int64_t done, double lanes[HM_LANES])
{
    int64_t i = 0;
    for (; i < n && (done + i) % HM_LANES != 0; i++)
        lanes[(done + i) % HM_LANES] += x[i];
    if (n - i >= HM_LANES) {
        vec sums[VEC_PER_CONTRACT];
        for (int k = 0; k < VEC_PER_CONTRACT; k++)
            sums[k] = vec_load(lanes + k * VEC_WIDTH);
        for (; n - i >= HM_LANES; i += HM_LANES)
            UNROLL (k, 0, VEC_PER_CONTRACT)
                sums[k] += vec_load(x + i + k * VEC_WIDTH);
        for (int k = 0; k < VEC_PER_CONTRACT; k++)
            vec_store(lanes + k * VEC_WIDTH, sums[k]);
    }
    for (; i < n; i++)
        lanes[(done + i) % HM_LANES] += x[i];
}

static double absolute_sum(const double *x, int64_t n)
{
    return sum_over_lanes(absolute_step, NULL, x, x, n);
}

static double square_sum(const double *x, int64_t n)
{
    return sum_over_lanes(dot_step, NULL, x, x, n);
}

static double dot(const double *x, const double *y, int64_t n)
{
    return sum_over_lanes(dot_step, NULL, x, y, n);
}

static double distance(const double *x, const double *y, int64_t n)
{
    return sum_over_lanes(distance_step, NULL, x, y, n);
}

static hm_products products(const double *x, const double *y, int64_t n)
{
    vec xx[VEC_PER_CONTRACT] = {{0}}, yy[VEC_PER_CONTRACT] = {{0}}, xy[VEC_PER_CONTRACT] = {{0}};
    for (int64_t at = 0; at < n; at += LANES_PIECE) {
        const double *p = x + at, *q = y + at;
        over_lanes(dot_step, NULL, p, p, lanes_piece(n, at), xx);
        over_lanes(dot_step, NULL, q, q, lanes_piece(n, at), yy);
        over_lanes(dot_step, NULL, p, q, lanes_piece(n, at), xy);
    }
    return (hm_products){vec_fold_add(xx), vec_fold_add(yy), vec_fold_add(xy)};
}

VEC_INLINE vec square_residual_step(vec lanes, vec x, vec y, const vec *c)
{
    const vec r = vec_fma(-*c, x, y);
    return vec_fma(r, r, lanes);
}

VEC_INLINE vec along_residual_step(vec lanes, vec x, vec y, const vec *c)
{
    return vec_fma(vec_fma(-*c, x, y), x, lanes);
}

static hm_residual residual(double c, const double *x, const double *y, int64_t n)
{
    const vec factor = vec_of(c);
    vec squares[VEC_PER_CONTRACT] = {{0}}, along[VEC_PER_CONTRACT] = {{0}};
    for (int64_t at = 0; at < n; at += LANES_PIECE) {
        const double *p = x + at, *q = y + at;
        over_lanes(square_residual_step, &factor, p, q, lanes_piece(n, at), squares);
        over_lanes(along_residual_step, &factor, p, q, lanes_piece(n, at), along);
    }
    return (hm_residual){vec_fold_add(squares), vec_fold_add(along)};
}

VEC_INLINE vec deviation_step(vec lanes, vec x, vec y, const vec *mean)
{
    (void)y;
    return lanes + (x - *mean);
}

VEC_INLINE vec square_deviation_step(vec lanes, vec x, vec y, const vec *mean)
{
    (void)y;
    const vec d = x - *mean;
    return vec_fma(d, d, lanes);
}

/*
 * From the sums of d = x - m and d^2 about a first guess m of the mean: the deviations themselves
 * say how far off the guess is (Chan, Golub and LeVeque 1983, the corrected two-pass algorithm).
 */
VEC_INLINE hm_moments corrected_moments(double guess, double deviations, double squares, int64_t n)
{
    const double shift = deviations / (double)n;
    const double left = squares - deviations * shift;
    return (hm_moments){guess + shift, left < 0 ? 0.0 : left};
}

static hm_moments moments(const double *x, int64_t n)
{
    const double guess = sum(x, n) / (double)n;
    const vec mean = vec_of(guess);
    vec deviations[VEC_PER_CONTRACT] = {{0}}, squares[VEC_PER_CONTRACT] = {{0}};
    over_lanes_twice(deviation_step, square_deviation_step, &mean, x, n, deviations, squares);
    return corrected_moments(guess, vec_fold_add(deviations), vec_fold_add(squares), n);
}

/* ---- extremes ---- */

/*
 * Largest of map(x), and NaN where an element is not finite: 0*x is 0 or NaN, and a sum of those
 * never forgets one. Adding +0 turns -0 into +0, so that the order of comparisons leaves no trace.
 */
VEC_INLINE double largest(vec (*map)(vec), double least, const double *x, int64_t n)
{
    vec most[4], spoiled[4];
    UNROLL (k, 0, 4) { /* "= {{0}}" is a string instruction, dearer than a short row */
        most[k] = vec_of(least);
        spoiled[k] = vec_of(0.0);
    }
    int64_t i = 0;
    for (; i + 4 * VEC_WIDTH <= n; i += 4 * VEC_WIDTH)
        UNROLL (k, 0, 4) {
            const vec v = vec_load(x + i + k * VEC_WIDTH);
            most[k] = vec_max(map(v), most[k]);
            spoiled[k] = vec_fma(v, vec_of(0.0), spoiled[k]);
        }
    for (; i < n; i += VEC_WIDTH) {
        const size_t count = lanes_before(n, i);
        const vec v = vec_load_partial(x + i, count);
        most[0] = vec_select(first_lanes(count), vec_max(map(v), most[0]), most[0]);
        spoiled[0] = vec_fma(v, vec_of(0.0), spoiled[0]);
    }
    UNROLL (k, 1, 4) {
        most[0] = vec_max(most[0], most[k]);
        spoiled[0] += spoiled[k];
    }
    return vec_largest(most[0]) + 0.0 + vec_sum_halves(spoiled[0]);
}

VEC_INLINE vec itself(vec x) { return x; }

VEC_INLINE vec magnitude(vec x) { return vec_abs(x); }

VEC_INLINE vec negated(vec x) { return -x; }

static double maximum(const double *x, int64_t n) { return largest(itself, -INFINITY, x, n); }

static double minimum(const double *x, int64_t n)
{
    return -largest(negated, -INFINITY, x, n) + 0.0;
}

static double largest_magnitude(const double *x, int64_t n)
{
    return largest(magnitude, 0.0, x, n);
}

static bool within(const double *x, int64_t n, double low, double high)
{
    const vec below = vec_of(low), above = vec_of(high);
    int64_t i = 0;
    for (; i + 8 * VEC_WIDTH <= n; i += 8 * VEC_WIDTH) {
        vec_mask inside = vec_mask_and(vec_less_equal(below, vec_load(x + i)),
                                       vec_less_equal(vec_load(x + i), above));
        UNROLL (k, 1, 8) {
            const vec v = vec_load(x + i + k * VEC_WIDTH);
            inside = vec_mask_and(inside,
                                  vec_mask_and(vec_less_equal(below, v), vec_less_equal(v, above)));
        }
        if (!vec_mask_all(inside))
            return false;
    }
    for (; i < n; i++)
        if (!(low <= x[i] && x[i] <= high))
            return false;
    return true;
}

static bool either(const double *x, int64_t n, double one, double other)
{
    const vec a = vec_of(one), b = vec_of(other);
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec v = vec_load(x + i);
        if (!vec_mask_all(vec_mask_or(vec_equal(v, a), vec_equal(v, b))))
            return false;
    }
    for (; i < n; i++)
        if (x[i] != one && x[i] != other)
            return false;
    return true;
}

/* ---- columns ---- */

/*
 * A strip of columns is taken through one lane after the other: its rows i, i + 32, ..., some
 * together, go into one row of sums, and lanes are folded as soon as both are there, so that at
 * most six such rows wait, in the first cache. Row after row, each into a lane of its own, the
 * processor fetches too late and stores as often as it adds (1024 x 1024, Zen 3: 674 to 181
 * microseconds, where the sum of all takes 128).
 */
enum { STRIP = 128, TOGETHER = 4, FOLDS = 5 };

/* `rows` rows, `apart` from each other, of a vector of columns of which `count` are there. */
VEC_INLINE void add_rows_of_vec(lane_step *step, const double *constants, const double *x,
                                int64_t apart, int rows, size_t count, double *sums)
{
    const vec constant = vec_load(constants);
    vec sum = vec_load(sums);
    UNROLL (r, 0, rows) {
        const double *row = x + r * apart;
        const vec v = count == VEC_WIDTH ? vec_load(row) : vec_load_partial(row, count);
        sum = step(sum, v, v, &constant);
    }
    vec_store(sums, sum);
}

VEC_INLINE void add_rows(lane_step *step, const double *constants, const double *x, int64_t apart,
                         int rows, int64_t columns, double *sums)
{
    int64_t at = 0;
    for (; at + VEC_WIDTH <= columns; at += VEC_WIDTH)
        add_rows_of_vec(step, constants + at, x + at, apart, rows, VEC_WIDTH, sums + at);
    if (at < columns)
        add_rows_of_vec(step, constants + at, x + at, apart, rows, lanes_before(columns, at),
                        sums + at);
}

/* All rows of one lane, from +0. */
VEC_INLINE void down_lane(lane_step *step, const double *constants, const double *x, int64_t rows,
                          int64_t apart, int64_t columns, double *sums)
{
    memset(sums, 0, (size_t)(columns + VEC_WIDTH - 1) / VEC_WIDTH * sizeof(vec));
    int64_t i = 0;
    for (; i + TOGETHER <= rows; i += TOGETHER)
        add_rows(step, constants, x + i * apart, apart, TOGETHER, columns, sums);
    for (; i < rows; i++)
        add_rows(step, constants, x + i * apart, apart, 1, columns, sums);
}

static void add_strip(double *left, const double *right, int64_t columns)
{
    for (int64_t at = 0; at < columns; at += VEC_WIDTH)
        vec_store(left + at, vec_load(left + at) + vec_load(right + at));
}

/*
 * At most STRIP columns. The lanes come in an order in which folding 16, 8, 4, 2, 1 is a binary
 * counter. One without a row would add +0 to what is never -0, so it is left out.
 */
VEC_INLINE void down_strip(lane_step *step, const double *constants, const double *x, int64_t rows,
                           int64_t stride, int64_t columns, double *out)
{
    static const int8_t order[HM_LANES] = {0,  16, 8,  24, 4,  20, 12, 28, 2,  18, 10,
                                           26, 6,  22, 14, 30, 1,  17, 9,  25, 5,  21,
                                           13, 29, 3,  19, 11, 27, 7,  23, 15, 31};
    double waiting[FOLDS + 1][STRIP];
    int height = 0;
    waiting[0][0] = 0;
    for (int turn = 0; turn < HM_LANES; turn++) {
        const int64_t lane = order[turn];
        if (lane < rows)
            down_lane(step, constants, x + lane * stride, (rows - lane - 1) / HM_LANES + 1,
                      HM_LANES * stride, columns, waiting[height]);
        height++;
        for (int half = HM_LANES / 2, bits = turn; bits & 1; bits /= 2, half /= 2, height--)
            if (lane % half + half < rows)
                add_strip(waiting[height - 2], waiting[height - 1], columns);
    }
    if (rows > 0)
        memcpy(out, waiting[0], (size_t)columns * sizeof *out);
    else
        memset(out, 0, (size_t)columns * sizeof *out);
}

static int64_t strip_width(int64_t columns, int64_t at)
{
    return columns - at < STRIP ? columns - at : STRIP;
}

static void column_sums(const double *x, int64_t rows, int64_t stride, int64_t columns, double *out)
{
    static const double unused[STRIP] = {0};
    for (int64_t at = 0; at < columns; at += STRIP)
        down_strip(add_step, unused, x + at, rows, stride, strip_width(columns, at), out + at);
}

static void column_moments(const double *x, int64_t rows, int64_t stride, int64_t columns,
                           hm_moments *out)
{
    for (int64_t at = 0; at < columns; at += STRIP) {
        const int64_t width = strip_width(columns, at);
        double guess[STRIP] = {0}, deviations[STRIP], squares[STRIP];
        column_sums(x + at, rows, stride, width, guess);
        for (int64_t j = 0; j < width; j++)
            guess[j] /= (double)rows;
        down_strip(deviation_step, guess, x + at, rows, stride, width, deviations);
        down_strip(square_deviation_step, guess, x + at, rows, stride, width, squares);
        for (int64_t j = 0; j < width; j++)
            out[at + j] = corrected_moments(guess[j], deviations[j], squares[j], rows);
    }
}

/* Of map(x) in a vector of columns: what is largest yet, and what the row has spoiled. */
VEC_INLINE void compare_rows(vec (*map)(vec), const double *x, int64_t stride, int rows,
                             size_t count, double *most, double *spoiled)
{
    vec m = vec_load(most), s = vec_load(spoiled);
    UNROLL (r, 0, rows) {
        const double *row = x + r * stride;
        const vec v = count == VEC_WIDTH ? vec_load(row) : vec_load_partial(row, count);
        m = vec_max(map(v), m);
        s = vec_fma(v, vec_of(0.0), s);
    }
    vec_store(most, m);
    vec_store(spoiled, s);
}

VEC_INLINE void extremes_of_rows(vec (*map)(vec), const double *x, int64_t stride, int rows,
                                 int64_t columns, double *most, double *spoiled)
{
    int64_t at = 0;
    for (; at + VEC_WIDTH <= columns; at += VEC_WIDTH)
        compare_rows(map, x + at, stride, rows, VEC_WIDTH, most + at, spoiled + at);
    if (at < columns)
        compare_rows(map, x + at, stride, rows, lanes_before(columns, at), most + at, spoiled + at);
}

/* Largest of map(x) down each column, mapped again: the smallest of all is the largest negated. */
VEC_INLINE void column_extremes(vec (*map)(vec), const double *x, int64_t rows, int64_t stride,
                                int64_t columns, double *out)
{
    for (int64_t at = 0; at < columns; at += STRIP) {
        const int64_t width = strip_width(columns, at);
        double most[STRIP], spoiled[STRIP];
        for (int j = 0; j < STRIP; j += VEC_WIDTH) {
            vec_store(most + j, vec_of(-INFINITY));
            vec_store(spoiled + j, vec_of(0.0));
        }
        int64_t i = 0;
        for (; i + TOGETHER <= rows; i += TOGETHER)
            extremes_of_rows(map, x + i * stride + at, stride, TOGETHER, width, most, spoiled);
        for (; i < rows; i++)
            extremes_of_rows(map, x + i * stride + at, stride, 1, width, most, spoiled);
        for (int64_t j = 0; j < width; j += VEC_WIDTH)
            vec_store_partial(out + at + j, lanes_before(width, j),
                              map(vec_load(most + j)) + 0.0 + vec_load(spoiled + j));
    }
}

static void column_maxima(const double *x, int64_t rows, int64_t stride, int64_t columns,
                          double *out)
{
    column_extremes(itself, x, rows, stride, columns, out);
}

static void column_minima(const double *x, int64_t rows, int64_t stride, int64_t columns,
                          double *out)
{
    column_extremes(negated, x, rows, stride, columns, out);
}

extern const hm_reduce_kernels HM_K(reduce);
const hm_reduce_kernels HM_K(reduce) = {
    .sum = sum,
    .absolute_sum = absolute_sum,
    .add_to_lanes = add_to_lanes,
    .square_sum = square_sum,
    .dot = dot,
    .distance = distance,
    .products = products,
    .residual = residual,
    .moments = moments,
    .maximum = maximum,
    .minimum = minimum,
    .largest_magnitude = largest_magnitude,
    .within = within,
    .either = either,
    .column_sums = column_sums,
    .column_moments = column_moments,
    .column_maxima = column_maxima,
    .column_minima = column_minima,
};
