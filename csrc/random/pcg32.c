/*
 * PCG-XSH-RR 64/32: a 64-bit linear congruential state, permuted to 32 bits by a shift-xor and a
 * rotation that the state itself chooses. The output is taken from the state before the step.
 *
 * M. E. O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms for
 * Random Number Generation", HMC-CS-2014-0905 (2014).
 */
#include "random/bitgen.h"

#define MULTIPLIER UINT64_C(6364136223846793005) /* Knuth's, MMIX */

static inline uint32_t permute(uint64_t state)
{
    uint32_t xorshifted = (uint32_t)((state >> 18 ^ state) >> 27);
    uint32_t rotation = (uint32_t)(state >> 59);
    return xorshifted >> rotation | xorshifted << (-rotation & 31);
}

/* The increment is odd: of `stream` the lower 63 bits count. */
static void seed_pcg32(hm_bit_state *s, uint64_t stream, uint64_t seed)
{
    uint64_t increment = stream << 1 | 1;
    s->pcg32.increment = increment;
    s->pcg32.state = (increment + seed) * MULTIPLIER + increment;
}

static uint64_t next_pcg32(hm_bit_state *s)
{
    uint64_t state = s->pcg32.state;
    s->pcg32.state = state * MULTIPLIER + s->pcg32.increment;
    return permute(state);
}

/*
 * The second output of a double comes from a step of its own, the next double from a double step:
 * one multiplication on the critical path instead of two.
 */
static void uniforms_pcg32(const hm_random_kernels *kernels, hm_bit_state *s, double *out, size_t n)
{
    (void)kernels;
    const uint64_t increment = s->pcg32.increment;
    const uint64_t multiplier2 = MULTIPLIER * MULTIPLIER;
    const uint64_t increment2 = increment * (MULTIPLIER + 1);
    uint64_t state = s->pcg32.state;
    for (size_t i = 0; i < n; i++) {
        out[i] = hm_uniform_from_32(permute(state), permute(state * MULTIPLIER + increment));
        state = state * multiplier2 + increment2;
    }
    s->pcg32.state = state;
}

/* n steps are one step with another multiplier and increment, found by doubling.
 * F. B. Brown, "Random Number Generation with Arbitrary Stride", Trans. Am. Nucl. Soc. 71 (1994).
 */
static void advance_pcg32(hm_bit_state *s, hm_uint128 outputs)
{
    uint64_t a = MULTIPLIER, c = s->pcg32.increment; /* of 2^k steps */
    uint64_t total_a = 1, total_c = 0;
    for (uint64_t n = (uint64_t)outputs; n > 0; n >>= 1) { /* the period is 2^64 */
        if (n & 1) {
            total_a *= a;
            total_c = total_c * a + c;
        }
        c *= a + 1;
        a *= a;
    }
    s->pcg32.state = s->pcg32.state * total_a + total_c;
}

static void jump_pcg32(hm_bit_state *s) { advance_pcg32(s, (hm_uint128)1 << 32); }

static bool valid_pcg32(const hm_bit_state *s) { return s->pcg32.increment & 1; }

const hm_bitgen_kind hm_pcg32 = {
    .name = "pcg32",
    .number = 1,
    .output_bits = 32,
    .words = 2,
    .has_stream = true,
    .seed = seed_pcg32,
    .next = next_pcg32,
    .uniforms = uniforms_pcg32,
    .advance = advance_pcg32,
    .jump = jump_pcg32,
    .valid = valid_pcg32,
};
