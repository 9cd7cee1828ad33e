/*
 * The layers without a graph, a concept a file. Each function checks its arguments in the order of
 * the public header, computes, and writes *out last, on success only. Arguments' kinds have been
 * checked at the edge; the names in failures are the Python parameters'.
 */
#ifndef HM_LAYERS_H
#define HM_LAYERS_H

#include "neural/core/selector.h"
#include "kernels/kernels.h"
#include "neural/layers/record.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

/* embedding.c */
hm_status hm_embedding(hm_context *ctx, const hm_tensor *weights, const hm_ints *indices,
                       hm_tensor **out);

/* dense.c */
hm_status hm_dense(hm_context *ctx, const hm_tensor *input, const hm_tensor *weights,
                   const hm_doubles *bias, hm_tensor **out);

/* convolution.c */
hm_status hm_convolution(hm_context *ctx, const hm_conv_options *options, const hm_tensor *input,
                         const hm_tensor *weights, const hm_doubles *bias, hm_tensor **out);
hm_status hm_depthwise_convolution(hm_context *ctx, const hm_conv_options *options,
                                   const hm_tensor *input, const hm_tensor *weights,
                                   const hm_doubles *bias, hm_tensor **out);
hm_status hm_transposed_convolution(hm_context *ctx, const hm_ints *output_padding,
                                    const hm_conv_options *options, const hm_tensor *input,
                                    const hm_tensor *weights, const hm_doubles *bias,
                                    hm_tensor **out);

/* norm.c */
hm_status hm_layer_norm(hm_context *ctx, int64_t axes, double epsilon, const hm_tensor *input,
                        hm_tensor **out);
hm_status hm_rms_norm(hm_context *ctx, int64_t axes, double epsilon, const hm_tensor *input,
                      hm_tensor **out);
hm_status hm_instance_norm(hm_context *ctx, double epsilon, const hm_tensor *input,
                           hm_tensor **out);
hm_status hm_group_norm(hm_context *ctx, int64_t groups, double epsilon, const hm_tensor *input,
                        hm_tensor **out);

/* weight_norm.c */
hm_status hm_weight_norm(hm_context *ctx, int64_t axis, const hm_doubles *scales,
                         const hm_tensor *input, hm_tensor **out);

/* batch_norm.c: *out and *next together or neither */
hm_status hm_batch_norm(hm_context *ctx, const hm_training *mode, double momentum, double epsilon,
                        const hm_doubles *gamma, const hm_doubles *beta,
                        const hm_batch_norm_state *state, const hm_tensor *input, hm_tensor **out,
                        hm_batch_norm_state **next);

/* pooling.c */
hm_status hm_pooling(hm_context *ctx, const hm_pool_mode *mode, const hm_ints *kernel,
                     const hm_ints *stride, const hm_ints *padding, const hm_tensor *input,
                     hm_tensor **out);
hm_status hm_adaptive_pooling(hm_context *ctx, const hm_pool_mode *mode, const hm_ints *shape,
                              const hm_tensor *input, hm_tensor **out);
hm_status hm_global_pooling(hm_context *ctx, const hm_pool_mode *mode, const hm_tensor *input,
                            hm_tensor **out);

/* attention.c; mask and bias may be NULL */
hm_status hm_scaled_dot_product_attention(hm_context *ctx, const hm_tensor *query,
                                          const hm_tensor *key, const hm_tensor *value,
                                          const hm_bool_rows *mask, const hm_double_rows *bias,
                                          hm_tensor **out, hm_tensor **weights);
hm_status hm_multihead_attention(hm_context *ctx, int64_t heads, const hm_tensor *query,
                                 const hm_tensor *key, const hm_tensor *value,
                                 const hm_bool_rows *mask, hm_tensor **out);

/* position.c: rows of Bool, rows of Double */
hm_status hm_causal_mask(hm_context *ctx, int64_t queries, int64_t keys, int64_t offset,
                         hm_list **out);
hm_status hm_alibi_bias(hm_context *ctx, double slope, int64_t queries, int64_t keys,
                        int64_t offset, hm_list **out);

hm_status hm_rotary_embedding(hm_context *ctx, double base, int64_t offset, const hm_tensor *input,
                              hm_tensor **out);
hm_status hm_sinusoidal_encoding(hm_context *ctx, int64_t length, int64_t dimensions,
                                 int64_t offset, hm_tensor **out);

/* feed_forward.c */
hm_status hm_transformer_feed_forward(hm_context *ctx, const hm_activation *activation,
                                      const hm_tensor *input, const hm_tensor *first_weights,
                                      const hm_doubles *first_bias, const hm_tensor *second_weights,
                                      const hm_doubles *second_bias, hm_tensor **out);

/*
 * attention.c: the softmax of a row in place, n >= 1, in which only entries with allowed[i] != 0 take part
 * (all where it is NULL); the others come out as +0, and all of them where none takes part.
 */
void hm_masked_softmax_row(const hm_kernels *k, double *x, const uint8_t *allowed, int64_t n);

#endif
