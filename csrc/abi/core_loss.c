/* hmath_neural_core_*: losses. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "neural/core/core.h"
#include "runtime/scalar.h"

hmath_status hmath_neural_core_loss(hmath_context *ctx, const hmath_value *method,
                                    const hmath_value *reduction, const hmath_value *target,
                                    const hmath_value *prediction, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.loss", out);
    if (st != HMATH_OK)
        return st;
    const hm_loss_method *selected;
    const hm_loss_reduction *reduced;
    hm_doubles t, p;
    double loss;
    if ((st = hm_arg_object(ctx, "method", method, HMATH_KIND_LOSS, &selected)) == HMATH_OK &&
        (st = hm_arg_object(ctx, "reduction", reduction, HMATH_KIND_REDUCTION, &reduced)) ==
            HMATH_OK &&
        (st = hm_arg_doubles(ctx, "target", target, &t)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "prediction", prediction, &p)) == HMATH_OK &&
        (st = hm_loss(ctx, selected, reduced, &t, &p, &loss)) == HMATH_OK)
        st = hm_double_create(ctx, loss, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_loss_gradient(hmath_context *ctx, const hmath_value *method,
                                             const hmath_value *reduction,
                                             const hmath_value *target,
                                             const hmath_value *prediction, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.loss_gradient", out);
    if (st != HMATH_OK)
        return st;
    const hm_loss_method *selected;
    const hm_loss_reduction *reduced;
    hm_doubles t, p;
    if ((st = hm_arg_object(ctx, "method", method, HMATH_KIND_LOSS, &selected)) == HMATH_OK &&
        (st = hm_arg_object(ctx, "reduction", reduction, HMATH_KIND_REDUCTION, &reduced)) ==
            HMATH_OK &&
        (st = hm_arg_doubles(ctx, "target", target, &t)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "prediction", prediction, &p)) == HMATH_OK)
        st = hm_loss_gradient(ctx, selected, reduced, &t, &p, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_binary_cross_entropy_logits(hmath_context *ctx,
                                                           const hmath_value *reduction,
                                                           const hmath_value *target,
                                                           const hmath_value *logits,
                                                           hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.binary_cross_entropy_logits", out);
    if (st != HMATH_OK)
        return st;
    const hm_loss_reduction *reduced;
    hm_doubles t, x;
    double loss;
    if ((st = hm_arg_object(ctx, "reduction", reduction, HMATH_KIND_REDUCTION, &reduced)) ==
            HMATH_OK &&
        (st = hm_arg_doubles(ctx, "target", target, &t)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "logits", logits, &x)) == HMATH_OK &&
        (st = hm_binary_cross_entropy_logits(ctx, reduced, &t, &x, &loss)) == HMATH_OK)
        st = hm_double_create(ctx, loss, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_categorical_cross_entropy_logits(hmath_context *ctx,
                                                                const hmath_value *target,
                                                                const hmath_value *logits,
                                                                hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.categorical_cross_entropy_logits", out);
    if (st != HMATH_OK)
        return st;
    hm_doubles t, x;
    double loss;
    if ((st = hm_arg_doubles(ctx, "target", target, &t)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "logits", logits, &x)) == HMATH_OK &&
        (st = hm_categorical_cross_entropy_logits(ctx, &t, &x, &loss)) == HMATH_OK)
        st = hm_double_create(ctx, loss, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_regularization(hmath_context *ctx, const hmath_value *l1,
                                              const hmath_value *l2, const hmath_value *weights,
                                              hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.regularization", out);
    if (st != HMATH_OK)
        return st;
    double absolute, squared, penalty;
    hm_doubles w;
    if ((st = hm_arg_double(ctx, "l1", l1, &absolute)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "l2", l2, &squared)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "weights", weights, &w)) == HMATH_OK &&
        (st = hm_regularization(ctx, absolute, squared, &w, &penalty)) == HMATH_OK)
        st = hm_double_create(ctx, penalty, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_contrastive_loss(hmath_context *ctx, const hmath_value *margin,
                                                const hmath_value *similar, const hmath_value *left,
                                                const hmath_value *right, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.contrastive_loss", out);
    if (st != HMATH_OK)
        return st;
    double apart, loss;
    bool alike;
    hm_doubles x, y;
    if ((st = hm_arg_double(ctx, "margin", margin, &apart)) == HMATH_OK &&
        (st = hm_arg_bool(ctx, "similar", similar, &alike)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "left", left, &x)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "right", right, &y)) == HMATH_OK &&
        (st = hm_contrastive_loss(ctx, apart, alike, &x, &y, &loss)) == HMATH_OK)
        st = hm_double_create(ctx, loss, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_triplet_loss(hmath_context *ctx, const hmath_value *margin,
                                            const hmath_value *anchor, const hmath_value *positive,
                                            const hmath_value *negative, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.triplet_loss", out);
    if (st != HMATH_OK)
        return st;
    double apart, loss;
    hm_doubles from, near, far;
    if ((st = hm_arg_double(ctx, "margin", margin, &apart)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "anchor", anchor, &from)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "positive", positive, &near)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "negative", negative, &far)) == HMATH_OK &&
        (st = hm_triplet_loss(ctx, apart, &from, &near, &far, &loss)) == HMATH_OK)
        st = hm_double_create(ctx, loss, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_focal_loss(hmath_context *ctx, const hmath_value *alpha,
                                          const hmath_value *gamma, const hmath_value *target,
                                          const hmath_value *prediction, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.focal_loss", out);
    if (st != HMATH_OK)
        return st;
    double weight, focus, loss;
    hm_doubles t, p;
    if ((st = hm_arg_double(ctx, "alpha", alpha, &weight)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "gamma", gamma, &focus)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "target", target, &t)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "prediction", prediction, &p)) == HMATH_OK &&
        (st = hm_focal_loss(ctx, weight, focus, &t, &p, &loss)) == HMATH_OK)
        st = hm_double_create(ctx, loss, out);
    return hm_leave(ctx, st);
}

/* Dice and intersection over union */
static hm_status overlap_loss(hm_context *ctx, const char *operation,
                              hm_status (*f)(hm_context *, double, const hm_doubles *,
                                             const hm_doubles *, double *),
                              const hm_value *smooth, const hm_value *target,
                              const hm_value *prediction, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    double offset, loss;
    hm_doubles t, p;
    if ((st = hm_arg_double(ctx, "smooth", smooth, &offset)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "target", target, &t)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "prediction", prediction, &p)) == HMATH_OK &&
        (st = f(ctx, offset, &t, &p, &loss)) == HMATH_OK)
        st = hm_double_create(ctx, loss, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_dice_loss(hmath_context *ctx, const hmath_value *smooth,
                                         const hmath_value *target, const hmath_value *prediction,
                                         hmath_value **out)
{
    return overlap_loss(ctx, "core.dice_loss", hm_dice_loss, smooth, target, prediction, out);
}

hmath_status hmath_neural_core_iou_loss(hmath_context *ctx, const hmath_value *smooth,
                                        const hmath_value *target, const hmath_value *prediction,
                                        hmath_value **out)
{
    return overlap_loss(ctx, "core.iou_loss", hm_iou_loss, smooth, target, prediction, out);
}
