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

enum { TILE = 512 }; /* numbers; stays in the first-level cache */

/* out = slope(x) * cotangent, tile by tile, so that each slope is compiled once */
static bool pull_back(hm_activation_kernel *slope, size_t n, double parameter, const double *x,
                      const double *cotangent, double *out)
{
    double slopes[TILE];
    bool finite = true;
    for (size_t from = 0; from < n; from += TILE) {
        const size_t count = n - from < TILE ? n - from : TILE;
        vec taint = vec_of(0.0);
        finite &= slope(count, parameter, x + from, slopes);
        for (size_t i = 0; i < count; i += MAP_PAIR) {
            const map_pair s = map_load(slopes + i, count - i),
                           c = map_load(cotangent + from + i, count - i);
            const map_pair product = {s.first * c.first, s.second * c.second};
            taint = vec_taint(vec_taint(taint, product.first), product.second);
            map_store(out + from + i, count - i, product);
        }
        /* an infinite cotangent times a slope of 0 is NaN, so the products tell */
        finite &= !vec_is_tainted(taint);
    }
    return finite;
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
        return pull_back(slope_##name, n, parameter, x, cotangent, out); \
    }

#define FORMS_OF_X(f) ((map_forms){vec_##f##_ordinary, fast_##f, rare_##f})
#define FORMS(f) ((map_forms){vec_##f##_ordinary, vec_##f##_fast, vec_##f##_rare})

/* What is a unary kernel as well is compiled there. */
extern hm_unary_kernel *const HM_K(unary)[HM_UNARY_COUNT];

VEC_INLINE bool map_unary(size_t n, double parameter, const double *x, double *out, int slot)
{
    (void)parameter;
    return HM_K(unary)[slot](n, x, out);
}

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

KERNELS(sigmoid, map_unary, HM_UNARY_sigmoid, map, FORMS_OF_X(sigmoid_slope))
KERNELS(tanh, map_unary, HM_UNARY_tanh, map, FORMS_OF_X(tanh_slope))
KERNELS(softplus, map_unary, HM_UNARY_softplus, map_unary, HM_UNARY_sigmoid)
SMOOTH(selu, selu_slope)
OF_X(gelu) /* in pairs: four of its two divisions and two polynomials are too long */
KERNELS(gelu, map_pairs, FORMS_OF_X(gelu), map_pairs, FORMS_OF_X(gelu_slope))
SMOOTH(silu, silu_slope)
SMOOTH(mish, mish_slope)
HARD(relu)
HARD(softsign)
HARD(hard_sigmoid)
HARD(hard_swish)
KERNELS(elu, map, FORMS(elu), map, FORMS(elu_slope))
KERNELS(leaky_relu, map_plain, vec_leaky_relu, map_plain, vec_leaky_relu_slope)

static bool pair_gelu(size_t n, double parameter, const double *x, double *value, double *slope)
{
    return map_two(n, parameter, x, value, slope, FORMS_OF_X(gelu), FORMS_OF_X(gelu_slope));
}

#define VALUE_SLOT(name) [HM_ACTIVATION_##name] = value_##name,
#define SLOPE_SLOT(name) [HM_ACTIVATION_##name] = slope_##name,
#define PULLBACK_SLOT(name) [HM_ACTIVATION_##name] = pullback_##name,

extern hm_activation_kernel *const HM_K(activation)[HM_ACTIVATION_COUNT];
extern hm_activation_kernel *const HM_K(activation_derivative)[HM_ACTIVATION_COUNT];
extern hm_activation_pullback_kernel *const HM_K(activation_pullback)[HM_ACTIVATION_COUNT];
extern hm_activation_pair_kernel *const HM_K(activation_pair)[HM_ACTIVATION_COUNT];

hm_activation_kernel *const HM_K(activation)[HM_ACTIVATION_COUNT] = {
    HM_ACTIVATION_LIST(VALUE_SLOT)};
hm_activation_kernel *const HM_K(activation_derivative)[HM_ACTIVATION_COUNT] = {
    HM_ACTIVATION_LIST(SLOPE_SLOT)};
hm_activation_pullback_kernel *const HM_K(activation_pullback)[HM_ACTIVATION_COUNT] = {
    HM_ACTIVATION_LIST(PULLBACK_SLOT)};
hm_activation_pair_kernel *const HM_K(activation_pair)[HM_ACTIVATION_COUNT] = {
    [HM_ACTIVATION_gelu] = pair_gelu};
