#include "neural/layers/record.h"

static void conv_options_dispose(hm_value *self, hm_released *released)
{
    const hm_conv_options *options = (hm_conv_options *)self;
    hm_release_later(released, options->stride);
    hm_release_later(released, options->padding);
    hm_release_later(released, options->dilation);
}

static void batch_norm_state_dispose(hm_value *self, hm_released *released)
{
    const hm_batch_norm_state *state = (hm_batch_norm_state *)self;
    hm_release_later(released, state->running_mean);
    hm_release_later(released, state->running_variance);
}

static const hm_class training_class = {.kind = HMATH_KIND_TRAINING, .name = "Training"};
static const hm_class pool_mode_class = {.kind = HMATH_KIND_POOL_MODE, .name = "PoolMode"};
static const hm_class initializer_class = {.kind = HMATH_KIND_INITIALIZER, .name = "Initializer"};
static const hm_class conv_options_class = {
    .kind = HMATH_KIND_CONV_OPTIONS, .name = "ConvOptions", .dispose = conv_options_dispose};
static const hm_class batch_norm_state_class = {.kind = HMATH_KIND_BATCH_NORM_STATE,
                                                .name = "BatchNormState",
                                                .dispose = batch_norm_state_dispose};

hm_status hm_training_create(hm_context *ctx, bool training, hm_training **out)
{
    hm_status st = hm_value_create(ctx, &training_class, sizeof **out, out);
    if (st == HMATH_OK)
        (*out)->training = training;
    return st;
}

hm_status hm_pool_mode_create(hm_context *ctx, hm_pool_method method, hm_pool_mode **out)
{
    hm_status st = hm_value_create(ctx, &pool_mode_class, sizeof **out, out);
    if (st == HMATH_OK)
        (*out)->method = method;
    return st;
}

hm_status hm_initializer_create(hm_context *ctx, const hm_initializer *like, hm_initializer **out)
{
    hm_initializer *created = NULL;
    hm_status st = hm_value_create(ctx, &initializer_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    created->method = like->method;
    created->scale = like->scale;
    created->mean = like->mean;
    created->standard_deviation = like->standard_deviation;
    created->bound = like->bound;
    *out = created;
    return HMATH_OK;
}

/* As hm_list_of_doubles. */
static hm_status list_of_ints(hm_context *ctx, const hm_ints *view, hm_list **out)
{
    const hm_list *list = hm_list_from_value(view->source);
    if (list && !list->block) {
        *out = hm_retain(list);
        return HMATH_OK;
    }
    return hm_list_copy(ctx, HM_ELEMENT_INT, view->data, view->length, out);
}

hm_status hm_conv_options_create(hm_context *ctx, const hm_ints *stride, const hm_ints *padding,
                                 const hm_ints *dilation, int64_t groups, hm_conv_options **out)
{
    hm_status st;
    hm_list *strides = NULL, *paddings = NULL, *dilations = NULL;
    hm_conv_options *created = NULL;
    if ((st = list_of_ints(ctx, stride, &strides)) != HMATH_OK ||
        (st = list_of_ints(ctx, padding, &paddings)) != HMATH_OK ||
        (st = list_of_ints(ctx, dilation, &dilations)) != HMATH_OK ||
        (st = hm_value_create(ctx, &conv_options_class, sizeof *created, &created)) != HMATH_OK)
        goto done;
    created->stride = hm_retain(strides);
    created->padding = hm_retain(paddings);
    created->dilation = hm_retain(dilations);
    created->groups = groups;
    *out = created;
done:
    hm_release(strides);
    hm_release(paddings);
    hm_release(dilations);
    return st;
}

hm_status hm_batch_norm_state_create(hm_context *ctx, const hm_doubles *running_mean,
                                     const hm_doubles *running_variance, int64_t batches_seen,
                                     hm_batch_norm_state **out)
{
    hm_status st;
    hm_list *means = NULL, *variances = NULL;
    hm_batch_norm_state *created = NULL;
    if ((st = hm_check_vector(ctx, "running_mean", running_mean)) != HMATH_OK ||
        (st = hm_check_vector(ctx, "running_variance", running_variance)) != HMATH_OK)
        return st;
    if ((st = hm_list_of_doubles(ctx, running_mean, &means)) != HMATH_OK ||
        (st = hm_list_of_doubles(ctx, running_variance, &variances)) != HMATH_OK ||
        (st = hm_value_create(ctx, &batch_norm_state_class, sizeof *created, &created)) != HMATH_OK)
        goto done;
    created->running_mean = hm_retain(means);
    created->running_variance = hm_retain(variances);
    created->batches_seen = batches_seen;
    *out = created;
done:
    hm_release(means);
    hm_release(variances);
    return st;
}

hm_ints hm_ints_of(const hm_list *list)
{
    return (hm_ints){.data = list->data, .length = list->length, .source = &list->base};
}

hm_doubles hm_doubles_of(const hm_list *list)
{
    return (hm_doubles){
        .data = list->data, .length = list->length, .rank = 1, .source = &list->base};
}
