/* One loop for all: two vectors a round, so that no chain of additions to a taint holds it up. */
#include "kernels/arithmetic.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/map.h"

VEC_INLINE vec step_add(vec a, vec b) { return a + b; }

VEC_INLINE vec step_subtract(vec a, vec b) { return a - b; }

VEC_INLINE vec step_multiply(vec a, vec b) { return a * b; }

VEC_INLINE vec step_divide(vec a, vec b) { return a / b; }

VEC_INLINE vec step_negate(vec a, vec b)
{
    (void)b;
    return -a;
}

VEC_INLINE vec step_square(vec a, vec b)
{
    (void)b;
    return a * a;
}

VEC_INLINE vec step_sqrt(vec a, vec b)
{
    (void)b;
    return vec_sqrt(a);
}

VEC_INLINE bool over_tile(size_t n, const double *a, size_t a_step, const double *b, size_t b_step,
                          double *out, map_step_2 *step, bool watching)
{
    vec first = vec_of(0.0), second = vec_of(0.0);
    size_t i = 0;
    for (; i + MAP_PAIR <= n; i += MAP_PAIR) {
        const vec x = step(map_operand(a, a_step, i), map_operand(b, b_step, i));
        const vec y =
            step(map_operand(a, a_step, i + VEC_WIDTH), map_operand(b, b_step, i + VEC_WIDTH));
        if (watching) {
            first = vec_taint(first, x);
            second = vec_taint(second, y);
        }
        vec_store(out + i, x);
        vec_store(out + i + VEC_WIDTH, y);
    }
    for (; i < n; i += VEC_WIDTH) {
        const size_t left = n - i < VEC_WIDTH ? n - i : VEC_WIDTH;
        const vec p = a_step ? vec_load_padded(a + i, left) : vec_broadcast(a);
        const vec x = step(p, b_step ? vec_load_padded(b + i, left) : vec_broadcast(b));
        if (watching)
            first = vec_taint(first, x);
        vec_store_partial(out + i, left, x);
    }
    return !watching || !vec_is_tainted(first + second);
}

/* The steps are the same for the whole tile: told once, outside the loop. */
VEC_INLINE bool run(size_t n, const double *a, size_t a_step, const double *b, size_t b_step,
                    double *out, map_step_2 *step, bool watching)
{
    if (a_step && b_step)
        return over_tile(n, a, 1, b, 1, out, step, watching);
    if (a_step)
        return over_tile(n, a, 1, b, 0, out, step, watching);
    return over_tile(n, a, 0, b, b_step, out, step, watching);
}

#define ARITHMETIC(name) \
    static bool watching_##name(size_t n, const double *a, size_t a_step, const double *b, \
                                size_t b_step, double *out) \
    { \
        return run(n, a, a_step, b, b_step, out, step_##name, true); \
    } \
    static bool plain_##name(size_t n, const double *a, size_t a_step, const double *b, \
                             size_t b_step, double *out) \
    { \
        return run(n, a, a_step, b, b_step, out, step_##name, false); \
    }
ARITHMETIC(add)
ARITHMETIC(subtract)
ARITHMETIC(multiply)
ARITHMETIC(divide)
ARITHMETIC(negate)
ARITHMETIC(square)
ARITHMETIC(sqrt)

#define FORMS(form) \
    { \
        form##_add, form##_subtract, form##_multiply, form##_divide, form##_negate, form##_square, \
            form##_sqrt \
    }

extern const hm_arithmetic_kernels HM_K(arithmetic);
const hm_arithmetic_kernels HM_K(arithmetic) = {.watching = FORMS(watching), .plain = FORMS(plain)};
