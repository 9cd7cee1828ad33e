#include "neural/precision/quantized_tensor.h"

#include <math.h>
#include <string.h>

#include "tensor/view.h"

static void quantized_dispose(hm_value *self, hm_released *released)
{
    const hm_quantized *quantized = (const hm_quantized *)self;
    hm_release_later(released, quantized->values);
    hm_release_later(released, quantized->scales);
    hm_release_later(released, quantized->zeros);
}

static const hm_class quantized_class = {
    .kind = HMATH_KIND_QUANTIZED_TENSOR, .name = "QuantizedTensor", .dispose = quantized_dispose};
static const hm_class quantization_class = {.kind = HMATH_KIND_QUANTIZATION,
                                            .name = "Quantization"};

hm_status hm_quantization_create(hm_context *ctx, hm_scheme scheme, hm_quantization **out)
{
    hm_status st = hm_value_create(ctx, &quantization_class, sizeof(hm_quantization), out);
    if (st == HMATH_OK)
        (*out)->scheme = scheme;
    return st;
}

hm_slices hm_slices_of(const hm_shape *shape, int64_t axis)
{
    if (axis == HM_PER_TENSOR)
        return (hm_slices){1, 1, hm_shape_span(shape, 0, shape->rank)};
    return (hm_slices){
        .outer = hm_shape_span(shape, 0, (int32_t)axis),
        .channels = shape->extent[axis],
        .inner = hm_shape_span(shape, (int32_t)axis + 1, shape->rank),
    };
}

hm_status hm_quantized_create(hm_context *ctx, hm_scheme scheme, int64_t axis,
                              const hm_shape *shape, hm_quantized **out)
{
    hm_quantized *created = NULL;
    hm_status st = hm_value_create(ctx, &quantized_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    int64_t channels = hm_slices_of(shape, axis).channels;
    created->scheme = scheme;
    created->axis = axis;
    created->shape = *shape;
    created->size = hm_shape_span(shape, 0, shape->rank);
    if ((st = hm_list_reserve(ctx, HM_ELEMENT_INT8, created->size, &created->values)) != HMATH_OK ||
        (st = hm_list_reserve(ctx, HM_ELEMENT_DOUBLE, channels, &created->scales)) != HMATH_OK ||
        (st = hm_list_reserve(ctx, HM_ELEMENT_INT, channels, &created->zeros)) != HMATH_OK) {
        hm_release(created);
        return st;
    }
    *out = created;
    return HMATH_OK;
}

static hm_status check_codings(hm_context *ctx, int64_t scheme, const double *scales,
                               const int64_t *zeros, int64_t channels)
{
    for (int64_t i = 0; i < channels; i++) {
        if (!isfinite(scales[i]))
            return hm_fail_nonfinite(ctx, "scales", i, scales[i]);
        if (!(scales[i] > 0))
            return hm_fail_domain(ctx, "scales", i, scales[i], "> 0");
    }
    for (int64_t i = 0; i < channels; i++) {
        if (scheme == HM_SYMMETRIC && zeros[i] != 0)
            return hm_fail_domain_int(ctx, "zero_points", i, zeros[i],
                                      "0 for the symmetric scheme");
        if (zeros[i] < -128 || zeros[i] > 127)
            return hm_fail_domain_int(ctx, "zero_points", i, zeros[i], "-128 ... 127");
    }
    return HMATH_OK;
}

hm_status hm_quantized_from_parts(hm_context *ctx, int64_t scheme, int64_t axis, int64_t rank,
                                  const int64_t *extents, const int8_t *values,
                                  const double *scales, const int64_t *zeros, hm_quantized **out)
{
    hm_shape shape;
    int64_t size;
    hm_status st;
    if (scheme != HM_SYMMETRIC && scheme != HM_ASYMMETRIC)
        return hm_fail_domain_int(ctx, "scheme", HM_SCALAR, scheme,
                                  "1 (symmetric) or 2 (asymmetric)");
    if (axis != HM_PER_TENSOR && (axis < 0 || axis >= rank))
        return hm_fail_index(ctx, "axis", HM_SCALAR, axis, rank);
    if ((st = hm_shape_from_extents(ctx, "shape", rank, extents, &shape)) != HMATH_OK)
        return st;
    if (!hm_shape_size(&shape, &size))
        return hm_fail_memory(ctx);
    if ((st = hm_check_some(ctx, "values", size)) != HMATH_OK)
        return st;
    int64_t channels = hm_slices_of(&shape, axis).channels;
    if ((st = check_codings(ctx, scheme, scales, zeros, channels)) != HMATH_OK)
        return st;
    hm_quantized *created = NULL;
    if ((st = hm_quantized_create(ctx, (hm_scheme)scheme, axis, &shape, &created)) != HMATH_OK)
        return st;
    memcpy(created->values->data, values, (size_t)size);
    memcpy(created->scales->data, scales, (size_t)channels * sizeof *scales);
    memcpy(created->zeros->data, zeros, (size_t)channels * sizeof *zeros);
    *out = created;
    return HMATH_OK;
}
