/* The length of a gradient, and clipping to it. */
#ifndef HM_GRADIENTS_H
#define HM_GRADIENTS_H

#include "tensor/view.h"

/*
 * sqrt(sum g_i^2), without overflow or underflow on the way; 0 of nothing. NonFinite (gradient);
 * Overflow where the norm itself is no finite double.
 */
hm_status hm_gradient_norm(hm_context *ctx, const hm_doubles *gradient, double *out);

/*
 * The gradient itself where its norm is at most `maximum`, else (g / ||g||) * maximum (Pascanu,
 * Mikolov, Bengio, "On the difficulty of training recurrent neural networks", ICML 2013), in the
 * gradient's container. Also where ||g|| is no double or maximum / ||g|| would underflow.
 * NonFinite, DomainError (maximum > 0); NonFinite (gradient).
 */
hm_status hm_clip_gradients(hm_context *ctx, double maximum, const hm_doubles *gradient,
                            hm_value **out);

#endif
