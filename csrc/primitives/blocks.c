/*
 * The cotangent of a tensor that was taken apart block by block, a recurrent network's rows for instance:
 * each block's cotangent is added where it belongs. A sum of as many whole tensors, all but a block of each
 * zero, has the same bits and costs the square of it.
 *
 * The same bits down to the sign of zero: x + 0 is x but for -0 + 0 = +0. So where at least one part has
 * nothing to say, the sum begins with +0, and where all of them meet with -0, which adds nothing.
 */
#include "primitives/blocks.h"

#include <math.h>
#include <string.h>

#include "primitives/index.h"
#include "primitives/primitives.h"
#include "runtime/alloc.h"
#include "runtime/checked.h"

/* Attributes: the shape of the whole, then one block for each input. */
static const hm_block *blocks_of(const hm_node *node)
{
    const hm_shape *whole = hm_node_attributes(node);
    return (const hm_block *)(const void *)(whole + 1);
}

/* ------------------------------------------------- the rows of a block */

/* What lies side by side in the whole, too: `count` rows of `length` elements. */
typedef struct rows {
    const hm_block *block;
    int64_t stride[HM_MAX_RANK]; /* of the whole */
    int32_t axes;                /* that count the rows */
    int64_t count, length;
} rows;

static rows rows_of(const hm_block *block, const hm_shape *whole)
{
    rows r = {.block = block, .axes = whole->rank, .length = 1};
    bool full = true;
    hm_shape_strides(whole, r.stride);
    while (r.axes > 0 && full) {
        r.axes--;
        r.length *= block->part.extent[r.axes];
        full = block->part.extent[r.axes] == whole->extent[r.axes];
    }
    r.count = hm_shape_span(&block->part, 0, r.axes);
    return r;
}

static int64_t row_start(const rows *r, int64_t row)
{
    int64_t at = 0;
    for (int32_t i = r->block->part.rank; i-- > 0;) {
        at += r->block->start[i] * r->stride[i];
        if (i >= r->axes)
            continue;
        at += row % r->block->part.extent[i] * r->stride[i];
        row /= r->block->part.extent[i];
    }
    return at;
}

/* False where a sum is no double. */
static bool add_block(const rows *r, const double *part, double *whole)
{
    bool finite = true;
    for (int64_t k = 0; k < r->count; k++, part += r->length) {
        double *to = whole + row_start(r, k);
        for (int64_t j = 0; j < r->length; j++) {
            to[j] += part[j];
            finite &= isfinite(to[j]) != 0;
        }
    }
    return finite;
}

/* ------------------------------------------------- where all blocks meet */

/* False where they do not. */
static bool intersect(const hm_block *blocks, int64_t n, hm_block *common)
{
    *common = blocks[0];
    for (int64_t b = 1; b < n; b++)
        for (int32_t i = 0; i < common->part.rank; i++) {
            const hm_block *next = &blocks[b];
            const int64_t end = common->start[i] + common->part.extent[i];
            const int64_t next_end = next->start[i] + next->part.extent[i];
            if (next->start[i] > common->start[i])
                common->start[i] = next->start[i];
            common->part.extent[i] = (next_end < end ? next_end : end) - common->start[i];
            if (common->part.extent[i] <= 0)
                return false;
        }
    return true;
}

static void fill_negative_zero(const rows *r, double *whole)
{
    for (int64_t k = 0; k < r->count; k++) {
        double *to = whole + row_start(r, k);
        for (int64_t j = 0; j < r->length; j++)
            to[j] = -0.0;
    }
}

/* ------------------------------------------------- the op */

static hm_status add_blocks_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                                  const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = *(const hm_shape *)attributes;
    return HMATH_OK;
}

static hm_status add_blocks_run(const hm_run *run)
{
    const hm_shape whole = hm_node_shape(run->node);
    const hm_block *blocks = blocks_of(run->node);
    hm_block common;
    if (run->node->size)
        memset(run->output, 0, (size_t)run->node->size * sizeof(double));
    if (intersect(blocks, run->node->count, &common)) {
        rows r = rows_of(&common, &whole);
        fill_negative_zero(&r, run->output);
    }
    bool finite = true;
    for (int32_t i = 0; i < run->node->count; i++) {
        rows r = rows_of(&blocks[i], &whole);
        finite &= add_block(&r, run->inputs[i], run->output);
    }
    return finite ? HMATH_OK : hm_fail_overflow(run->ctx);
}

static void add_blocks_reverse(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                               hm_node **cotangents)
{
    const hm_block *blocks = blocks_of(node);
    for (int32_t i = 0; i < node->count; i++) {
        hm_slicing slicing = {.part = blocks[i].part};
        memcpy(slicing.start, blocks[i].start, sizeof slicing.start);
        for (int32_t k = 0; k < node->rank; k++)
            slicing.step[k] = 1;
        if (wanted[i])
            cotangents[i] = hm_ad_slice(g, cotangent, &slicing);
    }
}

const hm_op hm_op_add_blocks = {.name = "autodiff.add_blocks",
                                .arity = HM_VARIADIC,
                                .flags = HM_OP_LINEAR,
                                .shape = add_blocks_shape,
                                .run = add_blocks_run,
                                .reverse = add_blocks_reverse};

/* ------------------------------------------------- making it */

bool hm_is_block(const hm_node *node)
{
    hm_block block;
    return hm_unsliced_block(node, &block);
}

/* `count` inputs: the sum so far, as a block that is the whole, and the parts. */
static hm_node *make(hm_graph *g, hm_node *sum, hm_node *const *blocks, int64_t n,
                     hm_shape *attributes, size_t bytes, hm_node **inputs)
{
    hm_block *block = (hm_block *)(void *)(attributes + 1);
    int32_t count = 0;
    const hm_shape whole = hm_node_shape(blocks[0]);
    memset(attributes, 0, bytes); /* two equal nodes have every byte in common */
    *attributes = hm_shape_as_attribute(&whole);
    if (sum) {
        block[count].part = *attributes;
        inputs[count++] = sum;
    }
    for (int64_t i = 0; i < n; i++) {
        hm_unsliced_block(blocks[i], &block[count]);
        inputs[count++] = blocks[i]->inputs[0];
    }
    return hm_graph_make(g, &hm_op_add_blocks, attributes, bytes, inputs, count);
}

hm_node *hm_ad_add_blocks(hm_graph *g, hm_node *sum, hm_node *const *blocks, int64_t n)
{
    const int64_t count = n + (sum != NULL);
    size_t bytes;
    if (g->status != HMATH_OK)
        return NULL;
    if (count > INT32_MAX || !hm_bytes(sizeof(hm_shape), (size_t)count, sizeof(hm_block), &bytes))
        return hm_graph_fail(g, hm_fail_memory(g->ctx));
    hm_shape *attributes = hm_alloc(bytes);
    hm_node **inputs = hm_alloc((size_t)count * sizeof *inputs), *made = NULL;
    if (attributes && inputs)
        made = make(g, sum, blocks, n, attributes, bytes, inputs);
    else
        hm_graph_fail(g, hm_fail_memory(g->ctx));
    hm_free(attributes);
    hm_free(inputs);
    return made;
}
