/*
 * Sixteen-bit rounding and products of every instruction set.
 *
 * Rounding is tested at every finite number of both formats, built from its bits, at the midpoint to its
 * neighbour, and one double to each side of that midpoint: what comes out is told by the definition of
 * nearest, ties to even, not by another rounding.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "hmath.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
extern const hm_reduced_kernels hm_k_reduced_avx512bf16;
#endif

static const hm_reduced_format half = {.precision = 11, .least = -14, .largest = 65504};
static const hm_reduced_format bfloat = {.precision = 8, .least = -126, .largest = 0x1.fep127};

/* The non-negative number with these bits in a format of `fraction_bits` and a bias. */
static double from_bits(uint32_t bits, int fraction_bits, int bias)
{
    const uint32_t exponent = bits >> fraction_bits, fraction = bits & ((1u << fraction_bits) - 1);
    if (exponent == 0)
        return ldexp(fraction, 1 - bias - fraction_bits);
    return ldexp(fraction + (1u << fraction_bits), (int)exponent - bias - fraction_bits);
}

static void check_round(const hm_reduced_kernels *k, const hm_reduced_format *format, double x,
                        double wanted)
{
    /* in every lane, and with both signs */
    double in[37];
    float out[37];
    for (int i = 0; i < 37; i++)
        in[i] = i & 1 ? -x : x;
    CHECK(k->round(format, in, 37, out));
    int bad = 0;
    for (int i = 0; i < 37; i++)
        bad += !same_bits(out[i], i & 1 ? -wanted : wanted);
    if (bad)
        printf("x = %a: got %a, wanted %a: ", x, out[0], wanted);
    CHECK_INT(bad, 0);
}

static void test_every_number(const hm_reduced_kernels *k, const hm_reduced_format *format,
                              int fraction_bits, int bias, uint32_t finite)
{
    for (uint32_t bits = 0; bits < finite; bits++) {
        const double here = from_bits(bits, fraction_bits, bias);
        check_round(k, format, here, here);
        if (bits + 1 == finite)
            break;
        const double next = from_bits(bits + 1, fraction_bits, bias),
                     middle = here + (next - here) / 2;
        check_round(k, format, middle, bits & 1 ? next : here);
        check_round(k, format, nextafter(middle, 0), here);
        check_round(k, format, nextafter(middle, INFINITY), next);
    }
}

static void check_overflow(const hm_reduced_kernels *k, const hm_reduced_format *format,
                           double limit)
{
    /* the limit is half a unit above the largest number, and a tie goes to the even infinity */
    double in[19] = {0};
    float out[19];
    for (int place = 0; place < 19; place++) {
        const double beyond[] = {limit,   -limit,  nextafter(limit, INFINITY), DBL_MAX, -DBL_MAX,
                                 0x1p500, 0x1p1010};
        for (int which = 0; which < 7; which++) {
            in[place] = beyond[which];
            CHECK(!k->round(format, in, 19, out));
        }
        in[place] = nextafter(limit, 0);
        CHECK(k->round(format, in, 19, out));
        CHECK_BITS(out[place], format->largest);
        in[place] = 0;
    }
    check_round(k, format, DBL_MIN, 0.0);
    check_round(k, format, 0x1p-1074, 0.0);
    check_round(k, format, 0.0, 0.0);
}

static double random_double(void)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53 - 0.5;
}

/* C's fmaf rounds once by definition; the chains start at +0 and go on across a block. */
static void check_product(const hm_reduced_kernels *k, const hm_reduced_kernels *plain,
                          int64_t rows, int64_t columns, int64_t depth, double scale)
{
    const hm_reduced_format *format = k->step == 2 ? &bfloat : &half;
    const int64_t r = k->tile_rows, c = k->tile_columns, cut = depth / 3 / k->step * k->step;
    const int64_t panels = (columns + c - 1) / c, panel = c * depth + c + 5; /* 5: a gap */
    double *left = malloc(sizeof(double) * (size_t)(rows * depth)),
           *right = malloc(sizeof(double) * (size_t)(depth * columns));
    float *sliver = malloc(sizeof(float) * (size_t)(r * (depth + HM_SLIVER_GAP))),
          *packed = malloc(sizeof(float) * (size_t)(panels * panel));
    double *out = malloc(sizeof(double) * (size_t)(rows * (columns + 2)));
    float *a = malloc(sizeof(float) * (size_t)(rows * depth)),
          *b = malloc(sizeof(float) * (size_t)(depth * columns));
    for (int64_t i = 0; i < rows * depth; i++)
        left[i] = random_double() * scale;
    for (int64_t i = 0; i < depth * columns; i++)
        right[i] = random_double() * scale;
    CHECK(plain->round(format, left, rows * depth, a));
    CHECK(plain->round(format, right, depth * columns, b));
    for (int64_t i = 0; i < rows * (columns + 2); i++)
        out[i] = 77;
    for (int64_t first = 0; first < depth; first += first ? depth : cut ? cut : depth) {
        const int64_t n = first || !cut ? depth - first : cut;
        CHECK(k->pack_left(format, rows, n, left + first, depth, sliver));
        CHECK(k->pack_right(format, n, columns, right + first * columns, columns, packed, panel));
        CHECK(k->multiply(rows, columns, n, sliver, packed, panel, first == 0, out, columns + 2));
    }
    int bad = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            float acc = 0;
            for (int64_t d = 0; d < depth; d++)
                acc = fmaf(a[i * depth + d], b[d * columns + j], acc);
            bad += !same_bits(out[i * (columns + 2) + j], acc);
        }
        bad += out[i * (columns + 2) + columns] != 77;
    }
    CHECK_INT(bad, 0);
    free(left);
    free(right);
    free(sliver);
    free(packed);
    free(out);
    free(a);
    free(b);
}

static void test_products(const hm_reduced_kernels *k, const hm_reduced_kernels *plain)
{
    const int64_t c = k->tile_columns;
    for (int64_t rows = 1; rows <= k->tile_rows; rows++)
        for (int64_t depth = 1; depth < 30; depth += rows % 2 ? 4 : 3) {
            check_product(k, plain, rows, 1 + (rows * 5 + depth) % c, depth, 1.0);
            check_product(k, plain, rows, 2 * c + (rows * 5 + depth) % c, depth, 1.0);
        }
    check_product(k, plain, k->tile_rows, 6 * c + 1, 3, 1.0);
    check_product(k, plain, k->tile_rows, c, 512, 300.0);
    check_product(k, plain, k->tile_rows, c, 513, 0x1p-30);
    if (k ==
        plain) /* products that are subnormal in binary32, where rounding to odd has to hold as well */
        check_product(k, plain, k->tile_rows, c, 64, 0x1p-24);
}

/*
 * Pairs are for numbers from 2^-56 on and below 2^63, and zeros. At that end products and sums are as small as
 * they can be without being subnormal, and have to be exact; what is off either end is told, wherever it
 * stands.
 */
static void test_moderation(const hm_reduced_kernels *k)
{
    enum { DEPTH = 35, MOST = 3 * 32 };
    static double x[MOST * DEPTH];
    float sliver[14 * (DEPTH + HM_SLIVER_GAP)];
    static float packed[3 * 32 * (DEPTH + 1)];
    const double good[] = {0.0, -0.0, 0x1p-56, -0x1.fep62, 0x1p-200};
    const double bad[] = {0x1.fcp-57, -0x1p63, 0x1p-120, DBL_MAX, 0x1p-130};
    const int64_t columns = 2 * k->tile_columns + 3;
    for (int which = 0; which < 5; which++) {
        for (int64_t place = 0; place < columns * DEPTH; place += which ? 7 : 1) {
            x[place] = good[which];
            CHECK(k->pack_right(&bfloat, DEPTH, columns, x, columns, packed, 32 * 18));
            x[place] = bad[which];
            CHECK(!k->pack_right(&bfloat, DEPTH, columns, x, columns, packed, 32 * 18));
            x[place] = 0;
        }
        for (int64_t place = 0; place < 13 * DEPTH; place++) {
            x[place] = good[which];
            CHECK(k->pack_left(&bfloat, 13, DEPTH, x, DEPTH, sliver));
            x[place] = bad[which];
            CHECK(!k->pack_left(&bfloat, 13, DEPTH, x, DEPTH, sliver));
            x[place] = 0;
        }
    }
    const double left[] = {0x1p-56, 0x1.02p-56, 0x1p-56}, right[] = {0x1.02p-56, -0x1p-56, 0x1p-56};
    double out = 77;
    CHECK(k->pack_left(&bfloat, 1, 3, left, 3, sliver));
    CHECK(k->pack_right(&bfloat, 3, 1, right, 1, packed, 32 * 2));
    CHECK(k->multiply(1, 1, 2, sliver, packed, 32 * 2, true, &out, 1));
    CHECK_BITS(out, 0.0);
    CHECK(k->multiply(1, 1, 3, sliver, packed, 32 * 2, true, &out, 1));
    CHECK_BITS(out, 0x1p-112);
    CHECK(k->proved());
}

/* Sums that meet every case of a fused multiply-add: ties, cancellation, the ends of the range. */
static void test_hard_sums(const hm_reduced_kernels *k)
{
    const double big = 65504, tiny = 0x1p-24;
    const double factors[][2] = {{big, big},           {tiny, tiny}, {1.0009765625, 1.0009765625},
                                 {-big, tiny},         {1.5, 1.5},   {0x1p-14, 0x1p-14},
                                 {-1.0009765625, 1.0}, {3, tiny}};
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++)
            for (int c = 0; c < 8; c++) {
                const double left[] = {factors[a][0], factors[b][0], factors[c][0]};
                const double right[] = {factors[a][1], factors[b][1], factors[c][1]};
                float sliver[14 * (3 + HM_SLIVER_GAP)], panel[32 * 3];
                double out = 77;
                float wanted = 0;
                CHECK(k->pack_left(&half, 1, 3, left, 3, sliver));
                CHECK(k->pack_right(&half, 3, 1, right, 1, panel, 0));
                CHECK(k->multiply(1, 1, 3, sliver, panel, 0, true, &out, 1));
                for (int i = 0; i < 3; i++)
                    wanted = fmaf((float)left[i], (float)right[i], wanted);
                CHECK_BITS(out, wanted);
            }
}

/* A product below all subnormal numbers rounds to -0, which is +0 when it is finished. */
static void test_no_negative_zero(const hm_reduced_kernels *k)
{
    enum { MOST = 3 * 32 };
    const int64_t c = k->tile_columns, columns = 2 * c + 1;
    const double left[] = {0x1p-100};
    double right[MOST], out[MOST];
    float sliver[14 * (1 + HM_SLIVER_GAP)], packed[MOST];
    for (int64_t j = 0; j < columns; j++)
        right[j] = -0x1p-100;
    CHECK(k->pack_left(&bfloat, 1, 1, left, 1, sliver));
    CHECK(k->pack_right(&bfloat, 1, columns, right, columns, packed, c));
    CHECK(k->multiply(1, columns, 1, sliver, packed, c, true, out, columns));
    for (int64_t j = 0; j < columns; j++)
        CHECK_BITS(out[j], 0.0);
}

/* Wherever it is: in a panel whose results wait for the next one, in the last, in part of a panel. */
static void test_infinite_chain_is_told(const hm_reduced_kernels *k, double huge)
{
    enum { MOST = 3 * 32, DEPTH = 12 };
    const int64_t c = k->tile_columns, panel = c * DEPTH;
    double left[DEPTH], right[DEPTH * MOST], out[MOST];
    float sliver[14 * (DEPTH + HM_SLIVER_GAP)], packed[DEPTH * MOST];
    for (int d = 0; d < DEPTH; d++)
        left[d] = huge;
    for (int64_t columns = 2 * c; columns <= 3 * c; columns += c / 2)
        for (int64_t place = 0; place < columns; place++) {
            for (int64_t j = 0; j < DEPTH * columns; j++)
                right[j] = 1.0;
            CHECK(k->pack_left(&bfloat, 1, DEPTH, left, DEPTH, sliver));
            CHECK(k->pack_right(&bfloat, DEPTH, columns, right, columns, packed, panel));
            CHECK(k->multiply(1, columns, DEPTH, sliver, packed, panel, true, out, columns));
            for (int64_t d = 0; d < DEPTH; d++)
                right[d * columns + place] = huge;
            CHECK(k->pack_right(&bfloat, DEPTH, columns, right, columns, packed, panel));
            CHECK(!k->multiply(1, columns, DEPTH, sliver, packed, panel, true, out, columns));
        }
}

int main(void)
{
    for (int32_t isa = HMATH_ISA_BASELINE; isa <= HMATH_ISA_NEON; isa++) {
        const hm_kernels *table = hm_kernels_for(isa);
        if (!table)
            continue;
        printf("%s\n", table->name);
        const hm_reduced_kernels *k = table->reduced;
        test_every_number(k, &half, 10, 15, 31u << 10);
        test_every_number(k, &bfloat, 7, 127, 255u << 7);
        check_overflow(k, &half, 65520);
        check_overflow(k, &bfloat, 0x1.ffp127);
        test_products(k, k);
        test_hard_sums(k);
        test_no_negative_zero(k);
        test_infinite_chain_is_told(k, 0x1p120);
#if defined(__x86_64__) /* also where other kernels are quicker and no table has these */
        if (isa == HMATH_ISA_AVX512 && hm_cpu_has_avx512_bf16()) {
            printf("%s, pairs\n", table->name);
            test_products(&hm_k_reduced_avx512bf16, k);
            test_moderation(&hm_k_reduced_avx512bf16);
            test_infinite_chain_is_told(&hm_k_reduced_avx512bf16, 0x1.fep62);
        }
#endif
    }
    return check_report();
}
