/*
 * Chains of arithmetic on tiles of numbers that are known to be finite, for programs: a chain runs through
 * registers, strip by strip, so that what one step hands to the next never touches memory. The bits of
 * elementwise->binary and unary, without a look at the inputs.
 *
 * A step works on a strip of the accumulator (below: a). A vector operand moves along with the strip; a
 * number meets every element, and no step writes it. Operands may have any alignment; what a STORE writes may be
 * read by later steps, and may be an operand of earlier ones exactly, or lie apart. n may be 0.
 */
#ifndef HM_ARITHMETIC_KERNELS_H
#define HM_ARITHMETIC_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hm_chain_code {
    HM_CHAIN_LOAD,          /* a = x; a chain begins with one */
    HM_CHAIN_ADD,           /* a + x */
    HM_CHAIN_SUBTRACT,      /* a - x */
    HM_CHAIN_SUBTRACT_FROM, /* x - a */
    HM_CHAIN_MULTIPLY,      /* a * x */
    HM_CHAIN_DIVIDE,        /* a / x */
    HM_CHAIN_DIVIDE_INTO,   /* x / a */
    HM_CHAIN_ADD_NUMBER,    /* the same six, where x is one number */
    HM_CHAIN_SUBTRACT_NUMBER,
    HM_CHAIN_SUBTRACT_FROM_NUMBER,
    HM_CHAIN_MULTIPLY_NUMBER,
    HM_CHAIN_DIVIDE_NUMBER,
    HM_CHAIN_DIVIDE_INTO_NUMBER,
    HM_CHAIN_NEGATE,                /* -a */
    HM_CHAIN_SQUARE,                /* a * a */
    HM_CHAIN_SQRT,                  /* sqrt(a) */
    HM_CHAIN_ADD_PRODUCT,           /* a + x * y, two roundings; y is one number */
    HM_CHAIN_SUBTRACT_PRODUCT,      /* a - x * y */
    HM_CHAIN_SUBTRACT_FROM_PRODUCT, /* x * y - a */
    HM_CHAIN_ADD_FUSED,             /* x * y + a, rounded once; y is one number */
    HM_CHAIN_STORE,                 /* out = a */
    HM_CHAIN_WATCH                  /* is a finite? */
} hm_chain_code;

typedef struct hm_chain_step {
    int64_t code;
    union {
        const double *x;
        double *out;
    };
    const double *y;
} hm_chain_step;

typedef struct hm_arithmetic_kernels {
    /* True where all that was watched is finite. */
    bool (*chain)(size_t n, const hm_chain_step *steps, int64_t count);
} hm_arithmetic_kernels;

#endif
