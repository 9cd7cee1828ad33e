/* Softmax kernels: every table gives the bits of the first, and those are right. */
#include "tables.h"

static double x[LONGEST], first[LONGEST], out[LONGEST];
static uint8_t allowed[LONGEST];

/* The bound of the contract, (|x - max| + 8) * 2^-52, with an absolute ulp for subnormal results.
 */
static void check_right(const double *row, int64_t n, const double *got)
{
    double most = -INFINITY;
    long double sum = 0, others = 0;
    for (int64_t i = 0; i < n; i++)
        most = fmax(most, row[i]);
    int64_t largest = -1;
    for (int64_t i = 0; i < n; i++) {
        sum += expl((long double)row[i] - most);
        if (row[i] == most && largest < 0)
            largest = i;
        else
            others += expl((long double)row[i] - most);
    }
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        const long double right = expl((long double)row[i] - most) / sum;
        const long double bound = right * (most - row[i] + 8) * 0x1p-52L + 0x1p-1074L;
        CHECK(fabsl(got[i] - right) <= bound);
        total += got[i];
    }
    CHECK(fabs(total - 1) <= (double)n * 0x1p-52 + 0x1p-52);

    /* Log-softmax: three roundings a result, and the sum's own error. */
    hm_kernels_default()->softmax->log_softmax(row, 1, n, out);
    for (int64_t i = 0; i < n; i++) {
        const long double right =
            row[i] == most ? -log1pl(others) : (row[i] - (long double)most) - logl(sum);
        CHECK(fabsl(out[i] - right) <= fabsl(right) * 16 * 0x1p-52L + 0x1p-1074L);
    }
}

static void fill(uint64_t *state, int64_t n, int kind)
{
    for (int64_t i = 0; i < n; i++)
        switch (kind) {
        case 0: x[i] = 2 * next_uniform(state) - 1; break;
        case 1: x[i] = 40 * next_uniform(state); break;
        case 2: x[i] = 800 * next_uniform(state); break;
        case 3: x[i] = 1e6 + next_uniform(state); break;
        case 4:
            x[i] = i == n / 2 ? 0.0 : -0.357;
            break; /* equal terms: every rounding falls the same way */
        case 5: x[i] = i == n / 3 ? 0.0 : -60 - next_uniform(state); break;
        default: x[i] = -700 - 50 * next_uniform(state);
        }
    if (kind == 6)
        x[n / 2] = 0;
}

static void test_softmax__rows(void)
{
    const hm_kernels *plain = hm_kernels_for(HMATH_ISA_BASELINE);
    uint64_t state = 3;
    for (int kind = 0; kind < 7; kind++)
        for (int l = 1; l < AWKWARD_LENGTHS; l++) {
            const int64_t n = awkward_lengths[l];
            fill(&state, n, kind);
            CHECK(plain->softmax->softmax(x, 1, n, first));
            check_right(x, n, first);

            int isa = 0;
            for (const hm_kernels *k; (k = next_table(&isa));) {
                CHECK(k->softmax->softmax(x, 1, n, out) && memcmp(first, out, (size_t)n * 8) == 0);
                memset(allowed, 1, (size_t)n);
                k->softmax->masked(x, allowed, n, out);
                CHECK(memcmp(first, out, (size_t)n * 8) == 0);
            }
            plain->softmax->log_softmax(x, 1, n, first);
            isa = 0;
            for (const hm_kernels *k; (k = next_table(&isa));)
                CHECK(k->softmax->log_softmax(x, 1, n, out) &&
                      memcmp(first, out, (size_t)n * 8) == 0);
        }
}

/* Masked entries stand in the lanes as +0: the row's other entries are what they are without them.
 */
static void test_softmax__masked(void)
{
    uint64_t state = 4;
    for (int l = 1; l < AWKWARD_LENGTHS; l++) {
        const int64_t n = awkward_lengths[l];
        int isa = 0, tables = 0;
        for (int64_t i = 0; i < n; i++) {
            x[i] = 1000 * next_uniform(&state);
            allowed[i] = next_uniform(&state) < 0.5;
        }
        for (const hm_kernels *k; (k = next_table(&isa)); tables++) {
            k->softmax->masked(x, allowed, n, out);
            if (tables == 0)
                memcpy(first, out, (size_t)n * 8);
            CHECK(memcmp(first, out, (size_t)n * 8) == 0);
            double sum = 0;
            int any = 0;
            for (int64_t i = 0; i < n; i++) {
                CHECK(allowed[i] || same(out[i], 0.0));
                any |= allowed[i];
                sum += out[i];
            }
            CHECK(any ? fabs(sum - 1) <= (double)n * 0x1p-52 : same(sum, 0.0));
        }
    }
}

typedef bool rows_kernel(const double *, int64_t, int64_t, double *);

/* A row alone and a row among others, however many the kernel takes at a time, and what it fetches. */
static void test_softmax__rows_together(void)
{
    static double alone[LONGEST];
    uint64_t state = 9;
    for (int64_t n = 1; n <= 600; n += n < 10 ? 1 : 29)
        for (int64_t rows = 1; rows <= 11 && rows * n <= LONGEST; rows++) {
            fill(&state, rows * n, (int)(rows % 4));
            int isa = 0;
            for (const hm_kernels *k; (k = next_table(&isa));)
                for (int which = 0; which < 3; which++) {
                    rows_kernel *const kernels[] = {k->softmax->softmax, k->softmax->log_softmax,
                                                    k->softmax->log_softmax_fetching},
                                       *const run = kernels[which], *const one = kernels[which > 0];
                    for (int64_t i = 0; i < rows; i++)
                        CHECK(one(x + i * n, 1, n, alone + i * n));
                    CHECK(run(x, rows, n, out));
                    CHECK(memcmp(alone, out, (size_t)(rows * n) * 8) == 0);
                    const double kept = x[rows * n - 1];
                    x[rows * n - 1] = NAN;
                    CHECK(!run(x, rows, n, out));
                    x[rows * n - 1] = kept;
                }
        }
}

static void test_softmax__not_finite(void)
{
    int isa = 0;
    for (const hm_kernels *k; (k = next_table(&isa));)
        for (int64_t at = 0; at < 45; at++) {
            const double bad[] = {NAN, INFINITY, -INFINITY};
            for (int b = 0; b < 3; b++) {
                for (int64_t i = 0; i < 45; i++)
                    x[i] = (double)i;
                x[at] = bad[b];
                CHECK(!k->softmax->softmax(x, 1, 45, out) &&
                      !k->softmax->log_softmax(x, 1, 45, out));
            }
        }
}

static void test_softmax__extremes(void)
{
    int isa = 0;
    for (const hm_kernels *k; (k = next_table(&isa));) {
        const double apart[] = {1e308, -1e308}, equal[] = {1e308, 1e308};
        k->softmax->softmax(apart, 1, 2, out);
        CHECK(out[0] == 1 && same(out[1], 0.0));
        CHECK(!k->softmax->log_softmax(apart, 1, 2, out) && out[1] == -INFINITY);
        CHECK(k->softmax->log_softmax(equal, 1, 2, out) && fabs(out[0] + M_LN2) < 1e-16);
    }
}

int main(void)
{
    test_softmax__rows();
    test_softmax__masked();
    test_softmax__rows_together();
    test_softmax__not_finite();
    test_softmax__extremes();
    return check_report();
}
