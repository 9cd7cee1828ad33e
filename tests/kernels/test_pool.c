/* Pooling and score kernels on every table against plain loops, with awkward lengths and offsets.
 */
#include "tables.h"

enum { LENGTH = 140, TAPS = 75, SLACK = 40 };

static double x[TAPS + 1][LENGTH + SLACK], out[2 * LENGTH + SLACK], right[2 * LENGTH + SLACK];

static void fill(uint64_t *state)
{
    for (int t = 0; t <= TAPS; t++)
        for (int i = 0; i < LENGTH + SLACK; i++)
            x[t][i] = next_word(state) % 9 == 0 ? -0.0 : next_spread(state, 40);
}

/* The contract's sum of one block, term by term: lanes, then folds. */
static double plain_sum(const double *const *tap, int64_t taps, int64_t i)
{
    double lane[HM_LANES] = {0};
    for (int64_t t = 0; t < taps; t++)
        lane[t % HM_LANES] += tap[t][i];
    for (int h = HM_LANES / 2; h; h /= 2)
        for (int l = 0; l < h; l++)
            lane[l] += lane[l + h];
    return lane[0];
}

/* Nothing behind the result is touched. */
static void check_results(int64_t n, const double *wanted)
{
    for (int64_t i = 0; i < n; i++)
        CHECK(same(out[i], wanted[i]));
    CHECK(same(out[n], 77.0));
}

static void test_pool__taps(const hm_pool_kernels *k)
{
    uint64_t state = 1;
    fill(&state);
    const int64_t taps[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 25, 27, 31, 32, 33, 64, 75};
    for (int c = 0; c < 17; c++)
        for (int64_t n = 0; n < LENGTH; n += n < 20 ? 1 : 13) {
            const double *tap[TAPS];
            for (int64_t t = 0; t < taps[c]; t++)
                tap[t] = x[t] + t % 7;
            for (int64_t i = 0; i < n; i++) {
                right[i] = -INFINITY;
                for (int64_t t = 0; t < taps[c]; t++)
                    right[i] = fmax(right[i], tap[t][i]);
                right[i] += 0.0;
            }
            out[n] = 77;
            k->maxima(tap, taps[c], n, out);
            check_results(n, right);
            for (int64_t i = 0; i < n; i++)
                right[i] = plain_sum(tap, taps[c], i) / (double)taps[c];
            CHECK(k->means(tap, taps[c], n, out));
            check_results(n, right);
        }
}

static void test_pool__squares(const hm_pool_kernels *k)
{
    uint64_t state = 2;
    fill(&state);
    for (int64_t n = 0; 2 * n < LENGTH; n++) {
        const double *top = x[0] + n % 5, *bottom = x[1] + n % 3;
        for (int64_t i = 0; i < n; i++)
            right[i] =
                fmax(fmax(top[2 * i], top[2 * i + 1]), fmax(bottom[2 * i], bottom[2 * i + 1])) +
                0.0;
        out[n] = 77;
        k->square_maxima(top, bottom - top, 1, n, -INFINITY, out);
        check_results(n, right);
        for (int64_t i = 0; i < n; i++)
            right[i] = fmax(right[i], 0.0) + 0.0;
        k->square_maxima(top, bottom - top, 1, n, 0.0, out);
        check_results(n, right);
        for (int64_t i = 0; i < n; i++) {
            const double *term[] = {top + 2 * i, top + 2 * i + 1, bottom + 2 * i,
                                    bottom + 2 * i + 1};
            right[i] = plain_sum(term, 4, 0) / 4;
        }
        CHECK(k->square_means(top, bottom - top, 1, n, out));
        check_results(n, right);
    }
}

/* Rows of windows after one another, with cells in between that belong to none. */
static void test_pool__rows_of_squares(const hm_pool_kernels *k)
{
    uint64_t state = 5;
    fill(&state);
    for (int64_t n = 1; n < 20; n++)
        for (int64_t pitch = 2 * n; pitch < 2 * n + 3; pitch++) {
            enum { ROWS = 3 };
            static double largest[ROWS * 20], mean[ROWS * 20], one[20];
            const double *cells = x[0] + n % 3;
            k->square_maxima(cells, pitch, ROWS, n, -INFINITY, largest);
            CHECK(k->square_means(cells, pitch, ROWS, n, mean));
            for (int64_t r = 0; r < ROWS; r++) {
                k->square_maxima(cells + 2 * r * pitch, pitch, 1, n, -INFINITY, one);
                for (int64_t i = 0; i < n; i++)
                    CHECK(same(largest[r * n + i], one[i]));
                CHECK(k->square_means(cells + 2 * r * pitch, pitch, 1, n, one));
                for (int64_t i = 0; i < n; i++)
                    CHECK(same(mean[r * n + i], one[i]));
            }
        }
}

/* The derivative as two steps would give it: the first of the largest gets u + 0, times the slope. */
static void plain_scatter(const double *cells, int64_t pitch, double floor, double u, double *to)
{
    const int64_t at[] = {0, 1, pitch, pitch + 1};
    int first = 0;
    for (int c = 1; c < 4; c++)
        if (fmax(cells[at[c]], floor) > fmax(cells[at[first]], floor))
            first = c;
    for (int c = 0; c < 4; c++)
        to[at[c]] = c == first ? (u + 0.0) * (cells[at[c]] > floor) : 0.0;
}

static void test_pool__scatter_to_squares(const hm_pool_kernels *k)
{
    enum { ROWS = 3, CELLS = 2 * ROWS * 42 };
    static double cells[CELLS], to[CELLS + 1], wanted[CELLS + 1], from[ROWS * 20];
    uint64_t state = 6;
    for (int64_t n = 1; n < 20; n++)
        for (int64_t pitch = 2 * n; pitch < 2 * n + 3; pitch++)
            for (int rectified = 0; rectified < 2; rectified++) {
                const double floor = rectified ? 0.0 : -INFINITY;
                for (int i = 0; i < CELLS; i++) { /* few values: many ties */
                    cells[i] = (double)(int64_t)(next_word(&state) % 7) - 3;
                    to[i] = wanted[i] = 77;
                }
                for (int i = 0; i < ROWS * 20; i++)
                    from[i] = next_word(&state) % 5 == 0 ? -0.0 : next_spread(&state, 40);
                for (int64_t r = 0; r < ROWS; r++)
                    for (int64_t i = 0; i < n; i++)
                        plain_scatter(cells + 2 * r * pitch + 2 * i, pitch, floor, from[r * n + i],
                                      wanted + 2 * r * pitch + 2 * i);
                k->square_scatter(cells, pitch, ROWS, n, floor, from, to);
                for (int i = 0; i < CELLS; i++)
                    CHECK(same(to[i], wanted[i]));
            }
}

static void test_pool__means_out_of_range_are_told(const hm_pool_kernels *k)
{
    static double huge[4][LENGTH];
    for (int64_t at = 0; at < 60; at += 7)
        for (int64_t n = at + 1; n < 64; n++) {
            for (int64_t i = 0; i < 2 * n; i++)
                huge[0][i] = huge[1][i] = 1;
            huge[0][2 * at] = huge[1][2 * at] = 1.5e308;
            CHECK(!k->square_means(huge[0], huge[1] - huge[0], 1, n, out));
            huge[0][at] = huge[1][at] = 1.5e308;
            const double *tap[] = {huge[0], huge[1], huge[0]};
            CHECK(!k->means(tap, 3, 2 * at + 1, out));
            CHECK(!k->means(tap, 2, 2 * at + 1, out));
        }
}

static void test_pool__split(const hm_pool_kernels *k)
{
    uint64_t state = 3;
    fill(&state);
    for (int64_t stride = 2; stride <= 8; stride++)
        for (int64_t n = 1; n < LENGTH; n++) {
            const int64_t pitch = n / stride + 3;
            for (int64_t i = 0; i < stride * pitch; i++)
                out[i] = 77;
            k->split(x[0] + n % 4, n, stride, pitch, out);
            for (int64_t p = 0; p < stride; p++)
                for (int64_t i = 0; i < pitch; i++)
                    CHECK(same(out[p * pitch + i],
                               i * stride + p < n ? x[0][n % 4 + i * stride + p] : 77));
        }
}

static void test_attention__scores(const hm_attention_kernels *k)
{
    static uint8_t allowed[LENGTH];
    uint64_t state = 4;
    fill(&state);
    for (int64_t n = 0; n < LENGTH; n++)
        for (int form = 0; form < 4; form++) {
            const double *bias = form & 1 ? x[1] + n % 3 : NULL;
            for (int64_t i = 0; i < n; i++) {
                allowed[i] = next_word(&state) % 3 != 0;
                out[i] = x[0][i];
                right[i] = x[0][i] * 0.3;
                if (bias)
                    right[i] += bias[i];
            }
            out[n] = 77;
            CHECK(k->scores(out, n, 0.3, bias, form & 2 ? allowed : NULL));
            check_results(n, right);

            /* Only what takes part has to be finite. */
            const double bad[] = {INFINITY, -INFINITY, NAN};
            for (int64_t at = 0; at < n; at += 11) {
                for (int64_t i = 0; i < n; i++)
                    out[i] = i == at ? bad[at % 3] : 1;
                const bool seen = !(form & 2) || allowed[at];
                CHECK(k->scores(out, n, 0.3, bias, form & 2 ? allowed : NULL) == !seen);
            }
        }
}

int main(void)
{
    int isa = 0;
    for (const hm_kernels *k; (k = next_table(&isa));) {
        test_pool__taps(k->pool);
        test_pool__squares(k->pool);
        test_pool__rows_of_squares(k->pool);
        test_pool__scatter_to_squares(k->pool);
        test_pool__means_out_of_range_are_told(k->pool);
        test_pool__split(k->pool);
        test_attention__scores(k->attention);
    }
    return check_report();
}
