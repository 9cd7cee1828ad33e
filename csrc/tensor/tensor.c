#include "tensor/tensor.h"

#include <string.h>

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

hm_status hm_tensor_zeros(hm_context *ctx, const hm_shape *shape, hm_tensor **out)
{
    hm_tensor *tensor = NULL;
    hm_status st = hm_tensor_create(ctx, shape, &tensor);
    if (st != HMATH_OK)
        return st;
    memset(tensor->data, 0, (size_t)tensor->size * sizeof(double));
    hm_tensor_remember_finite(tensor);
    *out = tensor;
    return HMATH_OK;
}

/* What an adopted tensor without elements points to instead of NULL. */
static double nothing;

static hm_status adopt(hm_context *ctx, const hm_class *class, const hm_shape *shape, void *data,
                       void (*release)(void *), void *user, hm_tensor **out)
{
    hm_tensor *tensor = NULL;
    hm_status st = create_header(ctx, class, shape, &tensor);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_buffer_adopt(ctx, data ? data : &nothing, release, user, &tensor->buffer)) !=
        HMATH_OK) {
        hm_release(tensor);
        return st;
    }
    *out = tensor;
    return HMATH_OK;
}

hm_status hm_tensor_adopt(hm_context *ctx, const hm_shape *shape, double *data,
                          void (*release)(void *), void *user, hm_tensor **out)
{
    hm_status st = adopt(ctx, &double_class, shape, data, release, user, out);
    if (st == HMATH_OK)
        (*out)->data = (*out)->buffer->data;
    return st;
}

hm_status hm_tensor_float_adopt(hm_context *ctx, const hm_shape *shape, float *data,
                                void (*release)(void *), void *user, hm_tensor **out)
{
    hm_status st = adopt(ctx, &float_class, shape, data, release, user, out);
    if (st == HMATH_OK)
        (*out)->floats = (*out)->buffer->data;
    return st;
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
    atomic_init(&view->known_finite, hm_tensor_known_finite(tensor));
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

const hm_tensor *hm_tensor_either_from_value(const hm_value *v)
{
    const hm_tensor *tensor = hm_tensor_from_value(v);
    return tensor ? tensor : hm_tensor_float_from_value(v);
}

static bool is_double(const hm_tensor *tensor) { return tensor->base.class == &double_class; }

void *hm_tensor_elements(const hm_tensor *tensor)
{
    return is_double(tensor) ? (void *)tensor->data : (void *)tensor->floats;
}

size_t hm_tensor_element_size(const hm_tensor *tensor)
{
    return is_double(tensor) ? sizeof(double) : sizeof(float);
}

hm_status hm_tensor_of_kind(hm_context *ctx, const hm_tensor *kind, const hm_shape *shape,
                            hm_tensor **out)
{
    return is_double(kind) ? hm_tensor_create(ctx, shape, out)
                           : hm_tensor_float_create(ctx, shape, out);
}

bool hm_tensor_identical(const hm_tensor *a, const hm_tensor *b)
{
    return a->base.class == b->base.class && hm_shape_equal(&a->shape, &b->shape) &&
           memcmp(hm_tensor_elements(a), hm_tensor_elements(b),
                  (size_t)a->size * hm_tensor_element_size(a)) == 0;
}

void hm_tensor_remember_finite(const hm_tensor *tensor)
{
    atomic_bool *known = (atomic_bool *)(uintptr_t)&tensor->known_finite;
    atomic_store_explicit(known, true, memory_order_relaxed);
}

bool hm_tensor_known_finite(const hm_tensor *tensor)
{
    atomic_bool *known = (atomic_bool *)(uintptr_t)&tensor->known_finite;
    return atomic_load_explicit(known, memory_order_relaxed);
}
