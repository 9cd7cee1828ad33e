/*
 * From a graph to steps. Nodes are known by their position in the order, oldest first:
 *
 *   canonicalise   equal nodes become one, constant ones are computed, views find their root
 *   mark           what the outputs need
 *   schedule       topological; once an elementwise node's turn comes, all elementwise nodes of its
 *                  shape that are ready, or become ready through them, join its group
 *   place          scalars, tile registers, and by liveness the workspace
 */
#include "autodiff/plan.h"

#include <stdio.h>
#include <string.h>

#include "autodiff/leaf.h"
#include "autodiff/order.h"
#include "runtime/alloc.h"
#include "runtime/checked.h"

enum { NONE = -1, FOLDED_WITH_EASE = 4096 };

/* ------------------------------------------------- memory that goes all at once */

typedef struct arena {
    void **blocks;
    int64_t count, capacity;
} arena;

static void arena_free(arena *a)
{
    for (int64_t i = 0; i < a->count; i++)
        hm_free(a->blocks[i]);
    hm_free(a->blocks);
    *a = (arena){0};
}

static void *keep(void ***blocks, int64_t *count, int64_t *capacity, size_t n, size_t size)
{
    size_t bytes;
    if (!hm_bytes(0, n, size, &bytes))
        return NULL;
    if (*count == *capacity) {
        int64_t larger = *capacity ? *capacity * 2 : 16;
        void **grown = hm_realloc(*blocks, (size_t)larger * sizeof *grown);
        if (!grown)
            return NULL;
        *blocks = grown;
        *capacity = larger;
    }
    void *block = hm_alloc(bytes);
    if (block)
        (*blocks)[(*count)++] = block;
    return block;
}

void *hm_program_keep(hm_program *program, size_t count, size_t size)
{
    return keep(&program->blocks, &program->block_count, &program->block_capacity, count, size);
}

/* ------------------------------------------------- the planner */

typedef struct planner {
    hm_context *ctx;
    hm_program *program;
    hm_order order;
    arena temporary;
    int32_t n; /* nodes in the order */

    /* by position in the order */
    int32_t *canonical;      /* the oldest node equal to this one */
    int32_t *root;           /* of a canonical node: itself, or what it is a view of */
    const double **constant; /* the numbers of a node known now, or NULL */
    int32_t *input;          /* of a variable: which input of the program; NONE */
    bool *live;
    int32_t *step;     /* of a computed root */
    int32_t *last_use; /* the last step that reads a root */
    bool *escapes;     /* read outside the step that makes it */
    hm_place *place;   /* of a root */

    int32_t *member; /* computed roots by step, in the order in which they run */
    int64_t member_count;
    int64_t *first_member; /* by step; one more at the end */
} planner;

static hm_status no_memory(planner *p) { return hm_fail_memory(p->ctx); }

static void *temporary(planner *p, int64_t count, size_t size)
{
    return keep(&p->temporary.blocks, &p->temporary.count, &p->temporary.capacity, (size_t)count,
                size);
}

static void *temporary_filled(planner *p, int64_t count, size_t size, int byte)
{
    void *block = temporary(p, count, size);
    if (block)
        memset(block, byte, (size_t)count * size);
    return block;
}

static int32_t place_of(const planner *p, const hm_node *node)
{
    return (int32_t)hm_order_find(&p->order, node);
}

/* Canonical position of input k of node i. */
static int32_t input_of(const planner *p, int32_t i, int32_t k)
{
    return p->canonical[hm_order_input(&p->order, i, k)];
}

static bool is_leaf(const planner *p, int32_t i)
{
    return p->constant[i] || p->order.nodes[i]->op == &hm_op_variable;
}

static bool is_elementwise(const planner *p, int32_t i)
{
    return p->order.nodes[i]->op->map != NULL;
}

/* ------------------------------------------------- canonicalise: equal nodes */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_node(const planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    uint64_t hash = mix((uint64_t)(uintptr_t)node->op, node->attribute_size);
    for (int32_t k = 0; k < node->count; k++)
        hash = mix(hash, (uint64_t)input_of(p, i, k));
    const unsigned char *bytes = hm_node_attributes(node);
    uint64_t at = 0;
    for (uint64_t word; at + sizeof word <= node->attribute_size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        hash = mix(hash, word);
    }
    for (; at < node->attribute_size; at++)
        hash = mix(hash, bytes[at]);
    return hash;
}

/* The shape follows from op, inputs and attributes. */
static bool equal_nodes(const planner *p, int32_t i, int32_t j)
{
    const hm_node *a = p->order.nodes[i], *b = p->order.nodes[j];
    if (a->op != b->op || a->count != b->count || a->attribute_size != b->attribute_size)
        return false;
    for (int32_t k = 0; k < a->count; k++)
        if (input_of(p, i, k) != input_of(p, j, k))
            return false;
    return a->attribute_size == 0 ||
           memcmp(hm_node_attributes(a), hm_node_attributes(b), a->attribute_size) == 0;
}

typedef struct node_set {
    int32_t *entries;
    uint64_t mask;
} node_set;

static int32_t find_equal(planner *p, node_set *set, int32_t i)
{
    if (p->order.nodes[i]->op->flags & HM_OP_UNIQUE)
        return i;
    uint64_t at = hash_node(p, i) & set->mask;
    while (set->entries[at] != NONE && !equal_nodes(p, i, set->entries[at]))
        at = (at + 1) & set->mask;
    if (set->entries[at] == NONE)
        set->entries[at] = i;
    return set->entries[at];
}

/* ------------------------------------------------- canonicalise: what is constant */

/* Of an elementwise node: as one group of its own, outside any program. */
static hm_status fold_elementwise(planner *p, int32_t i, double *output)
{
    const hm_node *node = p->order.nodes[i];
    hm_shape shape = hm_node_shape(node);
    hm_tile_spread spreads[HM_MAX_MAP_ARITY];
    hm_tile_op op = {.node = node, .output = {HM_PLACE_OUTPUT, {.index = 0}}};
    hm_tiles tiles = {.size = node->size, .ops = &op, .spreads = spreads, .op_count = 1};
    for (int32_t k = 0; k < node->count; k++) {
        const hm_node *from = node->inputs[k];
        hm_place place = {HM_PLACE_CONSTANT, {.pointer = p->constant[input_of(p, i, k)]}};
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

static hm_status fold_other(planner *p, int32_t i, double *output)
{
    const hm_node *node = p->order.nodes[i];
    const double **inputs = hm_alloc((size_t)node->count * sizeof *inputs);
    if (!inputs)
        return no_memory(p);
    for (int32_t k = 0; k < node->count; k++)
        inputs[k] = p->constant[input_of(p, i, k)];
    hm_run run = {p->ctx, node, inputs, output};
    const char *outer = hm_context_rename(p->ctx, node->op->name);
    hm_status st = node->op->run(&run);
    hm_context_rename(p->ctx, outer);
    hm_free(inputs);
    return st;
}

/* Is it worth computing now? Never where the result is larger than what it is made from. */
static bool foldable(const planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    int64_t largest = 0;
    if (node->op->flags & HM_OP_UNIQUE || node->count == 0)
        return false;
    for (int32_t k = 0; k < node->count; k++) {
        if (!p->constant[input_of(p, i, k)])
            return false;
        if (node->inputs[k]->size > largest)
            largest = node->inputs[k]->size;
    }
    return node->size <= largest || (!node->op->map && node->size <= FOLDED_WITH_EASE);
}

/* A node that refuses its inputs is left to fail when the program runs. */
static hm_status fold(planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    if (!foldable(p, i))
        return HMATH_OK;
    if (node->op->flags & HM_OP_VIEW) {
        p->constant[i] = p->constant[input_of(p, i, 0)];
        return HMATH_OK;
    }
    double *output = hm_program_keep(p->program, (size_t)node->size, sizeof(double));
    if (!output)
        return no_memory(p);
    hm_status st = is_elementwise(p, i) ? fold_elementwise(p, i, output) : fold_other(p, i, output);
    if (st == HMATH_OK)
        p->constant[i] = output;
    return st == HMATH_NO_MEMORY ? st : HMATH_OK;
}

/* A view shows its root; but a scalar lives among the scalars, so that one is a copy. */
static int32_t root_of(const planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    if (!(node->op->flags & HM_OP_VIEW) || p->constant[i])
        return i;
    int32_t root = p->root[input_of(p, i, 0)];
    return node->rank == 0 && p->order.nodes[root]->rank != 0 ? i : root;
}

static hm_status canonicalise(planner *p)
{
    node_set set = {.mask = 15};
    while (set.mask < (uint64_t)p->n * 2)
        set.mask = set.mask * 2 + 1;
    set.entries = hm_alloc((set.mask + 1) * sizeof(int32_t));
    if (!set.entries)
        return no_memory(p);
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

/* ------------------------------------------------- mark */

static hm_status fail_unbound(planner *p, const hm_node *node)
{
    char found[HM_TEXT];
    const char *name = hm_variable_name(node);
    snprintf(found, sizeof found, "leave out the variable %s", *name ? name : "(without a name)");
    return hm_fail_requirement(p->ctx, "inputs", found, "every variable of the graph");
}

static void mark_live(planner *p)
{
    for (int64_t j = 0; j < p->program->output_count; j++)
        p->live[p->canonical[place_of(p, p->program->outputs[j])]] = true;
    for (int32_t i = p->n; i-- > 0;) {
        if (!p->live[i] || p->constant[i])
            continue;
        for (int32_t k = 0; k < p->order.nodes[i]->count; k++)
            p->live[input_of(p, i, k)] = true;
    }
}

static hm_status match_inputs(planner *p, bool spare)
{
    for (int64_t j = 0; j < p->program->input_count; j++) {
        const hm_node *node = p->program->inputs[j];
        if (node->op != &hm_op_variable)
            return hm_fail_requirement(p->ctx, "inputs", "hold a node that is no variable",
                                       "variables only");
        int32_t i = place_of(p, node);
        if (i == NONE && !spare) {
            char found[HM_TEXT];
            snprintf(found, sizeof found, "hold %s, on which no output depends",
                     hm_variable_name(node));
            return hm_fail_requirement(p->ctx, "inputs", found, "variables of this graph");
        }
        if (i == NONE)
            continue;
        if (p->input[i] != NONE)
            return hm_fail_requirement(p->ctx, "inputs", "hold a variable twice",
                                       "every variable once");
        p->input[i] = (int32_t)j;
    }
    for (int32_t i = 0; i < p->n; i++)
        if (p->order.nodes[i]->op == &hm_op_variable && p->input[i] == NONE)
            return fail_unbound(p, p->order.nodes[i]);
    return HMATH_OK;
}

/* ------------------------------------------------- schedule */

/* Who waits for whom: users[first_user[r]] ... of root r, and how many producers a node waits for. */
typedef struct dependencies {
    int32_t *waiting_for;
    int64_t *first_user;
    int32_t *users;
} dependencies;

static bool is_computed(const planner *p, int32_t i)
{
    return p->live[i] && p->canonical[i] == i && p->root[i] == i && !is_leaf(p, i);
}

/* The root that input k of node i needs computed first; NONE where it is a leaf. */
static int32_t producer(const planner *p, int32_t i, int32_t k)
{
    int32_t root = p->root[input_of(p, i, k)];
    return is_leaf(p, root) ? NONE : root;
}

static hm_status find_dependencies(planner *p, dependencies *d)
{
    d->waiting_for = temporary_filled(p, p->n, sizeof(int32_t), 0);
    d->first_user = temporary_filled(p, p->n + 2, sizeof(int64_t), 0);
    if (!d->waiting_for || !d->first_user)
        return no_memory(p);
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; is_computed(p, i) && k < p->order.nodes[i]->count; k++) {
            int32_t from = producer(p, i, k);
            if (from != NONE) {
                d->waiting_for[i]++;
                d->first_user[from + 2]++;
            }
        }
    for (int32_t i = 0; i < p->n; i++)
        d->first_user[i + 2] += d->first_user[i + 1];
    d->users = temporary(p, d->first_user[p->n + 1], sizeof(int32_t));
    if (!d->users)
        return no_memory(p);
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; is_computed(p, i) && k < p->order.nodes[i]->count; k++) {
            int32_t from = producer(p, i, k);
            if (from != NONE)
                d->users[d->first_user[from + 1]++] = i;
        }
    return HMATH_OK;
}

/* Ready nodes, oldest first: a binary heap. */
typedef struct heap {
    int32_t *nodes;
    int32_t count;
} heap;

static void heap_push(heap *h, int32_t node)
{
    int32_t i = h->count++;
    for (; i > 0 && h->nodes[(i - 1) / 2] > node; i = (i - 1) / 2)
        h->nodes[i] = h->nodes[(i - 1) / 2];
    h->nodes[i] = node;
}

static int32_t heap_pop(heap *h)
{
    int32_t top = h->nodes[0], last = h->nodes[--h->count], i = 0;
    for (int32_t child = 1; child < h->count; i = child, child = 2 * i + 1) {
        if (child + 1 < h->count && h->nodes[child + 1] < h->nodes[child])
            child++;
        if (h->nodes[child] >= last)
            break;
        h->nodes[i] = h->nodes[child];
    }
    if (h->count)
        h->nodes[i] = last;
    return top;
}

/* Ready elementwise nodes by shape, newest on top: chains stay together. */
typedef struct shelf {
    int32_t *shape_of; /* by node: number of its shape */
    int32_t *top;      /* by shape: its newest ready node, NONE */
    int32_t *below;    /* by node */
} shelf;

static uint64_t hash_shape(const hm_node *node)
{
    uint64_t hash = (uint64_t)node->rank;
    for (int32_t k = 0; k < node->rank; k++)
        hash = mix(hash, (uint64_t)hm_node_extents(node)[k]);
    return hash;
}

static bool same_shape(const hm_node *a, const hm_node *b)
{
    return a->rank == b->rank &&
           memcmp(hm_node_extents(a), hm_node_extents(b), (size_t)a->rank * sizeof(int64_t)) == 0;
}

/* A shape's number is the position of the first elementwise node that has it. */
static hm_status number_shapes(planner *p, shelf *s)
{
    uint64_t mask = 15;
    while (mask < (uint64_t)p->n * 2)
        mask = mask * 2 + 1;
    s->shape_of = temporary_filled(p, p->n, sizeof(int32_t), 0xff);
    s->top = temporary_filled(p, p->n, sizeof(int32_t), 0xff);
    s->below = temporary_filled(p, p->n, sizeof(int32_t), 0xff);
    int32_t *first = hm_alloc((mask + 1) * sizeof *first), scalar = NONE;
    if (!s->shape_of || !s->top || !s->below || !first) {
        hm_free(first);
        return no_memory(p);
    }
    memset(first, 0xff, (mask + 1) * sizeof *first);
    for (int32_t i = 0; i < p->n; i++) {
        const hm_node *node = p->order.nodes[i];
        if (!is_computed(p, i) || !is_elementwise(p, i))
            continue;
        if (node->rank == 0) {
            s->shape_of[i] = scalar = scalar == NONE ? i : scalar;
            continue;
        }
        uint64_t at = hash_shape(node) & mask;
        while (first[at] != NONE && !same_shape(node, p->order.nodes[first[at]]))
            at = (at + 1) & mask;
        s->shape_of[i] = first[at] = first[at] == NONE ? i : first[at];
    }
    hm_free(first);
    return HMATH_OK;
}

typedef struct scheduler {
    planner *p;
    dependencies needs;
    heap ready;
    shelf elementwise;
} scheduler;

static void make_ready(scheduler *s, int32_t node)
{
    heap_push(&s->ready, node);
    int32_t shape = s->elementwise.shape_of[node];
    if (shape == NONE)
        return;
    s->elementwise.below[node] = s->elementwise.top[shape];
    s->elementwise.top[shape] = node;
}

/* Let the node run in the current step. */
static void take(scheduler *s, int32_t node, int32_t step)
{
    planner *p = s->p;
    p->step[node] = step;
    p->member[p->member_count++] = node;
    for (int64_t u = s->needs.first_user[node]; u < s->needs.first_user[node + 1]; u++)
        if (--s->needs.waiting_for[s->needs.users[u]] == 0)
            make_ready(s, s->needs.users[u]);
}

static hm_status schedule(planner *p)
{
    scheduler s = {.p = p};
    hm_status st = find_dependencies(p, &s.needs);
    if (st == HMATH_OK)
        st = number_shapes(p, &s.elementwise);
    if (st != HMATH_OK)
        return st;
    p->member = temporary(p, p->n, sizeof(int32_t));
    p->first_member = temporary(p, p->n + 1, sizeof(int64_t));
    s.ready.nodes = temporary(p, p->n, sizeof(int32_t));
    if (!p->member || !p->first_member || !s.ready.nodes)
        return no_memory(p);
    for (int32_t i = p->n; i-- > 0;)
        if (is_computed(p, i) && s.needs.waiting_for[i] == 0)
            make_ready(&s, i);
    int32_t step = 0;
    while (s.ready.count) {
        int32_t next = heap_pop(&s.ready), shape = s.elementwise.shape_of[next];
        if (p->step[next] != NONE)
            continue; /* went with an earlier group */
        p->first_member[step] = p->member_count;
        if (shape == NONE)
            take(&s, next, step);
        else
            while (s.elementwise.top[shape] != NONE) {
                int32_t node = s.elementwise.top[shape];
                s.elementwise.top[shape] = s.elementwise.below[node];
                take(&s, node, step);
            }
        step++;
    }
    p->first_member[step] = p->member_count;
    p->program->step_count = step;
    return HMATH_OK;
}

/* ------------------------------------------------- place: who is read when */

static void note_use(planner *p, int32_t root, int32_t step)
{
    if (p->last_use[root] < step)
        p->last_use[root] = step;
    if (p->step[root] != step)
        p->escapes[root] = true;
}

static void find_uses(planner *p)
{
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; is_computed(p, i) && k < p->order.nodes[i]->count; k++)
            note_use(p, p->root[input_of(p, i, k)], p->step[i]);
    for (int64_t j = 0; j < p->program->output_count; j++)
        note_use(p, p->root[p->canonical[place_of(p, p->program->outputs[j])]],
                 (int32_t)p->program->step_count);
}

/* ------------------------------------------------- place: scalars, inputs, constants, outputs */

static hm_place indexed(hm_place_kind kind, int64_t index)
{
    return (hm_place){kind, {.index = index}};
}

/* Scalars stand in one array: constants first, for one copy at the start of a run. */
static hm_status place_scalars(planner *p)
{
    hm_program *program = p->program;
    int64_t count = 0;
    for (int32_t i = 0; i < p->n; i++)
        if (p->live[i] && p->constant[i] && p->order.nodes[i]->rank == 0)
            p->place[i] = indexed(HM_PLACE_SCALAR, count++);
    program->scalar_constant_count = count;
    program->scalar_constants = hm_program_keep(program, (size_t)count, sizeof(double));
    if (!program->scalar_constants)
        return no_memory(p);
    for (int32_t i = 0; i < p->n; i++)
        if (p->place[i].kind == HM_PLACE_SCALAR)
            program->scalar_constants[p->place[i].index] = *p->constant[i];
    for (int32_t i = 0; i < p->n; i++)
        if (p->order.nodes[i]->rank == 0 &&
            (is_computed(p, i) || (p->input[i] != NONE && p->live[i])))
            p->place[i] = indexed(HM_PLACE_SCALAR, count++);
    for (int64_t j = 0; j < program->input_count; j++) {
        int32_t i = place_of(p, program->inputs[j]);
        bool scalar = i != NONE && p->place[i].kind == HM_PLACE_SCALAR;
        program->scalar_inputs[j] = scalar ? p->place[i].index : NONE;
    }
    program->scalar_count = count;
    return count <= UINT32_MAX ? HMATH_OK : no_memory(p);
}

static void place_leaves_and_outputs(planner *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        if (!p->live[i] || p->place[i].kind != HM_PLACE_NOWHERE)
            continue;
        if (p->constant[i])
            p->place[i] = (hm_place){HM_PLACE_CONSTANT, {.pointer = p->constant[i]}};
        else if (p->input[i] != NONE)
            p->place[i] = indexed(HM_PLACE_INPUT, p->input[i]);
    }
    for (int64_t j = 0; j < p->program->output_count; j++) {
        int32_t root = p->root[p->canonical[place_of(p, p->program->outputs[j])]];
        if (p->place[root].kind == HM_PLACE_NOWHERE)
            p->place[root] = indexed(HM_PLACE_OUTPUT, j);
    }
}

static hm_status list_deliveries(planner *p)
{
    hm_program *program = p->program;
    program->deliveries =
        hm_program_keep(program, (size_t)program->output_count, sizeof(hm_delivery));
    if (!program->deliveries)
        return no_memory(p);
    for (int64_t j = 0; j < program->output_count; j++) {
        const hm_node *output = program->outputs[j];
        const hm_place *from = &p->place[p->root[p->canonical[place_of(p, output)]]];
        if (from->kind != HM_PLACE_OUTPUT || from->index != j)
            program->deliveries[program->delivery_count++] = (hm_delivery){*from, j, output->size};
    }
    return HMATH_OK;
}

/* ------------------------------------------------- place: the workspace, by liveness */

typedef struct hole {
    int64_t at, size;
} hole;

typedef struct holes {
    hole *list; /* by position */
    int64_t count, end;
} holes;

static int64_t rounded(int64_t size)
{
    const int64_t line = HM_ALIGNMENT / (int64_t)sizeof(double);
    return (size + line - 1) / line * line;
}

/* The smallest hole that is large enough, else the end. */
static int64_t carve(holes *h, int64_t size)
{
    int64_t best = NONE;
    for (int64_t i = 0; i < h->count; i++)
        if (h->list[i].size >= size && (best == NONE || h->list[i].size < h->list[best].size))
            best = i;
    if (best == NONE) {
        bool touches = h->count && h->list[h->count - 1].at + h->list[h->count - 1].size == h->end;
        int64_t at = touches ? h->list[--h->count].at : h->end;
        h->end = at + size;
        return at;
    }
    int64_t at = h->list[best].at;
    h->list[best].at += size;
    h->list[best].size -= size;
    if (h->list[best].size == 0) {
        h->count--;
        memmove(h->list + best, h->list + best + 1, (size_t)(h->count - best) * sizeof(hole));
    }
    return at;
}

static void fill_up(holes *h, int64_t at, int64_t size)
{
    int64_t i = h->count;
    while (i > 0 && h->list[i - 1].at > at)
        i--;
    bool joins_left = i > 0 && h->list[i - 1].at + h->list[i - 1].size == at;
    bool joins_right = i < h->count && at + size == h->list[i].at;
    if (joins_left && joins_right) {
        h->list[i - 1].size += size + h->list[i].size;
        h->count--;
        memmove(h->list + i, h->list + i + 1, (size_t)(h->count - i) * sizeof(hole));
    } else if (joins_left) {
        h->list[i - 1].size += size;
    } else if (joins_right) {
        h->list[i].at = at;
        h->list[i].size += size;
    } else {
        memmove(h->list + i + 1, h->list + i, (size_t)(h->count - i) * sizeof(hole));
        h->list[i] = (hole){at, size};
        h->count++;
    }
}

/* What dies after each step, as lists through `next_death`. */
static hm_status place_workspace(planner *p)
{
    int64_t steps = p->program->step_count, most = 1;
    int32_t *first_death = temporary_filled(p, steps + 1, sizeof(int32_t), 0xff);
    int32_t *next_death = temporary_filled(p, p->n, sizeof(int32_t), 0xff);
    if (!first_death || !next_death)
        return no_memory(p);
    for (int64_t m = 0; m < p->member_count; m++) {
        int32_t i = p->member[m];
        if (p->place[i].kind != HM_PLACE_NOWHERE || !p->escapes[i])
            continue;
        most++;
        next_death[i] = first_death[p->last_use[i]];
        first_death[p->last_use[i]] = i;
    }
    holes h = {.list = temporary(p, most, sizeof(hole))};
    if (!h.list)
        return no_memory(p);
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t m = p->first_member[s]; m < p->first_member[s + 1]; m++) {
            int32_t i = p->member[m];
            if (p->place[i].kind == HM_PLACE_NOWHERE && p->escapes[i])
                p->place[i] =
                    indexed(HM_PLACE_WORKSPACE, carve(&h, rounded(p->order.nodes[i]->size)));
        }
        for (int32_t i = first_death[s]; i != NONE; i = next_death[i])
            if (p->order.nodes[i]->size)
                fill_up(&h, p->place[i].index, rounded(p->order.nodes[i]->size));
    }
    p->program->workspace_doubles = h.end;
    return HMATH_OK;
}

/* ------------------------------------------------- steps */

static hm_status build_op(planner *p, hm_step *step, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    hm_place *inputs = hm_program_keep(p->program, (size_t)node->count, sizeof *inputs);
    if (!inputs)
        return no_memory(p);
    for (int32_t k = 0; k < node->count; k++)
        inputs[k] = p->place[p->root[input_of(p, i, k)]];
    if (p->program->most_inputs < node->count)
        p->program->most_inputs = node->count;
    step->kind = HM_STEP_OP;
    step->op.node = node;
    step->op.inputs = inputs;
    step->op.output = p->place[i];
    return HMATH_OK;
}

static hm_status build_scalars(planner *p, hm_step *step, const int32_t *members, int64_t count)
{
    int64_t call_count = 0;
    for (int64_t m = 0; m < count; m++)
        call_count += p->order.nodes[members[m]]->op->scalar_code == HM_SCALAR_CALL;
    hm_scalar_op *ops = hm_program_keep(p->program, (size_t)count, sizeof *ops);
    hm_scalar_call *calls = hm_program_keep(p->program, (size_t)call_count, sizeof *calls);
    const hm_node **nodes = hm_program_keep(p->program, (size_t)count, sizeof *nodes);
    if (!ops || !calls || !nodes)
        return no_memory(p);
    call_count = 0;
    for (int64_t m = 0; m < count; m++) {
        const hm_node *node = nodes[m] = p->order.nodes[members[m]];
        uint32_t inputs[HM_MAX_MAP_ARITY] = {0};
        for (int32_t k = 0; k < node->count; k++)
            inputs[k] = (uint32_t)p->place[p->root[input_of(p, members[m], k)]].index;
        ops[m] = (hm_scalar_op){node->op->scalar_code, (uint32_t)p->place[members[m]].index,
                                inputs[0], inputs[1]};
        if (ops[m].code == HM_SCALAR_CALL) {
            ops[m].a = (uint32_t)call_count;
            calls[call_count].node = node;
            memcpy(calls[call_count++].inputs, inputs, sizeof inputs);
        }
    }
    step->kind = HM_STEP_SCALARS;
    step->scalars = (hm_scalars){ops, calls, nodes, count};
    return HMATH_OK;
}

/* One group of tiles in the making. */
typedef struct group {
    planner *p;
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
    planner *p = g->p;
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
            return indexed(HM_PLACE_REGISTER, how.to);
    }
    how.to = g->registers++;
    g->spreads[g->spread_count++] = how;
    return indexed(HM_PLACE_REGISTER, how.to);
}

/*
 * An infinity or a NaN that goes into one of these comes out as one, so that only their own results need
 * a look. (A quotient hides one in its divisor.)
 */
static bool passes_on(const hm_op *op)
{
    return op->scalar_code == HM_SCALAR_ADD || op->scalar_code == HM_SCALAR_SUBTRACT ||
           op->scalar_code == HM_SCALAR_MULTIPLY || op->scalar_code == HM_SCALAR_NEGATE ||
           op->scalar_code == HM_SCALAR_SQUARE;
}

/* Members that stay inside the group and are read by such ops only; by position in the order. */
static void mark_unwatched(group *g, const int32_t *members, int64_t count, int32_t *watched)
{
    planner *p = g->p;
    for (int64_t m = 0; m < count; m++)
        watched[members[m]] =
            p->escapes[members[m]] || p->place[members[m]].kind == HM_PLACE_OUTPUT;
    for (int64_t m = 0; m < count; m++) {
        const hm_node *node = p->order.nodes[members[m]];
        for (int32_t k = 0; k < node->count && !passes_on(node->op); k++)
            watched[p->root[input_of(p, members[m], k)]] = true;
    }
    for (int64_t m = 0; m < count; m++)
        g->ops[m].unwatched = !watched[members[m]];
}

/* last[i]: the last member of the group that reads node i, by its number in the group. */
static void build_tile_ops(group *g, const int32_t *members, int64_t count, int32_t *last)
{
    planner *p = g->p;
    for (int64_t m = 0; m < count; m++)
        last[members[m]] = (int32_t)m;
    for (int64_t m = 0; m < count; m++)
        for (int32_t k = 0; k < p->order.nodes[members[m]]->count; k++)
            last[p->root[input_of(p, members[m], k)]] = (int32_t)m;
    for (int64_t m = 0; m < count; m++) {
        int32_t i = members[m];
        hm_tile_op *op = &g->ops[m];
        op->node = p->order.nodes[i];
        op->repeated = 0;
        for (int32_t k = 0; k < op->node->count; k++) {
            int32_t input = input_of(p, i, k);
            if ((op->node->op->flags & HM_OP_REPEATS) && p->order.nodes[input]->size == 1 &&
                g->size != 1) {
                op->inputs[k] = p->place[p->root[input]];
                op->repeated |= 1u << k;
            } else {
                op->inputs[k] = tile_operand(g, input);
            }
        }
        if (p->place[i].kind == HM_PLACE_NOWHERE)
            p->place[i] = indexed(HM_PLACE_REGISTER, take_register(g));
        op->output = p->place[i];
        for (int32_t k = 0; k < op->node->count; k++) {
            int32_t root = p->root[input_of(p, i, k)];
            if (p->place[root].kind == HM_PLACE_REGISTER && last[root] == m) {
                g->free[g->free_count++] = (int32_t)p->place[root].index;
                last[root] = NONE; /* once, where an op reads it twice */
            }
        }
    }
}

static hm_status build_tiles(planner *p, hm_step *step, const int32_t *members, int64_t count,
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
        return no_memory(p);
    }
    mark_unwatched(&g, members, count, last);
    build_tile_ops(&g, members, count, last);
    hm_free(g.free);
    step->kind = HM_STEP_TILES;
    step->tiles = (hm_tiles){g.size, g.ops, g.spreads, (int32_t)count, g.spread_count, g.registers};
    if (p->program->registers < g.registers)
        p->program->registers = g.registers;
    return HMATH_OK;
}

static hm_status build_steps(planner *p)
{
    hm_program *program = p->program;
    int32_t *last = temporary(p, p->n, sizeof(int32_t));
    program->steps = hm_program_keep(program, (size_t)program->step_count, sizeof(hm_step));
    if (!last || !program->steps)
        return no_memory(p);
    hm_status st = HMATH_OK;
    for (int64_t s = 0; s < program->step_count && st == HMATH_OK; s++) {
        const int32_t *members = p->member + p->first_member[s];
        int64_t count = p->first_member[s + 1] - p->first_member[s];
        hm_step *step = &program->steps[s];
        if (!is_elementwise(p, members[0]))
            st = build_op(p, step, members[0]);
        else if (p->order.nodes[members[0]]->rank == 0)
            st = build_scalars(p, step, members, count);
        else
            st = build_tiles(p, step, members, count, last);
    }
    return st;
}

/* ------------------------------------------------- all of it */

static hm_status prepare(planner *p)
{
    hm_status st =
        hm_order_create(p->ctx, p->program->outputs, p->program->output_count, &p->order);
    if (st != HMATH_OK)
        return st;
    p->n = (int32_t)p->order.count;
    p->program->nodes = p->n;
    p->canonical = temporary(p, p->n, sizeof(int32_t));
    p->root = temporary(p, p->n, sizeof(int32_t));
    p->constant = temporary_filled(p, p->n, sizeof(double *), 0);
    p->input = temporary_filled(p, p->n, sizeof(int32_t), 0xff);
    p->live = temporary_filled(p, p->n, sizeof(bool), 0);
    p->step = temporary_filled(p, p->n, sizeof(int32_t), 0xff);
    p->last_use = temporary_filled(p, p->n, sizeof(int32_t), 0xff);
    p->escapes = temporary_filled(p, p->n, sizeof(bool), 0);
    p->place = temporary_filled(p, p->n, sizeof(hm_place), 0);
    bool ok = p->canonical && p->root && p->constant && p->input && p->live && p->step &&
              p->last_use && p->escapes && p->place;
    return ok ? HMATH_OK : no_memory(p);
}

hm_status hm_plan(hm_context *ctx, hm_program *program, bool spare)
{
    planner p = {.ctx = ctx, .program = program};
    hm_status st;
    if ((st = prepare(&p)) == HMATH_OK && (st = match_inputs(&p, spare)) == HMATH_OK &&
        (st = canonicalise(&p)) == HMATH_OK) {
        mark_live(&p);
        st = schedule(&p);
    }
    if (st == HMATH_OK) {
        find_uses(&p);
        if ((st = place_scalars(&p)) == HMATH_OK) {
            place_leaves_and_outputs(&p);
            if ((st = place_workspace(&p)) == HMATH_OK && (st = list_deliveries(&p)) == HMATH_OK)
                st = build_steps(&p);
        }
    }
    arena_free(&p.temporary);
    hm_order_free(&p.order);
    return st;
}
