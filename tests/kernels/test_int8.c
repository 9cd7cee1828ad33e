/* Integer products of every instruction set against 64-bit sums; both ends of the range of bytes. */
#include <stdlib.h>

#include "check.h"
#include "hmath.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
extern const hm_int8_kernels hm_k_int8_baseline, hm_k_int8_avx2, hm_k_int8_avx512,
    hm_k_int8_avx2vnni, hm_k_int8_avx512vnni;
#if defined(HM_AMX)
extern const hm_int8_kernels hm_k_int8_amx;
#endif
#endif

enum { MOST_ROWS = 32, MOST_COLUMNS = 32, MOST_UNIT = 64 };

static uint64_t state = 42;

static int8_t random_byte(int extreme)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    int8_t q = (int8_t)(state >> 56);
    return extreme ? (q & 1 ? -128 : 127) : q;
}

/* A product of whole and partial panels, with scales of 1: the exact sums. */
static void check_product(const hm_int8_kernels *k, int64_t rows, int64_t columns, int64_t depth,
                          int extreme)
{
    const int64_t padded = (depth + k->unit - 1) / k->unit * k->unit, left_stride = depth + 3,
                  right_stride = columns + 5;
    const int64_t panels = (columns + k->tile_columns - 1) / k->tile_columns;
    const size_t panel = k->right_step * (size_t)padded + 64; /* a gap */
    int8_t *left = malloc((size_t)(rows * left_stride)),
           *right = malloc((size_t)(depth * right_stride) + 1);
    void *sliver = malloc(k->left_step * (size_t)padded + k->left_head);
    void *packed = malloc((size_t)panels * panel);
    double *totals = malloc(sizeof(double) * (size_t)columns),
           *scales = malloc(sizeof(double) * (size_t)columns),
           *out = malloc(sizeof(double) * (size_t)(rows * right_stride));
    for (int64_t i = 0; i < rows * left_stride; i++)
        left[i] = random_byte(extreme);
    for (int64_t i = 0; i < depth * right_stride; i++)
        right[i] = extreme == 2 ? -128 : random_byte(extreme);
    if (extreme == 2)
        memset(left, -128, (size_t)(rows * left_stride));
    for (int64_t j = 0; j < columns; j++) {
        totals[j] = 0.5;
        scales[j] = 1;
    }
    for (int64_t i = 0; i < rows * right_stride; i++)
        out[i] = 0.25;

    k->pack_left(rows, depth, left, left_stride, sliver);
    k->pack_right(depth, columns, right, right_stride, packed, panel, totals);
    const hm_int8_coding coding = {.scales = scales};
    CHECK(k->multiply(&coding, rows, columns, depth, sliver, packed, panel, true, true, out,
                      right_stride));
    int bad = 0;
    for (int64_t j = 0; j < right_stride; j++) {
        double wanted = 0.5;
        for (int64_t d = 0; j < columns && d < depth; d++)
            wanted += right[d * right_stride + j];
        bad += j < columns && totals[j] != wanted;
        for (int64_t i = 0; i < rows; i++) {
            int64_t sum = 0;
            for (int64_t d = 0; j < columns && d < depth; d++)
                sum += left[i * left_stride + d] * right[d * right_stride + j];
            bad += out[i * right_stride + j] != (j < columns ? (double)sum : 0.25);
        }
    }
    CHECK_INT(bad, 0);
    free(left);
    free(right);
    free(sliver);
    free(packed);
    free(totals);
    free(scales);
    free(out);
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

/*
 * Products of one step of depth are whatever the test wants: the left operand is a column of ones, the
 * right one the sums.
 */
typedef struct one_step {
    const hm_int8_kernels *kernels;
    int64_t rows, columns;
    _Alignas(64) char sliver[MOST_ROWS * (MOST_UNIT + sizeof(int32_t))];
    _Alignas(64) char packed[4 * MOST_COLUMNS * MOST_UNIT];
} one_step;

static size_t panel_bytes(const hm_int8_kernels *k) { return k->right_step * (size_t)k->unit; }

static void set_up(one_step *s, const hm_int8_kernels *k, int64_t rows, int64_t columns,
                   const int8_t *right)
{
    int8_t ones[MOST_ROWS];
    memset(ones, 1, sizeof ones);
    s->kernels = k;
    s->rows = rows;
    s->columns = columns;
    k->pack_left(rows, 1, ones, 1, s->sliver);
    k->pack_right(1, columns, right, columns, s->packed, panel_bytes(k), NULL);
}

static bool run_step(const one_step *s, const hm_int8_coding *coding, bool first, bool last,
                     double *out, int64_t stride)
{
    return s->kernels->multiply(coding, s->rows, s->columns, 1, s->sliver, s->packed,
                                panel_bytes(s->kernels), first, last, out, stride);
}

/* No zero points: sums times their scales, and what stands beside them is left alone. */
static void check_scales(const hm_int8_kernels *k)
{
    enum { STRIDE = 128 };
    const int64_t c = k->tile_columns;
    double scales[STRIDE], row_scales[MOST_ROWS], out[MOST_ROWS * STRIDE];
    int8_t right[STRIDE];
    for (int j = 0; j < STRIDE; j++) {
        scales[j] = 1.0 / (3 + j);
        right[j] = (int8_t)(2 * j - 128);
    }
    for (int i = 0; i < MOST_ROWS; i++)
        row_scales[i] = 0.1 * (i + 1);
    for (int64_t rows = 1; rows <= k->tile_rows; rows++)
        for (int64_t columns = 1; columns <= 3 * c + 1; columns += rows == 1 ? 1 : c / 2) {
            one_step step;
            set_up(&step, k, rows, columns, right);
            for (int by_row = 0; by_row < 2; by_row++) {
                const hm_int8_coding coding = {.scales = scales,
                                               .row_scales = by_row ? row_scales : NULL};
                int bad = 0;
                for (int j = 0; j < MOST_ROWS * STRIDE; j++)
                    out[j] = 0.25;
                CHECK(run_step(&step, &coding, true, true, out, STRIDE));
                for (int64_t i = 0; i < rows; i++)
                    for (int64_t j = 0; j < STRIDE; j++) {
                        double wanted = right[j] * scales[j];
                        if (by_row)
                            wanted *= row_scales[i];
                        bad += !same_bits(out[i * STRIDE + j], j < columns ? wanted : 0.25);
                    }
                CHECK_INT(bad, 0);
            }
        }
}

/* The largest and the smallest 32-bit sums pass, their neighbours do not; in every column. */
static void check_limits(const hm_int8_kernels *k)
{
    enum { N = 2 * 32 + 19 };
    double zeros[N], sums[N], scales[N], out[2 * N];
    int8_t right[N] = {0};
    for (int j = 0; j < N; j++) {
        zeros[j] = j % 3 - 1;
        sums[j] = 10.0 * j;
        scales[j] = 0.5;
    }
    const double row_zeros[] = {2, 2}, row_sums[] = {100, 100}, row_scales[] = {4, 4};
    const hm_int8_coding coding = {.row_zeros = row_zeros,
                                   .row_sums = row_sums,
                                   .row_scales = row_scales,
                                   .zeros = zeros,
                                   .sums = sums,
                                   .scales = scales,
                                   .depth = 7};
    one_step step;
    for (int place = 0; place < N; place++) {
        const double corrections = -zeros[place] * 100 - 2 * sums[place] + 7 * 2 * zeros[place];
        const double limits[] = {-0x1p31, 0x1p31 - 1, -0x1p31 - 1, 0x1p31};
        right[place] = 5;
        set_up(&step, k, 2, N, right);
        right[place] = 0;
        for (int which = 0; which < 4; which++) {
            memset(out, 0, sizeof out);
            out[N + place] = limits[which] - corrections - 5;
            CHECK(run_step(&step, &coding, false, true, out, N) == (which < 2));
            if (which < 2)
                CHECK_BITS(out[N + place], limits[which] * 4 * 0.5);
        }
    }
    for (int j = 0; j < N; j++)
        right[j] = (int8_t)(j - 9);
    set_up(&step, k, 2, N, right);
    CHECK(run_step(&step, &coding, true, false, out, N));
    CHECK(run_step(&step, &coding, false, false, out, N));
    for (int j = 0; j < 2 * N; j++)
        CHECK_BITS(out[j], 2.0 * (j % N - 9));
}

static void test_kernels(const char *name, const hm_int8_kernels *k)
{
    printf("%s\n", name);
    for (int64_t rows = 1; rows <= k->tile_rows; rows++)
        for (int64_t depth = 1; depth < 40; depth++)
            check_product(k, rows, 1 + (rows * 7 + depth) % (3 * k->tile_columns), depth,
                          (int)(depth % 3));
    for (int i = 0; i < 500; i++)
        check_product(k, 1 + i % k->tile_rows, 1 + (uint8_t)random_byte(0) % 70,
                      1 + (uint8_t)random_byte(0) % 140, i % 3);
    for (int extreme = 0; extreme < 3; extreme++)
        check_product(k, k->tile_rows, 5 * k->tile_columns, 1024, extreme);
    check_product(k, 2, k->tile_columns, HM_INT8_DEPTH, 2);
    check_product(k, 2, k->tile_columns, HM_INT8_DEPTH, 1);
    check_sums(k);
    check_scales(k);
    check_limits(k);
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
#if defined(HM_AMX)
    if (hm_cpu_has_amx_int8() && hm_cpu_grants_tiles())
        test_kernels("AMX", &hm_k_int8_amx);
#endif
#else
    const hm_kernels *table = hm_kernels_default();
    test_kernels(table->name, table->int8);
#endif
    return check_report();
}
