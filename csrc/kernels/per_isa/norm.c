/* Rows in three readings from the first cache: sum, squares about the mean, result. */
#include <math.h>

#include "kernels/norm.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"
#include "kernels/reduce.h"

extern const hm_reduce_kernels HM_K(reduce);

VEC_INLINE void standardize_vec(const double *x, size_t count, vec mean, vec by, double *out)
{
    vec_store_partial(out, count, (vec_load_partial(x, count) - mean) * by);
}

static void standardize(const double *x, int64_t n, double mean, double by, double *out)
{
    const vec m = vec_of(mean), b = vec_of(by);
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH)
        vec_store(out + i, (vec_load(x + i) - m) * b);
    if (i < n)
        standardize_vec(x + i, lanes_before(n, i), m, b, out + i);
}

static void affine(const double *x, int64_t n, double mean, double by, double gamma, double beta,
                   double *out)
{
    const vec m = vec_of(mean), b = vec_of(by), g = vec_of(gamma), s = vec_of(beta);
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH)
        vec_store(out + i, vec_fma((vec_load(x + i) - m) * b, g, s));
    if (i < n) {
        const size_t count = lanes_before(n, i);
        vec_store_partial(out + i, count, vec_fma((vec_load_partial(x + i, count) - m) * b, g, s));
    }
}

static void affine_columns(const double *x, int64_t rows, int64_t stride, int64_t columns,
                           const double *mean, const double *by, const double *gamma,
                           const double *beta, double *out)
{
    for (int64_t i = 0; i < rows; i++, x += stride, out += stride)
        for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
            const size_t count = lanes_before(columns, j);
            const vec standard =
                (vec_load_partial(x + j, count) - vec_load_partial(mean + j, count)) *
                vec_load_partial(by + j, count);
            vec_store_partial(out + j, count,
                              vec_fma(standard, vec_load_partial(gamma + j, count),
                                      vec_load_partial(beta + j, count)));
        }
}

/* Also true where nothing but epsilon counts, whatever was lost of the squares. */
VEC_INLINE bool comfortable(double squares, double epsilon)
{
    return squares <= HM_COMFORTABLE_MOST &&
           (squares >= HM_COMFORTABLE_LEAST || epsilon >= HM_COMFORTABLE_LEAST);
}

static int64_t layer_rows(const double *x, int64_t rows, int64_t n, double epsilon, double *out)
{
    for (int64_t row = 0; row < rows; row++, x += n, out += n) {
        const hm_moments m = HM_K(reduce).moments(x, n);
        if (!comfortable(m.squares, epsilon))
            return row;
        standardize(x, n, m.mean, 1.0 / __builtin_sqrt(m.squares / (double)n + epsilon), out);
    }
    return rows;
}

static int64_t rms_rows(const double *x, int64_t rows, int64_t n, double epsilon, double *out)
{
    for (int64_t row = 0; row < rows; row++, x += n, out += n) {
        const double squares = HM_K(reduce).square_sum(x, n);
        if (!comfortable(squares, epsilon))
            return row;
        const vec by = vec_of(1.0 / __builtin_sqrt(squares / (double)n + epsilon));
        int64_t i = 0;
        for (; i + VEC_WIDTH <= n; i += VEC_WIDTH)
            vec_store(out + i, vec_load(x + i) * by);
        if (i < n)
            vec_store_partial(out + i, lanes_before(n, i),
                              vec_load_partial(x + i, lanes_before(n, i)) * by);
    }
    return rows;
}

extern const hm_norm_kernels HM_K(norm);
const hm_norm_kernels HM_K(norm) = {
    .layer_rows = layer_rows,
    .rms_rows = rms_rows,
    .standardize = standardize,
    .affine = affine,
    .affine_columns = affine_columns,
};
