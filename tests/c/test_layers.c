/*
 * deeplearning_layers through its wrappers: one sample call a wrapper, put through everything that
 * every wrapper has to stand. Instruction sets and threads change no bit; running out of memory at
 * any allocation loses nothing; a null or a wrong kind is noticed before anything else.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"
#include "hmath_deeplearning.h"
#include "kernels/kernels.h"
#include "runtime/alloc.h"

static hmath_context *ctx;

/* ------------------------------------------------- values */

static uint64_t random_state = 7;

static double next_number(void) /* in [-1, 1), of 53 bits */
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (double)(int64_t)(z ^ z >> 31) * 0x1p-63;
}

static hmath_value *number(double x)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_double_create(ctx, x, &v), HMATH_OK);
    return v;
}

static hmath_value *whole(int64_t x)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_int_create(ctx, x, &v), HMATH_OK);
    return v;
}

static hmath_value *wholes(size_t n, const int64_t *x)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_list_from_ints(ctx, x, n, &v), HMATH_OK);
    return v;
}

#define WHOLES(...) \
    wholes(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static hmath_value *random_list(size_t n)
{
    double *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = next_number();
    hmath_value *v = NULL;
    CHECK_INT(hmath_list_from_doubles(ctx, x, n, &v), HMATH_OK);
    free(x);
    return v;
}

static hmath_value *positive_list(size_t n)
{
    double *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = 1.5 + next_number();
    hmath_value *v = NULL;
    CHECK_INT(hmath_list_from_doubles(ctx, x, n, &v), HMATH_OK);
    free(x);
    return v;
}

static hmath_value *random_tensor(int32_t rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int32_t i = 0; i < rank; i++)
        n *= shape[i];
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    for (int64_t i = 0; i < n; i++)
        x[i] = next_number();
    hmath_value *v = NULL;
    CHECK_INT(hmath_tensor_create(ctx, rank, shape, x, &v), HMATH_OK);
    free(x);
    return v;
}

#define TENSOR(...) \
    random_tensor(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static hmath_value *random_rows(size_t rows, size_t columns)
{
    double *x = malloc(rows * columns * sizeof *x);
    for (size_t i = 0; i < rows * columns; i++)
        x[i] = next_number();
    hmath_value *v = NULL;
    CHECK_INT(hmath_rows_from_doubles(ctx, x, rows, columns, &v), HMATH_OK);
    free(x);
    return v;
}

static hmath_value *random_mask(size_t rows, size_t columns)
{
    uint8_t *x = malloc(rows * columns);
    for (size_t i = 0; i < rows * columns; i++)
        x[i] = i / columns != 1 && next_number() > -0.5; /* row 1 sees nothing */
    hmath_value *v = NULL;
    CHECK_INT(hmath_rows_from_bools(ctx, x, rows, columns, &v), HMATH_OK);
    free(x);
    return v;
}

static hmath_value *conv_options(hmath_value *stride, hmath_value *padding, hmath_value *dilation,
                                 int64_t groups)
{
    hmath_value *count = whole(groups), *v = NULL;
    CHECK_INT(hmath_neural_layers_conv_options_create(ctx, stride, padding, dilation, count, &v),
              HMATH_OK);
    hmath_release(stride);
    hmath_release(padding);
    hmath_release(dilation);
    hmath_release(count);
    return v;
}

static hmath_value *norm_state(size_t channels)
{
    hmath_value *mean = random_list(channels), *variance = positive_list(channels);
    hmath_value *seen = whole(3), *v = NULL;
    CHECK_INT(hmath_neural_layers_batch_norm_state_create(ctx, mean, variance, seen, &v), HMATH_OK);
    hmath_release(mean);
    hmath_release(variance);
    hmath_release(seen);
    return v;
}

static hmath_value *selector(hmath_status (*create)(hmath_context *, hmath_value **))
{
    hmath_value *v = NULL;
    CHECK_INT(create(ctx, &v), HMATH_OK);
    return v;
}

static hmath_value *filled_cache(int64_t rows)
{
    hmath_value *capacity = whole(100), *width = whole(5), *empty = NULL, *v = NULL;
    CHECK_INT(hmath_neural_layers_empty_cache(ctx, capacity, width, width, &empty), HMATH_OK);
    hmath_value *key = TENSOR(rows, 5), *value = TENSOR(rows, 5);
    CHECK_INT(hmath_neural_layers_append_cache(ctx, empty, key, value, &v), HMATH_OK);
    hmath_release(capacity);
    hmath_release(width);
    hmath_release(empty);
    hmath_release(key);
    hmath_release(value);
    return v;
}

/* ------------------------------------------------- digests: FNV-1a over everything a result shows
 */

static uint64_t mix(uint64_t digest, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ ((const unsigned char *)data)[i]) * 0x100000001b3;
    return digest;
}

static uint64_t digest_of(const hmath_value *v, uint64_t digest);

static uint64_t digest_list(const hmath_value *v, uint64_t digest)
{
    const double *doubles;
    const int64_t *ints;
    const uint8_t *bools;
    size_t n, columns;
    if (hmath_list_doubles(v, &doubles, &n) == HMATH_OK)
        return mix(digest, doubles, n * sizeof *doubles);
    if (hmath_list_ints(v, &ints, &n) == HMATH_OK)
        return mix(digest, ints, n * sizeof *ints);
    if (hmath_rows_doubles(v, &doubles, &n, &columns) == HMATH_OK)
        return mix(digest, doubles, n * columns * sizeof *doubles);
    if (hmath_rows_bools(v, &bools, &n, &columns) == HMATH_OK)
        return mix(digest, bools, n * columns);
    CHECK_TEXT("a list of no known kind", NULL);
    return digest;
}

/* What a reader of the record or the cache gives. */
static uint64_t digest_part(hmath_status (*read)(hmath_context *, const hmath_value *,
                                                 hmath_value **),
                            const hmath_value *v, uint64_t digest)
{
    hmath_value *part = NULL;
    CHECK_INT(read(ctx, v, &part), HMATH_OK);
    digest = digest_of(part, digest);
    hmath_release(part);
    return digest;
}

static uint64_t digest_of(const hmath_value *v, uint64_t digest)
{
    int64_t integer;
    double real;
    const int32_t kind = hmath_kind(v);
    digest = mix(digest, &kind, sizeof kind);
    switch (kind) {
    case HMATH_KIND_INT:
        CHECK_INT(hmath_int_get(v, &integer), HMATH_OK);
        return mix(digest, &integer, sizeof integer);
    case HMATH_KIND_DOUBLE:
        CHECK_INT(hmath_double_get(v, &real), HMATH_OK);
        return mix(digest, &real, sizeof real);
    case HMATH_KIND_TENSOR_DOUBLE:
        digest = mix(digest, hmath_tensor_shape(v), (size_t)hmath_tensor_rank(v) * sizeof(int64_t));
        return mix(digest, hmath_tensor_data(v), (size_t)hmath_tensor_size(v) * sizeof(double));
    case HMATH_KIND_LIST: return digest_list(v, digest);
    case HMATH_KIND_TUPLE:
        for (size_t i = 0; i < (size_t)hmath_tuple_length(v); i++) {
            hmath_value *item = NULL;
            CHECK_INT(hmath_tuple_item(ctx, v, i, &item), HMATH_OK);
            digest = digest_of(item, digest);
            hmath_release(item);
        }
        return digest;
    case HMATH_KIND_BATCH_NORM_STATE:
        digest = digest_part(hmath_neural_layers_running_mean, v, digest);
        digest = digest_part(hmath_neural_layers_running_variance, v, digest);
        return digest_part(hmath_neural_layers_batches_seen, v, digest);
    case HMATH_KIND_CONV_OPTIONS:
        digest = digest_part(hmath_neural_layers_convolution_stride, v, digest);
        digest = digest_part(hmath_neural_layers_convolution_padding, v, digest);
        digest = digest_part(hmath_neural_layers_convolution_dilation, v, digest);
        return digest_part(hmath_neural_layers_convolution_groups, v, digest);
    case HMATH_KIND_KV_CACHE: return digest_part(hmath_neural_layers_cache_values, v, digest);
    default: return digest;
    }
}

/* ------------------------------------------------- samples */

enum { MOST_ARGUMENTS = 7 };

typedef hmath_value *out;
typedef const hmath_value *in;
typedef struct sample {
    const char *name;
    int count;
    union {
        hmath_status (*f1)(hmath_context *, in, out *);
        hmath_status (*f2)(hmath_context *, in, in, out *);
        hmath_status (*f3)(hmath_context *, in, in, in, out *);
        hmath_status (*f4)(hmath_context *, in, in, in, in, out *);
        hmath_status (*f5)(hmath_context *, in, in, in, in, in, out *);
        hmath_status (*f6)(hmath_context *, in, in, in, in, in, in, out *);
        hmath_status (*f7)(hmath_context *, in, in, in, in, in, in, in, out *);
    } call;
    hmath_value *argument[MOST_ARGUMENTS];
    int optional; /* bit i: argument i is a Maybe */
} sample;

static hmath_status apply(hmath_context *c, const sample *s, hmath_value *const a[], out *o)
{
    switch (s->count) {
    case 1: return s->call.f1(c, a[0], o);
    case 2: return s->call.f2(c, a[0], a[1], o);
    case 3: return s->call.f3(c, a[0], a[1], a[2], o);
    case 4: return s->call.f4(c, a[0], a[1], a[2], a[3], o);
    case 5: return s->call.f5(c, a[0], a[1], a[2], a[3], a[4], o);
    case 6: return s->call.f6(c, a[0], a[1], a[2], a[3], a[4], a[5], o);
    default: return s->call.f7(c, a[0], a[1], a[2], a[3], a[4], a[5], a[6], o);
    }
}

enum { MOST_SAMPLES = 64 };

static sample samples[MOST_SAMPLES];
static int sample_count;

#define SAMPLE(n, function, maybe, ...) \
    samples[sample_count++] = (sample) \
    { \
        .name = #function, .count = n, .call.f##n = hmath_neural_layers_##function, \
        .argument = {__VA_ARGS__}, .optional = maybe \
    }

/* Shapes that no vector and no tile divides, large enough to be shared among threads. */
static void make_samples(void)
{
    hmath_value *(*const s)(hmath_status(*)(hmath_context *, hmath_value **)) = selector;
    SAMPLE(1, orthogonal_create, 0, number(2.0));
    SAMPLE(3, truncated_normal_create, 0, number(0.0), number(1.0), number(2.0));
    SAMPLE(4, conv_options_create, 0, WHOLES(1, 2), WHOLES(3), WHOLES(4), whole(5));
    SAMPLE(1, convolution_stride, 0, conv_options(WHOLES(7), WHOLES(1), WHOLES(1), 1));
    SAMPLE(1, convolution_padding, 0, conv_options(WHOLES(7), WHOLES(1), WHOLES(1), 1));
    SAMPLE(1, convolution_dilation, 0, conv_options(WHOLES(7), WHOLES(1), WHOLES(1), 1));
    SAMPLE(1, convolution_groups, 0, conv_options(WHOLES(7), WHOLES(1), WHOLES(1), 9));
    SAMPLE(3, batch_norm_state_create, 0, random_list(3), TENSOR(3), whole(1));
    SAMPLE(1, running_mean, 0, norm_state(3));
    SAMPLE(1, running_variance, 0, norm_state(3));
    SAMPLE(1, batches_seen, 0, norm_state(3));

    SAMPLE(3, dense, 0, TENSOR(3, 23, 57), TENSOR(41, 57), random_list(41));
    SAMPLE(3, dense, 0, TENSOR(1, 130), TENSOR(67, 130), TENSOR(67));
    SAMPLE(6, transformer_feed_forward, 0, s(hmath_neural_core_gelu_create), TENSOR(70, 33),
           TENSOR(50, 33), random_list(50), TENSOR(21, 50), random_list(21));

    SAMPLE(4, convolution, 0, conv_options(WHOLES(1, 1), WHOLES(1, 1), WHOLES(1, 1), 1),
           TENSOR(3, 5, 13, 17), TENSOR(9, 5, 3, 3), random_list(9));
    SAMPLE(4, convolution, 0, conv_options(WHOLES(2), WHOLES(3), WHOLES(2), 2), TENSOR(2, 6, 31),
           TENSOR(4, 3, 5), random_list(4));
    SAMPLE(4, convolution, 0, conv_options(WHOLES(1, 2, 1), WHOLES(0, 1, 2), WHOLES(1, 1, 2), 1),
           TENSOR(1, 2, 4, 7, 9), TENSOR(3, 2, 2, 3, 3), random_list(3));
    SAMPLE(4, convolution, 0, conv_options(WHOLES(1, 1), WHOLES(0, 0), WHOLES(1, 1), 1),
           TENSOR(2, 19, 7, 7), TENSOR(23, 19, 1, 1), random_list(23));
    SAMPLE(4, depthwise_convolution, 0, conv_options(WHOLES(1, 1), WHOLES(1, 1), WHOLES(1, 1), 0),
           TENSOR(2, 7, 15, 15), TENSOR(14, 1, 3, 3), random_list(14));
    SAMPLE(5, transposed_convolution, 0, WHOLES(1, 0),
           conv_options(WHOLES(2, 3), WHOLES(1, 0), WHOLES(1, 2), 2), TENSOR(2, 6, 9, 8),
           TENSOR(6, 5, 3, 3), random_list(10));

    hmath_value *(*const mode)(hmath_status(*)(hmath_context *, hmath_value **)) = selector;
    SAMPLE(5, pooling, 0, mode(hmath_neural_layers_max_pool_create), WHOLES(2, 2), WHOLES(2, 2),
           WHOLES(0, 0), TENSOR(5, 9, 33, 35));
    SAMPLE(5, pooling, 0, mode(hmath_neural_layers_average_pool_create), WHOLES(2, 2), WHOLES(2, 2),
           WHOLES(0, 0), TENSOR(5, 9, 33, 35));
    SAMPLE(5, pooling, 0, mode(hmath_neural_layers_max_pool_create), WHOLES(3, 5), WHOLES(1, 3),
           WHOLES(1, 2), TENSOR(4, 5, 33, 61));
    SAMPLE(5, pooling, 0, mode(hmath_neural_layers_average_pool_create), WHOLES(3, 5), WHOLES(1, 3),
           WHOLES(1, 2), TENSOR(4, 5, 33, 61));
    SAMPLE(5, pooling, 0, mode(hmath_neural_layers_average_pool_create), WHOLES(7, 7, 7),
           WHOLES(1, 2, 9), WHOLES(6, 0, 3), TENSOR(2, 2, 9, 11, 40));
    SAMPLE(3, adaptive_pooling, 0, mode(hmath_neural_layers_average_pool_create), WHOLES(5, 7),
           TENSOR(3, 5, 23, 30));
    SAMPLE(3, adaptive_pooling, 0, mode(hmath_neural_layers_max_pool_create), WHOLES(23, 3),
           TENSOR(3, 5, 23, 30));
    SAMPLE(2, global_pooling, 0, mode(hmath_neural_layers_average_pool_create),
           TENSOR(3, 7, 70, 71));
    SAMPLE(2, global_pooling, 0, mode(hmath_neural_layers_max_pool_create), TENSOR(3, 7, 70, 71));

    SAMPLE(7, batch_norm, 0, mode(hmath_neural_layers_training_create), number(0.3), number(1e-5),
           random_list(7), random_list(7), norm_state(7), TENSOR(11, 7, 13, 15));
    SAMPLE(7, batch_norm, 0, mode(hmath_neural_layers_training_create), number(0.3), number(1e-5),
           random_list(70), TENSOR(70), norm_state(70), TENSOR(200, 70));
    SAMPLE(7, batch_norm, 0, mode(hmath_neural_layers_inference_create), number(0.3), number(1e-5),
           random_list(7), random_list(7), norm_state(7), TENSOR(11, 7, 13, 15));
    SAMPLE(3, layer_norm, 0, whole(1), number(1e-5), TENSOR(90, 401));
    SAMPLE(3, layer_norm, 0, whole(2), number(1e-5), TENSOR(3, 90, 401));
    SAMPLE(3, rms_norm, 0, whole(1), number(1e-5), TENSOR(90, 401));
    SAMPLE(2, instance_norm, 0, number(1e-5), TENSOR(3, 5, 41, 43));
    SAMPLE(3, group_norm, 0, whole(3), number(1e-5), TENSOR(3, 6, 21, 43));
    SAMPLE(3, weight_norm, 0, whole(1), positive_list(23), TENSOR(5, 23, 77));
    SAMPLE(3, weight_norm, 0, whole(0), TENSOR(23), TENSOR(23, 77));

    SAMPLE(2, embedding, 0, TENSOR(9, 13), WHOLES(8, 0, 3, 3));
    SAMPLE(3, causal_mask, 0, whole(5), whole(9), whole(2));
    SAMPLE(4, alibi_bias, 0, number(0.3), whole(5), whole(9), whole(2));
    SAMPLE(3, rotary_embedding, 0, number(1e4), whole(1000003), TENSOR(70, 134));
    SAMPLE(3, sinusoidal_encoding, 0, whole(70), whole(131), whole(1000003));
    SAMPLE(5, scaled_dot_product_attention, 24, TENSOR(131, 33), TENSOR(77, 33), TENSOR(77, 29),
           random_mask(131, 77), random_rows(131, 77));
    SAMPLE(5, scaled_dot_product_attention, 24, TENSOR(131, 33), TENSOR(77, 33), TENSOR(77, 29));
    SAMPLE(5, scaled_dot_product_attention, 24, TENSOR(1, 17), TENSOR(5000, 17), TENSOR(5000, 9));
    SAMPLE(5, scaled_dot_product_attention, 24, TENSOR(3, 8), TENSOR(5000, 8), TENSOR(5000, 9),
           random_mask(3, 5000), TENSOR(3, 5000));
    SAMPLE(5, multihead_attention, 16, whole(3), TENSOR(131, 33), TENSOR(77, 33), TENSOR(77, 30),
           random_mask(131, 77));

    SAMPLE(3, empty_cache, 0, whole(9), whole(2), whole(3));
    SAMPLE(3, append_cache, 0, filled_cache(7), TENSOR(9, 5), TENSOR(9, 5));
    SAMPLE(1, cache_values, 0, filled_cache(7));
}

static void release_samples(void)
{
    for (int i = 0; i < sample_count; i++)
        for (int j = 0; j < samples[i].count; j++)
            hmath_release(samples[i].argument[j]);
}

static uint64_t digest_with(hmath_context *c, const sample *s)
{
    hmath_value *result = NULL;
    if (!CHECK_INT(apply(c, s, s->argument, &result), HMATH_OK))
        printf("  in %s: %s\n", s->name, hmath_last_error(c)->message);
    const uint64_t digest = digest_of(result, 0xcbf29ce484222325);
    hmath_release(result);
    return digest;
}

/* ------------------------------------------------- what every wrapper has to stand */

static void test_bits_depend_on_nothing(void)
{
    uint64_t right[MOST_SAMPLES];
    for (int i = 0; i < sample_count; i++)
        right[i] = digest_with(ctx, &samples[i]);
    for (int32_t isa = HMATH_ISA_BASELINE; isa <= HMATH_ISA_NEON; isa++)
        for (int32_t threads = 1; threads <= 4; threads++) {
            hmath_context *other = NULL;
            const hmath_options options = {sizeof options, threads, isa};
            if (hmath_context_create(&options, &other) != HMATH_OK)
                continue;
            for (int i = 0; i < sample_count; i++)
                if (!CHECK(digest_with(other, &samples[i]) == right[i]))
                    printf("  %s (sample %d), isa %d, %d threads\n", samples[i].name, i, isa,
                           threads);
            hmath_context_destroy(other);
        }
}

/* A single thread, so that allocations come in the same order every time. */
static void test_every_allocation_may_fail(void)
{
    for (int i = 0; i < sample_count; i++) {
        const sample *s = &samples[i];
        const int64_t before = hmath_live_values();
        hmath_value *const mark = (hmath_value *)&ctx;
        for (int64_t n = 0;; n++) {
            hmath_value *result = mark;
            hm_test_fail_allocation(n);
            const hmath_status st = apply(ctx, s, s->argument, &result);
            const int failed = hm_test_allocation_failed();
            hm_test_fail_allocation(-1);
            if (!failed) {
                CHECK_INT(st, HMATH_OK);
                hmath_release(result);
                break;
            }
            /* Scratch that could not be had may be done without, but nothing else. */
            CHECK(st == HMATH_NO_MEMORY || st == HMATH_OK);
            CHECK((result == mark) == (st != HMATH_OK));
            if (st == HMATH_OK)
                hmath_release(result);
            CHECK_INT(hmath_live_values(), before);
        }
        CHECK_INT(hmath_live_values(), before);
    }
}

static void test_nulls_and_wrong_kinds(void)
{
    hmath_value *text = NULL, *const mark = (hmath_value *)&ctx;
    CHECK_INT(hmath_string_create(ctx, "x", 1, &text), HMATH_OK);
    for (int i = 0; i < sample_count; i++) {
        const sample *s = &samples[i];
        CHECK_INT(apply(NULL, s, s->argument, &(hmath_value *){NULL}), HMATH_BAD_ARGUMENT);
        CHECK_INT(apply(ctx, s, s->argument, NULL), HMATH_BAD_ARGUMENT);
        for (int j = 0; j < s->count; j++) {
            hmath_value *arguments[MOST_ARGUMENTS], *result = mark;
            for (int k = 0; k < s->count; k++)
                arguments[k] = k > j && !(s->optional >> k & 1) ? text : s->argument[k];
            arguments[j] = text; /* the first of several wrong ones is told */
            CHECK_INT(apply(ctx, s, arguments, &result), HMATH_CHECKED);
            const hmath_error *error = hmath_last_error(ctx);
            CHECK_INT(error->constructor, HMATH_TYPE_MISMATCH);
            CHECK_TEXT(error->actual, "String");
            CHECK(result == mark);

            for (int k = 0; k < s->count; k++)
                arguments[k] = s->argument[k];
            arguments[j] = NULL;
            if (s->optional >> j & 1) {
                CHECK_INT(apply(ctx, s, arguments, &result), HMATH_OK);
                hmath_release(result);
            } else {
                CHECK_INT(apply(ctx, s, arguments, &result), HMATH_BAD_ARGUMENT);
                CHECK(result == mark);
            }
        }
    }
    hmath_release(text);
}

/* Constructors without arguments, under failing memory and null pointers. */
static void test_selectors(void)
{
    hmath_status (*const create[])(hmath_context *, hmath_value **) = {
        hmath_neural_layers_training_create,        hmath_neural_layers_inference_create,
        hmath_neural_layers_max_pool_create,        hmath_neural_layers_average_pool_create,
        hmath_neural_layers_xavier_uniform_create,  hmath_neural_layers_xavier_normal_create,
        hmath_neural_layers_kaiming_uniform_create, hmath_neural_layers_kaiming_normal_create,
    };
    const int32_t kind[] = {HMATH_KIND_TRAINING,    HMATH_KIND_TRAINING,    HMATH_KIND_POOL_MODE,
                            HMATH_KIND_POOL_MODE,   HMATH_KIND_INITIALIZER, HMATH_KIND_INITIALIZER,
                            HMATH_KIND_INITIALIZER, HMATH_KIND_INITIALIZER};
    for (int i = 0; i < 8; i++) {
        hmath_value *v = NULL;
        CHECK_INT(create[i](ctx, NULL), HMATH_BAD_ARGUMENT);
        CHECK_INT(create[i](NULL, &v), HMATH_BAD_ARGUMENT);
        hm_test_fail_allocation(0);
        CHECK_INT(create[i](ctx, &v), HMATH_NO_MEMORY);
        hm_test_fail_allocation(-1);
        CHECK(v == NULL);
        CHECK_INT(create[i](ctx, &v), HMATH_OK);
        CHECK_INT(hmath_kind(v), kind[i]);
        hmath_release(v);
    }
}

/* ------------------------------------------------- the KV cache */

static const double *cache_keys(const hmath_value *cache, int64_t *rows, hmath_value **keys)
{
    hmath_value *both = NULL;
    CHECK_INT(hmath_neural_layers_cache_values(ctx, cache, &both), HMATH_OK);
    CHECK_INT(hmath_tuple_item(ctx, both, 0, keys), HMATH_OK);
    hmath_release(both);
    *rows = hmath_tensor_shape(*keys)[0];
    return hmath_tensor_data(*keys);
}

static hmath_value *constant_rows(int64_t rows, int64_t width, double x)
{
    double *data = malloc((size_t)(rows * width) * sizeof *data);
    for (int64_t i = 0; i < rows * width; i++)
        data[i] = x;
    hmath_value *v = NULL;
    CHECK_INT(hmath_tensor_create(ctx, 2, (int64_t[]){rows, width}, data, &v), HMATH_OK);
    free(data);
    return v;
}

static hmath_value *append(hmath_context *c, const hmath_value *cache, hmath_value *rows)
{
    hmath_value *longer = NULL;
    CHECK_INT(hmath_neural_layers_append_cache(c, cache, rows, rows, &longer), HMATH_OK);
    return longer;
}

static hmath_value *new_cache(int64_t capacity, int64_t width)
{
    hmath_value *n = whole(capacity), *w = whole(width), *cache = NULL;
    CHECK_INT(hmath_neural_layers_empty_cache(ctx, n, w, w, &cache), HMATH_OK);
    hmath_release(n);
    hmath_release(w);
    return cache;
}

/* The newest version writes behind the shared rows; an older one is copied and stays as it was. */
static void test_cache__versions(void)
{
    hmath_value *rows[3], *keys[4];
    int64_t length;
    for (int i = 0; i < 3; i++)
        rows[i] = constant_rows(1, 4, i + 1.0);
    hmath_value *empty = new_cache(1000000, 4);
    hmath_value *one = append(ctx, empty, rows[0]), *two = append(ctx, one, rows[1]);
    hmath_value *fork = append(ctx, one, rows[2]);

    const double *first = cache_keys(one, &length, &keys[0]);
    CHECK_INT(length, 1);
    const double *second = cache_keys(two, &length, &keys[1]);
    CHECK_INT(length, 2);
    CHECK(first == second); /* one store */
    CHECK_BITS(second[4], 2.0);
    const double *other = cache_keys(fork, &length, &keys[2]);
    CHECK_INT(length, 2);
    CHECK(other != second);
    CHECK_BITS(other[0], 1.0);
    CHECK_BITS(other[4], 3.0);
    cache_keys(empty, &length, &keys[3]);
    CHECK_INT(length, 0);

    hmath_release(one); /* the tensors keep the store */
    hmath_release(two);
    hmath_release(fork);
    hmath_release(empty);
    CHECK_BITS(second[7], 2.0);
    for (int i = 0; i < 4; i++)
        hmath_release(keys[i]);
    for (int i = 0; i < 3; i++)
        hmath_release(rows[i]);
}

/* Up to the capacity and no further, by one and by many rows. */
static void test_cache__capacity(void)
{
    hmath_value *cache = new_cache(37, 3), *row = constant_rows(1, 3, 0.5), *longer = NULL;
    for (int64_t n = 0; n < 37; n++) {
        longer = append(ctx, cache, row);
        hmath_release(cache);
        cache = longer;
    }
    longer = NULL;
    CHECK_INT(hmath_neural_layers_append_cache(ctx, cache, row, row, &longer), HMATH_CHECKED);
    CHECK_INT(hmath_last_error(ctx)->constructor, HMATH_DIMENSION_MISMATCH);
    CHECK_TEXT(hmath_last_error(ctx)->expected, "at most 0 rows");
    CHECK(longer == NULL);
    int64_t capacity, length, key_width, value_width;
    CHECK_INT(hmath_kv_cache_get(cache, &capacity, &length, &key_width, &value_width), HMATH_OK);
    CHECK(capacity == 37 && length == 37 && key_width == 3 && value_width == 3);
    CHECK_INT(hmath_kv_cache_get(cache, NULL, NULL, NULL, NULL), HMATH_OK);
    CHECK_INT(hmath_kv_cache_get(row, &capacity, NULL, NULL, NULL), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_kv_cache_get(NULL, &capacity, NULL, NULL, NULL), HMATH_BAD_ARGUMENT);
    hmath_release(cache);
    hmath_release(row);
}

enum { RACERS = 8, ROUNDS = 200 };

typedef struct race {
    const hmath_value *base;
    double mine;
    atomic_int wrong;
} race;

/* Everybody appends to the same version at once: one gets the room behind it, the others copies. */
static void *run_race(void *argument)
{
    race *r = argument;
    hmath_context *own = NULL;
    double data[6] = {r->mine, r->mine, r->mine, r->mine, r->mine, r->mine};
    hmath_value *rows = NULL, *longer = NULL, *both = NULL, *keys = NULL;
    if (hmath_context_clone(ctx, &own) != HMATH_OK ||
        hmath_tensor_create(own, 2, (int64_t[]){2, 3}, data, &rows) != HMATH_OK ||
        hmath_neural_layers_append_cache(own, r->base, rows, rows, &longer) != HMATH_OK ||
        hmath_neural_layers_cache_values(own, longer, &both) != HMATH_OK ||
        hmath_tuple_item(own, both, 1, &keys) != HMATH_OK) {
        atomic_fetch_add(&r->wrong, 1);
    } else {
        const double *x = hmath_tensor_data(keys);
        for (int i = 0; i < 12; i++)
            if (x[i] != (i < 6 ? -1.0 : r->mine))
                atomic_fetch_add(&r->wrong, 1);
    }
    hmath_release(keys);
    hmath_release(both);
    hmath_release(longer);
    hmath_release(rows);
    hmath_context_destroy(own);
    return NULL;
}

static void test_cache__race(void)
{
    const int64_t before = hmath_live_values();
    for (int round = 0; round < ROUNDS; round++) {
        hmath_value *empty = new_cache(100, 3), *rows = constant_rows(2, 3, -1.0);
        hmath_value *base = append(ctx, empty, rows);
        pthread_t thread[RACERS];
        race racer[RACERS];
        for (int i = 0; i < RACERS; i++) {
            racer[i].base = base;
            racer[i].mine = i;
            atomic_init(&racer[i].wrong, 0);
            pthread_create(&thread[i], NULL, run_race, &racer[i]);
        }
        for (int i = 0; i < RACERS; i++) {
            pthread_join(thread[i], NULL);
            CHECK_INT(atomic_load(&racer[i].wrong), 0);
        }
        hmath_release(base);
        hmath_release(rows);
        hmath_release(empty);
    }
    CHECK_INT(hmath_live_values(), before);
}

/* ------------------------------------------------- averages at the edge of the range */

static void test_pooling__means_of_huge_cells(void)
{
    const double most = 0x1.fffffffffffffp+1023;
    double data[64];
    for (int i = 0; i < 64; i++)
        data[i] = i % 8 < 4 ? most : -most / 2;
    hmath_value *x = NULL, *mode = selector(hmath_neural_layers_average_pool_create);
    CHECK_INT(hmath_tensor_create(ctx, 4, (int64_t[]){1, 1, 8, 8}, data, &x), HMATH_OK);
    const int64_t kernels[] = {2, 3, 4};
    for (int k = 0; k < 3; k++) {
        hmath_value *kernel = WHOLES(kernels[k], kernels[k]), *stride = WHOLES(4, 4);
        hmath_value *padding = WHOLES(0, 0), *result = NULL;
        CHECK_INT(hmath_neural_layers_pooling(ctx, mode, kernel, stride, padding, x, &result),
                  HMATH_OK);
        /* Sums of 4 and 16 equal terms are exact, one of 9 is rounded three times. */
        const double slack = kernels[k] == 3 ? 2 * 0x1p-52 : 0;
        CHECK(fabs(hmath_tensor_data(result)[0] / most - 1) <= slack);
        CHECK(fabs(hmath_tensor_data(result)[1] / most + 0.5) <= slack);
        hmath_release(result);
        hmath_release(kernel);
        hmath_release(stride);
        hmath_release(padding);
    }
    hmath_value *shape = WHOLES(2, 2), *result = NULL;
    CHECK_INT(hmath_neural_layers_adaptive_pooling(ctx, mode, shape, x, &result), HMATH_OK);
    CHECK_BITS(hmath_tensor_data(result)[2], most);
    hmath_release(result);
    result = NULL;
    CHECK_INT(hmath_neural_layers_global_pooling(ctx, mode, x, &result), HMATH_OK);
    CHECK_BITS(hmath_tensor_data(result)[0], most / 4);
    hmath_release(result);
    hmath_release(shape);
    hmath_release(mode);
    hmath_release(x);
}

/* ------------------------------------------------- steps far beyond the input */

/* One spatial axis: the one channel of `x` by the one kernel of `w`, and what comes of it. */
typedef struct far_case {
    int64_t stride, padding, dilation, output_padding;
    int64_t pixels, taps, results;
    double x[4], w[3], result[4];
} far_case;

enum { FAR = 1 << 20 };

#define LARGEST INT64_MAX
#define LONG_STEP ((int64_t)FAR * FAR)

static void check_far(const far_case *c, bool transposed)
{
    hmath_value *x = NULL, *w = NULL, *result = NULL, *bias = NULL,
                *extra = WHOLES(c->output_padding);
    hmath_value *options =
        conv_options(WHOLES(c->stride), WHOLES(c->padding), WHOLES(c->dilation), 1);
    CHECK_INT(hmath_list_from_doubles(ctx, (double[]){0}, 1, &bias), HMATH_OK);
    CHECK_INT(hmath_tensor_create(ctx, 3, (int64_t[]){1, 1, c->pixels}, c->x, &x), HMATH_OK);
    CHECK_INT(hmath_tensor_create(ctx, 3, (int64_t[]){1, 1, c->taps}, c->w, &w), HMATH_OK);
    CHECK_INT(transposed ? hmath_neural_layers_transposed_convolution(ctx, extra, options, x, w,
                                                                      bias, &result)
                         : hmath_neural_layers_convolution(ctx, options, x, w, bias, &result),
              HMATH_OK);
    if (CHECK(result != NULL) && CHECK_INT(hmath_tensor_shape(result)[2], c->results))
        for (int64_t i = 0; i < c->results; i++)
            CHECK_BITS(hmath_tensor_data(result)[i], c->result[i]);
    hmath_value *all[] = {x, w, bias, extra, options, result};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        hmath_release(all[i]);
}

static void test_convolution__steps_beyond_the_input(void)
{
    const far_case forward[] = {
        {LARGEST, 1, 1, 0, 4, 3, 1, {1, 5, 3, -1}, {1, 10, 100}, {510}},
        {1, 0, LARGEST, 0, 4, 1, 4, {1, 5, 3, -1}, {10}, {10, 50, 30, -10}},
        {LARGEST, 0, LARGEST, 0, 4, 1, 1, {1, 5, 3, -1}, {10}, {10}},
        /* Two windows, each with a tap in the input: steps whose product is beyond 64 bits. */
        {LONG_STEP + 1, LONG_STEP, LONG_STEP, 0, 4, 2, 2, {1, 5, 3, -1}, {1, 10}, {10, 5}},
        /* As much padding as 64 bits can count. */
        {LARGEST - 4, (LARGEST - 5) / 2, 1, 0, 4, 1, 2, {1, 5, 3, -1}, {10}, {0, 0}},
    };
    for (size_t i = 0; i < sizeof forward / sizeof *forward; i++)
        check_far(&forward[i], false);
    const far_case transposed[] = {
        {LARGEST, 0, 1, 0, 1, 3, 3, {2}, {1, 10, 100}, {2, 20, 200}},
        {LARGEST, 0, 1, 1, 1, 3, 4, {2}, {1, 10, 100}, {2, 20, 200, 0}},
        {1, 0, LARGEST, 0, 3, 1, 3, {1, 2, 3}, {10}, {10, 20, 30}},
        {LONG_STEP + 1, LONG_STEP, LONG_STEP, 0, 2, 2, 2, {1, 5}, {1, 10}, {10, 5}},
    };
    for (size_t i = 0; i < sizeof transposed / sizeof *transposed; i++)
        check_far(&transposed[i], true);
}

/* The padded extent is an element count: beyond 64 bits, or what memory there is, it is refused. */
static void test_convolution__padded_beyond_memory(void)
{
    const int64_t steps[][3] = {{LARGEST - 4, LARGEST / 2 + 1, 1}, {1, LONG_STEP, 2 * LONG_STEP}};
    hmath_value *x = TENSOR(1, 1, 4), *w = TENSOR(1, 1, 2), *bias = random_list(1);
    for (int i = 0; i < 2; i++) {
        const int64_t *s = steps[i];
        hmath_value *options = conv_options(WHOLES(s[0]), WHOLES(s[1]), WHOLES(s[2]), 1);
        hmath_value *result = NULL;
        CHECK_INT(hmath_neural_layers_convolution(ctx, options, x, w, bias, &result),
                  HMATH_NO_MEMORY);
        CHECK(result == NULL);
        hmath_release(options);
    }
    hmath_release(x);
    hmath_release(w);
    hmath_release(bias);
}

static void test_pooling__steps_beyond_the_input(void)
{
    const double cells[] = {1, 5, 3, -1};
    /* kernel, stride, padding */
    const int64_t windows[][3] = {{3, LARGEST, 1},
                                  {((int64_t)1 << 62) + 4, 1, (int64_t)1 << 61},
                                  {((int64_t)1 << 62) + 4, LARGEST, (int64_t)1 << 61}};
    const double largest[] = {5, 5, 5}, mean[] = {3, 2, 2};
    hmath_value *x = NULL;
    hmath_value *modes[] = {selector(hmath_neural_layers_max_pool_create),
                            selector(hmath_neural_layers_average_pool_create)};
    CHECK_INT(hmath_tensor_create(ctx, 3, (int64_t[]){1, 1, 4}, cells, &x), HMATH_OK);
    for (int i = 0; i < 3; i++)
        for (int m = 0; m < 2; m++) {
            hmath_value *kernel = WHOLES(windows[i][0]), *stride = WHOLES(windows[i][1]),
                        *padding = WHOLES(windows[i][2]), *result = NULL;
            CHECK_INT(
                hmath_neural_layers_pooling(ctx, modes[m], kernel, stride, padding, x, &result),
                HMATH_OK);
            if (CHECK(result != NULL) && CHECK_INT(hmath_tensor_shape(result)[2], 1))
                CHECK_BITS(hmath_tensor_data(result)[0], (m ? mean : largest)[i]);
            hmath_release(result);
            hmath_release(kernel);
            hmath_release(stride);
            hmath_release(padding);
        }
    hmath_release(modes[0]);
    hmath_release(modes[1]);
    hmath_release(x);
}

int main(void)
{
    const hmath_options options = {sizeof options, 1, HMATH_ISA_DEFAULT};
    if (hmath_context_create(&options, &ctx) != HMATH_OK)
        return 1;
    const int64_t before = hmath_live_values();
    make_samples();
    RUN(test_bits_depend_on_nothing);
    RUN(test_every_allocation_may_fail);
    RUN(test_nulls_and_wrong_kinds);
    RUN(test_selectors);
    RUN(test_cache__versions);
    RUN(test_cache__capacity);
    RUN(test_cache__race);
    RUN(test_pooling__means_of_huge_cells);
    RUN(test_convolution__steps_beyond_the_input);
    RUN(test_convolution__padded_beyond_memory);
    RUN(test_pooling__steps_beyond_the_input);
    release_samples();
    CHECK_INT(hmath_live_values(), before);
    hmath_context_destroy(ctx);
    return check_report();
}
