/*
 * Metrics of scores themselves: perplexity, cosine similarities, the margin between two rankings.
 */
#ifndef HM_SCORES_H
#define HM_SCORES_H

#include "runtime/context.h"
#include "tensor/view.h"

/* exp(-mean x) of log-probabilities x. */
hm_status hm_perplexity(hm_context *ctx, const hm_doubles *log_probabilities, double *out);

/* Element (i, j): the cosine of the angle between row i of left and row j of right. */
hm_status hm_cosine_similarity_matrix(hm_context *ctx, const hm_tensor *left,
                                      const hm_tensor *right, hm_tensor **out);

/* mean max(0, -y (l - r) + margin) */
hm_status hm_margin_ranking_loss(hm_context *ctx, double margin, const hm_doubles *left,
                                 const hm_doubles *right, const hm_ints *labels, double *out);

#endif
