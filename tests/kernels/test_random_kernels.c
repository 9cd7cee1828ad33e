/* Random kernels: the same bits from every table, at every length and offset; nothing else touched. */
#include "tables.h"

#include "random/bitgen.h"

enum { SLACK = 8, ROOM = 2 * LONGEST + 2 * SLACK };
static double input[ROOM], out[ROOM], expected[ROOM], other[ROOM];

static const double untouched = 12345.0;

static void fill(double *p, int64_t n, double x)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = x;
}

/* Elements first ... first + n - 1 are as expected, and all others as they were. */
static void check_part(int64_t first, int64_t n)
{
    int right = 1;
    for (int64_t i = 0; i < ROOM; i++)
        right &= same(out[i], i >= first && i < first + n ? expected[i] : untouched);
    CHECK(right);
}

static void test_box_muller__is_the_same_everywhere(void)
{
    const hm_kernels *baseline = hm_kernels_for(HMATH_ISA_BASELINE), *k;
    uint64_t state = 1;
    for (int64_t i = 0; i < ROOM; i++)
        input[i] = next_word(&state) % 8 == 0 ? (double)(i % 9) / 8.0 * (1 - 0x1p-53)
                                              : next_uniform(&state);
    for (int isa = 0; (k = next_table(&isa));)
        for (int l = 0; l < AWKWARD_LENGTHS; l++)
            for (int64_t first = 0; first < 4; first++) {
                const int64_t pairs = awkward_lengths[l];
                fill(out, ROOM, untouched);
                memcpy(out + first, input, (size_t)pairs * 2 * sizeof *out);
                memcpy(expected + first, input, (size_t)pairs * 2 * sizeof *out);
                k->random->box_muller(out + first, pairs);
                for (int64_t i = 0; i < pairs; i++) /* one by one, by the plainest table */
                    baseline->random->box_muller(expected + first + 2 * i, 1);
                check_part(first, 2 * pairs);
            }
}

/* 1 ulp, as exp is: the rounding of z^2 moves the result by 2^-53 of itself at most, |z| <= 1. */
static void test_bell__is_right_and_the_same_everywhere(void)
{
    const hm_kernels *baseline = hm_kernels_for(HMATH_ISA_BASELINE), *k;
    uint64_t state = 2;
    for (int64_t i = 0; i < ROOM; i++)
        input[i] = i == 5 ? -0.0 : i == 6 ? 1.0 : i == 7 ? 5e-324 : 2 * next_uniform(&state) - 1;
    baseline->random->bell(input, other, LONGEST);
    for (int64_t i = 0; i < LONGEST; i++) {
        const long double z = input[i], exact = expl(-z * z / 2);
        CHECK(fabsl(other[i] - exact) <= 1.5L * 0x1p-53L);
    }
    for (int isa = 0; (k = next_table(&isa));)
        for (int l = 0; l < AWKWARD_LENGTHS; l++)
            for (int64_t first = 0; first < 4; first++) {
                const int64_t n = awkward_lengths[l];
                memcpy(expected + first, other, (size_t)n * sizeof *out);
                fill(out, ROOM, untouched);
                k->random->bell(input, out + first, n);
                check_part(first, n);
                memcpy(out + first, input, (size_t)n * sizeof *out);
                k->random->bell(out + first, out + first, n);
                check_part(first, n);
            }
}

static void test_subtract__rounds_twice(void)
{
    const hm_kernels *k;
    uint64_t state = 3;
    for (int64_t i = 0; i < ROOM; i++) {
        input[i] = next_spread(&state, 40);
        other[i] = i == 3 ? NAN : i == 4 ? INFINITY : next_spread(&state, 40);
    }
    for (int isa = 0; (k = next_table(&isa));)
        for (int l = 0; l < AWKWARD_LENGTHS; l++)
            for (int64_t first = 0; first < 4; first++) {
                const int64_t n = awkward_lengths[l];
                const double c = next_spread(&state, 10);
                fill(out, ROOM, untouched);
                for (int64_t i = 0; i < n; i++) {
                    const double product = c * input[i];
                    out[first + i] = other[i];
                    expected[first + i] = other[i] - product;
                }
                k->random->subtract(c, input, out + first, n);
                check_part(first, n);
            }
}

/* Against the generator drawing one by one, where the counter carries into every one of its words.
 */
static void test_philox__is_the_generator(void)
{
    static const uint64_t counters[][2] = {{0, 0},
                                           {0xfffffffa, 0},
                                           {UINT64_MAX - 5, 0},
                                           {UINT64_MAX - 2, 0xffffffff},
                                           {UINT64_MAX - 1000, UINT64_MAX}};
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (size_t c = 0; c < sizeof counters / sizeof counters[0]; c++)
            for (int l = 0; l < AWKWARD_LENGTHS - 2; l++) {
                const int64_t blocks = awkward_lengths[l], first = l % 4;
                hm_bitgen g = {.kind = &hm_philox4x32};
                g.state.philox.counter[0] = counters[c][0];
                g.state.philox.counter[1] = counters[c][1];
                g.state.philox.key = 0x0123456789abcdef;
                for (int64_t i = 0; i < 2 * blocks; i++) {
                    const uint32_t high = (uint32_t)hm_next(&g);
                    expected[first + i] = hm_uniform_from_32(high, (uint32_t)hm_next(&g));
                }
                fill(out, ROOM, untouched);
                k->random->philox(counters[c], 0x0123456789abcdef, out + first, blocks);
                check_part(first, 2 * blocks);
            }
}

/* Dropout is a comparison and a product; what a product of something not finite does shows. */
static void test_drop__and_spread(void)
{
    static double x[ROOM], uniforms[ROOM], mask[ROOM];
    const double factor = -0.75;
    const hm_kernels *k;
    uint64_t state = 7;
    for (int64_t i = 0; i < ROOM; i++) {
        x[i] = next_spread(&state, 1000);
        uniforms[i] = i % 7 == 0 ? 0.25 : next_uniform(&state);
    }
    for (int isa = 0; (k = next_table(&isa));)
        for (int l = 0; l < AWKWARD_LENGTHS; l++)
            for (int64_t first = 0; first < 4; first++) {
                const int64_t n = awkward_lengths[l];
                const double scale = 1 / (1 - 0.25);
                fill(out, ROOM, untouched);
                memcpy(mask, uniforms, sizeof mask);
                CHECK(k->random->drop(x, n, 0.25, scale, mask + first, out + first));
                int right = 1;
                for (int64_t i = 0; i < ROOM; i++) {
                    const bool inside = i >= first && i < first + n;
                    const double kept = uniforms[i] >= 0.25 ? scale : 0.0;
                    right &= same(mask[i], inside ? kept : uniforms[i]);
                    expected[i] = inside ? x[i - first] * kept : 0;
                }
                CHECK(right);
                check_part(first, n);

                fill(out, ROOM, untouched);
                fill(mask, ROOM, untouched);
                CHECK(k->random->spread(x, 1, n, &factor, (int)(l + first) % 3, mask + first,
                                        out + first));
                for (int64_t i = 0; i < n; i++)
                    expected[first + i] = x[i] * -0.75;
                check_part(first, n);
                memcpy(out, mask, sizeof out);
                fill(expected + first, n, -0.75);
                check_part(first, n);
            }
}

/* Planes side by side, however they are stored. */
static void test_spread__planes(void)
{
    enum { PLANES = 5, MOST = 40 };
    static const double factor[PLANES] = {2.0, 0.0, -0.75, 1.0, 0.0};
    static double x[PLANES * MOST], mask[PLANES * MOST + 4], output[PLANES * MOST + 4];
    const hm_kernels *k;
    uint64_t state = 8;
    for (int i = 0; i < PLANES * MOST; i++)
        x[i] = next_spread(&state, 40);
    for (int isa = 0; (k = next_table(&isa));)
        for (int64_t n = 0; n <= MOST; n++)
            for (int off = 0; off < 12; off++) {
                double *m = mask + off / 3, *y = output + (off & 1) * 2;
                CHECK(k->random->spread(x, PLANES, n, factor, off % 3, m, y));
                for (int64_t i = 0; i < PLANES * n; i++)
                    CHECK(same(m[i], factor[i / n]) && same(y[i], x[i] * factor[i / n]));
            }
}

static void test_drop__tells_of_what_is_not_finite(void)
{
    static double x[100], uniforms[100], mask[100], output[100];
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1.7e308}, none = 0.0, twice = 2.0;
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));)
        for (int b = 0; b < 4; b++)
            for (int at = 0; at < 100; at++) {
                memset(x, 0, sizeof x);
                x[at] = bad[b];
                memset(mask, 0, sizeof mask); /* all are dropped: 0 times what is finite is 0 */
                CHECK(k->random->drop(x, 100, 0.5, 2.0, mask, output) == (b == 3));
                CHECK(k->random->spread(x, 1, 100, &none, b % 3, mask, output) == (b == 3));
                fill(uniforms, 100, 0.5);
                CHECK(!k->random->drop(x, 100, 0.5, 2.0, uniforms, output));
                CHECK(!k->random->spread(x, 1, 100, &twice, b % 3, mask, output));
            }
}

int main(void)
{
    RUN(test_drop__and_spread);
    RUN(test_spread__planes);
    RUN(test_drop__tells_of_what_is_not_finite);
    RUN(test_box_muller__is_the_same_everywhere);
    RUN(test_bell__is_right_and_the_same_everywhere);
    RUN(test_subtract__rounds_twice);
    RUN(test_philox__is_the_generator);
    return check_report();
}
