/*
 * Token by token and all at once are the same: a transformer block decodes a sequence over the KV
 * cache, then sees the whole sequence in one go, and gives every row again to the last bit.
 *
 *     cc 03_decode.c $(python -m hmath --cflags --libs) -o decode && ./decode
 *
 * The block: x += heads(rotary(q), rotary(k), v) * out, with q, k, v from the RMS norm of x; then
 * x += feed_forward(rms_norm(x)). The next token is the largest of logits * x.
 */
#include <hmath_deeplearning.h>
#include <stdio.h>

enum { VOCABULARY = 50, WIDTH = 32, HEADS = 4, HIDDEN = 64, TOKENS = 24 };

/*
 * What a step makes is given back when the step is over. A failed call leaves NULL, and calls that
 * are given NULL fail, so that one look at `status` at the end is enough; the first failure is
 * printed.
 */
typedef struct scope {
    hmath_context *ctx;
    hmath_status status;
    int count;
    hmath_value *held[64];
} scope;

static hmath_value *hold(scope *s, hmath_status status, hmath_value *const *made)
{
    if (status != HMATH_OK && s->status == HMATH_OK) {
        s->status = status;
        const hmath_error *error = hmath_last_error(s->ctx);
        fprintf(stderr, "status %d: %s\n", status, error ? error->message : "no context");
    }
    if (status != HMATH_OK || s->count == 64)
        return NULL;
    return s->held[s->count++] = *made;
}

static void release_all(scope *s)
{
    while (s->count > 0)
        hmath_release(s->held[--s->count]);
}

/* Calls in the shape of formulas. */
static hmath_value *whole(scope *s, int64_t x)
{
    hmath_value *v = NULL;
    return hold(s, hmath_int_create(s->ctx, x, &v), &v);
}

static hmath_value *number(scope *s, double x)
{
    hmath_value *v = NULL;
    return hold(s, hmath_double_create(s->ctx, x, &v), &v);
}

static hmath_value *item(scope *s, const hmath_value *tuple, size_t i)
{
    hmath_value *v = NULL;
    return hold(s, hmath_tuple_item(s->ctx, tuple, i, &v), &v);
}

static hmath_value *add(scope *s, const hmath_value *a, const hmath_value *b)
{
    hmath_value *v = NULL;
    return hold(s, hmath_tensor_add(s->ctx, a, b, &v), &v);
}

static hmath_value *norm(scope *s, const hmath_value *x)
{
    hmath_value *v = NULL, *one = whole(s, 1), *epsilon = number(s, 1e-6);
    return hold(s, hmath_neural_layers_rms_norm(s->ctx, one, epsilon, x, &v), &v);
}

static hmath_value *rotate(scope *s, const hmath_value *x, int64_t position)
{
    hmath_value *v = NULL, *base = number(s, 10000.0), *offset = whole(s, position);
    return hold(s, hmath_neural_layers_rotary_embedding(s->ctx, base, offset, x, &v), &v);
}

typedef struct block {
    hmath_value *table, *logits;            /* (vocabulary, width) */
    hmath_value *query, *key, *value, *out; /* (width, width) */
    hmath_value *first, *second;            /* (hidden, width), (width, hidden) */
    hmath_value *zeros, *hidden_zeros;      /* biases */
    hmath_value *gelu;
} block;

static hmath_value *project(scope *s, const block *b, const hmath_value *x,
                            const hmath_value *weights)
{
    hmath_value *v = NULL;
    return hold(s, hmath_neural_layers_dense(s->ctx, x, weights, b->zeros, &v), &v);
}

/* The rows of `tokens`, which stand behind those in *cache; the cache grows by them. */
static hmath_value *run(scope *s, const block *b, const int64_t *tokens, int64_t count,
                        int64_t position, hmath_value **cache)
{
    hmath_context *ctx = s->ctx;
    hmath_value *indices = NULL, *x = NULL, *longer = NULL, *both = NULL, *mask = NULL;
    hmath_value *attended = NULL, *fed = NULL;
    hold(s, hmath_list_from_ints(ctx, tokens, (size_t)count, &indices), &indices);
    hold(s, hmath_neural_layers_embedding(ctx, b->table, indices, &x), &x);

    const hmath_value *normed = norm(s, x);
    const hmath_value *q = rotate(s, project(s, b, normed, b->query), position);
    const hmath_value *k = rotate(s, project(s, b, normed, b->key), position);
    const hmath_value *v = project(s, b, normed, b->value);
    hold(s, hmath_neural_layers_append_cache(ctx, *cache, k, v, &longer), &longer);
    hold(s, hmath_neural_layers_cache_values(ctx, longer, &both), &both);
    *cache = longer;

    const hmath_value *queries = whole(s, count), *keys = whole(s, position + count);
    const hmath_value *offset = whole(s, position), *heads = whole(s, HEADS);
    hold(s, hmath_neural_layers_causal_mask(ctx, queries, keys, offset, &mask), &mask);
    hold(s,
         hmath_neural_layers_multihead_attention(ctx, heads, q, item(s, both, 0), item(s, both, 1),
                                                 mask, &attended),
         &attended);
    x = add(s, x, project(s, b, attended, b->out));
    hold(s,
         hmath_neural_layers_transformer_feed_forward(ctx, b->gelu, norm(s, x), b->first,
                                                      b->hidden_zeros, b->second, b->zeros, &fed),
         &fed);
    return add(s, x, fed);
}

/* The token with the largest logit after the last row. */
static int64_t next_token(scope *s, const block *b, const hmath_value *x)
{
    const int64_t rows = x ? hmath_tensor_shape(x)[0] : 0;
    hmath_value *last = NULL, *logits = NULL, *unbiased = NULL;
    const double zero[VOCABULARY] = {0};
    hold(s,
         hmath_tensor_slice(s->ctx, x, (int64_t[]){rows - 1, 0}, (int64_t[]){rows, WIDTH},
                            (int64_t[]){1, 1}, &last),
         &last);
    hold(s, hmath_list_from_doubles(s->ctx, zero, VOCABULARY, &unbiased), &unbiased);
    hold(s, hmath_neural_layers_dense(s->ctx, last, b->logits, unbiased, &logits), &logits);
    int64_t best = 0;
    for (int64_t i = 1; logits && i < VOCABULARY; i++)
        if (hmath_tensor_data(logits)[i] > hmath_tensor_data(logits)[best])
            best = i;
    return best;
}

/* Weights by Xavier and Glorot; each draw hands on the generator's next state. */
static hmath_value *draw(scope *s, hmath_value **rng, int64_t rows, int64_t columns)
{
    hmath_value *method = NULL, *shape = NULL, *both = NULL;
    hold(s, hmath_neural_layers_xavier_uniform_create(s->ctx, &method), &method);
    hold(s, hmath_list_from_ints(s->ctx, (int64_t[]){rows, columns}, 2, &shape), &shape);
    hold(s,
         hmath_neural_layers_initialize_weights(s->ctx, method, whole(s, columns), whole(s, rows),
                                                shape, *rng, &both),
         &both);
    *rng = item(s, both, 1);
    return item(s, both, 0);
}

static hmath_value *zeros(scope *s, size_t n)
{
    const double zero[HIDDEN] = {0};
    hmath_value *v = NULL;
    return hold(s, hmath_list_from_doubles(s->ctx, zero, n, &v), &v);
}

static void make_block(scope *s, block *b)
{
    hmath_value *generator = NULL, *rng = NULL;
    hold(s, hmath_random_pcg64_create(s->ctx, 54, &generator), &generator);
    hold(s, hmath_random_seed(s->ctx, generator, 42, &rng), &rng);
    b->table = draw(s, &rng, VOCABULARY, WIDTH);
    b->logits = draw(s, &rng, VOCABULARY, WIDTH);
    b->query = draw(s, &rng, WIDTH, WIDTH);
    b->key = draw(s, &rng, WIDTH, WIDTH);
    b->value = draw(s, &rng, WIDTH, WIDTH);
    b->out = draw(s, &rng, WIDTH, WIDTH);
    b->first = draw(s, &rng, HIDDEN, WIDTH);
    b->second = draw(s, &rng, WIDTH, HIDDEN);
    b->zeros = zeros(s, WIDTH);
    b->hidden_zeros = zeros(s, HIDDEN);
    hold(s, hmath_neural_core_gelu_create(s->ctx, &b->gelu), &b->gelu);
}

static hmath_value *empty_cache(scope *s)
{
    hmath_value *v = NULL;
    const hmath_value *capacity = whole(s, TOKENS), *width = whole(s, WIDTH);
    return hold(s, hmath_neural_layers_empty_cache(s->ctx, capacity, width, width, &v), &v);
}

int main(void)
{
    hmath_context *ctx = NULL;
    if (hmath_context_create(NULL, &ctx) != HMATH_OK)
        return 1;
    scope model = {.ctx = ctx}, steps[TOKENS] = {{0}}, at_once = {.ctx = ctx};
    block b = {0};
    make_block(&model, &b);

    /* One token at a time. The rows stay to be compared with; everything else of a step could go.
     */
    int64_t tokens[TOKENS + 1] = {7};
    hmath_value *rows[TOKENS] = {NULL}, *cache = empty_cache(&model);
    hmath_status status = model.status;
    for (int t = 0; t < TOKENS && status == HMATH_OK; t++) {
        steps[t].ctx = ctx;
        rows[t] = run(&steps[t], &b, &tokens[t], 1, t, &cache);
        tokens[t + 1] = next_token(&steps[t], &b, rows[t]);
        printf("%lld ", (long long)tokens[t + 1]);
        status = steps[t].status;
    }
    printf("\n");

    /* The same sequence in one call a layer. */
    int different = 0;
    if (status == HMATH_OK) {
        cache = empty_cache(&at_once);
        const hmath_value *x = run(&at_once, &b, tokens, TOKENS, 0, &cache);
        status = at_once.status;
        for (int t = 0; t < TOKENS && status == HMATH_OK; t++)
            for (int i = 0; i < WIDTH; i++)
                different += hmath_tensor_data(x)[t * WIDTH + i] != hmath_tensor_data(rows[t])[i];
    }
    if (status == HMATH_OK)
        printf("%d rows, %d numbers differ\n", TOKENS, different);

    release_all(&at_once);
    for (int t = 0; t < TOKENS; t++)
        release_all(&steps[t]);
    release_all(&model);
    const int leaked = hmath_live_values() != 0;
    hmath_context_destroy(ctx);
    return status != HMATH_OK || different || leaked;
}
