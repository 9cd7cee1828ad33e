/* Scores of attention; the contract is in attention.h. */
#include <string.h>

#include "kernels/attention.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"

/* Which of the n <= VEC_WIDTH bytes at p are not 0. */
VEC_INLINE vec_mask bytes_set(const uint8_t *p, size_t n)
{
    typedef uint8_t bytes __attribute__((vector_size(VEC_WIDTH)));
    bytes b = {0};
    memcpy(&b, p, n);
    return vec_int_greater(__builtin_convertvector(b, vec_int), vec_int_of(0));
}

/* 0 times what is not finite is NaN, and a sum never forgets it. */
VEC_INLINE bool scores_of(double *score, int64_t n, double by, const double *bias,
                          const uint8_t *allowed)
{
    const vec factor = vec_of(by);
    vec spoiled = vec_of(0.0);
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        vec s = vec_load(score + i) * factor;
        if (bias)
            s += vec_load(bias + i);
        vec_store(score + i, s);
        const vec taken = allowed ? vec_keep(bytes_set(allowed + i, VEC_WIDTH), s) : s;
        spoiled = vec_taint(spoiled, taken);
    }
    if (i < n) {
        const size_t count = lanes_before(n, i);
        vec s = vec_load_partial(score + i, count) * factor;
        if (bias)
            s += vec_load_partial(bias + i, count);
        vec_store_partial(score + i, count, s);
        const vec taken = allowed ? vec_keep(bytes_set(allowed + i, count), s) : s;
        spoiled = vec_taint(spoiled, taken);
    }
    return !vec_is_tainted(spoiled);
}

static bool scores(double *score, int64_t n, double by, const double *bias, const uint8_t *allowed)
{
    if (!bias && !allowed)
        return scores_of(score, n, by, NULL, NULL);
    if (!bias)
        return scores_of(score, n, by, NULL, allowed);
    return scores_of(score, n, by, bias, allowed);
}

extern const hm_attention_kernels HM_K(attention);
const hm_attention_kernels HM_K(attention) = {.scores = scores};
