/* What the functions on nodes do with the Values they are given. */
#ifndef HM_ABI_AUTODIFF_EDGE_H
#define HM_ABI_AUTODIFF_EDGE_H

#include "abi/edge.h"
#include "autodiff/node.h"

/*
 * A node; a Double or a Tensor Double becomes a constant of g. On failure NULL, and the failure is g's.
 * Arguments are read in their order, so the first one that is wrong is the one that is reported.
 */
hm_node *hm_arg_node(hm_graph *g, const char *name, const hm_value *v);

/*
 * n of them, from an array of handles or from a Value that is a List of nodes (or a node itself); the
 * array is freed by hm_free. NULL where n is 0 is fine in `out`.
 */
hm_status hm_arg_nodes(hm_graph *g, const char *name, const hm_value *const *values, size_t n,
                       hm_node ***out);
hm_status hm_arg_node_list(hm_graph *g, const char *name, const hm_value *v, hm_node ***out,
                           int64_t *n);

/* hm_edge_enter and hm_graph_open, and the way out again. */
hm_status hm_graph_enter(hm_context *ctx, const char *operation, hm_value **out, hm_graph *g);
hm_status hm_graph_leave(hm_graph *g, hm_node *result, hm_value **out);

#endif
