/* Sixteen-bit products: rounding on the way into the panels, then a binary32 tile. */
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

typedef float floats __attribute__((vector_size(4 * FLOATS)));

/* ------------------------------------------------- fused multiply-add in binary32 */

#if defined(__FMA__) || defined(__aarch64__)
VEC_INLINE floats fused(floats a, floats b, floats c)
{
#if defined(__AVX512F__)
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

static vec_mask all_lanes(void) { return vec_equal(vec_of(0.0), vec_of(0.0)); }

VEC_INLINE void round_into(const rounding *to, const double *x, int64_t n, float *out,
                           vec_mask *fits)
{
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH)
        vec_store_floats(out + i, round_lanes(to, vec_load(x + i), fits));
    if (i < n) {
        float last[VEC_WIDTH];
        const size_t lanes = (size_t)(n - i);
        vec_store_floats(last, round_lanes(to, vec_load_partial(x + i, lanes), fits));
        __builtin_memcpy(out + i, last, lanes * sizeof *last);
    }
}

static bool round_row(const hm_reduced_format *format, const double *x, int64_t n, float *out)
{
    const rounding to = rounding_to(format);
    vec_mask fits = all_lanes();
    round_into(&to, x, n, out, &fits);
    return vec_mask_all(fits);
}

/* A row at a time into a strip that stays in the nearest cache, then turned. */
static bool pack_left(const hm_reduced_format *format, int64_t rows, int64_t depth,
                      const double *left, int64_t stride, float *sliver)
{
    enum { STRIP = 64 };
    float strip[ROWS][STRIP];
    const rounding to = rounding_to(format);
    vec_mask fits = all_lanes();
    for (int64_t k = 0; k < depth; k += STRIP) {
        const int64_t n = depth - k < STRIP ? depth - k : STRIP;
        for (int64_t i = 0; i < rows; i++)
            round_into(&to, left + i * stride + k, n, strip[i], &fits);
        for (int64_t s = 0; s < n; s++)
            for (int64_t i = 0; i < rows; i++)
                sliver[(k + s) * ROWS + i] = strip[i][s];
    }
    return vec_mask_all(fits);
}

static bool pack_right(const hm_reduced_format *format, int64_t depth, int64_t columns,
                       const double *right, int64_t stride, float *panel)
{
    const rounding to = rounding_to(format);
    vec_mask fits = all_lanes();
    for (int64_t k = 0; k < depth; k++) {
        if (columns == COLUMNS) /* a constant, for the loop in it to unroll */
            round_into(&to, right + k * stride, COLUMNS, panel + k * COLUMNS, &fits);
        else
            round_into(&to, right + k * stride, columns, panel + k * COLUMNS, &fits);
        for (int64_t j = columns; j < COLUMNS; j++)
            panel[k * COLUMNS + j] = 0;
    }
    return vec_mask_all(fits);
}

/* ------------------------------------------------- the tile */

VEC_INLINE floats load_floats(const float *p)
{
    floats v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

VEC_INLINE void store_floats(float *p, floats v) { __builtin_memcpy(p, &v, sizeof v); }

VEC_INLINE floats broadcast(float x) { return x - (floats){0}; }

VEC_INLINE void tile_of(const int rows, int64_t depth, const float *sliver, const float *panel,
                        float *sums)
{
    floats acc[ROWS][VECTORS];
    UNROLL (i, 0, rows) {
        UNROLL (v, 0, VECTORS) {
            acc[i][v] = load_floats(sums + i * COLUMNS + v * FLOATS);
        }
    }
    for (int64_t k = 0; k < depth; k++) {
        floats x[VECTORS];
        UNROLL (v, 0, VECTORS) {
            x[v] = load_floats(panel + v * FLOATS);
        }
        UNROLL (i, 0, rows) {
            const floats a = broadcast(sliver[i]);
            UNROLL (v, 0, VECTORS) {
                acc[i][v] = fused(a, x[v], acc[i][v]);
            }
        }
        sliver += ROWS;
        panel += COLUMNS;
    }
    UNROLL (i, 0, rows) {
        UNROLL (v, 0, VECTORS) {
            store_floats(sums + i * COLUMNS + v * FLOATS, acc[i][v]);
        }
    }
}

#define TILE(n) \
    static __attribute__((noinline)) void tile_##n(int64_t depth, const float *sliver, \
                                                   const float *panel, float *sums) \
    { \
        tile_of(n, depth, sliver, panel, sums); \
    }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
#if defined(__AVX2__)
TILE(5)
TILE(6)
#endif
#if defined(__AVX512F__)
TILE(7)
TILE(8)
TILE(9)
TILE(10)
TILE(11)
TILE(12)
TILE(13)
TILE(14)
#endif
#undef TILE

static void (*const tiles[ROWS])(int64_t, const float *, const float *, float *) = {
    tile_1, tile_2, tile_3, tile_4,
#if defined(__AVX2__)
    tile_5, tile_6,
#endif
#if defined(__AVX512F__)
    tile_7, tile_8, tile_9, tile_10, tile_11, tile_12, tile_13, tile_14,
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

/* False where one of them is infinite or NaN: 0 * x is NaN for these, and stays it. */
static bool store_sums(int64_t rows, int64_t columns, const float *sums, double *out,
                       int64_t out_stride)
{
    vec poison = vec_of(0.0);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
            const size_t lanes = (size_t)(columns - j < VEC_WIDTH ? columns - j : VEC_WIDTH);
            vec x = vec_load_floats(sums + i * COLUMNS + j);
            if (lanes < VEC_WIDTH)
                x = vec_load_partial((const double *)&x, lanes);
            poison = vec_fma(x, vec_of(0.0), poison);
            vec_store_partial(out + i * out_stride + j, lanes, x);
        }
    return !vec_mask_any(vec_is_nan(poison));
}

static bool tile(int64_t rows, int64_t columns, int64_t depth, const float *sliver,
                 const float *panel, bool first, double *out, int64_t out_stride)
{
    float sums[ROWS * COLUMNS];
    if (first || columns < COLUMNS)
        __builtin_memset(sums, 0, sizeof sums);
    if (!first)
        load_sums(rows, columns, out, out_stride, sums);
    tiles[rows - 1](depth, sliver, panel, sums);
    return store_sums(rows, columns, sums, out, out_stride);
}

extern const hm_reduced_kernels HM_K(reduced);
const hm_reduced_kernels HM_K(reduced) = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .round = round_row,
    .pack_left = pack_left,
    .pack_right = pack_right,
    .tile = tile,
};
