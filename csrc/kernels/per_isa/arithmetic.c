/*
 * One interpreter for all chains. A strip of eight vectors stays in registers from step to step; the jump
 * to the next step is the same for every strip, so that the processor foresees it, and a slow step (a
 * quotient, a root) of one strip overlaps with the quick ones of the next.
 */
#include <math.h>

#include "kernels/arithmetic.h"
#include "kernels/math/sqrt.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/unroll.h"
#include "kernels/vec/vec.h"

enum { STRIP_VECTORS = 8, STRIP = STRIP_VECTORS * VEC_WIDTH };

/* Vector j of an operand's strip; beyond a last strip's n numbers one of them again. */
VEC_INLINE vec part(const double *x, size_t n, int j, bool whole)
{
    return whole ? vec_load(x + j * VEC_WIDTH) : vec_load_padded(x, n);
}

VEC_INLINE void keep(double *out, size_t n, int j, bool whole, vec a)
{
    if (whole)
        vec_store(out + j * VEC_WIDTH, a);
    else
        vec_store_partial(out, n, a);
}

/* Where a fused multiply-add is an instruction, a division by one number is three of them. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
enum { MULTIPLIES_FAST = 1 };
#else
enum { MULTIPLIES_FAST = 0 };
#endif

/* Are all numbers of a strip within 2^-800 ... 2^800? */
VEC_INLINE bool are_moderate(const int vectors, const vec *a)
{
    vec least = vec_abs(a[0]), most = least;
    UNROLL (j, 1, vectors) {
        least = vec_min(vec_abs(a[j]), least);
        most = vec_max(vec_abs(a[j]), most);
    }
    return vec_mask_all(vec_mask_and(vec_less_equal(vec_of(0x1p-800), least),
                                     vec_less_equal(most, vec_of(0x1p800))));
}

/*
 * Quotients as division rounds them: y = 1/b rounded to nearest, q = a y rounded, and q + (a - b q) y is
 * a/b rounded to nearest (Brisebarre, Muller and Raina 2004), as long as nothing on the way leaves the
 * normal numbers. (True for all pairs of numbers of 3 to 12 bits.)
 */
VEC_INLINE void divide_by_number(const int vectors, vec *a, double b)
{
    const bool moderate = fabs(b) >= 0x1p-100 && fabs(b) <= 0x1p100;
    const vec divisor = vec_of(b);
    if (MULTIPLIES_FAST && moderate && are_moderate(vectors, a)) {
        const vec y = vec_of(1 / b);
        UNROLL (j, 0, vectors) {
            const vec q = a[j] * y;
            a[j] = vec_fma(vec_fma(-q, divisor, a[j]), y, q);
        }
    } else {
        UNROLL (j, 0, vectors)
            a[j] = a[j] / divisor;
    }
}

/* Roots that leave the divider to the quotients about them, where multiply-adds can take them. */
VEC_INLINE void take_roots(const int vectors, vec *a)
{
#ifdef __AVX512F__
    vec_mask ordinary = vec_sqrt_ordinary(a[0]);
    UNROLL (j, 1, vectors)
        ordinary = vec_mask_and(ordinary, vec_sqrt_ordinary(a[j]));
    if (HM_LIKELY(vec_mask_all(ordinary))) {
        UNROLL (j, 0, vectors)
            a[j] = vec_sqrt_fast(a[j]);
        return;
    }
#endif
    UNROLL (j, 0, vectors)
        a[j] = vec_sqrt(a[j]);
}

#define EACH(expression) \
    UNROLL (j, 0, vectors) \
        a[j] = (expression); \
    break

#define X part(s->x + at, n, j, whole)

/* The chain on numbers at ... at + n - 1: `vectors` whole vectors, or n numbers of one. */
VEC_INLINE vec strip(const int vectors, const bool whole, size_t at, size_t n,
                     const hm_chain_step *steps, int64_t count)
{
    vec a[STRIP_VECTORS], taint[2] = {vec_of(0.0), vec_of(0.0)};
    UNROLL (j, 0, STRIP_VECTORS)
        a[j] = vec_of(0.0);
    for (const hm_chain_step *s = steps; s < steps + count; s++) {
        switch ((hm_chain_code)s->code) {
        case HM_CHAIN_LOAD: EACH(X);
        case HM_CHAIN_ADD: EACH(a[j] + X);
        case HM_CHAIN_SUBTRACT: EACH(a[j] - X);
        case HM_CHAIN_SUBTRACT_FROM: EACH(X - a[j]);
        case HM_CHAIN_MULTIPLY: EACH(a[j] * X);
        case HM_CHAIN_DIVIDE: EACH(a[j] / X);
        case HM_CHAIN_DIVIDE_INTO: EACH(X / a[j]);
        case HM_CHAIN_ADD_NUMBER: EACH(a[j] + vec_broadcast(s->x));
        case HM_CHAIN_SUBTRACT_NUMBER: EACH(a[j] - vec_broadcast(s->x));
        case HM_CHAIN_SUBTRACT_FROM_NUMBER: EACH(vec_broadcast(s->x) - a[j]);
        case HM_CHAIN_MULTIPLY_NUMBER: EACH(a[j] * vec_broadcast(s->x));
        case HM_CHAIN_DIVIDE_NUMBER: divide_by_number(vectors, a, *s->x); break;
        case HM_CHAIN_DIVIDE_INTO_NUMBER: EACH(vec_broadcast(s->x) / a[j]);
        case HM_CHAIN_NEGATE: EACH(-a[j]);
        case HM_CHAIN_SQUARE: EACH(a[j] * a[j]);
        case HM_CHAIN_SQRT: take_roots(vectors, a); break;
        case HM_CHAIN_ADD_PRODUCT: EACH(a[j] + X * vec_broadcast(s->y));
        case HM_CHAIN_SUBTRACT_PRODUCT: EACH(a[j] - X * vec_broadcast(s->y));
        case HM_CHAIN_SUBTRACT_FROM_PRODUCT: EACH(X * vec_broadcast(s->y) - a[j]);
        case HM_CHAIN_ADD_FUSED: EACH(vec_fma(X, vec_broadcast(s->y), a[j]));
        case HM_CHAIN_STORE: {
            double *const out = s->out + at;
            UNROLL (j, 0, vectors)
                keep(out, n, j, whole, a[j]);
            break;
        }
        case HM_CHAIN_WATCH:
            UNROLL (j, 0, vectors)
                taint[j & 1] = vec_taint(taint[j & 1], a[j]);
            break;
        }
    }
    return taint[0] + taint[1];
}

static bool chain(size_t n, const hm_chain_step *steps, int64_t count)
{
    vec taint = vec_of(0.0);
    size_t at = 0;
    for (; at + STRIP <= n; at += STRIP)
        taint += strip(STRIP_VECTORS, true, at, STRIP, steps, count);
    for (; at < n; at += VEC_WIDTH)
        taint += strip(1, false, at, n - at < VEC_WIDTH ? n - at : VEC_WIDTH, steps, count);
    return !vec_is_tainted(taint);
}

extern const hm_arithmetic_kernels HM_K(arithmetic);
const hm_arithmetic_kernels HM_K(arithmetic) = {.chain = chain};
