/* Every reduction kernel of every table against the contract spelled out one element at a time. */
#include "tables.h"

static double x[LONGEST + 8], y[LONGEST + 8];

/* ---- the contract, plainly ---- */

static double fold(double lane[HM_LANES])
{
    for (int h = HM_LANES / 2; h; h /= 2)
        for (int i = 0; i < h; i++)
            lane[i] += lane[i + h];
    return lane[0];
}

typedef double plain_step(double lane, double a, double b, double constant);

static double plain_sum(plain_step *step, double constant, const double *a, const double *b,
                        int64_t stride, int64_t n)
{
    double lane[HM_LANES] = {0};
    for (int64_t i = 0; i < n; i++)
        lane[i % HM_LANES] = step(lane[i % HM_LANES], a[i * stride], b[i * stride], constant);
    return fold(lane);
}

static double add(double lane, double a, double b, double c)
{
    (void)b, (void)c;
    return lane + a;
}

static double add_absolute(double lane, double a, double b, double c)
{
    (void)b, (void)c;
    return lane + fabs(a);
}

static double add_product(double lane, double a, double b, double c)
{
    (void)c;
    return fma(a, b, lane);
}

static double add_distance(double lane, double a, double b, double c)
{
    (void)c;
    return fma(a - b, a - b, lane);
}

static double add_residual(double lane, double a, double b, double c)
{
    const double r = fma(-c, a, b);
    return fma(r, r, lane);
}

static double add_along(double lane, double a, double b, double c)
{
    return fma(fma(-c, a, b), a, lane);
}

static double add_deviation(double lane, double a, double b, double mean)
{
    (void)b;
    return lane + (a - mean);
}

static double add_square_deviation(double lane, double a, double b, double mean)
{
    (void)b;
    return fma(a - mean, a - mean, lane);
}

static hm_moments plain_moments(const double *a, int64_t stride, int64_t n)
{
    const double guess = plain_sum(add, 0, a, a, stride, n) / (double)n;
    const double deviations = plain_sum(add_deviation, guess, a, a, stride, n);
    const double squares = plain_sum(add_square_deviation, guess, a, a, stride, n);
    const double shift = deviations / (double)n, left = squares - deviations * shift;
    return (hm_moments){guess + shift, left < 0 ? 0 : left};
}

/* ---- the kernels against it ---- */

/* A block in pieces of any length, folded here: the bits of the whole. */
static void check_pieces(const hm_reduce_kernels *k, const double *a, int64_t n)
{
    const int64_t lengths[] = {1, 3, 31, 32, 33, 100};
    for (int l = 0; l < 6; l++) {
        double lanes[HM_LANES] = {0};
        for (int64_t done = 0; done < n; done += lengths[l])
            k->add_to_lanes(a + done, n - done < lengths[l] ? n - done : lengths[l], done, lanes);
        for (int half = HM_LANES / 2; half; half /= 2)
            for (int i = 0; i < half; i++)
                lanes[i] += lanes[i + half];
        CHECK(same(lanes[0], k->sum(a, n)));
    }
}

static void check_block(const hm_reduce_kernels *k, const double *a, const double *b, int64_t n)
{
    CHECK(same(k->sum(a, n), plain_sum(add, 0, a, a, 1, n)));
    CHECK(same(k->absolute_sum(a, n), plain_sum(add_absolute, 0, a, a, 1, n)));
    CHECK(same(k->square_sum(a, n), plain_sum(add_product, 0, a, a, 1, n)));
    CHECK(same(k->dot(a, b, n), plain_sum(add_product, 0, a, b, 1, n)));
    CHECK(same(k->distance(a, b, n), plain_sum(add_distance, 0, a, b, 1, n)));
    check_pieces(k, a, n);
    const hm_products products = k->products(a, b, n);
    CHECK(same(products.xx, k->square_sum(a, n)));
    CHECK(same(products.yy, k->square_sum(b, n)));
    CHECK(same(products.xy, k->dot(a, b, n)));
    const hm_residual r = k->residual(0.7, a, b, n);
    CHECK(same(r.squares, plain_sum(add_residual, 0.7, a, b, 1, n)));
    CHECK(same(r.along, plain_sum(add_along, 0.7, a, b, 1, n)));
    if (n > 0) {
        const hm_moments got = k->moments(a, n), right = plain_moments(a, 1, n);
        CHECK(same(got.mean, right.mean) && same(got.squares, right.squares));
    }

    double most = -INFINITY, least = INFINITY, magnitude = 0;
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, a[i]);
        least = fmin(least, a[i]);
        magnitude = fmax(magnitude, fabs(a[i]));
    }
    CHECK(same(k->maximum(a, n), most));
    CHECK(same(k->minimum(a, n), least));
    CHECK(same(k->largest_magnitude(a, n), magnitude));
    CHECK(k->within(a, n, -magnitude, magnitude));
    if (n > 0 && magnitude > 0)
        CHECK(!k->within(a, n, -magnitude / 2, magnitude / 2));
}

static void test_reduce__blocks(const hm_reduce_kernels *k)
{
    uint64_t state = 1;
    for (int spread = 0; spread <= 200; spread += 100)
        for (int l = 0; l < AWKWARD_LENGTHS; l++)
            for (int offset = 0; offset < 3; offset++) {
                for (int64_t i = 0; i < LONGEST + 8; i++) {
                    x[i] = next_spread(&state, spread);
                    y[i] = next_spread(&state, spread);
                }
                check_block(k, x + offset, y + 2 * offset, awkward_lengths[l]);
            }
}

/* One element that is not finite, anywhere, spoils every sum and extreme; `within` refuses it. */
static void test_reduce__not_finite(const hm_reduce_kernels *k)
{
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (int b = 0; b < 3; b++)
        for (int64_t n = 1; n < 200; n += 13)
            for (int64_t at = 0; at < n; at++) {
                for (int64_t i = 0; i < n; i++)
                    x[i] = 1;
                x[at] = bad[b];
                CHECK(!isfinite(k->sum(x, n)) && !isfinite(k->absolute_sum(x, n)));
                CHECK(!isfinite(k->square_sum(x, n)) && !isfinite(k->moments(x, n).squares));
                CHECK(isnan(k->maximum(x, n)) && isnan(k->largest_magnitude(x, n)));
                CHECK(isnan(k->minimum(x, n)));
                CHECK(!k->within(x, n, -1e308, 1e308));
            }
}

static void test_reduce__zeros_have_no_sign(const hm_reduce_kernels *k)
{
    for (int64_t i = 0; i < 40; i++)
        x[i] = i % 3 ? -0.0 : 0.0;
    for (int64_t n = 1; n < 40; n++) {
        CHECK(same(k->maximum(x + 1, n), 0.0) && same(k->sum(x + 1, n), 0.0));
        CHECK(same(k->minimum(x + 1, n), 0.0));
        double out;
        k->column_maxima(x + 1, 1, 1, 1, &out);
        CHECK(same(out, 0.0));
        k->column_minima(x + 1, 1, 1, 1, &out);
        CHECK(same(out, 0.0));
    }
}

static void test_reduce__columns(const hm_reduce_kernels *k)
{
    enum { WIDEST = 150 };
    static double matrix[200 * WIDEST];
    double sums[WIDEST], maxima[WIDEST], minima[WIDEST];
    hm_moments moments[WIDEST];
    uint64_t state = 2;
    for (int i = 0; i < 200 * WIDEST; i++)
        matrix[i] = 1e4 + next_spread(&state, 10);

    const int64_t heights[] = {0, 1, 2, 31, 32, 33, 65, 200};
    for (int h = 0; h < 8; h++)
        for (int64_t columns = 1; columns <= WIDEST; columns += columns < 20 ? 1 : 7) {
            const int64_t rows = heights[h], stride = WIDEST;
            k->column_sums(matrix, rows, stride, columns, sums);
            k->column_maxima(matrix, rows, stride, columns, maxima);
            k->column_minima(matrix, rows, stride, columns, minima);
            if (rows > 0)
                k->column_moments(matrix, rows, stride, columns, moments);
            for (int64_t j = 0; j < columns; j++) {
                const double *column = matrix + j;
                double most = -INFINITY, least = INFINITY;
                for (int64_t i = 0; i < rows; i++) {
                    most = fmax(most, column[i * stride]);
                    least = fmin(least, column[i * stride]);
                }
                CHECK(same(maxima[j], most) && same(minima[j], least));
                CHECK(same(sums[j], plain_sum(add, 0, column, column, stride, rows)));
                if (rows > 0) {
                    const hm_moments right = plain_moments(column, stride, rows);
                    CHECK(same(moments[j].mean, right.mean) &&
                          same(moments[j].squares, right.squares));
                }
            }
        }
}

int main(void)
{
    int isa = 0;
    for (const hm_kernels *k; (k = next_table(&isa));) {
        test_reduce__blocks(k->reduce);
        test_reduce__not_finite(k->reduce);
        test_reduce__zeros_have_no_sign(k->reduce);
        test_reduce__columns(k->reduce);
    }
    return check_report();
}
