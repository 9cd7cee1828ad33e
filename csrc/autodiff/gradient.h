/*
 * Differentiation, graph to graph: the derivative of nodes is nodes.
 *
 * Reverse mode walks from the outputs to older and older nodes; each one's cotangent is complete when
 * it is met, for all its users are younger. Forward mode walks the other way. The driver skips what
 * depends on nothing that is asked for, reads NULL as zero, sums back over broadcast axes and adds
 * contributions in a fixed order: users youngest first, inputs of one user from left to right.
 */
#ifndef HM_GRADIENT_H
#define HM_GRADIENT_H

#include "autodiff/node.h"

/*
 * cotangents_out[j] = sum over i of (d outputs[i] / d wrt[j]) applied to seeds[i], shaped like wrt[j];
 * NULL where no output depends on wrt[j]. seeds[i] has the shape of outputs[i]. Everything is borrowed
 * from g. Any node can stand in wrt, not only variables.
 */
void hm_reverse_mode(hm_graph *g, hm_node *const *outputs, hm_node *const *seeds, int64_t n,
                     hm_node *const *wrt, int64_t m, hm_node **cotangents_out);

/*
 * tangents_out[i] = sum over j of (d outputs[i] / d wrt[j]) * tangents[j]; NULL for zero. Nodes in wrt may depend on
 * one another, or be the same.
 */
void hm_forward_mode(hm_graph *g, hm_node *const *outputs, int64_t n, hm_node *const *wrt,
                     hm_node *const *tangents, int64_t m, hm_node **tangents_out);

/*
 * The gradient of a node of one element; zeros for what it does not depend on. DimensionMismatch names
 * the output. Borrowed from g.
 */
void hm_ad_gradient(hm_graph *g, hm_node *output, hm_node *const *wrt, int64_t m,
                    hm_node **gradients);

/* DomainError: the op is the derivative of one of its name and has no reverse rule where it is asked for one. */
hm_status hm_fail_first_order(hm_context *ctx, const hm_op *op);

/*
 * A reverse rule by rewriting: `expand` builds the same function from primitives, on the node's inputs,
 * and the rule is that of the expansion. For fused derivative ops, which compute in one pass what the
 * expansion says in many nodes.
 */
void hm_reverse_by_expansion(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                             hm_node **cotangents, hm_node *(*expand)(hm_graph *, hm_node *));

#endif
