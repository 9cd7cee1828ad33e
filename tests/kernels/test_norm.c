/* Kernels of normalisation on every table against plain loops, with awkward lengths and offsets. */
#include "tables.h"

enum { ROWS = 3, OFFSETS = 9 };

static double x[ROWS * LONGEST + OFFSETS], out[ROWS * LONGEST + OFFSETS + 1];

static void fill(void)
{
    uint64_t state = 5;
    for (int i = 0; i < ROWS * LONGEST + OFFSETS; i++)
        x[i] = next_word(&state) % 9 == 0 ? -0.0 : next_spread(&state, 4);
}

static double mapped(double element, double mean, double by) { return (element - mean) * by; }

/* Elements at out ... out+n-1 are as they should be, and their neighbours untouched. */
static void check_row(const double *from, int64_t n, double mean, double by, const double *row)
{
    for (int64_t i = 0; i < n; i++)
        CHECK(same(row[i], mapped(from[i], mean, by)));
}

static void clear_around(int64_t at, int64_t n)
{
    out[at + n] = 77;
    if (at > 0)
        out[at - 1] = 77;
}

static void check_around(int64_t at, int64_t n)
{
    CHECK(same(out[at + n], 77.0));
    CHECK(at == 0 || same(out[at - 1], 77.0));
}

static void test_norm__given_statistics(const hm_norm_kernels *k, int64_t n, int64_t at, bool aside)
{
    clear_around(at, n);
    k->standardize(x + 1, n, 0.7, 1.3, aside, out + at);
    k->settle();
    check_row(x + 1, n, 0.7, 1.3, out + at);
    CHECK(k->affine(x + 1, n, 0.7, 1.3, -2.1, 0.4, aside, out + at));
    k->settle();
    for (int64_t i = 0; i < n; i++)
        CHECK(same(out[at + i], fma(mapped(x[1 + i], 0.7, 1.3), -2.1, 0.4)));
    check_around(at, n);
}

/* One element that is not finite is noticed wherever it stands. */
static void test_norm__spoiled(const hm_norm_kernels *k, int64_t n, int64_t at, bool aside)
{
    for (int64_t i = 0; i < n; i += i < 8 || i >= n - 8 ? 1 : 16) {
        const double kept = x[i];
        x[i] = INFINITY;
        CHECK(!k->affine(x, n, 0.7, 1.3, -2.1, 0.4, aside, out + at));
        x[i] = kept;
    }
}

static void test_norm__rows(const hm_kernels *k, int64_t n, int64_t at, bool aside)
{
    clear_around(at, ROWS * n);
    CHECK(k->norm->layer_rows(x + 1, ROWS, n, 1e-5, aside, out + at) == ROWS);
    k->norm->settle();
    for (int64_t r = 0; r < ROWS; r++) {
        const hm_moments m = k->reduce->moments(x + 1 + r * n, n);
        check_row(x + 1 + r * n, n, m.mean, 1.0 / sqrt(m.squares / (double)n + 1e-5),
                  out + at + r * n);
    }
    CHECK(k->norm->rms_rows(x + 1, ROWS, n, 1e-5, aside, out + at) == ROWS);
    k->norm->settle();
    for (int64_t r = 0; r < ROWS; r++) {
        const double squares = k->reduce->square_sum(x + 1 + r * n, n);
        check_row(x + 1 + r * n, n, 0, 1.0 / sqrt(squares / (double)n + 1e-5), out + at + r * n);
    }
    check_around(at, ROWS * n);
}

int main(void)
{
    const hm_kernels *k;
    fill();
    for (int isa = 0; (k = next_table(&isa));)
        for (int c = 0; c < AWKWARD_LENGTHS; c++)
            for (int64_t at = 0; at < OFFSETS; at++)
                for (int aside = 0; aside < 2; aside++) {
                    const int64_t n = awkward_lengths[c];
                    test_norm__given_statistics(k->norm, n, at, aside);
                    if (n < 130)
                        test_norm__spoiled(k->norm, n, at, aside);
                    if (n > 0)
                        test_norm__rows(k, n, at, aside);
                }
    return check_report();
}
