/* From a graph to steps: the phases of planner.h one after the other. */
#include "autodiff/plan.h"

#include <stdio.h>
#include <string.h>

#include "autodiff/planner.h"
#include "runtime/alloc.h"
#include "runtime/checked.h"

/* ------------------------------------------------- memory that goes all at once */

static void arena_free(hm_arena *a)
{
    for (int64_t i = 0; i < a->count; i++)
        hm_free(a->blocks[i]);
    hm_free(a->blocks);
    *a = (hm_arena){0};
}

static void *keep(void ***blocks, int64_t *count, int64_t *capacity, size_t n, size_t size,
                  void *(*alloc)(size_t bytes))
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
    void *block = alloc(bytes);
    if (block)
        (*blocks)[(*count)++] = block;
    return block;
}

void *hm_program_keep(hm_program *program, size_t count, size_t size)
{
    return keep(&program->blocks, &program->block_count, &program->block_capacity, count, size,
                hm_alloc);
}

static void *keep_for_now(hm_planner *p, int64_t count, size_t size, void *(*alloc)(size_t bytes))
{
    hm_arena *a = &p->temporary;
    return keep(&a->blocks, &a->count, &a->capacity, (size_t)count, size, alloc);
}

void *hm_plan_temporary(hm_planner *p, int64_t count, size_t size)
{
    return keep_for_now(p, count, size, hm_alloc);
}

/* Large blocks of zeros come from the system, and are not there before they are written. */
void *hm_plan_filled(hm_planner *p, int64_t count, size_t size, int byte)
{
    void *block = keep_for_now(p, count, size, byte ? hm_alloc : hm_alloc_zeroed);
    if (block && byte)
        memset(block, byte, (size_t)count * size);
    return block;
}

int64_t hm_plan_mark(const hm_planner *p) { return p->temporary.count; }

void hm_plan_give_back(hm_planner *p, int64_t from, int64_t to)
{
    hm_arena *a = &p->temporary;
    for (int64_t i = from; i < to; i++)
        hm_free(a->blocks[i]);
    memmove(a->blocks + from, a->blocks + to, (size_t)(a->count - to) * sizeof *a->blocks);
    a->count -= to - from;
}

/* ------------------------------------------------- mark */

/* An input that no output depends on, but that has this name. */
static bool stands_in(const hm_planner *p, const char *name)
{
    for (int64_t j = 0; j < p->program->input_count; j++) {
        const hm_node *node = p->program->inputs[j];
        if (*name && strcmp(hm_variable_name(node), name) == 0 && hm_plan_find(p, node) == HM_NONE)
            return true;
    }
    return false;
}

static hm_status fail_unbound(hm_planner *p, const hm_node *node)
{
    char found[HM_TEXT];
    const char *name = hm_variable_name(node);
    snprintf(found, sizeof found, "leave out the variable %s%s", *name ? name : "(without a name)",
             stands_in(p, name) ? " (theirs is another one of that name)" : "");
    return hm_fail_requirement(p->ctx, "inputs", HM_SCALAR, found, "every variable of the graph");
}

/* What the outputs need, all of it canonical, and what of it has to be computed. */
static void mark_live(hm_planner *p)
{
    for (int64_t j = 0; j < p->program->output_count; j++)
        p->live[p->canonical[hm_plan_find(p, p->program->outputs[j])]] = true;
    for (int32_t i = p->n; i-- > 0;) {
        if (!p->live[i] || p->constant[i])
            continue;
        for (int32_t k = 0; k < hm_plan_count(p, i); k++)
            p->live[hm_plan_input(p, i, k)] = true;
        if (p->root[i] == i && !hm_plan_is_leaf(p, i))
            p->traits_of[i] |= HM_TRAIT_COMPUTED;
    }
}

/* Can node i do the work of its first input, an elementwise one that is not known yet? */
static bool can_absorb(const hm_planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    if (!hm_plan_has(p, i, HM_TRAIT_ABSORBS) || !p->live[i] || p->constant[i])
        return false;
    const int32_t first = hm_plan_input(p, i, 0);
    return !hm_plan_is_leaf(p, first) && hm_plan_is_elementwise(p, first) &&
           node->op->absorbs(node, p->order.nodes[first]);
}

/* Elementwise nodes read only by such as do their work as well are computed there. */
static hm_status absorb(hm_planner *p)
{
    if (!(p->traits & HM_TRAIT_ABSORBS))
        return HMATH_OK;
    const int64_t mark = hm_plan_mark(p);
    bool *read = hm_plan_filled(p, p->n, sizeof(bool), 0);
    if (!read)
        return hm_plan_no_memory(p);
    for (int64_t j = 0; j < p->program->output_count; j++)
        read[p->canonical[hm_plan_find(p, p->program->outputs[j])]] = true;
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = can_absorb(p, i); p->live[i] && k < hm_plan_count(p, i); k++)
            read[hm_plan_input(p, i, k)] = true;
    for (int32_t i = 0; i < p->n; i++) {
        const int32_t first = can_absorb(p, i) ? hm_plan_input(p, i, 0) : HM_NONE;
        if (first == HM_NONE || read[first])
            continue;
        p->absorbs[i] = true;
        p->live[first] = false;
        p->traits_of[first] &= (uint8_t)~HM_TRAIT_COMPUTED;
        p->order.inputs[p->order.first_input[i]] = hm_plan_input(p, first, 0);
    }
    hm_plan_give_back(p, mark, hm_plan_mark(p));
    return HMATH_OK;
}

/* By root: how many operands it is, and outputs. */
static void count_readers(const hm_planner *p, int32_t *readers)
{
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; hm_plan_is_computed(p, i) && k < hm_plan_count(p, i); k++)
            readers[p->root[hm_plan_input(p, i, k)]]++;
    for (int64_t j = 0; j < p->program->output_count; j++)
        readers[p->root[p->canonical[hm_plan_find(p, p->program->outputs[j])]]]++;
}

/*
 * Tensor i, computed by a map of one input that only two read: it goes when the pair has been computed, so
 * that a result early on takes no room that the input would not.
 */
static bool may_pair(const hm_planner *p, int32_t i, const int32_t *readers)
{
    const hm_node *node = p->order.nodes[i];
    if (!hm_plan_is_computed(p, i) || !node->op->map || node->count != 1 || node->rank == 0)
        return false;
    const int32_t input = p->root[hm_plan_input(p, i, 0)];
    return !hm_plan_is_leaf(p, input) && readers[input] == 2;
}

/* Nodes of one input that one pass can compute. */
static hm_status find_pairs(hm_planner *p)
{
    if (!(p->traits & HM_TRAIT_PAIRS))
        return HMATH_OK;
    if (!(p->pair = hm_plan_filled(p, p->n, sizeof *p->pair, 0xff)))
        return hm_plan_no_memory(p);
    const int64_t mark = hm_plan_mark(p);
    int32_t *readers = hm_plan_filled(p, p->n, sizeof *readers, 0);
    int32_t *first = hm_plan_filled(p, p->n, sizeof *first, 0xff); /* by input: who may have one */
    if (!readers || !first)
        return hm_plan_no_memory(p);
    count_readers(p, readers);
    for (int32_t i = 0; i < p->n; i++)
        if (p->order.nodes[i]->op->pairs && may_pair(p, i, readers))
            first[hm_plan_input(p, i, 0)] = i;
    for (int32_t i = 0; i < p->n; i++) {
        const int32_t other = may_pair(p, i, readers) ? first[hm_plan_input(p, i, 0)] : HM_NONE;
        if (other == HM_NONE ||
            !p->order.nodes[other]->op->pairs(p->order.nodes[other], p->order.nodes[i]))
            continue;
        p->pair[other] = i;
        p->pair[i] = other;
    }
    hm_plan_give_back(p, mark, hm_plan_mark(p));
    return HMATH_OK;
}

/* Nodes that sum their own results for the one that asks for it. */
static hm_status find_sums(hm_planner *p)
{
    if (!(p->traits & HM_TRAIT_SUMS))
        return HMATH_OK;
    p->sums_for = hm_plan_filled(p, p->n, sizeof *p->sums_for, 0xff);
    p->sums_of = hm_plan_filled(p, p->n, sizeof *p->sums_of, 0xff);
    p->sums = hm_plan_filled(p, p->n, sizeof *p->sums, 0);
    if (!p->sums_for || !p->sums_of || !p->sums)
        return hm_plan_no_memory(p);
    for (int32_t i = 0; i < p->n; i++) {
        const hm_op *op = p->order.nodes[i]->op;
        if (!op->takes_sums || !hm_plan_is_computed(p, i))
            continue;
        const int32_t from = hm_plan_input(p, i, 0);
        const hm_node *node = p->order.nodes[from];
        if (!hm_plan_is_computed(p, from) || !node->op->sums_over || p->sums_for[from] != HM_NONE ||
            !op->takes_sums(p->order.nodes[i], node->op->sums_over(node)))
            continue;
        p->sums_for[from] = i;
        p->sums_of[i] = from;
    }
    return HMATH_OK;
}

/*
 * An input may be one that no output depends on: a derivative often depends on fewer variables than what it
 * is the derivative of.
 */
static hm_status match_inputs(hm_planner *p)
{
    for (int64_t j = 0; j < p->program->input_count; j++) {
        const hm_node *node = p->program->inputs[j];
        if (node->op != &hm_op_variable)
            return hm_fail_requirement(p->ctx, "inputs", j, "is no variable", "variables only");
        int32_t i = hm_plan_find(p, node);
        if (i == HM_NONE)
            continue;
        if (p->input[i] != HM_NONE)
            return hm_fail_requirement(p->ctx, "inputs", j,
                                       "is the same variable as an earlier one",
                                       "every variable once");
        p->input[i] = (int32_t)j;
    }
    for (int32_t i = 0; i < p->n; i++)
        if (hm_plan_has(p, i, HM_TRAIT_VARIABLE) && p->input[i] == HM_NONE)
            return fail_unbound(p, p->order.nodes[i]);
    return HMATH_OK;
}

/* ------------------------------------------------- all of it */

/* Graphs of a million numbers have few of them, and go without what the others need. */
static uint8_t traits_of(const hm_node *node)
{
    const hm_op *op = node->op;
    const bool number = node->rank == 0;
    return (
        uint8_t)((number ? HM_TRAIT_NUMBER : 0) | (op == &hm_op_variable ? HM_TRAIT_VARIABLE : 0) |
                 (op->map ? HM_TRAIT_MAP : 0) |
                 (op->map && op->scalar_code == HM_SCALAR_CALL ? HM_TRAIT_CALL : 0) |
                 (op->absorbs ? HM_TRAIT_ABSORBS : 0) |
                 (op->pairs && !number ? HM_TRAIT_PAIRS : 0) | (op->sums_over ? HM_TRAIT_SUMS : 0));
}

static void find_traits(hm_planner *p)
{
    for (int32_t i = 0; i < p->n; i++)
        p->traits |= p->traits_of[i] = traits_of(p->order.nodes[i]);
}

static hm_status prepare(hm_planner *p)
{
    hm_status st =
        hm_order_create(p->ctx, p->program->outputs, p->program->output_count, &p->order);
    if (st != HMATH_OK)
        return st;
    p->n = (int32_t)p->order.count;
    p->program->nodes = p->n;
    p->traits_of = hm_plan_temporary(p, p->n, sizeof(uint8_t));
    p->canonical = hm_plan_temporary(p, p->n, sizeof(int32_t));
    p->root = hm_plan_temporary(p, p->n, sizeof(int32_t));
    p->constant = hm_plan_filled(p, p->n, sizeof(double *), 0);
    p->input = hm_plan_filled(p, p->n, sizeof(int32_t), 0xff);
    p->live = hm_plan_filled(p, p->n, sizeof(bool), 0);
    p->absorbs = hm_plan_filled(p, p->n, sizeof(bool), 0);
    bool ok =
        p->traits_of && p->canonical && p->root && p->constant && p->input && p->live && p->absorbs;
    if (!ok)
        return hm_plan_no_memory(p);
    find_traits(p);
    return HMATH_OK;
}

hm_status hm_plan(hm_context *ctx, hm_program *program)
{
    hm_planner p = {.ctx = ctx, .program = program};
    hm_status st;
    if ((st = prepare(&p)) == HMATH_OK && (st = match_inputs(&p)) == HMATH_OK &&
        (st = hm_plan_canonicalise(&p)) == HMATH_OK) {
        mark_live(&p);
        if ((st = find_sums(&p)) == HMATH_OK && (st = absorb(&p)) == HMATH_OK &&
            (st = find_pairs(&p)) == HMATH_OK && (st = hm_plan_schedule(&p)) == HMATH_OK &&
            (st = hm_plan_place(&p)) == HMATH_OK)
            st = hm_plan_emit(&p);
    }
    arena_free(&p.temporary);
    hm_order_free(&p.order);
    return st;
}
