/* The elementwise family: maps from unary.c, binary.c and activation.c, and what is no map. */
#include "kernels/elementwise.h"
#include "kernels/math/sincos.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/map.h"

static bool multiply_add(size_t n, const double *a, size_t a_step, const double *b, size_t b_step,
                         const double *c, size_t c_step, double *out)
{
    vec taint = vec_of(0.0), taint_out = vec_of(0.0);
    size_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec p = map_operand(a, a_step, i), q = map_operand(b, b_step, i);
        const vec y = vec_fma(p, q, map_operand(c, c_step, i));
        taint = vec_taint(vec_taint(taint, p), q);
        taint_out = vec_taint(taint_out, y);
        vec_store(out + i, y);
    }
    if (i < n) {
        const vec p = map_last_operand(a, a_step, i, n), q = map_last_operand(b, b_step, i, n);
        const vec y = vec_fma(p, q, map_last_operand(c, c_step, i, n));
        taint = vec_taint(vec_taint(taint, p), q);
        taint_out = vec_taint(taint_out, y);
        vec_store_partial(out + i, n - i, y);
    }
    return !vec_is_tainted(taint + taint_out);
}

static bool choose(size_t n, const double *condition, const double *a, size_t a_step,
                   const double *b, size_t b_step, double *out)
{
    vec taint = vec_of(0.0), taint_a = vec_of(0.0), taint_b = vec_of(0.0);
    size_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec c = vec_load(condition + i);
        const vec p = map_operand(a, a_step, i), q = map_operand(b, b_step, i);
        taint = vec_taint(taint, c);
        taint_a = vec_taint(taint_a, p);
        taint_b = vec_taint(taint_b, q);
        vec_store(out + i, vec_select(vec_not_equal(c, vec_of(0.0)), p, q));
    }
    if (i < n) {
        const vec c = vec_load_padded(condition + i, n - i);
        const vec p = map_last_operand(a, a_step, i, n), q = map_last_operand(b, b_step, i, n);
        taint = vec_taint(vec_taint(vec_taint(taint, c), p), q);
        vec_store_partial(out + i, n - i, vec_select(vec_not_equal(c, vec_of(0.0)), p, q));
    }
    return !vec_is_tainted(taint + taint_a + taint_b);
}

/* Four sums, because one would wait for its own last addition. */
static bool all_finite(size_t n, const double *x)
{
    vec taint[4] = {vec_of(0.0), vec_of(0.0), vec_of(0.0), vec_of(0.0)};
    size_t i = 0;
    for (; i + 4 * VEC_WIDTH <= n; i += 4 * VEC_WIDTH)
        for (int k = 0; k < 4; k++)
            taint[k] = vec_taint(taint[k], vec_load(x + i + k * VEC_WIDTH));
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH)
        taint[0] = vec_taint(taint[0], vec_load(x + i));
    taint[1] = vec_taint(taint[1], vec_load_partial(x + i, n - i));
    return !vec_is_tainted((taint[0] + taint[1]) + (taint[2] + taint[3]));
}

VEC_INLINE vec_sine_cosine turned(vec position, vec high, vec low)
{
    const vec_sum angle = vec_turn_angle(position, high, low);
    return HM_LIKELY(vec_mask_all(vec_sin_ordinary(angle.high))) ? vec_turn_fast(angle)
                                                                 : vec_turn_rare(angle);
}

static void turn(size_t n, double position, const double *frequency_high,
                 const double *frequency_low, double *sines, double *cosines)
{
    const vec at = vec_of(position);
    size_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec_sine_cosine t =
            turned(at, vec_load(frequency_high + i), vec_load(frequency_low + i));
        vec_store(sines + i, t.sine);
        vec_store(cosines + i, t.cosine);
    }
    const size_t left = n - i;
    const vec_sine_cosine t = turned(at, vec_load_partial(frequency_high + i, left),
                                     vec_load_partial(frequency_low + i, left));
    vec_store_partial(sines + i, left, t.sine);
    vec_store_partial(cosines + i, left, t.cosine);
}

extern hm_unary_kernel *const HM_K(unary)[HM_UNARY_COUNT];
extern hm_binary_kernel *const HM_K(binary)[HM_BINARY_COUNT];
extern hm_activation_kernel *const HM_K(activation)[HM_ACTIVATION_COUNT];
extern hm_activation_kernel *const HM_K(activation_derivative)[HM_ACTIVATION_COUNT];
extern hm_activation_pullback_kernel *const HM_K(activation_pullback)[HM_ACTIVATION_COUNT];
extern hm_activation_pair_kernel *const HM_K(activation_pair)[HM_ACTIVATION_COUNT];

extern const hm_elementwise_kernels HM_K(elementwise);
const hm_elementwise_kernels HM_K(elementwise) = {
    .unary = HM_K(unary),
    .binary = HM_K(binary),
    .activation = HM_K(activation),
    .activation_derivative = HM_K(activation_derivative),
    .activation_pullback = HM_K(activation_pullback),
    .activation_pair = HM_K(activation_pair),
    .multiply_add = multiply_add,
    .select = choose,
    .all_finite = all_finite,
    .turn = turn,
};
