/*
 * What the kernel tests share: every kernel table this processor can run, awkward lengths, and
 * doubles of every kind from a small generator of their own.
 */
#ifndef TABLES_H
#define TABLES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "hmath.h"
#include "kernels/kernels.h"

enum { ISA_LAST = HMATH_ISA_NEON };

/* for (int isa = 0; (k = next_table(&isa)); ) ... */
static inline const hm_kernels *next_table(int *isa)
{
    while (++*isa <= ISA_LAST) {
        const hm_kernels *k = hm_kernels_for(*isa);
        if (k)
            return k;
    }
    return NULL;
}

static const int64_t awkward_lengths[] = {0,  1,  2,  3,  4,  5,   7,   8,   9,   15,   16,   17,
                                          31, 32, 33, 63, 65, 100, 127, 128, 255, 1000, 4095, 4096};
enum { AWKWARD_LENGTHS = sizeof awkward_lengths / sizeof awkward_lengths[0], LONGEST = 4096 };

/* Both NaN, or equal to the last bit. */
static inline int same(double a, double b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static inline uint64_t next_word(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Uniform in [0, 1). */
static inline double next_uniform(uint64_t *state)
{
    return (double)(next_word(state) >> 11) * 0x1p-53;
}

/* In [-1, 1) times a power of two of up to 2^spread either way. */
static inline double next_spread(uint64_t *state, int spread)
{
    const int exponent = (int)(next_word(state) % (uint64_t)(2 * spread + 1)) - spread;
    return ldexp(2 * next_uniform(state) - 1, exponent);
}

#endif
