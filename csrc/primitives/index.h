/* Other arrangements of the same numbers, and parts of them. See autodiff/node.h for g. */
#ifndef HM_PRIMITIVES_INDEX_H
#define HM_PRIMITIVES_INDEX_H

#include "autodiff/node.h"
#include "tensor/arrange.h"

/* The same numbers under another shape; costs nothing when run. */
hm_node *hm_ad_reshape(hm_graph *g, hm_node *value, const hm_shape *shape);

/* Axis i of the result is axis axes[i]; a permutation. */
hm_node *hm_ad_transpose(hm_graph *g, hm_node *value, const int32_t axes[HM_MAX_RANK]);
hm_node *hm_ad_swap_axes(hm_graph *g, hm_node *value, int32_t first, int32_t second);

hm_node *hm_ad_slice(hm_graph *g, hm_node *value, const hm_slicing *slicing);

/* The inverse: the value in its places of a tensor of zeros of the given shape. */
hm_node *hm_ad_unslice(hm_graph *g, hm_node *value, const hm_slicing *slicing,
                       const hm_shape *whole);

/* Where the value that such a node places stands, if every step is 1: a block of the whole. */
typedef struct hm_block {
    int64_t start[HM_MAX_RANK];
    hm_shape part;
} hm_block;
bool hm_unsliced_block(const hm_node *node, hm_block *block);

/* The sum of n such values that fill a tensor without gaps or overlaps, side by side along one axis; NULL. */
bool hm_is_unsliced(const hm_node *node);
hm_node *hm_ad_join_unsliced(hm_graph *g, hm_node *const *unsliced, int64_t n);

/* Element `index`, counted row-major, as a scalar; and a scalar in its place among zeros. */
hm_node *hm_ad_element(hm_graph *g, hm_node *value, int64_t index);
hm_node *hm_ad_place(hm_graph *g, hm_node *value, int64_t index, const hm_shape *whole);

/* The sum of n placed elements of one shape, as one node. */
bool hm_is_placed_element(const hm_node *node);
hm_node *hm_ad_place_elements(hm_graph *g, hm_node *const *placed, int64_t n);

/*
 * Along `axis`, the slices that `indices` name: whole numbers in 0 ... extent - 1, checked when run.
 * The axis is replaced by the axes of `indices`. No derivative flows into them.
 */
hm_node *hm_ad_gather(hm_graph *g, hm_node *value, hm_node *indices, int32_t axis);

#endif
