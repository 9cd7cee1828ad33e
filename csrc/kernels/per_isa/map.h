/*
 * The loops of elementwise kernels. A map runs over pairs of vectors or fours, so that the compiler can weave
 * chains of dependent operations together; what a last pair lacks repeats one of its numbers, so that it
 * raises no alarm of its own. The functions a loop is handed are inlined into it, once.
 */
#ifndef HM_MAP_H
#define HM_MAP_H

#include "kernels/math/scale.h"
#include "kernels/per_isa/unroll.h"

enum { MAP_PAIR = 2 * VEC_WIDTH };

typedef struct map_pair {
    vec first, second;
} map_pair;

/* n numbers from x, at least one; beyond them one of them again */
VEC_INLINE map_pair map_load(const double *x, size_t n)
{
    if (HM_LIKELY(n >= MAP_PAIR))
        return (map_pair){vec_load(x), vec_load(x + VEC_WIDTH)};
    if (n <= VEC_WIDTH) {
        const vec only = vec_load_padded(x, n);
        return (map_pair){only, only};
    }
    return (map_pair){vec_load(x), vec_load_padded(x + VEC_WIDTH, n - VEC_WIDTH)};
}

VEC_INLINE void map_store(double *out, size_t n, map_pair y)
{
    if (HM_LIKELY(n >= MAP_PAIR)) {
        vec_store(out, y.first);
        vec_store(out + VEC_WIDTH, y.second);
    } else if (n <= VEC_WIDTH) {
        vec_store_partial(out, n, y.first);
    } else {
        vec_store(out, y.first);
        vec_store_partial(out + VEC_WIDTH, n - VEC_WIDTH, y.second);
    }
}

/*
 * What vectors so far ahead will read. In a long function few loads are in view, so that the processor's own
 * prefetching, which stops at every page, is late (Sapphire Rapids, a million elements: exp 1.12, log 1.15,
 * sigmoid 1.14, sin and tanh 1.08, gated 1.20). In cache, and for short functions, nothing is gained or lost.
 */
enum { MAP_FETCH_BYTES = 2048 };

VEC_INLINE void map_fetch(const double *x, int vectors)
{
    for (int line = 0; line < vectors * (int)sizeof(vec); line += 64)
        __builtin_prefetch((const char *)x + MAP_FETCH_BYTES + line);
}

/* A function in the three forms of math/scale.h; one without a parameter ignores it. */
typedef struct map_forms {
    vec_mask (*ordinary)(vec x);
    vec (*fast)(vec x, vec parameter);
    vec (*rare)(vec x, vec parameter);
} map_forms;

/*
 * All fast, or, one lane of either being out of the ordinary, all rare: anything infinite or NaN goes there, so
 * only there has anybody to look for it.
 */
VEC_INLINE bool map_pairs(size_t n, double parameter, const double *x, double *out, map_forms f)
{
    const vec p = vec_of(parameter);
    bool finite = true;
    for (size_t i = 0; i < n; i += MAP_PAIR) {
        const map_pair in = map_load(x + i, n - i);
        map_fetch(x + i, 2);
        map_pair y;
        if (HM_LIKELY(vec_mask_all(vec_mask_and(f.ordinary(in.first), f.ordinary(in.second))))) {
            y = (map_pair){f.fast(in.first, p), f.fast(in.second, p)};
        } else {
            y = (map_pair){f.rare(in.first, p), f.rare(in.second, p)};
            finite =
                finite &&
                vec_mask_all(vec_mask_and(vec_is_finite(in.first), vec_is_finite(in.second))) &&
                vec_mask_all(vec_mask_and(vec_is_finite(y.first), vec_is_finite(y.second)));
        }
        map_store(out + i, n - i, y);
    }
    return finite;
}

/*
 * Two functions of the same x, which agree on what is ordinary. What they have in common, an exponential or
 * half a polynomial, is computed once: inlined side by side, it is the compiler's to see.
 */
VEC_INLINE bool map_two(size_t n, double parameter, const double *x, double *out_f, double *out_g,
                        map_forms f, map_forms g)
{
    const vec p = vec_of(parameter);
    bool finite = true;
    for (size_t i = 0; i < n; i += MAP_PAIR) {
        const map_pair in = map_load(x + i, n - i);
        map_pair y, z;
        if (HM_LIKELY(vec_mask_all(vec_mask_and(f.ordinary(in.first), f.ordinary(in.second))))) {
            y = (map_pair){f.fast(in.first, p), f.fast(in.second, p)};
            z = (map_pair){g.fast(in.first, p), g.fast(in.second, p)};
        } else {
            y = (map_pair){f.rare(in.first, p), f.rare(in.second, p)};
            z = (map_pair){g.rare(in.first, p), g.rare(in.second, p)};
            finite = finite &&
                     vec_mask_all(vec_mask_and(vec_is_finite(y.first), vec_is_finite(y.second))) &&
                     vec_mask_all(vec_mask_and(vec_is_finite(z.first), vec_is_finite(z.second))) &&
                     vec_mask_all(vec_mask_and(vec_is_finite(in.first), vec_is_finite(in.second)));
        }
        map_store(out_f + i, n - i, y);
        map_store(out_g + i, n - i, z);
    }
    return finite;
}

#ifdef __AVX2__
enum { MAP_FOUR = 4 * VEC_WIDTH };

/* Four vectors of f, if all are ordinary; else nothing. */
VEC_INLINE bool map_four(double parameter, const double *x, double *out, map_forms f)
{
    const vec p = vec_of(parameter);
    vec a[4];
    UNROLL (k, 0, 4)
        a[k] = vec_load(x + k * VEC_WIDTH);
    map_fetch(x, 4);
    vec_mask ordinary = f.ordinary(a[0]);
    UNROLL (k, 1, 4)
        ordinary = vec_mask_and(ordinary, f.ordinary(a[k]));
    if (!HM_LIKELY(vec_mask_all(ordinary)))
        return false;
    UNROLL (k, 0, 4)
        a[k] = f.fast(a[k], p);
    UNROLL (k, 0, 4)
        vec_store(out + k * VEC_WIDTH, a[k]);
    return true;
}
#endif

/*
 * The same function in the way that suits the machine. Vectors of AVX2 go by fours: its processors' schedulers see
 * less of what is ahead, and find enough that need not wait where four chains are woven (Zen 3: sines 1.2, mish
 * 1.2, tanh, silu, softplus and logarithms 1.12, exp 1.04).
 */
#if defined(__AVX2__) && !defined(__AVX512F__)
VEC_INLINE bool map(size_t n, double parameter, const double *x, double *out, map_forms f)
{
    bool finite = true;
    for (size_t i = 0; i < n; i += MAP_FOUR) {
        const size_t count = n - i < MAP_FOUR ? n - i : MAP_FOUR;
        if (count < MAP_FOUR || !map_four(parameter, x + i, out + i, f))
            finite &= map_pairs(count, parameter, x + i, out + i, f);
    }
    return finite;
}
#else
VEC_INLINE bool map(size_t n, double parameter, const double *x, double *out, map_forms f)
{
    return map_pairs(n, parameter, x, out, f);
}
#endif

/*
 * Fours of vectors, where there are registers for so many; `pairs` is the same function by map_pairs, for what is
 * left and for fours that are not all ordinary. Long functions fill the processor with instructions that wait for one
 * another unless enough others stand between them; and what a table is read for is done for four (Sapphire Rapids:
 * tanh 1.05, erf 1.21; sines, logarithms and exponentials gain nothing).
 */
#ifdef __AVX512F__
VEC_INLINE bool map_fours(size_t n, const double *x, double *out, map_forms f,
                          bool (*pairs)(size_t n, const double *x, double *out))
{
    bool finite = true;
    size_t i = 0;
    for (; i + MAP_FOUR <= n; i += MAP_FOUR)
        if (!map_four(0.0, x + i, out + i, f))
            finite &= pairs(MAP_FOUR, x + i, out + i);
    return (i == n || pairs(n - i, x + i, out + i)) && finite;
}
#else
VEC_INLINE bool map_fours(size_t n, const double *x, double *out, map_forms f,
                          bool (*pairs)(size_t n, const double *x, double *out))
{
    (void)f;
    return pairs(n, x, out);
}
#endif

/* Functions of a few instructions, right for every x: vec_taint notices what is not finite. */
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

/* One loop for all kinds: for long functions, which are worth compiling once. */
VEC_INLINE bool map_2_long(size_t n, const double *a, size_t a_step, const double *b, size_t b_step,
                           double *out, map_step_2 *step)
{
    vec taint_in = vec_of(0.0), taint_out = vec_of(0.0);
    for (size_t i = 0; i < n; i += VEC_WIDTH) {
        const bool whole = n - i >= VEC_WIDTH;
        map_fetch(a + (a_step ? i : 0), 1);
        map_fetch(b + (b_step ? i : 0), 1);
        const vec p = whole ? map_operand(a, a_step, i) : map_last_operand(a, a_step, i, n);
        const vec q = whole ? map_operand(b, b_step, i) : map_last_operand(b, b_step, i, n);
        const vec y = step(p, q);
        taint_in = vec_taint(vec_taint(taint_in, p), q);
        taint_out = vec_taint(taint_out, y);
        vec_store_partial(out + i, whole ? VEC_WIDTH : n - i, y);
    }
    return !vec_is_tainted(taint_in + taint_out);
}

#endif
