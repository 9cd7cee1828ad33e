/* Draws through the public functions: contracts of the streams, failures, storing. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hmath.h"
#include "hmath_random.h"
#include "hmath_tensor.h"
#include "random/distributions.h"
#include "runtime/alloc.h"

enum { GENERATORS = 6 };

static hmath_context *ctx;

static hmath_value *generator(int which)
{
    hmath_value *g = NULL;
    hmath_status st = HMATH_BAD_ARGUMENT;
    switch (which) {
    case 0: st = hmath_random_pcg32_create(ctx, 54, &g); break;
    case 1: st = hmath_random_pcg64_create(ctx, 54, &g); break;
    case 2: st = hmath_random_xoshiro256starstar_create(ctx, &g); break;
    case 3: st = hmath_random_splitmix64_create(ctx, &g); break;
    case 4: st = hmath_random_philox4x32_create(ctx, &g); break;
    case 5: st = hmath_random_mt19937_create(ctx, &g); break;
    default: break;
    }
    CHECK_INT(st, HMATH_OK);
    return g;
}

static hmath_value *seeded(int which, uint64_t seed)
{
    hmath_value *g = generator(which), *rng = NULL;
    CHECK_INT(hmath_random_seed(ctx, g, seed, &rng), HMATH_OK);
    hmath_release(g);
    return rng;
}

static void step(hmath_value **rng, hmath_value *next)
{
    hmath_release(*rng);
    *rng = next;
}

static int equal(const hmath_value *a, const hmath_value *b)
{
    static unsigned char left[4096], right[4096];
    const int64_t size = hmath_random_saved_size(a);
    return size == hmath_random_saved_size(b) &&
           hmath_random_save(a, left, (size_t)size) == HMATH_OK &&
           hmath_random_save(b, right, (size_t)size) == HMATH_OK &&
           memcmp(left, right, (size_t)size) == 0;
}

/* ---------------------------------------------------------------- draws */

/* A third uniform, or output, in front shifts the 32-bit generators by half a block. */
static hmath_value *misaligned(int which)
{
    hmath_value *rng = seeded(which, 20240607), *next = NULL;
    uint64_t bits;
    CHECK_INT(hmath_random_bits(ctx, rng, &bits, &next), HMATH_OK);
    step(&rng, next);
    return rng;
}

static void test_random__old_rng_draws_the_same_again(void)
{
    for (int which = 0; which < GENERATORS; which++) {
        hmath_value *rng = seeded(which, 1), *first = NULL, *second = NULL;
        double u = 0, v = 1;
        CHECK_INT(hmath_random_normal(ctx, rng, &u, &first), HMATH_OK);
        CHECK_INT(hmath_random_normal(ctx, rng, &v, &second), HMATH_OK);
        CHECK_BITS(u, v);
        CHECK(equal(first, second));
        CHECK(!equal(first, rng));
        CHECK_INT(hmath_random_pending(rng), 0);
        CHECK_INT(hmath_random_pending(first), 1);
        hmath_release(rng);
        hmath_release(first);
        hmath_release(second);
    }
}

typedef hmath_status (*draw_one)(hmath_context *, const hmath_value *, double *, hmath_value **);
typedef hmath_status (*draw_many)(hmath_context *, int32_t, const int64_t *, const hmath_value *,
                                  hmath_value **, hmath_value **);

/* `before` normals first, so that one is pending where that is odd. */
static void check_filling(draw_one one, draw_many many, int which, int64_t n, int before)
{
    hmath_value *rng = misaligned(which), *next = NULL, *tensor = NULL, *after = NULL;
    double x;
    for (int i = 0; i < before; i++) {
        CHECK_INT(hmath_random_normal(ctx, rng, &x, &next), HMATH_OK);
        step(&rng, next);
    }
    CHECK_INT(many(ctx, 1, &n, rng, &tensor, &after), HMATH_OK);
    const double *data = hmath_tensor_data(tensor);
    int same = 1;
    for (int64_t i = 0; i < n; i++) {
        CHECK_INT(one(ctx, rng, &x, &next), HMATH_OK);
        step(&rng, next);
        same &= same_bits(data[i], x);
    }
    CHECK(same);
    CHECK(equal(rng, after));
    hmath_release(tensor);
    hmath_release(after);
    hmath_release(rng);
}

static void test_random__filling_is_drawing_one_by_one(void)
{
    static const int64_t lengths[] = {0, 1, 2, 3, 7, 8, 63, 64, 65, 127, 128, 129, 1023, 1025};
    for (int which = 0; which < GENERATORS; which++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
            for (int before = 0; before < 2; before++) {
                check_filling(hmath_random_uniform, hmath_random_uniform_tensor, which, lengths[i],
                              before);
                check_filling(hmath_random_normal, hmath_random_normal_tensor, which, lengths[i],
                              before);
            }
}

/* More than one chunk: threads find their places by jumping ahead. One thread draws without any. */
static void test_random__threads_change_nothing(void)
{
    const int64_t n = 3 * 32768 + 4097;
    hmath_context *many_threads = NULL;
    const hmath_options options = {.struct_size = sizeof options, .threads = 5};
    CHECK_INT(hmath_context_create(&options, &many_threads), HMATH_OK);
    for (int which = 0; which < GENERATORS; which++)
        for (int normals = 0; normals < 2; normals++) {
            draw_many many = normals ? hmath_random_normal_tensor : hmath_random_uniform_tensor;
            hmath_value *rng = misaligned(which), *whole = NULL, *end = NULL;
            CHECK_INT(many(many_threads, 1, &n, rng, &whole, &end), HMATH_OK);
            const double *data = hmath_tensor_data(whole);
            int same = 1;
            for (int64_t at = 0; at < n; at += 1021) { /* odd: normals stay pending in between */
                int64_t count = n - at < 1021 ? n - at : 1021;
                hmath_value *part = NULL, *next = NULL;
                CHECK_INT(many(ctx, 1, &count, rng, &part, &next), HMATH_OK);
                same &=
                    memcmp(data + at, hmath_tensor_data(part), (size_t)count * sizeof *data) == 0;
                hmath_release(part);
                step(&rng, next);
            }
            CHECK(same);
            CHECK(equal(rng, end));
            hmath_release(whole);
            hmath_release(end);
            hmath_release(rng);
        }
    hmath_context_destroy(many_threads);
}

/* What an instruction set draws is what every other draws. */
static void test_random__instruction_sets_change_nothing(void)
{
    const int64_t n = 5001;
    static const int32_t sets[] = {HMATH_ISA_BASELINE, HMATH_ISA_AVX2, HMATH_ISA_AVX512,
                                   HMATH_ISA_NEON};
    hmath_value *rng = seeded(1, 8), *reference = NULL, *next = NULL;
    CHECK_INT(hmath_random_normal_tensor(ctx, 1, &n, rng, &reference, &next), HMATH_OK);
    hmath_release(next);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        const hmath_options options = {.struct_size = sizeof options, .isa = sets[i]};
        hmath_context *other = NULL;
        hmath_value *tensor = NULL;
        if (hmath_context_create(&options, &other) != HMATH_OK)
            continue; /* this processor does not have it */
        CHECK_INT(hmath_random_normal_tensor(other, 1, &n, rng, &tensor, &next), HMATH_OK);
        CHECK(memcmp(hmath_tensor_data(tensor), hmath_tensor_data(reference),
                     (size_t)n * sizeof(double)) == 0);
        hmath_release(tensor);
        hmath_release(next);
        hmath_context_destroy(other);
    }
    hmath_release(reference);
    hmath_release(rng);
}

/*
 * Against the formula in long double, quarter turns taken off u2 first, so that the oracle is right
 * next to zeros of the sine. 4 ulp: logarithm 1 (halved by the root), root, sine and product half
 * an ulp to one each.
 */
static void test_random__normals_follow_box_and_muller(void)
{
    hmath_value *rng = seeded(2, 31), *next = NULL;
    for (int i = 0; i < 20000; i++) {
        double u1, u2, cosine, sine;
        hmath_value *uniforms = NULL, *ahead = NULL;
        CHECK_INT(hmath_random_uniform(ctx, rng, &u1, &uniforms), HMATH_OK);
        CHECK_INT(hmath_random_uniform(ctx, uniforms, &u2, &ahead), HMATH_OK);
        hmath_release(uniforms);
        CHECK_INT(hmath_random_normal(ctx, rng, &cosine, &next), HMATH_OK);
        step(&rng, next);
        CHECK_INT(hmath_random_normal(ctx, rng, &sine, &next), HMATH_OK);
        step(&rng, next);
        CHECK(equal(rng, ahead));
        hmath_release(ahead);
        const double quarters = floor(4 * u2 + 0.5);
        const long double r = sqrtl(-2 * log1pl(-(long double)u1));
        const long double t = 6.28318530717958647692528676655900577L * (u2 - quarters / 4);
        const long double s = sinl(t), c = cosl(t);
        const long double cosines[4] = {c, -s, -c, s}, sines[4] = {s, c, -s, -c};
        const int quadrant = (int)quarters % 4;
        CHECK(fabsl(cosine - r * cosines[quadrant]) <= 4 * 0x1p-53L * fabsl(cosine));
        CHECK(fabsl(sine - r * sines[quadrant]) <= 4 * 0x1p-53L * fabsl(sine));
    }
    hmath_release(rng);
}

/* u1 = 0 gives 0 and no NaN; a quarter turn is exact; the largest u1 gives the largest radius. */
static void test_random__normals_at_the_edges(void)
{
    const int32_t sets[] = {HMATH_ISA_BASELINE, HMATH_ISA_AVX2, HMATH_ISA_AVX512, HMATH_ISA_NEON};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        const hm_kernels *kernels = hm_kernels_for(sets[i]);
        if (!kernels)
            continue;
        double u[] = {0.0, 0.0, 0x1.fffffffffffffp-1, 0.25, 0.5, 0.5, 0.5, 0x1.fffffffffffffp-1};
        kernels->random->box_muller(u, 4);
        CHECK_BITS(u[0], 0.0);
        CHECK_BITS(u[1], 0.0);
        CHECK(u[2] == 0.0);
        CHECK(fabs(u[3] - sqrt(106 * 0.69314718055994531)) < 1e-14);
        CHECK(fabs(u[4] + sqrt(2 * 0.69314718055994531)) < 1e-15);
        CHECK(u[5] == 0.0);
        CHECK(u[7] < 0.0 && u[7] > -1e-15);
    }
}

static void test_random__pending_normal_survives_uniforms_and_not_jumps(void)
{
    hmath_value *rng = seeded(0, 3), *next = NULL;
    double z, sine, u;
    uint64_t bits;
    int64_t below;
    CHECK_INT(hmath_random_normal(ctx, rng, &z, &next), HMATH_OK);
    step(&rng, next);
    hmath_value *kept = hmath_retain(rng);
    CHECK_INT(hmath_random_normal(ctx, rng, &sine, &next), HMATH_OK);
    hmath_release(next);
    CHECK_INT(hmath_random_uniform(ctx, rng, &u, &next), HMATH_OK);
    step(&rng, next);
    CHECK_INT(hmath_random_bits(ctx, rng, &bits, &next), HMATH_OK);
    step(&rng, next);
    CHECK_INT(hmath_random_bounded(ctx, 10, rng, &below, &next), HMATH_OK);
    step(&rng, next);
    CHECK_INT(hmath_random_normal(ctx, rng, &z, &next), HMATH_OK);
    step(&rng, next);
    CHECK_BITS(z, sine);

    CHECK_INT(hmath_random_jump(ctx, kept, &next), HMATH_OK);
    CHECK_INT(hmath_random_pending(next), 0);
    hmath_release(next);
    hmath_release(kept);
    hmath_release(rng);
}

/* FNV-1a (Fowler, Noll, Vo) with its published constants. */
static uint64_t fnv1a(const void *data, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const unsigned char *)data)[i]) * UINT64_C(1099511628211);
    return hash;
}

/*
 * The contract written down: these digests may change with HMATH_NUMERICS_VERSION and never else.
 * They were the same on x86-64 (baseline, AVX2, AVX-512; GCC and Clang) and on AArch64.
 */
static void test_random__bits_never_change(void)
{
    static const uint64_t uniforms[GENERATORS] = {0xbf3167da09584e1b, 0xd8da1ab47974c76e,
                                                  0xac1f18ff3ce6468c, 0xb3229b2328fb022c,
                                                  0xd6f872f360c163fa, 0xfc72b4d50be5eba5};
    static const uint64_t normals[GENERATORS] = {0x64beb04f863d33c7, 0x3c0bdc0bc7242e5f,
                                                 0x94ecdce21904e6cc, 0x3ef08ea8f61c0809,
                                                 0x1cd5dbcd59f05969, 0x50285dce7de550f0};
    const int64_t n = 70001;
    for (int which = 0; which < GENERATORS; which++)
        for (int of_normals = 0; of_normals < 2; of_normals++) {
            hmath_value *rng = seeded(which, 42), *tensor = NULL, *next = NULL;
            CHECK_INT(of_normals ? hmath_random_normal_tensor(ctx, 1, &n, rng, &tensor, &next)
                                 : hmath_random_uniform_tensor(ctx, 1, &n, rng, &tensor, &next),
                      HMATH_OK);
            const uint64_t digest = fnv1a(hmath_tensor_data(tensor), (size_t)n * sizeof(double));
            if (!CHECK(digest == (of_normals ? normals : uniforms)[which]))
                printf("generator %d: 0x%016" PRIx64 "\n", which, digest);
            hmath_release(rng);
            hmath_release(tensor);
            hmath_release(next);
        }
}

/* ---------------------------------------------------------------- integers */

/* Lemire's algorithm by its definition, in 128 bits, with words drawn by hmath_random_bits. */
static int64_t lemire(hmath_value **rng, uint64_t bound, int output_bits)
{
    const int width = output_bits == 32 && bound <= UINT64_C(1) << 32 ? 32 : 64;
    for (;;) {
        uint64_t x = 0, word;
        hmath_value *next = NULL;
        for (int drawn = 0; drawn < width; drawn += output_bits) {
            CHECK_INT(hmath_random_bits(ctx, *rng, &word, &next), HMATH_OK);
            step(rng, next);
            x = output_bits == 64 ? word : x << 32 | word;
        }
        const hm_uint128 range = (hm_uint128)1 << width, m = (hm_uint128)x * bound;
        if (m % range >= range % bound)
            return (int64_t)(m / range);
    }
}

static void test_random__bounded_is_lemire(void)
{
    static const int64_t bounds[] = {1,
                                     2,
                                     3,
                                     10,
                                     1000003,
                                     INT64_C(0x80000001),
                                     INT64_C(0xc0000000),
                                     INT64_C(0xffffffff),
                                     INT64_C(0x100000000),
                                     INT64_C(0x100000001),
                                     INT64_C(0x6000000000000000),
                                     INT64_MAX};
    for (int which = 0; which < GENERATORS; which++)
        for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
            hmath_value *rng = seeded(which, 99), *expected = hmath_retain(rng), *next = NULL;
            const int output_bits = which == 0 || which >= 4 ? 32 : 64;
            for (int i = 0; i < 50; i++) {
                int64_t x = -1;
                CHECK_INT(hmath_random_bounded(ctx, bounds[b], rng, &x, &next), HMATH_OK);
                step(&rng, next);
                CHECK_INT(x, lemire(&expected, (uint64_t)bounds[b], output_bits));
                CHECK(x >= 0 && x < bounds[b]);
            }
            CHECK(equal(rng, expected));
            hmath_release(rng);
            hmath_release(expected);
        }
}

static void test_random__permutation_is_fisher_yates_from_the_end(void)
{
    for (int64_t n = 0; n < 40; n++) {
        hmath_value *rng = seeded(4, 5), *list = NULL, *after = NULL, *next = NULL;
        int64_t expected[40], j;
        for (int64_t i = 0; i < n; i++)
            expected[i] = i;
        CHECK_INT(hmath_random_permutation(ctx, n, rng, &list, &after), HMATH_OK);
        for (int64_t i = n - 1; i > 0; i--) {
            CHECK_INT(hmath_random_bounded(ctx, i + 1, rng, &j, &next), HMATH_OK);
            step(&rng, next);
            int64_t kept = expected[i];
            expected[i] = expected[j];
            expected[j] = kept;
        }
        const int64_t *data = NULL;
        size_t length = 99;
        CHECK_INT(hmath_list_ints(list, &data, &length), HMATH_OK);
        CHECK_INT((int64_t)length, n);
        CHECK(n == 0 || memcmp(data, expected, (size_t)n * sizeof *data) == 0);
        CHECK(equal(rng, after));
        hmath_release(list);
        hmath_release(rng);
        hmath_release(after);
    }
}

enum { SHUFFLED = 17 };

static void order_of(const hmath_value *rng, int64_t order[SHUFFLED])
{
    hmath_value *list = NULL, *next = NULL;
    const int64_t *data;
    size_t length;
    CHECK_INT(hmath_random_permutation(ctx, SHUFFLED, rng, &list, &next), HMATH_OK);
    CHECK_INT(hmath_list_ints(list, &data, &length), HMATH_OK);
    memcpy(order, data, length * sizeof *data);
    hmath_release(list);
    hmath_release(next);
}

static void test_random__shuffle_moves_numbers_rows_and_values(void)
{
    hmath_value *rng = seeded(1, 12), *next = NULL, *list = NULL, *out = NULL;
    int64_t order[SHUFFLED];
    double numbers[3 * SHUFFLED];
    order_of(rng, order);
    for (int i = 0; i < 3 * SHUFFLED; i++)
        numbers[i] = i == 7 ? (double)NAN : i; /* moved, not looked at */

    const double *data;
    size_t n, columns;
    CHECK_INT(hmath_list_from_doubles(ctx, numbers, SHUFFLED, &list), HMATH_OK);
    CHECK_INT(hmath_random_shuffle(ctx, list, rng, &out, &next), HMATH_OK);
    CHECK_INT(hmath_list_doubles(out, &data, &n), HMATH_OK);
    for (int i = 0; i < SHUFFLED; i++)
        CHECK_BITS(data[i], numbers[order[i]]);
    hmath_release(list), hmath_release(out), hmath_release(next);

    CHECK_INT(hmath_rows_from_doubles(ctx, numbers, SHUFFLED, 3, &list), HMATH_OK);
    CHECK_INT(hmath_random_shuffle(ctx, list, rng, &out, &next), HMATH_OK);
    CHECK_INT(hmath_rows_doubles(out, &data, &n, &columns), HMATH_OK);
    CHECK(n == SHUFFLED && columns == 3);
    for (int i = 0; i < 3 * SHUFFLED; i++)
        CHECK_BITS(data[i], numbers[3 * order[i / 3] + i % 3]);
    hmath_release(list), hmath_release(out), hmath_release(next);

    const int64_t shape[2] = {SHUFFLED, 3};
    CHECK_INT(hmath_tensor_create(ctx, 2, shape, numbers, &list), HMATH_OK);
    CHECK_INT(hmath_random_shuffle(ctx, list, rng, &out, &next), HMATH_OK);
    data = hmath_tensor_data(out);
    for (int i = 0; i < 3 * SHUFFLED; i++)
        CHECK_BITS(data[i], numbers[3 * order[i / 3] + i % 3]);
    hmath_release(list), hmath_release(out), hmath_release(next);

    hmath_value *items[SHUFFLED], *item = NULL;
    const char *text;
    for (int i = 0; i < SHUFFLED; i++)
        CHECK_INT(i % 2 ? hmath_int_create(ctx, i, &items[i])
                        : hmath_string_create(ctx, "even", 4, &items[i]),
                  HMATH_OK);
    CHECK_INT(hmath_list_create(ctx, (const hmath_value *const *)items, SHUFFLED, &list), HMATH_OK);
    CHECK_INT(hmath_random_shuffle(ctx, list, rng, &out, &next), HMATH_OK);
    for (int i = 0; i < SHUFFLED; i++) {
        int64_t x;
        CHECK_INT(hmath_list_item(ctx, out, (size_t)i, &item), HMATH_OK);
        CHECK_INT(order[i] % 2 ? hmath_int_get(item, &x) : hmath_string_get(item, &text, &n),
                  HMATH_OK);
        CHECK(order[i] % 2 == 0 || x == order[i]);
        hmath_release(item);
    }
    for (int i = 0; i < SHUFFLED; i++)
        hmath_release(items[i]);
    hmath_release(list), hmath_release(out), hmath_release(next);
    hmath_release(rng);
}

static void test_random__shuffle_of_nothing_draws_nothing(void)
{
    hmath_value *rng = seeded(0, 1), *list = NULL, *out = NULL, *next = NULL;
    const int64_t shapes[3][2] = {{0, 3}, {1, 3}, {5, 0}};
    CHECK_INT(hmath_list_create(ctx, NULL, 0, &list), HMATH_OK);
    CHECK_INT(hmath_random_shuffle(ctx, list, rng, &out, &next), HMATH_OK);
    CHECK_INT(hmath_list_length(out), 0);
    CHECK(equal(rng, next));
    hmath_release(list), hmath_release(out), hmath_release(next);
    for (int i = 0; i < 3; i++) {
        const double row[3] = {1, 2, 3};
        CHECK_INT(hmath_tensor_create(ctx, 2, shapes[i], row, &list), HMATH_OK);
        CHECK_INT(hmath_random_shuffle(ctx, list, rng, &out, &next), HMATH_OK);
        CHECK(memcmp(hmath_tensor_shape(out), shapes[i], sizeof shapes[i]) == 0);
        CHECK(i == 2 || equal(rng, next)); /* five empty rows change places as well */
        hmath_release(list), hmath_release(out), hmath_release(next);
    }
    hmath_release(rng);
}

/* ---------------------------------------------------------------- truncated normals */

/* One by one or at once, from every state of the pending normal, below and above the bound of 1. */
static void test_random__truncated_normals_filled_or_single(void)
{
    static const double bounds[] = {1e-300, 0.01, 0.999, 1.0, 1.5, 2.0, 40.0};
    static double many[700];
    CHECK_INT(hm_enter(ctx, "test"), HMATH_OK);
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++)
        for (int before = 0; before < 2; before++) {
            hm_stream filled, single;
            double x;
            hm_stream_seed(&filled, &hm_pcg64, 54, 17);
            if (before)
                hm_draw_normals(ctx, &filled, &x, 1);
            hm_stream_copy(&single, &filled);
            hm_draw_truncated_normals(ctx, &filled, bounds[b], many, 700);
            int same = 1, within = 1;
            for (int i = 0; i < 700; i++) {
                hm_draw_truncated_normals(ctx, &single, bounds[b], &x, 1);
                same &= same_bits(x, many[i]);
                within &= fabs(x) <= bounds[b];
            }
            CHECK(same && within);
            CHECK(filled.has_pending == single.has_pending);
            CHECK_BITS(filled.pending, single.pending);
            CHECK(memcmp(&filled.bits.state, &single.bits.state, sizeof filled.bits.state.pcg64) ==
                  0);
        }
    CHECK_INT(hm_leave(ctx, HMATH_OK), HMATH_OK);
}

/* ---------------------------------------------------------------- failures */

static void check_error(int32_t constructor, const char *argument, int64_t index)
{
    const hmath_error *error = hmath_last_error(ctx);
    if (!CHECK(error != NULL))
        return;
    CHECK_INT(error->constructor, constructor);
    CHECK_TEXT(error->argument, argument);
    CHECK_INT(error->index, index);
}

static void test_random__refusals_leave_outputs_alone(void)
{
    hmath_value *rng = seeded(0, 1), *mt = seeded(5, 1), *g = generator(0), *number = NULL;
    hmath_value *const nothing = (hmath_value *)&number;
    hmath_value *out = nothing, *next = nothing;
    double value = -1;
    int64_t integer = -1;
    uint64_t bits = 77;
    const int64_t negative[] = {2, -3}, huge[] = {INT64_MAX, INT64_MAX, 2},
                  big[] = {INT64_MAX / 16}, nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    CHECK_INT(hmath_double_create(ctx, 0.5, &number), HMATH_OK);

    CHECK_INT(hmath_random_uniform(ctx, number, &value, &next), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "rng", -1);
    CHECK_INT(hmath_random_normal(ctx, g, &value, &next), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "rng", -1);
    CHECK_INT(hmath_random_bits(ctx, g, &bits, &next), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "rng", -1);
    CHECK_INT(hmath_random_seed(ctx, rng, 1, &out), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "generator", -1);
    CHECK_INT(hmath_random_generator(ctx, g, &out), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "rng", -1);
    CHECK_INT(hmath_random_jump(ctx, number, &out), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "rng", -1);
    CHECK_INT(hmath_random_jump(ctx, mt, &out), HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "rng", -1);
    CHECK_TEXT(hmath_last_error(ctx)->message,
               "random.jump: rng is mt19937; required a generator that has a jump");

    CHECK_INT(hmath_random_bounded(ctx, 0, rng, &integer, &next), HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "bound", -1);
    CHECK_INT(hmath_random_bounded(ctx, INT64_MIN, rng, &integer, &next), HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "bound", -1);
    CHECK_INT(hmath_random_bounded(ctx, 0, number, &integer, &next), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "rng", -1); /* kinds come first */

    CHECK_INT(hmath_random_uniform_tensor(ctx, 2, negative, rng, &out, &next), HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "shape", 1);
    CHECK_INT(hmath_random_normal_tensor(ctx, 9, nine, rng, &out, &next), HMATH_CHECKED);
    check_error(HMATH_DIMENSION_MISMATCH, "shape", -1);
    CHECK_INT(hmath_random_normal_tensor(ctx, -1, nine, rng, &out, &next), HMATH_CHECKED);
    check_error(HMATH_DIMENSION_MISMATCH, "shape", -1);
    CHECK_INT(hmath_random_normal_tensor(ctx, 2, negative, g, &out, &next), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "rng", -1);
    CHECK_INT(hmath_random_uniform_tensor(ctx, 3, huge, rng, &out, &next), HMATH_NO_MEMORY);
    CHECK_INT(hmath_random_uniform_tensor(ctx, 1, big, rng, &out, &next), HMATH_NO_MEMORY);
    CHECK_INT(hmath_random_permutation(ctx, -1, rng, &out, &next), HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "n", -1);
    CHECK_INT(hmath_random_permutation(ctx, INT64_MAX, rng, &out, &next), HMATH_NO_MEMORY);
    CHECK_INT(hmath_random_permutation(ctx, INT64_MAX / 16, rng, &out, &next), HMATH_NO_MEMORY);
    CHECK_INT(hmath_random_shuffle(ctx, number, g, &out, &next), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "values", -1);
    hmath_value *scalar = NULL;
    CHECK_INT(hmath_tensor_create(ctx, 0, NULL, &value, &scalar), HMATH_OK);
    CHECK_INT(hmath_random_shuffle(ctx, scalar, rng, &out, &next), HMATH_CHECKED);
    check_error(HMATH_DIMENSION_MISMATCH, "values", -1);

    CHECK_INT(hmath_random_uniform(NULL, rng, &value, &next), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_random_uniform(ctx, NULL, &value, &next), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_random_uniform(ctx, rng, NULL, &next), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_random_uniform(ctx, rng, &value, NULL), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_random_uniform_tensor(ctx, 1, NULL, rng, &out, &next), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_random_uniform_tensor(ctx, 1, big, rng, NULL, &next), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_random_shuffle(ctx, NULL, rng, &out, &next), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_random_pcg32_create(ctx, 54, NULL), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_random_seed(ctx, NULL, 1, &out), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_random_load(ctx, NULL, 48, &out), HMATH_BAD_ARGUMENT);

    CHECK(out == nothing && next == nothing);
    CHECK(value == -1 && integer == -1 && bits == 77);
    hmath_release(rng), hmath_release(mt), hmath_release(g), hmath_release(number);
    hmath_release(scalar);
}

/* Every allocation of every call fails once: a status, no output, nothing lost. */
static void test_random__memory_may_run_out_anywhere(void)
{
    const int64_t shape[] = {300, 7};
    hmath_value *rng = seeded(5, 1), *g = generator(5), *items[2], *list = NULL;
    hmath_value *const nothing = (hmath_value *)&list;
    CHECK_INT(hmath_int_create(ctx, 1, &items[0]), HMATH_OK);
    CHECK_INT(hmath_string_create(ctx, "x", 1, &items[1]), HMATH_OK);
    CHECK_INT(hmath_list_create(ctx, (const hmath_value *const *)items, 2, &list), HMATH_OK);
    const int64_t alive = hmath_live_values();
    for (int call = 0; call < 9; call++)
        for (int64_t n = 0;; n++) {
            hmath_value *out = nothing, *next = nothing;
            double value = -1;
            int64_t integer = -1;
            hmath_status st = HMATH_OK;
            hm_test_fail_allocation(n);
            switch (call) {
            case 0: st = hmath_random_mt19937_create(ctx, &out); break;
            case 1: st = hmath_random_seed(ctx, g, 7, &out); break;
            case 2: st = hmath_random_normal(ctx, rng, &value, &next); break;
            case 3: st = hmath_random_bounded(ctx, 7, rng, &integer, &next); break;
            case 4: st = hmath_random_normal_tensor(ctx, 2, shape, rng, &out, &next); break;
            case 5: st = hmath_random_permutation(ctx, 2000, rng, &out, &next); break;
            case 6: st = hmath_random_shuffle(ctx, list, rng, &out, &next); break;
            case 7: st = hmath_random_generator(ctx, rng, &out); break;
            case 8: st = hmath_random_bits(ctx, rng, &(uint64_t){0}, &next); break;
            default: break;
            }
            const int failed = hm_test_allocation_failed();
            hm_test_fail_allocation(-1);
            if (st == HMATH_OK) {
                hmath_release(out == nothing ? NULL : out);
                hmath_release(next == nothing ? NULL : next);
            } else {
                CHECK_INT(st, HMATH_NO_MEMORY);
                CHECK(out == nothing && next == nothing && value == -1 && integer == -1);
            }
            CHECK_INT(hmath_live_values(), alive);
            if (!failed)
                break;
        }
    hmath_release(items[0]), hmath_release(items[1]), hmath_release(list);
    hmath_release(rng), hmath_release(g);
}

/* ---------------------------------------------------------------- names and storing */

static void test_random__generators_tell_name_and_stream(void)
{
    static const char *const names[] = {"pcg32",      "pcg64",      "xoshiro256starstar",
                                        "splitmix64", "philox4x32", "mt19937"};
    for (int which = 0; which < GENERATORS; which++) {
        hmath_value *g = generator(which), *rng = seeded(which, 1), *again = NULL;
        uint64_t stream = 0;
        CHECK_TEXT(hmath_random_generator_name(g), names[which]);
        CHECK_TEXT(hmath_random_generator_name(rng), names[which]);
        CHECK_INT(hmath_kind(g), HMATH_KIND_GENERATOR);
        CHECK_INT(hmath_kind(rng), HMATH_KIND_RNG);
        CHECK_INT(hmath_random_generator_stream(rng, &stream),
                  which < 2 ? HMATH_OK : HMATH_BAD_ARGUMENT);
        CHECK_INT((int64_t)stream, which < 2 ? 54 : 0);
        CHECK_INT(hmath_random_generator(ctx, rng, &again), HMATH_OK);
        CHECK(equal(g, again));
        hmath_release(g), hmath_release(rng), hmath_release(again);
    }
    hmath_value *g = NULL, *rng = NULL;
    uint64_t stream = 0;
    CHECK_INT(hmath_random_pcg64_create(ctx, UINT64_MAX, &g), HMATH_OK);
    CHECK_INT(hmath_random_seed(ctx, g, 0, &rng), HMATH_OK);
    CHECK_INT(hmath_random_generator_stream(rng, &stream), HMATH_OK);
    CHECK(stream == UINT64_MAX);
    hmath_release(g), hmath_release(rng);
    CHECK(hmath_random_generator_name(NULL) == NULL);
    CHECK_INT(hmath_random_saved_size(NULL), -1);
}

static void test_random__saved_states_come_back(void)
{
    unsigned char bytes[4096];
    for (int which = 0; which < GENERATORS; which++)
        for (int normals = 0; normals < 3; normals++) {
            hmath_value *rng = seeded(which, 1), *next = NULL, *back = NULL;
            double z;
            for (int i = 0; i < normals; i++) {
                CHECK_INT(hmath_random_normal(ctx, rng, &z, &next), HMATH_OK);
                step(&rng, next);
            }
            const size_t size = (size_t)hmath_random_saved_size(rng);
            CHECK_INT(hmath_random_save(rng, bytes, size - 1), HMATH_BAD_ARGUMENT);
            CHECK_INT(hmath_random_save(rng, bytes, size), HMATH_OK);
            CHECK_INT(hmath_random_load(ctx, bytes, size, &back), HMATH_OK);
            CHECK_INT(hmath_kind(back), HMATH_KIND_RNG);
            CHECK(equal(rng, back));
            hmath_release(rng), hmath_release(back);

            hmath_value *g = generator(which);
            const size_t small = (size_t)hmath_random_saved_size(g);
            CHECK_INT(hmath_random_save(g, bytes, small), HMATH_OK);
            CHECK_INT(hmath_random_load(ctx, bytes, small, &back), HMATH_OK);
            CHECK_INT(hmath_kind(back), HMATH_KIND_GENERATOR);
            CHECK(equal(g, back));
            hmath_release(g), hmath_release(back);
        }
}

/* Gives a changed state a checksum that fits. */
static void sign(unsigned char *bytes, size_t size)
{
    const uint64_t hash = fnv1a(bytes, size - 8);
    for (int i = 0; i < 8; i++)
        bytes[size - 8 + (size_t)i] = (unsigned char)(hash >> 8 * i);
}

/* Any byte changed or cut off: refused. With a checksum that fits: refused, or a proper value. */
static void test_random__hostile_bytes_are_refused(void)
{
    unsigned char bytes[4096], changed[4096];
    for (int which = 0; which < GENERATORS; which++) {
        hmath_value *rng = seeded(which, 1), *next = NULL, *back = NULL;
        double z;
        CHECK_INT(hmath_random_normal(ctx, rng, &z, &next), HMATH_OK);
        step(&rng, next);
        const size_t size = (size_t)hmath_random_saved_size(rng);
        CHECK_INT(hmath_random_save(rng, bytes, size), HMATH_OK);
        for (size_t cut = 0; cut < size; cut++)
            CHECK_INT(hmath_random_load(ctx, bytes, cut, &back), HMATH_CHECKED);
        CHECK_INT(hmath_random_load(ctx, bytes, size + 1, &back), HMATH_CHECKED);
        for (size_t i = 0; i < size; i++) {
            memcpy(changed, bytes, size);
            changed[i] ^= 0x41;
            CHECK_INT(hmath_random_load(ctx, changed, size, &back), HMATH_CHECKED);
            sign(changed, size);
            hmath_status st = hmath_random_load(ctx, changed, size, &back);
            if (st == HMATH_OK) { /* and whatever it is can be used */
                CHECK(i >= 24);
                CHECK_INT(hmath_random_normal(ctx, back, &z, &next), HMATH_OK);
                CHECK(isfinite(z));
                hmath_release(back), hmath_release(next);
            } else {
                CHECK_INT(st, HMATH_CHECKED);
            }
        }
        memcpy(changed, bytes, size); /* a pending normal that is none */
        memset(changed + 24, 0xff, 8);
        sign(changed, size);
        CHECK_INT(hmath_random_load(ctx, changed, size, &back), HMATH_CHECKED);
        check_error(HMATH_DOMAIN_ERROR, "state", 24);
        hmath_release(rng);
    }
}

int main(void)
{
    if (!CHECK(hmath_context_create(NULL, &ctx) == HMATH_OK))
        return check_report();
    RUN(test_random__old_rng_draws_the_same_again);
    RUN(test_random__filling_is_drawing_one_by_one);
    RUN(test_random__threads_change_nothing);
    RUN(test_random__instruction_sets_change_nothing);
    RUN(test_random__bits_never_change);
    RUN(test_random__normals_follow_box_and_muller);
    RUN(test_random__normals_at_the_edges);
    RUN(test_random__pending_normal_survives_uniforms_and_not_jumps);
    RUN(test_random__bounded_is_lemire);
    RUN(test_random__permutation_is_fisher_yates_from_the_end);
    RUN(test_random__shuffle_moves_numbers_rows_and_values);
    RUN(test_random__shuffle_of_nothing_draws_nothing);
    RUN(test_random__truncated_normals_filled_or_single);
    RUN(test_random__refusals_leave_outputs_alone);
    RUN(test_random__memory_may_run_out_anywhere);
    RUN(test_random__generators_tell_name_and_stream);
    RUN(test_random__saved_states_come_back);
    RUN(test_random__hostile_bytes_are_refused);
    CHECK_INT(hmath_live_values(), 0);
    hmath_context_destroy(ctx);
    return check_report();
}
