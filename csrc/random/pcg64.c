/*
 * PCG-XSL-RR 128/64: a 128-bit linear congruential state whose halves are xored and rotated by the
 * topmost six bits. The output is taken from the state after the step.
 *
 * M. E. O'Neill, as in pcg32.c.
 */
#include "random/bitgen.h"

/* L'Ecuyer's multiplier for a modulus of 2^128. */
#define MULTIPLIER ((hm_uint128)UINT64_C(2549297995355413924) << 64 | UINT64_C(4865540595714422341))

static inline hm_uint128 join(const uint64_t halves[2])
{
    return (hm_uint128)halves[1] << 64 | halves[0];
}

static inline void split(uint64_t halves[2], hm_uint128 x)
{
    halves[0] = (uint64_t)x;
    halves[1] = (uint64_t)(x >> 64);
}

static inline uint64_t permute(hm_uint128 state)
{
    uint64_t xored = (uint64_t)(state >> 64) ^ (uint64_t)state;
    unsigned rotation = (unsigned)(state >> 122);
    return xored >> rotation | xored << (-rotation & 63);
}

static void seed_pcg64(hm_bit_state *s, uint64_t stream, uint64_t seed)
{
    hm_uint128 increment = (hm_uint128)stream << 1 | 1;
    split(s->pcg64.increment, increment);
    split(s->pcg64.state, (increment + seed) * MULTIPLIER + increment);
}

static uint64_t next_pcg64(hm_bit_state *s)
{
    hm_uint128 state = join(s->pcg64.state) * MULTIPLIER + join(s->pcg64.increment);
    split(s->pcg64.state, state);
    return permute(state);
}

/* Two states, each stepping over the other: their multiplications overlap. */
static void uniforms_pcg64(const hm_random_kernels *kernels, hm_bit_state *s, double *out, size_t n)
{
    (void)kernels;
    const hm_uint128 increment = join(s->pcg64.increment);
    const hm_uint128 multiplier2 = MULTIPLIER * MULTIPLIER;
    const hm_uint128 increment2 = increment * (MULTIPLIER + 1);
    hm_uint128 state = join(s->pcg64.state);
    hm_uint128 odd = state * MULTIPLIER + increment, even = odd * MULTIPLIER + increment;
    size_t i = 0;
    for (; i + 2 <= n; i += 2) {
        out[i] = hm_uniform_from_64(permute(odd));
        out[i + 1] = hm_uniform_from_64(permute(even));
        state = even;
        odd = odd * multiplier2 + increment2;
        even = even * multiplier2 + increment2;
    }
    if (i < n) {
        out[i] = hm_uniform_from_64(permute(odd));
        state = odd;
    }
    split(s->pcg64.state, state);
}

/* By doubling, as in pcg32.c. */
static void advance_pcg64(hm_bit_state *s, hm_uint128 outputs)
{
    hm_uint128 a = MULTIPLIER, c = join(s->pcg64.increment); /* of 2^k steps */
    hm_uint128 total_a = 1, total_c = 0;
    for (hm_uint128 n = outputs; n > 0; n >>= 1) {
        if (n & 1) {
            total_a *= a;
            total_c = total_c * a + c;
        }
        c *= a + 1;
        a *= a;
    }
    split(s->pcg64.state, join(s->pcg64.state) * total_a + total_c);
}

static void jump_pcg64(hm_bit_state *s) { advance_pcg64(s, (hm_uint128)1 << 64); }

static bool valid_pcg64(const hm_bit_state *s)
{
    return (s->pcg64.increment[0] & 1) && s->pcg64.increment[1] <= 1; /* of a 64-bit stream */
}

const hm_bitgen_kind hm_pcg64 = {
    .name = "pcg64",
    .number = 2,
    .output_bits = 64,
    .words = 4,
    .has_stream = true,
    .seed = seed_pcg64,
    .next = next_pcg64,
    .uniforms = uniforms_pcg64,
    .advance = advance_pcg64,
    .jump = jump_pcg64,
    .valid = valid_pcg64,
};
