/* The nodes that some roots depend on, oldest first, and where each of them stands. */
#ifndef HM_ORDER_H
#define HM_ORDER_H

#include "autodiff/node.h"

typedef struct hm_order {
    hm_node **nodes; /* by serial: every input stands before the nodes that use it */
    int64_t count;
    int64_t *first_input; /* by node: where its inputs begin in `inputs`; one more at the end */
    int32_t *inputs;      /* their positions */

    uint64_t since; /* an older node is a leaf, whatever it is made of */

    /* positions by serial, -1 where there is none */
    uint64_t youngest; /* serial of all nodes */
    int32_t *near;     /* [youngest - serial], as far as it goes: graphs are made in one go */
    uint64_t near_size;
    int32_t *far; /* the rest: a hash table, open addressing */
    uint64_t mask;
    int64_t far_count;
} hm_order;

hm_status hm_order_create(hm_context *ctx, hm_node *const *roots, int64_t n, hm_order *out);

/* The same down to nodes older than `since`, which are leaves: what is new costs what it is, not its past. */
hm_status hm_order_create_since(hm_context *ctx, hm_node *const *roots, int64_t n, uint64_t since,
                                hm_order *out);
void hm_order_free(hm_order *order);

/* The node's position, or -1 where no root depends on it. */
int64_t hm_order_find(const hm_order *order, const hm_node *node);

/* How many inputs the node at position i has within the order. */
static inline int32_t hm_order_count(const hm_order *order, int64_t i)
{
    return (int32_t)(order->first_input[i + 1] - order->first_input[i]);
}

/* The position of input k of the node at position i. */
static inline int32_t hm_order_input(const hm_order *order, int64_t i, int32_t k)
{
    return order->inputs[order->first_input[i] + k];
}

#endif
