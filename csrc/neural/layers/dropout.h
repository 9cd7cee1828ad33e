/*
 * Inverted dropout: what is kept is divided by the probability of keeping it, so that expectations
 * stay and inference is the identity. The mask comes back with the output, so that a backward pass
 * can replay it: output = input * mask, mask is 0 or 1/(1 - probability).
 */
#ifndef HM_DROPOUT_H
#define HM_DROPOUT_H

#include "neural/layers/record.h"
#include "random/rng.h"
#include "tensor/tensor.h"

typedef struct hm_dropped {
    const hm_tensor *output, *mask; /* a reference each */
    const hm_rng *next;
} hm_dropped;

/* One uniform u an element, row-major, also for probability 0: kept where u >= probability. */
hm_status hm_dropout(hm_context *ctx, const hm_training *mode, double probability,
                     const hm_rng *rng, const hm_tensor *input, hm_dropped *out);

/* Input (N, C, spatial...), rank >= 3: one uniform for each (n, c), shared by all its positions. */
hm_status hm_spatial_dropout(hm_context *ctx, const hm_training *mode, double probability,
                             const hm_rng *rng, const hm_tensor *input, hm_dropped *out);

#endif
