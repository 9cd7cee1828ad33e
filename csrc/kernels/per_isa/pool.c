/* Pooling by rows; the contract of each kernel is in pool.h. */
#include "kernels/pool.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"
#include "kernels/per_isa/unroll.h"

/* ---- largest ---- */

VEC_INLINE vec largest_tap(const double *const *tap, int64_t taps, int64_t at, size_t count)
{
    vec most = vec_load_partial(tap[0] + at, count);
    for (int64_t t = 1; t < taps; t++)
        most = vec_max(vec_load_partial(tap[t] + at, count), most);
    return most + 0.0;
}

static void maxima(const double *const *tap, int64_t taps, int64_t n, double *out)
{
    int64_t i = 0;
    for (; i + 2 * VEC_WIDTH <= n; i += 2 * VEC_WIDTH) {
        vec most = vec_load(tap[0] + i), next = vec_load(tap[0] + i + VEC_WIDTH);
        for (int64_t t = 1; t < taps; t++) {
            most = vec_max(vec_load(tap[t] + i), most);
            next = vec_max(vec_load(tap[t] + i + VEC_WIDTH), next);
        }
        vec_store(out + i, most + 0.0);
        vec_store(out + i + VEC_WIDTH, next + 0.0);
    }
    for (; i < n; i += VEC_WIDTH) {
        const size_t count = lanes_before(n, i);
        vec_store_partial(out + i, count, largest_tap(tap, taps, i, count));
    }
}

/* ---- mean ---- */

VEC_INLINE vec load_tap(const double *p, size_t count)
{
    return count == VEC_WIDTH ? vec_load(p) : vec_load_partial(p, count);
}

/*
 * The contract's lanes stand in as many vectors, one output a lane of them; a lane without a term
 * would add +0 and is left out. Adding +0 at the end stands for the +0 that every lane starts from.
 */
VEC_INLINE vec sum_of_taps(const double *const *tap, int64_t taps, int64_t at, size_t count)
{
    vec lane[VEC_CONTRACT_LANES];
    const int64_t live = taps < VEC_CONTRACT_LANES ? taps : VEC_CONTRACT_LANES;
    for (int64_t t = 0; t < live; t++)
        lane[t] = load_tap(tap[t] + at, count);
    for (int64_t t = live; t < taps; t++)
        lane[t % VEC_CONTRACT_LANES] += vec_load_partial(tap[t] + at, count);
    for (int64_t h = VEC_CONTRACT_LANES / 2; h; h /= 2)
        for (int64_t t = 0; t < h && t + h < live; t++)
            lane[t] += lane[t + h];
    return lane[0] + 0.0;
}

typedef vec sum_taps(const double *const *tap, int64_t taps, int64_t at, size_t count);

VEC_INLINE bool means_of(sum_taps *sum_of, const double *const *tap, int64_t taps, int64_t n,
                         double *out)
{
    /* Dividing by a power of two and multiplying by its inverse round the same number. */
    const int power_of_two = (taps & (taps - 1)) == 0;
    const vec divisor = vec_of((double)taps), inverse = vec_of(1 / (double)taps);
    int64_t i = 0;
    vec spoiled = vec_of(0.0); /* 0 times what is not finite is NaN */
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec sum = sum_of(tap, taps, i, VEC_WIDTH);
        const vec mean = power_of_two ? sum * inverse : sum / divisor;
        spoiled = vec_fma(mean, vec_of(0.0), spoiled);
        vec_store(out + i, mean);
    }
    if (i < n) {
        const vec mean = sum_of(tap, taps, i, (size_t)(n - i)) / divisor;
        spoiled = vec_fma(mean, vec_of(0.0), spoiled);
        vec_store_partial(out + i, (size_t)(n - i), mean);
    }
    return vec_mask_all(vec_equal(spoiled, vec_of(0.0)));
}

/* Lane t takes lane t + half, of `live` lanes. */
VEC_INLINE void fold_lanes(vec *lane, const int half, const int64_t live)
{
    UNROLL (t, 0, half) {
        if (t + half < live)
            lane[t] += lane[t + half];
    }
}

enum { FEW = 9 };

/* Of a constant number of terms, so that lanes are registers. */
VEC_INLINE vec sum_of_few(const double *const *tap, int64_t taps, int64_t at, size_t count)
{
    vec lane[FEW];
    UNROLL (t, 0, taps) {
        lane[t] = load_tap(tap[t] + at, count);
    }
    fold_lanes(lane, 8, taps);
    fold_lanes(lane, 4, taps);
    fold_lanes(lane, 2, taps);
    fold_lanes(lane, 1, taps);
    return lane[0] + 0.0;
}

/* Results might overwrite what is read again from `tap`, for all a compiler knows. */
VEC_INLINE bool means_of_few(const double *const *tap, const int taps, int64_t n, double *out)
{
    const double *from[FEW];
    UNROLL (t, 0, taps) {
        from[t] = tap[t];
    }
    return means_of(sum_of_few, from, taps, n, out);
}

static bool means(const double *const *tap, int64_t taps, int64_t n, double *out)
{
    switch (taps) {
    case 2: return means_of_few(tap, 2, n, out);
    case 3: return means_of_few(tap, 3, n, out);
    case 4: return means_of_few(tap, 4, n, out);
    case 6: return means_of_few(tap, 6, n, out);
    case 8: return means_of_few(tap, 8, n, out);
    case 9: return means_of_few(tap, 9, n, out);
    default: return means_of(sum_of_taps, tap, taps, n, out);
    }
}

/* ---- two by two ---- */

/* The cells of VEC_WIDTH windows, or of the `count` that are left, in the order of pairs. */
typedef struct squares {
    vec top_left, top_right, bottom_left, bottom_right;
} squares;

VEC_INLINE void load_pairs(const double *x, size_t count, vec *left, vec *right)
{
    const size_t cells = 2 * count, first = cells < VEC_WIDTH ? cells : VEC_WIDTH;
    const vec low = count == VEC_WIDTH ? vec_load(x) : vec_load_partial(x, first);
    const vec high =
        count == VEC_WIDTH ? vec_load(x + VEC_WIDTH) : vec_load_partial(x + first, cells - first);
    *left = vec_pair_lefts(low, high);
    *right = vec_pair_rights(low, high);
}

VEC_INLINE void store_pairs(double *x, size_t count, vec left, vec right)
{
    const vec low = vec_pairs_low(left, right), high = vec_pairs_high(left, right);
    if (count == VEC_WIDTH) {
        vec_store(x, low);
        vec_store(x + VEC_WIDTH, high);
        return;
    }
    const size_t cells = 2 * count, first = cells < VEC_WIDTH ? cells : VEC_WIDTH;
    vec_store_partial(x, first, low);
    vec_store_partial(x + first, cells - first, high);
}

VEC_INLINE squares load_squares(const double *x, int64_t pitch, size_t count)
{
    squares s;
    load_pairs(x, count, &s.top_left, &s.top_right);
    load_pairs(x + pitch, count, &s.bottom_left, &s.bottom_right);
    return s;
}

VEC_INLINE vec largest_of_square(const double *x, int64_t pitch, vec floor, size_t count)
{
    const squares s = load_squares(x, pitch, count);
    const vec left = vec_max(s.bottom_left, s.top_left);
    const vec right = vec_max(s.bottom_right, s.top_right);
    return vec_in_pair_order(vec_max(vec_max(right, left), floor) + 0.0);
}

/* A row's last whole vector goes back over windows of the one before: no store is partial. */
static void square_maxima(const double *x, int64_t pitch, int64_t rows, int64_t n, double floor,
                          double *out)
{
    const vec least = vec_of(floor);
    const int64_t last = n - VEC_WIDTH;
    for (; rows > 0; rows--, x += 2 * pitch, out += n) {
        int64_t i = 0;
        for (; i <= last; i += VEC_WIDTH)
            vec_store(out + i, largest_of_square(x + 2 * i, pitch, least, VEC_WIDTH));
        if (i < n && last >= 0)
            vec_store(out + last, largest_of_square(x + 2 * last, pitch, least, VEC_WIDTH));
        else if (i < n)
            vec_store_partial(out, (size_t)n, largest_of_square(x, pitch, least, (size_t)n));
    }
}

/* Four terms fold 2, then 1: the rows meet first. */
VEC_INLINE vec mean_of_square(const double *x, int64_t pitch, size_t count)
{
    const squares s = load_squares(x, pitch, count);
    const vec sum = (s.top_left + s.bottom_left) + (s.top_right + s.bottom_right);
    return vec_in_pair_order((sum + 0.0) * 0.25);
}

static bool square_means(const double *x, int64_t pitch, int64_t rows, int64_t n, double *out)
{
    const int64_t last = n - VEC_WIDTH;
    vec taint = vec_of(0.0);
    for (; rows > 0; rows--, x += 2 * pitch, out += n) {
        int64_t i = 0;
        for (; i <= last; i += VEC_WIDTH) {
            const vec mean = mean_of_square(x + 2 * i, pitch, VEC_WIDTH);
            taint = vec_taint(taint, mean);
            vec_store(out + i, mean);
        }
        if (i < n && last >= 0) {
            const vec mean = mean_of_square(x + 2 * last, pitch, VEC_WIDTH);
            taint = vec_taint(taint, mean);
            vec_store(out + last, mean);
        } else if (i < n) {
            const vec mean = mean_of_square(x, pitch, (size_t)n);
            taint = vec_taint(taint, mean);
            vec_store_partial(out, (size_t)n, mean);
        }
    }
    return !vec_is_tainted(taint);
}

/*
 * Comparisons are masks here, not branches, which no processor could predict. A floor under the first
 * cell does for all four: what is not above it is neither above the first, nor looked at further.
 */
VEC_INLINE void scatter_squares(const double *x, int64_t pitch, vec floor, const double *from,
                                double *to, size_t count)
{
    squares s = load_squares(x, pitch, count);
    s.top_left = vec_max(s.top_left, floor);
    const vec above = vec_max(s.top_right, s.top_left);
    const vec below = vec_max(s.bottom_right, s.bottom_left);
    const vec_mask down = vec_greater(below, above);
    const vec_mask top_right = vec_greater(s.top_right, s.top_left);
    const vec_mask bottom_right = vec_greater(s.bottom_right, s.bottom_left);
    const vec u =
        vec_in_pair_order(count == VEC_WIDTH ? vec_load(from) : vec_load_partial(from, count)) +
        0.0;
    const vec passed = u * vec_truth(vec_greater(vec_max(above, below), floor));
    const vec up = vec_keep(vec_mask_not(down), passed), fell = vec_keep(down, passed);
    store_pairs(to, count, vec_keep(vec_mask_not(top_right), up), vec_keep(top_right, up));
    store_pairs(to + pitch, count, vec_keep(vec_mask_not(bottom_right), fell),
                vec_keep(bottom_right, fell));
}

static void square_scatter(const double *x, int64_t pitch, int64_t rows, int64_t n, double floor,
                           const double *from, double *to)
{
    const vec least = vec_of(floor);
    const int64_t last = n - VEC_WIDTH;
    for (; rows > 0; rows--, x += 2 * pitch, to += 2 * pitch, from += n) {
        int64_t i = 0;
        for (; i <= last; i += VEC_WIDTH)
            scatter_squares(x + 2 * i, pitch, least, from + i, to + 2 * i, VEC_WIDTH);
        if (i < n && last >= 0)
            scatter_squares(x + 2 * last, pitch, least, from + last, to + 2 * last, VEC_WIDTH);
        else if (i < n)
            scatter_squares(x, pitch, least, from, to, (size_t)n);
    }
}

/* ---- strides ---- */

static void split_pairs(const double *x, int64_t n, int64_t pitch, double *out)
{
    int64_t i = 0;
    for (; 2 * (i + VEC_WIDTH) <= n; i += VEC_WIDTH) {
        const vec low = vec_load(x + 2 * i), high = vec_load(x + 2 * i + VEC_WIDTH);
        vec_store(out + i, vec_even(low, high));
        vec_store(out + pitch + i, vec_odd(low, high));
    }
    for (; 2 * i < n; i++) {
        out[i] = x[2 * i];
        if (2 * i + 1 < n)
            out[pitch + i] = x[2 * i + 1];
    }
}

static void split(const double *x, int64_t n, int64_t stride, int64_t pitch, double *out)
{
    if (stride == 2) {
        split_pairs(x, n, pitch, out);
        return;
    }
    for (int64_t p = 0; p < stride; p++)
        for (int64_t i = 0; i * stride + p < n; i++)
            out[p * pitch + i] = x[i * stride + p];
}

extern const hm_pool_kernels HM_K(pool);
const hm_pool_kernels HM_K(pool) = {.maxima = maxima,
                                    .means = means,
                                    .square_maxima = square_maxima,
                                    .square_means = square_means,
                                    .square_scatter = square_scatter,
                                    .split = split};
