/*
 * Elementwise kernels: one number in, one number out, n times.
 *
 * All of them: n may be 0; no alignment beyond a double's; `out` may be exactly an input, or apart
 * from it, never overlap it otherwise. An element's bits do not depend on n, on its place or its
 * neighbours. A NaN gives a NaN (a comparison gives 0, or 1 for not_equal); what is outside a
 * domain gives a NaN or an infinity. The result is true when every input and every output element
 * is finite.
 *
 * Errors against the exact result stand in docs/accuracy.md.
 */
#ifndef HM_KERNELS_ELEMENTWISE_H
#define HM_KERNELS_ELEMENTWISE_H

#include <stdbool.h>
#include <stddef.h>

/* sign: -1, 0 or 1, zeros keeping theirs; log_sigmoid(x) = -softplus(-x) */
#define HM_UNARY_LIST(X) \
    X(negate) \
    X(absolute) \
    X(sign) \
    X(square) \
    X(sqrt) \
    X(reciprocal) \
    X(exp) \
    X(expm1) \
    X(log) \
    X(log1p) \
    X(sin) \
    X(cos) \
    X(tan) \
    X(tanh) \
    X(sigmoid) \
    X(log_sigmoid) \
    X(softplus) \
    X(erf) \
    X(erfc)

/* maximum, minimum: NaN where either is NaN, +0 above -0; gated: a * sigmoid(b), within 4 ulp also where
 * sigmoid(b) is subnormal or zero; comparisons give 1.0 and 0.0 */
#define HM_BINARY_LIST(X) \
    X(add) \
    X(subtract) \
    X(multiply) \
    X(divide) \
    X(maximum) \
    X(minimum) \
    X(pow) \
    X(equal) \
    X(not_equal) \
    X(less) \
    X(less_equal) \
    X(gated)

/* leaky_relu serves PReLU too */
#define HM_ACTIVATION_LIST(X) \
    X(sigmoid) \
    X(tanh) \
    X(relu) \
    X(leaky_relu) \
    X(elu) \
    X(selu) \
    X(gelu) \
    X(silu) \
    X(mish) \
    X(softplus) \
    X(softsign) \
    X(hard_sigmoid) \
    X(hard_swish)

#define HM_NAME_UNARY(name) HM_UNARY_##name,
enum { HM_UNARY_LIST(HM_NAME_UNARY) HM_UNARY_COUNT };
#define HM_NAME_BINARY(name) HM_BINARY_##name,
enum { HM_BINARY_LIST(HM_NAME_BINARY) HM_BINARY_COUNT };
#define HM_NAME_ACTIVATION(name) HM_ACTIVATION_##name,
enum { HM_ACTIVATION_LIST(HM_NAME_ACTIVATION) HM_ACTIVATION_COUNT };

typedef bool hm_unary_kernel(size_t n, const double *x, double *out);

/* A step is 1 for a vector, 0 for one number that meets every element of the other operand. */
typedef bool hm_binary_kernel(size_t n, const double *a, size_t a_step, const double *b,
                              size_t b_step, double *out);

/* `parameter` is the slope of leaky_relu, the alpha of elu (above 0); the others ignore it. */
typedef bool hm_activation_kernel(size_t n, double parameter, const double *x, double *out);

/* out = f'(x) * cotangent, two roundings */
typedef bool hm_activation_pullback_kernel(size_t n, double parameter, const double *x,
                                           const double *cotangent, double *out);

/* Either output may be exactly x. True when x and both outputs are finite. */
typedef bool hm_activation_pair_kernel(size_t n, double parameter, const double *x, double *value,
                                       double *slope);

typedef struct hm_elementwise_kernels {
    hm_unary_kernel *const *unary; /* [HM_UNARY_COUNT], and so on */
    hm_binary_kernel *const *binary;
    hm_activation_kernel *const *activation;
    hm_activation_kernel *const *activation_derivative;
    hm_activation_pullback_kernel *const *activation_pullback;
    /* f and f' at once, with their bits; NULL where that is no quicker than one after the other */
    hm_activation_pair_kernel *const *activation_pair;

    /* out = a * b + c, rounded once */
    bool (*multiply_add)(size_t n, const double *a, size_t a_step, const double *b, size_t b_step,
                         const double *c, size_t c_step, double *out);
    /* out = condition != 0 ? a : b */
    bool (*select)(size_t n, const double *condition, const double *a, size_t a_step,
                   const double *b, size_t b_step, double *out);
    bool (*all_finite)(size_t n, const double *x);

    /*
     * Sine and cosine of position * (frequency_high[i] + frequency_low[i]), the product in two
     * doubles: absolute error at most 2^-52 for positions up to 2^31. 0 <= position < 2^53.
     */
    void (*turn)(size_t n, double position, const double *frequency_high,
                 const double *frequency_low, double *sines, double *cosines);
} hm_elementwise_kernels;

#endif
