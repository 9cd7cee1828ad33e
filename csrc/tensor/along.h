/*
 * Reductions over a set of axes. A set that is one run of neighbours is the middle axis of an
 * (outer, extent, inner) box, which tensor/reduce.h does; of any other set the elements of one
 * result are gathered block by block. Either way they come in row-major order, and the bits depend
 * on them alone.
 */
#ifndef HM_ALONG_H
#define HM_ALONG_H

#include "runtime/context.h"
#include "runtime/list.h"
#include "tensor/tensor.h"

typedef enum hm_along_kind {
    HM_ALONG_SUM,
    HM_ALONG_MEAN,
    HM_ALONG_MAX,
    HM_ALONG_MIN
} hm_along_kind;

/* A few loops over the input, in elements. */
typedef struct hm_loops {
    int32_t axes;
    int64_t extent[HM_MAX_RANK], stride[HM_MAX_RANK];
} hm_loops;

/* Made once from a shape alone. */
typedef struct hm_along {
    hm_shape result;
    int64_t results, extent; /* how many results, and elements to each */
    bool is_box;
    int64_t outer, inner;   /* of a box */
    hm_loops kept, reduced; /* of any other set; neighbouring axes are merged */
} hm_along;

/* axes: bits 1 << axis (hm_axis_set). keep: reduced axes stay with extent 1. */
hm_along hm_along_plan(const hm_shape *input, uint32_t axes, bool keep);

/*
 * out: `results` numbers, row-major. One that is not finite means that an element is not, or that
 * the exact sum is no double. Means, maxima and minima need extent >= 1 where there are results.
 */
void hm_along_run(const hm_context *ctx, const hm_along *plan, hm_along_kind kind,
                  const double *input, double *out);

/* The checked operation; `count` and `axes` as in hmath_tensor.h. */
hm_status hm_reduce_axes(hm_context *ctx, hm_along_kind kind, const hm_tensor *input, int32_t count,
                         const int64_t *axes, bool keep, hm_tensor **out);

/* Positions of the largest elements along an axis, the first of equal ones, as a list of Int. */
hm_status hm_argmax(hm_context *ctx, const hm_tensor *input, int64_t axis, hm_list **out);

#endif
