/* The selectors of hmath_neural_core_*, one row of a .def each. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "kernels/elementwise.h"
#include "neural/core/selector.h"

/* `parameter` is NULL for a selector without one. */
static hm_status create_activation(hm_context *ctx, const char *operation, int formula,
                                   const hm_value *const *parameter, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    double x = 0;
    hm_activation *created = NULL;
    if ((!parameter || (st = hm_arg_double(ctx, "parameter", *parameter, &x)) == HMATH_OK) &&
        (st = hm_activation_create(ctx, formula, x, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

static hm_status create_loss(hm_context *ctx, const char *operation, int formula,
                             const hm_value *const *parameter, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    double x = 0;
    hm_loss_method *created = NULL;
    if ((!parameter || (st = hm_arg_double(ctx, "parameter", *parameter, &x)) == HMATH_OK) &&
        (st = hm_loss_method_create(ctx, formula, x, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

static hm_status create_reduction(hm_context *ctx, const char *operation, bool mean, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    hm_loss_reduction *created = NULL;
    if ((st = hm_loss_reduction_create(ctx, mean, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

#define HM_PLAIN(name, python, formula) \
    hmath_status hmath_neural_core_##name##_create(hmath_context *ctx, hmath_value **out) \
    { \
        return create_activation(ctx, "core." #python, formula, NULL, out); \
    }
#define HM_WITH_PARAMETER(name, python, formula) \
    hmath_status hmath_neural_core_##name##_create( \
        hmath_context *ctx, const hmath_value *parameter, hmath_value **out) \
    { \
        return create_activation(ctx, "core." #python, formula, &parameter, out); \
    }
#include "abi/core_activation.def"
#undef HM_PLAIN
#undef HM_WITH_PARAMETER

#define HM_PLAIN(name, python, formula) \
    hmath_status hmath_neural_core_##name##_create(hmath_context *ctx, hmath_value **out) \
    { \
        return create_loss(ctx, "core." #python, formula, NULL, out); \
    }
#define HM_WITH_PARAMETER(name, python, formula) \
    hmath_status hmath_neural_core_##name##_create( \
        hmath_context *ctx, const hmath_value *parameter, hmath_value **out) \
    { \
        return create_loss(ctx, "core." #python, formula, &parameter, out); \
    }
#include "abi/core_loss.def"
#undef HM_PLAIN
#undef HM_WITH_PARAMETER

hmath_status hmath_neural_core_sum_create(hmath_context *ctx, hmath_value **out)
{
    return create_reduction(ctx, "core.Sum", false, out);
}

hmath_status hmath_neural_core_mean_create(hmath_context *ctx, hmath_value **out)
{
    return create_reduction(ctx, "core.Mean", true, out);
}
