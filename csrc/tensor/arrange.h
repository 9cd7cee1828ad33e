/*
 * Elements in another arrangement: what transposing, slicing, joining and repeating tensors come
 * to.
 *
 * A move visits every position of a box of up to eight axes. Both sides have a place to start and a
 * stride per axis, in elements; a stride of 0 on the `from` side repeats, a negative one runs
 * backwards. A move is plain data, made once from shapes alone, and can be carried out any number
 * of times.
 */
#ifndef HM_ARRANGE_H
#define HM_ARRANGE_H

#include "runtime/context.h"
#include "tensor/tensor.h"

typedef struct hm_move {
    int32_t axes;
    int64_t extent[HM_MAX_RANK];
    int64_t from[HM_MAX_RANK], to[HM_MAX_RANK];
    int64_t from_start, to_start;
} hm_move;

/* Carry it out, for elements of 4 or 8 bytes, on the context's threads where there are many. */
void hm_move_run(const hm_context *ctx, const hm_move *move, size_t element_size, const void *from,
                 void *to);

/* ---- moves made from shapes; each fills the whole of a row-major `to` ---- */

/* Axis i of the result is axis axes[i]. */
hm_move hm_move_transpose(const hm_shape *input, const int32_t axes[HM_MAX_RANK]);

/* A shape repeated to a larger one. */
hm_move hm_move_broadcast(const hm_shape *input, const hm_shape *result);

/* The part of `input` that starts at start[i] and takes step[i]; its extents are `part`. */
hm_move hm_move_slice(const hm_shape *input, const int64_t start[HM_MAX_RANK],
                      const int64_t step[HM_MAX_RANK], const hm_shape *part);

/* Back again: a row-major `part` into its places in a tensor of shape `input`; fills no others. */
hm_move hm_move_unslice(const hm_move *slice);

/* ---- operations; the arguments are checked, and named as in hmath_tensor.h ---- */

hm_status hm_reshape(hm_context *ctx, const hm_tensor *input, int32_t rank, const int64_t *shape,
                     hm_tensor **out);

/* axes NULL: in reverse. */
hm_status hm_transpose(hm_context *ctx, const hm_tensor *input, const int64_t *axes,
                       hm_tensor **out);

/* Check a slice and fill in its defaults: what hmath_tensor_slice says. */
typedef struct hm_slicing {
    int64_t start[HM_MAX_RANK], step[HM_MAX_RANK];
    hm_shape part;
} hm_slicing;

hm_status hm_slicing_create(hm_context *ctx, const hm_shape *input, const int64_t *start,
                            const int64_t *stop, const int64_t *step, hm_slicing *out);

hm_status hm_slice(hm_context *ctx, const hm_tensor *input, const int64_t *start,
                   const int64_t *stop, const int64_t *step, hm_tensor **out);

/*
 * `joined` grown along `axis` by one more shape, which has to match it along the others. `argument` is what
 * failures call the list that the tensors come in.
 */
hm_status hm_concatenate_shape(hm_context *ctx, const char *argument, int64_t axis,
                               const hm_shape *next, hm_shape *joined);

/* The shape of `count` tensors of one shape side by side along a new axis. */
hm_status hm_stack_shape(hm_context *ctx, const char *argument, const hm_shape *shape,
                         int64_t count, int64_t axis, hm_shape *out);

/* Tensors of one kind, which is the caller's to see to; count >= 0. */
hm_status hm_concatenate(hm_context *ctx, const hm_value *const *tensors, int64_t count,
                         int64_t axis, hm_tensor **out);
hm_status hm_stack(hm_context *ctx, const hm_value *const *tensors, int64_t count, int64_t axis,
                   hm_tensor **out);

hm_status hm_broadcast_to(hm_context *ctx, const hm_tensor *input, int32_t rank,
                          const int64_t *shape, hm_tensor **out);

#endif
