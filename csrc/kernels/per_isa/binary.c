/* Two operands, each a vector or one number for all. */
#include "kernels/elementwise.h"
#include "kernels/math/gated.h"
#include "kernels/math/pow.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/map.h"

VEC_INLINE vec vec_add(vec a, vec b) { return a + b; }

VEC_INLINE vec vec_subtract(vec a, vec b) { return a - b; }

VEC_INLINE vec vec_multiply(vec a, vec b) { return a * b; }

VEC_INLINE vec vec_divide(vec a, vec b) { return a / b; }

/* NaN where either is; of zeros of both signs the positive one */
VEC_INLINE vec vec_maximum(vec a, vec b)
{
    const vec zeros = vec_from_bits(vec_bits(a) & vec_bits(b));
    return vec_select(vec_is_nan(a), a, vec_select(vec_equal(a, b), zeros, vec_max(a, b)));
}

VEC_INLINE vec vec_minimum(vec a, vec b)
{
    const vec zeros = vec_from_bits(vec_bits(a) | vec_bits(b));
    return vec_select(vec_is_nan(a), a, vec_select(vec_equal(a, b), zeros, vec_min(a, b)));
}

#define COMPARISON(name) \
    VEC_INLINE vec vec_##name##_truth(vec a, vec b) { return vec_truth(vec_##name(a, b)); }

COMPARISON(equal)
COMPARISON(not_equal)
COMPARISON(less)
COMPARISON(less_equal)

#define MAP_2(name, loop, step) \
    static bool map_##name(size_t n, const double *a, size_t a_step, const double *b, \
                           size_t b_step, double *out) \
    { \
        return loop(n, a, a_step, b, b_step, out, step); \
    }

MAP_2(add, map_2, vec_add)
MAP_2(subtract, map_2, vec_subtract)
MAP_2(multiply, map_2, vec_multiply)
MAP_2(divide, map_2, vec_divide)
MAP_2(maximum, map_2, vec_maximum)
MAP_2(minimum, map_2, vec_minimum)
MAP_2(pow, map_2_long, vec_pow)
MAP_2(equal, map_2, vec_equal_truth)
MAP_2(not_equal, map_2, vec_not_equal_truth)
MAP_2(less, map_2, vec_less_truth)
MAP_2(less_equal, map_2, vec_less_equal_truth)
MAP_2(gated, map_2_long, vec_gated)

#define SLOT(name) [HM_BINARY_##name] = map_##name,

extern hm_binary_kernel *const HM_K(binary)[HM_BINARY_COUNT];
hm_binary_kernel *const HM_K(binary)[HM_BINARY_COUNT] = {HM_BINARY_LIST(SLOT)};
