/*
 * The loops of elementwise kernels. A map runs over pairs of vectors, so that the compiler can
 * weave two chains of dependent operations together, then over what is left, the lanes of a partial
 * vector beyond the end repeating its first number, so that they raise no alarm of their own. The
 * functions a loop is handed are inlined into it.
 */
#ifndef HM_MAP_H
#define HM_MAP_H

#include "kernels/math/scale.h"

/* A function in the three forms of math/scale.h; one without a parameter ignores it. */
typedef struct map_forms {
    vec_mask (*ordinary)(vec x);
    vec (*fast)(vec x, vec parameter);
    vec (*rare)(vec x, vec parameter);
} map_forms;

/* Two vectors at once: all fast, or, one lane of either being out of the ordinary, all rare. */
typedef struct map_pair {
    vec first, second;
} map_pair;

/* Anything infinite or NaN goes to the rare form, so only there has anybody to look for it. */
VEC_INLINE map_pair map_both(map_pair x, vec parameter, map_forms f, bool *finite)
{
    if (HM_LIKELY(vec_mask_all(vec_mask_and(f.ordinary(x.first), f.ordinary(x.second)))))
        return (map_pair){f.fast(x.first, parameter), f.fast(x.second, parameter)};
    const map_pair y = {f.rare(x.first, parameter), f.rare(x.second, parameter)};
    *finite = *finite &&
              vec_mask_all(vec_mask_and(vec_is_finite(x.first), vec_is_finite(x.second))) &&
              vec_mask_all(vec_mask_and(vec_is_finite(y.first), vec_is_finite(y.second)));
    return y;
}

VEC_INLINE vec map_one(vec x, vec parameter, map_forms f, bool *finite)
{
    if (HM_LIKELY(vec_mask_all(f.ordinary(x))))
        return f.fast(x, parameter);
    const vec y = f.rare(x, parameter);
    *finite = *finite && vec_mask_all(vec_mask_and(vec_is_finite(x), vec_is_finite(y)));
    return y;
}

VEC_INLINE bool map(size_t n, double parameter, const double *x, double *out, map_forms f)
{
    const vec p = vec_of(parameter);
    bool finite = true;
    size_t i = 0;
    for (; i + 2 * VEC_WIDTH <= n; i += 2 * VEC_WIDTH) {
        const map_pair in = {vec_load(x + i), vec_load(x + i + VEC_WIDTH)};
        const map_pair y = map_both(in, p, f, &finite);
        vec_store(out + i, y.first);
        vec_store(out + i + VEC_WIDTH, y.second);
    }
    for (; i < n; i += VEC_WIDTH) {
        const size_t left = n - i < VEC_WIDTH ? n - i : VEC_WIDTH;
        vec_store_partial(out + i, left, map_one(vec_load_padded(x + i, left), p, f, &finite));
    }
    return finite;
}

/* out = f(x) * factor */
VEC_INLINE bool map_times(size_t n, double parameter, const double *x, const double *factor,
                          double *out, map_forms f)
{
    const vec p = vec_of(parameter);
    vec taint = vec_of(0.0);
    bool finite = true;
    size_t i = 0;
    for (; i + 2 * VEC_WIDTH <= n; i += 2 * VEC_WIDTH) {
        const map_pair in = {vec_load(x + i), vec_load(x + i + VEC_WIDTH)};
        map_pair y = map_both(in, p, f, &finite);
        y.first *= vec_load(factor + i);
        y.second *= vec_load(factor + i + VEC_WIDTH);
        taint = vec_taint(vec_taint(taint, y.first), y.second);
        vec_store(out + i, y.first);
        vec_store(out + i + VEC_WIDTH, y.second);
    }
    for (; i < n; i += VEC_WIDTH) {
        const size_t left = n - i < VEC_WIDTH ? n - i : VEC_WIDTH;
        const vec y = map_one(vec_load_padded(x + i, left), p, f, &finite) *
                      vec_load_padded(factor + i, left);
        taint = vec_taint(taint, y);
        vec_store_partial(out + i, left, y);
    }
    return finite && !vec_is_tainted(taint);
}

/* Functions of a few instructions, right for every x: what is not finite is noticed by vec_taint.
 */
typedef vec map_short(vec x, vec parameter);

VEC_INLINE bool map_plain(size_t n, double parameter, const double *x, double *out, map_short *f)
{
    const vec p = vec_of(parameter);
    vec taint_in = vec_of(0.0), taint_out = vec_of(0.0);
    size_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec in = vec_load(x + i), y = f(in, p);
        taint_in = vec_taint(taint_in, in);
        taint_out = vec_taint(taint_out, y);
        vec_store(out + i, y);
    }
    if (i < n) {
        const vec in = vec_load_padded(x + i, n - i), y = f(in, p);
        taint_out = vec_taint(vec_taint(taint_out, in), y);
        vec_store_partial(out + i, n - i, y);
    }
    return !vec_is_tainted(taint_in + taint_out);
}

/* out = f(x) * factor */
VEC_INLINE bool map_plain_times(size_t n, double parameter, const double *x, const double *factor,
                                double *out, map_short *f)
{
    const vec p = vec_of(parameter);
    vec taint_in = vec_of(0.0), taint_factor = vec_of(0.0), taint_out = vec_of(0.0);
    size_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec in = vec_load(x + i), c = vec_load(factor + i), y = f(in, p) * c;
        taint_in = vec_taint(taint_in, in);
        taint_factor = vec_taint(taint_factor, c);
        taint_out = vec_taint(taint_out, y);
        vec_store(out + i, y);
    }
    if (i < n) {
        const vec in = vec_load_padded(x + i, n - i), c = vec_load_padded(factor + i, n - i),
                  y = f(in, p) * c;
        taint_out = vec_taint(vec_taint(vec_taint(taint_out, in), c), y);
        vec_store_partial(out + i, n - i, y);
    }
    return !vec_is_tainted(taint_in + taint_factor + taint_out);
}

/* One of several operands: a vector, or with step 0 one number for all. */
VEC_INLINE vec map_operand(const double *x, size_t step, size_t i)
{
    return step ? vec_load(x + i) : vec_broadcast(x);
}

VEC_INLINE vec map_last_operand(const double *x, size_t step, size_t i, size_t n)
{
    return step ? vec_load_padded(x + i, n - i) : vec_broadcast(x);
}

typedef vec map_step_2(vec a, vec b);

VEC_INLINE bool map_2_of(size_t n, const double *a, size_t a_step, const double *b, size_t b_step,
                         double *out, map_step_2 *step)
{
    vec taint_a = vec_of(0.0), taint_b = vec_of(0.0), taint_out = vec_of(0.0);
    size_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec p = map_operand(a, a_step, i), q = map_operand(b, b_step, i), y = step(p, q);
        taint_a = vec_taint(taint_a, p);
        taint_b = vec_taint(taint_b, q);
        taint_out = vec_taint(taint_out, y);
        vec_store(out + i, y);
    }
    if (i < n) {
        const vec p = map_last_operand(a, a_step, i, n), q = map_last_operand(b, b_step, i, n);
        const vec y = step(p, q);
        taint_out = vec_taint(vec_taint(vec_taint(taint_out, p), q), y);
        vec_store_partial(out + i, n - i, y);
    }
    return !vec_is_tainted(taint_a + taint_b + taint_out);
}

/* A loop for each kind of operands. Two single numbers are rare; they go with the second. */
VEC_INLINE bool map_2(size_t n, const double *a, size_t a_step, const double *b, size_t b_step,
                      double *out, map_step_2 *step)
{
    if (a_step && b_step)
        return map_2_of(n, a, 1, b, 1, out, step);
    if (b_step)
        return map_2_of(n, a, 0, b, 1, out, step);
    return map_2_of(n, a, a_step, b, 0, out, step);
}

#endif
