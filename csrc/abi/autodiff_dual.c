/* hmath_dual_*: dual numbers at the edge. */
#include "abi/edge.h"
#include "autodiff/dual.h"
#include "hmath_autodiff.h"
#include "runtime/scalar.h"
#include "tensor/view.h"

hmath_status hmath_dual_create(hmath_context *ctx, double value, double tangent, hmath_value **out)
{
    hm_dual *created = NULL;
    hm_status st = hm_edge_enter(ctx, "autodiff.Dual", out);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_dual_create(ctx, value, tangent, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_dual_get(const hmath_value *v, double *value, double *tangent)
{
    const hm_dual *dual = hm_dual_from_value(v);
    if (!dual || !value || !tangent)
        return HMATH_BAD_ARGUMENT;
    *value = dual->value;
    *tangent = dual->tangent;
    return HMATH_OK;
}

/* A Dual, or a Double as one of tangent 0. */
static hm_status read_dual(hm_context *ctx, const char *name, const hm_value *v, hm_dual *out)
{
    const hm_dual *dual = hm_dual_from_value(v);
    *out = (hm_dual){0};
    if (dual) {
        out->value = dual->value;
        out->tangent = dual->tangent;
        return HMATH_OK;
    }
    if (hm_double_get(v, &out->value))
        return hm_check_scalar_finite(ctx, name, out->value);
    return hm_arg_object(ctx, name, v, HMATH_KIND_DUAL, &dual);
}

static hm_status unary(hm_context *ctx, const char *operation, int kernel, const hm_value *value,
                       hm_value **out)
{
    hm_dual x, *result = NULL;
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    if ((st = read_dual(ctx, "value", value, &x)) == HMATH_OK &&
        (st = hm_dual_unary(ctx, kernel, &x, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

static hm_status binary(hm_context *ctx, const char *operation, int kernel,
                        const char *const names[2], const hm_value *left, const hm_value *right,
                        hm_value **out)
{
    hm_dual a, b, *result = NULL;
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    if ((st = read_dual(ctx, names[0], left, &a)) == HMATH_OK &&
        (st = read_dual(ctx, names[1], right, &b)) == HMATH_OK &&
        (st = hm_dual_binary(ctx, kernel, &a, &b, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

static const char *const left_right[] = {"left", "right"};
static const char *const base_exponent[] = {"base", "exponent"};

#define HM_DUAL_UNARY(name) \
    hmath_status hmath_dual_##name(hmath_context *ctx, const hmath_value *value, \
                                   hmath_value **out) \
    { \
        return unary(ctx, "autodiff." #name, HM_UNARY_##name, value, out); \
    }
#define HM_DUAL_BINARY(name, kernel, names) \
    hmath_status hmath_dual_##name(hmath_context *ctx, const hmath_value *left, \
                                   const hmath_value *right, hmath_value **out) \
    { \
        return binary(ctx, "autodiff." #name, HM_BINARY_##kernel, names, left, right, out); \
    }
HM_DUAL_UNARY(negate)
HM_DUAL_UNARY(absolute)
HM_DUAL_UNARY(sqrt)
HM_DUAL_UNARY(exp)
HM_DUAL_UNARY(expm1)
HM_DUAL_UNARY(log)
HM_DUAL_UNARY(log1p)
HM_DUAL_UNARY(sin)
HM_DUAL_UNARY(cos)
HM_DUAL_UNARY(tan)
HM_DUAL_UNARY(tanh)
HM_DUAL_UNARY(erf)
HM_DUAL_BINARY(add, add, left_right)
HM_DUAL_BINARY(subtract, subtract, left_right)
HM_DUAL_BINARY(multiply, multiply, left_right)
HM_DUAL_BINARY(divide, divide, left_right)
HM_DUAL_BINARY(power, pow, base_exponent)
HM_DUAL_BINARY(maximum, maximum, left_right)
HM_DUAL_BINARY(minimum, minimum, left_right)
#undef HM_DUAL_UNARY
#undef HM_DUAL_BINARY
