/* The selectors and records of hmath_neural_layers_*: constructors and field readers. */
#include "abi/edge.h"
#include "abi/field.h"
#include "hmath_deeplearning.h"
#include "neural/layers/record.h"

/* ------------------------------------------------- selectors */

static hm_status create_training(hm_context *ctx, const char *operation, bool training,
                                 hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    hm_training *created = NULL;
    if ((st = hm_training_create(ctx, training, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_training_create(hmath_context *ctx, hmath_value **out)
{
    return create_training(ctx, "layers.Training.TRAINING", true, out);
}

hmath_status hmath_neural_layers_inference_create(hmath_context *ctx, hmath_value **out)
{
    return create_training(ctx, "layers.Inference", false, out);
}

static hm_status create_pool_mode(hm_context *ctx, const char *operation, hm_pool_method method,
                                  hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    hm_pool_mode *created = NULL;
    if ((st = hm_pool_mode_create(ctx, method, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_max_pool_create(hmath_context *ctx, hmath_value **out)
{
    return create_pool_mode(ctx, "layers.MaxPool", HM_POOL_MAX, out);
}

hmath_status hmath_neural_layers_average_pool_create(hmath_context *ctx, hmath_value **out)
{
    return create_pool_mode(ctx, "layers.AveragePool", HM_POOL_AVERAGE, out);
}

static hm_status publish_initializer(hm_context *ctx, const hm_initializer *like, hm_value **out)
{
    hm_initializer *created = NULL;
    hm_status st = hm_initializer_create(ctx, like, &created);
    if (st == HMATH_OK)
        *out = &created->base;
    return st;
}

static hm_status create_initializer(hm_context *ctx, const char *operation,
                                    hm_initializer_method method, hm_value **out)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    return hm_leave(ctx, publish_initializer(ctx, &(hm_initializer){.method = method}, out));
}

hmath_status hmath_neural_layers_xavier_uniform_create(hmath_context *ctx, hmath_value **out)
{
    return create_initializer(ctx, "layers.XavierUniform", HM_XAVIER_UNIFORM, out);
}

hmath_status hmath_neural_layers_xavier_normal_create(hmath_context *ctx, hmath_value **out)
{
    return create_initializer(ctx, "layers.XavierNormal", HM_XAVIER_NORMAL, out);
}

hmath_status hmath_neural_layers_kaiming_uniform_create(hmath_context *ctx, hmath_value **out)
{
    return create_initializer(ctx, "layers.KaimingUniform", HM_KAIMING_UNIFORM, out);
}

hmath_status hmath_neural_layers_kaiming_normal_create(hmath_context *ctx, hmath_value **out)
{
    return create_initializer(ctx, "layers.KaimingNormal", HM_KAIMING_NORMAL, out);
}

hmath_status hmath_neural_layers_orthogonal_create(hmath_context *ctx, const hmath_value *scale,
                                                   hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.Orthogonal", out);
    if (st != HMATH_OK)
        return st;
    hm_initializer like = {.method = HM_ORTHOGONAL};
    if ((st = hm_arg_double(ctx, "scale", scale, &like.scale)) == HMATH_OK)
        st = publish_initializer(ctx, &like, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_neural_layers_truncated_normal_create(hmath_context *ctx,
                                                         const hmath_value *mean,
                                                         const hmath_value *standard_deviation,
                                                         const hmath_value *bound,
                                                         hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.TruncatedNormal", out);
    if (st != HMATH_OK)
        return st;
    hm_initializer like = {.method = HM_TRUNCATED_NORMAL};
    if ((st = hm_arg_double(ctx, "mean", mean, &like.mean)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "standard_deviation", standard_deviation,
                            &like.standard_deviation)) == HMATH_OK &&
        (st = hm_arg_double(ctx, "bound", bound, &like.bound)) == HMATH_OK)
        st = publish_initializer(ctx, &like, out);
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- ConvOptions */

hmath_status hmath_neural_layers_conv_options_create(hmath_context *ctx, const hmath_value *stride,
                                                     const hmath_value *padding,
                                                     const hmath_value *dilation,
                                                     const hmath_value *groups, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.ConvOptions", out);
    if (st != HMATH_OK)
        return st;
    hm_ints strides, paddings, dilations;
    int64_t group_count;
    hm_conv_options *created = NULL;
    if ((st = hm_arg_ints(ctx, "stride", stride, &strides)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "padding", padding, &paddings)) == HMATH_OK &&
        (st = hm_arg_ints(ctx, "dilation", dilation, &dilations)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "groups", groups, &group_count)) == HMATH_OK &&
        (st = hm_conv_options_create(ctx, &strides, &paddings, &dilations, group_count,
                                     &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

HM_FIELD(layers, convolution_stride, options, HMATH_KIND_CONV_OPTIONS, hm_conv_options, stride)
HM_FIELD(layers, convolution_padding, options, HMATH_KIND_CONV_OPTIONS, hm_conv_options, padding)
HM_FIELD(layers, convolution_dilation, options, HMATH_KIND_CONV_OPTIONS, hm_conv_options, dilation)
HM_FIELD(layers, convolution_groups, options, HMATH_KIND_CONV_OPTIONS, hm_conv_options, groups)

/* ------------------------------------------------- BatchNormState */

hmath_status hmath_neural_layers_batch_norm_state_create(hmath_context *ctx,
                                                         const hmath_value *running_mean,
                                                         const hmath_value *running_variance,
                                                         const hmath_value *batches_seen,
                                                         hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "layers.BatchNormState", out);
    if (st != HMATH_OK)
        return st;
    hm_doubles means, variances;
    int64_t batches;
    hm_batch_norm_state *created = NULL;
    if ((st = hm_arg_doubles(ctx, "running_mean", running_mean, &means)) == HMATH_OK &&
        (st = hm_arg_doubles(ctx, "running_variance", running_variance, &variances)) == HMATH_OK &&
        (st = hm_arg_int(ctx, "batches_seen", batches_seen, &batches)) == HMATH_OK &&
        (st = hm_batch_norm_state_create(ctx, &means, &variances, batches, &created)) == HMATH_OK)
        *out = &created->base;
    return hm_leave(ctx, st);
}

HM_FIELD(layers, running_mean, state, HMATH_KIND_BATCH_NORM_STATE, hm_batch_norm_state,
         running_mean)
HM_FIELD(layers, running_variance, state, HMATH_KIND_BATCH_NORM_STATE, hm_batch_norm_state,
         running_variance)
HM_FIELD(layers, batches_seen, state, HMATH_KIND_BATCH_NORM_STATE, hm_batch_norm_state,
         batches_seen)
