/*
 * Philox4x32-10: a keyed bijection of a 128-bit counter, ten rounds of two 32x32-bit products each.
 * Counter c gives outputs 4c to 4c + 3; nothing but the counter moves.
 *
 * J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel Random Numbers: As Easy as 1, 2,
 * 3", SC11 (2011).
 */
#include "random/bitgen.h"

enum {
    ROUNDS = 10,
    LANES = 8,                 /* blocks computed side by side, for the compiler to vectorise */
    BATCH_BLOCKS = 16 * LANES, /* held at a time while filling: 2 KB */
    BATCH_WORDS = 4 * BATCH_BLOCKS,
};

static inline hm_uint128 counter_of(const hm_bit_state *s)
{
    return (hm_uint128)s->philox.counter[1] << 64 | s->philox.counter[0];
}

/* One round on one block, for the caller to run side by side. */
static inline void one_round(uint32_t *c0, uint32_t *c1, uint32_t *c2, uint32_t *c3, uint32_t k0,
                             uint32_t k1)
{
    uint64_t p0 = UINT64_C(0xd2511f53) * *c0, p1 = UINT64_C(0xcd9e8d57) * *c2;
    *c0 = (uint32_t)(p1 >> 32) ^ *c1 ^ k0;
    *c1 = (uint32_t)p1;
    *c2 = (uint32_t)(p0 >> 32) ^ *c3 ^ k1;
    *c3 = (uint32_t)p0;
}

/* Blocks counter, counter + 1, ... counter + lanes - 1, word j of block l at out[4 * l + j]. */
static inline void blocks(hm_uint128 counter, uint64_t key, uint32_t *out, const int lanes)
{
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];
    for (int l = 0; l < lanes; l++) {
        hm_uint128 c = counter + (unsigned)l;
        c0[l] = (uint32_t)c;
        c1[l] = (uint32_t)(c >> 32);
        c2[l] = (uint32_t)(c >> 64);
        c3[l] = (uint32_t)(c >> 96);
    }
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < ROUNDS; round++) {
        for (int l = 0; l < lanes; l++)
            one_round(&c0[l], &c1[l], &c2[l], &c3[l], k0, k1);
        k0 += UINT32_C(0x9e3779b9); /* golden ratio */
        k1 += UINT32_C(0xbb67ae85); /* sqrt(3) - 1 */
    }
    for (int l = 0; l < lanes; l++) {
        out[4 * l] = c0[l];
        out[4 * l + 1] = c1[l];
        out[4 * l + 2] = c2[l];
        out[4 * l + 3] = c3[l];
    }
}

/* The counter wraps after 2^130 outputs. */
static void advance_philox(hm_bit_state *s, hm_uint128 outputs)
{
    unsigned position = (unsigned)s->philox.position + (unsigned)(outputs & 3);
    hm_uint128 counter = counter_of(s) + (outputs >> 2) + position / 4;
    s->philox.counter[0] = (uint64_t)counter;
    s->philox.counter[1] = (uint64_t)(counter >> 64);
    s->philox.position = position % 4;
}

static void seed_philox(hm_bit_state *s, uint64_t stream, uint64_t seed)
{
    (void)stream;
    s->philox.counter[0] = s->philox.counter[1] = 0;
    s->philox.key = seed;
    s->philox.position = 0;
}

static uint64_t next_philox(hm_bit_state *s)
{
    uint32_t block[4];
    blocks(counter_of(s), s->philox.key, block, 1);
    uint32_t result = block[s->philox.position];
    advance_philox(s, 1);
    return result;
}

static void uniforms_philox(hm_bit_state *s, double *out, size_t n)
{
    uint32_t words[BATCH_WORDS];
    while (n > 0) {
        const size_t first = (size_t)s->philox.position;
        const size_t room = (BATCH_WORDS - first) / 2, count = n < room ? n : room;
        const size_t needed = (first + 2 * count + 3) / 4;
        for (size_t b = 0; b < needed; b += LANES)
            blocks(counter_of(s) + b, s->philox.key, words + 4 * b, LANES);
        for (size_t i = 0; i < count; i++)
            out[i] = hm_uniform_from_32(words[first + 2 * i], words[first + 2 * i + 1]);
        advance_philox(s, 2 * count);
        out += count;
        n -= count;
    }
}

static void jump_philox(hm_bit_state *s) { advance_philox(s, (hm_uint128)1 << 64); }

static bool valid_philox(const hm_bit_state *s) { return s->philox.position < 4; }

const hm_bitgen_kind hm_philox4x32 = {
    .name = "philox4x32",
    .number = 5,
    .output_bits = 32,
    .words = 4,
    .has_stream = false,
    .seed = seed_philox,
    .next = next_philox,
    .uniforms = uniforms_philox,
    .advance = advance_philox,
    .jump = jump_philox,
    .valid = valid_philox,
};
