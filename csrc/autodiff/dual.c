#include "autodiff/dual.h"

#include <math.h>

#include "tensor/view.h"

static const hm_class dual_class = {.kind = HMATH_KIND_DUAL, .name = "Dual"};

hm_status hm_dual_create(hm_context *ctx, double value, double tangent, hm_dual **out)
{
    hm_status st;
    hm_dual *created = NULL;
    if ((st = hm_check_scalar_finite(ctx, "value", value)) != HMATH_OK ||
        (st = hm_check_scalar_finite(ctx, "tangent", tangent)) != HMATH_OK ||
        (st = hm_value_create(ctx, &dual_class, sizeof *created, &created)) != HMATH_OK)
        return st;
    created->value = value;
    created->tangent = tangent;
    *out = created;
    return HMATH_OK;
}

const hm_dual *hm_dual_from_value(const hm_value *v)
{
    return hm_value_is(v, HMATH_KIND_DUAL) ? (const hm_dual *)v : NULL;
}

/* A result of arithmetic, which is not finite only where it cannot be represented. */
static hm_status publish(hm_context *ctx, double value, double tangent, hm_dual **out)
{
    if (!isfinite(value) || !isfinite(tangent))
        return hm_fail_overflow(ctx);
    return hm_dual_create(ctx, value, tangent, out);
}

/* ------------------------------------------------- one operand */

static double apply(hm_context *ctx, int kernel, double x)
{
    double y;
    hm_context_kernels(ctx)->elementwise->unary[kernel](1, &x, &y);
    return y;
}

static hm_status refuse(hm_context *ctx, int kernel, double x)
{
    switch (kernel) {
    case HM_UNARY_log:
        if (x <= 0)
            return hm_fail_domain(ctx, "value", HM_SCALAR, x, "> 0");
        break;
    case HM_UNARY_log1p:
        if (x <= -1)
            return hm_fail_domain(ctx, "value", HM_SCALAR, x, "> -1");
        break;
    case HM_UNARY_sqrt:
        if (x < 0)
            return hm_fail_domain(ctx, "value", HM_SCALAR, x, ">= 0");
        break;
    default: break;
    }
    return HMATH_OK;
}

/* f'(x), from x and y = f(x). */
static double slope(hm_context *ctx, int kernel, double x, double y)
{
    double derivative;
    switch (kernel) {
    case HM_UNARY_negate: return -1.0;
    case HM_UNARY_absolute: return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
    case HM_UNARY_sqrt: return 0.5 / y;
    case HM_UNARY_exp: return y;
    case HM_UNARY_expm1: return apply(ctx, HM_UNARY_exp, x);
    case HM_UNARY_log: return 1.0 / x;
    case HM_UNARY_log1p: return 1.0 / (1.0 + x);
    case HM_UNARY_sin: return apply(ctx, HM_UNARY_cos, x);
    case HM_UNARY_cos: return -apply(ctx, HM_UNARY_sin, x);
    case HM_UNARY_tan: return 1.0 + y * y;
    case HM_UNARY_tanh:
        hm_context_kernels(ctx)->elementwise->activation_derivative[HM_ACTIVATION_tanh](
            1, 0, &x, &derivative);
        return derivative;
    default: /* erf: 2 / sqrt(pi) * exp(-x^2) */
        return 0x1.20dd750429b6dp+0 * apply(ctx, HM_UNARY_exp, -x * x);
    }
}

hm_status hm_dual_unary(hm_context *ctx, int kernel, const hm_dual *x, hm_dual **out)
{
    hm_status st = refuse(ctx, kernel, x->value);
    if (st != HMATH_OK)
        return st;
    const double y = apply(ctx, kernel, x->value);
    if (kernel == HM_UNARY_sqrt && y == 0 && x->tangent != 0)
        return hm_fail_domain(ctx, "value", HM_SCALAR, x->value, "> 0, for its derivative");
    const double tangent = x->tangent == 0 ? 0 : x->tangent * slope(ctx, kernel, x->value, y);
    return publish(ctx, y, tangent, out);
}

/* ------------------------------------------------- two operands */

static double combine(hm_context *ctx, int kernel, double a, double b)
{
    double y;
    hm_context_kernels(ctx)->elementwise->binary[kernel](1, &a, 1, &b, 1, &y);
    return y;
}

static hm_status refuse_binary(hm_context *ctx, int kernel, double a, double b)
{
    if (kernel == HM_BINARY_divide && b == 0)
        return hm_fail_domain(ctx, "right", HM_SCALAR, b, "!= 0");
    if (kernel == HM_BINARY_pow && a == 0 && b < 0)
        return hm_fail_domain(ctx, "base", HM_SCALAR, a, "!= 0 under a negative exponent");
    if (kernel == HM_BINARY_pow && a < 0 && b != rint(b))
        return hm_fail_domain(ctx, "base", HM_SCALAR, a,
                              ">= 0 under an exponent that is no integer");
    return HMATH_OK;
}

/* 1 where x wins, 1/2 in a tie, 0 where it loses. */
static double share(double loser, double winner)
{
    return winner > loser ? 1.0 : winner == loser ? 0.5 : 0.0;
}

/* y x^(y-1) dx + x^y log x dy; a term whose tangent or coefficient is 0 is 0. */
static hm_status power_tangent(hm_context *ctx, const hm_dual *x, const hm_dual *y, double power,
                               double *out)
{
    double sum = 0;
    if (x->tangent != 0 && y->value != 0) {
        if (x->value == 0 && y->value < 1)
            return hm_fail_domain(ctx, "base", HM_SCALAR, x->value,
                                  "!= 0 under an exponent below 1, for its derivative");
        sum = y->value * combine(ctx, HM_BINARY_pow, x->value, y->value - 1.0) * x->tangent;
    }
    if (y->tangent != 0 && x->value != 0) {
        if (x->value < 0)
            return hm_fail_domain(ctx, "base", HM_SCALAR, x->value,
                                  ">= 0 where the exponent has a tangent");
        sum += power * apply(ctx, HM_UNARY_log, x->value) * y->tangent;
    }
    *out = sum;
    return HMATH_OK;
}

hm_status hm_dual_binary(hm_context *ctx, int kernel, const hm_dual *a, const hm_dual *b,
                         hm_dual **out)
{
    hm_status st = refuse_binary(ctx, kernel, a->value, b->value);
    if (st != HMATH_OK)
        return st;
    const double value = combine(ctx, kernel, a->value, b->value);
    double tangent = 0;
    switch (kernel) {
    case HM_BINARY_add: tangent = a->tangent + b->tangent; break;
    case HM_BINARY_subtract: tangent = a->tangent - b->tangent; break;
    case HM_BINARY_multiply: tangent = a->tangent * b->value + a->value * b->tangent; break;
    case HM_BINARY_divide: tangent = (a->tangent - value * b->tangent) / b->value; break;
    case HM_BINARY_maximum:
        tangent = a->tangent * share(b->value, a->value) + b->tangent * share(a->value, b->value);
        break;
    case HM_BINARY_minimum:
        tangent = a->tangent * share(a->value, b->value) + b->tangent * share(b->value, a->value);
        break;
    default: st = power_tangent(ctx, a, b, value, &tangent);
    }
    return st != HMATH_OK ? st : publish(ctx, value, tangent, out);
}
