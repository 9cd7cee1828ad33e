/* The dense layer in the pieces that layers made of dense layers need. */
#ifndef HM_LAYERS_DENSE_H
#define HM_LAYERS_DENSE_H

#include "tensor/tensor.h"
#include "tensor/view.h"

typedef struct hm_dense_names {
    const char *weights, *bias;
} hm_dense_names;

/* Step 3: an input has a last axis; weights and bias fit `features`. */
hm_status hm_check_features(hm_context *ctx, const hm_tensor *input);
hm_status hm_check_dense(hm_context *ctx, const hm_dense_names *names, int64_t features,
                         const hm_tensor *weights, const hm_doubles *bias);

/* Step 5. */
hm_status hm_check_dense_finite(hm_context *ctx, const hm_dense_names *names,
                                const hm_tensor *weights, const hm_doubles *bias);

/* *finite: every element of the result is; where an operand is not, it is false. */
hm_status hm_run_dense(hm_context *ctx, const double *input, int64_t rows, const hm_tensor *weights,
                       const hm_doubles *bias, double *out, bool *finite);

#endif
