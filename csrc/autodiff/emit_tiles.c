/* Groups of elementwise nodes of one shape: each result into a tile register, or where it has to go. */
#include <string.h>

#include "autodiff/planner.h"
#include "runtime/alloc.h"

/* One group of tiles in the making. */
typedef struct group {
    hm_planner *p;
    hm_shape shape;
    int64_t size;
    hm_tile_op *ops;
    hm_tile_spread *spreads;
    int32_t spread_count;
    int32_t registers;
    int32_t *free; /* registers that hold nothing any more */
    int32_t free_count;
} group;

static int32_t take_register(group *g)
{
    return g->free_count ? g->free[--g->free_count] : g->registers++;
}

/* Where a map finds an operand: in its tile as it is, or spread into a register. */
static hm_place tile_operand(group *g, int32_t input)
{
    hm_planner *p = g->p;
    const hm_node *node = p->order.nodes[input];
    hm_place from = p->place[p->root[input]];
    if (node->size == g->size)
        return from;
    hm_tile_spread how = {.from = from};
    hm_shape operand = hm_node_shape(node);
    hm_tile_spread_axes(&operand, &g->shape, &how);
    for (int32_t i = 0; i < g->spread_count; i++) { /* the same one again? */
        hm_tile_spread *other = &g->spreads[i];
        how.to = other->to;
        if (how.from.kind == other->from.kind && how.from.index == other->from.index &&
            how.axes == other->axes &&
            memcmp(how.extent, other->extent, (size_t)how.axes * sizeof(int64_t)) == 0 &&
            memcmp(how.stride, other->stride, (size_t)how.axes * sizeof(int64_t)) == 0)
            return hm_place_at(HM_PLACE_REGISTER, how.to);
    }
    how.to = g->registers++;
    g->spreads[g->spread_count++] = how;
    return hm_place_at(HM_PLACE_REGISTER, how.to);
}

/* last[i]: the last member of the group that reads node i, by its number in the group. */
static void build_tile_ops(group *g, const int32_t *members, int64_t count, int32_t *last)
{
    hm_planner *p = g->p;
    for (int64_t m = 0; m < count; m++)
        last[members[m]] = (int32_t)m;
    for (int64_t m = 0; m < count; m++)
        for (int32_t k = 0; k < p->order.nodes[members[m]]->count; k++)
            last[p->root[hm_plan_input(p, members[m], k)]] = (int32_t)m;
    for (int64_t m = 0; m < count; m++) {
        int32_t i = members[m];
        hm_tile_op *op = &g->ops[m];
        op->node = p->order.nodes[i];
        op->repeated = 0;
        for (int32_t k = 0; k < op->node->count; k++) {
            int32_t input = hm_plan_input(p, i, k);
            if ((op->node->op->flags & HM_OP_REPEATS) && p->order.nodes[input]->size == 1 &&
                g->size != 1) {
                op->inputs[k] = p->place[p->root[input]];
                op->repeated |= 1u << k;
            } else {
                op->inputs[k] = tile_operand(g, input);
            }
        }
        if (p->place[i].kind == HM_PLACE_NOWHERE)
            p->place[i] = hm_place_at(HM_PLACE_REGISTER, take_register(g));
        op->output = p->place[i];
        for (int32_t k = 0; k < op->node->count; k++) {
            int32_t root = p->root[hm_plan_input(p, i, k)];
            if (p->place[root].kind == HM_PLACE_REGISTER && last[root] == m) {
                g->free[g->free_count++] = (int32_t)p->place[root].index;
                last[root] = HM_NONE; /* once, where an op reads it twice */
            }
        }
    }
}

static bool same_place(const hm_place *a, const hm_place *b)
{
    return a->kind == b->kind && a->kind != HM_PLACE_CONSTANT && a->index == b->index;
}

/*
 * Pairs of the plan as pairs of the group. The second one is written before its turn, so not to a register,
 * which may still be another's. `number`: room for a number by position.
 */
static void link_pairs(group *g, const int32_t *members, int64_t count, int32_t *number)
{
    for (int64_t m = 0; m < count; m++) {
        number[members[m]] = (int32_t)m;
        g->ops[m].along = HM_NONE;
    }
    for (int64_t m = 0; m < count; m++) {
        const int32_t other = hm_plan_entry(g->p->pair, members[m]);
        if (other == HM_NONE || other > members[m])
            continue;
        hm_tile_op *second = &g->ops[m], *first = &g->ops[number[other]];
        if (second->output.kind == HM_PLACE_REGISTER ||
            !same_place(&first->inputs[0], &second->inputs[0]))
            continue;
        first->along = (int32_t)m;
        second->along = number[other];
    }
}

hm_status hm_emit_tiles(hm_planner *p, hm_step *step, const int32_t *members, int64_t count,
                        int32_t *last)
{
    const hm_node *node = p->order.nodes[members[0]];
    group g = {.p = p, .shape = hm_node_shape(node), .size = node->size};
    int64_t operands = 0;
    for (int64_t m = 0; m < count; m++)
        operands += p->order.nodes[members[m]]->count;
    g.ops = hm_program_keep(p->program, (size_t)count, sizeof *g.ops);
    g.spreads = hm_program_keep(p->program, (size_t)operands, sizeof *g.spreads);
    g.free = hm_alloc((size_t)count * sizeof *g.free);
    if (!g.ops || !g.spreads || !g.free) {
        hm_free(g.free);
        return hm_plan_no_memory(p);
    }
    build_tile_ops(&g, members, count, last);
    link_pairs(&g, members, count, last);
    hm_free(g.free);
    step->kind = HM_STEP_TILES;
    step->tiles = (hm_tiles){.size = g.size,
                             .ops = g.ops,
                             .spreads = g.spreads,
                             .op_count = (int32_t)count,
                             .spread_count = g.spread_count,
                             .registers = g.registers};
    if (p->program->register_doubles < g.registers * hm_tile_room(g.size))
        p->program->register_doubles = g.registers * hm_tile_room(g.size);
    return hm_emit_chains(p, &step->tiles);
}
