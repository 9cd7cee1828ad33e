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
hm_node *hm_ad_batch_norm(hm_graph *g, double epsilon, hm_node *gamma, hm_node *beta, hm_node *input,
                          hm_node **mean, hm_node **variance);

#endif
