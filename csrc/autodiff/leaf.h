/* The nodes that a graph begins with: variables and constants. */
#ifndef HM_LEAF_H
#define HM_LEAF_H

#include "autodiff/node.h"
#include "tensor/tensor.h"

extern const hm_op hm_op_variable, hm_op_constant;

/* A variable; the name, zero-terminated, is for people: two variables of one name are two variables. */
hm_node *hm_ad_variable(hm_graph *g, const char *name, const hm_shape *shape);

/* Finite numbers. The tensor is retained; its rank is 1 or more. */
hm_node *hm_ad_constant(hm_graph *g, double x);
hm_node *hm_ad_constant_tensor(hm_graph *g, const hm_tensor *tensor);

const char *hm_variable_name(const hm_node *node);
const double *hm_constant_data(const hm_node *node);

#endif
