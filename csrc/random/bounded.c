/*
 * Integers below a bound, without bias and nearly without division: the high half of x * bound,
 * where x is drawn again while the low half falls among the 2^w mod bound values that would come
 * once too often. The division that finds them is needed only where the low half is below the
 * bound.
 *
 * D. Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29 (2019), algorithm 5.
 */
#include "random/distributions.h"

#include <assert.h>

static uint64_t bounded64(hm_bitgen *g, uint64_t s)
{
    hm_uint128 m = (hm_uint128)hm_next64(g) * s;
    if ((uint64_t)m < s) {
        const uint64_t t = -s % s; /* 2^64 mod s */
        while ((uint64_t)m < t)
            m = (hm_uint128)hm_next64(g) * s;
    }
    return (uint64_t)(m >> 64);
}

/* The same on words of 32 bits. At s = 2^32 the product is the word, shifted: never rejected. */
static uint64_t bounded32(hm_bitgen *g, uint64_t s)
{
    uint64_t m = hm_next(g) * s;
    if ((uint32_t)m < s) {
        const uint64_t t = (UINT64_C(1) << 32) % s;
        while ((uint32_t)m < t)
            m = hm_next(g) * s;
    }
    return m >> 32;
}

uint64_t hm_draw_bounded(hm_stream *s, uint64_t bound)
{
    assert(bound > 0);
    if (s->bits.kind->output_bits == 32 && bound <= UINT64_C(1) << 32)
        return bounded32(&s->bits, bound);
    return bounded64(&s->bits, bound);
}
