/* Equal nodes become one, and what is made of constants is computed once and for all. */
#include <string.h>

#include "autodiff/equal.h"
#include "runtime/alloc.h"

enum { FOLDED_WITH_EASE = 4096, NUMBERS_A_BLOCK = 256 };

/* ------------------------------------------------- what is constant */

/* Numbers are many: they share blocks. */
static double *room_for_number(hm_planner *p)
{
    if (p->numbers_left == 0) {
        if (!(p->numbers = hm_program_keep(p->program, NUMBERS_A_BLOCK, sizeof(double))))
            return NULL;
        p->numbers_left = NUMBERS_A_BLOCK;
    }
    p->numbers_left--;
    return p->numbers++;
}

/* Of an elementwise node of shape (). */
static hm_status fold_number(hm_planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    const double *inputs[HM_MAX_MAP_ARITY];
    double *output = room_for_number(p);
    if (!output)
        return hm_plan_no_memory(p);
    for (int32_t k = 0; k < node->count; k++)
        inputs[k] = p->constant[hm_plan_input(p, i, k)];
    const bool finite =
        node->op->map(hm_context_kernels(p->ctx), hm_node_attributes(node), inputs, 0, output, 1);
    p->constant[i] = finite ? output : NULL;
    return HMATH_OK;
}

/* Of any other elementwise node: as one group of its own, outside any program. */
static hm_status fold_elementwise(hm_planner *p, int32_t i, double *output)
{
    const hm_node *node = p->order.nodes[i];
    hm_shape shape = hm_node_shape(node);
    hm_tile_spread spreads[HM_MAX_MAP_ARITY];
    hm_tile_op op = {.node = node, .output = {HM_PLACE_OUTPUT, {.index = 0}}, .along = HM_NONE};
    hm_tile_part whole = {.first = 0};
    hm_tiles tiles = {.size = node->size,
                      .ops = &op,
                      .spreads = spreads,
                      .parts = &whole,
                      .op_count = 1,
                      .part_count = 1,
                      .tiles_per_chunk = 8};
    for (int32_t k = 0; k < node->count; k++) {
        const hm_node *from = node->inputs[k];
        hm_place place = {HM_PLACE_CONSTANT, {.pointer = p->constant[hm_plan_input(p, i, k)]}};
        op.inputs[k] = place;
        if (from->size == node->size)
            continue;
        hm_shape operand = hm_node_shape(from);
        hm_tile_spread *how = &spreads[tiles.spread_count++];
        *how = (hm_tile_spread){.from = place, .to = tiles.registers};
        hm_tile_spread_axes(&operand, &shape, how);
        op.inputs[k] = (hm_place){HM_PLACE_REGISTER, {.index = tiles.registers++}};
    }
    hm_frame frame = {.ctx = p->ctx, .outputs = &output};
    hm_status st = hm_scratch_create(p->ctx, (size_t)(tiles.registers * hm_tile_room(tiles.size)),
                                     sizeof(double), &frame.registers);
    if (st != HMATH_OK)
        return st;
    st = hm_tiles_run(&frame, &tiles);
    hm_scratch_release(p->ctx, frame.registers);
    return st;
}

static hm_status fold_other(hm_planner *p, int32_t i, double *output)
{
    const hm_node *node = p->order.nodes[i];
    const double **inputs = hm_alloc((size_t)node->count * sizeof *inputs);
    if (!inputs)
        return hm_plan_no_memory(p);
    for (int32_t k = 0; k < node->count; k++)
        inputs[k] = p->constant[hm_plan_input(p, i, k)];
    hm_run run = {.ctx = p->ctx, .node = node, .inputs = inputs, .output = output};
    const char *outer = hm_context_rename(p->ctx, node->op->name);
    hm_status st = node->op->run(&run);
    hm_context_rename(p->ctx, outer);
    hm_free(inputs);
    return st;
}

/* Is it worth computing now? Never where the result is larger than what it is made from. */
static bool foldable(const hm_planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    int64_t largest = 0;
    if (node->op->flags & HM_OP_UNIQUE || node->count == 0)
        return false;
    for (int32_t k = 0; k < node->count; k++) {
        if (!p->constant[hm_plan_input(p, i, k)])
            return false;
        if (node->inputs[k]->size > largest)
            largest = node->inputs[k]->size;
    }
    return node->size <= largest || (!node->op->map && node->size <= FOLDED_WITH_EASE);
}

/* A node that refuses its inputs is left to fail when the program runs. */
static hm_status fold(hm_planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    if (!foldable(p, i))
        return HMATH_OK;
    if (node->op->flags & HM_OP_VIEW) {
        p->constant[i] = p->constant[hm_plan_input(p, i, 0)];
        return HMATH_OK;
    }
    if (hm_plan_is_number(p, i) && hm_plan_is_elementwise(p, i))
        return fold_number(p, i);
    double *output = hm_program_keep(p->program, (size_t)node->size, sizeof(double));
    if (!output)
        return hm_plan_no_memory(p);
    hm_status st =
        hm_plan_is_elementwise(p, i) ? fold_elementwise(p, i, output) : fold_other(p, i, output);
    if (st == HMATH_OK)
        p->constant[i] = output;
    return st == HMATH_NO_MEMORY ? st : HMATH_OK;
}

/* A view shows its root; but a scalar lives among the scalars, so that one is a copy. */
static int32_t root_of(const hm_planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    if (!(node->op->flags & HM_OP_VIEW) || p->constant[i])
        return i;
    int32_t root = p->root[hm_plan_input(p, i, 0)];
    return node->rank == 0 && p->order.nodes[root]->rank != 0 ? i : root;
}

hm_status hm_plan_canonicalise(hm_planner *p)
{
    hm_equals equals;
    hm_status st = hm_equals_open(p, &equals);
    if (st != HMATH_OK)
        return st;
    for (int32_t i = 0; i < p->n && st == HMATH_OK; i++) {
        const hm_node *node = p->order.nodes[i];
        if ((st = hm_equals_find(&equals, i)) != HMATH_OK || p->canonical[i] != i)
            continue;
        if (node->op == &hm_op_constant)
            p->constant[i] = hm_constant_data(node);
        else
            st = fold(p, i);
        p->root[i] = root_of(p, i);
    }
    hm_equals_close(&equals);
    return st;
}
