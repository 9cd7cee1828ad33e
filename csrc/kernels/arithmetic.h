/*
 * Arithmetic on tiles of numbers that are known to be finite, for chains of elementwise operations: the
 * bits of elementwise->binary and unary, without a look at the inputs.
 *
 * A step is 1 for a vector, 0 for one number that meets every element. `out` may be an input exactly, or
 * lie apart; n may be 0. The watching form returns true where every result is finite; the plain one looks
 * at nothing, for results that go on into a sum or a product, where infinities and NaN survive.
 */
#ifndef HM_ARITHMETIC_KERNELS_H
#define HM_ARITHMETIC_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum hm_arithmetic {
    HM_ARITHMETIC_ADD,
    HM_ARITHMETIC_SUBTRACT,
    HM_ARITHMETIC_MULTIPLY,
    HM_ARITHMETIC_DIVIDE,
    HM_ARITHMETIC_NEGATE, /* of a; b is ignored in this and the next two */
    HM_ARITHMETIC_SQUARE,
    HM_ARITHMETIC_SQRT,
    HM_ARITHMETICS
} hm_arithmetic;

typedef bool hm_arithmetic_kernel(size_t n, const double *a, size_t a_step, const double *b,
                                  size_t b_step, double *out);

typedef struct hm_arithmetic_kernels {
    hm_arithmetic_kernel *watching[HM_ARITHMETICS], *plain[HM_ARITHMETICS];
} hm_arithmetic_kernels;

#endif
