/*
 * Scaled dot-product attention (Vaswani et al. 2017), by blocks of queries: the scores of a block,
 * the softmax of its rows, and their product with the values follow one another while the block's
 * rows are in the cache. Where the weights are a result they are computed in place; else a block
 * has room for its own. Keys are packed for the product a tile at a time.
 *
 * Masked keys are no terms of anything, however large: what their scores come to is never looked
 * at.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "neural/layers/check.h"
#include "neural/layers/layers.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/extent.h"
#include "tensor/reduce.h"

enum {
    BLOCK = 64,           /* queries */
    SCORES = 1 << 19,     /* most scores of a block that has room of its own */
    TILE = 1 << 18,       /* doubles of packed keys: 2 MB */
    DEPTH = 256,          /* of a product, at a time */
    SERIAL = 48 * 48 * 48 /* multiplications that stay on the caller's thread */
};

/* One thread's room, and whose keys are packed in it. */
typedef struct slot {
    atomic_flag busy;
    int64_t head, first_key;
    double *keys, *scores;
} slot;

typedef struct attention {
    const hm_kernels *kernels;
    int64_t heads, queries, keys;
    int64_t key_width, value_width; /* of one head */
    const double *query, *key, *value;
    double scale;
    const uint8_t *mask; /* queries x keys, or NULL */
    const double *bias;  /* likewise */
    double *weights;     /* a result, or NULL */
    double *out;
    int64_t block, blocks, tile; /* queries of a block, blocks of a head, keys of a tile */
    slot slots[HM_POOL_THREADS];
    atomic_bool spoiled;
} attention;

static void spoil(attention *a) { atomic_store_explicit(&a->spoiled, true, memory_order_relaxed); }

/* ------------------------------------------------- softmax of a row of any length */

typedef struct long_row {
    const hm_softmax_kernels *kernels;
    double *x;
    const uint8_t *allowed;
    double most;
} long_row;

static void exponential_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const long_row *r = job;
    const hm_exp_sum sum = r->allowed
                               ? r->kernels->masked_exponentials(r->x + first, r->allowed + first,
                                                                 n, r->most, r->x + first)
                               : r->kernels->exponentials(r->x + first, n, r->most, r->x + first);
    *out = (hm_partial){{sum.high, sum.low}};
}

static const hm_reduction exponentials = {exponential_block, hm_join_exp_sums};

void hm_masked_softmax_row(const hm_kernels *k, double *x, const uint8_t *allowed, int64_t n)
{
    if (n <= HM_BLOCK) {
        if (allowed)
            k->softmax->masked(x, allowed, n, x);
        else
            k->softmax->softmax(x, 1, n, x);
        return;
    }
    long_row row = {k->softmax, x, allowed, 0};
    row.most = allowed ? k->softmax->masked_maximum(x, allowed, n) : k->reduce->maximum(x, n);
    if (row.most == -INFINITY) {
        memset(x, 0, (size_t)n * sizeof *x);
        return;
    }
    hm_partial sum;
    hm_reduce_here(&exponentials, &row, n, &sum);
    k->softmax->scale(x, n, 1.0 / (sum.of[0] + sum.of[1]), x);
}

/* ------------------------------------------------- a block of queries */

/* The keys up to the last that some query of the block may see. */
static int64_t seen_keys(const attention *a, int64_t first, int64_t rows)
{
    if (!a->mask)
        return a->keys;
    int64_t end = 0;
    for (int64_t i = first; i < first + rows; i++) {
        const uint8_t *allowed = a->mask + i * a->keys;
        int64_t j = a->keys;
        while (j > end && !allowed[j - 1])
            j--;
        end = j;
    }
    return end;
}

static void pack_keys(const attention *a, slot *s, int64_t head, int64_t first, int64_t count)
{
    if (s->head == head && s->first_key == first)
        return;
    const int64_t row = a->heads * a->key_width;
    const hm_contract_kernels *k = a->kernels->contract;
    k->pack_right(a->key_width, count, a->key + first * row + head * a->key_width, 1, row, s->keys,
                  a->key_width * k->tile_columns);
    s->head = head;
    s->first_key = first;
}

/* Dot products of the block's queries with keys 0 ... end-1. */
static void dot_products(const attention *a, slot *s, int64_t head, int64_t first, int64_t rows,
                         int64_t end, double *scores)
{
    const hm_contract_kernels *k = a->kernels->contract;
    const int64_t row = a->heads * a->key_width, at = head * a->key_width;
    const double *query = a->query + first * row + at;
    if (a->queries <= k->dot_rows) { /* too few to pack keys for */
        k->dot(rows, end, a->key_width, query, row, a->key + at, row, scores, a->keys, NULL, NULL);
        return;
    }
    for (int64_t j = 0; j < end; j += a->tile) {
        pack_keys(a, s, head, j, hm_least(a->tile, a->keys - j));
        hm_contract_block b = {.rows = rows,
                               .columns = hm_least(a->tile, end - j),
                               .left_row = row,
                               .left_step = 1,
                               .right_panel = a->key_width * k->tile_columns,
                               .right_step = k->tile_columns,
                               .out = scores + j,
                               .out_row = a->keys};
        for (int64_t d = 0; d < a->key_width; d += DEPTH) {
            b.depth = hm_least(DEPTH, a->key_width - d);
            b.left = query + d;
            b.right = s->keys + d * k->tile_columns;
            b.first = d == 0;
            b.last = d + b.depth == a->key_width;
            k->block(&b);
        }
    }
}

/* The weights' product with values 0 ... end-1. */
static void weigh_values(attention *a, int64_t head, int64_t first, int64_t rows, int64_t end,
                         const double *weights)
{
    const hm_contract_kernels *k = a->kernels->contract;
    const int64_t row = a->heads * a->value_width, at = head * a->value_width;
    double *out = a->out + first * row + at;
    if (end == 0)
        for (int64_t i = 0; i < rows; i++)
            memset(out + i * row, 0, (size_t)a->value_width * sizeof *out);
    const int64_t depth = rows <= 8 ? 32 : 64; /* as tensor/contract.c measured it */
    hm_contract_block b = {.rows = rows,
                           .columns = a->value_width,
                           .left_row = a->keys,
                           .left_step = 1,
                           .right_panel = k->tile_columns,
                           .right_step = row,
                           .out = out,
                           .out_row = row};
    for (int64_t j = 0; j < end; j += depth) {
        b.depth = hm_least(depth, end - j);
        b.left = weights + j;
        b.right = a->value + j * row + at;
        b.first = j == 0;
        b.last = j + b.depth == end;
        if (!k->block(&b))
            spoil(a);
    }
}

static void attend(attention *a, slot *s, int64_t unit)
{
    const int64_t head = unit / a->blocks, first = unit % a->blocks * a->block;
    const int64_t rows = hm_least(a->block, a->queries - first), end = seen_keys(a, first, rows);
    double *scores = a->weights ? a->weights + first * a->keys : s->scores;
    dot_products(a, s, head, first, rows, end, scores);
    for (int64_t i = 0; i < rows; i++) {
        double *x = scores + i * a->keys;
        const int64_t beside = (first + i) * a->keys;
        const uint8_t *allowed = a->mask ? a->mask + beside : NULL;
        if (a->kernels->attention->scores(x, end, a->scale, a->bias ? a->bias + beside : NULL,
                                          allowed))
            hm_masked_softmax_row(a->kernels, x, allowed, end);
        else
            spoil(a);
        memset(x + end, 0, (size_t)(a->keys - end) * sizeof *x);
    }
    weigh_values(a, head, first, rows, end, scores);
}

/* No more bodies run at once than there are slots, so that one is always free. */
static void attend_unit(void *task, int64_t unit)
{
    attention *a = task;
    slot *s = a->slots;
    while (atomic_flag_test_and_set_explicit(&s->busy, memory_order_acquire))
        s++;
    attend(a, s, unit);
    atomic_flag_clear_explicit(&s->busy, memory_order_release);
}

/* ------------------------------------------------- the whole */

static hm_status run(hm_context *ctx, attention *a)
{
    if (a->queries == 0)
        return HMATH_OK;
    a->kernels = hm_context_kernels(ctx);
    const int64_t width = a->kernels->contract->tile_columns;
    a->block = hm_most(8, hm_least(BLOCK, a->weights ? BLOCK : SCORES / a->keys));
    a->blocks = hm_ceiling(a->queries, a->block);
    a->tile =
        hm_most(width, hm_least(hm_round_up(a->keys, width), TILE / a->key_width / width * width));
    const int64_t units = a->heads * a->blocks;
    const double work = (double)a->heads * (double)a->queries * (double)a->keys *
                        (double)(a->key_width + a->value_width);
    const int64_t threads = work < SERIAL ? 1 : hm_least(units, hm_context_threads(ctx));

    const bool packs = a->queries > a->kernels->contract->dot_rows;
    const size_t keys = packs ? (size_t)(a->tile * a->key_width) : 0;
    const size_t scores = a->weights ? 0 : (size_t)(a->block * a->keys);
    double *room = NULL;
    hm_status st = hm_scratch_create(ctx, (size_t)threads * (keys + scores), sizeof *room, &room);
    if (st != HMATH_OK)
        return st;
    for (int64_t i = 0; i < threads; i++) {
        slot *s = &a->slots[i];
        atomic_flag_clear(&s->busy);
        s->head = -1;
        s->keys = room + (size_t)i * (keys + scores);
        s->scores = s->keys + keys;
    }
    if (threads > 1)
        hm_parallel_for(ctx, units, attend_unit, a);
    else
        for (int64_t unit = 0; unit < units; unit++)
            attend(a, a->slots, unit);
    hm_scratch_release(ctx, room);
    return atomic_load(&a->spoiled) ? hm_fail_overflow(ctx) : HMATH_OK;
}

/* ------------------------------------------------- checks */

/* A matrix beside the scores. One without rows has no columns to compare. */
static hm_status check_beside(hm_context *ctx, const char *argument, int64_t rows, int64_t columns,
                              int64_t queries, int64_t keys)
{
    if (rows == queries && (columns == keys || rows == 0))
        return HMATH_OK;
    const hm_shape expected = {.rank = 2, .extent = {queries, keys}};
    const hm_shape actual = {.rank = 2, .extent = {rows, columns}};
    return hm_fail_shapes(ctx, argument, &expected, &actual);
}

static hm_status check_shapes(hm_context *ctx, const hm_tensor *query, const hm_tensor *key,
                              const hm_tensor *value)
{
    hm_status st;
    if ((st = hm_check_rank(ctx, "query", &query->shape, 2)) != HMATH_OK ||
        (st = hm_check_rank(ctx, "key", &key->shape, 2)) != HMATH_OK ||
        (st = hm_check_rank(ctx, "value", &value->shape, 2)) != HMATH_OK ||
        (st = hm_check_length(ctx, "key", key->shape.extent[1], query->shape.extent[1])) !=
            HMATH_OK)
        return st;
    return hm_check_length(ctx, "value", value->shape.extent[0], key->shape.extent[0]);
}

static hm_status check_mask(hm_context *ctx, const hm_bool_rows *mask, int64_t queries,
                            int64_t keys)
{
    if (!mask)
        return HMATH_OK;
    hm_status st = hm_check_bool_matrix(ctx, "mask", mask);
    return st != HMATH_OK ? st
                          : check_beside(ctx, "mask", mask->rows, mask->columns, queries, keys);
}

static hm_status check_bias(hm_context *ctx, const hm_double_rows *bias, int64_t queries,
                            int64_t keys)
{
    if (!bias)
        return HMATH_OK;
    hm_status st = hm_check_matrix(ctx, "bias", bias);
    return st != HMATH_OK ? st
                          : check_beside(ctx, "bias", bias->rows, bias->columns, queries, keys);
}

/* Step 4: a query needs a key, and a score a feature to be scaled by the root of their number. */
static hm_status check_some(hm_context *ctx, const hm_tensor *query, const hm_tensor *key)
{
    if (query->shape.extent[0] == 0)
        return HMATH_OK;
    if (key->shape.extent[0] == 0)
        return hm_fail_empty(ctx, "key");
    return query->shape.extent[1] == 0 ? hm_fail_empty(ctx, "query") : HMATH_OK;
}

static hm_status check_elements(hm_context *ctx, const hm_tensor *query, const hm_tensor *key,
                                const hm_tensor *value, const hm_double_rows *bias)
{
    hm_status st;
    if ((st = hm_check_tensor_finite(ctx, "query", query)) != HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "key", key)) != HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "value", value)) != HMATH_OK || !bias)
        return st;
    const hm_tensor *tensor = hm_tensor_from_value(bias->source);
    return tensor ? hm_check_tensor_finite(ctx, "bias", tensor)
                  : hm_check_finite(ctx, "bias", bias->data, bias->rows * bias->columns);
}

static void describe(attention *a, int64_t heads, const hm_tensor *query, const hm_tensor *key,
                     const hm_tensor *value, const hm_bool_rows *mask)
{
    a->heads = heads;
    a->queries = query->shape.extent[0];
    a->keys = key->shape.extent[0];
    a->key_width = query->shape.extent[1] / heads;
    a->value_width = value->shape.extent[1] / heads;
    a->query = query->data;
    a->key = key->data;
    a->value = value->data;
    a->scale = 1.0 / sqrt((double)a->key_width);
    a->mask = mask ? mask->data : NULL;
}

hm_status hm_scaled_dot_product_attention(hm_context *ctx, const hm_tensor *query,
                                          const hm_tensor *key, const hm_tensor *value,
                                          const hm_bool_rows *mask, const hm_double_rows *bias,
                                          hm_tensor **out, hm_tensor **weights)
{
    const int64_t queries = query->shape.extent[0], keys = key->shape.extent[0];
    hm_status st;
    if ((st = check_shapes(ctx, query, key, value)) != HMATH_OK ||
        (st = check_mask(ctx, mask, queries, keys)) != HMATH_OK ||
        (st = check_bias(ctx, bias, queries, keys)) != HMATH_OK ||
        (st = check_some(ctx, query, key)) != HMATH_OK ||
        (st = check_elements(ctx, query, key, value, bias)) != HMATH_OK)
        return st;

    const hm_shape out_shape = {.rank = 2, .extent = {queries, value->shape.extent[1]}};
    const hm_shape weights_shape = {.rank = 2, .extent = {queries, keys}};
    hm_tensor *attended = NULL, *weighed = NULL;
    if ((st = hm_tensor_create(ctx, &out_shape, &attended)) != HMATH_OK ||
        (st = hm_tensor_create(ctx, &weights_shape, &weighed)) != HMATH_OK)
        goto done;
    attention a = {
        .bias = bias ? bias->data : NULL, .weights = weighed->data, .out = attended->data};
    describe(&a, 1, query, key, value, mask);
    if ((st = run(ctx, &a)) != HMATH_OK)
        goto done;
    atomic_init(&attended->known_finite, true);
    atomic_init(&weighed->known_finite, true);
    *out = attended;
    *weights = weighed;
    attended = weighed = NULL;
done:
    hm_release(attended);
    hm_release(weighed);
    return st;
}

hm_status hm_multihead_attention(hm_context *ctx, int64_t heads, const hm_tensor *query,
                                 const hm_tensor *key, const hm_tensor *value,
                                 const hm_bool_rows *mask, hm_tensor **out)
{
    const int64_t queries = query->shape.extent[0];
    hm_status st;
    if ((st = hm_check_at_least_one(ctx, "heads", heads)) != HMATH_OK ||
        (st = check_shapes(ctx, query, key, value)) != HMATH_OK ||
        (st = hm_check_divides(ctx, "heads", heads, query->shape.extent[1], "query features")) !=
            HMATH_OK ||
        (st = hm_check_divides(ctx, "heads", heads, value->shape.extent[1], "value features")) !=
            HMATH_OK ||
        (st = check_mask(ctx, mask, queries, key->shape.extent[0])) != HMATH_OK ||
        (st = check_some(ctx, query, key)) != HMATH_OK ||
        (st = check_elements(ctx, query, key, value, NULL)) != HMATH_OK)
        return st;

    const hm_shape shape = {.rank = 2, .extent = {queries, value->shape.extent[1]}};
    hm_tensor *attended = NULL;
    if ((st = hm_tensor_create(ctx, &shape, &attended)) != HMATH_OK)
        return st;
    attention a = {.out = attended->data};
    describe(&a, heads, query, key, value, mask);
    if ((st = run(ctx, &a)) != HMATH_OK) {
        hm_release(attended);
        return st;
    }
    atomic_init(&attended->known_finite, true);
    *out = attended;
    return HMATH_OK;
}
