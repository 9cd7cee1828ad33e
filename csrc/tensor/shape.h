/* Shapes: integer arithmetic only. Extents are >= 0; rank 0 is a single element. */
#ifndef HM_SHAPE_H
#define HM_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/status.h"

enum { HM_MAX_RANK = 8 };

typedef struct hm_shape {
    int32_t rank;
    int64_t extent[HM_MAX_RANK];
} hm_shape;

bool hm_shape_equal(const hm_shape *a, const hm_shape *b);

/*
 * The number of elements; false where it, or the size of the data, does not fit. Extents of 0 count
 * as 1 in that: the spans of a shape that passed, and sums of them, never overflow, empty or not.
 */
bool hm_shape_size(const hm_shape *shape, int64_t *size);

/* Product of the extents of axes first ... last - 1, of a shape whose size is known to fit. */
int64_t hm_shape_span(const hm_shape *shape, int32_t first, int32_t last);

/*
 * A shape from a caller's numbers. DomainError: a negative extent (the argument's element i);
 * DimensionMismatch: more than 8 axes. The size is not looked at.
 */
hm_status hm_shape_from_extents(hm_context *ctx, const char *argument, int64_t rank,
                                const int64_t *extents, hm_shape *out);

/*
 * The shape that two shapes broadcast to: aligned at their last axes, extents are equal or one is
 * 1. DimensionMismatch names `argument`, whose shape is b, and both shapes.
 */
hm_status hm_shape_broadcast(hm_context *ctx, const char *argument, const hm_shape *a,
                             const hm_shape *b, hm_shape *out);

/* Does `from` broadcast to `to` without changing `to`? */
bool hm_shape_broadcasts_to(const hm_shape *from, const hm_shape *to);

/* Row-major strides in elements; stride[i] is the product of the extents behind axis i. */
void hm_shape_strides(const hm_shape *shape, int64_t stride[HM_MAX_RANK]);

/*
 * A set of axes as bits 1 << axis. IndexOutOfBounds: an axis that is none; DomainError: one that
 * stands there twice. `count` HMATH_ALL_AXES means all.
 */
hm_status hm_axis_set(hm_context *ctx, const char *argument, int32_t rank, int32_t count,
                      const int64_t *axes, uint32_t *out);

/* "(2, 3)" */
void hm_shape_text(const hm_shape *shape, char *text, size_t size);

/* DimensionMismatch with both shapes as texts. */
hm_status hm_fail_shapes(hm_context *ctx, const char *argument, const hm_shape *expected,
                         const hm_shape *actual);

/* DimensionMismatch "rank r" where the tensor's rank is not `rank`. */
hm_status hm_check_rank(hm_context *ctx, const char *argument, const hm_shape *shape, int32_t rank);

#endif
