/*
 * Elementwise nodes: arithmetic with broadcasting (sizes equal or 1, from the last axis back),
 * elementary functions, activations. Each maker returns a node borrowed from g; see autodiff/node.h.
 */
#ifndef HM_PRIMITIVES_ELEMENTWISE_H
#define HM_PRIMITIVES_ELEMENTWISE_H

#include "autodiff/node.h"

hm_node *hm_ad_add(hm_graph *g, hm_node *left, hm_node *right);
hm_node *hm_ad_subtract(hm_graph *g, hm_node *left, hm_node *right);
hm_node *hm_ad_multiply(hm_graph *g, hm_node *left, hm_node *right);
hm_node *hm_ad_divide(hm_graph *g, hm_node *left, hm_node *right);
hm_node *hm_ad_sqrt_slope(hm_graph *g, hm_node *cotangent, hm_node *root); /* cotangent / root */
hm_node *hm_ad_maximum(hm_graph *g, hm_node *left, hm_node *right); /* a tie shares its cotangent */
hm_node *hm_ad_minimum(hm_graph *g, hm_node *left, hm_node *right);
hm_node *hm_ad_power(hm_graph *g, hm_node *base, hm_node *exponent);

/* 1.0 where it holds, else 0.0; the derivative is 0. */
hm_node *hm_ad_equal(hm_graph *g, hm_node *left, hm_node *right);
hm_node *hm_ad_less(hm_graph *g, hm_node *left, hm_node *right);
hm_node *hm_ad_less_equal(hm_graph *g, hm_node *left, hm_node *right);

/* a where the condition is not 0, else b; no derivative flows into the condition. */
hm_node *hm_ad_select(hm_graph *g, hm_node *condition, hm_node *a, hm_node *b);

hm_node *hm_ad_negate(hm_graph *g, hm_node *value);
hm_node *hm_ad_absolute(hm_graph *g, hm_node *value);
hm_node *hm_ad_sign(hm_graph *g, hm_node *value);
hm_node *hm_ad_square(hm_graph *g, hm_node *value);
hm_node *hm_ad_sqrt(hm_graph *g, hm_node *value);
hm_node *hm_ad_reciprocal(hm_graph *g, hm_node *value);
hm_node *hm_ad_exp(hm_graph *g, hm_node *value);
hm_node *hm_ad_expm1(hm_graph *g, hm_node *value);
hm_node *hm_ad_log(hm_graph *g, hm_node *value);
hm_node *hm_ad_log1p(hm_graph *g, hm_node *value);
hm_node *hm_ad_sin(hm_graph *g, hm_node *value);
hm_node *hm_ad_cos(hm_graph *g, hm_node *value);
hm_node *hm_ad_tan(hm_graph *g, hm_node *value);
hm_node *hm_ad_tanh(hm_graph *g, hm_node *value);
hm_node *hm_ad_erf(hm_graph *g, hm_node *value);

/* `method` is HM_ACTIVATION_..., its parameter checked here. */
hm_node *hm_ad_activation(hm_graph *g, int32_t method, double parameter, hm_node *value);
hm_node *hm_ad_activation_derivative(hm_graph *g, int32_t method, double parameter, hm_node *value);

/* Is it ReLU of something? */
bool hm_is_rectified(const hm_node *node);

hm_node *hm_ad_broadcast_to(hm_graph *g, hm_node *value, const hm_shape *shape);

/* A shape full of one number. */
hm_node *hm_ad_full(hm_graph *g, double x, const hm_shape *shape);
hm_node *hm_ad_zeros_like(hm_graph *g, const hm_node *node);

/* node * x and node + x for a plain number. */
hm_node *hm_ad_scaled(hm_graph *g, hm_node *node, double x);
hm_node *hm_ad_shifted(hm_graph *g, hm_node *node, double x);

#endif
