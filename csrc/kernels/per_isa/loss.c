/* Each loss is a step of the lanes (lanes.h), each gradient a function of two vectors. */
#include <float.h>

#include "kernels/loss.h"
#include "kernels/math/exp.h"
#include "kernels/math/log.h"
#include "kernels/math/logistic.h"
#include "kernels/math/pow.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"

/* ---- the formulas: t target, p prediction, *c the parameter ---- */

MATH_INLINE vec squared_step(vec lanes, vec t, vec p, const vec *c)
{
    (void)c;
    const vec e = p - t;
    return vec_fma(e, e, lanes);
}

MATH_INLINE vec absolute_step(vec lanes, vec t, vec p, const vec *c)
{
    (void)c;
    return lanes + vec_abs(p - t);
}

/* With m = min(|e|, d) both branches are m (|e| - m/2). */
MATH_INLINE vec huber_step(vec lanes, vec t, vec p, const vec *c)
{
    const vec size = vec_abs(p - t), m = vec_min(*c, size);
    return vec_fma(m, size - 0.5 * m, lanes);
}

/* With m = min(|e|, b) both are m/b (|e| - m/2), and m/b is exactly 1 in the second. */
MATH_INLINE vec smooth_step(vec lanes, vec t, vec p, const vec *c)
{
    const vec size = vec_abs(p - t), m = vec_min(*c, size);
    return vec_fma(m / *c, size - 0.5 * m, lanes);
}

/* The same bits where c[1], the inverse of b, is a power of two. */
MATH_INLINE vec smooth_binary_step(vec lanes, vec t, vec p, const vec *c)
{
    const vec size = vec_abs(p - t), m = vec_min(c[0], size);
    return vec_fma(m * c[1], size - 0.5 * m, lanes);
}

/* x, or `other` where the coefficient is 0: the logarithm then comes out as 0. */
MATH_INLINE vec unless_zero(vec coefficient, vec x, double other)
{
    return vec_select(vec_equal(coefficient, vec_of(0.0)), vec_of(other), x);
}

MATH_INLINE vec binary_entropy_step(vec lanes, vec t, vec p, const vec *c)
{
    (void)c;
    const vec rest = 1.0 - t;
    const vec yes = vec_log(unless_zero(t, p, 1.0));
    const vec no = vec_log1p(-unless_zero(rest, p, 0.0));
    return lanes - vec_fma(t, yes, rest * no);
}

MATH_INLINE vec categorical_entropy_step(vec lanes, vec t, vec p, const vec *c)
{
    (void)c;
    return vec_fma(-t, vec_log(unless_zero(t, p, 1.0)), lanes);
}

MATH_INLINE vec likelihood_step(vec lanes, vec t, vec p, const vec *c)
{
    (void)c;
    return vec_fma(-t, p, lanes);
}

/*
 * ln(t/p) with nothing lost where t is close to p: the quotient is taken with its remainder, which
 * goes into the logarithm's small terms. t and p at least 2^-400, or equal.
 */
MATH_INLINE vec log_ratio_fast(vec t, vec p)
{
    const vec inverse = 1.0 / p;
    const vec ratio = t * inverse;
    const vec rest = vec_fma(-ratio, p, t) * inverse;
    const vec_log_scaled s = vec_log_split(ratio);
    const vec power = vec_from_bits((vec_int_of(2046) - s.biased) << 52);
    const vec_sum f = vec_quick_sum(s.m - 1.0, rest * power);
    const vec result = vec_log_sum(vec_log_unbiased(s.biased), f.high, f.low);
    return vec_keep(vec_not_equal(t, p),
                    result); /* exactly 0, where all of it is the inverse's rounding */
}

MATH_INLINE vec_mask above_dust(vec x) { return vec_greater_equal(x, vec_of(0x1p-400)); }

/* Both tiny: scaled. One of them: a ratio that far from 1 may be the difference of the logarithms.
 */
HM_RARE vec log_ratio_rare(vec t, vec p)
{
    const vec_mask large = vec_mask_or(above_dust(t), above_dust(p));
    const vec a = vec_select(large, t, t * 0x1p800), b = vec_select(large, p, p * 0x1p800);
    const vec_mask near = vec_mask_and(above_dust(a), above_dust(b));
    const vec one = vec_of(1.0);
    return vec_select(near, log_ratio_fast(vec_select(near, a, one), vec_select(near, b, one)),
                      vec_log_rare(a) - vec_log_rare(b));
}

MATH_INLINE vec divergence_step(vec lanes, vec t, vec p, const vec *c)
{
    (void)c;
    const vec a = unless_zero(t, t, 1.0), b = unless_zero(t, p, 1.0);
    const vec_mask ordinary = vec_mask_and(above_dust(a), above_dust(b));
    const vec ratio =
        HM_LIKELY(vec_mask_all(ordinary)) ? log_ratio_fast(a, b) : log_ratio_rare(a, b);
    return vec_fma(t, ratio, lanes);
}

MATH_INLINE vec hinge_step(vec lanes, vec t, vec p, const vec *c)
{
    return lanes + vec_max(vec_fma(-t, p, *c), vec_of(0.0));
}

MATH_INLINE vec logistic_step(vec lanes, vec t, vec x, const vec *c)
{
    (void)c;
    const vec zero = vec_of(0.0), size = -vec_abs(x);
    const vec beyond = vec_fma(1.0 - t, vec_max(x, zero), t * vec_max(-x, zero));
    const bool ordinary = vec_mask_all(vec_softplus_ordinary(size));
    const vec rest = HM_LIKELY(ordinary) ? vec_softplus_fast(size) : vec_softplus_rare(size);
    return lanes + (beyond + rest);
}

#define SUM(name) \
    static double name##_sum(const double *target, const double *prediction, int64_t n, \
                             double parameter) \
    { \
        const vec c = vec_of(parameter); \
        return sum_over_lanes(name##_step, &c, target, prediction, n); \
    }
SUM(squared)
SUM(absolute)
SUM(huber)
SUM(binary_entropy)
SUM(categorical_entropy)
SUM(likelihood)
SUM(divergence)
SUM(hinge)
SUM(logistic)
#undef SUM

/* A division takes ten times as long as a multiplication; 1, the usual b, needs none. */
static double smooth_sum(const double *target, const double *prediction, int64_t n,
                         double parameter)
{
    int exponent;
    const vec c[2] = {vec_of(parameter), vec_of(1.0 / parameter)};
    const bool binary = __builtin_frexp(parameter, &exponent) == 0.5 && 1.0 / parameter <= DBL_MAX;
    return binary ? sum_over_lanes(smooth_binary_step, c, target, prediction, n)
                  : sum_over_lanes(smooth_step, c, target, prediction, n);
}

/* ---- focal loss ---- */

/* ln x in two parts, for x in (0, 1], subnormals included */
MATH_INLINE vec_sum log_pair(vec x)
{
    const vec_mask subnormal = vec_less(x, vec_of(0x1p-1022));
    const vec_log_scaled s = vec_log_split(vec_select(subnormal, x * 0x1p54, x));
    return vec_log_pair(s.m, vec_log_unbiased(s.biased) - vec_keep(subnormal, vec_of(54.0)));
}

/*
 * ln(1 - x) in two parts for x in [0, 1): 1 - x is u + v exactly, and ln(u + v) = ln u + w - w^2/2
 * with w = v/u no larger than 2^-53.
 */
MATH_INLINE vec_sum log_pair_of_rest(vec x)
{
    const vec_sum u = vec_quick_sum(vec_of(1.0), -x);
    const vec w = u.low / u.high;
    const vec_sum l = log_pair(u.high);
    const vec_sum s = vec_exact_sum(l.high, vec_fma(-0.5 * w, w, w));
    return vec_quick_sum(s.high, s.low + l.low);
}

/*
 * base^gamma (-ln event), where one of base and event is p and the other 1 - p. The power keeps
 * mantissa and exponent apart until the product is formed. constants: alpha, 1 - alpha, gamma.
 */
MATH_INLINE vec focal_step(vec lanes, vec t, vec p, const vec *constants)
{
    const vec_mask positive = vec_equal(t, vec_of(1.0));
    const vec weight = vec_select(positive, constants[0], constants[1]);
    const vec gamma = constants[2];
    const vec_mask certain = vec_mask_or(vec_equal(p, vec_of(0.0)), vec_equal(p, vec_of(1.0)));
    const vec inside = vec_select(certain, vec_of(0.5), p);
    const vec_sum yes = log_pair(inside), no = log_pair_of_rest(inside);

    const vec base_high = vec_select(positive, no.high, yes.high);
    const vec base_low = vec_select(positive, no.low, yes.low);
    const vec surprise = -vec_select(positive, yes.high, no.high);
    const vec_sum product = vec_exact_product(base_high, gamma);
    const vec_mask seen = vec_greater_equal(product.high, vec_of(-1480.0));
    const vec_exp_parts e = vec_exp_split(vec_select(seen, product.high, vec_of(-1480.0)),
                                          vec_keep(seen, vec_fma(base_low, gamma, product.low)));
    const vec_sum m = vec_exp_mantissa(e);
    const vec_binary s = vec_take_apart(surprise);
    vec_int n = vec_exp_exponent(e) + s.exponent;
    n = vec_int_select(vec_int_greater(n, vec_int_of(-1200)), n, vec_int_of(-1200));
    const vec term = vec_scale(s.mantissa * (m.high + m.low), n) * weight;

    /* p in {0, 1}: nothing where that was the right answer or has no weight, else impossible */
    const vec_mask right = vec_equal(p, t);
    const vec_mask weightless = vec_equal(weight, vec_of(0.0));
    const vec limit =
        vec_select(vec_mask_or(right, weightless), vec_of(0.0), vec_of(__builtin_inf()));
    return lanes + vec_select(certain, limit, term);
}

static double focal_sum(const double *target, const double *prediction, int64_t n, double alpha,
                        double gamma)
{
    const vec constants[3] = {vec_of(alpha), vec_of(1.0 - alpha), vec_of(gamma)};
    return sum_over_lanes(focal_step, constants, target, prediction, n);
}

/* ---- gradients: c[0] the parameter, c[1] the divisor ---- */

typedef vec slope(vec t, vec p, const vec *c);

MATH_INLINE vec squared_slope(vec t, vec p, const vec *c) { return 2.0 * (p - t) / c[1]; }

MATH_INLINE vec absolute_slope(vec t, vec p, const vec *c)
{
    const vec unit = 1.0 / c[1];
    const vec below = vec_select(vec_less(p, t), -unit, vec_of(0.0));
    return vec_select(vec_less(t, p), unit, below);
}

MATH_INLINE vec huber_slope(vec t, vec p, const vec *c)
{
    return vec_min(vec_max(p - t, -c[0]), c[0]) / c[1];
}

MATH_INLINE vec smooth_slope(vec t, vec p, const vec *c)
{
    const vec one = vec_of(1.0);
    return vec_min(vec_max((p - t) / c[0], -one), one) / c[1];
}

/* (p - t)/(p (1-p)), which is -t/p + (1-t)/(1-p) without the cancellation; at t = 0 and 1 one term
 * of it. */
MATH_INLINE vec binary_entropy_slope(vec t, vec p, const vec *c)
{
    const vec_mask no = vec_equal(t, vec_of(0.0)), yes = vec_equal(t, vec_of(1.0));
    const vec rest = 1.0 - p;
    const vec over = vec_select(no, vec_of(1.0), vec_select(yes, vec_of(-1.0), p - t));
    const vec under = vec_select(no, rest, vec_select(yes, p, p * rest));
    return over / (under * c[1]);
}

/* -t/p; +0 where t is 0, whatever p is */
MATH_INLINE vec ratio_slope(vec t, vec p, const vec *c)
{
    return (0.0 - t) / (unless_zero(t, p, 1.0) * c[1]);
}

MATH_INLINE vec likelihood_slope(vec t, vec p, const vec *c)
{
    (void)p;
    return (0.0 - t) / c[1];
}

MATH_INLINE vec hinge_slope(vec t, vec p, const vec *c)
{
    return vec_keep(vec_greater(vec_fma(-t, p, c[0]), vec_of(0.0)), -t / c[1]);
}

MATH_INLINE bool slopes(slope *f, const double *target, const double *prediction, int64_t n,
                        double parameter, double divisor, double *out)
{
    const vec c[2] = {vec_of(parameter), vec_of(divisor)};
    vec spoiled = vec_of(0.0); /* 0 times an infinity or a NaN is NaN, and stays in the sum */
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec y = f(vec_load(target + i), vec_load(prediction + i), c);
        spoiled = vec_fma(y, vec_of(0.0), spoiled);
        vec_store(out + i, y);
    }
    if (i < n) {
        const size_t count = lanes_before(n, i);
        const vec y = vec_keep(first_lanes(count), f(vec_load_partial(target + i, count),
                                                     vec_load_partial(prediction + i, count), c));
        spoiled = vec_fma(y, vec_of(0.0), spoiled);
        vec_store_partial(out + i, count, y);
    }
    return !vec_mask_any(vec_is_nan(spoiled));
}

#define GRADIENT(name) \
    static bool name##_gradient(const double *target, const double *prediction, int64_t n, \
                                double parameter, double divisor, double *out) \
    { \
        return slopes(name##_slope, target, prediction, n, parameter, divisor, out); \
    }
GRADIENT(squared)
GRADIENT(absolute)
GRADIENT(huber)
GRADIENT(smooth)
GRADIENT(binary_entropy)
GRADIENT(ratio)
GRADIENT(likelihood)
GRADIENT(hinge)
#undef GRADIENT

/* ---- sets ---- */

MATH_INLINE vec apart_step(vec lanes, vec t, vec p, const vec *c)
{
    (void)c;
    return lanes + vec_fma(t, 1.0 - p, p * (1.0 - t));
}

MATH_INLINE vec total_step(vec lanes, vec t, vec p, const vec *c)
{
    (void)c;
    return lanes + (t + p);
}

MATH_INLINE vec either_step(vec lanes, vec t, vec p, const vec *c)
{
    (void)c;
    return lanes + vec_fma(p, 1.0 - t, t);
}

static hm_overlap overlap(const double *target, const double *prediction, int64_t n)
{
    vec apart[VEC_PER_CONTRACT] = {{0}}, total[VEC_PER_CONTRACT] = {{0}},
        either[VEC_PER_CONTRACT] = {{0}};
    for (int64_t at = 0; at < n; at += LANES_PIECE) {
        const double *t = target + at, *p = prediction + at;
        over_lanes(apart_step, NULL, t, p, lanes_piece(n, at), apart);
        over_lanes(total_step, NULL, t, p, lanes_piece(n, at), total);
        over_lanes(either_step, NULL, t, p, lanes_piece(n, at), either);
    }
    return (hm_overlap){vec_fold_add(apart), vec_fold_add(total), vec_fold_add(either)};
}

static void residual_scaled(const double *x, const double *y, int64_t n, double high, double low,
                            double by, double *out)
{
    const vec h = vec_of(-high), l = vec_of(-low), b = vec_of(by);
    for (int64_t i = 0; i < n; i += VEC_WIDTH) {
        const size_t count = lanes_before(n, i);
        const vec v = vec_load_partial(x + i, count);
        const vec r = vec_fma(l, v, vec_fma(h, v, vec_load_partial(y + i, count)));
        vec_store_partial(out + i, count, r * b);
    }
}

extern const hm_loss_kernels HM_K(loss);
const hm_loss_kernels HM_K(loss) = {
    .sum = {[HM_LOSS_SQUARED] = squared_sum,
            [HM_LOSS_ABSOLUTE] = absolute_sum,
            [HM_LOSS_HUBER] = huber_sum,
            [HM_LOSS_SMOOTH] = smooth_sum,
            [HM_LOSS_BINARY_ENTROPY] = binary_entropy_sum,
            [HM_LOSS_CATEGORICAL_ENTROPY] = categorical_entropy_sum,
            [HM_LOSS_LIKELIHOOD] = likelihood_sum,
            [HM_LOSS_DIVERGENCE] = divergence_sum,
            [HM_LOSS_HINGE] = hinge_sum,
            [HM_LOSS_LOGISTIC] = logistic_sum},
    .focal_sum = focal_sum,
    .gradient = {[HM_LOSS_SQUARED] = squared_gradient,
                 [HM_LOSS_ABSOLUTE] = absolute_gradient,
                 [HM_LOSS_HUBER] = huber_gradient,
                 [HM_LOSS_SMOOTH] = smooth_gradient,
                 [HM_LOSS_BINARY_ENTROPY] = binary_entropy_gradient,
                 [HM_LOSS_CATEGORICAL_ENTROPY] = ratio_gradient,
                 [HM_LOSS_LIKELIHOOD] = likelihood_gradient,
                 [HM_LOSS_DIVERGENCE] = ratio_gradient,
                 [HM_LOSS_HINGE] = hinge_gradient},
    .overlap = overlap,
    .residual_scaled = residual_scaled,
};
