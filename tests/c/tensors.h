/*
 * What the tensor tests share: tensors of easily told numbers, positions by plain index arithmetic.
 */
#ifndef TENSORS_H
#define TENSORS_H

#include <stdlib.h>

#include "check.h"
#include "hmath.h"
#include "hmath_tensor.h"
#include "runtime/alloc.h"

static hmath_context *ctx;

enum { RANKS = HMATH_TENSOR_MAX_RANK };

static inline int64_t size_of(int32_t rank, const int64_t *shape)
{
    int64_t size = 1;
    for (int32_t i = 0; i < rank; i++)
        size *= shape[i];
    return size;
}

/* 1, 2, 3, ... under a shape; NULL after a failed check. */
static inline hmath_value *counting(int32_t rank, const int64_t *shape)
{
    int64_t size = size_of(rank, shape);
    double *values = malloc(sizeof *values * (size_t)(size ? size : 1));
    for (int64_t i = 0; i < size; i++)
        values[i] = (double)(i + 1);
    hmath_value *v = NULL;
    CHECK_INT(hmath_tensor_create(ctx, rank, shape, values, &v), HMATH_OK);
    free(values);
    return v;
}

static inline hmath_value *tensor_of(int32_t rank, const int64_t *shape, const double *values)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_tensor_create(ctx, rank, shape, values, &v), HMATH_OK);
    return v;
}

static inline hmath_value *counting_floats(int32_t rank, const int64_t *shape)
{
    hmath_value *doubles = counting(rank, shape), *v = NULL;
    CHECK_INT(hmath_tensor_demote(ctx, doubles, &v), HMATH_OK);
    hmath_release(doubles);
    return v;
}

static inline double value_at(const hmath_value *v, int64_t i)
{
    const double *data = hmath_tensor_data(v);
    return data ? data[i] : (double)hmath_tensor_float_data(v)[i];
}

static inline int has_shape(const hmath_value *v, int32_t rank, const int64_t *shape)
{
    return hmath_tensor_rank(v) == rank &&
           (rank == 0 || memcmp(hmath_tensor_shape(v), shape, sizeof *shape * (size_t)rank) == 0);
}

/* The next position of a box in row-major order; false after the last. */
static inline int advance(int32_t rank, const int64_t *shape, int64_t *position)
{
    for (int32_t i = rank - 1; i >= 0; i--) {
        if (++position[i] < shape[i])
            return 1;
        position[i] = 0;
    }
    return 0;
}

/* The flat place of a position; an extent of 1 repeats (broadcasting). */
static inline int64_t place_of(int32_t rank, const int64_t *shape, const int64_t *position)
{
    int64_t place = 0;
    for (int32_t i = 0; i < rank; i++)
        place = place * shape[i] + (shape[i] == 1 ? 0 : position[i]);
    return place;
}

/* A small generator, so that sweeps over random shapes are the same on every run. */
static inline uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int64_t random_below(uint64_t *state, int64_t bound)
{
    return (int64_t)(next_random(state) % (uint64_t)bound);
}

/* The call has failed with this constructor, at this argument and index, and left `out` alone. */
#define CHECK_FAILS(call, wanted_constructor, wanted_argument, wanted_index) \
    do { \
        hmath_value *out = (hmath_value *)&ctx; \
        CHECK_INT((call), HMATH_CHECKED); \
        CHECK(out == (hmath_value *)&ctx); \
        const hmath_error *error = hmath_last_error(ctx); \
        if (CHECK(error != NULL)) { \
            CHECK_INT(error->constructor, (wanted_constructor)); \
            CHECK_TEXT(error->argument, (wanted_argument)); \
            CHECK_INT(error->index, (wanted_index)); \
        } \
    } while (0)

#define CHECK_BAD(call) \
    do { \
        hmath_value *out = (hmath_value *)&ctx; \
        CHECK_INT((call), HMATH_BAD_ARGUMENT); \
        CHECK(out == (hmath_value *)&ctx); \
    } while (0)

/*
 * Run `build`, which makes one value, with the n-th allocation failing, for every n: each time it
 * has to say HMATH_NO_MEMORY and leave nothing behind.
 */
static inline void check_every_allocation(hmath_status (*build)(hmath_value **out))
{
    for (int64_t n = 0;; n++) {
        int64_t before = hmath_live_values();
        hmath_value *out = NULL;
        hm_test_fail_allocation(n);
        hmath_status st = build(&out);
        int failed = hm_test_allocation_failed();
        hm_test_fail_allocation(-1);
        if (!failed) {
            CHECK_INT(st, HMATH_OK);
            hmath_release(out);
            return;
        }
        CHECK_INT(st, HMATH_NO_MEMORY);
        CHECK(out == NULL);
        CHECK_INT(hmath_live_values(), before);
    }
}

#endif
