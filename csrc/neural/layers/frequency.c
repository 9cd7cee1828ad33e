/*
 * Powers in double-double arithmetic (Dekker 1971): a number is high + low, |low| at most half an
 * ulp of high. Sums and products here lose a few units of 2^-105.
 */
#include "neural/layers/frequency.h"

#include <math.h>

typedef struct twofold {
    double high, low;
} twofold;

static twofold quick_sum(double a, double b) /* |a| >= |b| */
{
    const double s = a + b;
    return (twofold){s, b - (s - a)};
}

static twofold exact_sum(double a, double b)
{
    const double s = a + b, b_part = s - a;
    return (twofold){s, (a - (s - b_part)) + (b - b_part)};
}

static twofold exact_product(double a, double b)
{
    const double p = a * b;
    return (twofold){p, fma(a, b, -p)};
}

static twofold add(twofold a, twofold b)
{
    const twofold high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low);
    const twofold sum = quick_sum(high.high, high.low + low.high);
    return quick_sum(sum.high, sum.low + low.low);
}

static twofold multiply(twofold a, twofold b)
{
    const twofold p = exact_product(a.high, b.high);
    return quick_sum(p.high, p.low + fma(a.high, b.low, a.low * b.high));
}

static twofold times(double a, twofold b)
{
    const twofold p = exact_product(a, b.high);
    return quick_sum(p.high, fma(a, b.low, p.low));
}

static twofold over(twofold a, double b)
{
    const double q = a.high / b;
    return quick_sum(q, (fma(-q, b, a.high) + a.low) / b);
}

/* ln 2 in three doubles, 2^-164 off (mpmath: mp.prec = 200; each part is the rounded rest). */
static const double ln2[3] = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111};

static twofold times_ln2(double n)
{
    const twofold rest = add(exact_product(n, ln2[1]), (twofold){n * ln2[2], 0});
    return add(exact_product(n, ln2[0]), rest);
}

/*
 * e^y = 2^n e^r. r is made 64 times smaller, e^r - 1 summed from its series, whose 13th term is
 * below 2^-130, and doubled back as (1 + s)^2 - 1 = s (2 + s).
 */
static twofold exponential(twofold y)
{
    enum { HALVINGS = 6, TERMS = 12 };
    const double n = rint(y.high / ln2[0]);
    const twofold part = times_ln2(n);
    twofold r = add(y, (twofold){-part.high, -part.low});
    r = (twofold){ldexp(r.high, -HALVINGS), ldexp(r.low, -HALVINGS)};

    twofold s = {1, 0};
    for (int k = TERMS; k > 1; k--) /* 1 + r/k (1 + r/(k+1) (...)) */
        s = add((twofold){1, 0}, over(multiply(r, s), k));
    s = multiply(r, s);
    for (int i = 0; i < HALVINGS; i++)
        s = multiply(s, add((twofold){2, 0}, s));
    const twofold e = add((twofold){1, 0}, s);
    return (twofold){ldexp(e.high, (int)n), ldexp(e.low, (int)n)};
}

/*
 * x = m 2^n, m near 1. One step of Newton's method squares the error of a logarithm rounded to a
 * double, which is the kernel's, so that every machine starts from the same bits.
 */
static twofold logarithm(const hm_kernels *k, double x)
{
    int n;
    double m = frexp(x, &n), guess;
    if (m < 0x1.6a09e667f3bcdp-1) { /* the root of a half */
        m *= 2;
        n--;
    }
    k->elementwise->unary[HM_UNARY_log](1, &m, &guess);
    const twofold ratio = times(m, exponential((twofold){-guess, 0}));
    const twofold off = add(ratio, (twofold){-1, 0});
    /* log(1 + off) = off - off^2/2 + ..., off^3 is below 2^-150 */
    const twofold rest = add(off, (twofold){-0.5 * off.high * off.high, 0});
    return add(times_ln2(n), add((twofold){guess, 0}, rest));
}

void hm_frequencies(const hm_kernels *k, double base, int64_t d, int64_t count, double *high,
                    double *low)
{
    const twofold log_base = logarithm(k, base);
    for (int64_t i = 0; i < count; i++) {
        const twofold power = exponential(over(times(-2.0 * (double)i, log_base), (double)d));
        high[i] = power.high;
        low[i] = power.low;
    }
}
