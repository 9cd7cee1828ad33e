/* Arithmetic, comparison and selection of two or three operands that broadcast. */
#include <math.h>

#include "autodiff/leaf.h"
#include "kernels/elementwise.h"
#include "primitives/elementwise.h"
#include "primitives/primitives.h"

static const char *const cotangent_root[] = {"cotangent", "root"};
static const char *const left_right[] = {"left", "right"};
static const char *const base_exponent[] = {"base", "exponent"};
static const char *const condition_a_b[] = {"condition", "a", "b"};

/* ------------------------------------------------- shapes */

static bool all_scalars(hm_node *const *inputs, int32_t count)
{
    bool all = true;
    for (int32_t i = 0; i < count; i++)
        all &= hm_node_is_scalar(inputs[i]);
    return all;
}

static hm_status broadcast_named(hm_context *ctx, const char *const *names, hm_node *const *inputs,
                                 int32_t count, hm_shape *out)
{
    *out = (hm_shape){0};
    if (all_scalars(inputs, count)) /* most of all, by far, in graphs that are large */
        return HMATH_OK;
    hm_shape shape = hm_node_shape(inputs[0]);
    hm_status st = HMATH_OK;
    for (int32_t i = 1; i < count && st == HMATH_OK; i++) {
        hm_shape next = hm_node_shape(inputs[i]);
        st = hm_shape_broadcast(ctx, names[i], &shape, &next, &shape);
    }
    if (st == HMATH_OK)
        *out = shape;
    return st;
}

#define BROADCAST(function, names) \
    static hm_status function(hm_context *ctx, hm_node *const *inputs, int32_t count, \
                              const void *attributes, hm_shape *out) \
    { \
        (void)attributes; \
        return broadcast_named(ctx, names, inputs, count, out); \
    }
BROADCAST(broadcast, left_right)
BROADCAST(broadcast_power, base_exponent)
BROADCAST(broadcast_select, condition_a_b)
#undef BROADCAST

/* ------------------------------------------------- maps */

#define BINARY_MAP(name, kernel) \
    static bool name##_map(const hm_kernels *kernels, const void *attributes, \
                           const double *const *inputs, uint32_t repeated, double *output, \
                           int64_t n) \
    { \
        (void)attributes; \
        return kernels->elementwise->binary[HM_BINARY_##kernel]( \
            (size_t)n, inputs[0], !(repeated & 1), inputs[1], !(repeated & 2), output); \
    }
BINARY_MAP(add, add)
BINARY_MAP(subtract, subtract)
BINARY_MAP(multiply, multiply)
BINARY_MAP(divide, divide)
BINARY_MAP(maximum, maximum)
BINARY_MAP(minimum, minimum)
BINARY_MAP(power, pow)
BINARY_MAP(equal, equal)
BINARY_MAP(less, less)
BINARY_MAP(less_equal, less_equal)
#undef BINARY_MAP

static bool select_map(const hm_kernels *kernels, const void *attributes,
                       const double *const *inputs, uint32_t repeated, double *output, int64_t n)
{
    (void)attributes;
    (void)repeated;
    return kernels->elementwise->select((size_t)n, inputs[0], inputs[1], 1, inputs[2], 1, output);
}

/* ------------------------------------------------- one */

/* Is the node 1 everywhere? Then a product with it is the other factor, to the bit. */
static bool is_one(const hm_node *node)
{
    while (node->op == &hm_op_broadcast_to || node->op->flags & HM_OP_VIEW)
        node = node->inputs[0];
    return node->op == &hm_op_constant && node->rank == 0 && *hm_constant_data(node) == 1.0;
}

/* Where the product has the shape of `other`, which is then the product. */
static bool is_neutral(const hm_node *one, const hm_node *other)
{
    if (!is_one(one))
        return false;
    hm_shape a = hm_node_shape(one), b = hm_node_shape(other);
    if (a.rank > b.rank)
        return false;
    for (int32_t i = 1; i <= a.rank; i++)
        if (a.extent[a.rank - i] != 1 && a.extent[a.rank - i] != b.extent[b.rank - i])
            return false;
    return true;
}

/* ------------------------------------------------- add, subtract, multiply, divide */

static void add_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                        hm_node **cotangents)
{
    (void)g, (void)node, (void)wanted;
    cotangents[0] = cotangents[1] = cotangent;
}

static void subtract_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                             hm_node **cotangents)
{
    (void)node;
    cotangents[0] = cotangent;
    if (wanted[1])
        cotangents[1] = hm_ad_negate(g, cotangent);
}

static void multiply_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                             hm_node **cotangents)
{
    if (wanted[0])
        cotangents[0] = hm_ad_multiply(g, cotangent, node->inputs[1]);
    if (wanted[1])
        cotangents[1] = hm_ad_multiply(g, cotangent, node->inputs[0]);
}

/* q = a / b: da = u / b, db = -q * (u / b). */
static void divide_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                           hm_node **cotangents)
{
    hm_node *quotient = hm_ad_divide(g, cotangent, node->inputs[1]);
    if (wanted[0])
        cotangents[0] = quotient;
    if (wanted[1])
        cotangents[1] = hm_ad_negate(g, hm_ad_multiply(g, node, quotient));
}

static hm_status divide_refuse(hm_context *ctx, const hm_node *node, const double *x, int64_t index)
{
    (void)node;
    return x[1] == 0 ? hm_fail_domain(ctx, "right", index, x[1], "!= 0") : HMATH_OK;
}

/* The slope of sqrt, a / sqrt(x): at 0 it is x that has none. */
static hm_status sqrt_slope_refuse(hm_context *ctx, const hm_node *node, const double *x,
                                   int64_t index)
{
    (void)node;
    return x[1] == 0 ? hm_fail_domain(ctx, "value", index, x[1], "> 0, for its derivative")
                     : HMATH_OK;
}

const hm_op hm_op_add = {.name = "autodiff.add",
                         .arguments = left_right,
                         .arity = 2,
                         .flags = HM_OP_LINEAR | HM_OP_REPEATS,
                         .scalar_code = HM_SCALAR_ADD,
                         .shape = broadcast,
                         .map = add_map,
                         .reverse = add_reverse};

const hm_op hm_op_subtract = {.name = "autodiff.subtract",
                              .arguments = left_right,
                              .arity = 2,
                              .flags = HM_OP_LINEAR | HM_OP_REPEATS,
                              .scalar_code = HM_SCALAR_SUBTRACT,
                              .shape = broadcast,
                              .map = subtract_map,
                              .reverse = subtract_reverse};

const hm_op hm_op_multiply = {.name = "autodiff.multiply",
                              .arguments = left_right,
                              .arity = 2,
                              .flags = HM_OP_MULTILINEAR | HM_OP_REPEATS,
                              .scalar_code = HM_SCALAR_MULTIPLY,
                              .shape = broadcast,
                              .map = multiply_map,
                              .reverse = multiply_reverse};

const hm_op hm_op_divide = {.name = "autodiff.divide",
                            .arguments = left_right,
                            .arity = 2,
                            .flags = HM_OP_REPEATS,
                            .scalar_code = HM_SCALAR_DIVIDE,
                            .shape = broadcast,
                            .map = divide_map,
                            .refuse = divide_refuse,
                            .reverse = divide_reverse};

/* A quotient under another name, so that it fails as what it is: the derivative of a root. */
const hm_op hm_op_sqrt_slope = {.name = "autodiff.sqrt",
                                .word = "sqrt_slope",
                                .arguments = cotangent_root,
                                .arity = 2,
                                .flags = HM_OP_REPEATS,
                                .scalar_code = HM_SCALAR_DIVIDE,
                                .shape = broadcast,
                                .map = divide_map,
                                .refuse = sqrt_slope_refuse,
                                .reverse = divide_reverse};

hm_node *hm_ad_add(hm_graph *g, hm_node *left, hm_node *right)
{
    return hm_graph_make2(g, &hm_op_add, NULL, 0, left, right);
}

hm_node *hm_ad_subtract(hm_graph *g, hm_node *left, hm_node *right)
{
    return hm_graph_make2(g, &hm_op_subtract, NULL, 0, left, right);
}

hm_node *hm_ad_multiply(hm_graph *g, hm_node *left, hm_node *right)
{
    if (left && right && is_neutral(left, right))
        return right;
    if (left && right && is_neutral(right, left))
        return left;
    return hm_graph_make2(g, &hm_op_multiply, NULL, 0, left, right);
}

hm_node *hm_ad_divide(hm_graph *g, hm_node *left, hm_node *right)
{
    return hm_graph_make2(g, &hm_op_divide, NULL, 0, left, right);
}

hm_node *hm_ad_sqrt_slope(hm_graph *g, hm_node *cotangent, hm_node *root)
{
    return hm_graph_make2(g, &hm_op_sqrt_slope, NULL, 0, cotangent, root);
}

hm_node *hm_ad_scaled(hm_graph *g, hm_node *node, double x)
{
    return hm_ad_multiply(g, node, hm_ad_constant(g, x));
}

hm_node *hm_ad_shifted(hm_graph *g, hm_node *node, double x)
{
    return hm_ad_add(g, node, hm_ad_constant(g, x));
}

/* ------------------------------------------------- maximum, minimum */

/* 1 where left wins, 1/2 in a tie, 0 where it loses. */
static hm_node *share(hm_graph *g, hm_node *loser, hm_node *winner)
{
    return hm_ad_scaled(
        g, hm_ad_add(g, hm_ad_less(g, loser, winner), hm_ad_less_equal(g, loser, winner)), 0.5);
}

static void maximum_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                            hm_node **cotangents)
{
    hm_node *left = node->inputs[0], *right = node->inputs[1];
    if (wanted[0])
        cotangents[0] = hm_ad_multiply(g, cotangent, share(g, right, left));
    if (wanted[1])
        cotangents[1] = hm_ad_multiply(g, cotangent, share(g, left, right));
}

static void minimum_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                            hm_node **cotangents)
{
    hm_node *left = node->inputs[0], *right = node->inputs[1];
    if (wanted[0])
        cotangents[0] = hm_ad_multiply(g, cotangent, share(g, left, right));
    if (wanted[1])
        cotangents[1] = hm_ad_multiply(g, cotangent, share(g, right, left));
}

const hm_op hm_op_maximum = {.name = "autodiff.maximum",
                             .arguments = left_right,
                             .arity = 2,
                             .flags = HM_OP_REPEATS,
                             .shape = broadcast,
                             .map = maximum_map,
                             .reverse = maximum_reverse};

const hm_op hm_op_minimum = {.name = "autodiff.minimum",
                             .arguments = left_right,
                             .arity = 2,
                             .flags = HM_OP_REPEATS,
                             .shape = broadcast,
                             .map = minimum_map,
                             .reverse = minimum_reverse};

hm_node *hm_ad_maximum(hm_graph *g, hm_node *left, hm_node *right)
{
    return hm_graph_make2(g, &hm_op_maximum, NULL, 0, left, right);
}

hm_node *hm_ad_minimum(hm_graph *g, hm_node *left, hm_node *right)
{
    return hm_graph_make2(g, &hm_op_minimum, NULL, 0, left, right);
}

/* ------------------------------------------------- comparison and selection */

static void flat_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                         hm_node **cotangents)
{
    (void)g, (void)node, (void)cotangent, (void)wanted,
        (void)cotangents; /* constant almost everywhere */
}

const hm_op hm_op_equal = {.name = "autodiff.equal",
                           .arguments = left_right,
                           .arity = 2,
                           .flags = HM_OP_REPEATS,
                           .shape = broadcast,
                           .map = equal_map,
                           .reverse = flat_reverse};

const hm_op hm_op_less = {.name = "autodiff.less",
                          .arguments = left_right,
                          .arity = 2,
                          .flags = HM_OP_REPEATS,
                          .shape = broadcast,
                          .map = less_map,
                          .reverse = flat_reverse};

const hm_op hm_op_less_equal = {.name = "autodiff.less_equal",
                                .arguments = left_right,
                                .arity = 2,
                                .flags = HM_OP_REPEATS,
                                .shape = broadcast,
                                .map = less_equal_map,
                                .reverse = flat_reverse};

hm_node *hm_ad_equal(hm_graph *g, hm_node *left, hm_node *right)
{
    return hm_graph_make2(g, &hm_op_equal, NULL, 0, left, right);
}

hm_node *hm_ad_less(hm_graph *g, hm_node *left, hm_node *right)
{
    return hm_graph_make2(g, &hm_op_less, NULL, 0, left, right);
}

hm_node *hm_ad_less_equal(hm_graph *g, hm_node *left, hm_node *right)
{
    return hm_graph_make2(g, &hm_op_less_equal, NULL, 0, left, right);
}

static void select_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                           hm_node **cotangents)
{
    hm_node *condition = node->inputs[0], *zero = hm_ad_constant(g, 0.0);
    if (wanted[1])
        cotangents[1] = hm_ad_select(g, condition, cotangent, zero);
    if (wanted[2])
        cotangents[2] = hm_ad_select(g, condition, zero, cotangent);
}

const hm_op hm_op_select = {.name = "autodiff.select",
                            .arguments = condition_a_b,
                            .arity = 3,
                            .shape = broadcast_select,
                            .map = select_map,
                            .reverse = select_reverse};

hm_node *hm_ad_select(hm_graph *g, hm_node *condition, hm_node *a, hm_node *b)
{
    return hm_graph_make(g, &hm_op_select, NULL, 0, (hm_node *[]){condition, a, b}, 3);
}

/* ------------------------------------------------- power */

static hm_status power_refuse(hm_context *ctx, const hm_node *node, const double *x, int64_t index)
{
    (void)node;
    if (x[0] == 0 && x[1] < 0)
        return hm_fail_domain(ctx, "base", index, x[0], "!= 0 under a negative exponent");
    if (x[0] < 0 && x[1] != rint(x[1]))
        return hm_fail_domain(ctx, "base", index, x[0],
                              ">= 0 under an exponent that is no integer");
    return HMATH_OK;
}

/* The slope at 0 has a pole under every exponent below 1 but 0. */
static hm_status power_slope_refuse(hm_context *ctx, const hm_node *node, const double *x,
                                    int64_t index)
{
    if (x[0] == 0 && x[1] < 1 && x[1] != 0)
        return hm_fail_domain(ctx, "base", index, x[0],
                              "!= 0 under an exponent below 1, for its derivative");
    return power_refuse(ctx, node, x, index);
}

/*
 * y * x^(y - 1), and 0 for y = 0 whatever x is: the slope of a power in its base. An op of its own,
 * since 0 * 0^(-1) has to be 0.
 */
static bool power_slope_map(const hm_kernels *kernels, const void *attributes,
                            const double *const *inputs, uint32_t repeated, double *output,
                            int64_t n)
{
    const hm_elementwise_kernels *k = kernels->elementwise;
    const double one = 1.0;
    const double *x = inputs[0], *y = inputs[1];
    double powers[64];
    (void)attributes, (void)repeated;
    for (int64_t first = 0; first < n; first += 64) {
        const int64_t left = n - first;
        const size_t count = left < 64 ? (size_t)left : 64;
        k->binary[HM_BINARY_subtract](count, y + first, 1, &one, 0, powers);
        k->binary[HM_BINARY_pow](count, x + first, 1, powers, 1, powers);
        for (size_t i = 0; i < count; i++) {
            const double exponent = y[first + (int64_t)i];
            output[first + (int64_t)i] = exponent == 0 ? 0.0 : exponent * powers[i];
        }
    }
    return k->all_finite((size_t)n, output);
}

static bool power_log_map(const hm_kernels *kernels, const void *attributes,
                          const double *const *inputs, uint32_t repeated, double *output, int64_t n)
{
    (void)attributes, (void)repeated;
    return kernels->elementwise->unary[HM_UNARY_log]((size_t)n, inputs[0], output);
}

static hm_status power_log_refuse(hm_context *ctx, const hm_node *node, const double *x,
                                  int64_t index)
{
    (void)node;
    return x[0] < 0 ? hm_fail_domain(ctx, "base", index, x[0],
                                     ">= 0, for the derivative in its exponent")
                    : HMATH_OK;
}

static hm_status power_log_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                 const void *attributes, hm_shape *out)
{
    (void)ctx, (void)count, (void)attributes;
    *out = hm_node_shape(inputs[0]);
    return HMATH_OK;
}

static void power_log_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                              hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = hm_ad_divide(g, cotangent, node->inputs[0]);
}

/* A logarithm under another name, so that it fails as what it is: part of the derivative of a power. */
const hm_op hm_op_power_log = {.name = "autodiff.power",
                               .word = "log",
                               .arguments = base_exponent,
                               .arity = 1,
                               .shape = power_log_shape,
                               .map = power_log_map,
                               .refuse = power_log_refuse,
                               .reverse = power_log_reverse};

/* log x where x is not 0, else 0: the part of x^y * log x that is left when x^y is 0. */
static hm_node *log_or_zero(hm_graph *g, hm_node *x)
{
    hm_node *is_zero = hm_ad_equal(g, x, hm_ad_constant(g, 0.0));
    return hm_graph_make1(g, &hm_op_power_log, NULL, 0,
                          hm_ad_select(g, is_zero, hm_ad_constant(g, 1.0), x));
}

static hm_node *power_slope(hm_graph *g, hm_node *base, hm_node *exponent)
{
    return hm_graph_make2(g, &hm_op_power_slope, NULL, 0, base, exponent);
}

static void power_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                          hm_node **cotangents)
{
    hm_node *base = node->inputs[0], *exponent = node->inputs[1];
    if (wanted[0])
        cotangents[0] = hm_ad_multiply(g, cotangent, power_slope(g, base, exponent));
    if (wanted[1])
        cotangents[1] = hm_ad_multiply(g, cotangent, hm_ad_multiply(g, node, log_or_zero(g, base)));
}

/*
 * y slope(x, y - 1), and 0 for y = 0 whatever x is: there the slope is of x^1 instead, which has no pole, nor has any
 * derivative of it.
 */
static hm_node *slope_of_slope(hm_graph *g, hm_node *base, hm_node *exponent, hm_node *less)
{
    hm_node *is_zero = hm_ad_equal(g, exponent, hm_ad_constant(g, 0.0));
    hm_node *poleless = hm_ad_select(g, is_zero, hm_ad_constant(g, 1.0), less);
    return hm_ad_multiply(g, exponent, power_slope(g, base, poleless));
}

/* d/dx = y * slope(x, y - 1); d/dy = x^(y-1) * (1 + y log x). */
static void power_slope_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                                hm_node **cotangents)
{
    hm_node *base = node->inputs[0], *exponent = node->inputs[1];
    hm_node *less = hm_ad_shifted(g, exponent, -1.0);
    if (wanted[0])
        cotangents[0] = hm_ad_multiply(g, cotangent, slope_of_slope(g, base, exponent, less));
    if (wanted[1]) {
        hm_node *factor = hm_ad_shifted(g, hm_ad_multiply(g, exponent, log_or_zero(g, base)), 1.0);
        cotangents[1] =
            hm_ad_multiply(g, cotangent, hm_ad_multiply(g, hm_ad_power(g, base, less), factor));
    }
}

const hm_op hm_op_power = {.name = "autodiff.power",
                           .arguments = base_exponent,
                           .arity = 2,
                           .flags = HM_OP_REPEATS,
                           .shape = broadcast_power,
                           .map = power_map,
                           .refuse = power_refuse,
                           .reverse = power_reverse};

const hm_op hm_op_power_slope = {.name = "autodiff.power",
                                 .word = "power_slope",
                                 .arguments = base_exponent,
                                 .arity = 2,
                                 .shape = broadcast_power,
                                 .map = power_slope_map,
                                 .refuse = power_slope_refuse,
                                 .reverse = power_slope_reverse};

/* Squares are exact to half an ulp where a general power is not, and far cheaper. */
hm_node *hm_ad_power(hm_graph *g, hm_node *base, hm_node *exponent)
{
    if (base && exponent && exponent->op == &hm_op_constant && exponent->rank == 0) {
        double y = *hm_constant_data(exponent);
        if (y == 1.0)
            return base;
        if (y == 2.0)
            return hm_ad_square(g, base);
        if (y == -1.0)
            return hm_ad_reciprocal(g, base);
    }
    return hm_graph_make2(g, &hm_op_power, NULL, 0, base, exponent);
}
