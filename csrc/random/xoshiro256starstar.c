/*
 * xoshiro256**: a linear engine over GF(2) with a multiplicative scrambler.
 *
 * The engine's step is a linear map T of the 256 state bits with characteristic polynomial P, so
 * that n steps are the polynomial x^n mod P applied to T: for every coefficient that is set, the
 * state after as many steps is xored into the result. x^(2^k) mod P stands in a table, and any
 * distance is a few of them in turn. The published jump is the entry for 2^128.
 *
 * D. Blackman, S. Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 47 (2021).
 */
#include "random/bitgen.h"
#include "random/splitmix64.h"
#include "random/xoshiro256_powers.h"

static inline uint64_t rotate_left(uint64_t x, int k) { return x << k | x >> (64 - k); }

static inline uint64_t scramble(const uint64_t s[4]) { return rotate_left(s[1] * 5, 7) * 9; }

static inline void step(uint64_t s[4])
{
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
}

/* Four outputs of splitmix64, as the authors recommend; they are never all zero. */
static void seed_xoshiro256(hm_bit_state *s, uint64_t stream, uint64_t seed)
{
    (void)stream;
    for (int i = 0; i < 4; i++)
        s->xoshiro256[i] = hm_splitmix64_next(&seed);
}

static uint64_t next_xoshiro256(hm_bit_state *s)
{
    uint64_t result = scramble(s->xoshiro256);
    step(s->xoshiro256);
    return result;
}

static void uniforms_xoshiro256(const hm_random_kernels *kernels, hm_bit_state *state, double *out,
                                size_t n)
{
    (void)kernels;
    uint64_t *const words = state->xoshiro256;
    uint64_t s[4] = {words[0], words[1], words[2], words[3]};
    for (size_t i = 0; i < n; i++) {
        out[i] = hm_uniform_from_64(scramble(s));
        step(s);
    }
    for (int i = 0; i < 4; i++)
        words[i] = s[i];
}

static void apply(const uint64_t polynomial[4], uint64_t words[4])
{
    uint64_t s[4] = {words[0], words[1], words[2], words[3]};
    uint64_t sum[4] = {0, 0, 0, 0};
    for (int bit = 0; bit < 256; bit++) {
        uint64_t chosen = -(polynomial[bit / 64] >> bit % 64 & 1); /* all ones or none */
        for (int i = 0; i < 4; i++)
            sum[i] ^= s[i] & chosen;
        step(s);
    }
    for (int i = 0; i < 4; i++)
        words[i] = sum[i];
}

static void advance_xoshiro256(hm_bit_state *s, hm_uint128 outputs)
{
    for (int k = 0; outputs > 0; k++, outputs >>= 1)
        if (outputs & 1)
            apply(power_of_x[k], s->xoshiro256);
}

static void jump_xoshiro256(hm_bit_state *s) { apply(power_of_x[128], s->xoshiro256); }

static bool valid_xoshiro256(const hm_bit_state *s)
{
    return (s->xoshiro256[0] | s->xoshiro256[1] | s->xoshiro256[2] | s->xoshiro256[3]) != 0;
}

const hm_bitgen_kind hm_xoshiro256starstar = {
    .name = "xoshiro256starstar",
    .number = 3,
    .output_bits = 64,
    .words = 4,
    .has_stream = false,
    .seed = seed_xoshiro256,
    .next = next_xoshiro256,
    .uniforms = uniforms_xoshiro256,
    .advance = advance_xoshiro256,
    .jump = jump_xoshiro256,
    .valid = valid_xoshiro256,
};
