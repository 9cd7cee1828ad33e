#include "autodiff/gradient.h"

#include <stdio.h>
#include <string.h>

#include "autodiff/leaf.h"
#include "autodiff/order.h"
#include "primitives/blocks.h"
#include "primitives/elementwise.h"
#include "primitives/index.h"
#include "primitives/reduce.h"
#include "runtime/alloc.h"

enum { NONE = -1, INLINE_INPUTS = 8 };

hm_status hm_fail_first_order(hm_context *ctx, const hm_op *op)
{
    char found[HM_TEXT];
    snprintf(found, sizeof found, "goes through the derivative of %s, which has none of its own",
             op->name);
    return hm_fail_requirement(ctx, "output", HM_SCALAR, found, "differentiable operations");
}

/* ------------------------------------------------- what depends on what is asked for */

/* active[i]: does node i of the order depend on one of wrt (or is it one)? */
static bool *find_active(const hm_order *order, hm_node *const *wrt, int64_t m)
{
    bool *active = hm_alloc_zeroed((size_t)order->count);
    if (!active)
        return NULL;
    for (int64_t j = 0; j < m; j++) {
        int64_t place = hm_order_find(order, wrt[j]);
        if (place >= 0)
            active[place] = true;
    }
    for (int64_t i = 0; i < order->count; i++)
        for (int32_t k = 0; !active[i] && k < hm_order_count(order, i); k++)
            active[i] = active[hm_order_input(order, i, k)];
    return active;
}

/* ------------------------------------------------- contributions to a cotangent */

/* Each node's contributions, a list in the order in which they came. */
typedef struct contribution {
    hm_node *node;
    int64_t next;
} contribution;

typedef struct contributions {
    contribution *all;
    int64_t count, capacity;
    int64_t *first, *last; /* by position in the order */
} contributions;

static bool contributions_open(contributions *c, int64_t nodes)
{
    *c = (contributions){.capacity = nodes < 16 ? 16 : nodes};
    c->all = hm_alloc((size_t)c->capacity * sizeof *c->all);
    c->first = hm_alloc((size_t)nodes * sizeof *c->first);
    c->last = hm_alloc((size_t)nodes * sizeof *c->last);
    if (!c->all || !c->first || !c->last)
        return false;
    for (int64_t i = 0; i < nodes; i++)
        c->first[i] = c->last[i] = NONE;
    return true;
}

static void contributions_close(contributions *c)
{
    hm_free(c->all);
    hm_free(c->first);
    hm_free(c->last);
}

static bool contribute(contributions *c, int64_t place, hm_node *node)
{
    if (c->count == c->capacity) {
        contribution *larger = hm_realloc(c->all, (size_t)c->capacity * 2 * sizeof *larger);
        if (!larger)
            return false;
        c->all = larger;
        c->capacity *= 2;
    }
    c->all[c->count] = (contribution){node, NONE};
    *(c->last[place] == NONE ? &c->first[place] : &c->all[c->last[place]].next) = c->count;
    c->last[place] = c->count++;
    return true;
}

static void take_out(contributions *c, int64_t place, bool (*is_part)(const hm_node *))
{
    for (int64_t *i = &c->first[place]; *i != NONE;)
        if (is_part(c->all[*i].node))
            *i = c->all[*i].next;
        else
            i = &c->all[*i].next;
}

/*
 * Contributions of one kind as one node, which takes their place; NULL where there are fewer than two or
 * they make none.
 */
static hm_node *put_together(hm_graph *g, contributions *c, int64_t place,
                             bool (*is_part)(const hm_node *),
                             hm_node *(*join)(hm_graph *, hm_node *const *, int64_t))
{
    int64_t count = 0, n = 0;
    for (int64_t i = c->first[place]; i != NONE; i = c->all[i].next)
        count += is_part(c->all[i].node);
    if (count < 2)
        return NULL;
    hm_node **parts = hm_alloc((size_t)count * sizeof(hm_node *));
    if (!parts)
        return hm_graph_fail(g, hm_fail_memory(g->ctx));
    for (int64_t i = c->first[place]; i != NONE; i = c->all[i].next)
        if (is_part(c->all[i].node))
            parts[n++] = c->all[i].node;
    hm_node *joined = join(g, parts, count);
    hm_free(parts);
    if (joined)
        take_out(c, place, is_part);
    return joined;
}

/* How many contributions from `i` on are blocks, one after the other. */
static int64_t count_blocks(const contributions *c, int64_t i)
{
    int64_t n = 0;
    for (; i != NONE && hm_is_block(c->all[i].node); i = c->all[i].next)
        n++;
    return n;
}

/* Add the n blocks from `*i` on, and go behind them. */
static hm_node *add_blocks(hm_graph *g, const contributions *c, hm_node *sum, int64_t n, int64_t *i)
{
    hm_node **blocks = hm_alloc((size_t)n * sizeof(hm_node *));
    for (int64_t k = 0; k < n; k++, *i = c->all[*i].next)
        if (blocks)
            blocks[k] = c->all[*i].node;
    sum = blocks ? hm_ad_add_blocks(g, sum, blocks, n) : hm_graph_fail(g, hm_fail_memory(g->ctx));
    hm_free(blocks);
    return sum;
}

/*
 * Their sum. Elements, slices and blocks of a tensor that was taken apart are put back by one node, not by
 * as many sums of tensors as there are parts.
 */
static hm_node *total(hm_graph *g, contributions *c, int64_t place)
{
    if (c->first[place] == c->last[place])
        return c->all[c->first[place]].node;
    hm_node *elements = put_together(g, c, place, hm_is_placed_element, hm_ad_place_elements);
    hm_node *slices = put_together(g, c, place, hm_is_unsliced, hm_ad_join_unsliced);
    hm_node *sum = elements && slices ? hm_ad_add(g, elements, slices)
                   : elements         ? elements
                                      : slices;
    for (int64_t i = c->first[place]; i != NONE && g->status == HMATH_OK;) {
        const int64_t blocks = count_blocks(c, i);
        if (blocks > 1) {
            sum = add_blocks(g, c, sum, blocks, &i);
            continue;
        }
        sum = sum ? hm_ad_add(g, sum, c->all[i].node) : c->all[i].node;
        i = c->all[i].next;
    }
    return sum;
}

/* ------------------------------------------------- reverse mode */

typedef struct reverse_pass {
    hm_graph *g;
    hm_order order;
    bool *active;
    contributions cotangents;
} reverse_pass;

static hm_node *shaped_like(hm_graph *g, hm_node *x, const hm_node *like)
{
    if (hm_node_is_scalar(x) && hm_node_is_scalar(like))
        return x;
    hm_shape have = hm_node_shape(x), want = hm_node_shape(like);
    return hm_shape_equal(&have, &want) ? x : hm_ad_sum_to(g, x, &want);
}

/* Hand the complete cotangent of the node at `place` on to its inputs. */
static void pull_back(reverse_pass *pass, int64_t place, hm_node *cotangent, bool *wanted,
                      hm_node **cotangents)
{
    hm_node *node = pass->order.nodes[place];
    hm_graph *g = pass->g;
    bool any = false;
    for (int32_t i = 0; i < hm_order_count(&pass->order, place); i++) {
        wanted[i] = pass->active[hm_order_input(&pass->order, place, i)];
        cotangents[i] = NULL;
        any |= wanted[i];
    }
    if (!any)
        return;
    if (!node->op->reverse) {
        hm_graph_fail(g, hm_fail_first_order(g->ctx, node->op));
        return;
    }
    node->op->reverse(g, node, cotangent, wanted, cotangents);
    for (int32_t i = 0; i < node->count && g->status == HMATH_OK; i++) {
        if (!wanted[i] || !cotangents[i])
            continue;
        hm_node *own = shaped_like(g, cotangents[i], node->inputs[i]);
        if (own && !contribute(&pass->cotangents, hm_order_input(&pass->order, place, i), own))
            hm_graph_fail(g, hm_fail_memory(g->ctx));
    }
}

/* From the youngest node to the oldest. totals[i] is the cotangent of node i. */
static void walk_back(reverse_pass *pass, hm_node **totals)
{
    bool few_wanted[INLINE_INPUTS], *wanted = few_wanted;
    hm_node *few_cotangents[INLINE_INPUTS], **cotangents = few_cotangents;
    int32_t room = INLINE_INPUTS;
    for (int64_t i = pass->order.count; i-- > 0 && pass->g->status == HMATH_OK;) {
        hm_node *node = pass->order.nodes[i];
        if (!pass->active[i] || pass->cotangents.first[i] == NONE)
            continue;
        totals[i] = total(pass->g, &pass->cotangents, i);
        if (node->count > room) {
            if (room > INLINE_INPUTS) {
                hm_free(wanted);
                hm_free(cotangents);
            }
            room = node->count;
            wanted = hm_alloc((size_t)room * sizeof *wanted);
            cotangents = hm_alloc((size_t)room * sizeof *cotangents);
        }
        if (!wanted || !cotangents)
            hm_graph_fail(pass->g, hm_fail_memory(pass->g->ctx));
        else if (totals[i])
            pull_back(pass, i, totals[i], wanted, cotangents);
    }
    if (room > INLINE_INPUTS) {
        hm_free(wanted);
        hm_free(cotangents);
    }
}

/* Nodes older than `since` count as variables, whatever they are made of. */
static void reverse_mode(hm_graph *g, hm_node *const *outputs, hm_node *const *seeds, int64_t n,
                         hm_node *const *wrt, int64_t m, uint64_t since, hm_node **cotangents_out)
{
    reverse_pass pass = {.g = g};
    hm_node **totals = NULL;
    hm_status st;
    for (int64_t j = 0; j < m; j++)
        cotangents_out[j] = NULL;
    if (g->status != HMATH_OK)
        return;
    if ((st = hm_order_create_since(g->ctx, outputs, n, since, &pass.order)) != HMATH_OK) {
        hm_graph_fail(g, st);
        return;
    }
    pass.active = find_active(&pass.order, wrt, m);
    totals = hm_alloc_zeroed((size_t)pass.order.count * sizeof *totals);
    bool ok = contributions_open(&pass.cotangents, pass.order.count) && pass.active && totals;
    for (int64_t i = 0; ok && i < n; i++)
        ok = !seeds[i] ||
             contribute(&pass.cotangents, hm_order_find(&pass.order, outputs[i]), seeds[i]);
    if (ok)
        walk_back(&pass, totals);
    else
        hm_graph_fail(g, hm_fail_memory(g->ctx));
    for (int64_t j = 0; ok && j < m; j++) {
        int64_t place = hm_order_find(&pass.order, wrt[j]);
        cotangents_out[j] = place >= 0 ? totals[place] : NULL;
    }
    hm_free(totals);
    contributions_close(&pass.cotangents);
    hm_free(pass.active);
    hm_order_free(&pass.order);
}

void hm_reverse_mode(hm_graph *g, hm_node *const *outputs, hm_node *const *seeds, int64_t n,
                     hm_node *const *wrt, int64_t m, hm_node **cotangents_out)
{
    reverse_mode(g, outputs, seeds, n, wrt, m, 0, cotangents_out);
}

void hm_ad_gradient(hm_graph *g, hm_node *output, hm_node *const *wrt, int64_t m,
                    hm_node **gradients)
{
    hm_shape shape = hm_node_shape(output);
    if (output->size != 1) {
        char text[HM_TEXT];
        hm_shape_text(&shape, text, sizeof text);
        hm_graph_fail(
            g, hm_fail_shape(g->ctx, "output", "one element (sum it, or take a Jacobian)", text));
        return;
    }
    hm_node *seed = hm_ad_full(g, 1.0, &shape);
    hm_reverse_mode(g, &output, &seed, 1, wrt, m, gradients);
    for (int64_t j = 0; j < m && g->status == HMATH_OK; j++)
        if (!gradients[j])
            gradients[j] = hm_ad_zeros_like(g, wrt[j]);
}

void hm_reverse_by_expansion(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                             hm_node **cotangents, hm_node *(*expand)(hm_graph *, hm_node *))
{
    hm_node *expansion = expand(g, node);
    hm_node *asked[HM_MAX_MAP_ARITY] = {NULL}, *found[HM_MAX_MAP_ARITY];
    int32_t at[HM_MAX_MAP_ARITY];
    int64_t m = 0;
    for (int32_t i = 0; i < node->count; i++) {
        bool again = false; /* an input that stands there twice gets all of its cotangent once */
        for (int64_t j = 0; j < m; j++)
            again |= asked[j] == node->inputs[i];
        if (wanted[i] && !again) {
            at[m] = i;
            asked[m++] = node->inputs[i];
        }
    }
    if (!expansion)
        return;
    reverse_mode(g, &expansion, &cotangent, 1, asked, m, node->serial + 1, found);
    for (int64_t j = 0; j < m; j++)
        cotangents[at[j]] = found[j];
}

/* ------------------------------------------------- forward mode */

/* The node's op on other inputs of the same shapes. */
static hm_node *again(hm_graph *g, const hm_node *node, hm_node *const *inputs)
{
    return hm_graph_make(g, node->op, hm_node_attributes(node), node->attribute_size, inputs,
                         node->count);
}

/* Every input at once; a zero tangent where one is wanting. */
static hm_node *linear_tangent(hm_graph *g, const hm_node *node, hm_node *const *tangents,
                               hm_node **inputs)
{
    for (int32_t i = 0; i < node->count; i++)
        inputs[i] = tangents[i] ? tangents[i] : hm_ad_zeros_like(g, node->inputs[i]);
    return again(g, node, inputs);
}

/* One input exchanged at a time. */
static hm_node *multilinear_tangent(hm_graph *g, const hm_node *node, hm_node *const *tangents,
                                    hm_node **inputs)
{
    hm_node *sum = NULL;
    for (int32_t i = 0; i < node->count; i++) {
        if (!tangents[i])
            continue;
        memcpy(inputs, node->inputs, (size_t)node->count * sizeof *inputs);
        inputs[i] = tangents[i];
        hm_node *term = again(g, node, inputs);
        sum = sum ? hm_ad_add(g, sum, term) : term;
    }
    return sum;
}

/*
 * Without a rule of its own, by transposing the transpose: the reverse rule is linear in its cotangent
 * u, so its derivative with respect to u, applied to the tangents, is the tangent.
 */
static hm_node *transposed_tangent(hm_graph *g, hm_node *node, hm_node *const *tangents,
                                   hm_node **pulled, bool *wanted)
{
    if (!node->op->reverse)
        return hm_graph_fail(g, hm_fail_first_order(g->ctx, node->op));
    hm_shape shape = hm_node_shape(node);
    hm_node *u = hm_ad_variable(g, "", &shape), *result = NULL; /* no name: it never gets a value */
    for (int32_t i = 0; i < node->count; i++) {
        wanted[i] = tangents[i] != NULL;
        pulled[i] = NULL;
    }
    if (!u)
        return NULL;
    node->op->reverse(g, node, u, wanted, pulled);
    for (int32_t i = 0; i < node->count && g->status == HMATH_OK; i++) {
        if (!wanted[i] || !pulled[i])
            continue;
        hm_node *own = shaped_like(g, pulled[i], node->inputs[i]), *term = NULL;
        hm_node *seed = tangents[i];
        if (own) /* what is older than u does not depend on it */
            reverse_mode(g, &own, &seed, 1, &u, 1, u->serial, &term);
        if (term)
            result = result ? hm_ad_add(g, result, term) : term;
    }
    return result;
}

static hm_node *push_forward(hm_graph *g, hm_node *node, hm_node *const *tangents)
{
    bool any = false;
    for (int32_t i = 0; i < node->count; i++)
        any |= tangents[i] != NULL;
    if (!any)
        return NULL;
    if (node->op->tangent)
        return node->op->tangent(g, node, tangents);
    hm_node **inputs = hm_alloc((size_t)node->count * sizeof *inputs), *result = NULL;
    bool *wanted = hm_alloc((size_t)node->count);
    if (!inputs || !wanted)
        hm_graph_fail(g, hm_fail_memory(g->ctx));
    else if (node->op->flags & HM_OP_LINEAR)
        result = linear_tangent(g, node, tangents, inputs);
    else if (node->op->flags & HM_OP_MULTILINEAR)
        result = multilinear_tangent(g, node, tangents, inputs);
    else
        result = transposed_tangent(g, node, tangents, inputs, wanted);
    hm_free(inputs);
    hm_free(wanted);
    if (!result)
        return NULL;
    /* A tangent that comes from a broadcast input alone may still have that input's shape. */
    hm_shape have = hm_node_shape(result), want = hm_node_shape(node);
    return hm_shape_equal(&have, &want) ? result : hm_ad_broadcast_to(g, result, &want);
}

/* NULL is zero. */
static hm_node *sum_of(hm_graph *g, hm_node *a, hm_node *b)
{
    return a && b ? hm_ad_add(g, a, b) : a ? a : b;
}

/* From the oldest node to the youngest, to the tangents that some nodes have been given. */
static void walk_forward(hm_graph *g, const hm_order *order, const bool *active, hm_node **tangents)
{
    hm_node *few[INLINE_INPUTS];
    for (int64_t i = 0; i < order->count && g->status == HMATH_OK; i++) {
        hm_node *node = order->nodes[i];
        if (!active[i])
            continue;
        hm_node **of_inputs =
            node->count <= INLINE_INPUTS ? few : hm_alloc((size_t)node->count * sizeof *of_inputs);
        if (!of_inputs) {
            hm_graph_fail(g, hm_fail_memory(g->ctx));
            return;
        }
        for (int32_t k = 0; k < node->count; k++)
            of_inputs[k] = tangents[hm_order_input(order, i, k)];
        tangents[i] = sum_of(g, tangents[i], push_forward(g, node, of_inputs));
        if (of_inputs != few)
            hm_free(of_inputs);
    }
}

void hm_forward_mode(hm_graph *g, hm_node *const *outputs, int64_t n, hm_node *const *wrt,
                     hm_node *const *tangents, int64_t m, hm_node **tangents_out)
{
    hm_order order;
    hm_status st;
    for (int64_t i = 0; i < n; i++)
        tangents_out[i] = NULL;
    if (g->status != HMATH_OK)
        return;
    if ((st = hm_order_create(g->ctx, outputs, n, &order)) != HMATH_OK) {
        hm_graph_fail(g, st);
        return;
    }
    bool *active = find_active(&order, wrt, m);
    hm_node **of_nodes = hm_alloc_zeroed((size_t)order.count * sizeof *of_nodes);
    if (active && of_nodes) {
        for (int64_t j = 0; j < m; j++) {
            int64_t place = hm_order_find(&order, wrt[j]);
            if (place >= 0)
                of_nodes[place] = sum_of(g, of_nodes[place], tangents[j]);
        }
        walk_forward(g, &order, active, of_nodes);
        for (int64_t i = 0; i < n; i++)
            tangents_out[i] = of_nodes[hm_order_find(&order, outputs[i])];
    } else {
        hm_graph_fail(g, hm_fail_memory(g->ctx));
    }
    hm_free(of_nodes);
    hm_free(active);
    hm_order_free(&order);
}
