/* Orthonormal columns that are as random as can be. */
#ifndef HM_ORTHOGONAL_H
#define HM_ORTHOGONAL_H

#include "runtime/context.h"

/*
 * The orthogonal factor of columns x rows numbers, column after column, rows >= columns >= 1: A =
 * QR with orthonormal Q and a positive diagonal of R. Q takes A's place. Of independent normals it
 * is uniformly distributed (Haar) among all matrices with orthonormal columns.
 */
hm_status hm_orthonormalise(hm_context *ctx, double *matrix, int64_t rows, int64_t columns);

#endif
