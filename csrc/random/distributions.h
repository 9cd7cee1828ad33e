/*
 * Distributions. Each knows the stream it draws from and no generator.
 *
 * The draws are a contract: how many outputs of the generator a sample takes is said here or
 * varies, and n samples at once are the n samples drawn one by one, on any number of threads.
 */
#ifndef HM_DISTRIBUTIONS_H
#define HM_DISTRIBUTIONS_H

#include "random/stream.h"
#include "runtime/context.h"

/* U[0, 1), multiples of 2^-53: one output of 64 bits, or two of 32. A pending normal stays. */
void hm_draw_uniforms(const hm_context *ctx, hm_stream *s, double *out, int64_t n);

/*
 * The same, and use(user, part, first, count) on every part, elements first ... first + count - 1,
 * once it is drawn, on whichever thread drew it. `first` is even, and so is count but at the end.
 */
typedef void (*hm_uniforms_use)(void *user, double *part, int64_t first, int64_t count);
void hm_draw_uniforms_for(const hm_context *ctx, hm_stream *s, double *out, int64_t n,
                          hm_uniforms_use use, void *user);

/* N(0, 1): two uniforms every second time, none in between. */
void hm_draw_normals(const hm_context *ctx, hm_stream *s, double *out, int64_t n);

/* N(0, 1) given |z| <= bound, bound > 0. The number of draws varies. */
void hm_draw_truncated_normals(const hm_context *ctx, hm_stream *s, double bound, double *out,
                               int64_t n);

/* 0 ... bound - 1, unbiased; bound > 0. One output, two of 32 bits for bound > 2^32; seldom more. */
uint64_t hm_draw_bounded(hm_stream *s, uint64_t bound);

/* A permutation of 0 ... n - 1: n - 1 bounded draws. */
void hm_draw_permutation(hm_stream *s, int64_t *out, int64_t n);

#endif
