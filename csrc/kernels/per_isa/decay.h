/* e^d for d <= 0, within an ulp: vec_exp without what it spends on its last half ulp. */
#ifndef HM_PER_ISA_DECAY_H
#define HM_PER_ISA_DECAY_H

#include "kernels/math/exp.h"

#define DECAY_LEAST (-708.0) /* from here on no result is subnormal */

/* DECAY_LEAST <= d <= 0 */
VEC_INLINE vec decay_fast(vec d)
{
    const vec shifted = vec_fma(d, vec_of(0x1.71547652b82fep+0), vec_of(0x1.8p52)); /* d/ln 2 */
    const vec n = shifted - 0x1.8p52;
    const vec r = vec_fma(n, vec_of(-ln2_parts[1]), vec_fma(n, vec_of(-ln2_parts[0]), d));
    const vec m = 1.0 + vec_fma(r * r, vec_polynomial(r, exp_q, 10), r);
    return vec_from_bits(vec_bits(m) + (vec_bits(shifted) << 52));
}

/* The same bits there; below, with results that are subnormal or 0. */
HM_RARE vec decay_rare(vec d)
{
    const vec least = vec_of(DECAY_LEAST);
    return vec_select(vec_greater_equal(d, least), decay_fast(vec_max(d, least)), vec_exp_rare(d));
}

/* +0 below DECAY_LEAST */
VEC_INLINE vec decay_or_nothing(vec d)
{
    const vec least = vec_of(DECAY_LEAST);
    return vec_keep(vec_greater_equal(d, least), decay_fast(vec_max(d, least)));
}

#endif
