/* Bytes of a fuzzer's input, read as small decisions and numbers; behind the last one come zeros. */
#ifndef CURSOR_H
#define CURSOR_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

static inline uint8_t next_byte(cursor *c) { return c->at < c->end ? *c->at++ : 0; }

/* 0 ... n - 1 */
static inline size_t below(cursor *c, size_t n) { return next_byte(c) % n; }

/* True once in n. */
static inline int once_in(cursor *c, size_t n) { return below(c, n) == n - 1; }

static inline uint64_t next_word(cursor *c)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++)
        word = word << 8 | next_byte(c);
    return word;
}

/* A number that functions have reason to treat differently, or any. */
static inline double next_double(cursor *c)
{
    static const double chosen[] = {0.0,  -0.0, 1.0,    -1.0,   0.5,    0.25,  2.0,     3.0,
                                    -3.5, 0.1,  1e-3,   10.0,   700,    -745,  1e8,     -1e8,
                                    40,   1e16, 5e-324, 1e-308, 1e-160, 1e160, DBL_MAX, -DBL_MAX};
    const size_t which = below(c, 64);
    if (which < sizeof chosen / sizeof chosen[0])
        return chosen[which];
    if (which == 63)
        return (double[]){INFINITY, -INFINITY, NAN, 1e300}[below(c, 4)];
    if (which < 56) /* between -4 and 4 */
        return ((double)next_byte(c) + (double)next_byte(c) / 256 - 128) / 32;
    const uint64_t bits = next_word(c);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/*
 * Sizes, axes, labels, factors. What asks for memory asks for little, or for more than there is anywhere: in
 * between lies what a machine may really try to give.
 */
static inline int64_t next_int(cursor *c)
{
    static const int64_t chosen[] = {0, 1, 1,  1,  2,         2,         2,         3, 3, 4, 4, 5,
                                     6, 8, 12, -1, INT64_MAX, INT64_MIN, 1LL << 53, 7, 0, 1, 2, 16};
    return chosen[below(c, sizeof chosen / sizeof chosen[0])];
}

#endif
