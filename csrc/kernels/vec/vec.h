/*
 * The vector vocabulary: one source, every instruction set, the same bits.
 *
 * A `vec` holds VEC_WIDTH doubles, a `vec_int` as many 64-bit integers, a `vec_mask` one truth
 * value a lane. The operators + - * / and unary - work on vec lane by lane, + - & | ^ ~ << on
 * vec_int, where they wrap; a plain number beside a vec is broadcast. Everything below means exactly the same on
 * every instruction set, NaN, signed zeros and subnormals included, except that the payload and
 * sign of a NaN are unspecified.
 *
 * VEC_WIDTH is the machine's. A result must never depend on it: elementwise kernels need no care,
 * sums run over the 32 lanes of the numerics contract, VEC_PER_CONTRACT vectors of them
 * (vec_fold_add).
 *
 *   vec_avx512.h 8 lanes      vec_avx2.h 4 lanes      vec_portable.h 2 lanes: SSE2, NEON, others
 */
#ifndef HM_VEC_H
#define HM_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VEC_INLINE static inline __attribute__((always_inline))

/*
 * Functions of kernels/math, and whatever else is long. Where each fused multiply-add is a call of
 * its own there is nothing to gain from inlining them, and copies of them all over would double the
 * library.
 */
#if defined(__x86_64__) && !defined(__FMA__)
#define MATH_INLINE static __attribute__((noinline, unused))
#else
#define MATH_INLINE VEC_INLINE
#endif

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
enum { VEC_WIDTH = 8 };
#elif defined(__AVX2__) && defined(__FMA__)
enum { VEC_WIDTH = 4 };
#else
enum { VEC_WIDTH = 2 };
#endif

enum { VEC_CONTRACT_LANES = 32, VEC_PER_CONTRACT = VEC_CONTRACT_LANES / VEC_WIDTH };

typedef double vec __attribute__((vector_size(8 * VEC_WIDTH)));
typedef int64_t vec_int __attribute__((vector_size(8 * VEC_WIDTH)));
typedef double vec_unaligned __attribute__((vector_size(8 * VEC_WIDTH), aligned(8), may_alias));
typedef float vec_floats __attribute__((vector_size(4 * VEC_WIDTH)));
typedef float vec_floats_unaligned
    __attribute__((vector_size(4 * VEC_WIDTH), aligned(4), may_alias));

VEC_INLINE vec vec_of(double x) { return x - (vec){0.0}; /* -0 stays -0 */ }

VEC_INLINE vec_int vec_int_of(int64_t i) { return i - (vec_int){0}; }

VEC_INLINE vec_int vec_bits(vec x) /* the same 64 bits a lane, read as an integer */
{
    return (vec_int)x;
}

VEC_INLINE vec vec_from_bits(vec_int i) { return (vec)i; }

/* No address needs more than the alignment of a double. */
VEC_INLINE vec vec_load(const double *p) { return *(const vec_unaligned *)p; }

VEC_INLINE void vec_store(double *p, vec x) { *(vec_unaligned *)p = x; }

VEC_INLINE vec vec_broadcast(const double *p) { return vec_of(*p); }

/*
 * What the three files define:
 *
 *   vec_load_partial(p, n)   lanes 0 .. n-1 from p, zeros beyond, no other byte touched; n <= VEC_WIDTH
 *   vec_load_padded(p, n)    the same with p[0] beyond, for functions that 0 would surprise; n >= 1
 *   vec_store_partial(p, n, x)
 *   vec_store_apart(p, x)    lane l to p[2*l]; what lies between is not touched
 *   vec_fma(a, b, c)         a*b + c, rounded once, on every machine
 *   vec_fnma(a, b, c)        c - a*b, likewise
 *   vec_sqrt(x)              correctly rounded; NaN below 0
 *   vec_min(a, b)            a < b ? a : b, so b where either is NaN, or both are zeros
 *   vec_max(a, b)            a > b ? a : b
 *   vec_less  vec_less_equal  vec_equal  vec_not_equal (a, b)
 *                            a vec_mask, false on NaN but for not_equal
 *   vec_int_equal  vec_int_greater (a, b)
 *   vec_int_has_bit(i, bit)  of a power of two
 *   vec_mask_and  vec_mask_or  vec_mask_not  vec_mask_any  vec_mask_all
 *   vec_select(m, a, b)      a where m, else b;  vec_int_select
 *   vec_keep(m, a)           a where m, else +0
 *   vec_shift_right(i, n)    arithmetic, n a constant;  vec_shift_right_logical
 *   vec_int_product32(a, b)  of the lower 32 bits of each lane, unsigned, 64 bits of result
 *   vec_table_four(t, from, i, out)  lane l of out[k] is t[i_l & 15][from + k], k < 4; not on AVX-512
 *   vec_even  vec_odd (a, b) lanes 0, 2, 4 ... (1, 3, 5 ...) of a and then of b
 *   vec_zip_low  vec_zip_high (a, b)  and back: a0, b0, a1, b1 ..., first and second half
 *   vec_pair_lefts  vec_pair_rights  as vec_even and vec_odd, the lanes in whatever order is cheapest;
 *                            vec_in_pair_order(x) is x in that order, and in its own one again if twice
 *   vec_pairs_low  vec_pairs_high    as vec_zip_low and vec_zip_high, of lanes in that order
 *   vec_store_aside(p, x)    past the caches, p at a multiple of a vector's size; before another thread may
 *                            look, vec_store_aside_done()
 *   vec_sum_halves(x)        x folded onto itself: lane i takes lane i + h, for h = VEC_WIDTH/2, ..., 2, 1
 *   vec_largest(x)           largest lane; some NaN or not where a lane is NaN, so check for NaN elsewhere; of
 *                            +0 and -0 either
 *   vec_taint(t, x)          t + 0 x: a zero stays zero until x is infinite or NaN, then it is NaN
 */
#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "kernels/vec/vec_avx512.h"
#elif defined(__AVX2__) && defined(__FMA__)
#include "kernels/vec/vec_avx2.h"
#else
#include "kernels/vec/vec_portable.h"
#endif

/* ---- composed of the above ---- */

VEC_INLINE vec_mask vec_greater(vec a, vec b) { return vec_less(b, a); }

VEC_INLINE vec_mask vec_greater_equal(vec a, vec b) { return vec_less_equal(b, a); }

VEC_INLINE vec_mask vec_is_nan(vec x) { return vec_not_equal(x, x); }

VEC_INLINE vec vec_abs(vec x) { return vec_from_bits(vec_bits(x) & vec_int_of(INT64_MAX)); }

VEC_INLINE vec_int vec_sign_bit(vec x) { return vec_bits(x) & vec_int_of(INT64_MIN); }

/* magnitude's bits with sign's sign */
VEC_INLINE vec vec_copy_sign(vec magnitude, vec sign)
{
    return vec_from_bits((vec_bits(magnitude) & vec_int_of(INT64_MAX)) | vec_sign_bit(sign));
}

/* x, its sign turned where s is negative */
VEC_INLINE vec vec_turn_sign(vec x, vec s) { return vec_from_bits(vec_bits(x) ^ vec_sign_bit(s)); }

/* 1.0 where m, else +0: what comparisons return to users */
VEC_INLINE vec vec_truth(vec_mask m) { return vec_keep(m, vec_of(1.0)); }

/* False exactly for infinities and NaN. */
VEC_INLINE vec_mask vec_is_finite(vec x)
{
    return vec_less_equal(vec_abs(x), vec_of(0x1.fffffffffffffp+1023));
}

/* Was any x given to vec_taint infinite or NaN? */
VEC_INLINE bool vec_is_tainted(vec t) { return vec_mask_any(vec_is_nan(t)); }

/*
 * Nearest integer, ties to even, for |x| <= 2^51; zero comes out as +0. Adding 1.5 * 2^52 leaves no
 * room for a fraction; the sum's low bits are then the integer itself in two's complement.
 */
VEC_INLINE vec vec_round(vec x) { return (x + 0x1.8p52) - 0x1.8p52; }

VEC_INLINE vec_int vec_round_to_int(vec x)
{
    return vec_bits(x + 0x1.8p52) - vec_int_of(0x4338000000000000);
}

/* Exact for |i| <= 2^51. */
VEC_INLINE vec vec_from_int(vec_int i)
{
    return vec_from_bits(i + vec_int_of(0x4338000000000000)) - 0x1.8p52;
}

/* 2^i for -1022 <= i <= 1023 */
VEC_INLINE vec vec_power_of_two(vec_int i) { return vec_from_bits((i + vec_int_of(1023)) << 52); }

VEC_INLINE vec vec_load_floats(const float *p)
{
#if defined(__AVX512F__) /* GCC 12 makes two halves of the conversion */
    return _mm512_cvtps_pd(_mm256_loadu_ps(p));
#endif
    return __builtin_convertvector(*(const vec_floats_unaligned *)p, vec);
}

/* Rounded to nearest, ties to even. */
VEC_INLINE void vec_store_floats(float *p, vec x)
{
    *(vec_floats_unaligned *)p = __builtin_convertvector(x, vec_floats);
}

/* Of four vectors that stand `apart` from each other. */
VEC_INLINE vec vec_fold_four(const vec *lanes, int apart)
{
    return (lanes[0] + lanes[2 * apart]) + (lanes[apart] + lanes[3 * apart]);
}

/*
 * The 32 lanes of the numerics contract, folded 16, 8, 4, 2, 1; lanes[k] holds contract lanes
 * k*VEC_WIDTH .... Written as a loop it stays one, and GCC keeps the lanes in memory for its sake.
 */
VEC_INLINE double vec_fold_add(const vec lanes[VEC_PER_CONTRACT])
{
    if (VEC_PER_CONTRACT == 4)
        return vec_sum_halves(vec_fold_four(lanes, 1));
    if (VEC_PER_CONTRACT == 8)
        return vec_sum_halves(vec_fold_four(lanes, 2) + vec_fold_four(lanes + 1, 2));
    return vec_sum_halves((vec_fold_four(lanes, 4) + vec_fold_four(lanes + 2, 4)) +
                          (vec_fold_four(lanes + 1, 4) + vec_fold_four(lanes + 3, 4)));
}

/* Like vec_largest. */
VEC_INLINE double vec_smallest(vec x) { return -vec_largest(-x); }

#endif
