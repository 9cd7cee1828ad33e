/*
 * A tensor of 8-bit integers with what they stand for: x is about scale * (q - zero), with one scale
 * and zero point for all, or one for each slice along an axis.
 */
#ifndef HM_QUANTIZED_TENSOR_H
#define HM_QUANTIZED_TENSOR_H

#include "runtime/list.h"
#include "tensor/shape.h"

typedef enum hm_scheme { HM_SYMMETRIC = 1, HM_ASYMMETRIC = 2 } hm_scheme;

enum { HM_PER_TENSOR = -1 };

typedef struct hm_quantization { /* the selector */
    hm_value base;
    hm_scheme scheme;
} hm_quantization;

typedef struct hm_quantized {
    hm_value base;
    hm_scheme scheme;
    int64_t axis; /* or HM_PER_TENSOR */
    hm_shape shape;
    int64_t size;
    hm_list *values; /* Int8, row-major */
    hm_list *scales; /* Double, one a slice */
    hm_list *zeros;  /* Int, one a slice */
} hm_quantized;

hm_status hm_quantization_create(hm_context *ctx, hm_scheme scheme, hm_quantization **out);

/* Lists reserved and uninitialised. `axis` is one of the shape's, or HM_PER_TENSOR. */
hm_status hm_quantized_create(hm_context *ctx, hm_scheme scheme, int64_t axis,
                              const hm_shape *shape, hm_quantized **out);

/*
 * From stored parts, checked: a known scheme; an axis of the shape, or HM_PER_TENSOR; at least one
 * element; scales finite and > 0; zero points in -128 ... 127, all 0 for the symmetric scheme.
 */
hm_status hm_quantized_from_parts(hm_context *ctx, int64_t scheme, int64_t axis, int64_t rank,
                                  const int64_t *extents, const int8_t *values,
                                  const double *scales, const int64_t *zeros, hm_quantized **out);

/* The slices along the axis: `outer` blocks of `channels` runs of `inner` elements. */
typedef struct hm_slices {
    int64_t outer, channels, inner;
} hm_slices;

hm_slices hm_slices_of(const hm_shape *shape, int64_t axis);

#endif
