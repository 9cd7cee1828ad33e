/* Rows in three readings from the first cache: sum, squares about the mean, result. */
#include <math.h>

#include "kernels/norm.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"
#include "kernels/reduce.h"

extern const hm_reduce_kernels HM_K(reduce);

typedef vec row_map(vec x, const vec *constants);

VEC_INLINE vec standard(vec x, const vec *c) { return (x - c[0]) * c[1]; }

VEC_INLINE vec scaled(vec x, const vec *by) { return x * *by; }

VEC_INLINE vec standard_affine(vec x, const vec *c) { return vec_fma(standard(x, c), c[2], c[3]); }

/* `count` elements; all of them where they are a vector. What is not finite shows in the taint. */
VEC_INLINE vec map_few(row_map *map, const vec *constants, const double *x, size_t count, vec taint,
                       double *out)
{
    if (count == 0)
        return taint;
    const vec y = map(vec_load_padded(x, count), constants);
    vec_store_partial(out, count, y);
    return vec_taint(taint, y);
}

/* Past the caches only from where a vector is aligned. */
VEC_INLINE vec map_row_to(bool aside, row_map *map, const vec *constants, const double *x,
                          int64_t n, double *out)
{
    vec taint = vec_of(0.0);
    int64_t i = aside ? lanes_to_alignment(out, n) : 0;
    if (aside)
        taint = map_few(map, constants, x, (size_t)i, taint, out);
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec y = map(vec_load(x + i), constants);
        taint = vec_taint(taint, y);
        if (aside)
            vec_store_aside(out + i, y);
        else
            vec_store(out + i, y);
    }
    return map_few(map, constants, x + i, lanes_before(n, i), taint, out + i);
}

VEC_INLINE vec map_row(bool aside, row_map *map, const vec *constants, const double *x, int64_t n,
                       double *out)
{
    return aside ? map_row_to(true, map, constants, x, n, out)
                 : map_row_to(false, map, constants, x, n, out);
}

static void standardize(const double *x, int64_t n, double mean, double by, bool aside, double *out)
{
    const vec constants[] = {vec_of(mean), vec_of(by)};
    map_row(aside, standard, constants, x, n, out);
}

static bool affine(const double *x, int64_t n, double mean, double by, double gamma, double beta,
                   bool aside, double *out)
{
    const vec constants[] = {vec_of(mean), vec_of(by), vec_of(gamma), vec_of(beta)};
    return !vec_is_tainted(map_row(aside, standard_affine, constants, x, n, out));
}

static bool affine_columns(const double *x, int64_t rows, int64_t stride, int64_t columns,
                           const double *mean, const double *by, const double *gamma,
                           const double *beta, double *out)
{
    vec taint = vec_of(0.0);
    for (int64_t i = 0; i < rows; i++, x += stride, out += stride)
        for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
            const size_t count = lanes_before(columns, j);
            const vec standard =
                (vec_load_partial(x + j, count) - vec_load_partial(mean + j, count)) *
                vec_load_partial(by + j, count);
            const vec y = vec_fma(standard, vec_load_partial(gamma + j, count),
                                  vec_load_partial(beta + j, count));
            taint = vec_taint(taint, y);
            vec_store_partial(out + j, count, y);
        }
    return !vec_is_tainted(taint);
}

static bool all_zeros(const double *x, int64_t n)
{
    return HM_K(reduce).largest_magnitude(x, n) == 0;
}

/*
 * The sums of a short row are taken before the row above it is scaled: its factor, a hundred cycles of
 * folding, division and square root, is then there when it is wanted (RMS of 4096 rows of 256, Zen 4:
 * 285 to 240 microseconds; of 1024 rows of 768 160 to 174: two long rows push each other out of the
 * first cache).
 */
enum { SHORT_ROW = 512 };

static int64_t layer_rows(const double *x, int64_t rows, int64_t n, double epsilon, bool aside,
                          double *out)
{
    hm_moments next = {0};
    for (int64_t row = 0; row < rows; row++, x += n, out += n) {
        const hm_moments m = row == 0 || n > SHORT_ROW ? HM_K(reduce).moments(x, n) : next;
        if (!hm_row_is_comfortable(m.squares, m.mean, epsilon) && !all_zeros(x, n))
            return row;
        const double by = 1.0 / __builtin_sqrt(m.squares / (double)n + epsilon);
        if (n <= SHORT_ROW && row + 1 < rows)
            next = HM_K(reduce).moments(x + n, n);
        standardize(x, n, m.mean, by, aside, out);
    }
    return rows;
}

static int64_t rms_rows(const double *x, int64_t rows, int64_t n, double epsilon, bool aside,
                        double *out)
{
    double next = 0;
    for (int64_t row = 0; row < rows; row++, x += n, out += n) {
        const double squares = row == 0 || n > SHORT_ROW ? HM_K(reduce).square_sum(x, n) : next;
        if (!hm_row_is_comfortable(squares, 1.0, epsilon) && !all_zeros(x, n)) /* no mean to lose */
            return row;
        const vec by = vec_of(1.0 / __builtin_sqrt(squares / (double)n + epsilon));
        if (n <= SHORT_ROW && row + 1 < rows)
            next = HM_K(reduce).square_sum(x + n, n);
        map_row(aside, scaled, &by, x, n, out);
    }
    return rows;
}

static void settle(void) { vec_store_aside_done(); }

extern const hm_norm_kernels HM_K(norm);
const hm_norm_kernels HM_K(norm) = {
    .layer_rows = layer_rows,
    .rms_rows = rms_rows,
    .standardize = standardize,
    .affine = affine,
    .affine_columns = affine_columns,
    .settle = settle,
};
