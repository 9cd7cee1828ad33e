/*
 * The arithmetic of random draws, element by element, of orthogonal matrices made of them, and of
 * dropout.
 *
 * Pointers need the alignment of a double. n may be 0. What element i becomes depends on element i
 * alone, so that draws are the same one by one as in any batch.
 */
#ifndef HM_RANDOM_KERNELS_H
#define HM_RANDOM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hm_random_kernels {
    /*
     * In place: u[2i] and u[2i+1], uniform on [0, 1) and multiples of 2^-53, become r cos t and r
     * sin t, r = sqrt(-2 log(1 - u[2i])), t = 2 pi u[2i+1].
     */
    void (*box_muller)(double *u, int64_t pairs);

    /*
     * Philox4x32-10 of counters counter, counter + 1, ... (two words, the lower one first) with
     * that key: block i makes the uniforms out[2i] and out[2i+1].
     */
    void (*philox)(const uint64_t counter[2], uint64_t key, double *out, int64_t blocks);

    /* out[i] = e^(-z[i]^2 / 2), for |z[i]| <= 1; in place where out is z. */
    void (*bell)(const double *z, double *out, int64_t n);

    /* x[i] -= c * v[i] with two roundings; v and x do not overlap. */
    void (*subtract)(double c, const double *v, double *x, int64_t n);

    /*
     * Dropout. mask[i], a uniform, becomes `scale` where it is at least `probability`, else 0, and
     * out[i] = x[i] * mask[i]; `spread` does so with one factor for each of `planes` planes of n. If
     * `aside` is 1 it may write the mask past the caches, if it is 2 both. They return whether all of
     * out is finite.
     */
    bool (*drop)(const double *x, int64_t n, double probability, double scale, double *mask,
                 double *out);
    bool (*spread)(const double *x, int64_t planes, int64_t n, const double *factor, int aside,
                   double *mask, double *out);
} hm_random_kernels;

#endif
