#include "autodiff/program.h"

#include <math.h>
#include <string.h>

#include "autodiff/plan.h"
#include "autodiff/print.h"
#include "runtime/alloc.h"
#include "runtime/checked.h"

/* ------------------------------------------------- the value */

static void program_dispose(hm_value *self, hm_released *released)
{
    hm_program *program = (hm_program *)self;
    for (int64_t i = 0; program->outputs && i < program->output_count; i++)
        hm_release_later(released, program->outputs[i]);
    for (int64_t i = 0; program->inputs && i < program->input_count; i++)
        hm_release_later(released, program->inputs[i]);
    for (int64_t i = 0; i < program->block_count; i++)
        hm_free(program->blocks[i]);
    hm_free(program->blocks);
}

static const hm_class program_class = {
    .kind = HMATH_KIND_PROGRAM, .name = "Program", .dispose = program_dispose};

const hm_program *hm_program_from_value(const hm_value *v)
{
    return hm_value_is(v, HMATH_KIND_PROGRAM) ? (const hm_program *)v : NULL;
}

/* Retained copies of `n` nodes. */
static hm_node **keep_nodes(hm_program *program, hm_node *const *nodes, int64_t n)
{
    hm_node **kept = hm_program_keep(program, (size_t)n, sizeof *kept);
    for (int64_t i = 0; kept && i < n; i++)
        kept[i] = hm_retain(nodes[i]);
    return kept;
}

hm_status hm_program_create(hm_context *ctx, hm_node *const *outputs, int64_t output_count,
                            hm_node *const *inputs, int64_t input_count, hm_program **out)
{
    hm_program *program = NULL;
    hm_status st = hm_value_create(ctx, &program_class, sizeof *program, &program);
    if (st != HMATH_OK)
        return st;
    program->output_count = output_count;
    program->input_count = input_count;
    program->outputs = keep_nodes(program, outputs, output_count);
    program->inputs = keep_nodes(program, inputs, input_count);
    program->scalar_inputs = hm_program_keep(program, (size_t)input_count, sizeof(int64_t));
    if (!program->outputs || !program->inputs || !program->scalar_inputs)
        st = hm_fail_memory(ctx);
    else
        st = hm_plan(ctx, program);
    if (st != HMATH_OK) {
        hm_release(program);
        return st;
    }
    *out = program;
    return HMATH_OK;
}

int64_t hm_program_input_count(const hm_program *program) { return program->input_count; }

int64_t hm_program_output_count(const hm_program *program) { return program->output_count; }

const hm_node *hm_program_input(const hm_program *program, int64_t i) { return program->inputs[i]; }

hm_shape hm_program_input_shape(const hm_program *program, int64_t i)
{
    return hm_node_shape(program->inputs[i]);
}

hm_shape hm_program_output_shape(const hm_program *program, int64_t i)
{
    return hm_node_shape(program->outputs[i]);
}

/* ------------------------------------------------- a run */

/* One block: scalars, tensors, tile registers, pointers, in this order. */
typedef struct layout {
    size_t tensors, registers, pointers, bytes;
} layout;

static bool add_part(size_t *at, size_t count, size_t size)
{
    size_t bytes;
    return hm_bytes(HM_ALIGNMENT - 1, count, size, &bytes) &&
           hm_add_size(*at, bytes / HM_ALIGNMENT * HM_ALIGNMENT, at);
}

static bool lay_out(const hm_program *program, layout *out)
{
    size_t at = 0;
    if (!add_part(&at, (size_t)program->scalar_count, sizeof(double)))
        return false;
    out->tensors = at;
    if (!add_part(&at, (size_t)program->workspace_doubles, sizeof(double)))
        return false;
    out->registers = at;
    if (!add_part(&at, (size_t)program->register_doubles, sizeof(double)))
        return false;
    out->pointers = at;
    if (!add_part(&at, (size_t)program->most_inputs, sizeof(double *)))
        return false;
    out->bytes = at;
    return true;
}

hm_program_facts hm_program_describe(const hm_program *program)
{
    layout l = {0};
    hm_program_facts facts = {.nodes = program->nodes, .steps = program->step_count};
    for (int64_t i = 0; i < program->step_count; i++)
        facts.groups += program->steps[i].kind != HM_STEP_OP;
    if (lay_out(program, &l))
        facts.workspace = (int64_t)l.bytes;
    return facts;
}

/* A failure of a node that was running says which one it is: there may be many of one operation. */
static hm_status failed_in(hm_context *ctx, const hm_node *node, hm_status st)
{
    char brief[HM_BRIEF];
    if (st != HMATH_CHECKED)
        return st;
    hm_print_brief(node, brief);
    if (*brief)
        hm_fail_where(ctx, "in", brief);
    return st;
}

hm_status hm_refuse_element(hm_context *ctx, const hm_node *node, const double *x, int64_t index)
{
    const char *outer = hm_context_rename(ctx, node->op->name);
    hm_status st = node->op->refuse ? node->op->refuse(ctx, node, x, index) : HMATH_OK;
    if (st == HMATH_OK)
        st = hm_fail_overflow(ctx);
    hm_context_rename(ctx, outer);
    return failed_in(ctx, node, st);
}

static hm_status run_op(const hm_frame *frame, const hm_step *step)
{
    const hm_node *node = step->op.node;
    for (int32_t k = 0; k < node->count; k++)
        frame->pointers[k] = hm_place_pointer(frame, &step->op.inputs[k]);
    hm_run run = {.ctx = frame->ctx,
                  .node = node,
                  .inputs = frame->pointers,
                  .output = hm_place_pointer(frame, &step->op.output),
                  .absorbed = step->op.absorbed,
                  .sums = hm_place_pointer(frame, &step->op.sums),
                  .summed = step->op.summed};
    const char *outer = hm_context_rename(frame->ctx, node->op->name);
    hm_status st = node->op->run(&run);
    hm_context_rename(frame->ctx, outer);
    return failed_in(frame->ctx, node, st);
}

static hm_status run_steps(const hm_frame *frame, const hm_program *program)
{
    hm_status st = HMATH_OK;
    for (int64_t i = 0; i < program->step_count && st == HMATH_OK; i++) {
        const hm_step *step = &program->steps[i];
        switch (step->kind) {
        case HM_STEP_OP: st = run_op(frame, step); break;
        case HM_STEP_TILES: st = hm_tiles_run(frame, &step->tiles); break;
        case HM_STEP_SCALARS: st = hm_scalars_run(frame, &step->scalars); break;
        }
    }
    return st;
}

static void copy(double *to, const double *from, int64_t n)
{
    if (n)
        memcpy(to, from, (size_t)n * sizeof(double));
}

hm_status hm_program_run(hm_context *ctx, const hm_program *program, const double *const *inputs,
                         double *const *outputs)
{
    layout l;
    char *workspace = NULL;
    if (!lay_out(program, &l))
        return hm_fail_memory(ctx);
    hm_status st = hm_scratch_create(ctx, l.bytes, 1, &workspace);
    if (st != HMATH_OK)
        return st;
    hm_frame frame = {.ctx = ctx,
                      .inputs = inputs,
                      .outputs = outputs,
                      .scalars = (double *)(void *)workspace,
                      .tensors = (double *)(void *)(workspace + l.tensors),
                      .registers = (double *)(void *)(workspace + l.registers),
                      .pointers = (const double **)(void *)(workspace + l.pointers)};
    copy(frame.scalars, program->scalar_constants, program->scalar_constant_count);
    for (int64_t i = 0; i < program->input_count; i++)
        if (program->scalar_inputs[i] >= 0)
            frame.scalars[program->scalar_inputs[i]] = *inputs[i];
    st = run_steps(&frame, program);
    for (int64_t i = 0; i < program->delivery_count && st == HMATH_OK; i++) {
        const hm_delivery *d = &program->deliveries[i];
        copy(outputs[d->output], hm_place_pointer(&frame, &d->from), d->size);
    }
    hm_scratch_release(ctx, workspace);
    return st;
}
