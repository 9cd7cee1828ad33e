#include "neural/core/selector.h"

#include "kernels/elementwise.h"
#include "tensor/view.h"

static const hm_class activation_class = {.kind = HMATH_KIND_ACTIVATION, .name = "Activation"};
static const hm_class loss_class = {.kind = HMATH_KIND_LOSS, .name = "Loss"};
static const hm_class reduction_class = {.kind = HMATH_KIND_REDUCTION, .name = "Reduction"};

hm_status hm_activation_create(hm_context *ctx, int formula, double parameter, hm_activation **out)
{
    hm_activation *created = NULL;
    hm_status st = hm_value_create(ctx, &activation_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    created->formula = formula;
    created->parameter = parameter;
    *out = created;
    return HMATH_OK;
}

hm_status hm_loss_method_create(hm_context *ctx, int formula, double parameter,
                                hm_loss_method **out)
{
    hm_loss_method *created = NULL;
    hm_status st = hm_value_create(ctx, &loss_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    created->formula = formula;
    created->parameter = parameter;
    *out = created;
    return HMATH_OK;
}

hm_status hm_loss_reduction_create(hm_context *ctx, bool mean, hm_loss_reduction **out)
{
    hm_loss_reduction *created = NULL;
    hm_status st = hm_value_create(ctx, &reduction_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    created->mean = mean;
    *out = created;
    return HMATH_OK;
}

static hm_status check_parameter(hm_context *ctx, const char *argument, double x, bool holds,
                                 const char *requirement)
{
    hm_status st = hm_check_scalar_finite(ctx, argument, x);
    if (st != HMATH_OK || holds)
        return st;
    return hm_fail_domain(ctx, argument, HM_SCALAR, x, requirement);
}

hm_status hm_check_activation(hm_context *ctx, const char *argument, const hm_activation *method)
{
    const double x = method->parameter;
    switch (method->formula) {
    case HM_ACTIVATION_leaky_relu: return check_parameter(ctx, argument, x, true, "");
    case HM_ACTIVATION_elu: return check_parameter(ctx, argument, x, x > 0, "> 0");
    default: return HMATH_OK;
    }
}

hm_status hm_check_loss_method(hm_context *ctx, const hm_loss_method *method)
{
    switch (method->formula) {
    case HM_LOSS_HUBER:
    case HM_LOSS_SMOOTH:
        return check_parameter(ctx, "method.parameter", method->parameter, method->parameter > 0,
                               "> 0");
    case HM_LOSS_HINGE:
        return check_parameter(ctx, "method.parameter", method->parameter, method->parameter >= 0,
                               ">= 0");
    default: return HMATH_OK;
    }
}
