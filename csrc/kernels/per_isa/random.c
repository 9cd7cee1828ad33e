/* Random draws, elementwise. */
#include "kernels/random.h"

#include "kernels/math/exp.h"
#include "kernels/math/log.h"
#include "kernels/math/sincos.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"

enum {
    TILE = 64
}; /* pairs taken apart at a time, for the compiler to do so with its own shuffles */

/*
 * 2 pi u for 0 <= u < 1, a multiple of 2^-53. The quarter turns are taken off before anything is
 * rounded: u = n/4 + f with |f| <= 1/8 exactly.
 */
static vec_angle angle_of_turn(vec u)
{
    const vec shifted = 4.0 * u + 0x1.8p52;
    const vec f = u - 0.25 * (shifted - 0x1.8p52);
    const vec_sum r = vec_exact_product(f, vec_of(4.0 * half_pi_parts[0]));
    return (vec_angle){r.high, vec_fma(f, vec_of(4.0 * half_pi_parts[1]), r.low),
                       vec_bits(shifted)};
}

/*
 * 1 - u is exact and at least 2^-53; 0 - 2 log is +0 where the logarithm is 0. Whole vectors: what
 * stands behind the count is turned as well.
 */
static void turn(double *first, double *second, int64_t count)
{
    for (int64_t i = 0; i < count; i += VEC_WIDTH) {
        const vec r = vec_sqrt(0.0 - 2.0 * vec_log_fast(1.0 - vec_load(first + i)));
        const vec_sine_cosine at = vec_sincos_turn(angle_of_turn(vec_load(second + i)));
        vec_store(first + i, r * at.cosine);
        vec_store(second + i, r * at.sine);
    }
}

static void box_muller(double *u, int64_t pairs)
{
    double first[TILE] = {0.0}, second[TILE] = {0.0};
    for (int64_t at = 0; at < pairs; at += TILE) {
        const int64_t count = pairs - at < TILE ? pairs - at : TILE;
        for (int64_t i = 0; i < count; i++) {
            first[i] = u[2 * (at + i)];
            second[i] = u[2 * (at + i) + 1];
        }
        turn(first, second, count);
        for (int64_t i = 0; i < count; i++) {
            u[2 * (at + i)] = first[i];
            u[2 * (at + i) + 1] = second[i];
        }
    }
}

/* ---- Philox4x32-10 (random/philox4x32.c), a block a lane, each 32-bit word in a lane of 64 ----
 */

enum { PHILOX_ROUNDS = 10 };

#define LOW_WORD vec_int_of(0xffffffff)

typedef struct philox_words {
    vec_int c[4];
} philox_words;

/* Lane l: counter + first + l, its carry included. */
static philox_words philox_counters(const uint64_t counter[2], int64_t first)
{
    int64_t low[VEC_WIDTH], high[VEC_WIDTH];
    for (int l = 0; l < VEC_WIDTH; l++) {
        const uint64_t sum = counter[0] + (uint64_t)(first + l);
        low[l] = (int64_t)sum;
        high[l] = (int64_t)(counter[1] + (sum < counter[0]));
    }
    vec_int l, h;
    __builtin_memcpy(&l, low, sizeof l);
    __builtin_memcpy(&h, high, sizeof h);
    return (philox_words){{l & LOW_WORD, vec_shift_right_logical(l, 32), h & LOW_WORD,
                           vec_shift_right_logical(h, 32)}};
}

/* Rounds depend on each other and groups do not: side by side they hide the multiplier's latency.
 */
enum { PHILOX_GROUPS = VEC_WIDTH == 8 ? 4 : 2 };

static void philox_rounds(philox_words w[PHILOX_GROUPS], uint64_t key)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
#pragma GCC unroll 4
        for (int g = 0; g < PHILOX_GROUPS; g++) {
            vec_int *c = w[g].c;
            const vec_int p0 = vec_int_product32(c[0], vec_int_of(0xd2511f53));
            const vec_int p1 = vec_int_product32(c[2], vec_int_of(0xcd9e8d57));
            c[0] = vec_shift_right_logical(p1, 32) ^ c[1] ^ vec_int_of(k0);
            c[1] = p1 & LOW_WORD;
            c[2] = vec_shift_right_logical(p0, 32) ^ c[3] ^ vec_int_of(k1);
            c[3] = p0 & LOW_WORD;
        }
        k0 += 0x9e3779b9;
        k1 += 0xbb67ae85;
    }
}

/* (a >> 5) 2^-27 + (b >> 6) 2^-53: no bits in common, so the sum is exact. */
static vec uniform_of_words(vec_int a, vec_int b)
{
    return vec_from_int(vec_shift_right_logical(a, 5)) * 0x1p-27 +
           vec_from_int(vec_shift_right_logical(b, 6)) * 0x1p-53;
}

static void philox(const uint64_t counter[2], uint64_t key, double *out, int64_t blocks)
{
    enum { STEP = PHILOX_GROUPS * VEC_WIDTH };
    for (int64_t at = 0; at < blocks; at += STEP) {
        philox_words w[PHILOX_GROUPS];
        double first[STEP], second[STEP];
        for (int g = 0; g < PHILOX_GROUPS; g++)
            w[g] = philox_counters(counter, at + g * VEC_WIDTH);
        philox_rounds(w, key);
        for (int g = 0; g < PHILOX_GROUPS; g++) {
            vec_store(first + g * VEC_WIDTH, uniform_of_words(w[g].c[0], w[g].c[1]));
            vec_store(second + g * VEC_WIDTH, uniform_of_words(w[g].c[2], w[g].c[3]));
        }
        const int64_t count = blocks - at < STEP ? blocks - at : STEP;
        for (int64_t l = 0; l < count; l++) {
            out[2 * (at + l)] = first[l];
            out[2 * (at + l) + 1] = second[l];
        }
    }
}

static size_t lanes_left(int64_t n, int64_t at)
{
    return n - at < VEC_WIDTH ? (size_t)(n - at) : VEC_WIDTH;
}

static void bell(const double *z, double *out, int64_t n)
{
    for (int64_t at = 0; at < n; at += VEC_WIDTH) {
        const size_t count = lanes_left(n, at);
        const vec x = vec_load_partial(z + at, count);
        vec_store_partial(out + at, count, vec_exp(vec_of(-0.5) * (x * x)));
    }
}

static void subtract(double c, const double *v, double *x, int64_t n)
{
    const vec factor = vec_of(c);
    int64_t at = 0;
    for (; at + VEC_WIDTH <= n; at += VEC_WIDTH)
        vec_store(x + at, vec_load(x + at) - factor * vec_load(v + at));
    for (; at < n; at++)
        x[at] -= c * v[at];
}

static bool drop(const double *x, int64_t n, double probability, double scale, double *mask,
                 double *out)
{
    const vec least = vec_of(probability), factor = vec_of(scale);
    vec taint = vec_of(0.0);
    for (int64_t at = 0; at < n; at += VEC_WIDTH) {
        const size_t count = lanes_left(n, at);
        const vec u = vec_load_partial(mask + at, count);
        const vec m = vec_keep(vec_greater_equal(u, least), factor);
        const vec y = vec_load_partial(x + at, count) * m;
        taint = vec_taint(taint, y);
        vec_store_partial(mask + at, count, m);
        vec_store_partial(out + at, count, y);
    }
    return !vec_is_tainted(taint);
}

/* Fewer than a vector of them. */
VEC_INLINE vec spread_few(const double *x, size_t count, vec factor, double *mask, double *out)
{
    if (count == 0)
        return vec_of(0.0);
    const vec y = vec_load_partial(x, count) * factor;
    vec_store_partial(mask, count, factor);
    vec_store_partial(out, count, y);
    return y;
}

typedef void vec_store_how(double *p, vec x);

/* What of the plane is not finite shows in what comes back. */
VEC_INLINE vec spread_by(vec_store_how *store_mask, vec_store_how *store_out, const double *x,
                         int64_t n, double factor, double *mask, double *out)
{
    const vec m = vec_of(factor);
    int64_t at = lanes_to_alignment(mask, n);
    vec taint = vec_taint(vec_of(0.0), spread_few(x, (size_t)at, m, mask, out));
    for (; at + VEC_WIDTH <= n; at += VEC_WIDTH) {
        const vec y = vec_load(x + at) * m;
        taint = vec_taint(taint, y);
        store_mask(mask + at, m);
        store_out(out + at, y);
    }
    return vec_taint(taint, spread_few(x + at, lanes_left(n, at), m, mask + at, out + at));
}

static bool spread(const double *x, int64_t planes, int64_t n, const double *factor, int aside,
                   double *mask, double *out)
{
    const bool alike = ((uintptr_t)mask - (uintptr_t)out) % sizeof(vec) == 0;
    vec taint = vec_of(0.0);
    for (int64_t i = 0; i < planes; i++, x += n, mask += n, out += n) {
        if (aside == 0)
            taint += spread_by(vec_store, vec_store, x, n, factor[i], mask, out);
        else if (aside == 1 || !alike)
            taint += spread_by(vec_store_aside, vec_store, x, n, factor[i], mask, out);
        else
            taint += spread_by(vec_store_aside, vec_store_aside, x, n, factor[i], mask, out);
    }
    vec_store_aside_done();
    return !vec_is_tainted(taint);
}

extern const hm_random_kernels HM_K(random);
const hm_random_kernels HM_K(random) = {
    .box_muller = box_muller,
    .philox = philox,
    .bell = bell,
    .subtract = subtract,
    .drop = drop,
    .spread = spread,
};
