/*
 * The nodes of the neural operations: the same kernels as their namesakes without a graph, and their
 * derivatives. Arguments of a maker are checked in the order of the public header; a node is borrowed
 * from g (autodiff/node.h).
 */
#ifndef HM_NEURAL_GRAPH_H
#define HM_NEURAL_GRAPH_H

#include "autodiff/node.h"
#include "neural/core/selector.h"
#include "neural/layers/record.h"
#include "tensor/view.h"

/*
 * softmax.c: along an axis. First-order: their derivatives are nodes of their own, which have none with
 * respect to anything but the cotangent. A node of several rows needs an element in each.
 */
hm_node *hm_ad_softmax(hm_graph *g, hm_node *values, int32_t axis);
hm_node *hm_ad_log_softmax(hm_graph *g, hm_node *values, int32_t axis);
hm_node *hm_ad_sparsemax(hm_graph *g, hm_node *values, int32_t axis);

/* loss.c: target and prediction of one shape; no derivative with respect to the target. */
hm_node *hm_ad_loss(hm_graph *g, const hm_loss_method *method, const hm_loss_reduction *reduction,
                    hm_node *target, hm_node *prediction);

/* ctc.c: log-probabilities are [time][class]. First-order. */
hm_node *hm_ad_ctc_loss(hm_graph *g, int64_t blank, const hm_ints *labels,
                        hm_node *log_probabilities);

/*
 * attention.c: query [..., N, D], key [..., M, D], value [..., M, F], the same leading axes; the mask,
 * rows of Bool N x M or NULL, is the same for all. First-order.
 */
hm_node *hm_ad_attention(hm_graph *g, hm_node *query, hm_node *key, hm_node *value,
                         const hm_bool_rows *mask);
hm_node *hm_ad_multihead_attention(hm_graph *g, int64_t heads, hm_node *query, hm_node *key,
                                   hm_node *value, const hm_bool_rows *mask);

/* convolution.c */
hm_node *hm_ad_convolution(hm_graph *g, const hm_conv_options *options, hm_node *input,
                           hm_node *weights, hm_node *bias);
hm_node *hm_ad_transposed_convolution(hm_graph *g, const hm_ints *output_padding,
                                      const hm_conv_options *options, hm_node *input,
                                      hm_node *weights, hm_node *bias);

/* pooling.c: in a window of equal maxima the first one gets the cotangent */
hm_node *hm_ad_pooling(hm_graph *g, const hm_pool_mode *mode, const hm_ints *kernel,
                       const hm_ints *stride, const hm_ints *padding, hm_node *input);

/* norm.c */
hm_node *hm_ad_layer_norm(hm_graph *g, int64_t axes, double epsilon, hm_node *input);
hm_node *hm_ad_rms_norm(hm_graph *g, int64_t axes, double epsilon, hm_node *input);
hm_node *hm_ad_group_norm(hm_graph *g, int64_t groups, double epsilon, hm_node *input);
hm_node *hm_ad_instance_norm(hm_graph *g, double epsilon, hm_node *input);

/* Training form: normalised by the batch's own population statistics, which are nodes too. */
hm_node *hm_ad_batch_norm(hm_graph *g, double epsilon, hm_node *gamma, hm_node *beta,
                          hm_node *input, hm_node **mean, hm_node **variance);

#endif
