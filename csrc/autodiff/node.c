#include "autodiff/node.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/alloc.h"
#include "runtime/checked.h"

const char *hm_op_word(const hm_op *op)
{
    const char *dot = strrchr(op->name, '.');
    return op->word ? op->word : dot ? dot + 1 : op->name;
}

const char *hm_op_argument(const hm_op *op, int32_t i)
{
    return op->arguments && i < op->arity ? op->arguments[i] : "values";
}

/* ------------------------------------------------- one node */

const int64_t *hm_node_extents(const hm_node *node)
{
    return (const int64_t *)(const void *)(node->inputs + node->count);
}

const void *hm_node_attributes(const hm_node *node) { return hm_node_extents(node) + node->rank; }

hm_shape hm_node_shape(const hm_node *node)
{
    hm_shape shape = {.rank = node->rank};
    memcpy(shape.extent, hm_node_extents(node), (size_t)node->rank * sizeof(int64_t));
    return shape;
}

hm_shape hm_shape_as_attribute(const hm_shape *shape)
{
    hm_shape clean;
    memset(&clean, 0, sizeof clean);
    clean.rank = shape->rank;
    memcpy(clean.extent, shape->extent, (size_t)shape->rank * sizeof(int64_t));
    return clean;
}

static void node_dispose(hm_value *self, hm_released *released)
{
    hm_node *node = (hm_node *)self;
    if (node->op->dispose)
        node->op->dispose((void *)(uintptr_t)hm_node_attributes(node), released);
    for (int32_t i = 0; i < node->count; i++)
        hm_release_later(released, node->inputs[i]);
}

static const hm_class expr_class = {
    .kind = HMATH_KIND_AD_EXPR, .name = "ADExpr", .dispose = node_dispose};
static const hm_class tensor_class = {
    .kind = HMATH_KIND_AD_TENSOR, .name = "ADTensor", .dispose = node_dispose};

hm_node *hm_node_from_value(const hm_value *v)
{
    bool is = hm_value_is(v, HMATH_KIND_AD_EXPR) || hm_value_is(v, HMATH_KIND_AD_TENSOR);
    return is ? (hm_node *)(uintptr_t)v : NULL;
}

static _Atomic uint64_t next_serial = 1;

/* Header, inputs, extents and attributes in one block. */
static bool node_bytes(int32_t count, int32_t rank, size_t attribute_size, size_t *bytes)
{
    size_t tail = (size_t)rank * sizeof(int64_t);
    return hm_add_size(tail, attribute_size, &tail) && hm_add_size(tail, sizeof(hm_node), &tail) &&
           hm_bytes(tail, (size_t)count, sizeof(hm_node *), bytes);
}

hm_status hm_node_create(hm_context *ctx, const hm_op *op, const void *attributes,
                         size_t attribute_size, hm_node *const *inputs, int32_t count,
                         hm_node **out)
{
    assert(op->arity == HM_VARIADIC || op->arity == count);
    hm_shape shape = {0};
    hm_status st = op->shape(ctx, inputs, count, attributes, &shape);
    int64_t size = 0;
    size_t bytes = 0;
    if (st == HMATH_OK &&
        (!hm_shape_size(&shape, &size) || !node_bytes(count, shape.rank, attribute_size, &bytes)))
        st = hm_fail_memory(ctx);
    hm_node *node = NULL;
    if (st == HMATH_OK)
        st = hm_value_create(ctx, shape.rank == 0 ? &expr_class : &tensor_class, bytes, &node);
    if (st != HMATH_OK)
        return st;

    node->op = op;
    node->size = size;
    node->count = count;
    node->rank = shape.rank;
    node->attribute_size = attribute_size;
    node->serial = atomic_fetch_add_explicit(&next_serial, 1, memory_order_relaxed);
    for (int32_t i = 0; i < count; i++)
        node->inputs[i] = hm_retain(inputs[i]);
    if (shape.rank)
        memcpy((void *)(uintptr_t)hm_node_extents(node), shape.extent,
               (size_t)shape.rank * sizeof(int64_t));
    if (attribute_size) {
        void *own = (void *)(uintptr_t)hm_node_attributes(node);
        memcpy(own, attributes, attribute_size);
        if (op->retain)
            op->retain(own);
    }
    *out = node;
    return HMATH_OK;
}

/* ------------------------------------------------- graphs under construction */

void hm_graph_open(hm_graph *g, hm_context *ctx)
{
    g->ctx = ctx;
    g->status = HMATH_OK;
    g->made = g->room;
    g->count = 0;
    g->capacity = HM_GRAPH_ROOM;
}

hm_status hm_graph_close(hm_graph *g, hm_node *const *results, int64_t n, hm_node **out)
{
    for (int64_t i = 0; g->status == HMATH_OK && i < n; i++)
        out[i] = hm_retain(results[i]);
    for (int64_t i = g->count;
         i-- > 0;) /* youngest first, so that few are left for each worklist */
        hm_release(g->made[i]);
    if (g->made != g->room)
        hm_free(g->made);
    return g->status;
}

hm_node *hm_graph_fail(hm_graph *g, hm_status st)
{
    if (g->status == HMATH_OK)
        g->status = st;
    return NULL;
}

static bool make_room(hm_graph *g)
{
    if (g->count < g->capacity)
        return true;
    size_t bytes = (size_t)g->capacity * 2 * sizeof(hm_node *);
    bool inside = g->made == g->room;
    hm_node **larger = inside ? hm_alloc(bytes) : hm_realloc(g->made, bytes);
    if (!larger)
        return false;
    if (inside)
        memcpy(larger, g->room, sizeof g->room);
    g->made = larger;
    g->capacity *= 2;
    return true;
}

hm_node *hm_graph_make(hm_graph *g, const hm_op *op, const void *attributes, size_t attribute_size,
                       hm_node *const *inputs, int32_t count)
{
    if (g->status != HMATH_OK)
        return NULL;
    for (int32_t i = 0; i < count; i++)
        if (!inputs[i])
            return NULL;
    if (!make_room(g))
        return hm_graph_fail(g, hm_fail_memory(g->ctx));
    hm_status st =
        hm_node_create(g->ctx, op, attributes, attribute_size, inputs, count, &g->made[g->count]);
    return st == HMATH_OK ? g->made[g->count++] : hm_graph_fail(g, st);
}

hm_node *hm_graph_make1(hm_graph *g, const hm_op *op, const void *attributes, size_t attribute_size,
                        hm_node *x)
{
    return hm_graph_make(g, op, attributes, attribute_size, &x, 1);
}

hm_node *hm_graph_make2(hm_graph *g, const hm_op *op, const void *attributes, size_t attribute_size,
                        hm_node *x, hm_node *y)
{
    return hm_graph_make(g, op, attributes, attribute_size, (hm_node *[]){x, y}, 2);
}
