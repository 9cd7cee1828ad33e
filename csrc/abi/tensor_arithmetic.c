/* Tensor arithmetic at the edge. */
#include "abi/edge.h"
#include "hmath_tensor.h"
#include "tensor/along.h"
#include "tensor/arithmetic.h"
#include "tensor/matmul.h"
#include "tensor/variance.h"

static hm_status publish(hm_context *ctx, hm_status st, hm_tensor *tensor, hm_value **out)
{
    if (st == HMATH_OK)
        *out = &tensor->base;
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- element by element */

typedef hm_status binary_operation(hm_context *ctx, int op, const hm_tensor *left,
                                   const hm_tensor *right, hm_tensor **out);

static hm_status binary(hm_context *ctx, const char *operation, binary_operation *operate, int op,
                        const hm_value *left, const hm_value *right, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *a, *b;
    hm_tensor *result = NULL;
    if ((st = hm_arg_tensor(ctx, "left", left, &a)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "right", right, &b)) == HMATH_OK)
        st = operate(ctx, op, a, b, &result);
    return publish(ctx, st, result, out);
}

/* The public name, how the operands go to the kernel, and the kernel. */
#define HM_TENSOR_BINARY(name, operate, kernel) \
    hmath_status hmath_tensor_##name(hmath_context *ctx, const hmath_value *left, \
                                     const hmath_value *right, hmath_value **out) \
    { \
        return binary(ctx, "tensor." #name, operate, HM_BINARY_##kernel, left, right, out); \
    }
HM_TENSOR_BINARY(add, hm_binary, add)
HM_TENSOR_BINARY(subtract, hm_binary, subtract)
HM_TENSOR_BINARY(multiply, hm_binary, multiply)
HM_TENSOR_BINARY(divide, hm_binary, divide)
HM_TENSOR_BINARY(power, hm_binary, pow)
HM_TENSOR_BINARY(maximum, hm_binary, maximum)
HM_TENSOR_BINARY(minimum, hm_binary, minimum)
HM_TENSOR_BINARY(equal, hm_binary, equal)
HM_TENSOR_BINARY(not_equal, hm_binary, not_equal)
HM_TENSOR_BINARY(less, hm_binary, less)
HM_TENSOR_BINARY(less_equal, hm_binary, less_equal)
HM_TENSOR_BINARY(greater, hm_binary_turned, less)
HM_TENSOR_BINARY(greater_equal, hm_binary_turned, less_equal)
#undef HM_TENSOR_BINARY

static hm_status unary(hm_context *ctx, const char *operation, int op, const hm_value *input,
                       hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *x;
    hm_tensor *result = NULL;
    if ((st = hm_arg_tensor(ctx, "input", input, &x)) == HMATH_OK)
        st = hm_unary(ctx, op, x, &result);
    return publish(ctx, st, result, out);
}

#define HM_TENSOR_UNARY(name) \
    hmath_status hmath_tensor_##name(hmath_context *ctx, const hmath_value *input, \
                                     hmath_value **out) \
    { \
        return unary(ctx, "tensor." #name, HM_UNARY_##name, input, out); \
    }
HM_TENSOR_UNARY(negate)
HM_TENSOR_UNARY(absolute)
HM_TENSOR_UNARY(sign)
HM_TENSOR_UNARY(square)
HM_TENSOR_UNARY(sqrt)
HM_TENSOR_UNARY(reciprocal)
HM_TENSOR_UNARY(exp)
HM_TENSOR_UNARY(expm1)
HM_TENSOR_UNARY(log)
HM_TENSOR_UNARY(log1p)
HM_TENSOR_UNARY(sin)
HM_TENSOR_UNARY(cos)
HM_TENSOR_UNARY(tan)
HM_TENSOR_UNARY(tanh)
HM_TENSOR_UNARY(sigmoid)
HM_TENSOR_UNARY(log_sigmoid)
HM_TENSOR_UNARY(softplus)
HM_TENSOR_UNARY(erf)
HM_TENSOR_UNARY(erfc)
#undef HM_TENSOR_UNARY

/* ------------------------------------------------- matrix products */

hmath_status hmath_tensor_matmul(hmath_context *ctx, const hmath_value *left,
                                 const hmath_value *right, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.matmul", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *a, *b;
    hm_tensor *result = NULL;
    if ((st = hm_arg_tensor(ctx, "left", left, &a)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "right", right, &b)) == HMATH_OK)
        st = hm_matmul(ctx, a, b, &result);
    return publish(ctx, st, result, out);
}

/* ------------------------------------------------- along axes */

static hm_status reduction(hm_context *ctx, const char *operation, hm_along_kind kind,
                           const hm_value *input, int32_t axis_count, const int64_t *axes, int keep,
                           hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *x;
    hm_tensor *result = NULL;
    if (axis_count < HMATH_ALL_AXES)
        st = hm_fail_argument(ctx, "axis_count", "is negative");
    else if (axis_count > 0 && !axes)
        st = hm_fail_argument(ctx, "axes", "is null");
    else if ((st = hm_arg_tensor(ctx, "input", input, &x)) == HMATH_OK)
        st = hm_reduce_axes(ctx, kind, x, axis_count, axes, keep != 0, &result);
    return publish(ctx, st, result, out);
}

#define HM_TENSOR_REDUCTION(name, kind) \
    hmath_status hmath_tensor_##name(hmath_context *ctx, const hmath_value *input, \
                                     int32_t axis_count, const int64_t *axes, int keep, \
                                     hmath_value **out) \
    { \
        return reduction(ctx, "tensor." #name, kind, input, axis_count, axes, keep, out); \
    }
HM_TENSOR_REDUCTION(sum, HM_ALONG_SUM)
HM_TENSOR_REDUCTION(mean, HM_ALONG_MEAN)
HM_TENSOR_REDUCTION(max, HM_ALONG_MAX)
HM_TENSOR_REDUCTION(min, HM_ALONG_MIN)
#undef HM_TENSOR_REDUCTION

hmath_status hmath_tensor_var_mean(hmath_context *ctx, const hmath_value *input, int32_t axis_count,
                                   const int64_t *axes, int64_t correction, int keep,
                                   hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.var_mean", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *x;
    hm_tensor *variance = NULL, *mean = NULL;
    hm_tuple *both = NULL;
    if (axis_count < HMATH_ALL_AXES)
        return hm_leave(ctx, hm_fail_argument(ctx, "axis_count", "is negative"));
    if (axis_count > 0 && !axes)
        return hm_leave(ctx, hm_fail_argument(ctx, "axes", "is null"));
    if ((st = hm_arg_tensor(ctx, "input", input, &x)) == HMATH_OK &&
        (st = hm_var_mean(ctx, x, axis_count, axes, correction, keep != 0, &variance, &mean)) ==
            HMATH_OK &&
        (st = hm_tuple_take(ctx, (hm_value *[]){&variance->base, &mean->base}, 2, &both)) ==
            HMATH_OK) {
        *out = &both->base;
        return hm_leave(ctx, HMATH_OK);
    }
    hm_release(variance);
    hm_release(mean);
    return hm_leave(ctx, st);
}

hmath_status hmath_tensor_argmax(hmath_context *ctx, const hmath_value *input, int64_t axis,
                                 hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.argmax", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *x;
    hm_list *found = NULL;
    if ((st = hm_arg_tensor(ctx, "input", input, &x)) == HMATH_OK &&
        (st = hm_argmax(ctx, x, axis, &found)) == HMATH_OK)
        *out = &found->base;
    return hm_leave(ctx, st);
}
