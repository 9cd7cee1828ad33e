/*
 * The Core namespace without a graph, a concept a file. Each function checks its arguments in the
 * order of the public header, computes, and writes *out last, on success only. Arguments' kinds
 * have been checked at the edge; the names in failures are the Python parameters'.
 */
#ifndef HM_CORE_H
#define HM_CORE_H

#include "kernels/softmax.h"
#include "neural/core/selector.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

/* activations.c: f, or f' where `derivative`, of one number or of every element. */
hm_status hm_activation_number(hm_context *ctx, const hm_activation *method, bool derivative,
                               double value, double *out);
hm_status hm_activation_tensor(hm_context *ctx, const hm_activation *method, bool derivative,
                               const hm_tensor *value, hm_tensor **out);
hm_status hm_gated_linear_unit(hm_context *ctx, const hm_doubles *values, const hm_doubles *gate,
                               hm_value **out);

/* softmax.c, sparsemax.c: a vector, or along the last axis of a tensor. */
hm_status hm_softmax(hm_context *ctx, const hm_doubles *values, hm_value **out);
hm_status hm_log_softmax(hm_context *ctx, const hm_doubles *values, hm_value **out);
hm_status hm_sparsemax(hm_context *ctx, const hm_doubles *values, hm_value **out);

/* The same on rows of n >= 1 elements; false where an element or a result is not finite. */
bool hm_softmax_rows(const hm_context *ctx, bool logarithm, const double *x, int64_t rows,
                     int64_t n, double *out);

/* ln sum e^(x[i] - most), with relative accuracy also where one entry is all of it. x[i] <= most, n >= 1. */
double hm_log_sum_exp(const hm_context *ctx, const hm_softmax_kernels *kernels, const double *x,
                      int64_t n, double most);

/* The rows of a view that holds vectors along its last axis; step 3 and 4 of the order of checks.
 */
hm_status hm_check_rows_of_some(hm_context *ctx, const char *argument, const hm_doubles *view,
                                int64_t *rows, int64_t *columns);

/* losses.c, loss_gradients.c, cosine.c */
hm_status hm_loss(hm_context *ctx, const hm_loss_method *method, const hm_loss_reduction *reduction,
                  const hm_doubles *target, const hm_doubles *prediction, double *out);
hm_status hm_loss_gradient(hm_context *ctx, const hm_loss_method *method,
                           const hm_loss_reduction *reduction, const hm_doubles *target,
                           const hm_doubles *prediction, hm_value **out);
hm_status hm_cosine_loss(hm_context *ctx, const hm_doubles *target, const hm_doubles *prediction,
                         double *out);
hm_status hm_cosine_loss_gradient(hm_context *ctx, const hm_doubles *target,
                                  const hm_doubles *prediction, hm_value **out);

/* Everything about a loss's arguments that can be refused before it is computed, but for elements.
 */
hm_status hm_check_loss_shapes(hm_context *ctx, const hm_loss_method *method,
                               const hm_doubles *target, const hm_doubles *prediction);

/* logits.c */
hm_status hm_binary_cross_entropy_logits(hm_context *ctx, const hm_loss_reduction *reduction,
                                         const hm_doubles *target, const hm_doubles *logits,
                                         double *out);
hm_status hm_categorical_cross_entropy_logits(hm_context *ctx, const hm_doubles *target,
                                              const hm_doubles *logits, double *out);

/* distances.c */
hm_status hm_regularization(hm_context *ctx, double l1, double l2, const hm_doubles *weights,
                            double *out);
hm_status hm_contrastive_loss(hm_context *ctx, double margin, bool similar, const hm_doubles *left,
                              const hm_doubles *right, double *out);
hm_status hm_triplet_loss(hm_context *ctx, double margin, const hm_doubles *anchor,
                          const hm_doubles *positive, const hm_doubles *negative, double *out);

/* binary.c: targets and predictions in [0, 1] */
hm_status hm_focal_loss(hm_context *ctx, double alpha, double gamma, const hm_doubles *target,
                        const hm_doubles *prediction, double *out);
hm_status hm_dice_loss(hm_context *ctx, double smooth, const hm_doubles *target,
                       const hm_doubles *prediction, double *out);
hm_status hm_iou_loss(hm_context *ctx, double smooth, const hm_doubles *target,
                      const hm_doubles *prediction, double *out);

/* ctc.c: the gradient's rows in the container of log_probabilities */
hm_status hm_ctc_loss(hm_context *ctx, int64_t blank, const hm_ints *labels,
                      const hm_double_rows *log_probabilities, double *out);
hm_status hm_ctc_loss_gradient(hm_context *ctx, int64_t blank, const hm_ints *labels,
                               const hm_double_rows *log_probabilities, double *loss,
                               hm_value **gradient);

#endif
