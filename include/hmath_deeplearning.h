/**
 * hmath_deeplearning.h: the neural operations, and with them everything else.
 *
 * Every function here has one shape, so that any runtime can bind all of them from a table: a context, one
 * Value an argument, scalars too, and the place of the result. hmath.h says how to make and read Values,
 * hmath_tensor.h tensors, hmath_random.h generators, hmath_autodiff.h graphs. Selectors (ReLU, Mean,
 * MaxPool) are Values that have constructors; a Maybe argument may be NULL. In a few lines:
 *
 *     const double logits[] = {0, 1.0986122886681098}, *p; // log 3
 *     size_t n;
 *     hmath_value *values = NULL, *probabilities = NULL;
 *     if (hmath_list_from_doubles(ctx, logits, 2, &values) == HMATH_OK &&
 *         hmath_neural_core_softmax(ctx, values, &probabilities) == HMATH_OK &&
 *         hmath_list_doubles(probabilities, &p, &n) == HMATH_OK)
 *         printf("%.4f %.4f\n", p[0], p[1]);               // 0.2500 0.7500
 *     else if (hmath_last_error(ctx))
 *         fprintf(stderr, "%s\n", hmath_last_error(ctx)->message);
 *     hmath_release(probabilities);
 *     hmath_release(values);
 *
 * In order: Core (activations, softmax family, losses, CTC), Layers, Precision, Metrics, Graphs.
 */
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

/*
 * A [Double] argument is a list of doubles; a rank-1 Double tensor (161) serves as well. A [[Double]]
 * is a list of equally long lists, or a rank-2 Double tensor. Results that are lists come in the
 * container of the argument named with them.
 *
 * Statuses, unless said otherwise: HMATH_OK, HMATH_BAD_ARGUMENT (a null handle or context),
 * HMATH_NO_MEMORY, HMATH_BUSY, and HMATH_CHECKED with the MathErrors listed; in every function also
 * TypeMismatch, where an argument is of another kind. The first failure in this order is the one
 * reported: kinds; parameters; ranks and lengths; emptiness; elements, argument by argument; the
 * result. Every NaN and infinity in an argument is NonFinite. Nothing is written to *out on failure.
 */

/* ---- selectors: never validated here; the operations that use one check its parameter ---- */

/**
 * Activation (274). s is the logistic function, Phi and phi the normal distribution's; f and f':
 *
 *     Sigmoid      s(x)                              s(x) (1 - s(x))
 *     Tanh         tanh x                            1 - tanh^2 x
 *     ReLU         max(0, x)                         1 for x > 0, else 0
 *     SELU         l ELU_a(x)                        l for x > 0, else l a e^x
 *                  l = 1.0507009873554805, a = 1.6732632423543772 (Klambauer et al. 2017)
 *     GELU         x Phi(x), exact, no fit           Phi(x) + x phi(x)
 *     SiLU         x s(x)                            s(x) (1 + x (1 - s(x)))
 *     Mish         x tanh(ln(1 + e^x))               analytic (Misra 2019)
 *     Softplus     ln(1 + e^x)                       s(x)
 *     Softsign     x / (1 + |x|)                     1 / (1 + |x|)^2
 *     HardSigmoid  clamp(x/6 + 1/2, 0, 1)            1/6 on (-3, 3), else 0
 *     HardSwish    x HardSigmoid(x)                  0 for x <= -3, 1 for x >= 3, else x/3 + 1/2
 */
HMATH_CALL hmath_neural_core_sigmoid_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_tanh_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_relu_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_selu_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_gelu_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_silu_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_mish_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_softplus_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_softsign_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_hard_sigmoid_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_hard_swish_create(hmath_context *ctx, hmath_value **out);

/**
 * Activations with a parameter: x for x > 0, else parameter*x (LeakyReLU, PReLU) or
 * parameter*(e^x - 1) (ELU). At 0 the derivative is the left one.
 * @param parameter  Double; used with a finite slope, an ELU alpha above 0
 */
HMATH_CALL hmath_neural_core_leaky_relu_create(hmath_context *ctx, const hmath_value *parameter,
                                               hmath_value **out);
HMATH_CALL hmath_neural_core_prelu_create(hmath_context *ctx, const hmath_value *parameter,
                                          hmath_value **out);
HMATH_CALL hmath_neural_core_elu_create(hmath_context *ctx, const hmath_value *parameter,
                                        hmath_value **out);

/** Reduction (276): add the elementwise losses, or divide that by how many there are. */
HMATH_CALL hmath_neural_core_sum_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_mean_create(hmath_context *ctx, hmath_value **out);

/**
 * Loss (275) of a target t and a prediction p, e = p - t; the derivative is with respect to p:
 *
 *     MeanSquaredError         e^2                             2e
 *     MeanAbsoluteError        |e|                             sign e, 0 at 0
 *     BinaryCrossEntropy       -t ln p - (1-t) ln(1-p)         -t/p + (1-t)/(1-p)     t, p in [0, 1]
 *     CategoricalCrossEntropy  -t ln p                         -t/p                   t, p in [0, 1]
 *     NegativeLogLikelihood    -t p, p a log-probability       -t                     t in [0, 1], p <= 0
 *     KLDivergence             t ln(t/p)                       -t/p                   t, p in [0, 1]
 *     CosineLoss               1 - cos(t, p) of the vectors    of that                neither is zero
 *
 * A term whose coefficient is 0 is 0, in the derivative too; a positive coefficient on an impossible
 * event (p = 0, or p = 1 where 1 - t > 0) is a DomainError. CategoricalCrossEntropy with Mean divides by
 * the number of elements, not of rows. CosineLoss is one number; both reductions leave it alone.
 */
HMATH_CALL hmath_neural_core_mean_squared_error_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_mean_absolute_error_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_binary_cross_entropy_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_categorical_cross_entropy_create(hmath_context *ctx,
                                                              hmath_value **out);
HMATH_CALL hmath_neural_core_negative_log_likelihood_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_kl_divergence_create(hmath_context *ctx, hmath_value **out);
HMATH_CALL hmath_neural_core_cosine_loss_create(hmath_context *ctx, hmath_value **out);

/**
 * Losses with a parameter:
 *
 *     Huber(d)     |e| <= d: e^2/2, else d(|e| - d/2)        e, else d sign e          d > 0
 *     SmoothL1(b)  |e| < b: e^2/(2b), else |e| - b/2         e/b, else sign e          b > 0
 *     Hinge(m)     max(0, m - t p)                           -t where m - t p > 0      m >= 0, t = -1 or 1
 *
 * @param parameter  Double
 */
HMATH_CALL hmath_neural_core_huber_create(hmath_context *ctx, const hmath_value *parameter,
                                          hmath_value **out);
HMATH_CALL hmath_neural_core_smooth_l1_create(hmath_context *ctx, const hmath_value *parameter,
                                              hmath_value **out);
HMATH_CALL hmath_neural_core_hinge_create(hmath_context *ctx, const hmath_value *parameter,
                                          hmath_value **out);

/* ---- activations ---- */

/**
 * The activation of a number, or of every element of a tensor; error at most 4 ulp.
 * @param method  Activation
 * @param value   Double, or a Double tensor of any shape
 * @param out     Double, or a tensor of that shape
 * MathErrors: NonFinite (method.parameter, value), DomainError (method.parameter: ELU not above 0),
 * Overflow
 */
HMATH_CALL hmath_neural_core_activation(hmath_context *ctx, const hmath_value *method,
                                        const hmath_value *value, hmath_value **out);

/** Its analytic first derivative, kinks as in the table above. Arguments, result and errors likewise. */
HMATH_CALL hmath_neural_core_activation_derivative(hmath_context *ctx, const hmath_value *method,
                                                   const hmath_value *value, hmath_value **out);

/**
 * values_i * s(gate_i) (Dauphin et al. 2017), within 4 ulp also where s(gate_i) is below the smallest
 * double. Empty lists give an empty list.
 * @param values, gate  [Double] of the same length
 * @param out           [Double] in the container of values
 * MathErrors: DimensionMismatch, NonFinite
 */
HMATH_CALL hmath_neural_core_gated_linear_unit(hmath_context *ctx, const hmath_value *values,
                                               const hmath_value *gate, hmath_value **out);

/* ---- the softmax family: a vector, or along the last axis of a tensor of rank 2 or more ---- */

/**
 * out_i = e^(x_i - m) / sum_j e^(x_j - m), m = max_j x_j. Sums to 1 within n 2^-52; entries that
 * underflow are 0; never fails on finite input. Relative error at most (|x_i - m| + 8) 2^-52.
 * @param values  [Double], at least one; or a Double tensor whose last axis holds at least one
 * @param out     the same container and shape
 * MathErrors: DimensionMismatch (rank 0), EmptyInput, NonFinite
 */
HMATH_CALL hmath_neural_core_softmax(hmath_context *ctx, const hmath_value *values,
                                     hmath_value **out);

/**
 * out_i = (x_i - m) - ln sum_j e^(x_j - m). The largest entry is -ln(1 + the others' sum) and keeps
 * its relative accuracy. Arguments as for softmax; MathErrors also: Overflow (x_i - m leaves the
 * range of a double).
 */
HMATH_CALL hmath_neural_core_log_softmax(hmath_context *ctx, const hmath_value *values,
                                         hmath_value **out);

/**
 * The nearest point of the probability simplex (Martins and Astudillo 2016): max(0, x_i - tau) with the
 * tau for which it sums to 1. An entry exactly on the boundary of the support is 0. Time is linear in
 * n. Arguments and MathErrors as for softmax.
 */
HMATH_CALL hmath_neural_core_sparsemax(hmath_context *ctx, const hmath_value *values,
                                       hmath_value **out);

/* ---- losses ---- */

/**
 * The loss of a selector (Loss, above) under a reduction. A mean is in range whenever its exact value
 * is, whatever the sum. Relative error of sums of one sign: (8 + min(n, 4096)/64 + log2 n) 2^-52.
 * @param method              Loss
 * @param reduction           Reduction
 * @param target, prediction  [Double] of the same length, at least one
 * @param out                 Double
 * MathErrors: NonFinite, DomainError (method.parameter, target, prediction: outside the domain, an
 * impossible event, a zero vector), DimensionMismatch, EmptyInput, Overflow
 */
HMATH_CALL hmath_neural_core_loss(hmath_context *ctx, const hmath_value *method,
                                  const hmath_value *reduction, const hmath_value *target,
                                  const hmath_value *prediction, hmath_value **out);

/**
 * The derivative of that loss with respect to each prediction, kinks as in the table.
 * @param out  [Double] in the container of prediction
 * Arguments and MathErrors as for hmath_neural_core_loss.
 */
HMATH_CALL hmath_neural_core_loss_gradient(hmath_context *ctx, const hmath_value *method,
                                           const hmath_value *reduction, const hmath_value *target,
                                           const hmath_value *prediction, hmath_value **out);

/**
 * Binary cross entropy of logits: (1-t) max(x, 0) + t max(-x, 0) + ln(1 + e^-|x|), reduced.
 * @param reduction       Reduction
 * @param target, logits  [Double] of the same length, at least one; targets in [0, 1]
 * @param out             Double
 * MathErrors: DimensionMismatch, EmptyInput, NonFinite, DomainError (target), Overflow
 */
HMATH_CALL hmath_neural_core_binary_cross_entropy_logits(hmath_context *ctx,
                                                         const hmath_value *reduction,
                                                         const hmath_value *target,
                                                         const hmath_value *logits,
                                                         hmath_value **out);

/**
 * Cross entropy of one vector of class logits: -sum_i t_i log_softmax(x)_i, entries with t_i = 0 left
 * out.
 * @param target, logits  [Double] of the same length, at least one; targets >= 0 that sum to 1 within
 *                        1e-9
 * @param out             Double
 * MathErrors: DimensionMismatch, EmptyInput, NonFinite, DomainError (target: an element, or, without an
 * index, the sum), Overflow
 */
HMATH_CALL hmath_neural_core_categorical_cross_entropy_logits(hmath_context *ctx,
                                                              const hmath_value *target,
                                                              const hmath_value *logits,
                                                              hmath_value **out);

/**
 * l1 sum |w_i| + l2/2 sum w_i^2; 0 for no weights.
 * @param l1, l2   Double, >= 0
 * @param weights  [Double]
 * @param out      Double
 * MathErrors: NonFinite, DomainError (l1, l2), DimensionMismatch, Overflow
 */
HMATH_CALL hmath_neural_core_regularization(hmath_context *ctx, const hmath_value *l1,
                                            const hmath_value *l2, const hmath_value *weights,
                                            hmath_value **out);

/**
 * With d the Euclidean distance: d^2 of a similar pair, else max(0, margin - d)^2 (Hadsell, Chopra and
 * LeCun 2006, without their factor one half).
 * @param margin       Double, > 0
 * @param similar      Bool
 * @param left, right  [Double] of the same length, at least one
 * @param out          Double
 * MathErrors: NonFinite, DomainError (margin), DimensionMismatch, EmptyInput, Overflow
 */
HMATH_CALL hmath_neural_core_contrastive_loss(hmath_context *ctx, const hmath_value *margin,
                                              const hmath_value *similar, const hmath_value *left,
                                              const hmath_value *right, hmath_value **out);

/**
 * max(0, d(anchor, positive) - d(anchor, negative) + margin), distances Euclidean, not squared.
 * @param margin                      Double, >= 0
 * @param anchor, positive, negative  [Double] of the same length, at least one
 * @param out                         Double
 * MathErrors: NonFinite, DomainError (margin), DimensionMismatch, EmptyInput, Overflow
 */
HMATH_CALL hmath_neural_core_triplet_loss(hmath_context *ctx, const hmath_value *margin,
                                          const hmath_value *anchor, const hmath_value *positive,
                                          const hmath_value *negative, hmath_value **out);

/**
 * The mean of alpha (1-p)^gamma (-ln p) where t is 1, and of (1-alpha) p^gamma (-ln(1-p)) where it is 0
 * (Lin et al. 2017).
 * @param alpha               Double in [0, 1]
 * @param gamma               Double, >= 0
 * @param target, prediction  [Double] of the same length, at least one; targets exactly 0 or 1,
 *                            predictions in [0, 1]
 * @param out                 Double
 * MathErrors: NonFinite, DomainError (also an impossible event whose weight, alpha or 1 - alpha, is
 * not 0), DimensionMismatch, EmptyInput
 */
HMATH_CALL hmath_neural_core_focal_loss(hmath_context *ctx, const hmath_value *alpha,
                                        const hmath_value *gamma, const hmath_value *target,
                                        const hmath_value *prediction, hmath_value **out);

/**
 * 1 - (2 sum t p + smooth) / (sum t + sum p + smooth), without cancellation where the sets nearly
 * agree (Milletari et al. 2016).
 * @param smooth              Double, >= 0
 * @param target, prediction  [Double] of the same length, in [0, 1]; empty lists give 0 with smooth > 0
 * @param out                 Double
 * MathErrors: NonFinite, DomainError (also, for prediction, a denominator of 0), DimensionMismatch
 */
HMATH_CALL hmath_neural_core_dice_loss(hmath_context *ctx, const hmath_value *smooth,
                                       const hmath_value *target, const hmath_value *prediction,
                                       hmath_value **out);

/**
 * 1 - (sum t p + smooth) / (sum t + sum p - sum t p + smooth): intersection over union, likewise.
 * Arguments and MathErrors as for dice_loss.
 */
HMATH_CALL hmath_neural_core_iou_loss(hmath_context *ctx, const hmath_value *smooth,
                                      const hmath_value *target, const hmath_value *prediction,
                                      hmath_value **out);

/* ---- connectionist temporal classification (Graves et al. 2006) ---- */

/**
 * Minus the logarithm of what all alignments of the labels with the frames come to. An alignment
 * spells the labels in order, each for one frame or more, with blanks in between where it likes and
 * between equal neighbours of necessity.
 * @param blank              Int, a class
 * @param labels             [Int], classes other than blank; may be empty
 * @param log_probabilities  [[Double]], [time][class], each <= 0; rows need not be normalised
 * @param out                Double; 0 for no frames and no labels
 * The loss of 10^5 frames is right to 1e-12, relatively. Minus infinity is NonFinite: use a large
 * negative number for what cannot be.
 * MathErrors: DimensionMismatch (ragged rows), IndexOutOfBounds (blank, labels), DomainError (a label
 * that is blank; a positive log-probability; too few frames for the labels), NonFinite, Overflow
 */
HMATH_CALL hmath_neural_core_ctc_loss(hmath_context *ctx, const hmath_value *blank,
                                      const hmath_value *labels,
                                      const hmath_value *log_probabilities, hmath_value **out);

/**
 * The loss, and its derivative with respect to each log-probability as an independent variable: minus
 * the share of alignments that are in class k at time t, so that each row sums to -1. Memory is in
 * proportion to frames times labels.
 * @param out  a tuple of Double and [[Double]], the latter in the container of log_probabilities
 * Arguments and MathErrors as for ctc_loss.
 */
HMATH_CALL hmath_neural_core_ctc_loss_gradient(hmath_context *ctx, const hmath_value *blank,
                                               const hmath_value *labels,
                                               const hmath_value *log_probabilities,
                                               hmath_value **out);

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

/* ---- random: masks and weights; each takes an RNG and returns the next one last ---- */

/**
 * (output, mask, next RNG): inverted dropout (Srivastava et al. 2014). Training draws one uniform u an
 * element, row-major, also for probability 0; mask = 1/(1 - probability) where u >= probability, else 0;
 * output = input * mask. Inference draws nothing: output is input, the mask all ones, the RNG the same.
 * @param mode         Training
 * @param probability  Double, of losing an element: >= 0 and < 1
 * @param rng          RNG
 * @param input        Tensor of any shape
 * @param out          Tuple (Tensor, Tensor, RNG)
 * MathErrors: NonFinite (probability, input), DomainError (probability), Overflow
 */
HMATH_CALL hmath_neural_layers_dropout(hmath_context *ctx, const hmath_value *mode,
                                       const hmath_value *probability, const hmath_value *rng,
                                       const hmath_value *input, hmath_value **out);

/**
 * The same with one uniform for each (n, c) of an input [N, C, spatial...], shared by all its positions
 * (Tompson et al. 2015). The mask has the shape of the input.
 * MathErrors: also DimensionMismatch (rank below 3)
 */
HMATH_CALL hmath_neural_layers_spatial_dropout(hmath_context *ctx, const hmath_value *mode,
                                               const hmath_value *probability,
                                               const hmath_value *rng, const hmath_value *input,
                                               hmath_value **out);

/**
 * (weights, next RNG), filled row-major. The fans are what the caller says; Orthogonal and
 * TruncatedNormal only check them. Uniforms a (2u - 1) take one draw each, normals one normal each.
 * Orthogonal: the Q of a max x min matrix of normals (Householder, R's diagonal positive; Haar), transposed
 * where rows < columns, times scale. TruncatedNormal: normals drawn again until |z| <= bound, or for
 * bound < 1 z = bound (2u - 1) accepted where a second uniform is below e^(-z^2/2) (Robert 1995).
 * @param method           Initializer; Orthogonal: finite scale; TruncatedNormal: finite fields,
 *                         standard_deviation >= 0, bound > 0
 * @param fan_in, fan_out  Int > 0
 * @param shape            [Int], at most 8 extents >= 0; for Orthogonal two extents > 0
 * @param rng              RNG
 * @param out              Tuple (Tensor, RNG)
 * MathErrors: NonFinite and DomainError (a field of method, fans, shape), DimensionMismatch (shape),
 * Overflow (TruncatedNormal and Orthogonal with numbers near the largest double)
 */
HMATH_CALL hmath_neural_layers_initialize_weights(hmath_context *ctx, const hmath_value *method,
                                                  const hmath_value *fan_in,
                                                  const hmath_value *fan_out,
                                                  const hmath_value *shape, const hmath_value *rng,
                                                  hmath_value **out);

/* ---- normalisation ---- */

/**
 * Batch normalisation (Ioffe and Szegedy 2015): gamma * (x - mean)/sqrt(variance + epsilon) + beta, by
 * channel. Training takes the batch's mean and population variance, and returns a state whose entries
 * are (1 - momentum)*running + momentum*batch, with the unbiased variance (the population's where a channel
 * has one element) and one more batch seen. Inference takes the state's and returns it unchanged.
 * @param mode           Training
 * @param momentum       Double in [0, 1]: the weight of the new batch
 * @param epsilon        Double > 0
 * @param gamma, beta    [Double], one entry a channel
 * @param state          BatchNormState, one entry a channel; running_variance >= 0
 * @param input          Tensor [N, C, spatial...] of rank >= 2
 * @param out            (Tensor of the input's shape, BatchNormState)
 * MathErrors: NonFinite, DomainError, DimensionMismatch, EmptyInput (training without an element),
 * Overflow
 */
HMATH_CALL hmath_neural_layers_batch_norm(hmath_context *ctx, const hmath_value *mode,
                                          const hmath_value *momentum, const hmath_value *epsilon,
                                          const hmath_value *gamma, const hmath_value *beta,
                                          const hmath_value *state, const hmath_value *input,
                                          hmath_value **out);

/**
 * Layer normalisation (Ba, Kiros and Hinton 2016): (x - mean)/sqrt(variance + epsilon) over the trailing
 * `axes` axes, population variance, for each index of the others; no affine part. Two-pass or better at
 * every magnitude.
 * @param axes     Int, 1 ... rank: how many axes make up a group
 * @param epsilon  Double > 0
 * MathErrors: DomainError, NonFinite, DimensionMismatch (axes > rank), EmptyInput (groups of nothing)
 */
HMATH_CALL hmath_neural_layers_layer_norm(hmath_context *ctx, const hmath_value *axes,
                                          const hmath_value *epsilon, const hmath_value *input,
                                          hmath_value **out);

/** x / sqrt(mean of x^2 + epsilon) (Zhang and Sennrich 2019); otherwise as layer_norm. */
HMATH_CALL hmath_neural_layers_rms_norm(hmath_context *ctx, const hmath_value *axes,
                                        const hmath_value *epsilon, const hmath_value *input,
                                        hmath_value **out);

/** Layer normalisation of each image and channel over its spatial axes; input of rank >= 3. */
HMATH_CALL hmath_neural_layers_instance_norm(hmath_context *ctx, const hmath_value *epsilon,
                                             const hmath_value *input, hmath_value **out);

/**
 * Layer normalisation of each image over groups of neighbouring channels (Wu and He 2018); input of rank
 * >= 2. @param groups  Int >= 1 that divides the number of channels, else DimensionMismatch
 */
HMATH_CALL hmath_neural_layers_group_norm(hmath_context *ctx, const hmath_value *groups,
                                          const hmath_value *epsilon, const hmath_value *input,
                                          hmath_value **out);

/**
 * Weight normalisation (Salimans and Kingma 2016): slice i along `axis` becomes scales[i] * v/|v|.
 * @param axis    Int, 0 ... rank-1, else IndexOutOfBounds
 * @param scales  [Double], one entry a slice
 * MathErrors: IndexOutOfBounds, DimensionMismatch, EmptyInput, NonFinite, DomainError (a slice of zeros:
 * the index is that of its first element)
 */
HMATH_CALL hmath_neural_layers_weight_norm(hmath_context *ctx, const hmath_value *axis,
                                           const hmath_value *scales, const hmath_value *input,
                                           hmath_value **out);

/* ---- dense ---- */

/**
 * out[i] = weights[indices[i]], rows in the order asked for.
 * @param weights  Tensor [vocabulary, features]
 * @param indices  [Int], each in 0 ... vocabulary-1
 * @param out      Tensor [length of indices, features]
 * MathErrors: DimensionMismatch (weights of another rank), NonFinite, IndexOutOfBounds
 */
HMATH_CALL hmath_neural_layers_embedding(hmath_context *ctx, const hmath_value *weights,
                                         const hmath_value *indices, hmath_value **out);

/**
 * input * transpose(weights) + bias over the last axis. Each element is one chain of fused
 * multiply-adds in increasing feature order from +0, then the bias.
 * @param input    Tensor [..., in] of rank >= 1
 * @param weights  Tensor [out, in]
 * @param bias     [Double] of length out
 * @param out      Tensor [..., out]
 * MathErrors: DimensionMismatch, NonFinite, Overflow (a chain that is not finite)
 */
HMATH_CALL hmath_neural_layers_dense(hmath_context *ctx, const hmath_value *input,
                                     const hmath_value *weights, const hmath_value *bias,
                                     hmath_value **out);

/**
 * dense, activation, dense: the bits of the three by themselves.
 * @param activation                   Activation
 * @param input                        Tensor [..., in]
 * @param first_weights, first_bias    Tensor [hidden, in], [Double] of length hidden
 * @param second_weights, second_bias  Tensor [out, hidden], [Double] of length out
 * @param out                          Tensor [..., out]
 * MathErrors: NonFinite and DomainError ("activation.parameter"), DimensionMismatch, Overflow
 */
HMATH_CALL hmath_neural_layers_transformer_feed_forward(
    hmath_context *ctx, const hmath_value *activation, const hmath_value *input,
    const hmath_value *first_weights, const hmath_value *first_bias,
    const hmath_value *second_weights, const hmath_value *second_bias, hmath_value **out);

/* ---- convolution: input [N, Cin, spatial...] of rank 3 to 5 ---- */

/**
 * Cross-correlation with zero padding, in groups. Output extent
 * floor((in + 2*padding - dilation*(kernel-1) - 1)/stride) + 1. Each element is one chain of fused
 * multiply-adds over (input channel of its group, kernel axes row-major) from +0, then the bias; padding
 * is no term.
 * @param options  ConvOptions
 * @param input    Tensor
 * @param weights  Tensor [Cout, Cin/groups, kernel...]
 * @param bias     [Double] of length Cout
 * @param out      Tensor [N, Cout, output extents...]
 * MathErrors: DomainError (a field: "options.stride" ...), DimensionMismatch (ranks, lengths, channels, an
 * output extent below 1), EmptyInput (images or kernels without an element), NonFinite, Overflow
 */
HMATH_CALL hmath_neural_layers_convolution(hmath_context *ctx, const hmath_value *options,
                                           const hmath_value *input, const hmath_value *weights,
                                           const hmath_value *bias, hmath_value **out);

/** The same with groups = Cin, whatever options says; weights [Cin*multiplier, 1, kernel...]. */
HMATH_CALL hmath_neural_layers_depthwise_convolution(hmath_context *ctx, const hmath_value *options,
                                                     const hmath_value *input,
                                                     const hmath_value *weights,
                                                     const hmath_value *bias, hmath_value **out);

/**
 * The adjoint of convolution, plus a bias. Output extent
 * (in-1)*stride - 2*padding + dilation*(kernel-1) + output_padding + 1. Each element is one chain over
 * (input channel of its group, kernel axes row-major).
 * @param output_padding  [Int], one entry a spatial axis, 0 <= entry < stride
 * @param weights         Tensor [Cin, Cout/groups, kernel...]
 * MathErrors: as for convolution; DomainError where output_padding >= stride
 */
HMATH_CALL hmath_neural_layers_transposed_convolution(hmath_context *ctx,
                                                      const hmath_value *output_padding,
                                                      const hmath_value *options,
                                                      const hmath_value *input,
                                                      const hmath_value *weights,
                                                      const hmath_value *bias, hmath_value **out);

/* ---- pooling: input [N, C, spatial...] of rank 3 to 5 ---- */

/**
 * The largest element of each window, or the mean of its real ones: padded cells take no part, neither
 * in the maximum nor in the count. Output extent floor((in + 2*padding - kernel)/stride) + 1. A zero
 * maximum is +0.
 * @param mode                     PoolMode
 * @param kernel, stride, padding  [Int], one entry a spatial axis; kernel, stride >= 1, padding >= 0
 * @param input                    Tensor
 * @param out                      Tensor [N, C, output extents...]
 * MathErrors: DomainError (an entry; padding >= kernel, which leaves a window without a real cell),
 * DimensionMismatch (rank, lengths, an output extent below 1), EmptyInput, NonFinite
 */
HMATH_CALL hmath_neural_layers_pooling(hmath_context *ctx, const hmath_value *mode,
                                       const hmath_value *kernel, const hmath_value *stride,
                                       const hmath_value *padding, const hmath_value *input,
                                       hmath_value **out);

/**
 * Pooling into bins: of in cells and out bins along an axis, bin i covers the cells
 * floor(i*in/out) ... ceil((i+1)*in/out) - 1. Bins may overlap.
 * @param shape  [Int], the output's spatial extents, each >= 1
 * MathErrors: DomainError, DimensionMismatch, EmptyInput, NonFinite
 */
HMATH_CALL hmath_neural_layers_adaptive_pooling(hmath_context *ctx, const hmath_value *mode,
                                                const hmath_value *shape, const hmath_value *input,
                                                hmath_value **out);

/** One value an image and channel: a Tensor [N, C]. MathErrors: DimensionMismatch, EmptyInput, NonFinite */
HMATH_CALL hmath_neural_layers_global_pooling(hmath_context *ctx, const hmath_value *mode,
                                              const hmath_value *input, hmath_value **out);

/* ---- attention ---- */

/**
 * softmax(query * transpose(key) / sqrt(D) + bias) * value (Vaswani et al. 2017). A score is
 * (q.k) * (1/sqrt(D)), then + bias; masked keys take no part, however large, and a row whose keys are
 * all masked is exactly zero.
 * @param query  Tensor [N, D]
 * @param key    Tensor [M, D]
 * @param value  Tensor [M, F]
 * @param mask   [[Bool]] N x M, true where a key may be seen; or NULL
 * @param bias   [[Double]] N x M; or NULL
 * @param out    (Tensor [N, F], weights as Tensor [N, M])
 * MathErrors: DimensionMismatch, EmptyInput (a query without keys or without features), NonFinite,
 * Overflow (of what takes part)
 */
HMATH_CALL hmath_neural_layers_scaled_dot_product_attention(
    hmath_context *ctx, const hmath_value *query, const hmath_value *key, const hmath_value *value,
    const hmath_value *mask, const hmath_value *bias, hmath_value **out);

/**
 * The same for `heads` equal parts of the features, each by itself: out is a Tensor [N, F].
 * @param heads  Int >= 1 that divides the widths of query and value, else DimensionMismatch
 * @param mask   [[Bool]] N x M for all heads; or NULL
 */
HMATH_CALL hmath_neural_layers_multihead_attention(hmath_context *ctx, const hmath_value *heads,
                                                   const hmath_value *query, const hmath_value *key,
                                                   const hmath_value *value,
                                                   const hmath_value *mask, hmath_value **out);

/* ---- positions ---- */

/**
 * allowed[i][j] = (j <= i + offset): query i stands at position offset + i behind a cached prefix and
 * sees the keys up to its own.
 * @param queries, keys, offset  Int >= 0
 * @param out                    [[Bool]] of `queries` rows
 * MathErrors: DomainError
 */
HMATH_CALL hmath_neural_layers_causal_mask(hmath_context *ctx, const hmath_value *queries,
                                           const hmath_value *keys, const hmath_value *offset,
                                           hmath_value **out);

/**
 * bias[i][j] = -slope * |(i + offset) - j| (Press, Smith and Lewis 2022): symmetric; combine it with a
 * causal mask where the future must stay unseen.
 * @param slope                  Double >= 0
 * @param queries, keys, offset  Int >= 0
 * @param out                    [[Double]] of `queries` rows
 * MathErrors: NonFinite, DomainError, Overflow
 */
HMATH_CALL hmath_neural_layers_alibi_bias(hmath_context *ctx, const hmath_value *slope,
                                          const hmath_value *queries, const hmath_value *keys,
                                          const hmath_value *offset, hmath_value **out);

/**
 * Rotary embedding (Su et al. 2021): in row r features (2i, 2i+1) turn by the angle
 * (offset + r) * base^(-2i/d). Angles are formed in double-double; their sine and cosine are within
 * 4 * 2^-53 for positions up to 2^31.
 * @param base    Double > 0
 * @param offset  Int >= 0: the position of the first row
 * @param input   Tensor [sequence, d], d even
 * MathErrors: NonFinite, DomainError (base, offset, offset + sequence >= 2^53), DimensionMismatch,
 * Overflow (a result, or an angle, beyond the range of a double)
 */
HMATH_CALL hmath_neural_layers_rotary_embedding(hmath_context *ctx, const hmath_value *base,
                                                const hmath_value *offset, const hmath_value *input,
                                                hmath_value **out);

/**
 * Sinusoidal encoding (Vaswani et al. 2017): column 2i is sin(position / 10000^(2i/dimensions)), column
 * 2i+1 the cosine of the same, for positions offset ... offset+length-1; an odd width ends on a sine.
 * Absolute error at most 4 * 2^-53 for positions up to 2^31.
 * @param length, dimensions  Int >= 1
 * @param offset              Int >= 0 with offset + length < 2^53
 * @param out                 Tensor [length, dimensions]
 * MathErrors: DomainError
 */
HMATH_CALL hmath_neural_layers_sinusoidal_encoding(hmath_context *ctx, const hmath_value *length,
                                                   const hmath_value *dimensions,
                                                   const hmath_value *offset, hmath_value **out);

/* ---- KV cache ---- */

/**
 * KVCache (282): keys and values of past positions, immutable. Memory grows with what is held, not with
 * the capacity.
 * @param capacity, key_dimensions, value_dimensions  Int >= 1: rows at most, and the widths of rows
 * MathErrors: DomainError
 */
HMATH_CALL hmath_neural_layers_empty_cache(hmath_context *ctx, const hmath_value *capacity,
                                           const hmath_value *key_dimensions,
                                           const hmath_value *value_dimensions, hmath_value **out);

/**
 * A new cache with more rows; `cache` still shows its own. Versions share memory: appending to the
 * newest one costs the new rows, appending a second time to an older one copies what it shows.
 * @param key    Tensor [rows, key_dimensions]; no rows are fine
 * @param value  Tensor [rows, value_dimensions]
 * MathErrors: DimensionMismatch (rank, width, unequal rows, or more rows than the capacity leaves room
 * for), NonFinite
 */
HMATH_CALL hmath_neural_layers_append_cache(hmath_context *ctx, const hmath_value *cache,
                                            const hmath_value *key, const hmath_value *value,
                                            hmath_value **out);

/** (keys, values): Tensors [length, key_dimensions] and [length, value_dimensions]; copies nothing. */
HMATH_CALL hmath_neural_layers_cache_values(hmath_context *ctx, const hmath_value *cache,
                                            hmath_value **out);

/**
 * Capacity, rows held and widths of a KVCache; each pointer may be NULL. HMATH_BAD_ARGUMENT: v is none.
 */
HMATH_CALL hmath_kv_cache_get(const hmath_value *v, int64_t *capacity, int64_t *length,
                              int64_t *key_dimensions, int64_t *value_dimensions);

/* ---------------------------------------------------------------- end of Layers */

/* ================================================================ Precision
 *
 * Eight-bit integers, sixteen-bit floating point, and what training with them needs. A quantized tensor
 * stands for x = scale * (q - zero) with q in -128 ... 127 (Jacob et al., "Quantization and Training of
 * Neural Networks for Efficient Integer-Arithmetic-Only Inference", CVPR 2018). rne is rounding to
 * nearest, ties to even.
 *
 * Every function returns HMATH_BAD_ARGUMENT for a NULL (other than a Maybe) or released argument,
 * HMATH_BUSY, HMATH_NO_MEMORY, and HMATH_CHECKED with TypeMismatch for an argument of another kind;
 * what else it may return stands with it.
 */

/** The scheme with scale = max|x| / 127, zero point 0 and q in -127 ... 127. */
HMATH_CALL hmath_neural_precision_symmetric_create(hmath_context *ctx, hmath_value **out);

/**
 * The scheme with lo = min(0, min x), hi = max(0, max x), scale = hi/255 - lo/255,
 * zero = clamp(rne(-128 - lo/scale), -128, 127) and q in -128 ... 127.
 */
HMATH_CALL hmath_neural_precision_asymmetric_create(hmath_context *ctx, hmath_value **out);

/**
 * q = clamp(rne(x / scale) + zero), calibrated over the whole tensor or over each slice along an axis.
 * All-zero data has scale 1 and zero point 0; a scale that would underflow is the smallest positive double.
 * @param scheme  Quantization
 * @param axis    Maybe Int: 0 ... rank - 1, or NULL for one calibration of all
 * @param input   Tensor of any rank, at least one element, finite
 * @param out     QuantizedTensor of the same shape
 * @return HMATH_CHECKED: IndexOutOfBounds (axis), EmptyInput, NonFinite (input)
 */
HMATH_CALL hmath_neural_precision_quantize(hmath_context *ctx, const hmath_value *scheme,
                                           const hmath_value *axis, const hmath_value *input,
                                           hmath_value **out);

/**
 * scale * (q - zero), rounded once, as a Tensor.
 * @return HMATH_CHECKED: Overflow. Data near the largest double can get there, since q is rounded.
 */
HMATH_CALL hmath_neural_precision_dequantize(hmath_context *ctx, const hmath_value *quantized,
                                             hmath_value **out);

/** The integers q as [Int8], row-major; shared, not copied. */
HMATH_CALL hmath_neural_precision_quantized_values(hmath_context *ctx, const hmath_value *quantized,
                                                   hmath_value **out);

/** The scales as [Double]: one for each slice along the axis, or one for all. */
HMATH_CALL hmath_neural_precision_quantization_scales(hmath_context *ctx,
                                                      const hmath_value *quantized,
                                                      hmath_value **out);

/** The zero points as [Int], like the scales. */
HMATH_CALL hmath_neural_precision_quantization_zero_points(hmath_context *ctx,
                                                           const hmath_value *quantized,
                                                           hmath_value **out);

/**
 * sum_k (a_ik - za_i)(b_kj - zb_j) * scale_a_i * scale_b_j: the sum exact, in 32 bits, and the two
 * products with the scales scale-safe, within 3 * 2^-53 relative.
 * @param left   QuantizedTensor (M, K), calibrated per tensor or per row (axis 0)
 * @param right  QuantizedTensor (K, N), calibrated per tensor or per column (axis 1)
 * @param out    Tensor (M, N)
 * @return HMATH_CHECKED: DimensionMismatch (left, right: rank, axis, inner extent); Overflow, where a sum
 *         is outside the signed 32-bit integers or a result is no finite double
 */
HMATH_CALL hmath_neural_precision_int8_gemm(hmath_context *ctx, const hmath_value *left,
                                            const hmath_value *right, hmath_value **out);

/** IEEE 754 binary16: 11 significant bits, exponents -14 ... 15. */
HMATH_CALL hmath_neural_precision_fp16_create(hmath_context *ctx, hmath_value **out);

/** The upper half of a binary32: 8 significant bits, exponents -126 ... 127. */
HMATH_CALL hmath_neural_precision_bf16_create(hmath_context *ctx, hmath_value **out);

/**
 * left (M, K) times right (K, N). Each operand element is rounded to the format directly from double: to
 * nearest, ties to even, subnormals kept. Each result element is one chain of binary32 fused
 * multiply-adds in increasing k from +0, then widened. Without depth (K = 0) the result is 0.
 * @param precision  Precision
 * @param left       Tensor (M, K), finite
 * @param right      Tensor (K, N), finite
 * @param out        Tensor (M, N)
 * @return HMATH_CHECKED: DimensionMismatch (left, right), NonFinite; Overflow, where an operand rounds to
 *         infinity or a chain leaves binary32
 */
HMATH_CALL hmath_neural_precision_reduced_gemm(hmath_context *ctx, const hmath_value *precision,
                                               const hmath_value *left, const hmath_value *right,
                                               hmath_value **out);

/** A LossScaler as it is given; the operations that use it check it. Double, Int, Int. */
HMATH_CALL hmath_neural_precision_loss_scaler_create(hmath_context *ctx, const hmath_value *scale,
                                                     const hmath_value *growth_interval,
                                                     const hmath_value *finite_steps,
                                                     hmath_value **out);

/** The fields of a LossScaler: Double, Int, Int. */
HMATH_CALL hmath_neural_precision_loss_scale(hmath_context *ctx, const hmath_value *state,
                                             hmath_value **out);
HMATH_CALL hmath_neural_precision_scale_growth_interval(hmath_context *ctx,
                                                        const hmath_value *state,
                                                        hmath_value **out);
HMATH_CALL hmath_neural_precision_finite_steps(hmath_context *ctx, const hmath_value *state,
                                               hmath_value **out);

/**
 * LossScaler(scale, growth_interval, 0).
 * @param scale            Double, finite, > 0
 * @param growth_interval  Int, >= 1
 * @return HMATH_CHECKED: NonFinite, DomainError
 */
HMATH_CALL hmath_neural_precision_initial_loss_scaler(hmath_context *ctx, const hmath_value *scale,
                                                      const hmath_value *growth_interval,
                                                      hmath_value **out);

/**
 * loss * scale.
 * @param loss  Double, finite
 * @return HMATH_CHECKED: NonFinite, DomainError (state.scale), Overflow
 */
HMATH_CALL hmath_neural_precision_scale_loss(hmath_context *ctx, const hmath_value *state,
                                             const hmath_value *loss, hmath_value **out);

/**
 * (True, gradients / scale), or (False, []) where a gradient or a quotient is not finite: then skip the
 * whole update. The one operation that takes non-finite elements, since telling of them is its purpose.
 * @param gradients  [Double], any length; a rank-1 tensor gives a tensor
 * @param out        Tuple of Bool and [Double]
 * @return HMATH_CHECKED: NonFinite, DomainError (state.scale), DimensionMismatch (a tensor of other rank)
 */
HMATH_CALL hmath_neural_precision_unscale_gradients(hmath_context *ctx, const hmath_value *state,
                                                    const hmath_value *gradients,
                                                    hmath_value **out);

/**
 * The LossScaler after one step (Micikevicius et al., "Mixed Precision Training", ICLR 2018). After an
 * overflow (finite is False): half the scale, but no less than the smallest normal double, and
 * finite_steps 0. Else finite_steps + 1; where that reaches growth_interval the scale doubles, unless
 * that exceeds 2^24, and finite_steps is 0 again.
 * @return HMATH_CHECKED: NonFinite, DomainError (state.scale, state.growth_interval, state.finite_steps)
 */
HMATH_CALL hmath_neural_precision_update_loss_scaler(hmath_context *ctx, const hmath_value *finite,
                                                     const hmath_value *state, hmath_value **out);

/**
 * sqrt(sum g^2), safe from overflow and underflow on the way; 0 for an empty list.
 * @param gradient  [Double], finite
 * @return HMATH_CHECKED: DimensionMismatch (a tensor of rank other than 1), NonFinite, Overflow
 */
HMATH_CALL hmath_neural_precision_gradient_norm(hmath_context *ctx, const hmath_value *gradient,
                                                hmath_value **out);

/**
 * The gradient itself where its norm is at most `maximum`, else (g / norm) * maximum (Pascanu, Mikolov,
 * Bengio, "On the difficulty of training recurrent neural networks", ICML 2013); also where the norm is
 * no double or maximum / norm would underflow.
 * @param maximum   Double, finite, > 0
 * @param gradient  [Double], finite; a rank-1 tensor gives a tensor
 * @return HMATH_CHECKED: NonFinite, DomainError (maximum), DimensionMismatch, NonFinite (gradient)
 */
HMATH_CALL hmath_neural_precision_clip_gradients(hmath_context *ctx, const hmath_value *maximum,
                                                 const hmath_value *gradient, hmath_value **out);

/** Schemes as numbers, for hmath_quantized_tensor_create and hmath_quantized_tensor_get. */
enum { HMATH_QUANTIZATION_SYMMETRIC = 1, HMATH_QUANTIZATION_ASYMMETRIC = 2 };

/**
 * A QuantizedTensor from its parts (natural C types), copied and checked: how stored ones come back.
 * @param scheme       HMATH_QUANTIZATION_...
 * @param axis         0 ... rank - 1, or -1 for one calibration of all
 * @param values       as many as the shape has elements, at least one
 * @param scales       one for each slice along the axis (or one): finite, > 0
 * @param zero_points  likewise: -128 ... 127, all 0 for the symmetric scheme
 * @return HMATH_CHECKED: DomainError (scheme, shape), IndexOutOfBounds (axis), DimensionMismatch (shape: rank
 *         over 8), EmptyInput (values), NonFinite, DomainError (scales), DomainError (zero_points)
 */
HMATH_CALL hmath_quantized_tensor_create(hmath_context *ctx, int32_t scheme, int64_t axis,
                                         int32_t rank, const int64_t *shape, const int8_t *values,
                                         const double *scales, const int64_t *zero_points,
                                         hmath_value **out);

/** Scheme, axis (-1: none), rank and shape (borrowed) of a QuantizedTensor; each pointer may be NULL. */
HMATH_CALL hmath_quantized_tensor_get(const hmath_value *v, int32_t *scheme, int64_t *axis,
                                      int32_t *rank, const int64_t **shape);

/* ---------------------------------------------------------------- end of Precision */

/* ================================================================ Metrics */

/*
 * What a model got right, from labels and scores. Labels of classes lie in 0 ... classes - 1. Empty
 * data is EmptyInput everywhere; lists that belong together have one length (DimensionMismatch).
 */

/**
 * A ClassificationMetrics record, made without validation; the lists are copied.
 * @param accuracy               Double
 * @param precision, recall, f1  [Double], one entry a class
 * @return HMATH_CHECKED: DimensionMismatch (a tensor of a rank other than 1)
 */
HMATH_CALL hmath_neural_metrics_classification_metrics_create(
    hmath_context *ctx, const hmath_value *accuracy, const hmath_value *precision,
    const hmath_value *recall, const hmath_value *f1, hmath_value **out);

/** The fields of a ClassificationMetrics: a Double, and three [Double]. */
HMATH_CALL hmath_neural_metrics_accuracy(hmath_context *ctx, const hmath_value *metrics,
                                         hmath_value **out);
HMATH_CALL hmath_neural_metrics_precision_by_class(hmath_context *ctx, const hmath_value *metrics,
                                                   hmath_value **out);
HMATH_CALL hmath_neural_metrics_recall_by_class(hmath_context *ctx, const hmath_value *metrics,
                                                hmath_value **out);
HMATH_CALL hmath_neural_metrics_f1_by_class(hmath_context *ctx, const hmath_value *metrics,
                                            hmath_value **out);

/**
 * How often each pair of classes occurs: rows are truth, columns prediction.
 * @param classes            Int, >= 1
 * @param truth, prediction  [Int] of one length, at least 1
 * @param out                [[Int]], classes by classes
 * @return HMATH_CHECKED: DomainError (classes), DimensionMismatch (prediction), EmptyInput (truth),
 *         IndexOutOfBounds (a label)
 */
HMATH_CALL hmath_neural_metrics_confusion_matrix(hmath_context *ctx, const hmath_value *classes,
                                                 const hmath_value *truth,
                                                 const hmath_value *prediction, hmath_value **out);

/**
 * Accuracy (the share of rows with prediction = truth) and by class precision = hits / predictions
 * of it, recall = hits / rows of it, F1 = 2 hits / (predictions + rows), their harmonic mean. A
 * zero denominator gives 0. Each is one quotient, correctly rounded.
 * @param out  ClassificationMetrics
 * @return as for hmath_neural_metrics_confusion_matrix; memory grows with the classes, not with
 *         their pairs
 */
HMATH_CALL hmath_neural_metrics_classification_metrics(hmath_context *ctx,
                                                       const hmath_value *classes,
                                                       const hmath_value *truth,
                                                       const hmath_value *prediction,
                                                       hmath_value **out);

/**
 * The share of rows whose true class is among the k classes with the highest scores; of equal
 * scores the smaller class index comes first.
 * @param k       Int, 1 ... classes
 * @param truth   [Int], one label a row
 * @param scores  [[Double]], rows by classes
 * @return HMATH_CHECKED: DomainError (k < 1), DimensionMismatch (ragged scores, another number of
 *         rows, k > classes), EmptyInput (truth), IndexOutOfBounds (truth), NonFinite (scores)
 */
HMATH_CALL hmath_neural_metrics_top_k_accuracy(hmath_context *ctx, const hmath_value *k,
                                               const hmath_value *truth, const hmath_value *scores,
                                               hmath_value **out);

/**
 * The area under the ROC curve: the share of pairs of a positive and a negative in which the
 * positive has the higher score, ties counting one half (Hanley and McNeil 1982). The count is
 * exact, whatever n is; the quotient is within 2 ulp. O(n) by radix sort.
 * @param truth   [Bool], or [Int] or [Double] of exactly 0 and 1
 * @param scores  [Double] of the same length, finite; only their order counts
 * @return HMATH_CHECKED: DimensionMismatch, EmptyInput (truth), NonFinite or DomainError (an
 *         element of truth), NonFinite (scores), DomainError (truth, without index: one class only)
 */
HMATH_CALL hmath_neural_metrics_roc_auc(hmath_context *ctx, const hmath_value *truth,
                                        const hmath_value *scores, hmath_value **out);

/**
 * The area under the precision-recall curve by trapezoids, from (recall 0, precision 1) over the
 * points that each group of equal scores adds, from the highest down. (Average precision, a sum of
 * rectangles, is another number.)
 * @return as for hmath_neural_metrics_roc_auc, but that only a positive is needed
 */
HMATH_CALL hmath_neural_metrics_pr_auc(hmath_context *ctx, const hmath_value *truth,
                                       const hmath_value *scores, hmath_value **out);

/**
 * The points behind the two areas, beyond the reference: a Tuple of three [Double], abscissae,
 * ordinates and thresholds (three rank-1 Tensors where scores is one). ROC: false positive rate and
 * true positive rate from (0, 0) to (1, 1). Precision-recall: recall and precision from (0, 1).
 * Point i + 1 belongs to calling positive what scores at least thresholds[i], one for each
 * different score, descending; so there is one threshold fewer than points.
 * @return as for the areas
 */
HMATH_CALL hmath_neural_metrics_roc_curve(hmath_context *ctx, const hmath_value *truth,
                                          const hmath_value *scores, hmath_value **out);
HMATH_CALL hmath_neural_metrics_precision_recall_curve(hmath_context *ctx, const hmath_value *truth,
                                                       const hmath_value *scores,
                                                       hmath_value **out);

/**
 * exp(-mean x) of the log-probabilities x that a model gave the true tokens. Despite the
 * parameter's name these are the log-probabilities themselves, negative or 0.
 * @param negative_log_probabilities  [Double], at least one, finite, <= 0
 * @return HMATH_CHECKED: DimensionMismatch (a tensor of a rank other than 1), EmptyInput,
 *         NonFinite, DomainError (x > 0), Overflow (a mean below -709.78...)
 */
HMATH_CALL hmath_neural_metrics_perplexity(hmath_context *ctx,
                                           const hmath_value *negative_log_probabilities,
                                           hmath_value **out);

/**
 * Element (i, j) is the cosine of the angle between row i of left and row j of right, within [-1,
 * 1]. Rows are brought to length 1 first, at any magnitude, so nothing overflows or vanishes.
 * @param left, right  Tensor [M, D] and [N, D], finite, with at least one element
 * @param out          Tensor [M, N]
 * @return HMATH_CHECKED: DimensionMismatch, EmptyInput, NonFinite, DomainError (a row of zeros; the
 *         index is that of its first element)
 */
HMATH_CALL hmath_neural_metrics_cosine_similarity_matrix(hmath_context *ctx,
                                                         const hmath_value *left,
                                                         const hmath_value *right,
                                                         hmath_value **out);

/**
 * mean max(0, -y (l - r) + margin) over triples of left l, right r and label y: 1 where left should
 * rank higher, -1 where right should.
 * @param margin       Double, finite, >= 0
 * @param left, right  [Double], finite, of one length, at least 1
 * @param labels       [Int], each 1 or -1
 * @return HMATH_CHECKED: NonFinite or DomainError (margin), DimensionMismatch, EmptyInput (left),
 *         NonFinite, DomainError (labels), Overflow (the mean itself is no double)
 */
HMATH_CALL hmath_neural_metrics_margin_ranking_loss(hmath_context *ctx, const hmath_value *margin,
                                                    const hmath_value *left,
                                                    const hmath_value *right,
                                                    const hmath_value *labels, hmath_value **out);

/* ---------------------------------------------------------------- end of Metrics */

/* ================================================================ Graphs */

/*
 * Nodes of the operations above, for hmath_autodiff.h: they take ADExpr (287) and ADTensor (288) values,
 * and Doubles and Tensor Doubles as constants. [ADExpr] is a List of scalars, or an ADTensor of rank 1 or
 * more; a List gives a List, an ADTensor an ADTensor. Shapes and selectors' parameters are checked here;
 * elements when the graph is evaluated, with the failures of the operation without a graph.
 */

/** The activation of a scalar, or of every element of a tensor, with its analytic derivative. */
HMATH_CALL hmath_neural_core_activation_expr(hmath_context *ctx, const hmath_value *method,
                                             const hmath_value *value, hmath_value **out);

/** [ADExpr] -> [ADExpr]; of an ADTensor along its last axis. First-order. EmptyInput. */
HMATH_CALL hmath_neural_core_softmax_expr(hmath_context *ctx, const hmath_value *values,
                                          hmath_value **out);
HMATH_CALL hmath_neural_core_log_softmax_expr(hmath_context *ctx, const hmath_value *values,
                                              hmath_value **out);
HMATH_CALL hmath_neural_core_sparsemax_expr(hmath_context *ctx, const hmath_value *values,
                                            hmath_value **out);

/**
 * The loss of a target and a prediction of the same shape, as an ADExpr. The target is [Double] or a Tensor, or
 * an ADTensor (a minibatch that changes from run to run); no derivative with respect to it is defined.
 */
HMATH_CALL hmath_neural_core_loss_expr(hmath_context *ctx, const hmath_value *method,
                                       const hmath_value *reduction, const hmath_value *target,
                                       const hmath_value *prediction, hmath_value **out);

/** CTC of [[ADExpr]] or an ADTensor [time][class], as an ADExpr. First-order. */
HMATH_CALL hmath_neural_core_ctc_loss_expr(hmath_context *ctx, const hmath_value *blank,
                                           const hmath_value *labels,
                                           const hmath_value *log_probabilities, hmath_value **out);

/** input [..., in], weights [out, in], bias [ADExpr] of length out -> [..., out]. */
HMATH_CALL hmath_neural_layers_dense_ad(hmath_context *ctx, const hmath_value *input,
                                        const hmath_value *weights, const hmath_value *bias,
                                        hmath_value **out);

/** layers.convolution with derivatives through input, weights and bias ([ADExpr]). */
HMATH_CALL hmath_neural_layers_convolution_ad(hmath_context *ctx, const hmath_value *options,
                                              const hmath_value *input, const hmath_value *weights,
                                              const hmath_value *bias, hmath_value **out);

/** Over the `axes` trailing axes. */
HMATH_CALL hmath_neural_layers_layer_norm_ad(hmath_context *ctx, const hmath_value *axes,
                                             const hmath_value *epsilon, const hmath_value *input,
                                             hmath_value **out);
HMATH_CALL hmath_neural_layers_rms_norm_ad(hmath_context *ctx, const hmath_value *axes,
                                           const hmath_value *epsilon, const hmath_value *input,
                                           hmath_value **out);

/**
 * Query [N, D], key [M, D], value [M, F] -> [N, F] (or all with the same leading axes); mask [[Bool]] or NULL.
 * A fully masked row is zero and passes back exact zeros. First-order.
 */
HMATH_CALL hmath_neural_layers_scaled_dot_product_attention_ad(
    hmath_context *ctx, const hmath_value *query, const hmath_value *key, const hmath_value *value,
    const hmath_value *mask, hmath_value **out);

#if defined(__cplusplus) && !defined(HMATH_CDEF)
}
#endif

#endif
