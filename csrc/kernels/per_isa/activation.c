/* Activations, their derivatives, and derivative times cotangent, which reverse mode asks for. */
#include "kernels/elementwise.h"
#include "kernels/math/elu.h"
#include "kernels/math/gelu.h"
#include "kernels/math/piecewise.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/map.h"

/* A function of x, as a function of x and the parameter. */
#define OF_X(f) \
    VEC_INLINE vec fast_##f(vec x, vec parameter) \
    { \
        (void)parameter; \
        return vec_##f##_fast(x); \
    } \
    VEC_INLINE vec rare_##f(vec x, vec parameter) \
    { \
        (void)parameter; \
        return vec_##f##_rare(x); \
    }

#define SHORT_OF_X(f) \
    VEC_INLINE vec short_##f(vec x, vec parameter) \
    { \
        (void)parameter; \
        return vec_##f(x); \
    }

/* f, its derivative, and derivative times cotangent. */
#define KERNELS(name, VALUE_MAP, value, SLOPE_MAP, slope) \
    static bool value_##name(size_t n, double parameter, const double *x, double *out) \
    { \
        return VALUE_MAP(n, parameter, x, out, value); \
    } \
    static bool slope_##name(size_t n, double parameter, const double *x, double *out) \
    { \
        return SLOPE_MAP(n, parameter, x, out, slope); \
    } \
    static bool pullback_##name(size_t n, double parameter, const double *x, \
                                const double *cotangent, double *out) \
    { \
        return SLOPE_MAP##_times(n, parameter, x, cotangent, out, slope); \
    }

#define FORMS_OF_X(f) ((map_forms){vec_##f##_ordinary, fast_##f, rare_##f})
#define FORMS(f) ((map_forms){vec_##f##_ordinary, vec_##f##_fast, vec_##f##_rare})

#define SMOOTH(name, slope) OF_X(name) KERNELS(name, map, FORMS_OF_X(name), map, FORMS_OF_X(slope))

#define HARD(name) \
    SHORT_OF_X(name) \
    SHORT_OF_X(name##_slope) \
    KERNELS(name, map_plain, short_##name, map_plain, short_##name##_slope)

OF_X(sigmoid_slope)
OF_X(tanh_slope)
OF_X(selu_slope)
OF_X(gelu_slope)
OF_X(silu_slope)
OF_X(mish_slope)

SMOOTH(sigmoid, sigmoid_slope)
SMOOTH(tanh, tanh_slope)
SMOOTH(selu, selu_slope)
SMOOTH(gelu, gelu_slope)
SMOOTH(silu, silu_slope)
SMOOTH(mish, mish_slope)
SMOOTH(softplus, sigmoid)
HARD(relu)
HARD(softsign)
HARD(hard_sigmoid)
HARD(hard_swish)
KERNELS(elu, map, FORMS(elu), map, FORMS(elu_slope))
KERNELS(leaky_relu, map_plain, vec_leaky_relu, map_plain, vec_leaky_relu_slope)

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
