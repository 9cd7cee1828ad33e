/* Several nodes as one tensor. See autodiff/node.h for g. */
#ifndef HM_PRIMITIVES_JOIN_H
#define HM_PRIMITIVES_JOIN_H

#include "autodiff/node.h"

/* Along an axis that is there; count >= 1. */
hm_node *hm_ad_concatenate(hm_graph *g, hm_node *const *values, int32_t count, int32_t axis);

/* Scalars, row-major, as a tensor of that shape. */
hm_node *hm_ad_stack(hm_graph *g, hm_node *const *values, int32_t count, const hm_shape *shape);

/* Nodes of one shape side by side along a new axis. */
hm_node *hm_ad_stack_along(hm_graph *g, hm_node *const *values, int32_t count, int32_t axis);

#endif
