/* Parts of a tensor that do not reach beyond a box, summed in their places. See autodiff/node.h for g. */
#ifndef HM_PRIMITIVES_BLOCKS_H
#define HM_PRIMITIVES_BLOCKS_H

#include "autodiff/node.h"

/* Is the node another one in its place among zeros, with every step 1? */
bool hm_is_block(const hm_node *node);

/*
 * `sum` and n such nodes, added one after the other: one node, which costs what the parts hold and not n
 * whole tensors, with the bits of n sums. `sum` may be NULL: nothing so far.
 */
hm_node *hm_ad_add_blocks(hm_graph *g, hm_node *sum, hm_node *const *blocks, int64_t n);

#endif
