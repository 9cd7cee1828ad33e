#include "tensor/tensor.h"

#include "runtime/checked.h"

static void tensor_dispose(hm_value *self, hm_released *released)
{
    (void)released;
    hm_buffer_release(((hm_tensor *)self)->buffer);
}

static const hm_class double_class = {
    .kind = HMATH_KIND_TENSOR_DOUBLE, .name = "Tensor Double", .dispose = tensor_dispose};
static const hm_class float_class = {
    .kind = HMATH_KIND_TENSOR_FLOAT, .name = "Tensor Float", .dispose = tensor_dispose};

/* A tensor without elements yet. */
static hm_status create_header(hm_context *ctx, const hm_class *class, const hm_shape *shape,
                               hm_tensor **out)
{
    int64_t size;
    if (!hm_shape_size(shape, &size))
        return hm_fail_memory(ctx);
    hm_status st = hm_value_create(ctx, class, sizeof(hm_tensor), out);
    if (st != HMATH_OK)
        return st;
    (*out)->shape = *shape;
    (*out)->size = size;
    return HMATH_OK;
}

static hm_status create(hm_context *ctx, const hm_class *class, const hm_shape *shape,
                        size_t element, hm_tensor **out)
{
    hm_tensor *tensor = NULL;
    hm_status st = create_header(ctx, class, shape, &tensor);
    if (st != HMATH_OK)
        return st;
    st = hm_buffer_create(ctx, (size_t)tensor->size * element, &tensor->buffer);
    if (st != HMATH_OK) {
        hm_release(tensor);
        return st;
    }
    *out = tensor;
    return HMATH_OK;
}

hm_status hm_tensor_create(hm_context *ctx, const hm_shape *shape, hm_tensor **out)
{
    hm_tensor *tensor = NULL;
    hm_status st = create(ctx, &double_class, shape, sizeof(double), &tensor);
    if (st != HMATH_OK)
        return st;
    tensor->data = tensor->buffer->data;
    *out = tensor;
    return HMATH_OK;
}

hm_status hm_tensor_float_create(hm_context *ctx, const hm_shape *shape, hm_tensor **out)
{
    hm_tensor *tensor = NULL;
    hm_status st = create(ctx, &float_class, shape, sizeof(float), &tensor);
    if (st != HMATH_OK)
        return st;
    tensor->floats = tensor->buffer->data;
    *out = tensor;
    return HMATH_OK;
}

hm_status hm_tensor_like(hm_context *ctx, const hm_tensor *tensor, hm_tensor **out)
{
    return hm_tensor_create(ctx, &tensor->shape, out);
}

hm_status hm_tensor_adopt(hm_context *ctx, const hm_shape *shape, double *data,
                          void (*release)(void *), void *user, hm_tensor **out)
{
    hm_tensor *tensor = NULL;
    hm_status st = create_header(ctx, &double_class, shape, &tensor);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_buffer_adopt(ctx, data, release, user, &tensor->buffer)) != HMATH_OK) {
        hm_release(tensor);
        return st;
    }
    tensor->data = data;
    *out = tensor;
    return HMATH_OK;
}

hm_status hm_tensor_share(hm_context *ctx, const hm_tensor *tensor, int64_t offset,
                          const hm_shape *shape, hm_tensor **out)
{
    hm_tensor *view = NULL;
    hm_status st = create_header(ctx, tensor->base.class, shape, &view);
    if (st != HMATH_OK)
        return st;
    view->buffer = hm_buffer_retain(tensor->buffer);
    if (tensor->data)
        view->data = tensor->data + offset;
    if (tensor->floats)
        view->floats = tensor->floats + offset;
    atomic_init(&view->known_finite, atomic_load_explicit(&tensor->known_finite, memory_order_relaxed));
    *out = view;
    return HMATH_OK;
}

hm_status hm_tensor_over(hm_context *ctx, hm_buffer *buffer, const hm_shape *shape, hm_tensor **out)
{
    hm_tensor *tensor = NULL;
    hm_status st = create_header(ctx, &double_class, shape, &tensor);
    if (st != HMATH_OK)
        return st;
    tensor->buffer = hm_buffer_retain(buffer);
    tensor->data = buffer->data;
    *out = tensor;
    return HMATH_OK;
}

const hm_tensor *hm_tensor_from_value(const hm_value *v)
{
    return hm_value_is(v, HMATH_KIND_TENSOR_DOUBLE) ? (const hm_tensor *)v : NULL;
}

const hm_tensor *hm_tensor_float_from_value(const hm_value *v)
{
    return hm_value_is(v, HMATH_KIND_TENSOR_FLOAT) ? (const hm_tensor *)v : NULL;
}
