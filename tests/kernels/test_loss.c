/* Loss kernels: every table gives the bits of the baseline's, and those are right. */
#include "tables.h"

static double target[LONGEST], prediction[LONGEST], first[LONGEST], out[LONGEST];

/* ---- the formulas in extended precision ---- */

static long double entropy_term(long double coefficient, long double probability)
{
    return coefficient == 0 ? 0 : -coefficient * logl(probability);
}

/* ln(1 - p): 1 - p is exact enough in long double unless p is tiny */
static long double rest_term(long double coefficient, long double p)
{
    return coefficient == 0 ? 0 : -coefficient * log1pl(-p);
}

static long double term(int formula, long double t, long double p, long double c)
{
    const long double e = fabsl(p - t);
    switch (formula) {
    case HM_LOSS_SQUARED: return e * e;
    case HM_LOSS_ABSOLUTE: return e;
    case HM_LOSS_HUBER: return e <= c ? e * e / 2 : c * (e - c / 2);
    case HM_LOSS_SMOOTH: return e < c ? e * e / (2 * c) : e - c / 2;
    case HM_LOSS_BINARY_ENTROPY: return entropy_term(t, p) + rest_term(1 - t, p);
    case HM_LOSS_CATEGORICAL_ENTROPY: return entropy_term(t, p);
    case HM_LOSS_LIKELIHOOD: return -t * p;
    case HM_LOSS_DIVERGENCE: return t == 0 ? 0 : t * log1pl((t - p) / p);
    case HM_LOSS_HINGE: return fmaxl(0, c - t * p);
    default: return (1 - t) * fmaxl(p, 0) + t * fmaxl(-p, 0) + log1pl(expl(-fabsl(p)));
    }
}

static long double slope(int formula, long double t, long double p, long double c)
{
    const long double e = p - t;
    switch (formula) {
    case HM_LOSS_SQUARED: return 2 * e;
    case HM_LOSS_ABSOLUTE: return (e > 0) - (e < 0);
    case HM_LOSS_HUBER: return fmaxl(-c, fminl(e, c));
    case HM_LOSS_SMOOTH: return fmaxl(-1, fminl(e / c, 1));
    case HM_LOSS_BINARY_ENTROPY:
        return t == 0 ? 1 / (1 - p) : t == 1 ? -1 / p : (p - t) / (p * (1 - p));
    case HM_LOSS_CATEGORICAL_ENTROPY:
    case HM_LOSS_DIVERGENCE: return t == 0 ? 0 : -t / p;
    case HM_LOSS_LIKELIHOOD: return -t;
    default: return c - t * p > 0 ? -t : 0;
    }
}

/* Something of the formula's domain, edges included. */
static void draw(int formula, uint64_t *state, int64_t i)
{
    const uint64_t pick = next_word(state) % 8;
    double t = next_uniform(state), p = 0.5 + 0.5 * next_uniform(state);
    if (pick == 1)
        t = 0;
    if (pick == 2)
        t = 1;
    if (pick == 3)
        p = ldexp(p, -(int)(next_word(state) % 1070));
    if (pick == 4)
        p = t > 0 ? t : 0.5;
    switch (formula) {
    case HM_LOSS_SQUARED:
    case HM_LOSS_ABSOLUTE:
    case HM_LOSS_HUBER:
    case HM_LOSS_SMOOTH:
        t = next_spread(state, 8);
        p = pick == 0 ? t : next_spread(state, 8);
        break;
    case HM_LOSS_BINARY_ENTROPY:
        if (t == 0 && pick == 1)
            p = next_uniform(state) < 0.5 ? 0 : next_uniform(state);
        break;
    case HM_LOSS_LIKELIHOOD: p = -40 * p; break;
    case HM_LOSS_DIVERGENCE:
        if (pick == 5)
            p = fmin(1, t * (1 + 0x1p-40));
        if (pick == 1)
            p = 0;
        break;
    case HM_LOSS_HINGE:
        t = pick % 2 ? 1 : -1;
        p = next_spread(state, 3);
        break;
    case HM_LOSS_LOGISTIC: p = pick == 6 ? 1000 * (p - 0.75) : next_spread(state, 6); break;
    default: break;
    }
    target[i] = t;
    prediction[i] = p;
}

static void test_loss__sums(int formula)
{
    const hm_kernels *baseline = hm_kernels_for(HMATH_ISA_BASELINE);
    const double parameter = 0.7;
    uint64_t state = 5 + (uint64_t)formula;
    for (int l = 0; l < AWKWARD_LENGTHS; l++) {
        const int64_t n = awkward_lengths[l];
        long double right = 0, sizes = 0;
        for (int64_t i = 0; i < n; i++) {
            draw(formula, &state, i);
            const long double here =
                term(formula, target[i], prediction[i], (long double)parameter);
            right += here;
            sizes += fabsl(here);
        }
        const double got = baseline->loss->sum[formula](target, prediction, n, parameter);
        /* the contract's bound for sums of one sign, taken over |terms| where signs differ */
        const long double bound = (8 + (double)n / 64 + log2((double)n + 1)) * 0x1p-52L;
        CHECK(fabsl(got - right) <= bound * sizes);
        int isa = 0;
        for (const hm_kernels *k; (k = next_table(&isa));)
            CHECK(same(k->loss->sum[formula](target, prediction, n, parameter), got));
    }
}

/* Whether b is a power of two or not, one term's quotient is that of a division. */
static void test_loss__smooth_quotients(void)
{
    const double parameters[] = {1,         2,         0x1p-3, 0x1p1023, 0x1p-1022,
                                 0x1p-1074, 0x3p-1074, 0.7,    3,        0x1.fffffffffffffp+1023};
    uint64_t state = 77;
    for (int p = 0; p < 10; p++)
        for (int i = 0; i < 1000; i++) {
            const double b = parameters[p], size = fabs(next_spread(&state, 1000));
            const double e = i % 2 ? size : fmin(size, 1) * b, zero = 0, m = fmin(e, b);
            const double right = fma(m / b, e - 0.5 * m, 0.0);
            int isa = 0;
            for (const hm_kernels *k; (k = next_table(&isa));)
                CHECK(same(k->loss->sum[HM_LOSS_SMOOTH](&zero, &e, 1, b), right));
        }
}

static void test_loss__gradients(int formula)
{
    const hm_kernels *baseline = hm_kernels_for(HMATH_ISA_BASELINE);
    const double parameter = 0.7, divisor = 37;
    uint64_t state = 50 + (uint64_t)formula;
    for (int l = 0; l < AWKWARD_LENGTHS; l++) {
        const int64_t n = awkward_lengths[l];
        for (int64_t i = 0; i < n; i++)
            draw(formula, &state, i);
        baseline->loss->gradient[formula](target, prediction, n, parameter, divisor, first);
        for (int64_t i = 0; i < n; i++) {
            const long double t = target[i], p = prediction[i];
            const long double right = slope(formula, t, p, (long double)parameter) / divisor;
            /* at most five roundings; beyond the range an infinity */
            CHECK(fabsl(right) > 0x1p+1024L * (1 - 0x1p-40L)
                      ? isinf(first[i])
                      : fabsl(first[i] - right) <= 3 * 0x1p-52L * fabsl(right));
        }
        int isa = 0;
        for (const hm_kernels *k; (k = next_table(&isa));) {
            int finite = 1;
            for (int64_t i = 0; i < n; i++)
                finite &= isfinite(first[i]) != 0;
            CHECK(k->loss->gradient[formula](target, prediction, n, parameter, divisor, out) ==
                  finite);
            CHECK(memcmp(out, first, (size_t)n * sizeof *out) == 0);
        }
    }
}

static void test_loss__focal(void)
{
    const double gammas[] = {0, 0.5, 1, 2, 5, 1000, 1e12}, alphas[] = {0.25, 0, 1};
    uint64_t state = 6;
    for (int g = 0; g < 7; g++)
        for (int a = 0; a < 3; a++)
            for (int l = 0; l < AWKWARD_LENGTHS; l++) {
                const int64_t n = awkward_lengths[l];
                const double gamma = gammas[g], alpha = alphas[a];
                long double right = 0;
                for (int64_t i = 0; i < n; i++) {
                    draw(HM_LOSS_BINARY_ENTROPY, &state, i);
                    const int yes = target[i] > 0.5;
                    target[i] = yes;
                    const double doubt = (0.5 + 0.5 * next_uniform(&state)) / gamma;
                    if (gamma > 100) /* near certainty, where such powers are not 0 */
                        prediction[i] = yes ? doubt : 1 - doubt;
                    const long double q = prediction[i];
                    const long double base = yes ? log1pl(-q) : logl(q);
                    const long double surprise = yes ? -logl(q) : -log1pl(-q);
                    const long double weight = yes ? alpha : 1 - (long double)alpha;
                    if (weight > 0 && surprise > 0)
                        right += weight * surprise * (gamma == 0 ? 1 : expl(gamma * base));
                }
                const double got = hm_kernels_for(HMATH_ISA_BASELINE)
                                       ->loss->focal_sum(target, prediction, n, alpha, gamma);
                const long double bound = (8 + (double)n / 64 + log2((double)n + 1)) * 0x1p-52L;
                CHECK(fabsl(got - right) <= bound * right + 0x1p-1073L * (double)n);
                int isa = 0;
                for (const hm_kernels *k; (k = next_table(&isa));)
                    CHECK(same(k->loss->focal_sum(target, prediction, n, alpha, gamma), got));
            }
}

/* What cannot happen, with a positive coefficient, spoils the sum and that element of the gradient.
 */
static void test_loss__impossible_events(void)
{
    const struct {
        int formula;
        double target, prediction;
    } cases[] = {{HM_LOSS_BINARY_ENTROPY, 0.25, 0},      {HM_LOSS_BINARY_ENTROPY, 0.25, 1},
                 {HM_LOSS_BINARY_ENTROPY, 1, 0},         {HM_LOSS_BINARY_ENTROPY, 0, 1},
                 {HM_LOSS_CATEGORICAL_ENTROPY, 0.25, 0}, {HM_LOSS_DIVERGENCE, 0.25, 0}};
    int isa = 0;
    for (const hm_kernels *k; (k = next_table(&isa));) {
        for (int c = 0; c < 6; c++)
            for (int at = 0; at < 40; at++) {
                for (int i = 0; i < 40; i++)
                    target[i] = prediction[i] = 0.5;
                target[at] = cases[c].target;
                prediction[at] = cases[c].prediction;
                CHECK(isinf(k->loss->sum[cases[c].formula](target, prediction, 40, 0)));
                k->loss->gradient[cases[c].formula](target, prediction, 40, 0, 40, out);
                CHECK(isinf(out[at]) && isfinite(out[(at + 1) % 40]));
            }
        const double yes = 1, no = 0;
        CHECK(isinf(k->loss->focal_sum(&yes, &no, 1, 0.5, 2)) &&
              isinf(k->loss->focal_sum(&no, &yes, 1, 0.5, 2)));
        CHECK(k->loss->focal_sum(&yes, &no, 1, 0, 2) == 0 &&
              k->loss->focal_sum(&no, &yes, 1, 1, 2) == 0);
        CHECK(k->loss->focal_sum(&yes, &yes, 1, 0.5, 0) == 0 &&
              k->loss->focal_sum(&no, &no, 1, 0.5, 0) == 0);
    }
}

/* A distribution diverges from itself by nothing at all. */
static void test_loss__no_divergence(void)
{
    uint64_t state = 12;
    int isa = 0;
    for (const hm_kernels *k; (k = next_table(&isa));)
        for (int64_t i = 0; i < 1000; i++) {
            const double p =
                ldexp(0.5 + 0.5 * next_uniform(&state), -(int)(next_word(&state) % 1070));
            CHECK(same(k->loss->sum[HM_LOSS_DIVERGENCE](&p, &p, 1, 0), 0.0));
        }
}

static void test_loss__overlap_and_residual(void)
{
    const hm_kernels *baseline = hm_kernels_for(HMATH_ISA_BASELINE);
    uint64_t state = 9;
    for (int l = 0; l < AWKWARD_LENGTHS; l++) {
        const int64_t n = awkward_lengths[l];
        long double apart = 0, total = 0, either = 0;
        for (int64_t i = 0; i < n; i++) {
            target[i] = next_uniform(&state);
            prediction[i] = next_word(&state) % 4 ? next_uniform(&state) : target[i];
            const long double t = target[i], p = prediction[i];
            apart += t * (1 - p) + p * (1 - t);
            total += t + p;
            either += t + p * (1 - t);
        }
        const hm_overlap got = baseline->loss->overlap(target, prediction, n);
        const long double bound = (8 + (double)n / 64) * 0x1p-52L;
        CHECK(fabsl(got.apart - apart) <= bound * apart &&
              fabsl(got.total - total) <= bound * total);
        CHECK(fabsl(got.either - either) <= bound * either);
        baseline->loss->residual_scaled(target, prediction, n, 0.75, 0x1p-60, 3, first);
        for (int64_t i = 0; i < n; i++)
            CHECK(
                same(first[i], fma(-0x1p-60, target[i], fma(-0.75, target[i], prediction[i])) * 3));
        int isa = 0;
        for (const hm_kernels *k; (k = next_table(&isa));) {
            const hm_overlap here = k->loss->overlap(target, prediction, n);
            CHECK(same(here.apart, got.apart) && same(here.total, got.total) &&
                  same(here.either, got.either));
            k->loss->residual_scaled(target, prediction, n, 0.75, 0x1p-60, 3, out);
            CHECK(memcmp(out, first, (size_t)n * sizeof *out) == 0);
        }
    }
}

int main(void)
{
    for (int formula = 0; formula < HM_LOSS_SUMS; formula++)
        test_loss__sums(formula);
    for (int formula = 0; formula < HM_LOSS_FORMULAS; formula++)
        test_loss__gradients(formula);
    test_loss__smooth_quotients();
    test_loss__focal();
    test_loss__impossible_events();
    test_loss__no_divergence();
    test_loss__overlap_and_residual();
    return check_report();
}
