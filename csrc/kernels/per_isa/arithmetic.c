/*
 * One interpreter for all chains. A strip of eight vectors stays in registers from step to step; the jump
 * to the next step is the same for every strip, so that the processor foresees it, and a slow step (a
 * quotient, a root) of one strip overlaps with the quick ones of the next, as far as it sees ahead.
 *
 * That is not far enough where a root leads to a quotient. So the chain of Adam, which every parameter goes through
 * in every step of training, is one loop of the same steps, by the vector (Zen 3: 1.3 ns an element instead of 2.0).
 */
#include <math.h>
#include <string.h>

#include "kernels/arithmetic.h"
#include "kernels/math/sqrt.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/unroll.h"
#include "kernels/vec/vec.h"

enum { STRIP_VECTORS = 8, STRIP = STRIP_VECTORS * VEC_WIDTH };

/* Vector j of an operand's strip; beyond a last strip's n numbers one of them again. */
VEC_INLINE vec part(const double *x, size_t n, int j, bool whole)
{
    return whole ? vec_load(x + j * VEC_WIDTH) : vec_load_padded(x, n);
}

VEC_INLINE void keep(double *out, size_t n, int j, bool whole, vec a)
{
    if (whole)
        vec_store(out + j * VEC_WIDTH, a);
    else
        vec_store_partial(out, n, a);
}

/* Where a fused multiply-add is an instruction, a division by one number is three of them. */
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
enum { MULTIPLIES_FAST = 1 };
#else
enum { MULTIPLIES_FAST = 0 };
#endif

/* Are all numbers of a strip within 2^-800 ... 2^800? */
VEC_INLINE bool are_moderate(const int vectors, const vec *a)
{
    vec least = vec_abs(a[0]), most = least;
    UNROLL (j, 1, vectors) {
        least = vec_min(vec_abs(a[j]), least);
        most = vec_max(vec_abs(a[j]), most);
    }
    return vec_mask_all(vec_mask_and(vec_less_equal(vec_of(0x1p-800), least),
                                     vec_less_equal(most, vec_of(0x1p800))));
}

/*
 * Quotients as division rounds them: y = 1/b rounded to nearest, q = a y rounded, and q + (a - b q) y is
 * a/b rounded to nearest (Brisebarre, Muller and Raina 2004), as long as nothing on the way leaves the
 * normal numbers. (True for all pairs of numbers of 3 to 12 bits.)
 */
VEC_INLINE void divide_moderate(const int vectors, vec *a, double b)
{
    const vec divisor = vec_of(b), y = vec_of(1 / b);
    UNROLL (j, 0, vectors) {
        const vec q = a[j] * y;
        a[j] = vec_fma(vec_fma(-q, divisor, a[j]), y, q);
    }
}

VEC_INLINE bool multiplies_instead(double b)
{
    return MULTIPLIES_FAST && fabs(b) >= 0x1p-100 && fabs(b) <= 0x1p100;
}

VEC_INLINE void divide_by_number(const int vectors, vec *a, double b)
{
    if (multiplies_instead(b) && are_moderate(vectors, a)) {
        divide_moderate(vectors, a, b);
    } else {
        UNROLL (j, 0, vectors)
            a[j] = a[j] / vec_of(b);
    }
}

/* Roots are zero, or within 2^-537 ... 2^512; quotients of others, which a watch has seen, are of no use. */
VEC_INLINE void divide_roots_by_number(const int vectors, vec *a, double b)
{
    if (multiplies_instead(b)) {
        divide_moderate(vectors, a, b);
    } else {
        UNROLL (j, 0, vectors)
            a[j] = a[j] / vec_of(b);
    }
}

/* Roots that leave the divider to the quotients about them, where multiply-adds can take them. */
VEC_INLINE void take_roots(const int vectors, vec *a)
{
#ifdef __AVX512F__
    vec_mask ordinary = vec_sqrt_ordinary(a[0]);
    UNROLL (j, 1, vectors)
        ordinary = vec_mask_and(ordinary, vec_sqrt_ordinary(a[j]));
    if (HM_LIKELY(vec_mask_all(ordinary))) {
        UNROLL (j, 0, vectors)
            a[j] = vec_sqrt_fast(a[j]);
        return;
    }
#endif
    UNROLL (j, 0, vectors)
        a[j] = vec_sqrt(a[j]);
}

#define EACH(expression) \
    UNROLL (j, 0, vectors) \
        a[j] = (expression); \
    break

#define X part(s.x + at, n, j, whole)

/* One step of the chain on numbers at ... at + n - 1: `vectors` whole vectors, or n numbers of one. */
VEC_INLINE void take_step(const int vectors, const bool whole, size_t at, size_t n,
                          const hm_chain_step s, vec *a, vec *taint)
{
    switch ((hm_chain_code)s.code) {
    case HM_CHAIN_LOAD: EACH(X);
    case HM_CHAIN_ADD: EACH(a[j] + X);
    case HM_CHAIN_SUBTRACT: EACH(a[j] - X);
    case HM_CHAIN_SUBTRACT_FROM: EACH(X - a[j]);
    case HM_CHAIN_MULTIPLY: EACH(a[j] * X);
    case HM_CHAIN_DIVIDE: EACH(a[j] / X);
    case HM_CHAIN_DIVIDE_INTO: EACH(X / a[j]);
    case HM_CHAIN_ADD_NUMBER: EACH(a[j] + vec_broadcast(s.x));
    case HM_CHAIN_SUBTRACT_NUMBER: EACH(a[j] - vec_broadcast(s.x));
    case HM_CHAIN_SUBTRACT_FROM_NUMBER: EACH(vec_broadcast(s.x) - a[j]);
    case HM_CHAIN_MULTIPLY_NUMBER: EACH(a[j] * vec_broadcast(s.x));
    case HM_CHAIN_DIVIDE_NUMBER: divide_by_number(vectors, a, *s.x); break;
    case HM_CHAIN_DIVIDE_INTO_NUMBER: EACH(vec_broadcast(s.x) / a[j]);
    case HM_CHAIN_NEGATE: EACH(-a[j]);
    case HM_CHAIN_SQUARE: EACH(a[j] * a[j]);
    case HM_CHAIN_SQRT: take_roots(vectors, a); break;
    case HM_CHAIN_ADD_PRODUCT: EACH(a[j] + X * vec_broadcast(s.y));
    case HM_CHAIN_SUBTRACT_PRODUCT: EACH(a[j] - X * vec_broadcast(s.y));
    case HM_CHAIN_SUBTRACT_FROM_PRODUCT: EACH(X * vec_broadcast(s.y) - a[j]);
    case HM_CHAIN_ADD_FUSED: EACH(vec_fma(X, vec_broadcast(s.y), a[j]));
    case HM_CHAIN_STORE: {
        double *const out = s.out + at;
        UNROLL (j, 0, vectors)
            keep(out, n, j, whole, a[j]);
        break;
    }
    case HM_CHAIN_WATCH:
        UNROLL (j, 0, vectors)
            taint[j & 1] = vec_taint(taint[j & 1], a[j]);
        break;
    }
}

VEC_INLINE vec strip(const int vectors, const bool whole, size_t at, size_t n,
                     const hm_chain_step *steps, const hm_chain_step *end)
{
    vec a[STRIP_VECTORS], taint[2] = {vec_of(0.0), vec_of(0.0)};
    UNROLL (j, 0, STRIP_VECTORS)
        a[j] = vec_of(0.0);
    for (const hm_chain_step *s = steps; s < end; s++)
        take_step(vectors, whole, at, n, *s, a, taint);
    return taint[0] + taint[1];
}

/* The steps on numbers at ... n - 1; tainted where something watched is not finite. */
static __attribute__((noinline)) vec interpret(size_t at, size_t n, const hm_chain_step *steps,
                                               const hm_chain_step *end)
{
    vec taint = vec_of(0.0);
    for (; at + STRIP <= n; at += STRIP)
        taint += strip(STRIP_VECTORS, true, at, STRIP, steps, end);
    for (; at < n; at += VEC_WIDTH)
        taint += strip(1, false, at, n - at < VEC_WIDTH ? n - at : VEC_WIDTH, steps, end);
    return taint;
}

/* ------------------------------------------------- Adam */

/*
 * Adam's chain behind the gradient: moments, the root of the second one, the parameter. `LAST` subtracts from the
 * parameter, or from it times what AdamW leaves of it.
 */
#define ADAM(STEP, LAST) \
    STEP(1, MULTIPLY_NUMBER) \
    STEP(2, ADD_PRODUCT) \
    STEP(3, STORE) \
    STEP(4, WATCH) \
    STEP(5, LOAD) \
    STEP(6, SQUARE) \
    STEP(7, MULTIPLY_NUMBER) \
    STEP(8, ADD_PRODUCT) \
    STEP(9, STORE) \
    STEP(10, WATCH) \
    STEP(11, SQRT) \
    STEP(12, WATCH) \
    STEP(13, DIVIDE_NUMBER) \
    STEP(14, ADD_NUMBER) \
    STEP(15, WATCH) \
    STEP(16, DIVIDE_INTO) \
    STEP(17, MULTIPLY_NUMBER) \
    STEP(18, LAST) \
    STEP(19, STORE) \
    STEP(20, WATCH)

enum { ADAM_STEPS = 21, ADAM_LAST = 18, ADAM_VECTORS = 2, ADAM_STRIP = ADAM_VECTORS * VEC_WIDTH };

/* Are the last steps Adam's? What they begin with is loaded, or was just stored. */
static bool ends_in_adam(const hm_chain_step *steps, int64_t count)
{
#define CODE(i, code) [i] = HM_CHAIN_##code,
    static const int64_t codes[ADAM_STEPS] = {ADAM(CODE, SUBTRACT_FROM)};
#undef CODE
    if (count < ADAM_STEPS)
        return false;
    const hm_chain_step *const own = steps + count - ADAM_STEPS;
    if (own[0].code != HM_CHAIN_LOAD && own[0].code != HM_CHAIN_STORE)
        return false;
    for (int i = 1; i < ADAM_STEPS; i++)
        if (own[i].code != codes[i] &&
            !(i == ADAM_LAST && own[i].code == HM_CHAIN_SUBTRACT_FROM_PRODUCT))
            return false;
    return true;
}

VEC_INLINE bool meets_number(const hm_chain_code code)
{
    return code >= HM_CHAIN_ADD_NUMBER && code <= HM_CHAIN_DIVIDE_INTO_NUMBER;
}

VEC_INLINE bool meets_product(const hm_chain_code code)
{
    return code >= HM_CHAIN_ADD_PRODUCT && code <= HM_CHAIN_ADD_FUSED;
}

/* Step i, its code known to the compiler, its numbers in x and y, which no store can change. */
VEC_INLINE hm_chain_step own_step(const hm_chain_step *steps, const double *x, const double *y,
                                  const int i, const hm_chain_code code)
{
    return (hm_chain_step){code, {meets_number(code) ? &x[i] : steps[i].x}, &y[i]};
}

#define READ(i, code) \
    x[i] = meets_number(HM_CHAIN_##code) ? *steps[i].x : 0; \
    y[i] = meets_product(HM_CHAIN_##code) ? *steps[i].y : 0;

/* The only division by a number is that of a root. */
VEC_INLINE void take_own_step(size_t at, const hm_chain_step s, vec *a, vec *taint)
{
    if (s.code == HM_CHAIN_DIVIDE_NUMBER)
        divide_roots_by_number(ADAM_VECTORS, a, *s.x);
    else
        take_step(ADAM_VECTORS, true, at, ADAM_STRIP, s, a, taint);
}

#define TAKE(i, code) take_own_step(at, own_step(steps, x, y, i, HM_CHAIN_##code), a, taint);

#define ADAM_LOOP(LAST) \
    ADAM(READ, LAST) \
    for (; at + ADAM_STRIP <= n; at += ADAM_STRIP) { \
        vec a[ADAM_VECTORS]; \
        TAKE(0, LOAD) \
        ADAM(TAKE, LAST) \
    }

/* As far as whole strips go; `end` is where they do. */
static vec adam(size_t *end, size_t n, const hm_chain_step *steps)
{
    double x[ADAM_STEPS], y[ADAM_STEPS];
    vec taint[2] = {vec_of(0.0), vec_of(0.0)};
    size_t at = 0;
    if (steps[ADAM_LAST].code == HM_CHAIN_SUBTRACT_FROM) {
        ADAM_LOOP(SUBTRACT_FROM)
    } else {
        ADAM_LOOP(SUBTRACT_FROM_PRODUCT)
    }
    *end = at;
    return taint[0] + taint[1];
}

/* What comes before Adam, and then that. */
static vec run_to_adam(size_t n, const hm_chain_step *steps, const hm_chain_step *end)
{
    hm_chain_step own[ADAM_STEPS];
    const hm_chain_step *const first = end - ADAM_STEPS;
    size_t at;
    memcpy(own, first, sizeof own);
    own[0].code = HM_CHAIN_LOAD;
    vec taint = interpret(0, n, steps, first->code == HM_CHAIN_STORE ? first + 1 : first);
    taint += adam(&at, n, own);
    return taint + interpret(at, n, own, own + ADAM_STEPS);
}

static bool chain(size_t n, const hm_chain_step *steps, int64_t count)
{
    const hm_chain_step *const end = steps + count;
    return !vec_is_tainted(ends_in_adam(steps, count) ? run_to_adam(n, steps, end)
                                                      : interpret(0, n, steps, end));
}

extern const hm_arithmetic_kernels HM_K(arithmetic);
const hm_arithmetic_kernels HM_K(arithmetic) = {.chain = chain};
