/* Products of the heads of attention, without taking them apart. See autodiff/node.h for g. */
#ifndef HM_PRIMITIVES_HEADS_H
#define HM_PRIMITIVES_HEADS_H

#include "autodiff/node.h"

/*
 * A matrix for each head. They lie one behind the other, (heads, rows, columns), or side by side in the
 * columns of one matrix, (rows, heads * columns), as projections leave them; each may be read transposed.
 */
typedef struct hm_heads {
    hm_node *node;
    bool beside, transposed;
} hm_heads;

/* Head by head left * right, the results side by side too, or one behind the other. */
hm_node *hm_ad_head_product(hm_graph *g, int64_t heads, hm_heads left, hm_heads right, bool beside);

#endif
