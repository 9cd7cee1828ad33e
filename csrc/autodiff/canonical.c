/* Equal nodes become one, and what is made of constants is computed once and for all. */
#include <string.h>

#include "autodiff/planner.h"
#include "runtime/alloc.h"

enum { FOLDED_WITH_EASE = 4096 };

/* ------------------------------------------------- equal nodes */

static uint64_t hash_node(const hm_planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    uint64_t hash = hm_plan_mix((uint64_t)(uintptr_t)node->op, node->attribute_size);
    for (int32_t k = 0; k < node->count; k++)
        hash = hm_plan_mix(hash, (uint64_t)hm_plan_input(p, i, k));
    const unsigned char *bytes = hm_node_attributes(node);
    uint64_t at = 0;
    for (uint64_t word; at + sizeof word <= node->attribute_size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        hash = hm_plan_mix(hash, word);
    }
    for (; at < node->attribute_size; at++)
        hash = hm_plan_mix(hash, bytes[at]);
    return hash;
}

/* The shape follows from op, inputs and attributes. */
static bool equal_nodes(const hm_planner *p, int32_t i, int32_t j)
{
    const hm_node *a = p->order.nodes[i], *b = p->order.nodes[j];
    if (a->op != b->op || a->count != b->count || a->attribute_size != b->attribute_size)
        return false;
    for (int32_t k = 0; k < a->count; k++)
        if (hm_plan_input(p, i, k) != hm_plan_input(p, j, k))
            return false;
    return a->attribute_size == 0 ||
           memcmp(hm_node_attributes(a), hm_node_attributes(b), a->attribute_size) == 0;
}

typedef struct node_set {
    int32_t *entries;
    uint64_t mask;
} node_set;

static int32_t find_equal(hm_planner *p, node_set *set, int32_t i)
{
    if (p->order.nodes[i]->op->flags & HM_OP_UNIQUE)
        return i;
    uint64_t at = hash_node(p, i) & set->mask;
    while (set->entries[at] != HM_NONE && !equal_nodes(p, i, set->entries[at]))
        at = (at + 1) & set->mask;
    if (set->entries[at] == HM_NONE)
        set->entries[at] = i;
    return set->entries[at];
}

/* ------------------------------------------------- what is constant */

/* Of an elementwise node: as one group of its own, outside any program. */
static hm_status fold_elementwise(hm_planner *p, int32_t i, double *output)
{
    const hm_node *node = p->order.nodes[i];
    hm_shape shape = hm_node_shape(node);
    hm_tile_spread spreads[HM_MAX_MAP_ARITY];
    hm_tile_op op = {.node = node, .output = {HM_PLACE_OUTPUT, {.index = 0}}};
    hm_tile_part whole = {.first = 0};
    hm_tiles tiles = {.size = node->size,
                      .ops = &op,
                      .spreads = spreads,
                      .parts = &whole,
                      .op_count = 1,
                      .part_count = 1};
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
    hm_status st = hm_scratch_create(p->ctx, (size_t)tiles.registers * HM_TILE, sizeof(double),
                                     &frame.registers);
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
    hm_run run = {p->ctx, node, inputs, output};
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
    double *output = hm_program_keep(p->program, (size_t)node->size, sizeof(double));
    if (!output)
        return hm_plan_no_memory(p);
    hm_status st = hm_plan_is_elementwise(p, i) ? fold_elementwise(p, i, output) : fold_other(p, i, output);
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
    node_set set = {.mask = 15};
    while (set.mask < (uint64_t)p->n * 2)
        set.mask = set.mask * 2 + 1;
    set.entries = hm_alloc((set.mask + 1) * sizeof(int32_t));
    if (!set.entries)
        return hm_plan_no_memory(p);
    memset(set.entries, 0xff, (set.mask + 1) * sizeof(int32_t));
    hm_status st = HMATH_OK;
    for (int32_t i = 0; i < p->n && st == HMATH_OK; i++) {
        const hm_node *node = p->order.nodes[i];
        p->canonical[i] = find_equal(p, &set, i);
        if (p->canonical[i] != i)
            continue;
        if (node->op == &hm_op_constant)
            p->constant[i] = hm_constant_data(node);
        else
            st = fold(p, i);
        p->root[i] = root_of(p, i);
    }
    hm_free(set.entries);
    return st;
}

