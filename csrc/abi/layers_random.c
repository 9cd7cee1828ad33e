/* The wrappers of hmath_neural_layers_* that draw random numbers. */
#include "hmath_deeplearning.h"

#include "abi/edge.h"
#include "neural/layers/dropout.h"
#include "neural/layers/initialise.h"
#include "runtime/list.h"

/* Publishes n references as a tuple; gives them back where there is no memory for one. */
static hm_status publish(hm_context *ctx, hm_value *const *items, size_t n, hm_value **out)
{
    hm_tuple *tuple = NULL;
    hm_status st = hm_tuple_take(ctx, items, n, &tuple);
    if (st == HMATH_OK)
        *out = &tuple->base;
    else
        for (size_t i = 0; i < n; i++)
            hm_release(items[i]);
    return st;
}

static hmath_status drop(hmath_context *ctx, const char *operation,
                         hm_status (*core)(hm_context *, const hm_training *, double,
                                           const hm_rng *, const hm_tensor *, hm_dropped *),
                         const hmath_value *mode, const hmath_value *probability,
                         const hmath_value *rng, const hmath_value *input, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    const hm_training *mode_value;
    double probability_value;
    const hm_rng *rng_value;
    const hm_tensor *input_value;
    hm_dropped dropped;
    if ((st = hm_arg_object(ctx, "mode", mode, HMATH_KIND_TRAINING, &mode_value)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "probability", probability, &probability_value)) == HMATH_OK &&
        (st = hm_arg_object(ctx, "rng", rng, HMATH_KIND_RNG, &rng_value)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &input_value)) == HMATH_OK &&
        (st = core(ctx, mode_value, probability_value, rng_value, input_value, &dropped)) ==
            HMATH_OK)
        st = publish(ctx,
                     (hm_value *[]){(hm_value *)&dropped.output->base,
                                    (hm_value *)&dropped.mask->base,
                                    (hm_value *)&dropped.next->base},
                     3, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_dropout(hmath_context *ctx, const hmath_value *mode,
                                         const hmath_value *probability, const hmath_value *rng,
                                         const hmath_value *input, hmath_value **out)
{
    return drop(ctx, "layers.dropout", hm_dropout, mode, probability, rng, input, out);
}

hmath_status hmath_neural_layers_spatial_dropout(hmath_context *ctx, const hmath_value *mode,
                                                 const hmath_value *probability,
                                                 const hmath_value *rng, const hmath_value *input,
                                                 hmath_value **out)
{
    return drop(ctx, "layers.spatial_dropout", hm_spatial_dropout, mode, probability, rng, input,
                out);
}

hmath_status hmath_neural_layers_initialize_weights(hmath_context *ctx, const hmath_value *method,
                                                    const hmath_value *fan_in,
                                                    const hmath_value *fan_out,
                                                    const hmath_value *shape,
                                                    const hmath_value *rng, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.initialize_weights", out);
    if (st != HMATH_OK)
        return st;
    const hm_initializer *method_value;
    int64_t fan_in_value, fan_out_value;
    hm_ints shape_value;
    const hm_rng *rng_value;
    hm_initialised made;
    if ((st = hm_arg_object(ctx, "method", method, HMATH_KIND_INITIALIZER, &method_value)) ==
            HMATH_OK &&
        (st = hm_arg_int(ctx, "fan_in", fan_in, &fan_in_value)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "fan_out", fan_out, &fan_out_value)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "shape", shape, &shape_value)) == HMATH_OK &&
        (st = hm_arg_object(ctx, "rng", rng, HMATH_KIND_RNG, &rng_value)) == HMATH_OK &&
        (st = hm_initialize_weights(ctx, method_value, fan_in_value, fan_out_value, &shape_value,
                                    rng_value, &made)) == HMATH_OK)
        st = publish(ctx,
                     (hm_value *[]){(hm_value *)&made.weights->base, (hm_value *)&made.next->base},
                     2, out);
    return hm_leave(ctx, st);
}
