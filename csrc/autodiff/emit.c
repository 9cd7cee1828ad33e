/* The steps of a program, once everything has its place. */
#include <string.h>

#include "autodiff/planner.h"

static hm_status build_op(hm_planner *p, hm_step *step, int32_t i)
{
    const hm_node *node = p->order.nodes[i];
    hm_place *inputs = hm_program_keep(p->program, (size_t)node->count, sizeof *inputs);
    if (!inputs)
        return hm_plan_no_memory(p);
    for (int32_t k = 0; k < node->count; k++)
        inputs[k] = p->place[p->root[hm_plan_input(p, i, k)]];
    if (hm_plan_entry(p->sums_of, i) != HM_NONE)
        inputs[0] = p->sums[p->sums_of[i]];
    if (p->program->most_inputs < node->count)
        p->program->most_inputs = node->count;
    step->kind = HM_STEP_OP;
    step->op.node = node;
    step->op.inputs = inputs;
    step->op.output = p->place[i];
    step->op.sums = p->sums ? p->sums[i] : (hm_place){0};
    step->op.absorbed = p->absorbs[i];
    step->op.summed = hm_plan_entry(p->sums_of, i) != HM_NONE;
    return HMATH_OK;
}

static hm_status build_scalars(hm_planner *p, hm_step *step, const int32_t *members, int64_t count)
{
    int64_t call_count = 0;
    for (int64_t m = 0; m < count; m++)
        call_count += hm_plan_has(p, members[m], HM_TRAIT_CALL);
    hm_scalar_op *ops = hm_program_keep(p->program, (size_t)count, sizeof *ops);
    hm_scalar_call *calls = hm_program_keep(p->program, (size_t)call_count, sizeof *calls);
    const hm_node **nodes = hm_program_keep(p->program, (size_t)count, sizeof *nodes);
    if (!ops || !calls || !nodes)
        return hm_plan_no_memory(p);
    call_count = 0;
    for (int64_t m = 0; m < count; m++) {
        const hm_node *node = nodes[m] = p->order.nodes[members[m]];
        uint32_t inputs[HM_MAX_MAP_ARITY] = {0};
        for (int32_t k = 0; k < node->count; k++)
            inputs[k] = (uint32_t)p->place[p->root[hm_plan_input(p, members[m], k)]].index;
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

hm_status hm_plan_emit(hm_planner *p)
{
    hm_program *program = p->program;
    int32_t *last = hm_plan_temporary(p, p->n, sizeof(int32_t));
    program->steps = hm_program_keep(program, (size_t)program->step_count, sizeof(hm_step));
    if (!last || !program->steps)
        return hm_plan_no_memory(p);
    hm_status st = HMATH_OK;
    for (int64_t s = 0; s < program->step_count && st == HMATH_OK; s++) {
        const int32_t *members = p->member + p->first_member[s];
        int64_t count = p->first_member[s + 1] - p->first_member[s];
        hm_step *step = &program->steps[s];
        if (!hm_plan_is_elementwise(p, members[0]))
            st = build_op(p, step, members[0]);
        else if (hm_plan_is_number(p, members[0]))
            st = build_scalars(p, step, members, count);
        else
            st = hm_emit_tiles(p, step, members, count, last);
    }
    return st;
}
