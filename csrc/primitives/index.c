#include "primitives/index.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "primitives/elementwise.h"
#include "primitives/join.h"
#include "primitives/primitives.h"
#include "runtime/alloc.h"
#include "runtime/checked.h"

static const char *const value_argument[] = {"value"};

static void copy(double *to, const double *from, int64_t n)
{
    if (n)
        memcpy(to, from, (size_t)n * sizeof(double));
}

static void clear(double *to, int64_t n)
{
    if (n)
        memset(to, 0, (size_t)n * sizeof(double));
}

/* ------------------------------------------------- reshape */

static hm_status reshape_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                               const void *attributes, hm_shape *out)
{
    const hm_shape *shape = attributes;
    int64_t size;
    (void)count;
    if (!hm_shape_size(shape, &size) || size != inputs[0]->size) {
        char expected[HM_TEXT], actual[HM_TEXT];
        snprintf(expected, sizeof expected, "a shape of %lld elements", (long long)inputs[0]->size);
        hm_shape_text(shape, actual, sizeof actual);
        return hm_fail_shape(ctx, "shape", expected, actual);
    }
    *out = *shape;
    return HMATH_OK;
}

static hm_status copy_run(const hm_run *run)
{
    copy(run->output, run->inputs[0], run->node->size);
    return HMATH_OK;
}

static void reshape_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                            hm_node **cotangents)
{
    hm_shape shape = hm_node_shape(node->inputs[0]);
    (void)wanted;
    cotangents[0] = hm_ad_reshape(g, cotangent, &shape);
}

const hm_op hm_op_reshape = {.name = "autodiff.reshape",
                             .arguments = value_argument,
                             .arity = 1,
                             .flags = HM_OP_LINEAR | HM_OP_VIEW,
                             .shape = reshape_shape,
                             .run = copy_run,
                             .reverse = reshape_reverse};

hm_node *hm_ad_reshape(hm_graph *g, hm_node *value, const hm_shape *shape)
{
    if (!value)
        return NULL;
    hm_shape own = hm_node_shape(value);
    if (hm_shape_equal(&own, shape))
        return value;
    const hm_shape attributes = hm_shape_as_attribute(shape);
    return hm_graph_make1(g, &hm_op_reshape, &attributes, sizeof attributes, value);
}

/* ------------------------------------------------- transpose */

typedef struct permutation {
    int32_t axes[HM_MAX_RANK];
} permutation;

static hm_status transpose_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                 const void *attributes, hm_shape *out)
{
    const permutation *p = attributes;
    const int64_t *extent = hm_node_extents(inputs[0]);
    hm_shape shape = {.rank = inputs[0]->rank};
    (void)ctx, (void)count;
    for (int32_t i = 0; i < shape.rank; i++)
        shape.extent[i] = extent[p->axes[i]];
    *out = shape;
    return HMATH_OK;
}

static hm_status transpose_run(const hm_run *run)
{
    const permutation *p = hm_node_attributes(run->node);
    hm_shape shape = hm_node_shape(run->node->inputs[0]);
    hm_move move = hm_move_transpose(&shape, p->axes);
    hm_move_run(run->ctx, &move, sizeof(double), run->inputs[0], run->output);
    return HMATH_OK;
}

static void transpose_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                              hm_node **cotangents)
{
    const permutation *p = hm_node_attributes(node);
    permutation inverse = {{0}};
    (void)wanted;
    for (int32_t i = 0; i < node->rank; i++)
        inverse.axes[p->axes[i]] = i;
    cotangents[0] = hm_ad_transpose(g, cotangent, inverse.axes);
}

const hm_op hm_op_transpose = {.name = "autodiff.transpose",
                               .arguments = value_argument,
                               .arity = 1,
                               .flags = HM_OP_LINEAR,
                               .shape = transpose_shape,
                               .run = transpose_run,
                               .reverse = transpose_reverse};

hm_node *hm_ad_transpose(hm_graph *g, hm_node *value, const int32_t axes[HM_MAX_RANK])
{
    permutation p = {{0}};
    bool moves = false;
    if (!value)
        return NULL;
    for (int32_t i = 0; i < value->rank; i++) {
        p.axes[i] = axes[i];
        moves |= axes[i] != i;
    }
    return moves ? hm_graph_make1(g, &hm_op_transpose, &p, sizeof p, value) : value;
}

hm_node *hm_ad_swap_axes(hm_graph *g, hm_node *value, int32_t first, int32_t second)
{
    int32_t axes[HM_MAX_RANK];
    for (int32_t i = 0; i < HM_MAX_RANK; i++)
        axes[i] = i == first ? second : i == second ? first : i;
    return hm_ad_transpose(g, value, axes);
}

/* ------------------------------------------------- slice and back */

typedef struct slice {
    int64_t start[HM_MAX_RANK], step[HM_MAX_RANK];
    hm_shape part, whole;
} slice;

static slice slice_attributes(const hm_slicing *slicing, const hm_shape *whole)
{
    slice s;
    memset(&s, 0, sizeof s);
    memcpy(s.start, slicing->start, (size_t)whole->rank * sizeof(int64_t));
    memcpy(s.step, slicing->step, (size_t)whole->rank * sizeof(int64_t));
    s.part = hm_shape_as_attribute(&slicing->part);
    s.whole = hm_shape_as_attribute(whole);
    return s;
}

static hm_slicing slicing_of(const slice *s)
{
    hm_slicing slicing;
    memcpy(slicing.start, s->start, sizeof slicing.start);
    memcpy(slicing.step, s->step, sizeof slicing.step);
    slicing.part = s->part;
    return slicing;
}

static hm_status slice_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                             const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const slice *)attributes)->part;
    return HMATH_OK;
}

static hm_status unslice_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                               const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const slice *)attributes)->whole;
    return HMATH_OK;
}

static hm_status slice_run(const hm_run *run)
{
    const slice *s = hm_node_attributes(run->node);
    hm_move move = hm_move_slice(&s->whole, s->start, s->step, &s->part);
    hm_move_run(run->ctx, &move, sizeof(double), run->inputs[0], run->output);
    return HMATH_OK;
}

static hm_status unslice_run(const hm_run *run)
{
    const slice *s = hm_node_attributes(run->node);
    hm_move there = hm_move_slice(&s->whole, s->start, s->step, &s->part);
    hm_move back = hm_move_unslice(&there);
    clear(run->output, run->node->size);
    hm_move_run(run->ctx, &back, sizeof(double), run->inputs[0], run->output);
    return HMATH_OK;
}

static void slice_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                          hm_node **cotangents)
{
    const slice *s = hm_node_attributes(node);
    hm_slicing slicing = slicing_of(s);
    (void)wanted;
    cotangents[0] = hm_ad_unslice(g, cotangent, &slicing, &s->whole);
}

static void unslice_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                            hm_node **cotangents)
{
    hm_slicing slicing = slicing_of(hm_node_attributes(node));
    (void)wanted;
    cotangents[0] = hm_ad_slice(g, cotangent, &slicing);
}

const hm_op hm_op_slice = {.name = "autodiff.slice",
                           .arguments = value_argument,
                           .arity = 1,
                           .flags = HM_OP_LINEAR,
                           .shape = slice_shape,
                           .run = slice_run,
                           .reverse = slice_reverse};

const hm_op hm_op_unslice = {.name = "autodiff.unslice",
                             .arguments = value_argument,
                             .arity = 1,
                             .flags = HM_OP_LINEAR,
                             .shape = unslice_shape,
                             .run = unslice_run,
                             .reverse = unslice_reverse};

hm_node *hm_ad_slice(hm_graph *g, hm_node *value, const hm_slicing *slicing)
{
    if (!value)
        return NULL;
    hm_shape whole = hm_node_shape(value);
    slice s = slice_attributes(slicing, &whole);
    return hm_graph_make1(g, &hm_op_slice, &s, sizeof s, value);
}

hm_node *hm_ad_unslice(hm_graph *g, hm_node *value, const hm_slicing *slicing,
                       const hm_shape *whole)
{
    slice s = slice_attributes(slicing, whole);
    return hm_graph_make1(g, &hm_op_unslice, &s, sizeof s, value);
}

/* ------------------------------------------------- slices put together */

bool hm_is_unsliced(const hm_node *node) { return node->op == &hm_op_unslice; }

bool hm_unsliced_block(const hm_node *node, hm_block *block)
{
    if (!hm_is_unsliced(node))
        return false;
    const slice *s = hm_node_attributes(node);
    for (int32_t i = 0; i < s->whole.rank; i++)
        if (s->step[i] != 1)
            return false;
    memcpy(block->start, s->start, sizeof block->start);
    block->part = s->part;
    return true;
}

/* The one axis along which the slice is a part of the whole; -1 where it is another kind of slice. */
static int32_t cut_axis(const slice *s)
{
    int32_t axis = -1;
    for (int32_t i = 0; i < s->whole.rank; i++) {
        if (s->step[i] != 1)
            return -1;
        if (s->part.extent[i] == s->whole.extent[i])
            continue;
        if (axis >= 0)
            return -1;
        axis = i;
    }
    return axis;
}

/* The slice that begins at `start`, or NULL. */
static hm_node *slice_from(hm_node *const *unsliced, int64_t n, int32_t axis, int64_t start)
{
    for (int64_t i = 0; i < n; i++) {
        const slice *s = hm_node_attributes(unsliced[i]);
        if (s->start[axis] == start && s->part.extent[axis] > 0 && cut_axis(s) == axis)
            return unsliced[i];
    }
    return NULL;
}

hm_node *hm_ad_join_unsliced(hm_graph *g, hm_node *const *unsliced, int64_t n)
{
    enum { MOST = 64 }; /* each place looks at every slice */
    hm_node *parts[MOST];
    const slice *first = hm_node_attributes(unsliced[0]);
    const int32_t axis = cut_axis(first);
    int64_t end = 0;
    if (n > MOST || axis < 0)
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        hm_node *next = slice_from(unsliced, n, axis, end);
        if (!next)
            return NULL;
        end += ((const slice *)hm_node_attributes(next))->part.extent[axis];
        parts[i] = next->inputs[0];
    }
    return end == first->whole.extent[axis] ? hm_ad_concatenate(g, parts, (int32_t)n, axis) : NULL;
}

/* ------------------------------------------------- single elements */

typedef struct place {
    hm_shape whole;
    int64_t index; /* row-major */
} place;

static hm_status element_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                               const void *attributes, hm_shape *out)
{
    const int64_t index = *(const int64_t *)attributes;
    (void)count;
    if (index < 0 || index >= inputs[0]->size)
        return hm_fail_index(ctx, "index", HM_SCALAR, index, inputs[0]->size);
    *out = (hm_shape){0};
    return HMATH_OK;
}

static hm_status element_run(const hm_run *run)
{
    *run->output = run->inputs[0][*(const int64_t *)hm_node_attributes(run->node)];
    return HMATH_OK;
}

static void element_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                            hm_node **cotangents)
{
    hm_shape whole = hm_node_shape(node->inputs[0]);
    (void)wanted;
    cotangents[0] = hm_ad_place(g, cotangent, *(const int64_t *)hm_node_attributes(node), &whole);
}

static hm_status place_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                             const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const place *)attributes)->whole;
    return HMATH_OK;
}

static hm_status place_run(const hm_run *run)
{
    const place *p = hm_node_attributes(run->node);
    clear(run->output, run->node->size);
    run->output[p->index] = *run->inputs[0];
    return HMATH_OK;
}

static void place_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                          hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = hm_ad_element(g, cotangent, ((const place *)hm_node_attributes(node))->index);
}

const hm_op hm_op_element = {.name = "autodiff.element",
                             .arguments = value_argument,
                             .arity = 1,
                             .flags = HM_OP_LINEAR,
                             .shape = element_shape,
                             .run = element_run,
                             .reverse = element_reverse};

const hm_op hm_op_place = {.name = "autodiff.place",
                           .arguments = value_argument,
                           .arity = 1,
                           .flags = HM_OP_LINEAR,
                           .shape = place_shape,
                           .run = place_run,
                           .reverse = place_reverse};

hm_node *hm_ad_element(hm_graph *g, hm_node *value, int64_t index)
{
    return hm_graph_make1(g, &hm_op_element, &index, sizeof index, value);
}

hm_node *hm_ad_place(hm_graph *g, hm_node *value, int64_t index, const hm_shape *whole)
{
    place p;
    memset(&p, 0, sizeof p);
    p.whole = hm_shape_as_attribute(whole);
    p.index = index;
    return hm_graph_make1(g, &hm_op_place, &p, sizeof p, value);
}

/* Attributes: the shape, then one index for each input. */
static hm_status place_elements_run(const hm_run *run)
{
    const int64_t *index =
        (const int64_t *)(const void *)((const hm_shape *)hm_node_attributes(run->node) + 1);
    clear(run->output, run->node->size);
    for (int32_t i = 0; i < run->node->count; i++) {
        run->output[index[i]] += *run->inputs[i];
        if (run->output[index[i]] - run->output[index[i]] != 0)
            return hm_fail_overflow(run->ctx);
    }
    return HMATH_OK;
}

static hm_status place_elements_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                      const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = *(const hm_shape *)attributes;
    return HMATH_OK;
}

static void place_elements_reverse(hm_graph *g, hm_node *node, hm_node *cotangent,
                                   const bool *wanted, hm_node **cotangents)
{
    const int64_t *index =
        (const int64_t *)(const void *)((const hm_shape *)hm_node_attributes(node) + 1);
    for (int32_t i = 0; i < node->count; i++)
        if (wanted[i])
            cotangents[i] = hm_ad_element(g, cotangent, index[i]);
}

const hm_op hm_op_place_elements = {.name = "autodiff.place_elements",
                                    .arity = HM_VARIADIC,
                                    .flags = HM_OP_LINEAR,
                                    .shape = place_elements_shape,
                                    .run = place_elements_run,
                                    .reverse = place_elements_reverse};

bool hm_is_placed_element(const hm_node *node) { return node->op == &hm_op_place; }

hm_node *hm_ad_place_elements(hm_graph *g, hm_node *const *placed, int64_t n)
{
    size_t bytes;
    if (g->status != HMATH_OK)
        return NULL;
    if (n > INT32_MAX || !hm_bytes(sizeof(hm_shape), (size_t)n, sizeof(int64_t), &bytes))
        return hm_graph_fail(g, hm_fail_memory(g->ctx));
    hm_shape *attributes = hm_alloc(bytes);
    hm_node **inputs = hm_alloc((size_t)n * sizeof *inputs), *made = NULL;
    if (attributes && inputs) {
        int64_t *index = (int64_t *)(void *)(attributes + 1);
        *attributes = ((const place *)hm_node_attributes(placed[0]))->whole;
        for (int64_t i = 0; i < n; i++) {
            index[i] = ((const place *)hm_node_attributes(placed[i]))->index;
            inputs[i] = placed[i]->inputs[0];
        }
        made = hm_graph_make(g, &hm_op_place_elements, attributes, bytes, inputs, (int32_t)n);
    } else {
        hm_graph_fail(g, hm_fail_memory(g->ctx));
    }
    hm_free(attributes);
    hm_free(inputs);
    return made;
}

/* ------------------------------------------------- gather and scatter */

typedef struct gathering {
    int64_t axis, extent; /* of the value that is gathered from */
} gathering;

static const char *const value_indices[] = {"value", "indices"};

/* (outer, extent, inner) of the value, and how many indices there are. */
typedef struct gather_plan {
    int64_t outer, extent, inner, indices;
} gather_plan;

static hm_status gather_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                              const void *attributes, hm_shape *out)
{
    const gathering *a = attributes;
    hm_shape value = hm_node_shape(inputs[0]), index = hm_node_shape(inputs[1]);
    hm_shape shape = {.rank = value.rank - 1 + index.rank};
    (void)count;
    if (shape.rank > HM_MAX_RANK) {
        char actual[HM_TEXT];
        snprintf(actual, sizeof actual, "rank %d", shape.rank);
        return hm_fail_shape(ctx, "indices", "a result of rank 8 or less", actual);
    }
    int32_t at = 0;
    for (int32_t i = 0; i < value.rank; i++) {
        if (i != (int32_t)a->axis) {
            shape.extent[at++] = value.extent[i];
            continue;
        }
        for (int32_t k = 0; k < index.rank; k++)
            shape.extent[at++] = index.extent[k];
    }
    *out = shape;
    return HMATH_OK;
}

/* The cotangent of a gather has the gather's shape, and the result the value's. */
static hm_status scatter_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                               const void *attributes, hm_shape *out)
{
    const gathering *a = attributes;
    hm_shape from = hm_node_shape(inputs[0]);
    const int32_t indices = inputs[1]->rank;
    hm_shape shape = {.rank = from.rank - indices + 1};
    (void)ctx, (void)count;
    int32_t at = 0;
    for (int32_t i = 0; i < shape.rank; i++) {
        if (i == (int32_t)a->axis) {
            shape.extent[i] = a->extent;
            at += indices;
        } else {
            shape.extent[i] = from.extent[at++];
        }
    }
    *out = shape;
    return HMATH_OK;
}

static gather_plan plan_gather(const hm_shape *value, const gathering *a, int64_t indices)
{
    return (gather_plan){hm_shape_span(value, 0, (int32_t)a->axis), a->extent,
                         hm_shape_span(value, (int32_t)a->axis + 1, value->rank), indices};
}

/* A whole double as an integer, the nearest one where it is beyond 64 bits. */
static int64_t saturated(double whole)
{
    if (!(whole < 0x1p63))
        return INT64_MAX;
    return whole < -0x1p63 ? INT64_MIN : (int64_t)whole;
}

static hm_status check_indices(hm_context *ctx, const double *indices, int64_t n, int64_t bound)
{
    for (int64_t i = 0; i < n; i++) {
        if (!(indices[i] >= 0 && indices[i] < (double)bound))
            return hm_fail_index(ctx, "indices", i, saturated(floor(indices[i])), bound);
        if (indices[i] != (double)(int64_t)indices[i])
            return hm_fail_domain(ctx, "indices", i, indices[i], "whole numbers");
    }
    return HMATH_OK;
}

static hm_status gather_run(const hm_run *run)
{
    hm_shape value = hm_node_shape(run->node->inputs[0]);
    gather_plan p = plan_gather(&value, hm_node_attributes(run->node), run->node->inputs[1]->size);
    const double *indices = run->inputs[1];
    hm_status st = check_indices(run->ctx, indices, p.indices, p.extent);
    if (st != HMATH_OK)
        return st;
    double *to = run->output;
    for (int64_t o = 0; o < p.outer; o++)
        for (int64_t i = 0; i < p.indices; i++, to += p.inner)
            copy(to, run->inputs[0] + (o * p.extent + (int64_t)indices[i]) * p.inner, p.inner);
    return HMATH_OK;
}

/* Contributions to one place are added in the order of the indices. */
static hm_status scatter_run(const hm_run *run)
{
    hm_shape value = hm_node_shape(run->node);
    gather_plan p = plan_gather(&value, hm_node_attributes(run->node), run->node->inputs[1]->size);
    const hm_elementwise_kernels *k = hm_context_kernels(run->ctx)->elementwise;
    const double *indices = run->inputs[1], *from = run->inputs[0];
    hm_status st = check_indices(run->ctx, indices, p.indices, p.extent);
    if (st != HMATH_OK)
        return st;
    bool finite = true;
    clear(run->output, run->node->size);
    for (int64_t o = 0; o < p.outer; o++)
        for (int64_t i = 0; i < p.indices; i++, from += p.inner) {
            double *to = run->output + (o * p.extent + (int64_t)indices[i]) * p.inner;
            finite &= k->binary[HM_BINARY_add]((size_t)p.inner, to, 1, from, 1, to);
        }
    return finite ? HMATH_OK : hm_fail_overflow(run->ctx);
}

static void gather_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                           hm_node **cotangents)
{
    if (wanted[0])
        cotangents[0] = hm_graph_make2(g, &hm_op_scatter, hm_node_attributes(node),
                                       sizeof(gathering), cotangent, node->inputs[1]);
}

static void scatter_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                            hm_node **cotangents)
{
    if (wanted[0])
        cotangents[0] = hm_graph_make2(g, &hm_op_gather, hm_node_attributes(node),
                                       sizeof(gathering), cotangent, node->inputs[1]);
}

/* The tangent of both is the op itself on the value's tangent. */
static hm_node *gather_tangent(hm_graph *g, hm_node *node, hm_node *const *tangents)
{
    if (!tangents[0])
        return NULL;
    return hm_graph_make2(g, node->op, hm_node_attributes(node), sizeof(gathering), tangents[0],
                          node->inputs[1]);
}

const hm_op hm_op_gather = {.name = "autodiff.gather",
                            .arguments = value_indices,
                            .arity = 2,
                            .shape = gather_shape,
                            .run = gather_run,
                            .reverse = gather_reverse,
                            .tangent = gather_tangent};

const hm_op hm_op_scatter = {.name = "autodiff.scatter",
                             .arguments = value_indices,
                             .arity = 2,
                             .shape = scatter_shape,
                             .run = scatter_run,
                             .reverse = scatter_reverse,
                             .tangent = gather_tangent};

hm_node *hm_ad_gather(hm_graph *g, hm_node *value, hm_node *indices, int32_t axis)
{
    if (!value || !indices)
        return NULL;
    if (axis < 0 || axis >= value->rank)
        return hm_graph_fail(g, hm_fail_index(g->ctx, "axis", HM_SCALAR, axis, value->rank));
    gathering a = {axis, hm_node_extents(value)[axis]};
    return hm_graph_make2(g, &hm_op_gather, &a, sizeof a, value, indices);
}
