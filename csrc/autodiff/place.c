/* Where results live: numbers among the scalars, tensors in the workspace, by liveness. */
#include <string.h>

#include "autodiff/planner.h"
#include "runtime/alloc.h"

/* ------------------------------------------------- who is read when */

static void note_use(hm_planner *p, int32_t root, int32_t step)
{
    if (p->last_use[root] < step)
        p->last_use[root] = step;
    if (p->step[root] != step)
        p->escapes[root] = true;
}

static void find_uses(hm_planner *p)
{
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; hm_plan_is_computed(p, i) && k < hm_plan_count(p, i); k++)
            note_use(p, p->root[hm_plan_input(p, i, k)], p->step[i]);
    for (int64_t j = 0; j < p->program->output_count; j++)
        note_use(p, p->root[p->canonical[hm_plan_find(p, p->program->outputs[j])]],
                 (int32_t)p->program->step_count);
}

/* ------------------------------------------------- scalars, inputs, constants, outputs */

/* Scalars stand in one array: constants first, for one copy at the start of a run. */
static hm_status place_scalars(hm_planner *p)
{
    hm_program *program = p->program;
    int64_t count = 0;
    for (int32_t i = 0; i < p->n; i++)
        if (p->live[i] && p->constant[i] && hm_plan_is_number(p, i))
            p->place[i] = hm_place_at(HM_PLACE_SCALAR, count++);
    program->scalar_constant_count = count;
    program->scalar_constants = hm_program_keep(program, (size_t)count, sizeof(double));
    if (!program->scalar_constants)
        return hm_plan_no_memory(p);
    for (int32_t i = 0; i < p->n; i++)
        if (p->place[i].kind == HM_PLACE_SCALAR)
            program->scalar_constants[p->place[i].index] = *p->constant[i];
    for (int32_t i = 0; i < p->n; i++)
        if (hm_plan_is_number(p, i) &&
            (hm_plan_is_computed(p, i) || (p->input[i] != HM_NONE && p->live[i])))
            p->place[i] = hm_place_at(HM_PLACE_SCALAR, count++);
    for (int64_t j = 0; j < program->input_count; j++) {
        int32_t i = hm_plan_find(p, program->inputs[j]);
        bool scalar = i != HM_NONE && p->place[i].kind == HM_PLACE_SCALAR;
        program->scalar_inputs[j] = scalar ? p->place[i].index : HM_NONE;
    }
    program->scalar_count = count;
    return count <= UINT32_MAX ? HMATH_OK : hm_plan_no_memory(p);
}

static void place_leaves_and_outputs(hm_planner *p)
{
    for (int32_t i = 0; i < p->n; i++) {
        if (!p->live[i] || p->place[i].kind != HM_PLACE_NOWHERE)
            continue;
        if (p->constant[i])
            p->place[i] = (hm_place){HM_PLACE_CONSTANT, {.pointer = p->constant[i]}};
        else if (p->input[i] != HM_NONE)
            p->place[i] = hm_place_at(HM_PLACE_INPUT, p->input[i]);
    }
    for (int64_t j = 0; j < p->program->output_count; j++) {
        int32_t root = p->root[p->canonical[hm_plan_find(p, p->program->outputs[j])]];
        if (p->place[root].kind == HM_PLACE_NOWHERE)
            p->place[root] = hm_place_at(HM_PLACE_OUTPUT, j);
    }
}

static hm_status list_deliveries(hm_planner *p)
{
    hm_program *program = p->program;
    program->deliveries =
        hm_program_keep(program, (size_t)program->output_count, sizeof(hm_delivery));
    if (!program->deliveries)
        return hm_plan_no_memory(p);
    for (int64_t j = 0; j < program->output_count; j++) {
        const hm_node *output = program->outputs[j];
        const hm_place *from = &p->place[p->root[p->canonical[hm_plan_find(p, output)]]];
        if (from->kind != HM_PLACE_OUTPUT || from->index != j)
            program->deliveries[program->delivery_count++] = (hm_delivery){*from, j, output->size};
    }
    return HMATH_OK;
}

/* ------------------------------------------------- the workspace, by liveness */

typedef struct hole {
    int64_t at, size;
} hole;

typedef struct holes {
    hole *list; /* by position */
    int64_t count, end;
} holes;

/* The smallest hole that is large enough, else the end. */
static int64_t carve(holes *h, int64_t size)
{
    int64_t best = HM_NONE;
    for (int64_t i = 0; i < h->count; i++)
        if (h->list[i].size >= size && (best == HM_NONE || h->list[i].size < h->list[best].size))
            best = i;
    if (best == HM_NONE) {
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

static int64_t sum_count(const hm_planner *p, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    int64_t count = 1;
    for (int32_t k = 0; k < node->rank - node->op->sums_over(node); k++)
        count *= hm_node_extents(node)[k];
    return hm_whole_lines(count);
}

/* Sums that a step's nodes make besides their results; and those go of whom they are the reader. */
static void place_sums(hm_planner *p, int64_t step, holes *h)
{
    for (int64_t m = p->first_member[step]; m < p->first_member[step + 1]; m++) {
        const int32_t i = p->member[m], from = hm_plan_entry(p->sums_of, i);
        if (hm_plan_entry(p->sums_for, i) != HM_NONE)
            p->sums[i] = hm_place_at(HM_PLACE_WORKSPACE, carve(h, sum_count(p, i)));
        if (from != HM_NONE && sum_count(p, from))
            fill_up(h, p->sums[from].index, sum_count(p, from));
    }
}

/* What dies after each step, as lists through `next_death`. */
static hm_status place_workspace(hm_planner *p)
{
    const int64_t mark = hm_plan_mark(p);
    int64_t steps = p->program->step_count, most = 1;
    int32_t *first_death = hm_plan_filled(p, steps + 1, sizeof(int32_t), 0xff);
    int32_t *next_death = hm_plan_filled(p, p->n, sizeof(int32_t), 0xff);
    if (!first_death || !next_death)
        return hm_plan_no_memory(p);
    for (int64_t m = 0; m < p->member_count; m++) {
        int32_t i = p->member[m];
        most += hm_plan_entry(p->sums_for, i) != HM_NONE;
        if (p->place[i].kind != HM_PLACE_NOWHERE || !p->escapes[i])
            continue;
        most++;
        next_death[i] = first_death[p->last_use[i]];
        first_death[p->last_use[i]] = i;
    }
    holes h = {.list = hm_plan_temporary(p, most, sizeof(hole))};
    if (!h.list)
        return hm_plan_no_memory(p);
    for (int64_t s = 0; s < steps; s++) {
        for (int64_t m = p->first_member[s]; m < p->first_member[s + 1]; m++) {
            int32_t i = p->member[m];
            if (p->place[i].kind == HM_PLACE_NOWHERE && p->escapes[i])
                p->place[i] = hm_place_at(HM_PLACE_WORKSPACE,
                                          carve(&h, hm_whole_lines(p->order.nodes[i]->size)));
        }
        place_sums(p, s, &h);
        for (int32_t i = first_death[s]; i != HM_NONE; i = next_death[i])
            if (p->order.nodes[i]->size)
                fill_up(&h, p->place[i].index, hm_whole_lines(p->order.nodes[i]->size));
    }
    p->program->workspace_doubles = h.end;
    hm_plan_give_back(p, mark, hm_plan_mark(p));
    return HMATH_OK;
}

hm_status hm_plan_place(hm_planner *p)
{
    hm_status st;
    p->last_use = hm_plan_filled(p, p->n, sizeof *p->last_use, 0xff);
    p->escapes = hm_plan_filled(p, p->n, sizeof *p->escapes, 0);
    p->place = hm_plan_filled(p, p->n, sizeof *p->place, 0);
    if (!p->last_use || !p->escapes || !p->place)
        return hm_plan_no_memory(p);
    find_uses(p);
    if ((st = place_scalars(p)) != HMATH_OK)
        return st;
    place_leaves_and_outputs(p);
    if ((st = place_workspace(p)) != HMATH_OK)
        return st;
    return list_deliveries(p);
}
