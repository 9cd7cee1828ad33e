/*
 * Exponentials of a row against its largest entry, and their sum.
 *
 * Sums run in the contract's order (kernels/reduce.h). Each lane adds without losing anything: it
 * starts at 128, above whatever the at most 128 terms of one block in [0, 1] come to, so that the
 * rounding of every addition is itself a double (Dekker's quick sum), and those roundings
 * are summed beside it. The sum comes as high + low, accurate where it is 1 and something tiny.
 */
#ifndef HM_SOFTMAX_KERNELS_H
#define HM_SOFTMAX_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hm_exp_sum {
    double high, low;
} hm_exp_sum;

/*
 * Whether the logarithm of a sum, the largest entry's 1 in it, needs its terms to an ulp or two: it is then about
 * the other terms' sum, each of which is off by its distance from the largest, in ulps, in the quick sums. From
 * 1/64 on a term's distance is at most ln(64 n), and what it is off by within the bounds of losses.
 */
static inline bool hm_exp_sum_is_near_one(hm_exp_sum sum)
{
    return (sum.high - 1.0) + sum.low < 0x1p-6;
}

typedef struct hm_softmax_kernels {
    /*
     * Whole rows of n <= HM_BLOCK elements, n >= 1; out may be x. What underflows is +0. False,
     * with nothing of use in out, where an element is not finite or a logarithm overflows.
     */
    bool (*softmax)(const double *x, int64_t rows, int64_t n, double *out);
    bool (*log_softmax)(const double *x, int64_t rows, int64_t n, double *out);

    /* The same, fetching each row in time: for memory that is far away behind a large second cache. */
    bool (*log_softmax_fetching)(const double *x, int64_t rows, int64_t n, double *out);

    /*
     * One row in which only entries with allowed[i] != 0 take part; the others, whatever they are,
     * come out as +0 and add +0. All +0 where none takes part. n <= HM_BLOCK.
     */
    void (*masked)(const double *x, const uint8_t *allowed, int64_t n, double *out);

    /* The parts of longer rows, a block at a time. x[i] <= most; out may be x. */
    hm_exp_sum (*exponentials)(const double *x, int64_t n, double most, double *out);
    hm_exp_sum (*exponential_sum)(const double *x, int64_t n, double most);
    hm_exp_sum (*accurate_exponential_sum)(const double *x, int64_t n, double most);

    /* The same where only entries with allowed[i] != 0 take part; the others come out as +0. */
    double (*masked_maximum)(const double *x, const uint8_t *allowed, int64_t n); /* any n */
    hm_exp_sum (*masked_exponentials)(const double *x, const uint8_t *allowed, int64_t n,
                                      double most, double *out);

    /* x[i] * by, any n. */
    void (*scale)(const double *x, int64_t n, double by, double *out);

    /* (x[i] - most) - less, any n, and whether all of these are finite. */
    bool (*log_shift)(const double *x, int64_t n, double most, double less, double *out);

    /* The logarithm of a sum in which the largest entry counts as 1. */
    double (*log_of_sum)(hm_exp_sum sum);
} hm_softmax_kernels;

#endif
