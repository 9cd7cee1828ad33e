/*
 * Softmax of rows: largest entry, exponentials with their sum, and one multiplication by the sum's
 * reciprocal. Rows stay in the first cache between the three.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/math/exp.h"
#include "kernels/math/log.h"
#include "kernels/per_isa/decay.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"
#include "kernels/reduce.h"
#include "kernels/softmax.h"

extern const hm_reduce_kernels HM_K(reduce);

/* Above every partial sum of a lane, so that a quick sum is exact; a power of two, so that it goes
 * again. */
#define LANE_BASE 128.0

/* Vectors of lanes that go together: as many as registers hold with what they need. The sums of all wait in memory. */
enum { PART = VEC_PER_CONTRACT < 4 ? VEC_PER_CONTRACT : 4, PARTS = VEC_PER_CONTRACT / PART };

typedef struct lanes {
    vec high[VEC_PER_CONTRACT], low[VEC_PER_CONTRACT];
} lanes;

/* e^d in place of d. */
VEC_INLINE void decay_part(vec d[PART])
{
    vec least = d[0];
    UNROLL (k, 1, PART)
        least = vec_min(least, d[k]);
    const bool ordinary = vec_mask_all(vec_greater_equal(least, vec_of(DECAY_LEAST)));
    if (HM_LIKELY(ordinary))
        decay_several(PART, d);
    else
        for (int k = 0; k < PART; k++)
            d[k] = decay_rare(d[k]);
}

VEC_INLINE void add_part(const vec e[PART], lanes *sum, int part)
{
    UNROLL (k, 0, PART) {
        vec *const high = &sum->high[part * PART + k];
        const vec_sum s = vec_quick_sum(*high, e[k]);
        *high = s.high;
        sum->low[part * PART + k] += s.low;
    }
}

VEC_INLINE lanes no_terms(void)
{
    lanes sum;
    UNROLL (k, 0, VEC_PER_CONTRACT) {
        sum.high[k] = vec_of(LANE_BASE);
        sum.low[k] = vec_of(0.0);
    }
    return sum;
}

VEC_INLINE hm_exp_sum fold_lanes(lanes *sum)
{
    UNROLL (k, 0, VEC_PER_CONTRACT)
        sum->high[k] -= LANE_BASE;
    return (hm_exp_sum){vec_fold_add(sum->high), vec_fold_add(sum->low)};
}

/* Which of the n <= VEC_WIDTH bytes at p are not 0. */
VEC_INLINE vec_mask bytes_set(const uint8_t *p, size_t n)
{
    typedef uint8_t bytes __attribute__((vector_size(VEC_WIDTH)));
    bytes b = {0};
    memcpy(&b, p, n);
    return vec_int_greater(__builtin_convertvector(b, vec_int), vec_int_of(0));
}

/*
 * The next rows come into the second cache meanwhile: exponentials keep the arithmetic units busy
 * and leave memory idle, the search for the largest entry does the opposite. (Softmax of 1024 x
 * 1000 on Zen 4: 1.06 to 0.93 ms. Short rows lose by it, and on Zen 4 so does the logarithm, which
 * reads its row once more; a Xeon, whose memory is farther away, takes 0.88 for its 1.06 ms. On
 * Zen 3, at half a vector, both gain: 16384 x 64 1.23, its logarithm 1.15, that of 1024 x 1000 1.2.)
 */
enum { FETCHES_ALL = VEC_WIDTH == 4 };

VEC_INLINE void fetch_group(const double *x)
{
    enum { LINE = 8 };
    UNROLL (k, 0, VEC_CONTRACT_LANES / LINE)
        __builtin_prefetch(x + k * LINE, 0, 2);
}

/*
 * e^(x - most) of one block, and their sum. Where `out` is NULL they are not kept, where `allowed`
 * is not, some take no part. A lane without an element decays from 0 and is then set to +0. What
 * stands `ahead` elements on is fetched, unless that is 0.
 */
VEC_INLINE hm_exp_sum exponentials_of(const double *x, const uint8_t *allowed, int64_t n,
                                      double most, int64_t ahead, double *out)
{
    enum { STEP = PART * VEC_WIDTH };
    lanes sum = no_terms();
    const vec m = vec_of(most);
    vec e[PART];
    int64_t i = 0;
    for (; i + VEC_CONTRACT_LANES <= n; i += VEC_CONTRACT_LANES) {
        if (ahead)
            fetch_group(x + i + ahead);
        for (int part = 0; part < PARTS; part++) {
            const int64_t at = i + part * STEP;
            vec_mask taken[PART];
            UNROLL (k, 0, PART) {
                e[k] = vec_load(x + at + k * VEC_WIDTH) - m;
                if (allowed) {
                    taken[k] = bytes_set(allowed + at + k * VEC_WIDTH, VEC_WIDTH);
                    e[k] = vec_keep(taken[k], e[k]);
                }
            }
            decay_part(e);
            if (allowed)
                UNROLL (k, 0, PART)
                    e[k] = vec_keep(taken[k], e[k]);
            add_part(e, &sum, part);
            if (out)
                UNROLL (k, 0, PART)
                    vec_store(out + at + k * VEC_WIDTH, e[k]);
        }
    }
    for (int part = 0; i < n; i += STEP, part = (part + 1) % PARTS) {
        vec_mask taken[PART];
        UNROLL (k, 0, PART) {
            const int64_t at = i + k * VEC_WIDTH;
            const size_t count = lanes_before(n, at);
            taken[k] = first_lanes(count);
            if (allowed)
                taken[k] = vec_mask_and(taken[k], bytes_set(allowed + at, count));
            e[k] = vec_keep(taken[k], vec_load_partial(x + at, count) - m);
        }
        decay_part(e);
        UNROLL (k, 0, PART)
            e[k] = vec_keep(taken[k], e[k]);
        add_part(e, &sum, part);
        if (out)
            UNROLL (k, 0, PART)
                vec_store_partial(out + i + k * VEC_WIDTH, lanes_before(n, i + k * VEC_WIDTH),
                                  e[k]);
    }
    return fold_lanes(&sum);
}

static hm_exp_sum exponentials(const double *x, int64_t n, double most, double *out)
{
    return exponentials_of(x, NULL, n, most, 0, out);
}

static hm_exp_sum exponential_sum(const double *x, int64_t n, double most)
{
    return exponentials_of(x, NULL, n, most, 0, NULL);
}

/*
 * e^(x - m) to 2 ulp: the difference with its rounding, e^(d + r) = e^d + r e^d. Where e^d is 0, r may be no
 * number, as d may be infinite.
 */
VEC_INLINE vec decay_accurate(vec x, vec m)
{
    const vec_sum d = vec_exact_sum(x, -m);
    const vec e = vec_exp(d.high);
    return vec_fma(e, vec_keep(vec_greater(e, vec_of(0.0)), d.low), e);
}

HM_RARE hm_exp_sum accurate_exponential_sum(const double *x, int64_t n, double most)
{
    lanes sum = no_terms();
    const vec m = vec_of(most);
    vec e[PART];
    for (int64_t i = 0; i < n; i += PART * VEC_WIDTH) {
        for (int k = 0; k < PART; k++) {
            const int64_t at = i + k * VEC_WIDTH;
            const size_t count = lanes_before(n, at);
            const vec_mask taken = first_lanes(count);
            const vec gap =
                decay_accurate(vec_select(taken, vec_load_partial(x + at, count), m), m);
            e[k] = vec_keep(taken, gap);
        }
        add_part(e, &sum, (int)(i / (PART * VEC_WIDTH) % PARTS));
    }
    return fold_lanes(&sum);
}

static void scale(const double *x, int64_t n, double by, double *out)
{
    const vec factor = vec_of(by);
    int64_t i = 0;
    for (; i + 4 * VEC_WIDTH <= n; i += 4 * VEC_WIDTH)
        UNROLL (k, 0, 4)
            vec_store(out + i + k * VEC_WIDTH, vec_load(x + i + k * VEC_WIDTH) * factor);
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH)
        vec_store(out + i, vec_load(x + i) * factor);
    if (i < n) {
        const size_t count = lanes_before(n, i);
        vec_store_partial(out + i, count, vec_load_partial(x + i, count) * factor);
    }
}

static bool log_shift(const double *x, int64_t n, double most, double less, double *out)
{
    const vec m = vec_of(most), l = vec_of(less);
    vec taint[4], y;
    UNROLL (k, 0, 4)
        taint[k] = vec_of(0.0);
    int64_t i = 0;
    for (; i + 4 * VEC_WIDTH <= n; i += 4 * VEC_WIDTH)
        UNROLL (k, 0, 4) {
            y = (vec_load(x + i + k * VEC_WIDTH) - m) - l;
            taint[k] = vec_taint(taint[k], y);
            vec_store(out + i + k * VEC_WIDTH, y);
        }
    for (; i < n; i += VEC_WIDTH) {
        const size_t count = lanes_before(n, i);
        y = (vec_select(first_lanes(count), vec_load_partial(x + i, count), m) - m) - l;
        taint[0] = vec_taint(taint[0], y);
        vec_store_partial(out + i, count, y);
    }
    return !vec_is_tainted((taint[0] + taint[1]) + (taint[2] + taint[3]));
}

/* The largest entry gives 1, so what log1p wants is the sum without it. */
static double beyond_largest(hm_exp_sum sum) { return (sum.high - 1.0) + sum.low; }

static double log_of_sum(hm_exp_sum sum) { return vec_log1p(vec_of(beyond_largest(sum)))[0]; }

/*
 * Rows that stay in the first cache together: all maxima, then all sums, one division or logarithm
 * with a lane for each row, and the results. A row alone would wait three times for the end of a
 * chain of dependent operations, which takes longer than the work of 64 elements.
 */
enum { FEW_ELEMENTS = 1024 };

static int64_t rows_together(int64_t rows, int64_t n)
{
    const int64_t few = FEW_ELEMENTS / n > 1 ? FEW_ELEMENTS / n : 1;
    const int64_t most = few < VEC_WIDTH ? few : VEC_WIDTH;
    return rows < most ? rows : most;
}

/* How far away are the rows after these? 0 where they are not worth fetching, or there are not as many. */
VEC_INLINE int64_t fetch_distance(int64_t few, int64_t left, int64_t n)
{
    return (few == 1 || FETCHES_ALL) && left >= 2 * few ? few * n : 0;
}

/* False where an element is not finite. */
static bool maxima(const double *x, int64_t rows, int64_t n, double *most)
{
    double trace = 0;
    for (int64_t i = 0; i < rows; i++) {
        most[i] = HM_K(reduce).maximum(x + i * n, n);
        trace += 0.0 * most[i];
    }
    return trace == 0;
}

static bool softmax(const double *x, int64_t rows, int64_t n, double *out)
{
    for (int64_t at = 0, few; at < rows; at += few, x += few * n, out += few * n) {
        double most[VEC_WIDTH], total[VEC_WIDTH] = {0}, by[VEC_WIDTH];
        few = rows_together(rows - at, n);
        const int64_t ahead = fetch_distance(few, rows - at, n);
        if (!maxima(x, few, n, most))
            return false;
        for (int64_t i = 0; i < few; i++) {
            const hm_exp_sum sum = exponentials_of(x + i * n, NULL, n, most[i], ahead, out + i * n);
            total[i] = sum.high + sum.low;
        }
        vec_store(by, 1.0 / vec_load_padded(total, (size_t)few));
        for (int64_t i = 0; i < few; i++)
            scale(out + i * n, n, by[i], out + i * n);
    }
    return true;
}

VEC_INLINE hm_exp_sum sum_for_logarithm(const double *x, int64_t n, double most, int64_t ahead)
{
    const hm_exp_sum sum = exponentials_of(x, NULL, n, most, ahead, NULL);
    return hm_exp_sum_is_near_one(sum) ? accurate_exponential_sum(x, n, most) : sum;
}

VEC_INLINE bool log_softmax_rows(const double *x, int64_t rows, int64_t n, bool fetch, double *out)
{
    bool finite = true;
    for (int64_t at = 0, few; finite && at < rows; at += few, x += few * n, out += few * n) {
        double most[VEC_WIDTH], rest[VEC_WIDTH] = {0}, less[VEC_WIDTH];
        few = rows_together(rows - at, n);
        if (!maxima(x, few, n, most))
            return false;
        const int64_t ahead = fetch || FETCHES_ALL ? fetch_distance(few, rows - at, n) : 0;
        for (int64_t i = 0; i < few; i++)
            rest[i] = beyond_largest(sum_for_logarithm(x + i * n, n, most[i], ahead));
        vec_store(less, vec_log1p(vec_load_padded(rest, (size_t)few)));
        for (int64_t i = 0; i < few; i++)
            finite &= log_shift(x + i * n, n, most[i], less[i], out + i * n);
    }
    return finite;
}

static bool log_softmax(const double *x, int64_t rows, int64_t n, double *out)
{
    return log_softmax_rows(x, rows, n, false, out);
}

static bool log_softmax_fetching(const double *x, int64_t rows, int64_t n, double *out)
{
    return log_softmax_rows(x, rows, n, true, out);
}

static double masked_maximum(const double *x, const uint8_t *allowed, int64_t n)
{
    const vec nothing = vec_of(-INFINITY);
    vec most = nothing;
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH)
        most =
            vec_max(vec_select(bytes_set(allowed + i, VEC_WIDTH), vec_load(x + i), nothing), most);
    if (i < n) {
        const size_t count = lanes_before(n, i);
        const vec_mask taken = vec_mask_and(first_lanes(count), bytes_set(allowed + i, count));
        most = vec_max(vec_select(taken, vec_load_partial(x + i, count), nothing), most);
    }
    return vec_largest(most);
}

static hm_exp_sum masked_exponentials(const double *x, const uint8_t *allowed, int64_t n,
                                      double most, double *out)
{
    return exponentials_of(x, allowed, n, most, 0, out);
}

static void masked(const double *x, const uint8_t *allowed, int64_t n, double *out)
{
    const double most = masked_maximum(x, allowed, n);
    if (most == -INFINITY) {
        memset(out, 0, (size_t)n * sizeof *out);
        return;
    }
    const hm_exp_sum sum = exponentials_of(x, allowed, n, most, 0, out);
    scale(out, n, 1.0 / (sum.high + sum.low), out);
}

extern const hm_softmax_kernels HM_K(softmax);
const hm_softmax_kernels HM_K(softmax) = {
    .softmax = softmax,
    .log_softmax = log_softmax,
    .log_softmax_fetching = FETCHES_ALL ? log_softmax : log_softmax_fetching,
    .masked = masked,
    .masked_maximum = masked_maximum,
    .masked_exponentials = masked_exponentials,
    .exponentials = exponentials,
    .exponential_sum = exponential_sum,
    .accurate_exponential_sum = accurate_exponential_sum,
    .scale = scale,
    .log_shift = log_shift,
    .log_of_sum = log_of_sum,
};
