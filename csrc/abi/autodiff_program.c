/* hmath_autodiff.h: derivatives, programs, evaluation, custom nodes. */
#include <stdio.h>
#include <string.h>

#include "abi/autodiff_edge.h"
#include "autodiff/custom.h"
#include "autodiff/gradient.h"
#include "autodiff/leaf.h"
#include "autodiff/print.h"
#include "autodiff/program.h"
#include "hmath_autodiff.h"
#include "primitives/elementwise.h"
#include "runtime/alloc.h"
#include "runtime/scalar.h"

/* ------------------------------------------------- results that are arrays of handles */

/* Where n results go: nothing needs no room. */
static hm_value **room_for(size_t n, hm_value **out)
{
    static hm_value *none;
    return n == 0 && !out ? &none : out;
}

/* Close g and publish m nodes; `nodes` is freed. */
static hm_status leave_with_nodes(hm_graph *g, hm_node **nodes, size_t m, hm_value **out)
{
    hm_context *ctx = g->ctx;
    hm_node **kept = g->status == HMATH_OK ? hm_alloc(m * sizeof *kept) : NULL;
    if (!kept && g->status == HMATH_OK)
        hm_graph_fail(g, hm_fail_memory(ctx));
    hm_status st = hm_graph_close(g, nodes, (int64_t)m, kept);
    for (size_t i = 0; i < m && st == HMATH_OK; i++)
        out[i] = &kept[i]->base;
    hm_free(kept);
    hm_free(nodes);
    return hm_leave(ctx, st);
}

static void zeros_for_nothing(hm_graph *g, hm_node *const *like, size_t m, hm_node **nodes)
{
    for (size_t i = 0; i < m && g->status == HMATH_OK; i++)
        if (!nodes[i])
            nodes[i] = hm_ad_zeros_like(g, like[i]);
}

/* ------------------------------------------------- derivatives */

static bool same_shape(const hm_node *a, const hm_node *b)
{
    hm_shape x = hm_node_shape(a), y = hm_node_shape(b);
    return hm_shape_equal(&x, &y);
}

/* seeds[i] has to be shaped like its node. */
static void check_seeds(hm_graph *g, const char *argument, hm_node *const *nodes,
                        hm_node *const *seeds, size_t n)
{
    for (size_t i = 0; i < n && g->status == HMATH_OK; i++) {
        hm_shape expected = hm_node_shape(nodes[i]), actual = hm_node_shape(seeds[i]);
        if (!same_shape(nodes[i], seeds[i]))
            hm_graph_fail(g, hm_fail_shapes(g->ctx, argument, &expected, &actual));
    }
}

hmath_status hmath_autodiff_gradient(hmath_context *ctx, const hmath_value *output,
                                     const hmath_value *const *wrt, size_t m,
                                     hmath_value **gradients)
{
    hm_graph g;
    hm_node **asked = NULL, **found = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.gradient", room_for(m, gradients), &g);
    if (st != HMATH_OK)
        return st;
    hm_node *of = hm_arg_node(&g, "output", output);
    if (hm_arg_nodes(&g, "wrt", wrt, m, &asked) == HMATH_OK &&
        !(found = hm_alloc_zeroed(m * sizeof *found)))
        hm_graph_fail(&g, hm_fail_memory(ctx));
    if (g.status == HMATH_OK)
        hm_ad_gradient(&g, of, asked, (int64_t)m, found);
    hm_free(asked);
    return leave_with_nodes(&g, found, m, gradients);
}

hmath_status hmath_autodiff_pull_back(hmath_context *ctx, const hmath_value *const *outputs,
                                      const hmath_value *const *seeds, size_t n,
                                      const hmath_value *const *wrt, size_t m,
                                      hmath_value **cotangents)
{
    hm_graph g;
    hm_node **of = NULL, **from = NULL, **asked = NULL, **found = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.pull_back", room_for(m, cotangents), &g);
    if (st != HMATH_OK)
        return st;
    if (hm_arg_nodes(&g, "outputs", outputs, n, &of) == HMATH_OK &&
        hm_arg_nodes(&g, "seeds", seeds, n, &from) == HMATH_OK &&
        hm_arg_nodes(&g, "wrt", wrt, m, &asked) == HMATH_OK) {
        check_seeds(&g, "seeds", of, from, n);
        if (!(found = hm_alloc_zeroed(m * sizeof *found)))
            hm_graph_fail(&g, hm_fail_memory(ctx));
    }
    if (g.status == HMATH_OK) {
        hm_reverse_mode(&g, of, from, (int64_t)n, asked, (int64_t)m, found);
        zeros_for_nothing(&g, asked, m, found);
    }
    hm_free(of);
    hm_free(from);
    hm_free(asked);
    return leave_with_nodes(&g, found, m, cotangents);
}

hmath_status hmath_autodiff_push_forward(hmath_context *ctx, const hmath_value *output,
                                         const hmath_value *const *wrt,
                                         const hmath_value *const *tangents, size_t m,
                                         hmath_value **tangent)
{
    hm_graph g;
    hm_node **asked = NULL, **along = NULL, *result = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.push_forward", tangent, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *of = hm_arg_node(&g, "output", output);
    if (hm_arg_nodes(&g, "wrt", wrt, m, &asked) == HMATH_OK &&
        hm_arg_nodes(&g, "tangents", tangents, m, &along) == HMATH_OK)
        check_seeds(&g, "tangents", asked, along, m);
    if (g.status == HMATH_OK) {
        hm_forward_mode(&g, &of, 1, asked, along, (int64_t)m, &result);
        zeros_for_nothing(&g, &of, 1, &result);
    }
    hm_free(asked);
    hm_free(along);
    return hm_graph_leave(&g, result, tangent);
}

/* ------------------------------------------------- programs */

hmath_status hmath_autodiff_compile(hmath_context *ctx, const hmath_value *const *outputs, size_t n,
                                    const hmath_value *const *inputs, size_t m, hmath_value **out)
{
    hm_graph g;
    hm_node **of = NULL, **from = NULL;
    hm_program *program = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.compile", out, &g);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_arg_nodes(&g, "outputs", outputs, n, &of)) == HMATH_OK &&
        (st = hm_arg_nodes(&g, "inputs", inputs, m, &from)) == HMATH_OK)
        st = hm_program_create(ctx, of, (int64_t)n, from, (int64_t)m, &program);
    hm_free(of);
    hm_free(from);
    (void)hm_graph_close(&g, NULL, 0, NULL);
    if (st == HMATH_OK)
        *out = (hm_value *)program;
    return hm_leave(ctx, st);
}

hmath_status hmath_autodiff_compile_gradient(hmath_context *ctx, const hmath_value *output,
                                             const hmath_value *const *inputs, size_t m,
                                             const hmath_value *const *wrt, size_t k,
                                             hmath_value **out)
{
    hm_graph g;
    hm_node **from = NULL, **asked = NULL, **nodes = NULL;
    hm_program *program = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.value_and_gradient", out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *of = hm_arg_node(&g, "output", output);
    if (hm_arg_nodes(&g, "inputs", inputs, m, &from) == HMATH_OK &&
        hm_arg_nodes(&g, "wrt", wrt, k, &asked) == HMATH_OK &&
        !(nodes = hm_alloc_zeroed((k + 1) * sizeof *nodes)))
        hm_graph_fail(&g, hm_fail_memory(ctx));
    if (g.status == HMATH_OK) {
        nodes[0] = of;
        hm_ad_gradient(&g, of, asked, (int64_t)k, nodes + 1);
    }
    if ((st = g.status) == HMATH_OK)
        st = hm_program_create(ctx, nodes, (int64_t)k + 1, from, (int64_t)m, &program);
    hm_free(from);
    hm_free(asked);
    hm_free(nodes);
    (void)hm_graph_close(&g, NULL, 0, NULL);
    if (st == HMATH_OK)
        *out = (hm_value *)program;
    return hm_leave(ctx, st);
}

int64_t hmath_program_inputs(const hmath_value *v)
{
    const hm_program *program = hm_program_from_value(v);
    return program ? hm_program_input_count(program) : -1;
}

int64_t hmath_program_outputs(const hmath_value *v)
{
    const hm_program *program = hm_program_from_value(v);
    return program ? hm_program_output_count(program) : -1;
}

hmath_status hmath_program_describe(const hmath_value *v, int64_t *nodes, int64_t *steps,
                                    int64_t *groups, int64_t *workspace)
{
    const hm_program *program = hm_program_from_value(v);
    if (!program || !nodes || !steps || !groups || !workspace)
        return HMATH_BAD_ARGUMENT;
    hm_program_facts facts = hm_program_describe(program);
    *nodes = facts.nodes;
    *steps = facts.steps;
    *groups = facts.groups;
    *workspace = facts.workspace;
    return HMATH_OK;
}

/* ------------------------------------------------- one run, values in and out */

/* Everything that a run needs besides the program. */
typedef struct binding {
    int64_t inputs, outputs;
    double *scalars; /* Doubles: inputs first, then outputs */
    const double **from;
    double **to;
    hm_value **results;
} binding;

static void binding_close(binding *b)
{
    for (int64_t j = 0; b->results && j < b->outputs; j++)
        hm_release(b->results[j]);
    hm_free(b->scalars);
    hm_free((void *)b->from);
    hm_free(b->to);
    hm_free(b->results);
}

static hm_status bind_input(hm_context *ctx, const char *argument, const hm_shape *shape,
                            const hm_value *v, double *scalar, const double **out)
{
    const hm_tensor *tensor = hm_tensor_from_value(v);
    if (!v || !hm_value_alive(v))
        return hm_fail_argument(ctx, argument, "holds a null or released handle");
    if (shape->rank == 0 && hm_double_get(v, scalar)) {
        *out = scalar;
        return hm_check_scalar_finite(ctx, argument, *scalar);
    }
    if (!tensor)
        return hm_fail_type(ctx, argument, shape->rank ? "Tensor Double" : "Double", v);
    if (!hm_shape_equal(&tensor->shape, shape))
        return hm_fail_shapes(ctx, argument, shape, &tensor->shape);
    *out = tensor->data;
    return hm_check_tensor_finite(ctx, argument, tensor);
}

/* A failure to bind says which input it was: there may be many. */
static hm_status failed_for(hm_context *ctx, const hm_node *variable, int64_t i, hm_status st)
{
    char text[HM_BRIEF];
    if (st == HMATH_OK)
        return st;
    if (variable->op == &hm_op_variable && *hm_variable_name(variable))
        hm_print_brief(variable, text);
    else
        snprintf(text, sizeof text, "number %lld", (long long)i);
    hm_fail_where(ctx, "for input", text);
    return st;
}

static hm_status bind(hm_context *ctx, const hm_program *program, const char *argument,
                      const hm_value *const *values, binding *b)
{
    b->inputs = hm_program_input_count(program);
    b->outputs = hm_program_output_count(program);
    b->scalars = hm_alloc((size_t)(b->inputs + b->outputs) * sizeof(double));
    b->from = hm_alloc((size_t)b->inputs * sizeof *b->from);
    b->to = hm_alloc((size_t)b->outputs * sizeof *b->to);
    b->results = hm_alloc_zeroed((size_t)b->outputs * sizeof *b->results);
    hm_status st = HMATH_OK;
    if (!b->scalars || !b->from || !b->to || !b->results)
        return hm_fail_memory(ctx);
    for (int64_t i = 0; i < b->inputs && st == HMATH_OK; i++) {
        hm_shape shape = hm_program_input_shape(program, i);
        st = failed_for(ctx, hm_program_input(program, i), i,
                        bind_input(ctx, argument, &shape, values[i], &b->scalars[i], &b->from[i]));
    }
    for (int64_t j = 0; j < b->outputs && st == HMATH_OK; j++) {
        hm_shape shape = hm_program_output_shape(program, j);
        hm_tensor *tensor = NULL;
        b->to[j] = &b->scalars[b->inputs + j];
        if (shape.rank == 0)
            continue;
        if ((st = hm_tensor_create(ctx, &shape, &tensor)) == HMATH_OK) {
            b->results[j] = &tensor->base;
            b->to[j] = tensor->data;
        }
    }
    return st;
}

/* After the run: what was computed is finite, and scalars become Doubles. */
static hm_status finish(hm_context *ctx, binding *b, hm_value **out)
{
    hm_status st = HMATH_OK;
    for (int64_t j = 0; j < b->outputs && st == HMATH_OK; j++) {
        if (b->results[j])
            atomic_init(&((hm_tensor *)b->results[j])->known_finite, true);
        else
            st = hm_double_create(ctx, b->scalars[b->inputs + j], &b->results[j]);
    }
    for (int64_t j = 0; j < b->outputs && st == HMATH_OK; j++) {
        out[j] = b->results[j];
        b->results[j] = NULL;
    }
    return st;
}

static hm_status run(hm_context *ctx, const hm_program *program, const char *argument,
                     const hm_value *const *values, hm_value **out)
{
    binding b = {0};
    hm_status st = bind(ctx, program, argument, values, &b);
    if (st == HMATH_OK && (st = hm_program_run(ctx, program, b.from, b.to)) == HMATH_OK)
        st = finish(ctx, &b, out);
    binding_close(&b);
    return st;
}

hmath_status hmath_program_run(hmath_context *ctx, const hmath_value *program,
                               const hmath_value *const *inputs, size_t m, hmath_value **outputs,
                               size_t n)
{
    hm_status st = hm_edge_enter(ctx, "autodiff.Program", room_for(n, outputs));
    if (st != HMATH_OK)
        return st;
    const hm_program *p = NULL;
    if ((st = hm_arg_object(ctx, "program", program, HMATH_KIND_PROGRAM, &p)) != HMATH_OK)
        return hm_leave(ctx, st);
    if (!inputs && m)
        st = hm_fail_argument(ctx, "inputs", "is null");
    else if ((int64_t)m != hm_program_input_count(p))
        st = hm_fail_dimension(ctx, "inputs", hm_program_input_count(p), (int64_t)m);
    else if ((int64_t)n != hm_program_output_count(p))
        st = hm_fail_dimension(ctx, "outputs", hm_program_output_count(p), (int64_t)n);
    else
        st = run(ctx, p, "inputs", inputs, outputs);
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- evaluation at once */

/* Compile `n` nodes of an open graph over the given variables, and run that. */
static hm_status evaluate(hm_graph *g, hm_node *const *outputs, int64_t n,
                          hm_node *const *variables, int64_t m, const hm_value *const *values,
                          hm_value **results)
{
    hm_program *program = NULL;
    if (g->status != HMATH_OK)
        return g->status;
    hm_status st = hm_program_create(g->ctx, outputs, n, variables, m, &program);
    if (st == HMATH_OK)
        st = run(g->ctx, program, "values", values, results);
    hm_release(program);
    return st;
}

static hm_status leave_evaluation(hm_graph *g, hm_status st)
{
    hm_context *ctx = g->ctx;
    (void)hm_graph_close(g, NULL, 0, NULL);
    return hm_leave(ctx, st);
}

static hm_status read_values(hm_graph *g, const hm_value *const *values, size_t m)
{
    if (g->status == HMATH_OK && !values && m)
        hm_graph_fail(g, hm_fail_argument(g->ctx, "values", "is null"));
    return g->status;
}

hmath_status hmath_autodiff_evaluate(hmath_context *ctx, const hmath_value *const *outputs,
                                     size_t n, const hmath_value *const *variables,
                                     const hmath_value *const *values, size_t m,
                                     hmath_value **results)
{
    hm_graph g;
    hm_node **of = NULL, **at = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.evaluate", room_for(n, results), &g);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_arg_nodes(&g, "outputs", outputs, n, &of)) == HMATH_OK &&
        (st = hm_arg_nodes(&g, "variables", variables, m, &at)) == HMATH_OK &&
        (st = read_values(&g, values, m)) == HMATH_OK)
        st = evaluate(&g, of, (int64_t)n, at, (int64_t)m, values, results);
    hm_free(of);
    hm_free(at);
    return leave_evaluation(&g, st);
}

hmath_status hmath_autodiff_value_and_gradient(hmath_context *ctx, const hmath_value *output,
                                               const hmath_value *const *variables,
                                               const hmath_value *const *values, size_t m,
                                               const hmath_value *const *wrt, size_t k,
                                               hmath_value **value, hmath_value **gradients)
{
    hm_graph g;
    hm_node **at = NULL, **asked = NULL, **nodes = NULL;
    hm_value **results = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.value_and_gradient", value, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *of = hm_arg_node(&g, "output", output);
    if (hm_arg_nodes(&g, "variables", variables, m, &at) == HMATH_OK &&
        read_values(&g, values, m) == HMATH_OK &&
        hm_arg_nodes(&g, "wrt", wrt, k, &asked) == HMATH_OK) {
        nodes = hm_alloc_zeroed((k + 1) * sizeof *nodes);
        results = hm_alloc_zeroed((k + 1) * sizeof *results);
        if (!nodes || !results)
            hm_graph_fail(&g, hm_fail_memory(ctx));
        else if (!gradients && k)
            hm_graph_fail(&g, hm_fail_argument(ctx, "gradients", "is null"));
    }
    if (g.status == HMATH_OK) {
        nodes[0] = of;
        hm_ad_gradient(&g, of, asked, (int64_t)k, nodes + 1);
    }
    st = evaluate(&g, nodes, (int64_t)k + 1, at, (int64_t)m, values, results);
    if (st == HMATH_OK) {
        *value = results[0];
        for (size_t i = 0; i < k; i++)
            gradients[i] = results[i + 1];
    }
    hm_free(at);
    hm_free(asked);
    hm_free(nodes);
    hm_free(results);
    return leave_evaluation(&g, st);
}

/*
 * Row after row: the gradient of each element of the output, by one program whose last input is the
 * cotangent. wrt is among the variables.
 */
static hm_status jacobian_rows(hm_context *ctx, const hm_program *program, hm_shape *seed_shape,
                               const hm_value *const *values, int64_t m, const hm_node *wrt,
                               hm_tensor *jacobian)
{
    hm_tensor *seed = NULL;
    const hm_value **inputs = hm_alloc((size_t)(m + 1) * sizeof *inputs);
    binding b = {0};
    hm_status st = inputs ? hm_tensor_create(ctx, seed_shape, &seed) : hm_fail_memory(ctx);
    if (st == HMATH_OK) {
        for (int64_t i = 0; i < m; i++)
            inputs[i] = values[i];
        inputs[m] = &seed->base;
        if (seed->size)
            memset(seed->data, 0, (size_t)seed->size * sizeof(double));
        st = bind(ctx, program, "values", inputs, &b);
    }
    for (int64_t row = 0; st == HMATH_OK && row < seed->size; row++) {
        seed->data[row] = 1.0;
        double *to = jacobian->data + row * wrt->size;
        st = hm_program_run(ctx, program, b.from, &to);
        seed->data[row] = 0.0;
    }
    binding_close(&b);
    hm_release(seed);
    hm_free(inputs);
    return st;
}

/* One more behind the n nodes of an array. */
static hm_status append_node(hm_graph *g, hm_node ***nodes, size_t n, hm_node *node)
{
    if (g->status != HMATH_OK)
        return g->status;
    hm_node **larger = hm_realloc(*nodes, (n + 1) * sizeof *larger);
    if (!larger)
        return hm_fail_memory(g->ctx);
    larger[n] = node;
    *nodes = larger;
    return HMATH_OK;
}

/* (output's axes..., wrt's axes...) */
static hm_status fail_rank(hm_context *ctx, int32_t most, int32_t rank)
{
    char expected[HM_TEXT], actual[HM_TEXT];
    snprintf(expected, sizeof expected, "rank %d at most, for a Jacobian of %d axes", most,
             HM_MAX_RANK);
    snprintf(actual, sizeof actual, "rank %d", rank);
    return hm_fail_shape(ctx, "wrt", expected, actual);
}

static hm_status jacobian_shape(hm_context *ctx, const hm_node *output, const hm_node *wrt,
                                hm_shape *out)
{
    if (output->rank + wrt->rank > HM_MAX_RANK)
        return fail_rank(ctx, HM_MAX_RANK - output->rank, wrt->rank);
    hm_shape shape = hm_node_shape(output);
    for (int32_t i = 0; i < wrt->rank; i++)
        shape.extent[shape.rank++] = hm_node_extents(wrt)[i];
    *out = shape;
    return HMATH_OK;
}

hmath_status hmath_autodiff_jacobian(hmath_context *ctx, const hmath_value *output,
                                     const hmath_value *const *variables,
                                     const hmath_value *const *values, size_t m,
                                     const hmath_value *wrt, hmath_value **out)
{
    hm_graph g;
    hm_node **at = NULL, *pulled = NULL;
    hm_program *program = NULL;
    hm_tensor *jacobian = NULL;
    hm_shape shape, seed_shape;
    hm_status st = hm_graph_enter(ctx, "autodiff.jacobian", out, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *of = hm_arg_node(&g, "output", output), *with = hm_arg_node(&g, "wrt", wrt);
    if ((st = g.status) == HMATH_OK &&
        (st = hm_arg_nodes(&g, "variables", variables, m, &at)) == HMATH_OK &&
        (st = read_values(&g, values, m)) == HMATH_OK &&
        (st = jacobian_shape(ctx, of, with, &shape)) == HMATH_OK) {
        seed_shape = hm_node_shape(of);
        hm_node *seed = hm_ad_variable(&g, "cotangent", &seed_shape);
        hm_reverse_mode(&g, &of, &seed, 1, &with, 1, &pulled);
        zeros_for_nothing(&g, &with, 1, &pulled);
        st = append_node(&g, &at, m, seed);
    }
    if (st == HMATH_OK &&
        (st = hm_program_create(ctx, &pulled, 1, at, (int64_t)m + 1, &program)) == HMATH_OK &&
        (st = hm_tensor_create(ctx, &shape, &jacobian)) == HMATH_OK &&
        (st = jacobian_rows(ctx, program, &seed_shape, values, (int64_t)m, with, jacobian)) ==
            HMATH_OK) {
        atomic_init(&jacobian->known_finite, true);
        *out = &jacobian->base;
        jacobian = NULL;
    }
    hm_release(jacobian);
    hm_release(program);
    hm_free(at);
    return leave_evaluation(&g, st);
}

/* The variables that move, and constants for how. */
static int64_t read_tangents(hm_graph *g, const hm_value *const *tangents,
                             hm_node *const *variables, size_t m, hm_node **moving, hm_node **along)
{
    int64_t k = 0;
    for (size_t i = 0; i < m && g->status == HMATH_OK; i++) {
        if (!tangents[i])
            continue;
        moving[k] = variables[i];
        along[k++] = hm_arg_node(g, "tangents", tangents[i]);
        failed_for(g->ctx, variables[i], (int64_t)i, g->status);
    }
    for (int64_t i = 0; i < k && g->status == HMATH_OK; i++) {
        check_seeds(g, "tangents", &moving[i], &along[i], 1);
        failed_for(g->ctx, moving[i], i, g->status);
    }
    return k;
}

hmath_status hmath_autodiff_jvp(hmath_context *ctx, const hmath_value *output,
                                const hmath_value *const *variables,
                                const hmath_value *const *values,
                                const hmath_value *const *tangents, size_t m, hmath_value **value,
                                hmath_value **tangent)
{
    hm_graph g;
    hm_node **at = NULL, **moving = NULL, **along = NULL, *nodes[2] = {NULL, NULL};
    hm_value *results[2];
    hm_status st = hm_graph_enter(ctx, "autodiff.jvp", value, &g);
    if (st != HMATH_OK)
        return st;
    hm_node *of = nodes[0] = hm_arg_node(&g, "output", output);
    if (hm_arg_nodes(&g, "variables", variables, m, &at) == HMATH_OK &&
        read_values(&g, values, m) == HMATH_OK) {
        moving = hm_alloc(m * sizeof *moving);
        along = hm_alloc(m * sizeof *along);
        if (!moving || !along)
            hm_graph_fail(&g, hm_fail_memory(ctx));
        else if (!tangent || (!tangents && m))
            hm_graph_fail(&g, hm_fail_argument(ctx, tangent ? "tangents" : "tangent", "is null"));
    }
    if (g.status == HMATH_OK) {
        int64_t k = read_tangents(&g, tangents, at, m, moving, along);
        hm_forward_mode(&g, &of, 1, moving, along, k, &nodes[1]);
        zeros_for_nothing(&g, &of, 1, &nodes[1]);
    }
    st = evaluate(&g, nodes, 2, at, (int64_t)m, values, results);
    if (st == HMATH_OK) {
        *value = results[0];
        *tangent = results[1];
    }
    hm_free(at);
    hm_free(moving);
    hm_free(along);
    return leave_evaluation(&g, st);
}

/* ------------------------------------------------- custom nodes */

hmath_status hmath_autodiff_custom(hmath_context *ctx, const hmath_value *const *inputs, size_t n,
                                   int32_t rank, const int64_t *extents,
                                   hmath_custom_forward forward, hmath_custom_reverse reverse,
                                   void *user, void (*destroy)(void *), hmath_value **out)
{
    hm_graph g;
    hm_shape shape;
    hm_node **of = NULL, *result = NULL;
    hm_status st = hm_graph_enter(ctx, "autodiff.custom", out, &g);
    if (st != HMATH_OK)
        return st;
    const hm_callbacks callbacks = {forward, reverse, user, destroy};
    if (hm_arg_nodes(&g, "inputs", inputs, n, &of) == HMATH_OK) {
        if (!forward)
            hm_graph_fail(&g, hm_fail_argument(ctx, "forward", "is null"));
        else if (!extents && rank > 0)
            hm_graph_fail(&g, hm_fail_argument(ctx, "shape", "is null"));
        else if ((st = hm_shape_from_extents(ctx, "shape", rank, extents, &shape)) != HMATH_OK)
            hm_graph_fail(&g, st);
        else
            result = hm_ad_custom(&g, of, (int32_t)n, &shape, &callbacks);
    }
    hm_free(of);
    return hm_graph_leave(&g, result, out);
}
