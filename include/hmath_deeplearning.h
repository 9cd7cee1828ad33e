#ifndef HMATH_DEEPLEARNING_H
#define HMATH_DEEPLEARNING_H

#include "hmath.h"
#include "hmath_autodiff.h"
#include "hmath_random.h"
#include "hmath_tensor.h"

#if defined(__cplusplus) && !defined(HMATH_CDEF)
extern "C" {
#endif

/* ================================================================ Core */

/* ---------------------------------------------------------------- end of Core */

/* ================================================================ Layers */

/*
 * Layouts. Dense features stand on the last axis, weights are [out, in]. Convolution and pooling inputs
 * are [N, C, spatial...] with one to three spatial axes, convolution weights [Cout, Cin/groups,
 * kernel...], those of the transposed convolution [Cin, Cout/groups, kernel...]. Attention takes
 * [sequence, feature]; true in a mask lets a key take part.
 *
 * Tensors are Double (161). A list argument [Double] takes a rank-1 Double tensor as well, [[Double]] a
 * rank-2 one. Every function rejects a NaN or an infinity in what it reads (NonFinite), and its result
 * does not depend on threads, instruction set or on what else stands in the batch.
 *
 * Statuses, unless said otherwise: HMATH_OK, HMATH_BAD_ARGUMENT (a null handle or context),
 * HMATH_NO_MEMORY, HMATH_BUSY, and HMATH_CHECKED with the MathErrors listed; TypeMismatch where an
 * argument is of another kind. Nothing is written to *out on failure.
 */

/* ---- selectors and records: never validated here; the operations that use them check ---- */

/** Training (277): whether a layer learns or is put to use. */
HMATH_CALL hmath_neural_layers_training_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_layers_inference_create(hmath_context *ctx, hmath_value **out);

/** PoolMode (281): the largest element of a window, or the mean of its real ones. */
HMATH_CALL hmath_neural_layers_max_pool_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_layers_average_pool_create(hmath_context *ctx, hmath_value **out);

/**
 * Initializer (279). Xavier: uniform in +-sqrt(6/(fan_in + fan_out)), or normal with deviation
 * sqrt(2/(fan_in + fan_out)) (Glorot and Bengio 2010). Kaiming: +-sqrt(6/fan_in), sqrt(2/fan_in) (He et
 * al. 2015).
 */
HMATH_CALL hmath_neural_layers_xavier_uniform_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_layers_xavier_normal_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_layers_kaiming_uniform_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_layers_kaiming_normal_create(hmath_context *ctx, hmath_value **out);

/** A random orthogonal matrix times scale (Saxe et al. 2014). @param scale  Double */
HMATH_CALL hmath_neural_layers_orthogonal_create(hmath_context *ctx, const hmath_value *scale,
                                                 hmath_value **out);

/**
 * mean + standard_deviation * z with |z| <= bound: the bound counts standard deviations.
 * @param mean, standard_deviation, bound  Double; used with standard_deviation >= 0, bound > 0
 */
HMATH_CALL hmath_neural_layers_truncated_normal_create(hmath_context *ctx, const hmath_value *mean,
                                                       const hmath_value *standard_deviation,
                                                       const hmath_value *bound, hmath_value **out);

/**
 * ConvOptions (280): stride, padding and dilation with one entry a spatial axis, and the number of
 * channel groups. The readers give the fields back.
 * @param stride, padding, dilation  [Int]; used with stride >= 1, padding >= 0, dilation >= 1
 * @param groups                     Int; used with groups >= 1
 */
HMATH_CALL hmath_neural_layers_conv_options_create(hmath_context *ctx, const hmath_value *stride,
                                                   const hmath_value *padding,
                                                   const hmath_value *dilation,
                                                   const hmath_value *groups, hmath_value **out);
HMATH_CALL hmath_neural_layers_convolution_stride(hmath_context *ctx, const hmath_value *options,
                                                  hmath_value **out);
HMATH_CALL hmath_neural_layers_convolution_padding(hmath_context *ctx, const hmath_value *options,
                                                   hmath_value **out);
HMATH_CALL hmath_neural_layers_convolution_dilation(hmath_context *ctx, const hmath_value *options,
                                                    hmath_value **out);
HMATH_CALL hmath_neural_layers_convolution_groups(hmath_context *ctx, const hmath_value *options,
                                                  hmath_value **out);

/**
 * BatchNormState (278): running statistics with one entry a channel, and how many batches they have
 * seen. The readers give the fields back: [Double], [Double], Int.
 * @param running_mean, running_variance  [Double]; used with running_variance >= 0
 * @param batches_seen                    Int
 */
HMATH_CALL hmath_neural_layers_batch_norm_state_create(hmath_context *ctx,
                                                       const hmath_value *running_mean,
                                                       const hmath_value *running_variance,
                                                       const hmath_value *batches_seen,
                                                       hmath_value **out);
HMATH_CALL hmath_neural_layers_running_mean(hmath_context *ctx, const hmath_value *state,
                                            hmath_value **out);
HMATH_CALL hmath_neural_layers_running_variance(hmath_context *ctx, const hmath_value *state,
                                                hmath_value **out);
HMATH_CALL hmath_neural_layers_batches_seen(hmath_context *ctx, const hmath_value *state,
                                            hmath_value **out);

/* ---------------------------------------------------------------- end of Layers */

/* ================================================================ Precision */

/* ---------------------------------------------------------------- end of Precision */

/* ================================================================ Metrics */

/* ---------------------------------------------------------------- end of Metrics */

#if defined(__cplusplus) && !defined(HMATH_CDEF)
}
#endif

#endif
