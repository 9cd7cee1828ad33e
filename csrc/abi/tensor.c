/* Tensors at the edge: making, reading, moving. Arithmetic is in tensor_arithmetic.c. */
#include "hmath_tensor.h"

#include <math.h>
#include <string.h>

#include "abi/edge.h"
#include "tensor/arrange.h"
#include "tensor/convert.h"

/* Enter, refuse a null array where numbers are needed, and read the shape. */
static hm_status enter_making(hm_context *ctx, const char *operation, int32_t rank,
                              const int64_t *shape, hm_value **out, hm_shape *found)
{
    hm_status st = hm_edge_enter(ctx, operation, out);
    if (st != HMATH_OK)
        return st;
    if (!shape && rank > 0)
        st = hm_fail_argument(ctx, "shape", "is null");
    else
        st = hm_shape_from_extents(ctx, "shape", rank, shape, found);
    return st == HMATH_OK ? st : hm_leave(ctx, st);
}

/* Does a shape ask for numbers that are not there? */
static bool lacks(const hm_shape *shape, const void *values)
{
    int64_t size;
    return !values && !(hm_shape_size(shape, &size) && size == 0);
}

static hm_status publish(hm_context *ctx, hm_status st, hm_tensor *tensor, hm_value **out)
{
    if (st == HMATH_OK)
        *out = &tensor->base;
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- making */

hmath_status hmath_tensor_create(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                 const double *values, hmath_value **out)
{
    hm_shape wanted;
    hm_tensor *tensor = NULL;
    hm_status st = enter_making(ctx, "tensor.tensor", rank, shape, out, &wanted);
    if (st != HMATH_OK)
        return st;
    if (lacks(&wanted, values))
        st = hm_fail_argument(ctx, "values", "is null");
    else if ((st = hm_tensor_create(ctx, &wanted, &tensor)) == HMATH_OK && tensor->size > 0)
        memcpy(tensor->data, values, (size_t)tensor->size * sizeof *values);
    return publish(ctx, st, tensor, out);
}

hmath_status hmath_tensor_from_floats(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                      const float *values, hmath_value **out)
{
    hm_shape wanted;
    hm_tensor *tensor = NULL;
    hm_status st = enter_making(ctx, "tensor.tensor_float", rank, shape, out, &wanted);
    if (st != HMATH_OK)
        return st;
    if (lacks(&wanted, values))
        st = hm_fail_argument(ctx, "values", "is null");
    else if ((st = hm_tensor_float_create(ctx, &wanted, &tensor)) == HMATH_OK && tensor->size > 0)
        memcpy(tensor->floats, values, (size_t)tensor->size * sizeof *values);
    return publish(ctx, st, tensor, out);
}

static hm_status check_adopted(hm_context *ctx, const hm_shape *shape, const void *data,
                               size_t element)
{
    if (lacks(shape, data))
        return hm_fail_argument(ctx, "data", "is null");
    return (uintptr_t)data % element == 0 ? HMATH_OK
                                          : hm_fail_argument(ctx, "data", "is misaligned");
}

hmath_status hmath_tensor_adopt(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                double *data, void (*release)(void *), void *user,
                                hmath_value **out)
{
    hm_shape wanted;
    hm_tensor *tensor = NULL;
    hm_status st = enter_making(ctx, "tensor.adopt", rank, shape, out, &wanted);
    if (st != HMATH_OK)
        return st;
    if ((st = check_adopted(ctx, &wanted, data, sizeof *data)) == HMATH_OK)
        st = hm_tensor_adopt(ctx, &wanted, data, release, user, &tensor);
    return publish(ctx, st, tensor, out);
}

hmath_status hmath_tensor_adopt_floats(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                       float *data, void (*release)(void *), void *user,
                                       hmath_value **out)
{
    hm_shape wanted;
    hm_tensor *tensor = NULL;
    hm_status st = enter_making(ctx, "tensor.adopt", rank, shape, out, &wanted);
    if (st != HMATH_OK)
        return st;
    if ((st = check_adopted(ctx, &wanted, data, sizeof *data)) == HMATH_OK)
        st = hm_tensor_float_adopt(ctx, &wanted, data, release, user, &tensor);
    return publish(ctx, st, tensor, out);
}

hmath_status hmath_tensor_zeros(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                hmath_value **out)
{
    hm_shape wanted;
    hm_tensor *tensor = NULL;
    hm_status st = enter_making(ctx, "tensor.zeros", rank, shape, out, &wanted);
    if (st != HMATH_OK)
        return st;
    st = hm_tensor_zeros(ctx, &wanted, &tensor);
    return publish(ctx, st, tensor, out);
}

static void fill(hm_tensor *tensor, double x)
{
    for (int64_t i = 0; i < tensor->size; i++)
        tensor->data[i] = x;
    if (isfinite(x))
        hm_tensor_remember_finite(tensor);
}

hmath_status hmath_tensor_full(hmath_context *ctx, int32_t rank, const int64_t *shape, double x,
                               hmath_value **out)
{
    hm_shape wanted;
    hm_tensor *tensor = NULL;
    hm_status st = enter_making(ctx, "tensor.full", rank, shape, out, &wanted);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_tensor_create(ctx, &wanted, &tensor)) == HMATH_OK)
        fill(tensor, x);
    return publish(ctx, st, tensor, out);
}

/* ------------------------------------------------- reading */

int32_t hmath_tensor_rank(const hmath_value *v)
{
    const hm_tensor *tensor = hm_tensor_either_from_value(v);
    return tensor ? tensor->shape.rank : -1;
}

int64_t hmath_tensor_size(const hmath_value *v)
{
    const hm_tensor *tensor = hm_tensor_either_from_value(v);
    return tensor ? tensor->size : -1;
}

const int64_t *hmath_tensor_shape(const hmath_value *v)
{
    const hm_tensor *tensor = hm_tensor_either_from_value(v);
    return tensor ? tensor->shape.extent : NULL;
}

const double *hmath_tensor_data(const hmath_value *v)
{
    const hm_tensor *tensor = hm_tensor_from_value(v);
    return tensor ? tensor->data : NULL;
}

const float *hmath_tensor_float_data(const hmath_value *v)
{
    const hm_tensor *tensor = hm_tensor_float_from_value(v);
    return tensor ? tensor->floats : NULL;
}

int32_t hmath_tensor_identical(const hmath_value *a, const hmath_value *b)
{
    const hm_tensor *left = hm_tensor_either_from_value(a), *right = hm_tensor_either_from_value(b);
    return left && right ? hm_tensor_identical(left, right) : -1;
}

static hm_status element_at(hm_context *ctx, const hm_tensor *tensor, const int64_t *index,
                            double *out)
{
    int64_t place = 0;
    for (int32_t i = 0; i < tensor->shape.rank; i++) {
        if (index[i] < 0 || index[i] >= tensor->shape.extent[i])
            return hm_fail_index(ctx, "index", i, index[i], tensor->shape.extent[i]);
        place = place * tensor->shape.extent[i] + index[i];
    }
    *out = tensor->data ? tensor->data[place] : (double)tensor->floats[place];
    return HMATH_OK;
}

hmath_status hmath_tensor_element(hmath_context *ctx, const hmath_value *input,
                                  const int64_t *index, double *out)
{
    hm_status st = hm_enter(ctx, "tensor.element");
    if (st != HMATH_OK)
        return st;
    const hm_tensor *tensor;
    if (!out)
        st = hm_fail_argument(ctx, "out", "is null");
    else if ((st = hm_arg_either_tensor(ctx, "input", input, &tensor)) == HMATH_OK)
        st = !index && tensor->shape.rank > 0 ? hm_fail_argument(ctx, "index", "is null")
                                              : element_at(ctx, tensor, index, out);
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- between the two kinds */

hmath_status hmath_tensor_promote(hmath_context *ctx, const hmath_value *input, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.promote", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *tensor;
    hm_tensor *result = NULL;
    if ((st = hm_arg_object(ctx, "input", input, HMATH_KIND_TENSOR_FLOAT, &tensor)) == HMATH_OK)
        st = hm_promote(ctx, tensor, &result);
    return publish(ctx, st, result, out);
}

hmath_status hmath_tensor_demote(hmath_context *ctx, const hmath_value *input, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.demote", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *tensor;
    hm_tensor *result = NULL;
    if ((st = hm_arg_tensor(ctx, "input", input, &tensor)) == HMATH_OK)
        st = hm_demote(ctx, tensor, &result);
    return publish(ctx, st, result, out);
}

/* ------------------------------------------------- movement */

hmath_status hmath_tensor_reshape(hmath_context *ctx, const hmath_value *input, int32_t rank,
                                  const int64_t *shape, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.reshape", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *tensor;
    hm_tensor *result = NULL;
    if (!shape && rank > 0)
        st = hm_fail_argument(ctx, "shape", "is null");
    else if ((st = hm_arg_either_tensor(ctx, "input", input, &tensor)) == HMATH_OK)
        st = hm_reshape(ctx, tensor, rank, shape, &result);
    return publish(ctx, st, result, out);
}

hmath_status hmath_tensor_transpose(hmath_context *ctx, const hmath_value *input,
                                    const int64_t *axes, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.transpose", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *tensor;
    hm_tensor *result = NULL;
    if ((st = hm_arg_either_tensor(ctx, "input", input, &tensor)) == HMATH_OK)
        st = hm_transpose(ctx, tensor, axes, &result);
    return publish(ctx, st, result, out);
}

hmath_status hmath_tensor_slice(hmath_context *ctx, const hmath_value *input, const int64_t *start,
                                const int64_t *stop, const int64_t *step, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.slice", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *tensor;
    hm_tensor *result = NULL;
    if ((st = hm_arg_either_tensor(ctx, "input", input, &tensor)) != HMATH_OK)
        return hm_leave(ctx, st);
    if (step && !start && tensor->shape.rank > 0)
        st = hm_fail_argument(ctx, "start", "is null");
    else if (step && !stop && tensor->shape.rank > 0)
        st = hm_fail_argument(ctx, "stop", "is null");
    else
        st = hm_slice(ctx, tensor, start, stop, step, &result);
    return publish(ctx, st, result, out);
}

/* Tensors, all of the kind of the first. */
static hm_status check_tensors(hm_context *ctx, const hm_value *const *tensors, size_t count)
{
    if (!tensors && count)
        return hm_fail_argument(ctx, "tensors", "is null");
    if (count > (size_t)INT64_MAX)
        return hm_fail_memory(ctx);
    const hm_tensor *first, *tensor;
    for (size_t i = 0; i < count; i++) {
        hm_status st =
            i == 0 ? hm_arg_either_tensor(ctx, "tensors", tensors[i], &first)
                   : hm_arg_object(ctx, "tensors", tensors[i], first->base.class->kind, &tensor);
        if (st != HMATH_OK)
            return st;
    }
    return HMATH_OK;
}

hmath_status hmath_tensor_concatenate(hmath_context *ctx, const hmath_value *const *tensors,
                                      size_t count, int64_t axis, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.concatenate", out);
    if (st != HMATH_OK)
        return st;
    hm_tensor *result = NULL;
    if ((st = check_tensors(ctx, tensors, count)) == HMATH_OK)
        st = hm_concatenate(ctx, tensors, (int64_t)count, axis, &result);
    return publish(ctx, st, result, out);
}

hmath_status hmath_tensor_stack(hmath_context *ctx, const hmath_value *const *tensors, size_t count,
                                int64_t axis, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.stack", out);
    if (st != HMATH_OK)
        return st;
    hm_tensor *result = NULL;
    if ((st = check_tensors(ctx, tensors, count)) == HMATH_OK)
        st = hm_stack(ctx, tensors, (int64_t)count, axis, &result);
    return publish(ctx, st, result, out);
}

hmath_status hmath_tensor_broadcast_to(hmath_context *ctx, const hmath_value *input, int32_t rank,
                                       const int64_t *shape, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.broadcast_to", out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *tensor;
    hm_tensor *result = NULL;
    if (!shape && rank > 0)
        st = hm_fail_argument(ctx, "shape", "is null");
    else if ((st = hm_arg_either_tensor(ctx, "input", input, &tensor)) == HMATH_OK)
        st = hm_broadcast_to(ctx, tensor, rank, shape, &result);
    return publish(ctx, st, result, out);
}
