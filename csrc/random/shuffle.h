/* Lists and tensors in random order. */
#ifndef HM_SHUFFLE_H
#define HM_SHUFFLE_H

#include "random/stream.h"
#include "runtime/status.h"

/*
 * The elements of a list, or the rows (slices along axis 0) of a tensor of either kind, in the
 * order of hm_draw_permutation: out[i] = values[permutation[i]]. `values` is one of the three.
 * DimensionMismatch for a tensor of rank 0. On failure the stream may have moved.
 */
hm_status hm_shuffle(hm_context *ctx, const hm_value *values, hm_stream *s, hm_value **out);

#endif
