/* Elementary functions. */
#include "kernels/elementwise.h"
#include "kernels/math/erf.h"
#include "kernels/math/log.h"
#include "kernels/math/logistic.h"
#include "kernels/math/sincos.h"
#include "kernels/math/sqrt.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/map.h"

VEC_INLINE vec_mask vec_log_sigmoid_ordinary(vec x) { return vec_softplus_ordinary(x); }

VEC_INLINE vec vec_log_sigmoid_fast(vec x) { return -vec_softplus_fast(-x); }

VEC_INLINE vec vec_log_sigmoid_rare(vec x) { return -vec_softplus_rare(-x); }

VEC_INLINE vec vec_square(vec x) { return x * x; }

VEC_INLINE vec vec_negate(vec x) { return -x; }

VEC_INLINE vec vec_absolute(vec x) { return vec_abs(x); }

VEC_INLINE vec vec_reciprocal(vec x) { return 1.0 / x; }

/* -1, 1, or x itself where it is a zero or NaN */
VEC_INLINE vec vec_sign(vec x)
{
    return vec_select(vec_greater(vec_abs(x), vec_of(0.0)), vec_copy_sign(vec_of(1.0), x), x);
}

/* f in the three forms of math/scale.h */
#define FORMS(f) \
    VEC_INLINE vec fast_##f(vec x, vec unused) \
    { \
        (void)unused; \
        return vec_##f##_fast(x); \
    } \
    VEC_INLINE vec rare_##f(vec x, vec unused) \
    { \
        (void)unused; \
        return vec_##f##_rare(x); \
    }

#define FORMS_OF(f) ((map_forms){vec_##f##_ordinary, fast_##f, rare_##f})

#define MAP(f) \
    FORMS(f) \
    static bool map_##f(size_t n, const double *x, double *out) \
    { \
        return map(n, 0.0, x, out, FORMS_OF(f)); \
    }

#define MAP_FOURS(f) \
    FORMS(f) \
    HM_RARE bool pairs_##f(size_t n, const double *x, double *out) \
    { \
        return map_pairs(n, 0.0, x, out, FORMS_OF(f)); \
    } \
    static bool map_##f(size_t n, const double *x, double *out) \
    { \
        return map_fours(n, x, out, FORMS_OF(f), pairs_##f); \
    }

/* f in a few instructions that are right for every x */
#define MAP_SHORT(f) \
    VEC_INLINE vec short_##f(vec x, vec unused) \
    { \
        (void)unused; \
        return vec_##f(x); \
    } \
    static bool map_##f(size_t n, const double *x, double *out) \
    { \
        return map_plain(n, 0.0, x, out, short_##f); \
    }

MAP_SHORT(negate)
MAP_SHORT(absolute)
MAP_SHORT(sign)
MAP_SHORT(square)
MAP_SHORT(reciprocal)
#ifdef __AVX512F__ /* where an estimate is an instruction */
MAP(sqrt)
#else
MAP_SHORT(sqrt)
#endif
MAP(exp)
MAP(expm1)
MAP(log)
MAP(log1p)
MAP(sin)
MAP(cos)
MAP(tan)
#ifdef __AVX512F__
MAP_FOURS(tanh)
#else
MAP(tanh)
#endif
MAP(sigmoid)
MAP(log_sigmoid)
MAP(softplus)
MAP_FOURS(erf)
MAP(erfc)

#define SLOT(f) [HM_UNARY_##f] = map_##f,

extern hm_unary_kernel *const HM_K(unary)[HM_UNARY_COUNT];
hm_unary_kernel *const HM_K(unary)[HM_UNARY_COUNT] = {HM_UNARY_LIST(SLOT)};
