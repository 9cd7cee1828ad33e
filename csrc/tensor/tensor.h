/*
 * Tensors: row-major and contiguous, always; immutable once published; 64-byte aligned unless
 * adopted. Tensors that show the same elements under another shape share one buffer.
 */
#ifndef HM_TENSOR_H
#define HM_TENSOR_H

#include "runtime/buffer.h"
#include "runtime/value.h"
#include "tensor/shape.h"

typedef struct hm_tensor {
    hm_value base;
    hm_shape shape;
    int64_t size;
    double *data;  /* Tensor Double; written by the one owner before it is published */
    float *floats; /* Tensor Float; one of the two is NULL */
    hm_buffer *buffer;
    atomic_bool known_finite; /* every element was found finite; false: nobody knows */
} hm_tensor;

/* A Double tensor with uninitialised elements. HMATH_NO_MEMORY where the size does not fit. */
hm_status hm_tensor_create(hm_context *ctx, const hm_shape *shape, hm_tensor **out);
hm_status hm_tensor_float_create(hm_context *ctx, const hm_shape *shape, hm_tensor **out);

/* Of the same shape as another. */
hm_status hm_tensor_like(hm_context *ctx, const hm_tensor *tensor, hm_tensor **out);

/* A tensor of +0. */
hm_status hm_tensor_zeros(hm_context *ctx, const hm_shape *shape, hm_tensor **out);

/*
 * The caller's memory; see hm_buffer_adopt. On failure `release` is not called. data may be NULL
 * where the shape has no elements; it is replaced by a pointer that is not.
 */
hm_status hm_tensor_adopt(hm_context *ctx, const hm_shape *shape, double *data,
                          void (*release)(void *), void *user, hm_tensor **out);
hm_status hm_tensor_float_adopt(hm_context *ctx, const hm_shape *shape, float *data,
                                void (*release)(void *), void *user, hm_tensor **out);

/* `shape`.size elements from `offset` on of the same buffer, under another shape: O(1). */
hm_status hm_tensor_share(hm_context *ctx, const hm_tensor *tensor, int64_t offset,
                          const hm_shape *shape, hm_tensor **out);

/* The first elements of a buffer of doubles, which the tensor retains. */
hm_status hm_tensor_over(hm_context *ctx, hm_buffer *buffer, const hm_shape *shape,
                         hm_tensor **out);

/* v as a Double (Float) tensor, or NULL; v as one of the two. */
const hm_tensor *hm_tensor_from_value(const hm_value *v);
const hm_tensor *hm_tensor_float_from_value(const hm_value *v);
const hm_tensor *hm_tensor_either_from_value(const hm_value *v);

/* What moving data needs of a tensor of either kind: where its elements are, and bytes of one. */
void *hm_tensor_elements(const hm_tensor *tensor);
size_t hm_tensor_element_size(const hm_tensor *tensor);

/* A tensor of the same kind as another, with uninitialised elements. */
hm_status hm_tensor_of_kind(hm_context *ctx, const hm_tensor *kind, const hm_shape *shape,
                            hm_tensor **out);

/* The same kind, shape and elements, bit for bit? */
bool hm_tensor_identical(const hm_tensor *a, const hm_tensor *b);

/*
 * Remember that every element is finite, or recall it. No change to the value: readers race freely.
 */
void hm_tensor_remember_finite(const hm_tensor *tensor);
bool hm_tensor_known_finite(const hm_tensor *tensor);

#endif
