/*
 * UNROLL(i, begin, end) { ... }: a loop whose bounds are constants once inlined, of which no trace
 * may remain. Arrays of vectors that such loops index live in registers.
 */
#ifndef HM_UNROLL_H
#define HM_UNROLL_H

#if defined(__clang__)
#define UNROLL(i, begin, end) \
    _Pragma("clang loop unroll(full)") for (int i = (begin); i < (end); i++)
#else
#define UNROLL(i, begin, end) _Pragma("GCC unroll 16") for (int i = (begin); i < (end); i++)
#endif

#endif
