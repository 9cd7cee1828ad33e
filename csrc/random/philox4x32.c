/*
 * Philox4x32-10: a keyed bijection of a 128-bit counter, ten rounds of two 32x32-bit products each.
 * Counter c gives outputs 4c to 4c + 3; nothing but the counter moves.
 *
 * J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel Random Numbers: As Easy as 1, 2,
 * 3", SC11 (2011).
 */
#include "random/bitgen.h"

enum { ROUNDS = 10 };

static inline hm_uint128 counter_of(const hm_bit_state *s)
{
    return (hm_uint128)s->philox.counter[1] << 64 | s->philox.counter[0];
}

static uint32_t word(hm_uint128 counter, uint64_t key, uint64_t position)
{
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)(counter >> 64),
                     (uint32_t)(counter >> 96)};
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t p0 = UINT64_C(0xd2511f53) * c[0], p1 = UINT64_C(0xcd9e8d57) * c[2];
        c[0] = (uint32_t)(p1 >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)p1;
        c[2] = (uint32_t)(p0 >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)p0;
        k0 += UINT32_C(0x9e3779b9); /* golden ratio */
        k1 += UINT32_C(0xbb67ae85); /* sqrt(3) - 1 */
    }
    return c[position];
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
    const uint64_t result = word(counter_of(s), s->philox.key, s->philox.position);
    advance_philox(s, 1);
    return result;
}

static double uniform(hm_bit_state *s)
{
    const uint32_t high = (uint32_t)next_philox(s);
    return hm_uniform_from_32(high, (uint32_t)next_philox(s));
}

/*
 * Two doubles a block. After an odd number of outputs every second double would straddle two
 * blocks: rare enough to go one by one.
 */
static void uniforms_philox(const hm_random_kernels *kernels, hm_bit_state *s, double *out,
                            size_t n)
{
    while (n > 0 && s->philox.position != 0) {
        *out++ = uniform(s);
        n--;
    }
    kernels->philox(s->philox.counter, s->philox.key, out, (int64_t)(n / 2));
    advance_philox(s, (hm_uint128)(n / 2) * 4);
    if (n % 2)
        out[n - 1] = uniform(s);
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
