/* The quantization kernels of every instruction set against plain scalar code, on awkward lengths. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "hmath.h"
#include "kernels/kernels.h"

enum { MOST = 67, ROWS = 5 };

static double x[ROWS * MOST + 1];

static double random_double(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) * 0x1p-53 - 0.5) * 600;
}

static int8_t code_one(double value, double scale, double zero, double low)
{
    double coded = rint(fmax(-1024, fmin(1024, value / scale))) + zero;
    return (int8_t)fmax(low, fmin(127, coded));
}

static void fill(void)
{
    for (int i = 0; i < ROWS * MOST + 1; i++)
        x[i] = i % 7 == 0 ? rint(random_double()) + 0.5 : random_double();
    x[3] = -0.0;
}

static void test_extremes(const hm_quantize_kernels *k)
{
    for (int n = 0; n < MOST; n++) {
        hm_extremes range = {-1.5, 0.25}, wanted = range;
        for (int i = 0; i < n; i++) {
            wanted.low = x[i + 1] < wanted.low ? x[i + 1] : wanted.low;
            wanted.high = x[i + 1] > wanted.high ? x[i + 1] : wanted.high;
        }
        CHECK(k->extremes(x + 1, n, &range));
        CHECK_BITS(range.low, wanted.low);
        CHECK_BITS(range.high, wanted.high);
    }
}

static void test_extremes__tell_of_non_finite(const hm_quantize_kernels *k)
{
    const double bad[] = {INFINITY, -INFINITY, NAN};
    for (int which = 0; which < 3; which++) {
        for (int place = 0; place < MOST; place++) {
            double kept = x[place], low[MOST] = {0}, high[MOST] = {0};
            hm_extremes range = {0, 0};
            x[place] = bad[which];
            CHECK(!k->extremes(x, MOST, &range));
            CHECK(!k->column_extremes(x, 2, 40, 40, low, high));
            x[place] = kept;
        }
    }
}

static void test_columns(const hm_quantize_kernels *k)
{
    double low[MOST], high[MOST], scale[MOST], zero[MOST];
    for (int columns = 1; columns < MOST; columns++) {
        int stride = columns + columns % 3;
        for (int j = 0; j < columns; j++)
            low[j] = high[j] = 0;
        CHECK(k->column_extremes(x, 4, stride, columns, low, high));
        for (int j = 0; j < columns; j++) {
            double least = 0, most = 0;
            for (int i = 0; i < 4; i++) {
                least = fmin(least, x[i * stride + j]);
                most = fmax(most, x[i * stride + j]);
            }
            CHECK(low[j] == least && high[j] == most);
            scale[j] = 1.0 + j % 4;
            zero[j] = j % 5 - 2;
        }
        int8_t q[ROWS * MOST];
        double back[ROWS * MOST];
        memset(q, 77, sizeof q);
        k->encode_columns(x, 4, stride, columns, scale, zero, -128, q);
        CHECK(k->decode_columns(q, 4, stride, columns, scale, zero, back));
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < stride; j++) {
                int at = i * stride + j;
                if (j >= columns) {
                    CHECK_INT(q[at], 77);
                    continue;
                }
                CHECK_INT(q[at], code_one(x[at], scale[j], zero[j], -128));
                CHECK_BITS(back[at], scale[j] * (q[at] - zero[j]));
            }
    }
}

static void test_coding(const hm_quantize_kernels *k)
{
    const hm_coding codings[] = {
        {2.0, 0, -127}, {1.0, -128, -128}, {1.0, 127, -128}, {0.5, 3, -128}, {0x1p-1074, 0, -127}};
    for (int c = 0; c < 5; c++) {
        const hm_coding *coding = &codings[c];
        for (int n = 0; n < MOST; n++) {
            int8_t q[MOST + 1];
            double back[MOST];
            q[n] = 77;
            k->encode(x + 1, n, coding, q);
            CHECK_INT(q[n], 77);
            CHECK(k->decode(q, n, coding, back));
            for (int i = 0; i < n; i++) {
                CHECK_INT(q[i], code_one(x[i + 1], coding->scale, coding->zero, coding->low));
                CHECK_BITS(back[i], coding->scale * (q[i] - coding->zero));
            }
        }
    }
}

/*
 * Middles between two integers, times the scale, and their neighbours: the quotient decides, whatever
 * a product with the scale's inverse would say.
 */
static void test_coding__near_the_middle(const hm_quantize_kernels *k)
{
    const double scales[] = {1, 0.1, 1.0 / 3, 3.7, 0x1.fffffffffffffp-3, 1e300, 1e-300, 1e-307};
    for (int s = 0; s < 8; s++) {
        const hm_coding coding = {scales[s], 5, -128};
        for (int step = -2; step <= 2; step++) {
            double row[300];
            int8_t q[300];
            for (int i = 0; i < 300; i++) {
                row[i] = (i - 149.5) * scales[s];
                for (int j = 0; j < abs(step); j++)
                    row[i] = nextafter(row[i], step < 0 ? -INFINITY : INFINITY);
            }
            k->encode(row, 300, &coding, q);
            for (int i = 0; i < 300; i++)
                CHECK_INT(q[i], code_one(row[i], scales[s], 5, -128));
        }
    }
}

static void test_decoding__tells_of_overflow(const hm_quantize_kernels *k)
{
    const hm_coding huge = {0x1p1022, 0, -127};
    for (int place = 0; place < 19; place++) {
        int8_t q[19] = {0};
        double back[19], scale[19], zero[19];
        for (int j = 0; j < 19; j++) {
            scale[j] = huge.scale;
            zero[j] = 0;
        }
        CHECK(k->decode(q, 19, &huge, back));
        q[place] = -4;
        CHECK(!k->decode(q, 19, &huge, back));
        CHECK(!k->decode_columns(q, 1, 19, 19, scale, zero, back));
    }
}

int main(void)
{
    fill();
    for (int32_t isa = HMATH_ISA_BASELINE; isa <= HMATH_ISA_NEON; isa++) {
        const hm_kernels *table = hm_kernels_for(isa);
        if (!table)
            continue;
        printf("%s\n", table->name);
        test_extremes(table->quantize);
        test_extremes__tell_of_non_finite(table->quantize);
        test_columns(table->quantize);
        test_coding(table->quantize);
        test_coding__near_the_middle(table->quantize);
        test_decoding__tells_of_overflow(table->quantize);
    }
    return check_report();
}
