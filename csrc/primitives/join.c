#include "primitives/join.h"

#include <stdio.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "primitives/index.h"
#include "primitives/primitives.h"
#include "runtime/alloc.h"

/* ------------------------------------------------- concatenate */

static hm_status concatenate_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                   const void *attributes, hm_shape *out)
{
    const int64_t axis = *(const int64_t *)attributes;
    hm_shape shape = hm_node_shape(inputs[0]);
    hm_status st = HMATH_OK;
    if (axis < 0 || axis >= shape.rank)
        return hm_fail_index(ctx, "axis", HM_SCALAR, axis, shape.rank);
    for (int32_t i = 1; i < count && st == HMATH_OK; i++) {
        hm_shape next = hm_node_shape(inputs[i]);
        st = hm_concatenate_shape(ctx, "values", axis, &next, &shape);
    }
    if (st == HMATH_OK)
        *out = shape;
    return st;
}

static hm_status concatenate_run(const hm_run *run)
{
    const int32_t axis = (int32_t) * (const int64_t *)hm_node_attributes(run->node);
    hm_shape whole = hm_node_shape(run->node);
    const int64_t outer = hm_shape_span(&whole, 0, axis);
    const int64_t row = hm_shape_span(&whole, axis, whole.rank);
    int64_t at = 0;
    for (int32_t i = 0; i < run->node->count; i++) {
        hm_shape part = hm_node_shape(run->node->inputs[i]);
        const int64_t own = hm_shape_span(&part, axis, part.rank);
        for (int64_t o = 0; o < outer && own; o++)
            memcpy(run->output + o * row + at, run->inputs[i] + o * own,
                   (size_t)own * sizeof(double));
        at += own;
    }
    return HMATH_OK;
}

static void concatenate_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                                hm_node **cotangents)
{
    const int64_t axis = *(const int64_t *)hm_node_attributes(node);
    hm_slicing slicing = {.start = {0}};
    for (int32_t i = 0; i < HM_MAX_RANK; i++)
        slicing.step[i] = 1;
    for (int32_t i = 0; i < node->count; i++) {
        slicing.part = hm_node_shape(node->inputs[i]);
        if (wanted[i])
            cotangents[i] = hm_ad_slice(g, cotangent, &slicing);
        slicing.start[axis] += slicing.part.extent[axis];
    }
}

const hm_op hm_op_concatenate = {.name = "autodiff.concatenate",
                                 .arity = HM_VARIADIC,
                                 .flags = HM_OP_LINEAR,
                                 .shape = concatenate_shape,
                                 .run = concatenate_run,
                                 .reverse = concatenate_reverse};

hm_node *hm_ad_concatenate(hm_graph *g, hm_node *const *values, int32_t count, int32_t axis)
{
    const int64_t attributes = axis;
    return hm_graph_make(g, &hm_op_concatenate, &attributes, sizeof attributes, values, count);
}

/* ------------------------------------------------- stack */

static hm_status stack_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                             const void *attributes, hm_shape *out)
{
    const hm_shape *shape = attributes;
    char text[HM_TEXT];
    int64_t size;
    for (int32_t i = 0; i < count; i++)
        if (!hm_node_is_scalar(inputs[i])) {
            hm_shape own = hm_node_shape(inputs[i]);
            hm_shape_text(&own, text, sizeof text);
            return hm_fail_shape(ctx, "values", "scalars, of shape ()", text);
        }
    if (!hm_shape_size(shape, &size) || size != count) {
        char expected[HM_TEXT];
        snprintf(expected, sizeof expected, "a shape of %d elements", count);
        hm_shape_text(shape, text, sizeof text);
        return hm_fail_shape(ctx, "shape", expected, text);
    }
    *out = *shape;
    return HMATH_OK;
}

static hm_status stack_run(const hm_run *run)
{
    for (int32_t i = 0; i < run->node->count; i++)
        run->output[i] = *run->inputs[i];
    return HMATH_OK;
}

static void stack_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                          hm_node **cotangents)
{
    for (int32_t i = 0; i < node->count; i++)
        if (wanted[i])
            cotangents[i] = hm_ad_element(g, cotangent, i);
}

const hm_op hm_op_stack = {.name = "autodiff.stack",
                           .arity = HM_VARIADIC,
                           .flags = HM_OP_LINEAR,
                           .shape = stack_shape,
                           .run = stack_run,
                           .reverse = stack_reverse};

hm_node *hm_ad_stack(hm_graph *g, hm_node *const *values, int32_t count, const hm_shape *shape)
{
    const hm_shape attributes = hm_shape_as_attribute(shape);
    return hm_graph_make(g, &hm_op_stack, &attributes, sizeof attributes, values, count);
}

hm_node *hm_ad_stack_along(hm_graph *g, hm_node *const *values, int32_t count, int32_t axis)
{
    hm_node **grown = hm_alloc((size_t)count * sizeof *grown), *made = NULL;
    if (!grown)
        return hm_graph_fail(g, hm_fail_memory(g->ctx));
    const hm_shape first = hm_node_shape(values[0]);
    hm_shape shape;
    hm_status st = hm_stack_shape(g->ctx, "values", &first, 1, axis, &shape);
    for (int32_t i = 0; i < count; i++) {
        const hm_shape own = hm_node_shape(values[i]);
        if (st == HMATH_OK && !hm_shape_equal(&first, &own))
            st = hm_fail_shapes(g->ctx, "values", &first, &own);
        grown[i] = st == HMATH_OK ? hm_ad_reshape(g, values[i], &shape) : hm_graph_fail(g, st);
    }
    made = hm_ad_concatenate(g, grown, count, axis);
    hm_free(grown);
    return made;
}
