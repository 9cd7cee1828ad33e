/* Integer products of every instruction set against 64-bit sums; both ends of the range of bytes. */
#include <stdlib.h>

#include "check.h"
#include "hmath.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
extern const hm_int8_kernels hm_k_int8_baseline, hm_k_int8_avx2, hm_k_int8_avx512,
    hm_k_int8_avx2vnni, hm_k_int8_avx512vnni;
#endif

static uint64_t state = 42;

static int8_t random_byte(int extreme)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    int8_t q = (int8_t)(state >> 56);
    return extreme ? (q & 1 ? -128 : 127) : q;
}

static void check_tile(const hm_int8_kernels *k, int64_t rows, int64_t columns, int64_t depth,
                       int extreme)
{
    const int64_t padded = (depth + 3) / 4 * 4, left_stride = depth + 3, right_stride = columns + 5;
    int8_t *left = malloc((size_t)(rows * left_stride)),
           *right = malloc((size_t)(depth * right_stride) + 1);
    void *sliver = malloc(k->left_step * (size_t)padded + (size_t)k->tile_rows * 4);
    void *panel = malloc(k->right_step * (size_t)padded + 1);
    int32_t *sums = malloc(sizeof(int32_t) * (size_t)(k->tile_rows * k->tile_columns));
    for (int64_t i = 0; i < rows * left_stride; i++)
        left[i] = random_byte(extreme);
    for (int64_t i = 0; i < depth * right_stride; i++)
        right[i] = extreme == 2 ? -128 : random_byte(extreme);
    if (extreme == 2)
        memset(left, -128, (size_t)(rows * left_stride));

    k->pack_left(rows, depth, left, left_stride, sliver);
    double totals[64] = {0.5};
    k->pack_right(depth, columns, right, right_stride, panel, totals);
    for (int64_t j = 0; j < columns; j++) {
        double wanted = j == 0 ? 0.5 : 0;
        for (int64_t d = 0; d < depth; d++)
            wanted += right[d * right_stride + j];
        CHECK_BITS(totals[j], wanted);
    }
    k->tile(rows, depth, sliver, panel, sums);
    int bad = 0;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            int64_t sum = 0;
            for (int64_t d = 0; d < depth; d++)
                sum += left[i * left_stride + d] * right[d * right_stride + j];
            bad += sums[i * k->tile_columns + j] != sum;
        }
    CHECK_INT(bad, 0);
    free(left);
    free(right);
    free(sliver);
    free(panel);
    free(sums);
}

static void check_sums(const hm_int8_kernels *k)
{
    int8_t x[7 * 33];
    for (int n = 0; n < 7 * 33; n++) {
        int64_t wanted = 0;
        for (int i = 0; i < n; i++)
            wanted += x[i] = random_byte(0);
        CHECK_INT(k->sum(x, n), wanted);
    }
}

/* No zero points: two rows of sums times their scales, and what stands behind them is left alone. */
static void check_plain_finish(const hm_int8_kernels *k, double row_scale, const double *scales)
{
    int32_t from[2 * 64];
    double out[2 * 64];
    for (int64_t columns = 1; columns <= k->tile_columns && columns <= 19; columns++) {
        const double row_scales[2] = {row_scale, 3};
        const hm_int8_coding plain = {.row_scales = row_scales, .scales = scales, .depth = 7};
        for (int j = 0; j < 2 * 64; j++) {
            from[j] = 1000 * j - 64000;
            out[j] = 0.25;
        }
        const hm_int8_coding by_column = {.scales = scales, .depth = 7};
        CHECK(k->finish(&by_column, 1, columns, from, true, true, out, 64));
        for (int j = 0; j < columns; j++)
            CHECK_BITS(out[j], from[j] * scales[j]);
        CHECK(k->finish(&plain, 2, columns, from, true, true, out, 64));
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 64; j++)
                CHECK_BITS(out[i * 64 + j],
                           j < columns ? from[i * k->tile_columns + j] * scales[j] * row_scales[i]
                                       : 0.25);
    }
}

/* The largest and the smallest 32-bit sums pass, their neighbours do not; in every lane. */
static void check_finish(const hm_int8_kernels *k)
{
    enum { N = 19 };
    double zeros[N], sums[N], scales[N], out[N];
    int32_t from[2 * 64] = {0};
    for (int j = 0; j < N; j++) {
        zeros[j] = j % 3 - 1;
        sums[j] = 10.0 * j;
        scales[j] = 0.5;
    }
    const double row_zero = 2, row_sum = 100, row_scale = 4;
    const hm_int8_coding coding = {.row_zeros = &row_zero,
                                   .row_sums = &row_sum,
                                   .row_scales = &row_scale,
                                   .zeros = zeros,
                                   .sums = sums,
                                   .scales = scales,
                                   .depth = 7};
    for (int place = 0; place < N; place++) {
        const double corrections = -zeros[place] * 100 - 2 * sums[place] + 7 * 2 * zeros[place];
        const double limits[] = {-0x1p31, 0x1p31 - 1, -0x1p31 - 1, 0x1p31};
        for (int which = 0; which < 4; which++) {
            memset(from, 0, sizeof from);
            for (int j = 0; j < N; j++)
                out[j] = 0;
            out[place] = limits[which] - corrections - 5;
            from[place] = 5;
            CHECK(k->finish(&coding, 1, N, from, false, true, out, N) == (which < 2));
            if (which < 2)
                CHECK_BITS(out[place], limits[which] * 4 * 0.5);
        }
    }
    for (int j = 0; j < N; j++)
        from[j] = j - 9;
    CHECK(k->finish(&coding, 1, N, from, true, false, out, N));
    CHECK(k->finish(&coding, 1, N, from, false, false, out, N));
    for (int j = 0; j < N; j++)
        CHECK_BITS(out[j], 2.0 * (j - 9));
    check_plain_finish(k, row_scale, scales);
}

static void test_kernels(const char *name, const hm_int8_kernels *k)
{
    printf("%s\n", name);
    for (int64_t rows = 1; rows <= k->tile_rows; rows++)
        for (int64_t depth = 1; depth < 40; depth++)
            check_tile(k, rows, 1 + (rows * 7 + depth) % k->tile_columns, depth, (int)(depth % 3));
    for (int extreme = 0; extreme < 3; extreme++)
        check_tile(k, k->tile_rows, k->tile_columns, 1024, extreme);
    check_tile(k, 2, k->tile_columns, HM_INT8_DEPTH, 2);
    check_tile(k, 2, k->tile_columns, HM_INT8_DEPTH, 1);
    check_sums(k);
    check_finish(k);
}

int main(void)
{
#if defined(__x86_64__)
    test_kernels("baseline", &hm_k_int8_baseline);
    if (hm_cpu_has_avx2())
        test_kernels("avx2", &hm_k_int8_avx2);
    if (hm_cpu_has_avx_vnni())
        test_kernels("avx2 with VNNI", &hm_k_int8_avx2vnni);
    if (hm_cpu_has_avx512())
        test_kernels("avx512", &hm_k_int8_avx512);
    if (hm_cpu_has_avx512_vnni())
        test_kernels("avx512 with VNNI", &hm_k_int8_avx512vnni);
#else
    const hm_kernels *table = hm_kernels_default();
    test_kernels(table->name, table->int8);
#endif
    return check_report();
}
