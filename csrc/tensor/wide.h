/*
 * A double with an exponent of its own: `value` * 2^`exponent`. Intermediate results may leave the
 * range of a double where the final one does not; these carry them there. Each operation rounds
 * once, as it would without bounds on the exponent, and hm_wide_round rounds once more where the
 * result is subnormal. Not normalised on the way, but every operation leaves |value| in [1/2, 1) or
 * 0.
 */
#ifndef HM_WIDE_H
#define HM_WIDE_H

#include <math.h>
#include <stdint.h>

typedef struct hm_wide {
    double value;
    int64_t exponent;
} hm_wide;

static inline hm_wide hm_wide_normal(double value, int64_t exponent)
{
    int shift;
    const double fraction = frexp(value, &shift);
    return (hm_wide){fraction, fraction == 0 ? 0 : exponent + shift};
}

static inline hm_wide hm_wide_of(double x) { return hm_wide_normal(x, 0); }

/* The nearest double; infinite where there is none. */
static inline double hm_wide_round(hm_wide a)
{
    if (a.exponent > 2000)
        return a.value * INFINITY;
    return a.exponent < -2000 ? a.value * 0.0 : ldexp(a.value, (int)a.exponent);
}

static inline hm_wide hm_wide_negate(hm_wide a) { return (hm_wide){-a.value, a.exponent}; }

static inline hm_wide hm_wide_multiply(hm_wide a, hm_wide b)
{
    return hm_wide_normal(a.value * b.value, a.exponent + b.exponent);
}

static inline hm_wide hm_wide_divide(hm_wide a, hm_wide b)
{
    return hm_wide_normal(a.value / b.value, a.exponent - b.exponent);
}

static inline hm_wide hm_wide_add(hm_wide a, hm_wide b)
{
    if (a.value == 0 || (b.value != 0 && b.exponent > a.exponent)) {
        const hm_wide swapped = a;
        a = b;
        b = swapped;
    }
    const int64_t below = a.exponent - b.exponent;
    if (b.value == 0 || below > 200) /* less than any rounding of a can notice */
        return a;
    return hm_wide_normal(a.value + ldexp(b.value, -(int)below), a.exponent);
}

static inline hm_wide hm_wide_subtract(hm_wide a, hm_wide b)
{
    return hm_wide_add(a, hm_wide_negate(b));
}

/* a*b + c, rounded once. */
static inline hm_wide hm_wide_fused(hm_wide a, hm_wide b, hm_wide c)
{
    const int64_t exponent = a.exponent + b.exponent, above = c.exponent - exponent;
    if (a.value == 0 || b.value == 0)
        return c;
    if (c.value == 0)
        return hm_wide_multiply(a, b);
    if (above > 200) /* the product is less than any rounding of c can notice */
        return c;
    return hm_wide_normal(fma(a.value, b.value, above < -200 ? 0.0 : ldexp(c.value, (int)above)),
                          exponent);
}

static inline hm_wide hm_wide_root(hm_wide a)
{
    const int odd = (int)(a.exponent & 1);
    return hm_wide_normal(sqrt(odd ? 2 * a.value : a.value), (a.exponent - odd) / 2);
}

static inline hm_wide hm_wide_magnitude(hm_wide a) { return (hm_wide){fabs(a.value), a.exponent}; }

static inline int hm_wide_less(hm_wide a, hm_wide b) { return hm_wide_subtract(a, b).value < 0; }

#endif
