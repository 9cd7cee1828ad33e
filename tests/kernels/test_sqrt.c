/*
 * Square roots are rounded right where that is hardest: at numbers whose roots lie next to the midpoint of two
 * doubles. If an odd m, 2^53 < m < 2^54, is twice such a midpoint, scaled, x is (m^2 + j)/4 with a small odd j; so m is a root
 * of -j modulo the power of two that makes x a double. The C library's sqrt is the judge.
 */
#include "tables.h"

enum { ROOTS = 48, FARTHEST = 300 };

/* r with r^2 = a modulo 2^bits, for a = 1 modulo 8: one digit after the other. */
static uint64_t root_modulo(uint64_t a, int bits)
{
    uint64_t r = 1;
    for (int digit = 3; digit < bits; digit++)
        if ((r * r - a) >> digit & 1)
            r += (uint64_t)1 << (digit - 1);
    return r;
}

/* x and its neighbours times powers of 4 between 2^-954 and 2^984. */
static void check_about(double x)
{
    const double around[3] = {x, nextafter(x, 0.0), nextafter(x, 8.0)};
    double in[ROOTS], out[ROOTS];
    for (int i = 0; i < ROOTS; i++)
        in[i] = ldexp(around[i % 3], 2 * (i * 41 / 2 - 477));
    const hm_kernels *k;
    for (int isa = 0; (k = next_table(&isa));) {
        CHECK(k->elementwise->unary[HM_UNARY_sqrt](ROOTS, in, out));
        for (int i = 0; i < ROOTS; i++)
            CHECK_BITS(out[i], sqrt(in[i]));
    }
}

__extension__ typedef unsigned __int128 wide;

/* The x of m and j, in [1, 2) or [2, 4), where it has no more than 53 digits. */
static int check_midpoint(uint64_t m, int j, int bits)
{
    const wide square = (wide)m * m + (wide)(int64_t)j;
    const uint64_t significand = (uint64_t)(square >> bits);
    if (m >> 53 != 1 || significand >> 52 != 1)
        return 0;
    CHECK(square << (128 - bits) == 0);
    check_about(ldexp((double)significand, bits - 106));
    return 1;
}

static void test_sqrt__next_to_midpoints(void)
{
    int checked = 0;
    for (int bits = 54; bits <= 55; bits++)
        for (int j = -FARTHEST * 8 - 1; j <= FARTHEST * 8; j += 8) {
            const uint64_t all = ((uint64_t)1 << bits) - 1, half = (uint64_t)1 << (bits - 1);
            const uint64_t r = root_modulo((uint64_t) - (int64_t)j, bits);
            const uint64_t roots[4] = {r, r + half, -r, half - r};
            for (int i = 0; i < 4; i++)
                checked += check_midpoint(roots[i] & all, j, bits);
        }
    CHECK(checked > FARTHEST * 2);
}

static void test_sqrt__everywhere(void)
{
    uint64_t state = 5;
    for (int round = 0; round < 2000; round++) {
        double in[ROOTS], out[ROOTS];
        for (int i = 0; i < ROOTS; i++)
            in[i] = fabs(next_spread(&state, round % 2 ? 1070 : 20));
        const hm_kernels *k;
        for (int isa = 0; (k = next_table(&isa));) {
            k->elementwise->unary[HM_UNARY_sqrt](ROOTS, in, out);
            for (int i = 0; i < ROOTS; i++)
                CHECK_BITS(out[i], sqrt(in[i]));
        }
    }
}

int main(void)
{
    RUN(test_sqrt__next_to_midpoints);
    RUN(test_sqrt__everywhere);
    return check_report();
}
