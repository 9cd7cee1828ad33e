/* The moves that operations come to, and the operations. */
#include "tensor/arrange.h"

#include <stdio.h>
#include <string.h>

#include "runtime/checked.h"

/* ------------------------------------------------- moves from shapes */

/* Every position of `result`, row-major, with nothing said about where it comes from. */
static hm_move move_into(const hm_shape *result)
{
    hm_move move = {.axes = result->rank};
    memcpy(move.extent, result->extent, sizeof move.extent);
    hm_shape_strides(result, move.to);
    return move;
}

hm_move hm_move_transpose(const hm_shape *input, const int32_t axes[HM_MAX_RANK])
{
    hm_shape result = {.rank = input->rank};
    int64_t stride[HM_MAX_RANK];
    hm_shape_strides(input, stride);
    for (int32_t i = 0; i < input->rank; i++)
        result.extent[i] = input->extent[axes[i]];
    hm_move move = move_into(&result);
    for (int32_t i = 0; i < input->rank; i++)
        move.from[i] = stride[axes[i]];
    return move;
}

hm_move hm_move_broadcast(const hm_shape *input, const hm_shape *result)
{
    hm_move move = move_into(result);
    int64_t stride[HM_MAX_RANK];
    hm_shape_strides(input, stride);
    const int32_t added = result->rank - input->rank;
    for (int32_t i = 0; i < input->rank; i++)
        move.from[added + i] = input->extent[i] == 1 ? 0 : stride[i];
    return move;
}

hm_move hm_move_slice(const hm_shape *input, const int64_t start[HM_MAX_RANK],
                      const int64_t step[HM_MAX_RANK], const hm_shape *part)
{
    hm_move move = move_into(part);
    int64_t stride[HM_MAX_RANK], size = hm_shape_span(part, 0, part->rank);
    hm_shape_strides(input, stride);
    for (int32_t i = 0; i < input->rank && size > 0; i++) {
        move.from_start += start[i] * stride[i];
        move.from[i] = part->extent[i] > 1 ? step[i] * stride[i] : 0; /* a lone step may be huge */
    }
    return move;
}

hm_move hm_move_unslice(const hm_move *slice)
{
    hm_move move = *slice;
    memcpy(move.from, slice->to, sizeof move.from);
    memcpy(move.to, slice->from, sizeof move.to);
    move.from_start = slice->to_start;
    move.to_start = slice->from_start;
    return move;
}

/*
 * A new tensor of the input's kind, filled by a move. What is known of the input's elements stays
 * known.
 */
static hm_status moved(hm_context *ctx, const hm_tensor *input, const hm_shape *shape,
                       const hm_move *move, hm_tensor **out)
{
    hm_tensor *result = NULL;
    hm_status st = hm_tensor_of_kind(ctx, input, shape, &result);
    if (st != HMATH_OK)
        return st;
    hm_move_run(ctx, move, hm_tensor_element_size(input), hm_tensor_elements(input),
                hm_tensor_elements(result));
    if (hm_tensor_known_finite(input))
        hm_tensor_remember_finite(result);
    *out = result;
    return HMATH_OK;
}

/* ------------------------------------------------- reshape, transpose, broadcast_to */

hm_status hm_reshape(hm_context *ctx, const hm_tensor *input, int32_t rank, const int64_t *shape,
                     hm_tensor **out)
{
    hm_shape wanted;
    int64_t size;
    hm_status st = hm_shape_from_extents(ctx, "shape", rank, shape, &wanted);
    if (st != HMATH_OK)
        return st;
    if (!hm_shape_size(&wanted, &size) || size != input->size) {
        char expected[64], actual[128];
        snprintf(expected, sizeof expected, "a shape of %lld elements", (long long)input->size);
        hm_shape_text(&wanted, actual, sizeof actual);
        return hm_fail_shape(ctx, "shape", expected, actual);
    }
    return hm_tensor_share(ctx, input, 0, &wanted, out);
}

static hm_status permutation(hm_context *ctx, const int64_t *axes, int32_t rank,
                             int32_t order[HM_MAX_RANK])
{
    uint32_t set;
    hm_status st = axes ? hm_axis_set(ctx, "axes", rank, rank, axes, &set) : HMATH_OK;
    if (st != HMATH_OK)
        return st;
    for (int32_t i = 0; i < rank; i++)
        order[i] = axes ? (int32_t)axes[i] : rank - 1 - i;
    return HMATH_OK;
}

hm_status hm_transpose(hm_context *ctx, const hm_tensor *input, const int64_t *axes,
                       hm_tensor **out)
{
    int32_t order[HM_MAX_RANK];
    hm_status st = permutation(ctx, axes, input->shape.rank, order);
    if (st != HMATH_OK)
        return st;
    const hm_move move = hm_move_transpose(&input->shape, order);
    hm_shape shape = {.rank = move.axes};
    memcpy(shape.extent, move.extent, sizeof shape.extent);
    return moved(ctx, input, &shape, &move, out);
}

hm_status hm_broadcast_to(hm_context *ctx, const hm_tensor *input, int32_t rank,
                          const int64_t *shape, hm_tensor **out)
{
    hm_shape wanted;
    hm_status st = hm_shape_from_extents(ctx, "shape", rank, shape, &wanted);
    if (st != HMATH_OK)
        return st;
    if (!hm_shape_broadcasts_to(&input->shape, &wanted)) {
        char expected[160], text[128];
        hm_shape_text(&input->shape, text, sizeof text);
        snprintf(expected, sizeof expected, "one that %s broadcasts to", text);
        hm_shape_text(&wanted, text, sizeof text);
        return hm_fail_shape(ctx, "shape", expected, text);
    }
    if (hm_shape_equal(&input->shape, &wanted))
        return hm_tensor_share(ctx, input, 0, &wanted, out);
    int64_t size;
    if (!hm_shape_size(&wanted, &size))
        return hm_fail_memory(ctx);
    const hm_move move = hm_move_broadcast(&input->shape, &wanted);
    return moved(ctx, input, &wanted, &move, out);
}

/* ------------------------------------------------- slice */

/* How many of start, start + step, ... lie before stop. */
static int64_t positions(int64_t start, int64_t stop, int64_t step)
{
    if (step > 0)
        return start < stop ? (stop - start - 1) / step + 1 : 0;
    const uint64_t stride = -(uint64_t)step; /* INT64_MIN too */
    return start > stop ? (int64_t)((uint64_t)(start - stop - 1) / stride + 1) : 0;
}

/* start[i] or stop[i]: 0 ... extent, or -1 ... extent - 1 where the step is negative. */
static hm_status check_place(hm_context *ctx, const char *argument, int32_t axis, int64_t place,
                             int64_t extent, int64_t step)
{
    const int64_t least = step > 0 ? 0 : -1;
    if (place >= least && place <= extent + least)
        return HMATH_OK;
    return hm_fail_index(ctx, argument, axis, place, extent + least + 1);
}

hm_status hm_slicing_create(hm_context *ctx, const hm_shape *input, const int64_t *start,
                            const int64_t *stop, const int64_t *step, hm_slicing *out)
{
    hm_slicing slicing = {.part.rank = input->rank};
    const int32_t rank = input->rank;
    hm_status st = HMATH_OK;
    for (int32_t i = 0; i < rank && step; i++)
        if (step[i] == 0)
            return hm_fail_domain_int(ctx, "step", i, 0, "not 0");
    for (int32_t i = 0; i < rank; i++) {
        slicing.start[i] = start ? start[i] : 0;
        slicing.step[i] = step ? step[i] : 1;
        if ((st = check_place(ctx, "start", i, slicing.start[i], input->extent[i],
                              slicing.step[i])) != HMATH_OK)
            return st;
    }
    for (int32_t i = 0; i < rank; i++) {
        const int64_t end = stop ? stop[i] : input->extent[i];
        if ((st = check_place(ctx, "stop", i, end, input->extent[i], slicing.step[i])) != HMATH_OK)
            return st;
        slicing.part.extent[i] = positions(slicing.start[i], end, slicing.step[i]);
    }
    *out = slicing;
    return HMATH_OK;
}

hm_status hm_slice(hm_context *ctx, const hm_tensor *input, const int64_t *start,
                   const int64_t *stop, const int64_t *step, hm_tensor **out)
{
    hm_slicing slicing;
    hm_status st = hm_slicing_create(ctx, &input->shape, start, stop, step, &slicing);
    if (st != HMATH_OK)
        return st;
    const hm_move move = hm_move_slice(&input->shape, slicing.start, slicing.step, &slicing.part);
    return moved(ctx, input, &slicing.part, &move, out);
}

/* ------------------------------------------------- concatenate, stack */

static hm_status check_axis(hm_context *ctx, int64_t axis, int64_t bound)
{
    return axis >= 0 && axis < bound ? HMATH_OK
                                     : hm_fail_index(ctx, "axis", HM_SCALAR, axis, bound);
}

hm_status hm_concatenate_shape(hm_context *ctx, const char *argument, int64_t axis,
                               const hm_shape *next, hm_shape *joined)
{
    hm_shape aligned = *next;
    if (next->rank == joined->rank)
        aligned.extent[axis] = joined->extent[axis];
    if (!hm_shape_equal(joined, &aligned))
        return hm_fail_shapes(ctx, argument, joined, next);
    if (!hm_add_int(joined->extent[axis], next->extent[axis], &joined->extent[axis]))
        return hm_fail_memory(ctx);
    return HMATH_OK;
}

hm_status hm_stack_shape(hm_context *ctx, const char *argument, const hm_shape *shape,
                         int64_t count, int64_t axis, hm_shape *out)
{
    hm_status st = check_axis(ctx, axis, (int64_t)shape->rank + 1);
    if (st != HMATH_OK)
        return st;
    if (shape->rank == HM_MAX_RANK)
        return hm_fail_shape(ctx, argument, "rank 0 to 7", "rank 8");
    hm_shape result = {.rank = shape->rank + 1};
    for (int32_t i = 0; i < result.rank; i++)
        result.extent[i] = i == axis ? count : shape->extent[i - (i > axis)];
    *out = result;
    return HMATH_OK;
}

static const hm_tensor *tensor_at(const hm_value *const *tensors, int64_t i)
{
    return hm_tensor_either_from_value(tensors[i]);
}

/* Lay the tensors one behind the other along an axis of `shape`, `length` positions each. */
static hm_status join(hm_context *ctx, const hm_value *const *tensors, int64_t count,
                      const hm_shape *shape, int64_t axis, bool stacked, hm_tensor **out)
{
    hm_tensor *result = NULL;
    hm_status st = hm_tensor_of_kind(ctx, tensor_at(tensors, 0), shape, &result);
    if (st != HMATH_OK)
        return st;
    int64_t stride[HM_MAX_RANK], place = 0;
    bool finite = true;
    hm_shape_strides(shape, stride);
    for (int64_t i = 0; i < count; i++) {
        const hm_tensor *tensor = tensor_at(tensors, i);
        hm_shape part = *shape;
        part.extent[axis] = stacked ? 1 : tensor->shape.extent[axis];
        hm_move move = {.axes = part.rank, .to_start = place * stride[axis]};
        memcpy(move.extent, part.extent, sizeof move.extent);
        memcpy(move.to, stride, sizeof move.to);
        hm_shape_strides(&part, move.from);
        hm_move_run(ctx, &move, hm_tensor_element_size(tensor), hm_tensor_elements(tensor),
                    hm_tensor_elements(result));
        place += part.extent[axis];
        finite = finite && hm_tensor_known_finite(tensor);
    }
    if (finite)
        hm_tensor_remember_finite(result);
    *out = result;
    return HMATH_OK;
}

hm_status hm_concatenate(hm_context *ctx, const hm_value *const *tensors, int64_t count,
                         int64_t axis, hm_tensor **out)
{
    if (count == 0)
        return hm_fail_empty(ctx, "tensors");
    hm_shape joined = tensor_at(tensors, 0)->shape;
    hm_status st = check_axis(ctx, axis, joined.rank);
    for (int64_t i = 1; i < count && st == HMATH_OK; i++)
        st = hm_concatenate_shape(ctx, "tensors", axis, &tensor_at(tensors, i)->shape, &joined);
    return st != HMATH_OK ? st : join(ctx, tensors, count, &joined, axis, false, out);
}

hm_status hm_stack(hm_context *ctx, const hm_value *const *tensors, int64_t count, int64_t axis,
                   hm_tensor **out)
{
    if (count == 0)
        return hm_fail_empty(ctx, "tensors");
    const hm_shape *first = &tensor_at(tensors, 0)->shape;
    hm_shape result;
    hm_status st = hm_stack_shape(ctx, "tensors", first, count, axis, &result);
    if (st != HMATH_OK)
        return st;
    for (int64_t i = 1; i < count; i++) {
        const hm_shape *next = &tensor_at(tensors, i)->shape;
        if (!hm_shape_equal(first, next))
            return hm_fail_shapes(ctx, "tensors", first, next);
    }
    return join(ctx, tensors, count, &result, axis, true, out);
}
