/*
 * e^d for d <= 0, to (1 + |d|/6) 2^-52 relatively: the softmax's weights, whose bound (|d| + 8) 2^-52 grows with d
 * like this. The second part of ln 2, 2^-55 of the first, is left out, and the polynomial rounds as it goes.
 */
#ifndef HM_PER_ISA_DECAY_H
#define HM_PER_ISA_DECAY_H

#include "kernels/math/exp.h"
#include "kernels/per_isa/unroll.h"

#define DECAY_LEAST (-708.0) /* from here on no result is subnormal */

/* DECAY_LEAST <= d <= 0 */
VEC_INLINE vec decay_fast(vec d)
{
    const vec shifted = vec_fma(d, vec_of(0x1.71547652b82fep+0), vec_of(0x1.8p52)); /* d/ln 2 */
    const vec n = shifted - 0x1.8p52;
    const vec r = vec_fma(n, vec_of(-0x1.62e42fefa39efp-1), d);
    const vec m = vec_fma(vec_fma(vec_polynomial(r, exp_q, 10), r, vec_of(1.0)), r, vec_of(1.0));
    return vec_from_bits(vec_bits(m) + (vec_bits(shifted) << 52));
}

/*
 * The same for several, a step of all of them at a time: few processors look so far ahead that a chain of so many
 * steps overlaps with the next by itself.
 */
VEC_INLINE void decay_several(const int count, vec *d)
{
    enum { MOST = 4 };
    vec shifted[MOST], r[MOST], square[MOST], odd[MOST], even[MOST];
    UNROLL (k, 0, count)
        shifted[k] = vec_fma(d[k], vec_of(EXP_LOG2_E), vec_of(0x1.8p52));
    UNROLL (k, 0, count)
        r[k] = vec_fma(shifted[k] - 0x1.8p52, vec_of(-0x1.62e42fefa39efp-1), d[k]);
    UNROLL (k, 0, count) {
        square[k] = r[k] * r[k];
        odd[k] = vec_fma(vec_of(exp_q[9]), square[k], vec_of(exp_q[7]));
        even[k] = vec_fma(vec_of(exp_q[8]), square[k], vec_of(exp_q[6]));
    }
    UNROLL (i, 0, 3)
        UNROLL (k, 0, count) {
            odd[k] = vec_fma(odd[k], square[k], vec_of(exp_q[5 - 2 * i]));
            even[k] = vec_fma(even[k], square[k], vec_of(exp_q[4 - 2 * i]));
        }
    UNROLL (k, 0, count)
        odd[k] = vec_fma(vec_fma(odd[k], r[k], even[k]), r[k], vec_of(1.0));
    UNROLL (k, 0, count)
        odd[k] = vec_fma(odd[k], r[k], vec_of(1.0));
    UNROLL (k, 0, count)
        d[k] = vec_from_bits(vec_bits(odd[k]) + (vec_bits(shifted[k]) << 52));
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
