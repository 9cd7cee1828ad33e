/* What attention does to a row of dot products before its softmax. */
#ifndef HM_ATTENTION_KERNELS_H
#define HM_ATTENTION_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hm_attention_kernels {
    /*
     * score[i] = score[i] * by + bias[i], two roundings, in place; bias may be NULL. Whether the
     * scores that take part are finite: those with allowed[i] != 0, or all where `allowed` is NULL.
     * Any n.
     */
    bool (*scores)(double *score, int64_t n, double by, const double *bias, const uint8_t *allowed);
} hm_attention_kernels;

#endif
