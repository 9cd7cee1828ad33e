/*
 * Two operands against each other. A plan is made once from shapes alone; axes that run on in the
 * same manner on both sides are merged, so that what is left is mostly one or two loops.
 */
#ifndef HM_BROADCAST_H
#define HM_BROADCAST_H

#include "kernels/kernels.h"
#include "runtime/status.h"
#include "tensor/shape.h"

/*
 * Strides are in elements, 0 where the operand is repeated. No axis of extent 1 but where all are.
 */
typedef struct hm_broadcast {
    int32_t axes; /* the innermost is the last; none where the result is one element */
    int64_t extent[HM_MAX_RANK], left[HM_MAX_RANK], right[HM_MAX_RANK];
    int64_t size; /* of the result; 0: nothing to do */
} hm_broadcast;

/* `result` is what the two broadcast to (hm_shape_broadcast), and known to fit. */
hm_broadcast hm_broadcast_plan(const hm_shape *left, const hm_shape *right, const hm_shape *result);

/*
 * Elements first ... first + n - 1 of the result, row-major, on this thread; out[0] is the first of
 * them. True where every element that was read or written is finite.
 */
bool hm_broadcast_range(const hm_broadcast *plan, hm_binary_kernel *kernel, const double *left,
                        const double *right, int64_t first, int64_t n, double *out);

/* The whole of the result, on the context's threads where it is large. */
bool hm_broadcast_run(const hm_context *ctx, const hm_broadcast *plan, hm_binary_kernel *kernel,
                      const double *left, const double *right, double *out);

/* Where the operands' elements for a result element stand. */
void hm_broadcast_places(const hm_broadcast *plan, int64_t element, int64_t *left, int64_t *right);

#endif
