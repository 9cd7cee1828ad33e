/*
 * Sixteen-bit products: rounding on the way into the panels, then a binary32 tile.
 *
 * Compiled with AVX512-BF16 this file makes the kernels for moderate operands in BF16, and no others. There
 * vdpbf16ps adds two products to a sum: the one in the upper halves of its words first, each rounded to
 * nearest, as two fused multiply-adds do it. Unlike those it takes subnormal numbers for zeros. But where no
 * operand is below 2^-56, all products and sums are multiples of 2^-126, and none is subnormal; and where none
 * is as large as 2^63, no product is infinite. The chain is the same to the last bit.
 */
#include "kernels/reduced.h"

#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/unroll.h"
#include "kernels/vec/vec.h"

/* Twice as many floats as doubles to a register. */
enum { FLOATS = 2 * VEC_WIDTH, VECTORS = 2, COLUMNS = VECTORS * FLOATS };

#if defined(__AVX512F__)
enum { ROWS = 14 };
#elif defined(__AVX2__)
enum { ROWS = 6 };
#else
enum { ROWS = 4 };
#endif

#if defined(__AVX512BF16__)
enum { STEP = 2 }; /* steps of depth in one packed word: the earlier one in its upper half */
#else
enum { STEP = 1 };
#endif

typedef float floats __attribute__((vector_size(4 * FLOATS)));

/* ------------------------------------------------- fused multiply-add in binary32 */

#if defined(__FMA__) || defined(__aarch64__)
VEC_INLINE floats fused(floats a, floats b, floats c)
{
#if defined(__AVX512BF16__)
    return (floats)_mm512_dpbf16_ps((__m512)c, (__m512bh)a, (__m512bh)b);
#elif defined(__AVX512F__)
    return (floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
    return (floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    for (int i = 0; i < FLOATS; i++)
        c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#endif
}
#else
/*
 * Without the instruction: the product of two floats is exact in double. The sum with c is rounded to odd
 * (Boldo and Melquiond 2008): where it is inexact and its last bit even, the neighbour towards the error
 * is taken, so that the final rounding to binary32 sees on which side of a tie the exact sum lies.
 */
static float fused_one(float a, float b, float c)
{
    const double product = (double)a * b, addend = c;
    const double sum = product + addend, part = sum - product;
    const double error = (product - (sum - part)) + (addend - part);
    int64_t bits;
    __builtin_memcpy(&bits, &sum, sizeof bits);
    if (error != 0 &&
        !(bits & 1)) /* false for infinities and NaN, whose error is NaN or bits decide */
        bits += (error > 0) == (sum > 0) ? 1 : -1;
    double odd;
    __builtin_memcpy(&odd, &bits, sizeof odd);
    return error == error ? (float)odd : (float)sum;
}

VEC_INLINE floats fused(floats a, floats b, floats c)
{
    for (int i = 0; i < FLOATS; i++)
        c[i] = fused_one(a[i], b[i], c[i]);
    return c;
}
#endif

/* ------------------------------------------------- rounding */

#if defined(__AVX512F__)
/*
 * Sixteen at a time, through binary32: rounded to odd (Boldo and Melquiond 2008), that is, cut off, with
 * the last bit set where something was lost. A second rounding, to 8 or 11 bits, to nearest, then gives
 * what one alone would, as binary32 has two bits more even where the format's numbers are subnormal. What
 * is too large is cut to the largest binary32 number, which rounds to infinity.
 */
VEC_INLINE __m512i round_to_odd(vec low, vec high)
{
    const __m256 a = _mm512_cvt_roundpd_ps(low, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __m256 b = _mm512_cvt_roundpd_ps(high, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
    const __mmask16 lost =
        (__mmask16)(_mm512_cmp_pd_mask(_mm512_cvtps_pd(a), low, _CMP_NEQ_UQ) |
                    _mm512_cmp_pd_mask(_mm512_cvtps_pd(b), high, _CMP_NEQ_UQ) << VEC_WIDTH);
    const __m512i both = _mm512_castps_si512(_mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1));
    return _mm512_mask_or_epi32(both, lost, both, _mm512_set1_epi32(1));
}

static __attribute__((noinline)) __m512i round_carefully(const bool half, vec low, vec high)
{
    const __m512i odd = round_to_odd(low, high);
    if (half)
        return _mm512_castps_si512(
            _mm512_cvtph_ps(_mm512_cvtps_ph(_mm512_castsi512_ps(odd), _MM_FROUND_TO_NEAREST_INT)));
    const __m512i even = _mm512_and_si512(_mm512_srli_epi32(odd, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(odd, _mm512_add_epi32(even, _mm512_set1_epi32(0x7fff)));
    return _mm512_and_si512(up, _mm512_set1_epi32(-0x10000));
}

VEC_INLINE __m512i magnitude(__m512i single)
{
    return _mm512_and_si512(single, _mm512_set1_epi32(INT32_MAX));
}

/*
 * Rounded to nearest twice, to binary32 and from there, numbers come out right but where the first rounding
 * ends halfway between two numbers of the format, and where those are subnormal in the format alone. Both are
 * rare. BF16's subnormal numbers are binary32's.
 */
VEC_INLINE __m512i round_sixteen(const bool half, vec low, vec high)
{
    enum { LEAST = (127 - 14) << 23 };
    const int32_t unit = half ? 1 << 13 : 1 << 16;
    const __m512i below = _mm512_set1_epi32(unit - 1), middle = _mm512_set1_epi32(unit / 2);
    const __m256 a = _mm512_cvt_roundpd_ps(low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 b = _mm512_cvt_roundpd_ps(high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m512i single = _mm512_castps_si512(_mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1));
    const __m512i rounded = _mm512_andnot_si512(below, _mm512_add_epi32(single, middle));
    const __mmask16 halfway = _mm512_cmpeq_epi32_mask(_mm512_and_si512(single, below), middle);
    __mmask16 small = 0;
    if (half) /* but not zero, which is -1 here */
        small = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(magnitude(rounded), _mm512_set1_epi32(1)),
                                        _mm512_set1_epi32(LEAST - 1));
    if (__builtin_expect(!_kortestz_mask16_u8(halfway, small), 0))
        return round_carefully(half, low, high);
    return rounded;
}

VEC_INLINE __m512i round_whole(const bool half, const double *x)
{
    return round_sixteen(half, vec_load(x), vec_load(x + VEC_WIDTH));
}

/* Of n numbers less than sixteen, perhaps none, with zeros behind them. */
VEC_INLINE __m512i round_partial(const bool half, const double *x, int64_t n)
{
    const int all = n > 0 ? (1 << n) - 1 : 0;
    return round_sixteen(half, _mm512_maskz_loadu_pd((__mmask8)all, x),
                         _mm512_maskz_loadu_pd((__mmask8)(all >> VEC_WIDTH), x + VEC_WIDTH));
}
#endif

#if defined(__AVX512BF16__)
/* The largest magnitudes, and the smallest but for zeros, less one. */
typedef struct extent {
    __m512i most, least;
} extent;

static extent nothing_yet(void) { return (extent){_mm512_setzero_si512(), _mm512_set1_epi32(-1)}; }

static bool all_moderate(const extent *e)
{
    enum { LEAST = (127 - 56) << 23, BEYOND = (127 + 63) << 23 };
    return !_mm512_cmpge_epu32_mask(e->most, _mm512_set1_epi32(BEYOND)) &&
           !_mm512_cmplt_epu32_mask(e->least, _mm512_set1_epi32(LEAST - 1));
}

VEC_INLINE __m512i round_noting(const double *x, int64_t n, extent *e)
{
    const __m512i rounded = n >= FLOATS ? round_whole(false, x) : round_partial(false, x, n);
    const __m512i size = magnitude(rounded);
    e->most = _mm512_max_epu32(e->most, size);
    e->least = _mm512_min_epu32(e->least, _mm512_sub_epi32(size, _mm512_set1_epi32(1)));
    return rounded;
}

/* Neighbours of a row share a word. */
static bool pack_left(const hm_reduced_format *format, int64_t rows, int64_t depth,
                      const double *left, int64_t stride, float *sliver)
{
    (void)format;
    const int64_t row_size = (depth + 1) / 2 + HM_SLIVER_GAP;
    extent e = nothing_yet();
    for (int64_t i = 0; i < rows + (rows > 1 && rows % 2); i++) {
        const double *from = left + (i < rows ? i : rows - 1) * stride;
        for (int64_t k = 0; k < depth; k += FLOATS) { /* what is too much falls into the gap */
            const __m512i rounded = round_noting(from + k, depth - k, &e);
            const __m512i paired = _mm512_or_si512(rounded, _mm512_srli_epi64(rounded, 48));
            _mm256_storeu_si256((__m256i *)(sliver + i * row_size + k / 2),
                                _mm512_cvtepi64_epi32(paired));
        }
    }
    return all_moderate(&e);
}

/* Neighbours of a column share a word. */
static bool pack_right(const hm_reduced_format *format, int64_t depth, int64_t columns,
                       const double *right, int64_t stride, float *panels, int64_t panel)
{
    enum { SOME = 4 * COLUMNS };
    (void)format;
    extent e = nothing_yet();
    for (int64_t first = 0; first < columns; first += SOME) {
        const int64_t end = columns - first < SOME ? columns : first + SOME;
        const int64_t padded = (end + COLUMNS - 1) / COLUMNS * COLUMNS;
        for (int64_t k = 0; k < depth; k += 2)
            for (int64_t j = first; j < padded; j += FLOATS) {
                const double *from = right + k * stride + j;
                const bool pair = k + 1 < depth;
                const __m512i upper = round_noting(from, end - j, &e);
                const __m512i lower =
                    round_noting(pair ? from + stride : from, pair ? end - j : 0, &e);
                _mm512_storeu_si512(panels + j / COLUMNS * panel + k / 2 * COLUMNS + j % COLUMNS,
                                    _mm512_or_si512(upper, _mm512_srli_epi32(lower, 16)));
            }
    }
    return all_moderate(&e);
}

/* Is the instruction of this very processor two fused multiply-adds, in the order that it is used in? */
static bool proved(void)
{
    const __m512i upper = _mm512_set1_epi32(-0x10000);
    uint32_t random = 1;
    bool equal = true;
    for (int round = 0; round < 64; round++) {
        uint32_t words[3][FLOATS];
        for (int i = 0; i < 3 * FLOATS; i++) {
            random = random * 1664525 + 1013904223;
            /* fractions and signs as they come, exponents near each other: most sums are rounded */
            words[i / FLOATS][i % FLOATS] = (random & 0x83ff83ff) | 0x3c003c00;
        }
        const __m512i a = _mm512_loadu_si512(words[0]), b = _mm512_loadu_si512(words[1]);
        const __m512 sum = _mm512_castsi512_ps(_mm512_loadu_si512(words[2]));
        const __m512 first = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(a, upper)),
                                             _mm512_castsi512_ps(_mm512_and_si512(b, upper)), sum);
        const __m512 both = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(a, 16)),
                                            _mm512_castsi512_ps(_mm512_slli_epi32(b, 16)), first);
        const floats pair = fused((floats)a, (floats)b, (floats)sum);
        equal &= _mm512_cmpeq_epi32_mask((__m512i)pair, (__m512i)both) == 0xffff;
    }
    return equal;
}
#else
/* What tells, after any number of roundings, whether all of them stayed finite. */
#if defined(__AVX512F__)
typedef struct rounding {
    bool half;
} rounding;

static rounding rounding_to(const hm_reduced_format *format)
{
    return (rounding){format->precision == 11};
}

typedef __m512i fitting; /* the largest magnitudes */

static fitting nothing_yet(void) { return _mm512_setzero_si512(); }

/* 2^16 and 2^128 are what numbers too large for a format round to, if not to infinity. */
static bool all_fit(const rounding *to, fitting most)
{
    enum { BEYOND_HALF = (127 + 16) << 23, BEYOND = (127 + 128) << 23 };
    return !_mm512_cmpge_epu32_mask(most, _mm512_set1_epi32(to->half ? BEYOND_HALF : BEYOND));
}

VEC_INLINE void round_sixteens(const bool half, const double *x, int64_t n, float *out,
                               int64_t panel, int64_t ahead, fitting *most)
{
    fitting seen = *most;
    int64_t i = 0;
    for (; i + FLOATS <= n; i += FLOATS) {
        __builtin_prefetch(x + i + ahead);
        __builtin_prefetch(x + i + ahead + VEC_WIDTH);
        const __m512i rounded = round_whole(half, x + i);
        seen = _mm512_max_epu32(seen, magnitude(rounded));
        _mm512_storeu_si512(out + i / COLUMNS * panel + i % COLUMNS, rounded);
    }
    if (i < n) {
        const __m512i rounded = round_partial(half, x + i, n - i);
        seen = _mm512_max_epu32(seen, magnitude(rounded));
        _mm512_mask_storeu_epi32(out + i / COLUMNS * panel + i % COLUMNS,
                                 (__mmask16)((1 << (n - i)) - 1), rounded);
    }
    *most = seen;
}

/*
 * Of what is read `ahead` elements further on, the lines are fetched: the next rows of a block of columns are no
 * neighbours, and processors wait for them.
 */
static __attribute__((noinline)) void round_run(const rounding *to, const double *x, int64_t n,
                                                float *out, int64_t panel, int64_t ahead,
                                                fitting *most)
{
    if (to->half)
        round_sixteens(true, x, n, out, panel, ahead, most);
    else
        round_sixteens(false, x, n, out, panel, ahead, most);
}
#else
/*
 * Adding 1.5 * 2^(52 + e), where 2^e is the format's unit at x, leaves no room for anything below that
 * unit: the processor's own rounding, to nearest with ties to even, does the work; the same number taken
 * off again is exact. Below the smallest normal number the unit is the subnormal's.
 */
typedef struct rounding {
    vec_int least, shift;
    vec largest;
} rounding;

VEC_INLINE rounding rounding_to(const hm_reduced_format *format)
{
    return (rounding){.least = vec_int_of(format->least + 1023),
                      .shift = vec_int_of(53 - format->precision),
                      .largest = vec_of(format->largest)};
}

VEC_INLINE vec round_lanes(const rounding *to, vec x, vec_mask *fits)
{
    const vec_int exponent_bits = vec_shift_right_logical(vec_bits(vec_abs(x)), 52);
    const vec_int exponent =
        vec_int_select(vec_int_greater(to->least, exponent_bits), to->least, exponent_bits);
    const vec magic = vec_from_bits(((exponent + to->shift) << 52) | vec_int_of((int64_t)1 << 51));
    const vec rounded = vec_abs((x + magic) - magic);
    *fits = vec_mask_and(*fits, vec_less_equal(rounded, to->largest));
    return vec_copy_sign(rounded, x);
}

typedef vec_mask fitting; /* lanes that always were */

static fitting nothing_yet(void) { return vec_equal(vec_of(0.0), vec_of(0.0)); }

static bool all_fit(const rounding *to, fitting lanes)
{
    (void)to;
    return vec_mask_all(lanes);
}

static __attribute__((noinline)) void round_run(const rounding *to, const double *x, int64_t n,
                                                float *out, int64_t panel, int64_t ahead,
                                                fitting *fits)
{
    (void)ahead;
    for (int64_t i = 0; i < n; i += VEC_WIDTH) {
        float *at = out + i / COLUMNS * panel + i % COLUMNS;
        if (n - i >= VEC_WIDTH) {
            vec_store_floats(at, round_lanes(to, vec_load(x + i), fits));
            continue;
        }
        float last[VEC_WIDTH];
        const size_t lanes = (size_t)(n - i);
        vec_store_floats(last, round_lanes(to, vec_load_partial(x + i, lanes), fits));
        __builtin_memcpy(at, last, lanes * sizeof *last);
    }
}
#endif

static bool round_row(const hm_reduced_format *format, const double *x, int64_t n, float *out)
{
    const rounding to = rounding_to(format);
    fitting fits = nothing_yet();
    round_run(&to, x, n, out, COLUMNS, 0, &fits);
    return all_fit(&to, fits);
}

/* Row after row. Tiles have an even number of them, or one: the last is there twice where it has to be. */
static bool pack_left(const hm_reduced_format *format, int64_t rows, int64_t depth,
                      const double *left, int64_t stride, float *sliver)
{
    const rounding to = rounding_to(format);
    fitting fits = nothing_yet();
    for (int64_t i = 0; i < rows + (rows > 1 && rows % 2); i++)
        round_run(&to, left + (i < rows ? i : rows - 1) * stride, depth,
                  sliver + i * (depth + HM_SLIVER_GAP), COLUMNS, 0, &fits);
    return all_fit(&to, fits);
}

/* A few panels at a time: long runs of the operand are read, and not too many places written to. */
static bool pack_right(const hm_reduced_format *format, int64_t depth, int64_t columns,
                       const double *right, int64_t stride, float *panels, int64_t panel)
{
    enum { SOME = 4 * COLUMNS, AHEAD = 4 };
    const rounding to = rounding_to(format);
    fitting fits = nothing_yet();
    for (int64_t j = 0; j < columns; j += SOME)
        for (int64_t k = 0; k < depth; k++)
            round_run(&to, right + k * stride + j, columns - j < SOME ? columns - j : SOME,
                      panels + j / COLUMNS * panel + k * COLUMNS, panel, AHEAD * stride, &fits);
    const int64_t last = columns % COLUMNS;
    float *zeros = panels + columns / COLUMNS * panel + last;
    for (int64_t k = 0; last && k < depth; k++)
        __builtin_memset(zeros + k * COLUMNS, 0, (size_t)(COLUMNS - last) * sizeof *zeros);
    return all_fit(&to, fits);
}
#endif

/* ------------------------------------------------- the tile */

VEC_INLINE floats load_floats(const float *p)
{
    floats v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

VEC_INLINE void store_floats(float *p, floats v) { __builtin_memcpy(p, &v, sizeof v); }

/* A number, or a word of two, in every lane. */
VEC_INLINE floats broadcast(const float *p)
{
#if defined(__AVX512F__)
    int32_t word;
    __builtin_memcpy(&word, p, sizeof word);
    return (floats)_mm512_set1_epi32(word);
#else
    return *p - (floats){0};
#endif
}

/* Sums of a whole tile that wait to become results. */
typedef struct sums_of_tile {
    int64_t rows;
    const float *sums;
    double *out;
    int64_t out_stride;
} sums_of_tile;

/* -0 becomes +0, which an unfinished chain may do as well. 0 * x is NaN where x is infinite or NaN. */
VEC_INLINE void widen_row(const sums_of_tile *t, int64_t row, vec *poison)
{
    UNROLL (j, 0, COLUMNS / VEC_WIDTH) {
        const vec x = vec_load_floats(t->sums + row * COLUMNS + j * VEC_WIDTH) + vec_of(0.0);
        *poison = vec_fma(x, vec_of(0.0), *poison);
        vec_store(t->out + row * t->out_stride + j * VEC_WIDTH, x);
    }
}

/*
 * `count` more steps of all chains. `left` is every third row, as x86 reaches the next two from there at no
 * cost. The panel comes from L2 at best: its lines are asked for AHEAD of their use.
 */
VEC_INLINE void steps_of(const int rows, int64_t count, floats acc[ROWS][VECTORS],
                         const float *left[5], int64_t row_size, const float **right)
{
    enum { AHEAD = 12 * COLUMNS };
    const float *panel = *right;
    for (int64_t k = 0; k < count; k++) {
        floats x[VECTORS];
        UNROLL (v, 0, VECTORS) {
            x[v] = load_floats(panel + v * FLOATS);
            __builtin_prefetch(panel + AHEAD + v * FLOATS);
        }
        UNROLL (i, 0, rows) {
            const floats a = broadcast(left[i / 3] + i % 3 * row_size);
            UNROLL (v, 0, VECTORS) {
                acc[i][v] = fused(a, x[v], acc[i][v]);
            }
        }
        UNROLL (i, 0, (rows + 2) / 3) {
            left[i]++;
        }
        panel += COLUMNS;
    }
    *right = panel;
}

/*
 * Results are twice the size of sums, and storing them in one go would wait for the caches. So the tile
 * before this one is finished, row by row, between the first steps of this one, and the lines that this
 * one's results go to are fetched for the next. `before` may be NULL.
 */
VEC_INLINE bool tile_of(const int rows, int64_t depth, const float *sliver, const float *panel,
                        bool first, float *sums, const sums_of_tile *before, const double *out,
                        int64_t out_stride)
{
    enum { LINE = 8, STEPS = 4 };
    floats acc[ROWS][VECTORS];
    UNROLL (i, 0, rows) {
        UNROLL (v, 0, VECTORS) {
            acc[i][v] = first ? (floats){0} : load_floats(sums + i * COLUMNS + v * FLOATS);
        }
    }
    const int64_t row_size = depth + HM_SLIVER_GAP;
    const int64_t each = depth < STEPS * rows ? depth / rows : STEPS;
    const float *left[5];
    UNROLL (i, 0, (rows + 2) / 3) {
        left[i] = sliver + 3 * i * row_size;
    }
    vec poison = vec_of(0.0);
    for (int64_t row = 0; row < rows; row++) {
        steps_of(rows, each, acc, left, row_size, &panel);
        UNROLL (j, 0, COLUMNS / LINE) {
            __builtin_prefetch(out + j * LINE, 1);
        }
        out += out_stride;
        if (before && row < before->rows)
            widen_row(before, row, &poison);
    }
    steps_of(rows, depth - rows * each, acc, left, row_size, &panel);
    UNROLL (i, 0, rows) {
        UNROLL (v, 0, VECTORS) {
            store_floats(sums + i * COLUMNS + v * FLOATS, acc[i][v]);
        }
    }
    return !vec_mask_any(vec_is_nan(poison));
}

#define TILE(n) \
    static __attribute__((noinline)) bool tile_##n( \
        int64_t depth, const float *sliver, const float *panel, bool first, float *sums, \
        const sums_of_tile *before, const double *out, int64_t out_stride) \
    { \
        return tile_of(n, depth, sliver, panel, first, sums, before, out, out_stride); \
    }
TILE(1)
TILE(2)
TILE(4)
#if defined(__AVX2__)
TILE(6)
#endif
#if defined(__AVX512F__)
TILE(8)
TILE(10)
TILE(12)
TILE(14)
#endif
#undef TILE

/* By half the number of rows. */
static bool (*const tiles[ROWS / 2 + 1])(int64_t, const float *, const float *, bool, float *,
                                         const sums_of_tile *, const double *, int64_t) = {
    tile_1, tile_2,  tile_4,
#if defined(__AVX2__)
    tile_6,
#endif
#if defined(__AVX512F__)
    tile_8, tile_10, tile_12, tile_14,
#endif
};

/* What the chains stand at. */
static void load_sums(int64_t rows, int64_t columns, const double *out, int64_t out_stride,
                      float *sums)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
            const size_t lanes = (size_t)(columns - j < VEC_WIDTH ? columns - j : VEC_WIDTH);
            vec_store_floats(sums + i * COLUMNS + j,
                             vec_load_partial(out + i * out_stride + j, lanes));
        }
}

/* False where one of them is infinite or NaN. */
static bool store_sums(int64_t rows, int64_t columns, const float *sums, double *out,
                       int64_t out_stride)
{
    vec poison = vec_of(0.0);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
            const size_t lanes = (size_t)(columns - j < VEC_WIDTH ? columns - j : VEC_WIDTH);
            vec x = vec_load_floats(sums + i * COLUMNS + j) + vec_of(0.0);
            if (lanes < VEC_WIDTH)
                x = vec_load_partial((const double *)&x, lanes);
            poison = vec_fma(x, vec_of(0.0), poison);
            vec_store_partial(out + i * out_stride + j, lanes, x);
        }
    return !vec_mask_any(vec_is_nan(poison));
}

static bool multiply(int64_t rows, int64_t columns, int64_t depth, const float *sliver,
                     const float *panels, int64_t panel, bool first, double *out,
                     int64_t out_stride)
{
    bool (*const tile)(int64_t, const float *, const float *, bool, float *, const sums_of_tile *,
                       const double *, int64_t) = tiles[rows == 1 ? 0 : (rows + 1) / 2];
    const int64_t words = (depth + STEP - 1) / STEP;
    float sums[2][ROWS * COLUMNS];
    sums_of_tile before;
    bool finite = true, waiting = false;
    for (int64_t j = 0; j < columns; j += COLUMNS, panels += panel, out += COLUMNS) {
        float *these = sums[j / COLUMNS % 2];
        const int64_t count = columns - j < COLUMNS ? columns - j : COLUMNS;
        if (!first) {
            if (count < COLUMNS || rows % 2) /* what is no result is not to be infinite */
                __builtin_memset(these, 0, sizeof sums[0]);
            load_sums(rows, count, out, out_stride, these);
        }
        finite &=
            tile(words, sliver, panels, first, these, waiting ? &before : NULL, out, out_stride);
        waiting = count == COLUMNS;
        if (waiting)
            before = (sums_of_tile){rows, these, out, out_stride};
        else
            finite &= store_sums(rows, count, these, out, out_stride);
    }
    if (waiting)
        finite &= store_sums(rows, COLUMNS, before.sums, before.out, out_stride);
    return finite;
}

extern const hm_reduced_kernels HM_K(reduced);
const hm_reduced_kernels HM_K(reduced) = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .step = STEP,
#if defined(__AVX512BF16__)
    .proved = proved,
#else
    .round = round_row,
#endif
    .pack_left = pack_left,
    .pack_right = pack_right,
    .multiply = multiply,
};
