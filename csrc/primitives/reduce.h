/* Sums, means and maxima along axes; a set of axes is a bit mask. See autodiff/node.h for g. */
#ifndef HM_PRIMITIVES_REDUCE_H
#define HM_PRIMITIVES_REDUCE_H

#include "autodiff/node.h"

/* With `keep`, reduced axes stay with extent 1. Means and maxima need an element: EmptyInput else. */
hm_node *hm_ad_sum(hm_graph *g, hm_node *value, uint32_t axes, bool keep);
hm_node *hm_ad_mean(hm_graph *g, hm_node *value, uint32_t axes, bool keep);
hm_node *hm_ad_max(hm_graph *g, hm_node *value, uint32_t axes, bool keep); /* ties share alike */

/* All axes of a node. */
uint32_t hm_ad_all_axes(const hm_node *node);
hm_node *hm_ad_sum_all(hm_graph *g, hm_node *value);

/* Undo a broadcast: sum over the axes along which `shape` was repeated to the value's. */
hm_node *hm_ad_sum_to(hm_graph *g, hm_node *value, const hm_shape *shape);

/* sqrt of the sum of squares over all inputs, scale-safe; its derivative at 0 is 0. */
hm_node *hm_ad_norm(hm_graph *g, hm_node *const *values, int32_t count);

#endif
