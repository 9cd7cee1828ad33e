/* Weights to start training from. */
#ifndef HM_INITIALISE_H
#define HM_INITIALISE_H

#include "neural/layers/record.h"
#include "random/rng.h"
#include "tensor/tensor.h"

typedef struct hm_initialised {
    const hm_tensor *weights; /* a reference each */
    const hm_rng *next;
} hm_initialised;

/* Filled row-major, from the distribution that `method` names: initialise.c lists them. */
hm_status hm_initialize_weights(hm_context *ctx, const hm_initializer *method, int64_t fan_in,
                                int64_t fan_out, const hm_ints *shape, const hm_rng *rng,
                                hm_initialised *out);

#endif
