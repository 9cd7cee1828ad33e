/* hmath_neural_core_*: activations, the softmax family and CTC. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "neural/core/core.h"
#include "runtime/scalar.h"

/* ------------------------------------------------- activations: of a Double, or of a whole tensor
 */

static hm_status activation(hm_context *ctx, const char *operation, bool derivative,
                            const hm_value *method, const hm_value *value, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    const hm_activation *selected;
    if ((st = hm_arg_object(ctx, "method", method, HMATH_KIND_ACTIVATION, &selected)) != HMATH_OK)
        return hm_leave(ctx, st);

    const hm_tensor *tensor = hm_tensor_from_value(value);
    double x, y;
    hm_tensor *result = NULL;
    if (tensor) {
        if ((st = hm_activation_tensor(ctx, selected, derivative, tensor, &result)) == HMATH_OK)
            *out = &result->base;
    } else if ((st = hm_arg_double(ctx, "value", value, &x)) == HMATH_OK &&
               (st = hm_activation_number(ctx, selected, derivative, x, &y)) == HMATH_OK) {
        st = hm_double_create(ctx, y, out);
    }
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_activation(hmath_context *ctx, const hmath_value *method,
                                          const hmath_value *value, hmath_value **out)
{
    return activation(ctx, "core.activation", false, method, value, out);
}

hmath_status hmath_neural_core_activation_derivative(hmath_context *ctx, const hmath_value *method,
                                                     const hmath_value *value, hmath_value **out)
{
    return activation(ctx, "core.activation_derivative", true, method, value, out);
}

hmath_status hmath_neural_core_gated_linear_unit(hmath_context *ctx, const hmath_value *values,
                                                 const hmath_value *gate, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.gated_linear_unit", out);
    if (st != HMATH_OK)
        return st;
    hm_doubles x, gates;
    if ((st = hm_arg_doubles(ctx, "values", values, &x)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "gate", gate, &gates)) == HMATH_OK)
        st = hm_gated_linear_unit(ctx, &x, &gates, out);
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- the softmax family */

static hm_status of_values(hm_context *ctx, const char *operation,
                           hm_status (*f)(hm_context *, const hm_doubles *, hm_value **),
                           const hm_value *values, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    hm_doubles x;
    if ((st = hm_arg_doubles(ctx, "values", values, &x)) == HMATH_OK)
        st = f(ctx, &x, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_core_softmax(hmath_context *ctx, const hmath_value *values,
                                       hmath_value **out)
{
    return of_values(ctx, "core.softmax", hm_softmax, values, out);
}

hmath_status hmath_neural_core_log_softmax(hmath_context *ctx, const hmath_value *values,
                                           hmath_value **out)
{
    return of_values(ctx, "core.log_softmax", hm_log_softmax, values, out);
}

hmath_status hmath_neural_core_sparsemax(hmath_context *ctx, const hmath_value *values,
                                         hmath_value **out)
{
    return of_values(ctx, "core.sparsemax", hm_sparsemax, values, out);
}

/* ------------------------------------------------- connectionist temporal classification */

hmath_status hmath_neural_core_ctc_loss(hmath_context *ctx, const hmath_value *blank,
                                        const hmath_value *labels,
                                        const hmath_value *log_probabilities, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.ctc_loss", out);
    if (st != HMATH_OK)
        return st;
    int64_t blank_class;
    hm_ints sequence;
    hm_double_rows frames;
    double loss;
    if ((st = hm_arg_int(ctx, "blank", blank, &blank_class)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "labels", labels, &sequence)) == HMATH_OK &&
        (st = hm_arg_double_rows(ctx, "log_probabilities", log_probabilities, &frames)) ==
            HMATH_OK &&
        (st = hm_ctc_loss(ctx, blank_class, &sequence, &frames, &loss)) == HMATH_OK)
        st = hm_double_create(ctx, loss, out);
    return hm_leave(ctx, st);
}

/* (loss, gradient) as a tuple */
static hm_status publish_loss_and_gradient(hm_context *ctx, double loss, hm_value *gradient,
                                           hm_value **out)
{
    hm_value *items[2] = {NULL, gradient};
    hm_tuple *pair = NULL;
    hm_status st = hm_double_create(ctx, loss, &items[0]);
    if (st == HMATH_OK && (st = hm_tuple_take(ctx, items, 2, &pair)) == HMATH_OK) {
        *out = &pair->base;
        return HMATH_OK;
    }
    hm_release(items[0]);
    hm_release(gradient);
    return st;
}

hmath_status hmath_neural_core_ctc_loss_gradient(hmath_context *ctx, const hmath_value *blank,
                                                 const hmath_value *labels,
                                                 const hmath_value *log_probabilities,
                                                 hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "core.ctc_loss_gradient", out);
    if (st != HMATH_OK)
        return st;
    int64_t blank_class;
    hm_ints sequence;
    hm_double_rows frames;
    double loss;
    hm_value *gradient = NULL;
    if ((st = hm_arg_int(ctx, "blank", blank, &blank_class)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "labels", labels, &sequence)) == HMATH_OK &&
        (st = hm_arg_double_rows(ctx, "log_probabilities", log_probabilities, &frames)) ==
            HMATH_OK &&
        (st = hm_ctc_loss_gradient(ctx, blank_class, &sequence, &frames, &loss, &gradient)) ==
            HMATH_OK)
        st = publish_loss_and_gradient(ctx, loss, gradient, out);
    return hm_leave(ctx, st);
}
