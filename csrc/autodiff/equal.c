#include "autodiff/equal.h"

#include <string.h>

#include "runtime/alloc.h"

enum { FIRST_CAPACITY = 64, FEW = 4 };

static uint32_t hash_node(const hm_planner *p, int32_t i)
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
    return (uint32_t)hash;
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

/* ------------------------------------------------- the table */

static hm_equal_entry *make_table(uint64_t size)
{
    hm_equal_entry *table = hm_alloc(size * sizeof *table);
    if (table)
        memset(table, 0xff, size * sizeof *table);
    return table;
}

static bool grow(hm_equals *e)
{
    const uint64_t mask = e->mask * 2 + 1;
    hm_equal_entry *table = make_table(mask + 1);
    if (!table)
        return false;
    for (uint64_t i = 0; i <= e->mask; i++) {
        if (e->table[i].node == HM_NONE)
            continue;
        uint64_t at = e->table[i].hash & mask;
        while (table[at].node != HM_NONE)
            at = (at + 1) & mask;
        table[at] = e->table[i];
    }
    hm_free(e->table);
    e->table = table;
    e->mask = mask;
    return true;
}

/* The node in the table that equals i, which is i itself where there was none. */
static hm_status look_up(hm_equals *e, int32_t i, int32_t *found)
{
    const uint32_t hash = hash_node(e->p, i);
    if (e->count * 2 > (int64_t)e->mask && !grow(e))
        return hm_plan_no_memory(e->p);
    uint64_t at = hash & e->mask;
    while (e->table[at].node != HM_NONE &&
           !(e->table[at].hash == hash && equal_nodes(e->p, i, e->table[at].node)))
        at = (at + 1) & e->mask;
    if (e->table[at].node == HM_NONE) {
        e->table[at] = (hm_equal_entry){hash, i};
        e->count++;
    }
    *found = e->table[at].node;
    return HMATH_OK;
}

/* ------------------------------------------------- few readers */

/*
 * A waiting node that equals i; or i, where it may wait itself; or HM_NONE, where the table has to say. Readers of
 * equal nodes are counted together, so what has few has always had few: whoever equals i has waited as well.
 */
static int32_t among_waiting(hm_equals *e, int32_t i)
{
    const hm_planner *p = e->p;
    const int32_t count = hm_plan_count(p, i);
    for (int32_t k = 0; k < count; k++)
        for (int32_t j = e->waiting[hm_plan_input(p, i, k)]; j != HM_NONE; j = e->next[j])
            if (equal_nodes(p, i, j))
                return j;
    for (int32_t k = 0; k < count; k++) {
        const int32_t input = hm_plan_input(p, i, k);
        if (e->readers[input] > FEW)
            continue;
        e->next[i] = e->waiting[input];
        e->waiting[input] = i;
        return i;
    }
    return HM_NONE;
}

/* The operands of a node are canonical ones from here on. */
static void name_inputs(hm_planner *p, int32_t i)
{
    int32_t *inputs = p->order.inputs + p->order.first_input[i];
    for (int32_t k = 0; k < hm_plan_count(p, i); k++)
        inputs[k] = p->canonical[inputs[k]];
}

hm_status hm_equals_find(hm_equals *e, int32_t i)
{
    hm_planner *p = e->p;
    name_inputs(p, i);
    p->canonical[i] = i;
    if (p->order.nodes[i]->op->flags & HM_OP_UNIQUE)
        return HMATH_OK;
    int32_t found = among_waiting(e, i);
    hm_status st = found == HM_NONE ? look_up(e, i, &found) : HMATH_OK;
    if (st != HMATH_OK)
        return st;
    p->canonical[i] = found;
    if (found != i)
        e->readers[found] += e->readers[i];
    return HMATH_OK;
}

/* ------------------------------------------------- all of it */

hm_status hm_equals_open(hm_planner *p, hm_equals *out)
{
    *out = (hm_equals){.p = p, .mask = FIRST_CAPACITY - 1};
    out->readers = hm_alloc_zeroed((size_t)p->n * sizeof *out->readers);
    out->waiting = hm_alloc((size_t)p->n * sizeof *out->waiting);
    out->next = hm_alloc((size_t)p->n * sizeof *out->next);
    out->table = make_table(FIRST_CAPACITY);
    if (!out->readers || !out->waiting || !out->next || !out->table) {
        hm_equals_close(out);
        return hm_plan_no_memory(p);
    }
    memset(out->waiting, 0xff, (size_t)p->n * sizeof *out->waiting);
    for (int64_t k = 0; k < p->order.first_input[p->n]; k++)
        out->readers[p->order.inputs[k]]++;
    return HMATH_OK;
}

void hm_equals_close(hm_equals *equals)
{
    hm_free(equals->readers);
    hm_free(equals->waiting);
    hm_free(equals->next);
    hm_free(equals->table);
}
