/*
 * The Mersenne Twister MT19937: a linear recurrence over 624 words, renewed all at once, and a
 * tempering of each word on its way out. There is no short way ahead: a jump would cost more than
 * most fills.
 *
 * M. Matsumoto, T. Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998); initialisation of
 * 2002-01-26.
 */
#include "random/mt19937.h"

enum { N = HM_MT19937_KEYS, M = 397 };

static void seed_by_word(hm_bit_state *s, uint32_t seed)
{
    uint32_t *key = s->mt19937.key;
    key[0] = seed;
    for (uint32_t i = 1; i < N; i++)
        key[i] = UINT32_C(1812433253) * (key[i - 1] ^ key[i - 1] >> 30) + i;
    s->mt19937.position = N;
    s->mt19937.unused = 0;
}

void hm_mt19937_seed_by_array(hm_bit_state *s, const uint32_t *keys, size_t length)
{
    seed_by_word(s, 19650218);
    uint32_t *key = s->mt19937.key;
    size_t i = 1, j = 0;
    for (size_t k = N > length ? N : length; k > 0; k--) {
        key[i] =
            (key[i] ^ (key[i - 1] ^ key[i - 1] >> 30) * UINT32_C(1664525)) + keys[j] + (uint32_t)j;
        if (++i == N) {
            key[0] = key[N - 1];
            i = 1;
        }
        if (++j == length)
            j = 0;
    }
    for (size_t k = N - 1; k > 0; k--) {
        key[i] = (key[i] ^ (key[i - 1] ^ key[i - 1] >> 30) * UINT32_C(1566083941)) - (uint32_t)i;
        if (++i == N) {
            key[0] = key[N - 1];
            i = 1;
        }
    }
    key[0] = UINT32_C(0x80000000); /* so that the state is never all zero */
}

static void seed_mt19937(hm_bit_state *s, uint64_t stream, uint64_t seed)
{
    (void)stream;
    if (seed >> 32) {
        const uint32_t keys[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
        hm_mt19937_seed_by_array(s, keys, 2);
    } else {
        seed_by_word(s, (uint32_t)seed);
    }
}

static inline uint32_t twist(uint32_t upper, uint32_t lower)
{
    uint32_t mixed = (upper & UINT32_C(0x80000000)) | (lower & UINT32_C(0x7fffffff));
    return mixed >> 1 ^ (-(lower & 1) & UINT32_C(0x9908b0df));
}

static void renew(hm_bit_state *s)
{
    uint32_t *key = s->mt19937.key;
    for (int i = 0; i < N - M; i++)
        key[i] = key[i + M] ^ twist(key[i], key[i + 1]);
    for (int i = N - M; i < N - 1; i++)
        key[i] = key[i + M - N] ^ twist(key[i], key[i + 1]);
    key[N - 1] = key[M - 1] ^ twist(key[N - 1], key[0]);
    s->mt19937.position = 0;
}

static inline uint32_t temper(uint32_t y)
{
    y ^= y >> 11;
    y ^= y << 7 & UINT32_C(0x9d2c5680);
    y ^= y << 15 & UINT32_C(0xefc60000);
    return y ^ y >> 18;
}

static inline uint32_t next_word(hm_bit_state *s)
{
    if (s->mt19937.position == N)
        renew(s);
    return temper(s->mt19937.key[s->mt19937.position++]);
}

static uint64_t next_mt19937(hm_bit_state *s) { return next_word(s); }

static void uniforms_mt19937(const hm_random_kernels *kernels, hm_bit_state *s, double *out,
                             size_t n)
{
    (void)kernels;
    while (n > 0) {
        uint32_t position = s->mt19937.position;
        if (position >= N - 1) { /* nothing left, or one half of a double */
            uint32_t high = next_word(s);
            *out++ = hm_uniform_from_32(high, next_word(s));
            n--;
            continue;
        }
        const size_t left = (N - position) / 2, count = n < left ? n : left;
        const uint32_t *word = s->mt19937.key + position;
        for (size_t i = 0; i < count; i++)
            out[i] = hm_uniform_from_32(temper(word[2 * i]), temper(word[2 * i + 1]));
        s->mt19937.position = position + 2 * (uint32_t)count;
        out += count;
        n -= count;
    }
}

/* The recurrence knows 19,937 bits: of the first key only the topmost. */
static bool valid_mt19937(const hm_bit_state *s)
{
    uint32_t any = s->mt19937.key[0] & UINT32_C(0x80000000);
    for (int i = 1; i < N; i++)
        any |= s->mt19937.key[i];
    return any != 0 && s->mt19937.position >= 1 && s->mt19937.position <= N &&
           s->mt19937.unused == 0;
}

const hm_bitgen_kind hm_mt19937 = {
    .name = "mt19937",
    .number = 6,
    .output_bits = 32,
    .words = HM_BIT_STATE_WORDS,
    .has_stream = false,
    .seed = seed_mt19937,
    .next = next_mt19937,
    .uniforms = uniforms_mt19937,
    .advance = NULL,
    .jump = NULL,
    .valid = valid_mt19937,
};
