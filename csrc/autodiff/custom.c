/*
 * The callbacks live in a counted holder that the node's attributes refer to, so that the node and the
 * node of its derivative can share them. The derivative is one node too: its result is all cotangents
 * one behind the other, and each input's is a slice of it.
 */
#include "autodiff/custom.h"

#include <stdio.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "primitives/index.h"
#include "primitives/primitives.h"
#include "runtime/alloc.h"
#include "runtime/checked.h"
#include "runtime/list.h"
#include "runtime/scalar.h"
#include "tensor/view.h"

/* ------------------------------------------------- the holder */

typedef struct holder {
    hm_value base;
    hm_callbacks callbacks;
} holder;

static void holder_dispose(hm_value *self, hm_released *released)
{
    hm_callbacks *c = &((holder *)self)->callbacks;
    (void)released;
    if (c->destroy)
        c->destroy(c->user);
}

static const hm_class holder_class = {.kind = 0, .name = "callbacks", .dispose = holder_dispose};

typedef struct custom {
    hm_shape shape; /* of the result */
    holder *holder;
} custom;

static void custom_retain(void *attributes) { hm_retain(((custom *)attributes)->holder); }

static void custom_dispose(void *attributes, hm_released *released)
{
    hm_release_later(released, ((custom *)attributes)->holder);
}

static hm_status custom_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                              const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const custom *)attributes)->shape;
    return HMATH_OK;
}

/* ------------------------------------------------- numbers to values and back */

static hm_status to_value(hm_context *ctx, const hm_node *node, const double *data, hm_value **out)
{
    if (hm_node_is_scalar(node))
        return hm_double_create(ctx, *data, out);
    hm_tensor *tensor = NULL;
    hm_shape shape = hm_node_shape(node);
    hm_status st = hm_tensor_create(ctx, &shape, &tensor);
    if (st != HMATH_OK)
        return st;
    if (tensor->size)
        memcpy(tensor->data, data, (size_t)tensor->size * sizeof(double));
    atomic_init(&tensor->known_finite, true);
    *out = &tensor->base;
    return HMATH_OK;
}

/* What a callback gave back, as `size` finite numbers of a shape; a scalar may come either way. */
static hm_status from_value(hm_context *ctx, const char *argument, const hm_value *v,
                            const hm_shape *shape, double *data)
{
    const hm_tensor *tensor = hm_tensor_from_value(v);
    if (!v)
        return hm_fail_argument(ctx, argument, "gave a null handle");
    if (shape->rank == 0 && hm_double_get(v, data))
        return hm_check_scalar_finite(ctx, argument, *data);
    if (!tensor)
        return hm_fail_type(ctx, argument, shape->rank ? "Tensor Double" : "Double", v);
    if (!hm_shape_equal(&tensor->shape, shape))
        return hm_fail_shapes(ctx, argument, shape, &tensor->shape);
    hm_status st = hm_check_tensor_finite(ctx, argument, tensor);
    if (st == HMATH_OK && tensor->size)
        memcpy(data, tensor->data, (size_t)tensor->size * sizeof(double));
    return st;
}

/* One value an input. On failure those that were made are given back. */
static hm_status inputs_to_values(const hm_run *run, hm_value ***out)
{
    hm_value **values = hm_alloc_zeroed((size_t)run->node->count * sizeof *values);
    hm_status st = values ? HMATH_OK : hm_fail_memory(run->ctx);
    for (int32_t i = 0; i < run->node->count && st == HMATH_OK; i++)
        st = to_value(run->ctx, run->node->inputs[i], run->inputs[i], &values[i]);
    *out = values;
    return st;
}

static void release_values(hm_value **values, int32_t count)
{
    for (int32_t i = 0; values && i < count; i++)
        hm_release(values[i]);
    hm_free(values);
}

/* A callback failed: with the failure of a call that it made, if it says so and there is one. */
static hm_status callback_failed(hm_context *ctx, const char *which, hm_status st)
{
    if (st == HMATH_NO_MEMORY)
        return hm_fail_memory(ctx);
    if (st != HMATH_CHECKED || !hmath_last_error(ctx))
        return hm_fail_callback(ctx, which);
    hm_context_adopt_inner_failure(ctx);
    return st;
}

/* ------------------------------------------------- the node */

static hm_status custom_run(const hm_run *run)
{
    const custom *a = hm_node_attributes(run->node);
    const hm_callbacks *c = &a->holder->callbacks;
    hm_value **values = NULL, *result = NULL;
    hm_status st = inputs_to_values(run, &values);
    if (st == HMATH_OK && (st = c->forward(run->ctx, c->user, (const hm_value *const *)values,
                                           (size_t)run->node->count, &result)) != HMATH_OK)
        st = callback_failed(run->ctx, "forward", st);
    if (st == HMATH_OK)
        st = from_value(run->ctx, "forward", result, &a->shape, run->output);
    hm_release(result);
    release_values(values, run->node->count);
    return st;
}

static void custom_rule(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                        hm_node **cotangents)
{
    const custom *a = hm_node_attributes(node);
    custom all = *a;
    hm_shape flat = {.rank = 1};
    if (!a->holder->callbacks.reverse) {
        hm_graph_fail(g, hm_fail_requirement(g->ctx, "output", HM_SCALAR,
                                             "goes through autodiff.custom without a reverse",
                                             "differentiable operations"));
        return;
    }
    hm_node **inputs = hm_alloc(((size_t)node->count + 1) * sizeof *inputs);
    if (!inputs) {
        hm_graph_fail(g, hm_fail_memory(g->ctx));
        return;
    }
    for (int32_t i = 0; i < node->count; i++) {
        inputs[i] = node->inputs[i];
        flat.extent[0] += node->inputs[i]->size;
    }
    inputs[node->count] = cotangent;
    all.shape = hm_shape_as_attribute(&flat);
    hm_node *joined =
        hm_graph_make(g, &hm_op_custom_reverse, &all, sizeof all, inputs, node->count + 1);
    hm_free(inputs);
    hm_slicing slicing = {.step = {1}};
    for (int32_t i = 0; i < node->count && joined; i++) {
        hm_shape shape = hm_node_shape(node->inputs[i]);
        slicing.part = (hm_shape){.rank = 1, .extent = {node->inputs[i]->size}};
        if (wanted[i])
            cotangents[i] = hm_ad_reshape(g, hm_ad_slice(g, joined, &slicing), &shape);
        slicing.start[0] += node->inputs[i]->size;
    }
}

const hm_op hm_op_custom = {.name = "autodiff.custom",
                            .arity = HM_VARIADIC,
                            .flags = HM_OP_UNIQUE,
                            .shape = custom_shape,
                            .run = custom_run,
                            .reverse = custom_rule,
                            .retain = custom_retain,
                            .dispose = custom_dispose};

/* ------------------------------------------------- its derivative */

static hm_status read_cotangents(const hm_run *run, const hm_value *result)
{
    const hm_tuple *tuple = hm_tuple_from_value(result);
    const int32_t count = run->node->count - 1;
    double *to = run->output;
    hm_status st = HMATH_OK;
    if (!result)
        return hm_fail_argument(run->ctx, "reverse", "gave a null handle");
    if (!tuple)
        return hm_fail_type(run->ctx, "reverse", "Tuple", result);
    if (tuple->length != count)
        return hm_fail_dimension(run->ctx, "reverse", count, tuple->length);
    for (int32_t i = 0; i < count && st == HMATH_OK; i++) {
        hm_shape shape = hm_node_shape(run->node->inputs[i]);
        st = from_value(run->ctx, "reverse", tuple->items[i], &shape, to);
        to += run->node->inputs[i]->size;
    }
    return st;
}

static hm_status custom_reverse_run(const hm_run *run)
{
    const custom *a = hm_node_attributes(run->node);
    const hm_callbacks *c = &a->holder->callbacks;
    const int32_t count = run->node->count - 1;
    hm_value **values = NULL, *result = NULL;
    hm_status st = inputs_to_values(run, &values);
    if (st == HMATH_OK && (st = c->reverse(run->ctx, c->user, (const hm_value *const *)values,
                                           (size_t)count, values[count], &result)) != HMATH_OK)
        st = callback_failed(run->ctx, "reverse", st);
    if (st == HMATH_OK)
        st = read_cotangents(run, result);
    hm_release(result);
    release_values(values, run->node->count);
    return st;
}

const hm_op hm_op_custom_reverse = {.name = "autodiff.custom",
                                    .arity = HM_VARIADIC,
                                    .flags = HM_OP_UNIQUE,
                                    .shape = custom_shape,
                                    .run = custom_reverse_run,
                                    .retain = custom_retain,
                                    .dispose = custom_dispose};

hm_node *hm_ad_custom(hm_graph *g, hm_node *const *inputs, int32_t count, const hm_shape *shape,
                      const hm_callbacks *callbacks)
{
    holder *held = NULL;
    hm_status st = hm_value_create(g->ctx, &holder_class, sizeof *held, &held);
    if (st != HMATH_OK)
        return hm_graph_fail(g, st);
    custom a;
    memset(&a, 0, sizeof a);
    a.shape = hm_shape_as_attribute(shape);
    a.holder = held;
    hm_node *node = hm_graph_make(g, &hm_op_custom, &a, sizeof a, inputs, count);
    if (node)
        held->callbacks = *callbacks; /* from now on destroy is owed */
    hm_release(held);
    return node;
}
