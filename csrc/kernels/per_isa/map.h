/*
 * The loops of elementwise kernels. A map runs over whole vectors and then one partial one, whose
 * lanes beyond the end repeat its first number, so that they raise no alarm of their own. What is
 * done to a vector is a step; steps are inlined into the loop that is handed their name.
 */
#ifndef HM_MAP_H
#define HM_MAP_H

#include "kernels/math/scale.h"

/* What a step may use besides x, and where it leaves word of what is not finite. */
typedef struct map_state {
    vec parameter;
    vec taint_in, taint_out; /* see vec_taint */
    bool finite;
} map_state;

typedef vec map_step(vec x, map_state *state);

VEC_INLINE map_state map_start(double parameter)
{
    return (map_state){vec_of(parameter), vec_of(0.0), vec_of(0.0), true};
}

VEC_INLINE bool map_is_finite(map_state state)
{
    return state.finite && !vec_is_tainted(state.taint_in + state.taint_out);
}

/* For steps of a few instructions. */
VEC_INLINE vec map_watched(vec x, vec y, map_state *state)
{
    state->taint_in = vec_taint(state->taint_in, x);
    state->taint_out = vec_taint(state->taint_out, y);
    return y;
}

/*
 * For functions in the three forms of math/scale.h: anything infinite or NaN goes to the rare one,
 * so only there has anybody to look.
 */
VEC_INLINE vec map_noted(vec x, vec y, map_state *state)
{
    state->finite = state->finite && vec_mask_all(vec_mask_and(vec_is_finite(x), vec_is_finite(y)));
    return y;
}

VEC_INLINE bool map(size_t n, double parameter, const double *x, double *out, map_step *step)
{
    map_state state = map_start(parameter);
    size_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH)
        vec_store(out + i, step(vec_load(x + i), &state));
    if (i < n)
        vec_store_partial(out + i, n - i, step(vec_load_padded(x + i, n - i), &state));
    return map_is_finite(state);
}

/* out = step(x) * factor */
VEC_INLINE bool map_times(size_t n, double parameter, const double *x, const double *factor,
                          double *out, map_step *step)
{
    map_state state = map_start(parameter);
    size_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec f = vec_load(factor + i), y = step(vec_load(x + i), &state) * f;
        vec_store(out + i, map_watched(f, y, &state));
    }
    if (i < n) {
        const vec f = vec_load_padded(factor + i, n - i);
        const vec y = step(vec_load_padded(x + i, n - i), &state) * f;
        vec_store_partial(out + i, n - i, map_watched(f, y, &state));
    }
    return map_is_finite(state);
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
