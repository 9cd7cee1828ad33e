/* Random draws, elementwise. */
#include "kernels/random.h"

#include "kernels/math/exp.h"
#include "kernels/math/log.h"
#include "kernels/math/sincos.h"
#include "kernels/per_isa/isa.h"
#include "kernels/vec/vec.h"

enum {
    TILE = 64
}; /* pairs taken apart at a time, for the compiler to do so with its own shuffles */

/*
 * 2 pi u for 0 <= u < 1, a multiple of 2^-53. The quarter turns are taken off before anything is
 * rounded: u = n/4 + f with |f| <= 1/8 exactly.
 */
static vec_angle angle_of_turn(vec u)
{
    const vec shifted = 4.0 * u + 0x1.8p52;
    const vec f = u - 0.25 * (shifted - 0x1.8p52);
    const vec_sum r = vec_exact_product(f, vec_of(4.0 * half_pi_parts[0]));
    return (vec_angle){r.high, vec_fma(f, vec_of(4.0 * half_pi_parts[1]), r.low),
                       vec_bits(shifted)};
}

/*
 * 1 - u is exact and at least 2^-53; 0 - 2 log is +0 where the logarithm is 0. Whole vectors: what stands
 * behind the count is turned as well.
 */
static void turn(double *first, double *second, int64_t count)
{
    for (int64_t i = 0; i < count; i += VEC_WIDTH) {
        const vec r = vec_sqrt(0.0 - 2.0 * vec_log_fast(1.0 - vec_load(first + i)));
        const vec_sine_cosine at = vec_sincos_turn(angle_of_turn(vec_load(second + i)));
        vec_store(first + i, r * at.cosine);
        vec_store(second + i, r * at.sine);
    }
}

static void box_muller(double *u, int64_t pairs)
{
    double first[TILE] = {0.0}, second[TILE] = {0.0};
    for (int64_t at = 0; at < pairs; at += TILE) {
        const int64_t count = pairs - at < TILE ? pairs - at : TILE;
        for (int64_t i = 0; i < count; i++) {
            first[i] = u[2 * (at + i)];
            second[i] = u[2 * (at + i) + 1];
        }
        turn(first, second, count);
        for (int64_t i = 0; i < count; i++) {
            u[2 * (at + i)] = first[i];
            u[2 * (at + i) + 1] = second[i];
        }
    }
}

static size_t lanes_left(int64_t n, int64_t at)
{
    return n - at < VEC_WIDTH ? (size_t)(n - at) : VEC_WIDTH;
}

static void bell(const double *z, double *out, int64_t n)
{
    for (int64_t at = 0; at < n; at += VEC_WIDTH) {
        const size_t count = lanes_left(n, at);
        const vec x = vec_load_partial(z + at, count);
        vec_store_partial(out + at, count, vec_exp(vec_of(-0.5) * (x * x)));
    }
}

static void subtract(double c, const double *v, double *x, int64_t n)
{
    const vec factor = vec_of(c);
    int64_t at = 0;
    for (; at + VEC_WIDTH <= n; at += VEC_WIDTH)
        vec_store(x + at, vec_load(x + at) - factor * vec_load(v + at));
    for (; at < n; at++)
        x[at] -= c * v[at];
}

extern const hm_random_kernels HM_K(random);
const hm_random_kernels HM_K(random) = {
    .box_muller = box_muller,
    .bell = bell,
    .subtract = subtract,
};
