/* Elementary functions and activations of one operand, and spreading a value over a shape. */
#include <math.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "autodiff/leaf.h"
#include "kernels/elementwise.h"
#include "primitives/elementwise.h"
#include "primitives/primitives.h"
#include "tensor/view.h"

static const char *const value_argument[] = {"value"};

static hm_status same_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                            const void *attributes, hm_shape *out)
{
    (void)ctx, (void)count, (void)attributes;
    *out = hm_node_shape(inputs[0]);
    return HMATH_OK;
}

#define UNARY_MAP(name) \
    static bool name##_map(const hm_kernels *kernels, const void *attributes, \
                           const double *const *inputs, uint32_t repeated, double *output, \
                           int64_t n) \
    { \
        (void)attributes, (void)repeated; \
        return kernels->elementwise->unary[HM_UNARY_##name]((size_t)n, inputs[0], output); \
    }
UNARY_MAP(negate)
UNARY_MAP(absolute)
UNARY_MAP(sign)
UNARY_MAP(square)
UNARY_MAP(sqrt)
UNARY_MAP(reciprocal)
UNARY_MAP(exp)
UNARY_MAP(expm1)
UNARY_MAP(log)
UNARY_MAP(log1p)
UNARY_MAP(sin)
UNARY_MAP(cos)
UNARY_MAP(tan)
UNARY_MAP(tanh)
UNARY_MAP(erf)
#undef UNARY_MAP

/* ------------------------------------------------- domains */

static hm_status refuse_negative(hm_context *ctx, const hm_node *node, const double *x,
                                 int64_t index)
{
    (void)node;
    return x[0] < 0 ? hm_fail_domain(ctx, "value", index, x[0], ">= 0") : HMATH_OK;
}

static hm_status refuse_not_positive(hm_context *ctx, const hm_node *node, const double *x,
                                     int64_t index)
{
    (void)node;
    return x[0] <= 0 ? hm_fail_domain(ctx, "value", index, x[0], "> 0") : HMATH_OK;
}

static hm_status refuse_below_minus_one(hm_context *ctx, const hm_node *node, const double *x,
                                        int64_t index)
{
    (void)node;
    return x[0] <= -1 ? hm_fail_domain(ctx, "value", index, x[0], "> -1") : HMATH_OK;
}

static hm_status refuse_zero(hm_context *ctx, const hm_node *node, const double *x, int64_t index)
{
    (void)node;
    return x[0] == 0 ? hm_fail_domain(ctx, "value", index, x[0], "!= 0") : HMATH_OK;
}

/* ------------------------------------------------- derivatives, as f'(x) * u */

/* A rule whose body is the cotangent of the only input, from x, y = f(x) and u. */
#define UNARY_REVERSE(name, formula) \
    static void name##_reverse(hm_graph *g, hm_node *y, hm_node *u, const bool *wanted, \
                               hm_node **cotangents) \
    { \
        hm_node *x = y->inputs[0]; \
        (void)g, (void)x, (void)u, (void)wanted; \
        cotangents[0] = (formula); \
    }
UNARY_REVERSE(negate, hm_ad_negate(g, u))
UNARY_REVERSE(absolute, hm_ad_multiply(g, u, hm_ad_sign(g, x)))
UNARY_REVERSE(sign, NULL)
UNARY_REVERSE(square, hm_ad_multiply(g, u, hm_ad_scaled(g, x, 2.0)))
UNARY_REVERSE(sqrt, hm_ad_sqrt_slope(g, hm_ad_scaled(g, u, 0.5), y))
UNARY_REVERSE(reciprocal, hm_ad_negate(g, hm_ad_multiply(g, u, hm_ad_square(g, y))))
UNARY_REVERSE(exp, hm_ad_multiply(g, u, y))
UNARY_REVERSE(expm1, hm_ad_multiply(g, u, hm_ad_exp(g, x)))
UNARY_REVERSE(log, hm_ad_divide(g, u, x))
UNARY_REVERSE(log1p, hm_ad_divide(g, u, hm_ad_shifted(g, x, 1.0)))
UNARY_REVERSE(sin, hm_ad_multiply(g, u, hm_ad_cos(g, x)))
UNARY_REVERSE(cos, hm_ad_negate(g, hm_ad_multiply(g, u, hm_ad_sin(g, x))))
UNARY_REVERSE(tan, hm_ad_multiply(g, u, hm_ad_shifted(g, hm_ad_square(g, y), 1.0)))

/* sech^2, which does not saturate as 1 - y^2 would */
UNARY_REVERSE(tanh, hm_ad_multiply(g, u, hm_ad_activation_derivative(g, HM_ACTIVATION_tanh, 0, x)))

/* 2 / sqrt(pi) * exp(-x^2) */
UNARY_REVERSE(erf, hm_ad_multiply(g, u,
                                  hm_ad_scaled(g, hm_ad_exp(g, hm_ad_negate(g, hm_ad_square(g, x))),
                                               0x1.20dd750429b6dp+0)))
#undef UNARY_REVERSE

#define UNARY_OP(word, the_flags, code, refusal) \
    const hm_op hm_op_##word = {.name = "autodiff." #word, \
                                .arguments = value_argument, \
                                .arity = 1, \
                                .flags = (the_flags), \
                                .scalar_code = (code), \
                                .shape = same_shape, \
                                .map = word##_map, \
                                .refuse = (refusal), \
                                .reverse = word##_reverse}; \
    hm_node *hm_ad_##word(hm_graph *g, hm_node *value) \
    { \
        return hm_graph_make1(g, &hm_op_##word, NULL, 0, value); \
    }
UNARY_OP(negate, HM_OP_LINEAR, HM_SCALAR_NEGATE, NULL)
UNARY_OP(absolute, 0, HM_SCALAR_CALL, NULL)
UNARY_OP(sign, 0, HM_SCALAR_CALL, NULL)
UNARY_OP(square, 0, HM_SCALAR_SQUARE, NULL)
UNARY_OP(sqrt, 0, HM_SCALAR_SQRT, refuse_negative)
UNARY_OP(reciprocal, 0, HM_SCALAR_CALL, refuse_zero)
UNARY_OP(exp, 0, HM_SCALAR_CALL, NULL)
UNARY_OP(expm1, 0, HM_SCALAR_CALL, NULL)
UNARY_OP(log, 0, HM_SCALAR_CALL, refuse_not_positive)
UNARY_OP(log1p, 0, HM_SCALAR_CALL, refuse_below_minus_one)
UNARY_OP(sin, 0, HM_SCALAR_CALL, NULL)
UNARY_OP(cos, 0, HM_SCALAR_CALL, NULL)
UNARY_OP(tan, 0, HM_SCALAR_CALL, NULL)
UNARY_OP(tanh, 0, HM_SCALAR_CALL, NULL)
UNARY_OP(erf, 0, HM_SCALAR_CALL, NULL)
#undef UNARY_OP

/* ------------------------------------------------- activations */

typedef struct activation {
    int64_t method; /* HM_ACTIVATION_... */
    double parameter;
} activation;

static hm_status activation_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                  const void *attributes, hm_shape *out)
{
    const activation *a = attributes;
    bool takes_one = a->method == HM_ACTIVATION_leaky_relu || a->method == HM_ACTIVATION_elu;
    if (takes_one && !isfinite(a->parameter))
        return hm_fail_nonfinite(ctx, "method.parameter", HM_SCALAR, a->parameter);
    if (a->method == HM_ACTIVATION_elu && a->parameter <= 0)
        return hm_fail_domain(ctx, "method.parameter", HM_SCALAR, a->parameter, "> 0");
    return same_shape(ctx, inputs, count, attributes, out);
}

static bool activation_map(const hm_kernels *kernels, const void *attributes,
                           const double *const *inputs, uint32_t repeated, double *output,
                           int64_t n)
{
    const activation *a = attributes;
    (void)repeated;
    return kernels->elementwise->activation[a->method]((size_t)n, a->parameter, inputs[0], output);
}

static bool activation_derivative_map(const hm_kernels *kernels, const void *attributes,
                                      const double *const *inputs, uint32_t repeated,
                                      double *output, int64_t n)
{
    const activation *a = attributes;
    (void)repeated;
    return kernels->elementwise->activation_derivative[a->method]((size_t)n, a->parameter,
                                                                  inputs[0], output);
}

/* A value and its derivative. */
static bool activation_pairs(const hm_node *node, const hm_node *other)
{
    const activation *a = hm_node_attributes(node);
    if (a->method != HM_ACTIVATION_gelu || other->op != &hm_op_activation_derivative)
        return false;
    return ((const activation *)hm_node_attributes(other))->method == a->method;
}

static bool activation_map_two(const hm_kernels *kernels, const void *attributes,
                               const double *input, double *output, double *other_output, int64_t n)
{
    const activation *a = attributes;
    return kernels->elementwise->activation_pair[a->method]((size_t)n, a->parameter, input, output,
                                                            other_output);
}

static void activation_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                               hm_node **cotangents)
{
    const activation *a = hm_node_attributes(node);
    hm_node *x = node->inputs[0];
    (void)wanted;
    if (a->method == HM_ACTIVATION_relu && cotangent->op->rectify)
        cotangents[0] = cotangent->op->rectify(g, cotangent, node, x);
    if (!cotangents[0])
        cotangents[0] = hm_ad_multiply(
            g, cotangent, hm_ad_activation_derivative(g, (int32_t)a->method, a->parameter, x));
}

static hm_node *sigmoid(hm_graph *g, hm_node *x)
{
    return hm_ad_activation(g, HM_ACTIVATION_sigmoid, 0, x);
}

static hm_node *sigmoid_slope(hm_graph *g, hm_node *x)
{
    return hm_ad_activation_derivative(g, HM_ACTIVATION_sigmoid, 0, x);
}

static hm_node *one_minus(hm_graph *g, hm_node *x)
{
    return hm_ad_subtract(g, hm_ad_constant(g, 1.0), x);
}

/* phi(x) * (2 - x^2) */
static hm_node *gelu_second(hm_graph *g, hm_node *x)
{
    const double normal = 0x1.9884533d43651p-2; /* 1 / sqrt(2 pi) */
    hm_node *square = hm_ad_square(g, x);
    hm_node *density = hm_ad_scaled(g, hm_ad_exp(g, hm_ad_scaled(g, square, -0.5)), normal);
    return hm_ad_multiply(g, density, hm_ad_subtract(g, hm_ad_constant(g, 2.0), square));
}

/* s' * (2 + x * (1 - 2 s)) */
static hm_node *silu_second(hm_graph *g, hm_node *x)
{
    hm_node *tilt = one_minus(g, hm_ad_scaled(g, sigmoid(g, x), 2.0));
    return hm_ad_multiply(g, sigmoid_slope(g, x),
                          hm_ad_shifted(g, hm_ad_multiply(g, x, tilt), 2.0));
}

/*
 * f = x * t with t = tanh(softplus x): t' = sech^2(softplus x) * s =: q, and
 * f'' = 2 q + x * q' with q' = sech^2 * s' - 2 t q s.
 */
static hm_node *mish_second(hm_graph *g, hm_node *x)
{
    hm_node *softplus = hm_ad_activation(g, HM_ACTIVATION_softplus, 0, x);
    hm_node *t = hm_ad_tanh(g, softplus), *s = sigmoid(g, x);
    hm_node *sech2 = hm_ad_activation_derivative(g, HM_ACTIVATION_tanh, 0, softplus);
    hm_node *q = hm_ad_multiply(g, sech2, s);
    hm_node *q_slope =
        hm_ad_subtract(g, hm_ad_multiply(g, sech2, sigmoid_slope(g, x)),
                       hm_ad_scaled(g, hm_ad_multiply(g, hm_ad_multiply(g, t, q), s), 2.0));
    return hm_ad_add(g, hm_ad_scaled(g, q, 2.0), hm_ad_multiply(g, x, q_slope));
}

/* -2 * sign(x) / (1 + |x|)^3 */
static hm_node *softsign_second(hm_graph *g, hm_node *x)
{
    hm_node *r = hm_ad_reciprocal(g, hm_ad_shifted(g, hm_ad_absolute(g, x), 1.0));
    return hm_ad_multiply(g, hm_ad_scaled(g, hm_ad_sign(g, x), -2.0),
                          hm_ad_multiply(g, hm_ad_square(g, r), r));
}

/* f'(x) for x <= 0, where f' = f'' of an exponential; 0 beyond. */
static hm_node *exponential_second(hm_graph *g, const activation *a, hm_node *x)
{
    hm_node *zero = hm_ad_constant(g, 0.0);
    hm_node *slope = hm_ad_activation_derivative(g, (int32_t)a->method, a->parameter, x);
    return hm_ad_select(g, hm_ad_less_equal(g, x, zero), slope, zero);
}

/* 1/3 on (-3, 3); the kinks belong to the flat sides. */
static hm_node *hard_swish_second(hm_graph *g, hm_node *x)
{
    hm_node *inside = hm_ad_less(g, hm_ad_absolute(g, x), hm_ad_constant(g, 3.0));
    return hm_ad_select(g, inside, hm_ad_constant(g, 1.0 / 3), hm_ad_constant(g, 0.0));
}

/* f''(x); NULL where it is 0 almost everywhere. */
static hm_node *second_derivative(hm_graph *g, const activation *a, hm_node *x, hm_node *slope)
{
    switch (a->method) {
    case HM_ACTIVATION_sigmoid:
        return hm_ad_multiply(g, slope, one_minus(g, hm_ad_scaled(g, sigmoid(g, x), 2.0)));
    case HM_ACTIVATION_tanh:
        return hm_ad_multiply(g, slope, hm_ad_scaled(g, hm_ad_tanh(g, x), -2.0));
    case HM_ACTIVATION_elu:
    case HM_ACTIVATION_selu: return exponential_second(g, a, x);
    case HM_ACTIVATION_gelu: return gelu_second(g, x);
    case HM_ACTIVATION_silu: return silu_second(g, x);
    case HM_ACTIVATION_mish: return mish_second(g, x);
    case HM_ACTIVATION_softplus: return sigmoid_slope(g, x);
    case HM_ACTIVATION_softsign: return softsign_second(g, x);
    case HM_ACTIVATION_hard_swish: return hard_swish_second(g, x);
    default: return NULL;
    }
}

static void activation_derivative_reverse(hm_graph *g, hm_node *node, hm_node *cotangent,
                                          const bool *wanted, hm_node **cotangents)
{
    hm_node *second = second_derivative(g, hm_node_attributes(node), node->inputs[0], node);
    (void)wanted;
    cotangents[0] = second ? hm_ad_multiply(g, cotangent, second) : NULL;
}

const hm_op hm_op_activation = {.name = "core.activation",
                                .arguments = value_argument,
                                .arity = 1,
                                .shape = activation_shape,
                                .map = activation_map,
                                .pairs = activation_pairs,
                                .map_two = activation_map_two,
                                .reverse = activation_reverse};

const hm_op hm_op_activation_derivative = {.name = "core.activation_derivative",
                                           .arguments = value_argument,
                                           .arity = 1,
                                           .shape = activation_shape,
                                           .map = activation_derivative_map,
                                           .reverse = activation_derivative_reverse};

hm_node *hm_ad_activation(hm_graph *g, int32_t method, double parameter, hm_node *value)
{
    activation a = {method, parameter};
    return hm_graph_make1(g, &hm_op_activation, &a, sizeof a, value);
}

bool hm_is_rectified(const hm_node *node)
{
    return node->op == &hm_op_activation &&
           ((const activation *)hm_node_attributes(node))->method == HM_ACTIVATION_relu;
}

hm_node *hm_ad_activation_derivative(hm_graph *g, int32_t method, double parameter, hm_node *value)
{
    activation a = {method, parameter};
    return hm_graph_make1(g, &hm_op_activation_derivative, &a, sizeof a, value);
}

/* ------------------------------------------------- broadcasting */

/* The target's shape. Programs spread operands over a group's shape anyway, so the map is a copy. */
static hm_status broadcast_to_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                    const void *attributes, hm_shape *out)
{
    hm_shape from = hm_node_shape(inputs[0]);
    const hm_shape *to = attributes;
    (void)count;
    if (!hm_shape_broadcasts_to(&from, to))
        return hm_fail_shapes(ctx, "shape", &from, to);
    *out = *to;
    return HMATH_OK;
}

static bool copy_map(const hm_kernels *kernels, const void *attributes, const double *const *inputs,
                     uint32_t repeated, double *output, int64_t n)
{
    (void)kernels, (void)attributes, (void)repeated;
    memmove(output, inputs[0], (size_t)n * sizeof(double));
    return true;
}

static void broadcast_to_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                                 hm_node **cotangents)
{
    (void)g, (void)node, (void)wanted;
    cotangents[0] = cotangent; /* the driver sums back */
}

const hm_op hm_op_broadcast_to = {.name = "autodiff.broadcast_to",
                                  .arguments = value_argument,
                                  .arity = 1,
                                  .flags = HM_OP_LINEAR,
                                  .scalar_code = HM_SCALAR_COPY,
                                  .shape = broadcast_to_shape,
                                  .map = copy_map,
                                  .reverse = broadcast_to_reverse};

hm_node *hm_ad_broadcast_to(hm_graph *g, hm_node *value, const hm_shape *shape)
{
    if (!value)
        return NULL;
    hm_shape own = hm_node_shape(value);
    if (hm_shape_equal(&own, shape))
        return value;
    const hm_shape attributes = hm_shape_as_attribute(shape);
    return hm_graph_make1(g, &hm_op_broadcast_to, &attributes, sizeof attributes, value);
}

hm_node *hm_ad_full(hm_graph *g, double x, const hm_shape *shape)
{
    return hm_ad_broadcast_to(g, hm_ad_constant(g, x), shape);
}

hm_node *hm_ad_zeros_like(hm_graph *g, const hm_node *node)
{
    hm_shape shape = hm_node_shape(node);
    return hm_ad_full(g, 0.0, &shape);
}
