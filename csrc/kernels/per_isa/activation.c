/* Activations, their derivatives, and derivative times cotangent, which reverse mode asks for. */
#include "kernels/elementwise.h"
#include "kernels/math/elu.h"
#include "kernels/math/erf.h"
#include "kernels/math/piecewise.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/map.h"

/* f and its slope: in the three forms of math/scale.h, of x or of x and the parameter; or short. */
#define BODY_1(f) \
    if (HM_LIKELY(vec_mask_all(vec_##f##_ordinary(x)))) \
        return vec_##f##_fast(x); \
    return map_noted(x, vec_##f##_rare(x), state);

#define BODY_2(f) \
    if (HM_LIKELY(vec_mask_all(vec_##f##_ordinary(x)))) \
        return vec_##f##_fast(x, state->parameter); \
    return map_noted(x, vec_##f##_rare(x, state->parameter), state);

#define BODY_SHORT_1(f) return map_watched(x, vec_##f(x), state);
#define BODY_SHORT_2(f) return map_watched(x, vec_##f(x, state->parameter), state);

#define ACTIVATION(name, BODY, slope_function, SLOPE_BODY) \
    VEC_INLINE vec value_step_##name(vec x, map_state *state){ \
        BODY(name)} VEC_INLINE vec slope_step_##name(vec x, map_state *state) \
    { \
        SLOPE_BODY(slope_function) \
    } \
    static bool value_##name(size_t n, double parameter, const double *x, double *out) \
    { \
        return map(n, parameter, x, out, value_step_##name); \
    } \
    static bool slope_##name(size_t n, double parameter, const double *x, double *out) \
    { \
        return map(n, parameter, x, out, slope_step_##name); \
    } \
    static bool pullback_##name(size_t n, double parameter, const double *x, \
                                const double *cotangent, double *out) \
    { \
        return map_times(n, parameter, x, cotangent, out, slope_step_##name); \
    }

ACTIVATION(sigmoid, BODY_1, sigmoid_slope, BODY_1)
ACTIVATION(tanh, BODY_1, tanh_slope, BODY_1)
ACTIVATION(relu, BODY_SHORT_1, relu_slope, BODY_SHORT_1)
ACTIVATION(leaky_relu, BODY_SHORT_2, leaky_relu_slope, BODY_SHORT_2)
ACTIVATION(elu, BODY_2, elu_slope, BODY_2)
ACTIVATION(selu, BODY_1, selu_slope, BODY_1)
ACTIVATION(gelu, BODY_1, gelu_slope, BODY_1)
ACTIVATION(silu, BODY_1, silu_slope, BODY_1)
ACTIVATION(mish, BODY_1, mish_slope, BODY_1)
ACTIVATION(softplus, BODY_1, sigmoid, BODY_1)
ACTIVATION(softsign, BODY_SHORT_1, softsign_slope, BODY_SHORT_1)
ACTIVATION(hard_sigmoid, BODY_SHORT_1, hard_sigmoid_slope, BODY_SHORT_1)
ACTIVATION(hard_swish, BODY_SHORT_1, hard_swish_slope, BODY_SHORT_1)

#define VALUE_SLOT(name) [HM_ACTIVATION_##name] = value_##name,
#define SLOPE_SLOT(name) [HM_ACTIVATION_##name] = slope_##name,
#define PULLBACK_SLOT(name) [HM_ACTIVATION_##name] = pullback_##name,

extern hm_activation_kernel *const HM_K(activation)[HM_ACTIVATION_COUNT];
extern hm_activation_kernel *const HM_K(activation_derivative)[HM_ACTIVATION_COUNT];
extern hm_activation_pullback_kernel *const HM_K(activation_pullback)[HM_ACTIVATION_COUNT];

hm_activation_kernel *const HM_K(activation)[HM_ACTIVATION_COUNT] = {
    HM_ACTIVATION_LIST(VALUE_SLOT)};
hm_activation_kernel *const HM_K(activation_derivative)[HM_ACTIVATION_COUNT] = {
    HM_ACTIVATION_LIST(SLOPE_SLOT)};
hm_activation_pullback_kernel *const HM_K(activation_pullback)[HM_ACTIVATION_COUNT] = {
    HM_ACTIVATION_LIST(PULLBACK_SLOT)};
