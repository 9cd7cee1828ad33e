/*
 * A node of the graph: an immutable, counted Value of kind ADExpr (287, shape ()) or ADTensor (288).
 *
 * Nodes carry a creation serial. Inputs are older than outputs, so youngest-first is a topological
 * order: nothing here recurses, and nothing is marked in the graph. A scalar node of two inputs takes
 * 72 bytes; its extents and attributes stand behind its inputs in the same block.
 */
#ifndef HM_NODE_H
#define HM_NODE_H

#include "autodiff/op.h"
#include "runtime/context.h"

struct hm_node {
    hm_value base;
    const hm_op *op;
    uint64_t serial;
    int64_t size;  /* elements of the result */
    int32_t count; /* inputs */
    int32_t rank;
    uint64_t attribute_size;
    hm_node *inputs[];
};

/*
 * A new node with its shape checked. `attributes` are copied: plain bytes that two equal nodes have in
 * common, padding zeroed. Fails as the op's shape rule does, named after whatever call makes the node.
 */
hm_status hm_node_create(hm_context *ctx, const hm_op *op, const void *attributes,
                         size_t attribute_size, hm_node *const *inputs, int32_t count,
                         hm_node **out);

hm_shape hm_node_shape(const hm_node *node);
const int64_t *hm_node_extents(const hm_node *node);
const void *hm_node_attributes(const hm_node *node);

/* A shape as bytes to compare: what stands beyond its rank is zero. */
hm_shape hm_shape_as_attribute(const hm_shape *shape);

/* v as a node of either kind, or NULL. */
hm_node *hm_node_from_value(const hm_value *v);

static inline bool hm_node_is_scalar(const hm_node *node) { return node->rank == 0; }

/*
 * A graph under construction: it owns every node that is made with it until it is closed, and remembers
 * the first failure. After one, and given NULL, the makers make nothing and return NULL, so that a rule
 * can be written as its formula.
 */
enum { HM_GRAPH_ROOM = 16 };

struct hm_graph {
    hm_context *ctx;
    hm_status status;
    hm_node **made;
    int64_t count, capacity;
    hm_node *room[HM_GRAPH_ROOM];
};

void hm_graph_open(hm_graph *g, hm_context *ctx);

/* Give back what was made, except a reference to each of the `n` results for the caller. */
hm_status hm_graph_close(hm_graph *g, hm_node *const *results, int64_t n, hm_node **out);

/* Borrowed from g. */
hm_node *hm_graph_make(hm_graph *g, const hm_op *op, const void *attributes, size_t attribute_size,
                       hm_node *const *inputs, int32_t count);
hm_node *hm_graph_make1(hm_graph *g, const hm_op *op, const void *attributes, size_t attribute_size,
                        hm_node *x);
hm_node *hm_graph_make2(hm_graph *g, const hm_op *op, const void *attributes, size_t attribute_size,
                        hm_node *x, hm_node *y);

/* Record a failure that a call with g->ctx just returned; returns NULL. */
hm_node *hm_graph_fail(hm_graph *g, hm_status st);

#endif
