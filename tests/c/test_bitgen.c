/* Generators against their published outputs, and against themselves: skipping, filling, jumping.
 */
#include <string.h>

#include "check.h"
#include "kernels/kernels.h"
#include "random/bitgen.h"
#include "random/mt19937.h"

static const hm_bitgen_kind *const kinds[] = {
    &hm_pcg32, &hm_pcg64, &hm_xoshiro256starstar, &hm_splitmix64, &hm_philox4x32, &hm_mt19937,
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static hm_bitgen seeded(const hm_bitgen_kind *kind, uint64_t stream, uint64_t seed)
{
    hm_bitgen g = {.kind = kind};
    kind->seed(&g.state, stream, seed);
    return g;
}

static void draw(hm_bitgen *g, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        (void)hm_next(g);
}

static int same_state(const hm_bitgen *a, const hm_bitgen *b)
{
    return a->kind == b->kind &&
           memcmp(a->state.words, b->state.words, (size_t)a->kind->words * sizeof(uint64_t)) == 0;
}

static void test_bitgen__published_outputs_of_seeds(void)
{
#define VECTOR(generator, seed_, stream_, index_, output_) \
    {#generator, seed_, stream_, index_, output_},
    static const struct {
        const char *name;
        uint64_t seed, stream;
        int64_t index;
        uint64_t output;
    } vectors[] = {
#include "../vectors/random.inc"
    };
#undef VECTOR
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const hm_bitgen_kind *kind = hm_bitgen_kind_by_name(vectors[i].name);
        if (!CHECK(kind != NULL))
            continue;
        hm_bitgen g = seeded(kind, vectors[i].stream, vectors[i].seed);
        draw(&g, vectors[i].index);
        CHECK(hm_next(&g) == vectors[i].output);
    }
}

/* xoshiro256starstar.c with state 1, 2, 3, 4, as in the test "reference" of rand_xoshiro. */
static void test_xoshiro256starstar__published_outputs_of_a_state(void)
{
    static const uint64_t expected[] = {
        11520u,
        0u,
        1509978240u,
        1215971899390074240u,
        1216172134540287360u,
        607988272756665600u,
        16172922978634559625u,
        8476171486693032832u,
        10595114339597558777u,
        2904607092377533576u,
    };
    hm_bitgen g = {.kind = &hm_xoshiro256starstar, .state.xoshiro256 = {1, 2, 3, 4}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        CHECK(hm_next(&g) == expected[i]);
}

/* The jump procedure of xoshiro256starstar.c: the states at the set bits, xored. */
static void jump_by(hm_bitgen *g, const uint64_t polynomial[4])
{
    uint64_t sum[4] = {0, 0, 0, 0};
    for (int bit = 0; bit < 256; bit++) {
        for (int i = 0; i < 4; i++)
            if (polynomial[bit / 64] >> bit % 64 & 1)
                sum[i] ^= g->state.xoshiro256[i];
        (void)hm_next(g);
    }
    memcpy(g->state.xoshiro256, sum, sizeof sum);
}

/*
 * php-src, ext/random/tests/02_engine/xoshiro256starstar_value.phpt: seed 1234, 10,000 outputs,
 * jump by 2^128, long jump by 2^192 (its polynomial is published in xoshiro256starstar.c), then the
 * bytes 1f197e9ca7969123.
 */
static void test_xoshiro256starstar__published_output_after_jumps(void)
{
    static const uint64_t long_jump[4] = {0x76e15d3efefdcbbf, 0xc5004e441c522fb3,
                                          0x77710069854ee241, 0x39109bb02acbe635};
    hm_bitgen g = seeded(&hm_xoshiro256starstar, 0, 1234);
    draw(&g, 10000);
    g.kind->jump(&g.state);
    jump_by(&g, long_jump);
    CHECK(hm_next(&g) == 0x239196a79c7e191f);
}

/* Random123 1.14.0, tests/kat_vectors, "philox4x32 10". Counter and key: the lowest word first. */
static void test_philox4x32__published_outputs_of_counters(void)
{
    static const struct {
        uint32_t counter[4], key[2], output[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        const uint32_t *c = vectors[i].counter, *k = vectors[i].key;
        hm_bitgen g = {
            .kind = &hm_philox4x32,
            .state.philox = {.counter = {(uint64_t)c[1] << 32 | c[0], (uint64_t)c[3] << 32 | c[2]},
                             .key = (uint64_t)k[1] << 32 | k[0]}};
        for (int j = 0; j < 4; j++)
            CHECK(hm_next(&g) == vectors[i].output[j]);
        /* and the block after it starts a block of its own, the counter carrying into every word */
        CHECK(g.state.philox.position == 0);
        CHECK(i != 1 || (g.state.philox.counter[0] | g.state.philox.counter[1]) == 0);
    }
}

/* mt19937ar.out: the first five outputs for init_by_array {0x123, 0x234, 0x345, 0x456}. */
static void test_mt19937__published_outputs_of_a_key_array(void)
{
    static const uint32_t keys[] = {0x123, 0x234, 0x345, 0x456};
    static const uint64_t expected[] = {1067595299, 955945823, 477289528, 4107218783, 4228976476};
    hm_bitgen g = {.kind = &hm_mt19937};
    hm_mt19937_seed_by_array(&g.state, keys, 4);
    for (int i = 0; i < 5; i++)
        CHECK(hm_next(&g) == expected[i]);
}

static void test_mt19937__seeds_beyond_32_bits_are_a_key_array(void)
{
    static const uint32_t keys[] = {0x89abcdef, 0x01234567};
    hm_bitgen expected = {.kind = &hm_mt19937}, g = seeded(&hm_mt19937, 0, 0x0123456789abcdef);
    hm_mt19937_seed_by_array(&expected.state, keys, 2);
    CHECK(same_state(&g, &expected));
}

static void test_bitgen__advance_equals_drawing(void)
{
    static const int64_t distances[] = {0,  1,   2,   3,   4,    5,     7,     8,
                                        31, 255, 256, 257, 1000, 65537, 300001};
    for (size_t k = 0; k < KINDS; k++) {
        if (!kinds[k]->advance)
            continue;
        for (int64_t before = 0; before < 4; before++) { /* philox: every position in a block */
            hm_bitgen slow = seeded(kinds[k], 3, 77);
            draw(&slow, before);
            hm_bitgen start = slow;
            int64_t drawn = 0;
            for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++) {
                draw(&slow, distances[d] - drawn);
                drawn = distances[d];
                hm_bitgen fast = start;
                kinds[k]->advance(&fast.state, (hm_uint128)distances[d]);
                CHECK(same_state(&fast, &slow));
            }
        }
    }
}

/* Distances nobody can draw: a + b at once is a, then b; so is 2^k by doubling from what was drawn.
 */
static void test_bitgen__advance_adds_up(void)
{
    for (size_t k = 0; k < KINDS; k++) {
        if (!kinds[k]->advance)
            continue;
        for (int bit = 0; bit < 127; bit++) {
            hm_bitgen once = seeded(kinds[k], 5, 1), twice = once;
            kinds[k]->advance(&once.state, (hm_uint128)2 << bit);
            kinds[k]->advance(&twice.state, (hm_uint128)1 << bit);
            kinds[k]->advance(&twice.state, (hm_uint128)1 << bit);
            CHECK(same_state(&once, &twice));
        }
    }
}

static void test_bitgen__jump_is_the_documented_distance(void)
{
    static const struct {
        const hm_bitgen_kind *kind;
        int bits;
    } jumps[] = {{&hm_pcg32, 32}, {&hm_splitmix64, 32}, {&hm_pcg64, 64}, {&hm_philox4x32, 64}};
    for (size_t i = 0; i < sizeof jumps / sizeof jumps[0]; i++) {
        hm_bitgen jumped = seeded(jumps[i].kind, 9, 4), advanced = jumped;
        jumped.kind->jump(&jumped.state);
        advanced.kind->advance(&advanced.state, (hm_uint128)1 << jumps[i].bits);
        CHECK(same_state(&jumped, &advanced));
    }
    hm_bitgen jumped = seeded(&hm_xoshiro256starstar, 0, 4), advanced = jumped;
    jumped.kind->jump(&jumped.state);
    for (int half = 0; half < 2; half++)
        advanced.kind->advance(&advanced.state, (hm_uint128)1 << 127);
    CHECK(same_state(&jumped, &advanced));
    CHECK(hm_mt19937.jump == NULL && hm_mt19937.advance == NULL);
}

/* Odd numbers of outputs in front: doubles of a 32-bit generator then straddle blocks and renewals.
 */
static void test_bitgen__filling_equals_drawing(void)
{
    static double filled[5000];
    static const size_t lengths[] = {0, 1, 2, 3, 255, 256, 257, 311, 312, 313, 1000, 5000};
    for (size_t k = 0; k < KINDS; k++)
        for (int64_t before = 0; before < 5; before++)
            for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
                hm_bitgen slow = seeded(kinds[k], 11, 2024);
                draw(&slow, before == 4 ? 623 : before);
                hm_bitgen fast = slow;
                fast.kind->uniforms(hm_kernels_default()->random, &fast.state, filled, lengths[l]);
                int equal = 1;
                for (size_t i = 0; i < lengths[l]; i++) {
                    uint64_t x = hm_next(&slow);
                    double expected =
                        kinds[k]->output_bits == 64
                            ? (double)(x >> 11) / 9007199254740992.0
                            : ((double)(x >> 5) * 67108864.0 + (double)(hm_next(&slow) >> 6)) /
                                  9007199254740992.0;
                    equal &= filled[i] == expected;
                }
                CHECK(equal);
                CHECK(same_state(&fast, &slow));
            }
}

static void test_bitgen__64_bits_take_the_high_word_first(void)
{
    hm_bitgen g = seeded(&hm_pcg32, 54, 42);
    CHECK(hm_next64(&g) == 0xa15c02b77b47f409);
}

static void test_bitgen__kinds_are_found_by_number_and_name(void)
{
    for (size_t k = 0; k < KINDS; k++) {
        CHECK(hm_bitgen_kind_by_number(kinds[k]->number) == kinds[k]);
        CHECK(hm_bitgen_kind_by_name(kinds[k]->name) == kinds[k]);
        hm_bitgen g = seeded(kinds[k], 1, 0);
        CHECK(kinds[k]->valid(&g.state));
    }
    CHECK(hm_bitgen_kind_by_number(0) == NULL);
    CHECK(hm_bitgen_kind_by_name("") == NULL);
}

static void test_bitgen__impossible_states_are_noticed(void)
{
    hm_bit_state s = {{0}};
    CHECK(!hm_pcg32.valid(&s));
    CHECK(!hm_pcg64.valid(&s));
    CHECK(!hm_xoshiro256starstar.valid(&s));
    CHECK(hm_splitmix64.valid(&s));
    CHECK(hm_philox4x32.valid(&s));
    s.philox.position = 4;
    CHECK(!hm_philox4x32.valid(&s));

    hm_bitgen g = seeded(&hm_mt19937, 0, 1);
    g.state.mt19937.position = 0;
    CHECK(!hm_mt19937.valid(&g.state));
    g.state.mt19937.position = 625;
    CHECK(!hm_mt19937.valid(&g.state));
    g.state.mt19937.position = 624;
    memset(g.state.mt19937.key, 0, sizeof g.state.mt19937.key);
    g.state.mt19937.key[0] = 0x7fffffff; /* these bits are never read */
    CHECK(!hm_mt19937.valid(&g.state));
}

int main(void)
{
    test_bitgen__published_outputs_of_seeds();
    test_xoshiro256starstar__published_outputs_of_a_state();
    test_xoshiro256starstar__published_output_after_jumps();
    test_philox4x32__published_outputs_of_counters();
    test_mt19937__published_outputs_of_a_key_array();
    test_mt19937__seeds_beyond_32_bits_are_a_key_array();
    test_bitgen__advance_equals_drawing();
    test_bitgen__advance_adds_up();
    test_bitgen__jump_is_the_documented_distance();
    test_bitgen__filling_equals_drawing();
    test_bitgen__64_bits_take_the_high_word_first();
    test_bitgen__kinds_are_found_by_number_and_name();
    test_bitgen__impossible_states_are_noticed();
    return check_report();
}
