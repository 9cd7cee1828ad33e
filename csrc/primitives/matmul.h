/* Products of matrices. See autodiff/node.h for g. */
#ifndef HM_PRIMITIVES_MATMUL_H
#define HM_PRIMITIVES_MATMUL_H

#include "autodiff/node.h"

/*
 * left @ right as in NumPy: matrices on the last two axes, the other axes broadcast, a vector is one row
 * on the left and one column on the right.
 */
hm_node *hm_ad_matmul(hm_graph *g, hm_node *left, hm_node *right);

/*
 * The primitive: both of rank 2, or both of rank r > 2 with the same leading axes; either may be read
 * transposed on its last two.
 */
hm_node *hm_ad_matrix_product(hm_graph *g, hm_node *left, bool left_transposed, hm_node *right,
                              bool right_transposed);

/* input [..., in] * transposed weights [out, in] + bias [out]. */
hm_node *hm_ad_dense(hm_graph *g, hm_node *input, hm_node *weights, hm_node *bias);

#endif
