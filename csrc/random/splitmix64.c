/*
 * splitmix64: a counter in steps of the golden ratio, mixed by Stafford's thirteenth variant of the
 * MurmurHash3 finaliser. Output i is a function of seed + i * gamma alone.
 *
 * G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014;
 * S. Vigna's splitmix64.c (2015).
 */
#include "random/splitmix64.h"
#include "random/bitgen.h"

static void seed_splitmix64(hm_bit_state *s, uint64_t stream, uint64_t seed)
{
    (void)stream;
    s->splitmix64 = seed;
}

static uint64_t next_splitmix64(hm_bit_state *s) { return hm_splitmix64_next(&s->splitmix64); }

static void uniforms_splitmix64(const hm_random_kernels *kernels, hm_bit_state *s, double *out,
                                size_t n)
{
    (void)kernels;
    const uint64_t start = s->splitmix64;
    for (size_t i = 0; i < n; i++)
        out[i] = hm_uniform_from_64(hm_splitmix64_mix(start + (i + 1) * HM_SPLITMIX64_GAMMA));
    s->splitmix64 = start + n * HM_SPLITMIX64_GAMMA;
}

static void advance_splitmix64(hm_bit_state *s, hm_uint128 outputs)
{
    s->splitmix64 += (uint64_t)outputs * HM_SPLITMIX64_GAMMA;
}

static void jump_splitmix64(hm_bit_state *s) { advance_splitmix64(s, (hm_uint128)1 << 32); }

static bool valid_splitmix64(const hm_bit_state *s)
{
    (void)s; /* every word is a state */
    return true;
}

const hm_bitgen_kind hm_splitmix64 = {
    .name = "splitmix64",
    .number = 4,
    .output_bits = 64,
    .words = 1,
    .has_stream = false,
    .seed = seed_splitmix64,
    .next = next_splitmix64,
    .uniforms = uniforms_splitmix64,
    .advance = advance_splitmix64,
    .jump = jump_splitmix64,
    .valid = valid_splitmix64,
};
