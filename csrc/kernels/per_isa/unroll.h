/*
 * UNROLL(i, begin, end) { ... }: a loop whose bounds are constants once inlined, of which no trace
 * may remain. Arrays of vectors that such loops index live in registers.
 *
 * Where each fused multiply-add is a call (vec.h, MATH_INLINE) nothing lives in registers across
 * it, and a loop stays a loop: unrolled, it would be sixteen calls instead of one, and no faster.
 */
#ifndef HM_UNROLL_H
#define HM_UNROLL_H

#if defined(__x86_64__) && !defined(__FMA__)
#define UNROLL(i, begin, end) for (int i = (begin); i < (end); i++)
#elif defined(__clang__)
#define UNROLL(i, begin, end) \
    _Pragma("clang loop unroll(full)") for (int i = (begin); i < (end); i++)
#else
#define UNROLL(i, begin, end) _Pragma("GCC unroll 16") for (int i = (begin); i < (end); i++)
#endif

#endif
