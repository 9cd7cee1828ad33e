/* hmath_neural_layers_*: normalisation. */
#include "abi/edge.h"
#include "hmath_deeplearning.h"
#include "neural/layers/layers.h"

hmath_status hmath_neural_layers_batch_norm(hmath_context *ctx, const hmath_value *mode,
                                            const hmath_value *momentum, const hmath_value *epsilon,
                                            const hmath_value *gamma, const hmath_value *beta,
                                            const hmath_value *state, const hmath_value *input,
                                            hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.batch_norm", out);
    if (st != HMATH_OK)
        return st;
    const hm_training *training;
    double weight, offset;
    hm_doubles scales, shifts;
    const hm_batch_norm_state *record;
    const hm_tensor *batch;
    hm_tensor *result = NULL;
    hm_batch_norm_state *next = NULL;
    if ((st = hm_arg_object(ctx, "mode", mode, HMATH_KIND_TRAINING, &training)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "momentum", momentum, &weight)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "epsilon", epsilon, &offset)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "gamma", gamma, &scales)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "beta", beta, &shifts)) == HMATH_OK &&
        (st = hm_arg_object(ctx, "state", state, HMATH_KIND_BATCH_NORM_STATE, &record)) ==
            HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &batch)) == HMATH_OK &&
        (st = hm_batch_norm(ctx, training, weight, offset, &scales, &shifts, record, batch, &result,
                            &next)) == HMATH_OK)
        st = hm_publish_pair(ctx, &result->base, &next->base, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_layer_norm(hmath_context *ctx, const hmath_value *axes,
                                            const hmath_value *epsilon, const hmath_value *input,
                                            hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.layer_norm", out);
    if (st != HMATH_OK)
        return st;
    int64_t trailing;
    double offset;
    const hm_tensor *groups;
    hm_tensor *result = NULL;
    if ((st = hm_arg_int(ctx, "axes", axes, &trailing)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "epsilon", epsilon, &offset)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &groups)) == HMATH_OK &&
        (st = hm_layer_norm(ctx, trailing, offset, groups, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_rms_norm(hmath_context *ctx, const hmath_value *axes,
                                          const hmath_value *epsilon, const hmath_value *input,
                                          hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.rms_norm", out);
    if (st != HMATH_OK)
        return st;
    int64_t trailing;
    double offset;
    const hm_tensor *groups;
    hm_tensor *result = NULL;
    if ((st = hm_arg_int(ctx, "axes", axes, &trailing)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "epsilon", epsilon, &offset)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &groups)) == HMATH_OK &&
        (st = hm_rms_norm(ctx, trailing, offset, groups, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_instance_norm(hmath_context *ctx, const hmath_value *epsilon,
                                               const hmath_value *input, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.instance_norm", out);
    if (st != HMATH_OK)
        return st;
    double offset;
    const hm_tensor *instances;
    hm_tensor *result = NULL;
    if ((st = hm_arg_double(ctx, "epsilon", epsilon, &offset)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &instances)) == HMATH_OK &&
        (st = hm_instance_norm(ctx, offset, instances, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_group_norm(hmath_context *ctx, const hmath_value *groups,
                                            const hmath_value *epsilon, const hmath_value *input,
                                            hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.group_norm", out);
    if (st != HMATH_OK)
        return st;
    int64_t parts;
    double offset;
    const hm_tensor *channels;
    hm_tensor *result = NULL;
    if ((st = hm_arg_int(ctx, "groups", groups, &parts)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "epsilon", epsilon, &offset)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &channels)) == HMATH_OK &&
        (st = hm_group_norm(ctx, parts, offset, channels, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_weight_norm(hmath_context *ctx, const hmath_value *axis,
                                             const hmath_value *scales, const hmath_value *input,
                                             hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.weight_norm", out);
    if (st != HMATH_OK)
        return st;
    int64_t along;
    hm_doubles magnitudes;
    const hm_tensor *directions;
    hm_tensor *result = NULL;
    if ((st = hm_arg_int(ctx, "axis", axis, &along)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "scales", scales, &magnitudes)) == HMATH_OK &&
        (st = hm_arg_tensor(ctx, "input", input, &directions)) == HMATH_OK &&
        (st = hm_weight_norm(ctx, along, &magnitudes, directions, &result)) == HMATH_OK)
        *out = &result->base;
    return hm_leave(ctx, st);
}
