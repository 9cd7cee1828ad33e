/* Tensors made, read and moved, through the public functions. */
#include <float.h>

#include "tensors.h"

/* ------------------------------------------------- making and reading */

static void test_create(void)
{
    const double values[] = {1, -0.0, INFINITY, NAN, 5e-324, 6};
    hmath_value *v = tensor_of(2, (int64_t[]){2, 3}, values);
    CHECK_INT(hmath_kind(v), HMATH_KIND_TENSOR_DOUBLE);
    CHECK_INT(hmath_tensor_rank(v), 2);
    CHECK_INT(hmath_tensor_size(v), 6);
    CHECK(has_shape(v, 2, (int64_t[]){2, 3}));
    CHECK(memcmp(hmath_tensor_data(v), values, sizeof values) == 0);
    CHECK((uintptr_t)hmath_tensor_data(v) % 64 == 0);
    CHECK(hmath_tensor_float_data(v) == NULL);
    hmath_release(v);

    v = tensor_of(0, NULL, values);
    CHECK_INT(hmath_tensor_rank(v), 0);
    CHECK_INT(hmath_tensor_size(v), 1);
    CHECK(hmath_tensor_shape(v) != NULL);
    CHECK_BITS(value_at(v, 0), 1);
    hmath_release(v);

    v = tensor_of(3, (int64_t[]){2, 0, 3}, NULL);
    CHECK_INT(hmath_tensor_size(v), 0);
    CHECK(hmath_tensor_data(v) != NULL);
    hmath_release(v);

    const float floats[] = {0.1f, -3};
    CHECK_INT(hmath_tensor_from_floats(ctx, 1, (int64_t[]){2}, floats, &v), HMATH_OK);
    CHECK_INT(hmath_kind(v), HMATH_KIND_TENSOR_FLOAT);
    CHECK(hmath_tensor_data(v) == NULL);
    CHECK(memcmp(hmath_tensor_float_data(v), floats, sizeof floats) == 0);
    hmath_release(v);

    int64_t eight[] = {2, 1, 2, 1, 2, 1, 2, 1};
    v = counting(8, eight);
    CHECK(has_shape(v, 8, eight));
    hmath_release(v);
}

static void test_readers_of_other_values(void)
{
    hmath_value *number = NULL;
    CHECK_INT(hmath_double_create(ctx, 1.0, &number), HMATH_OK);
    const hmath_value *none[] = {NULL, number};
    for (int i = 0; i < 2; i++) {
        CHECK_INT(hmath_tensor_rank(none[i]), -1);
        CHECK_INT(hmath_tensor_size(none[i]), -1);
        CHECK(hmath_tensor_shape(none[i]) == NULL);
        CHECK(hmath_tensor_data(none[i]) == NULL);
        CHECK(hmath_tensor_float_data(none[i]) == NULL);
        CHECK_INT(hmath_tensor_identical(none[i], none[i]), -1);
    }
    hmath_release(number);
}

static void test_fill(void)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_tensor_zeros(ctx, 2, (int64_t[]){3, 5}, &v), HMATH_OK);
    for (int64_t i = 0; i < 15; i++)
        CHECK_BITS(value_at(v, i), 0.0);
    hmath_release(v);
    CHECK_INT(hmath_tensor_full(ctx, 1, (int64_t[]){7}, -INFINITY, &v), HMATH_OK);
    for (int64_t i = 0; i < 7; i++)
        CHECK_BITS(value_at(v, i), -INFINITY);
    hmath_release(v);
    CHECK_INT(hmath_tensor_zeros(ctx, 2, (int64_t[]){0, INT64_MAX / 8}, &v), HMATH_OK);
    CHECK_INT(hmath_tensor_size(v), 0);
    hmath_release(v);
}

static void test_bad_shapes(void)
{
    const double x = 1;
    CHECK_FAILS(hmath_tensor_create(ctx, 2, (int64_t[]){2, -1}, &x, &out), HMATH_DOMAIN_ERROR,
                "shape", 1);
    CHECK_FAILS(hmath_tensor_zeros(ctx, 9, (int64_t[9]){0}, &out), HMATH_DIMENSION_MISMATCH,
                "shape", -1);
    CHECK_FAILS(hmath_tensor_full(ctx, -1, NULL, x, &out), HMATH_DIMENSION_MISMATCH, "shape", -1);
    CHECK_BAD(hmath_tensor_create(ctx, 1, NULL, &x, &out));
    CHECK_BAD(hmath_tensor_create(ctx, 1, (int64_t[]){1}, NULL, &out));
    CHECK_BAD(hmath_tensor_create(ctx, 0, NULL, NULL, &out));
    CHECK_BAD(hmath_tensor_create(NULL, 0, NULL, &x, &out));
    CHECK_INT(hmath_tensor_create(ctx, 0, NULL, &x, NULL), HMATH_BAD_ARGUMENT);
    CHECK_BAD(hmath_tensor_from_floats(ctx, 1, (int64_t[]){2}, NULL, &out));
    CHECK_BAD(hmath_tensor_zeros(ctx, 1, NULL, &out));

    const int64_t huge[][3] = {{INT64_MAX, 2, 1},
                               {INT64_MAX / 8, 2, 1},
                               {(int64_t)1 << 40, (int64_t)1 << 17, 1},
                               {0, INT64_MAX / 8, 2}}; /* empty, but no stride over it would fit */
    for (int i = 0; i < 4; i++) {
        hmath_value *out = (hmath_value *)&ctx;
        CHECK_INT(hmath_tensor_zeros(ctx, 3, huge[i], &out), HMATH_NO_MEMORY);
        CHECK_INT(hmath_tensor_create(ctx, 3, huge[i], &x, &out), HMATH_NO_MEMORY);
        CHECK(out == (hmath_value *)&ctx);
    }
}

static void count_release(void *user) { ++*(int *)user; }

static void test_adopt(void)
{
    double data[6] = {1, 2, 3, 4, 5, 6};
    float floats[2] = {1, 2};
    int released = 0;
    hmath_value *v = NULL, *view = NULL;
    CHECK_INT(hmath_tensor_adopt(ctx, 2, (int64_t[]){2, 3}, data, count_release, &released, &v),
              HMATH_OK);
    CHECK(hmath_tensor_data(v) == data);
    CHECK_INT(hmath_tensor_reshape(ctx, v, 1, (int64_t[]){6}, &view), HMATH_OK);
    CHECK(hmath_tensor_data(view) == data);
    hmath_release(v);
    CHECK_INT(released, 0);
    hmath_release(view);
    CHECK_INT(released, 1);

    CHECK_INT(hmath_tensor_adopt(ctx, 1, (int64_t[]){6}, data, NULL, NULL, &v), HMATH_OK);
    hmath_release(v);
    CHECK_INT(
        hmath_tensor_adopt_floats(ctx, 1, (int64_t[]){2}, floats, count_release, &released, &v),
        HMATH_OK);
    CHECK(hmath_tensor_float_data(v) == floats);
    hmath_release(v);
    CHECK_INT(released, 2);
    CHECK_INT(hmath_tensor_adopt(ctx, 1, (int64_t[]){0}, NULL, count_release, &released, &v),
              HMATH_OK);
    CHECK(hmath_tensor_data(v) != NULL);
    hmath_release(v);
    CHECK_INT(released, 3);

    /* what fails releases nothing */
    CHECK_BAD(hmath_tensor_adopt(ctx, 1, (int64_t[]){1}, NULL, count_release, &released, &out));
    double *askew = (double *)(void *)((char *)data + 4);
    CHECK_BAD(hmath_tensor_adopt(ctx, 1, (int64_t[]){1}, askew, count_release, &released, &out));
    CHECK_BAD(
        hmath_tensor_adopt_floats(ctx, 1, (int64_t[]){1}, NULL, count_release, &released, &out));
    CHECK_FAILS(hmath_tensor_adopt(ctx, 1, (int64_t[]){-1}, data, count_release, &released, &out),
                HMATH_DOMAIN_ERROR, "shape", 0);
    CHECK_INT(released, 3);
}

static void test_identical(void)
{
    const double zero = 0.0, minus = -0.0, nan = NAN;
    hmath_value *a = tensor_of(1, (int64_t[]){1}, &zero), *b = tensor_of(1, (int64_t[]){1}, &minus);
    hmath_value *c = tensor_of(0, NULL, &zero), *d = tensor_of(0, NULL, &nan),
                *f = counting_floats(0, NULL);
    CHECK_INT(hmath_tensor_identical(a, a), 1);
    CHECK_INT(hmath_tensor_identical(a, b), 0);
    CHECK_INT(hmath_tensor_identical(a, c), 0);
    CHECK_INT(hmath_tensor_identical(d, d), 1);
    CHECK_INT(hmath_tensor_identical(c, f), 0);
    hmath_value *all[] = {a, b, c, d, f};
    for (int i = 0; i < 5; i++)
        hmath_release(all[i]);
}

static void test_element(void)
{
    hmath_value *v = counting(2, (int64_t[]){2, 3}), *f = counting_floats(1, (int64_t[]){2});
    hmath_value *scalar = counting(0, NULL);
    double x = -1;
    CHECK_INT(hmath_tensor_element(ctx, v, (int64_t[]){1, 2}, &x), HMATH_OK);
    CHECK_BITS(x, 6);
    CHECK_INT(hmath_tensor_element(ctx, f, (int64_t[]){1}, &x), HMATH_OK);
    CHECK_BITS(x, 2);
    CHECK_INT(hmath_tensor_element(ctx, scalar, NULL, &x), HMATH_OK);
    CHECK_BITS(x, 1);
    CHECK_INT(hmath_tensor_element(ctx, v, (int64_t[]){1, 3}, &x), HMATH_CHECKED);
    CHECK_INT(hmath_last_error(ctx)->constructor, HMATH_INDEX_OUT_OF_BOUNDS);
    CHECK_INT(hmath_last_error(ctx)->index, 1);
    CHECK_INT(hmath_last_error(ctx)->bound, 3);
    CHECK_INT(hmath_tensor_element(ctx, v, (int64_t[]){-1, 0}, &x), HMATH_CHECKED);
    CHECK_INT(hmath_tensor_element(ctx, v, NULL, &x), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_tensor_element(ctx, v, (int64_t[]){0, 0}, NULL), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_tensor_element(ctx, NULL, NULL, &x), HMATH_BAD_ARGUMENT);
    CHECK_BITS(x, 1);
    hmath_release(v);
    hmath_release(f);
    hmath_release(scalar);
}

/* ------------------------------------------------- between the two kinds */

/*
 * Ties, the edge of the range and subnormals of binary32; the conversion itself is the processor's.
 */
static void test_demote(void)
{
    const struct {
        double from;
        float to;
    } cases[] = {
        {1 + 0x1p-24, 1.0f},
        {1 + 0x1p-24 + 0x1p-52, 1 + 0x1p-23f},
        {1 + 3 * 0x1p-24, 1 + 0x1p-22f},
        {-0.0, -0.0f},
        {0x1p-149, 0x1p-149f},
        {0x1p-150, 0.0f},
        {-0x1.8p-150, -0x1p-149f},
        {5e-324, 0.0f},
        {FLT_MAX, FLT_MAX},
        {0x1.fffffefffffffp127, FLT_MAX},
    };
    enum { CASES = sizeof cases / sizeof *cases };
    double values[CASES];
    for (int i = 0; i < CASES; i++)
        values[i] = cases[i].from;
    hmath_value *v = tensor_of(1, (int64_t[]){CASES}, values), *f = NULL, *back = NULL;
    CHECK_INT(hmath_tensor_demote(ctx, v, &f), HMATH_OK);
    for (int i = 0; i < CASES; i++)
        CHECK(memcmp(&hmath_tensor_float_data(f)[i], &cases[i].to, sizeof(float)) == 0);
    CHECK_INT(hmath_tensor_promote(ctx, f, &back), HMATH_OK);
    for (int i = 0; i < CASES; i++)
        CHECK_BITS(value_at(back, i), (double)cases[i].to);
    hmath_release(back);

    CHECK_FAILS(hmath_tensor_promote(ctx, v, &out), HMATH_TYPE_MISMATCH, "input", -1);
    CHECK_FAILS(hmath_tensor_demote(ctx, f, &out), HMATH_TYPE_MISMATCH, "input", -1);
    hmath_release(v);
    hmath_release(f);
}

/* At every place of vectors and tails: which element is told. */
static void test_demote_failures(void)
{
    double values[70] = {0};
    for (int64_t place = 0; place < 70; place++) {
        values[place] = NAN;
        hmath_value *v = tensor_of(1, (int64_t[]){70}, values);
        CHECK_FAILS(hmath_tensor_demote(ctx, v, &out), HMATH_NON_FINITE, "input", place);
        hmath_release(v);
        values[place] = 0x1.ffffffp127; /* half way to 2^128: rounds beyond the largest float */
        v = tensor_of(1, (int64_t[]){70}, values);
        CHECK_FAILS(hmath_tensor_demote(ctx, v, &out), HMATH_OVERFLOW, NULL, -1);
        hmath_release(v);
        values[place] = 0;
    }
    const float infinite[] = {1, -INFINITY, NAN};
    hmath_value *f = NULL, *v = NULL;
    CHECK_INT(hmath_tensor_from_floats(ctx, 1, (int64_t[]){3}, infinite, &f), HMATH_OK);
    CHECK_INT(hmath_tensor_promote(ctx, f, &v), HMATH_OK); /* data in motion may be anything */
    CHECK_BITS(value_at(v, 1), -INFINITY);
    hmath_release(f);
    hmath_release(v);
}

/* ------------------------------------------------- reshape */

static void test_reshape(void)
{
    hmath_value *v = counting(2, (int64_t[]){4, 6}), *r = NULL,
                *empty = tensor_of(1, (int64_t[]){0}, NULL);
    CHECK_INT(hmath_tensor_reshape(ctx, v, 3, (int64_t[]){2, 1, 12}, &r), HMATH_OK);
    CHECK(has_shape(r, 3, (int64_t[]){2, 1, 12}));
    CHECK(hmath_tensor_data(r) == hmath_tensor_data(v));
    hmath_release(r);
    CHECK_INT(hmath_tensor_reshape(ctx, empty, 2, (int64_t[]){0, INT64_MAX / 8}, &r), HMATH_OK);
    hmath_release(r);
    CHECK_FAILS(hmath_tensor_reshape(ctx, v, 2, (int64_t[]){4, 5}, &out), HMATH_DIMENSION_MISMATCH,
                "shape", -1);
    CHECK_FAILS(hmath_tensor_reshape(ctx, v, 2, (int64_t[]){24, -1}, &out), HMATH_DOMAIN_ERROR,
                "shape", 1);
    CHECK_FAILS(hmath_tensor_reshape(ctx, v, 3, (int64_t[]){INT64_MAX, INT64_MAX, 24}, &out),
                HMATH_DIMENSION_MISMATCH, "shape", -1);
    CHECK_FAILS(hmath_tensor_reshape(ctx, v, 9, (int64_t[]){24, 1, 1, 1, 1, 1, 1, 1, 1}, &out),
                HMATH_DIMENSION_MISMATCH, "shape", -1);
    CHECK_FAILS(hmath_tensor_reshape(ctx, v, 0, NULL, &out), HMATH_DIMENSION_MISMATCH, "shape", -1);
    CHECK_BAD(hmath_tensor_reshape(ctx, v, 1, NULL, &out));
    CHECK_BAD(hmath_tensor_reshape(ctx, NULL, 0, NULL, &out));
    hmath_value *number = NULL;
    CHECK_INT(hmath_double_create(ctx, 1.0, &number), HMATH_OK);
    CHECK_FAILS(hmath_tensor_reshape(ctx, number, 0, NULL, &out), HMATH_TYPE_MISMATCH, "input", -1);
    hmath_release(number);
    hmath_release(v);
    hmath_release(empty);
}

/* ------------------------------------------------- transpose */

static void check_transposed(const hmath_value *input, const hmath_value *result,
                             const int64_t *axes)
{
    const int32_t rank = hmath_tensor_rank(input);
    const int64_t *shape = hmath_tensor_shape(input), *found = hmath_tensor_shape(result);
    int64_t position[RANKS] = {0}, back[RANKS] = {0};
    for (int32_t i = 0; i < rank; i++)
        CHECK_INT(found[i], shape[axes[i]]);
    if (hmath_tensor_size(input) == 0)
        return;
    do {
        for (int32_t i = 0; i < rank; i++)
            back[axes[i]] = position[i];
        double wanted = value_at(input, place_of(rank, shape, back));
        if (!CHECK_BITS(value_at(result, place_of(rank, found, position)), wanted))
            return;
    } while (advance(rank, found, position));
}

static void check_transpose(int32_t rank, const int64_t *shape, const int64_t *axes)
{
    hmath_value *v = counting(rank, shape), *f = counting_floats(rank, shape), *r = NULL;
    CHECK_INT(hmath_tensor_transpose(ctx, v, axes, &r), HMATH_OK);
    check_transposed(v, r, axes);
    hmath_release(r);
    CHECK_INT(hmath_tensor_transpose(ctx, f, axes, &r), HMATH_OK);
    CHECK_INT(hmath_kind(r), HMATH_KIND_TENSOR_FLOAT);
    check_transposed(f, r, axes);
    hmath_release(r);
    hmath_release(f);
    hmath_release(v);
}

static void test_transpose(void)
{
    const int64_t matrices[][2] = {{1, 1},   {1, 7},   {7, 1},   {3, 5},    {8, 8},
                                   {9, 17},  {16, 24}, {64, 64}, {65, 63},  {3, 200},
                                   {200, 3}, {0, 4},   {4, 0},   {129, 130}};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        check_transpose(2, matrices[i], (int64_t[]){1, 0});

    uint64_t state = 1;
    for (int trial = 0; trial < 300; trial++) {
        int32_t rank = (int32_t)random_below(&state, RANKS + 1);
        int64_t shape[RANKS], axes[RANKS];
        for (int32_t i = 0; i < rank; i++) {
            shape[i] = 1 + random_below(&state, rank <= 4 ? 11 : 3);
            axes[i] = i;
        }
        for (int32_t i = rank - 1; i > 0; i--) {
            int32_t j = (int32_t)random_below(&state, i + 1);
            int64_t swapped = axes[i];
            axes[i] = axes[j];
            axes[j] = swapped;
        }
        check_transpose(rank, shape, axes);
    }

    hmath_value *v = counting(3, (int64_t[]){2, 3, 4}), *r = NULL;
    CHECK_INT(hmath_tensor_transpose(ctx, v, NULL, &r), HMATH_OK);
    check_transposed(v, r, (int64_t[]){2, 1, 0});
    hmath_release(r);
    CHECK_FAILS(hmath_tensor_transpose(ctx, v, (int64_t[]){0, 1, 3}, &out),
                HMATH_INDEX_OUT_OF_BOUNDS, "axes", 2);
    CHECK_FAILS(hmath_tensor_transpose(ctx, v, (int64_t[]){-1, 1, 0}, &out),
                HMATH_INDEX_OUT_OF_BOUNDS, "axes", 0);
    CHECK_FAILS(hmath_tensor_transpose(ctx, v, (int64_t[]){2, 1, 2}, &out), HMATH_DOMAIN_ERROR,
                "axes", 2);
    hmath_release(v);
}

/* ------------------------------------------------- slice */

static int64_t count_of(int64_t start, int64_t stop, int64_t step)
{
    int64_t n = 0;
    for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step)
        n++;
    return n;
}

static void check_slice(const hmath_value *v, const int64_t *start, const int64_t *stop,
                        const int64_t *step)
{
    const int32_t rank = hmath_tensor_rank(v);
    const int64_t *shape = hmath_tensor_shape(v);
    hmath_value *r = NULL;
    if (!CHECK_INT(hmath_tensor_slice(ctx, v, start, stop, step, &r), HMATH_OK))
        return;
    const int64_t *found = hmath_tensor_shape(r);
    int64_t position[RANKS] = {0}, back[RANKS];
    for (int32_t i = 0; i < rank; i++)
        CHECK_INT(found[i], count_of(start[i], stop[i], step[i]));
    if (hmath_tensor_size(r) > 0)
        do {
            for (int32_t i = 0; i < rank; i++)
                back[i] = start[i] + position[i] * step[i];
            double wanted = value_at(v, place_of(rank, shape, back));
            if (!CHECK_BITS(value_at(r, place_of(rank, found, position)), wanted))
                break;
        } while (advance(rank, found, position));
    hmath_release(r);
}

static void test_slice(void)
{
    uint64_t state = 2;
    for (int trial = 0; trial < 500; trial++) {
        int32_t rank = (int32_t)random_below(&state, 5);
        int64_t shape[RANKS], start[RANKS], stop[RANKS], step[RANKS];
        for (int32_t i = 0; i < rank; i++) {
            shape[i] = random_below(&state, 24);
            step[i] = 1 + random_below(&state, 4);
            if (random_below(&state, 2) == 0)
                step[i] = -step[i];
            int64_t least = step[i] > 0 ? 0 : -1;
            start[i] = least + random_below(&state, shape[i] + 1);
            stop[i] = least + random_below(&state, shape[i] + 1);
        }
        hmath_value *v = trial % 2 ? counting(rank, shape) : counting_floats(rank, shape);
        check_slice(v, start, stop, step);
        hmath_release(v);
    }

    hmath_value *v = counting(2, (int64_t[]){4, 5}), *r = NULL;
    const int64_t zero[] = {0, 0}, all[] = {4, 5}, ones[] = {1, 1};
    check_slice(v, zero, all, (int64_t[]){INT64_MAX, 1});
    check_slice(v, (int64_t[]){3, 0}, (int64_t[]){-1, 5}, (int64_t[]){INT64_MIN, 1});
    CHECK_INT(hmath_tensor_slice(ctx, v, NULL, NULL, NULL, &r), HMATH_OK);
    CHECK_INT(hmath_tensor_identical(r, v), 1);
    hmath_release(r);
    CHECK_FAILS(hmath_tensor_slice(ctx, v, zero, all, (int64_t[]){1, 0}, &out), HMATH_DOMAIN_ERROR,
                "step", 1);
    CHECK_FAILS(hmath_tensor_slice(ctx, v, (int64_t[]){5, 0}, all, ones, &out),
                HMATH_INDEX_OUT_OF_BOUNDS, "start", 0);
    CHECK_FAILS(hmath_tensor_slice(ctx, v, zero, (int64_t[]){4, 6}, ones, &out),
                HMATH_INDEX_OUT_OF_BOUNDS, "stop", 1);
    CHECK_FAILS(hmath_tensor_slice(ctx, v, (int64_t[]){-1, 0}, all, ones, &out),
                HMATH_INDEX_OUT_OF_BOUNDS, "start", 0);
    CHECK_FAILS(hmath_tensor_slice(ctx, v, (int64_t[]){4, 0}, zero, (int64_t[]){-1, 1}, &out),
                HMATH_INDEX_OUT_OF_BOUNDS, "start", 0);
    CHECK_BAD(hmath_tensor_slice(ctx, v, NULL, all, ones, &out));
    CHECK_BAD(hmath_tensor_slice(ctx, v, zero, NULL, ones, &out));
    hmath_release(v);
}

/* ------------------------------------------------- concatenate, stack */

static void test_concatenate(void)
{
    uint64_t state = 3;
    for (int trial = 0; trial < 200; trial++) {
        int32_t rank = 1 + (int32_t)random_below(&state, 4);
        int64_t axis = random_below(&state, rank), shape[RANKS], length = 0;
        for (int32_t i = 0; i < rank; i++)
            shape[i] = 1 + random_below(&state, 6);
        enum { COUNT = 3 };
        hmath_value *parts[COUNT], *r = NULL;
        for (int i = 0; i < COUNT; i++) {
            shape[axis] = random_below(&state, 20);
            length += shape[axis];
            parts[i] = trial % 2 ? counting(rank, shape) : counting_floats(rank, shape);
        }
        CHECK_INT(hmath_tensor_concatenate(ctx, (const hmath_value *const *)parts, COUNT, axis, &r),
                  HMATH_OK);
        shape[axis] = length;
        CHECK(has_shape(r, rank, shape));
        int64_t position[RANKS] = {0};
        if (length > 0)
            do {
                int64_t back[RANKS];
                int part = 0;
                memcpy(back, position, sizeof back);
                while (back[axis] >= hmath_tensor_shape(parts[part])[axis])
                    back[axis] -= hmath_tensor_shape(parts[part++])[axis];
                /* no broadcasting: extents of 1 come with position 0 */
                double wanted =
                    value_at(parts[part], place_of(rank, hmath_tensor_shape(parts[part]), back));
                if (!CHECK_BITS(value_at(r, place_of(rank, shape, position)), wanted))
                    break;
            } while (advance(rank, shape, position));
        hmath_release(r);
        for (int i = 0; i < COUNT; i++)
            hmath_release(parts[i]);
    }
}

static void test_stack(void)
{
    for (int32_t rank = 0; rank < RANKS; rank++)
        for (int64_t axis = 0; axis <= rank; axis++) {
            const int64_t shape[] = {3, 2, 1, 2, 3, 1, 2};
            hmath_value *a = counting(rank, shape), *b = NULL, *r = NULL;
            CHECK_INT(hmath_tensor_full(ctx, rank, shape, -1.0, &b), HMATH_OK);
            const hmath_value *parts[] = {a, b};
            CHECK_INT(hmath_tensor_stack(ctx, parts, 2, axis, &r), HMATH_OK);
            const int64_t *found = hmath_tensor_shape(r);
            CHECK_INT(hmath_tensor_rank(r), rank + 1);
            CHECK_INT(found[axis], 2);
            int64_t position[RANKS] = {0};
            do {
                int64_t back[RANKS];
                for (int32_t i = 0; i < rank; i++)
                    back[i] = position[i + (i >= axis)];
                double wanted = value_at(parts[position[axis]], place_of(rank, shape, back));
                CHECK_BITS(value_at(r, place_of(rank + 1, found, position)), wanted);
            } while (advance(rank + 1, found, position));
            hmath_release(a);
            hmath_release(b);
            hmath_release(r);
        }
}

static void test_bad_joins(void)
{
    hmath_value *a = counting(2, (int64_t[]){2, 3}), *b = counting(2, (int64_t[]){2, 4});
    hmath_value *c = counting(1, (int64_t[]){3}), *f = counting_floats(2, (int64_t[]){2, 3});
    hmath_value *number = NULL, *deep = counting(8, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1});
    hmath_value *scalar = counting(0, NULL);
    CHECK_INT(hmath_double_create(ctx, 1.0, &number), HMATH_OK);
#define PAIR(x, y) (const hmath_value *[]){(x), (y)}, 2
    CHECK_FAILS(hmath_tensor_concatenate(ctx, PAIR(a, b), 0, &out), HMATH_DIMENSION_MISMATCH,
                "tensors", -1);
    CHECK_FAILS(hmath_tensor_concatenate(ctx, PAIR(a, c), 0, &out), HMATH_DIMENSION_MISMATCH,
                "tensors", -1);
    CHECK_FAILS(hmath_tensor_concatenate(ctx, PAIR(a, f), 0, &out), HMATH_TYPE_MISMATCH, "tensors",
                -1);
    CHECK_FAILS(hmath_tensor_concatenate(ctx, PAIR(f, a), 9, &out), HMATH_TYPE_MISMATCH, "tensors",
                -1);
    CHECK_FAILS(hmath_tensor_concatenate(ctx, PAIR(a, number), 0, &out), HMATH_TYPE_MISMATCH,
                "tensors", -1);
    CHECK_FAILS(hmath_tensor_concatenate(ctx, PAIR(a, b), 2, &out), HMATH_INDEX_OUT_OF_BOUNDS,
                "axis", -1);
    CHECK_FAILS(hmath_tensor_concatenate(ctx, PAIR(a, b), -1, &out), HMATH_INDEX_OUT_OF_BOUNDS,
                "axis", -1);
    CHECK_FAILS(hmath_tensor_concatenate(ctx, PAIR(scalar, scalar), 0, &out),
                HMATH_INDEX_OUT_OF_BOUNDS, "axis", -1);
    CHECK_FAILS(hmath_tensor_concatenate(ctx, NULL, 0, 0, &out), HMATH_EMPTY_INPUT, "tensors", -1);
    CHECK_BAD(hmath_tensor_concatenate(ctx, NULL, 1, 0, &out));
    CHECK_BAD(hmath_tensor_concatenate(ctx, PAIR(a, NULL), 0, &out));
    CHECK_FAILS(hmath_tensor_stack(ctx, PAIR(a, b), 0, &out), HMATH_DIMENSION_MISMATCH, "tensors",
                -1);
    CHECK_FAILS(hmath_tensor_stack(ctx, PAIR(a, a), 3, &out), HMATH_INDEX_OUT_OF_BOUNDS, "axis",
                -1);
    CHECK_FAILS(hmath_tensor_stack(ctx, PAIR(deep, deep), 0, &out), HMATH_DIMENSION_MISMATCH,
                "tensors", -1);
    CHECK_FAILS(hmath_tensor_stack(ctx, NULL, 0, 0, &out), HMATH_EMPTY_INPUT, "tensors", -1);
    CHECK_FAILS(hmath_tensor_stack(ctx, PAIR(f, a), 0, &out), HMATH_TYPE_MISMATCH, "tensors", -1);
#undef PAIR
    hmath_value *all[] = {a, b, c, f, number, deep, scalar};
    for (int i = 0; i < 7; i++)
        hmath_release(all[i]);
}

/* ------------------------------------------------- broadcast_to */

static void test_broadcast_to(void)
{
    uint64_t state = 4;
    for (int trial = 0; trial < 300; trial++) {
        int32_t rank = (int32_t)random_below(&state, 6), added = (int32_t)random_below(&state, 3);
        int64_t shape[RANKS], from[RANKS];
        for (int32_t i = 0; i < rank + added; i++)
            shape[i] = random_below(&state, 7);
        for (int32_t i = 0; i < rank; i++)
            from[i] = random_below(&state, 3) == 0 ? 1 : shape[added + i];
        hmath_value *v = trial % 2 ? counting(rank, from) : counting_floats(rank, from), *r = NULL;
        CHECK_INT(hmath_tensor_broadcast_to(ctx, v, rank + added, shape, &r), HMATH_OK);
        CHECK(has_shape(r, rank + added, shape));
        int64_t position[RANKS] = {0};
        if (hmath_tensor_size(r) > 0)
            do {
                double wanted = value_at(v, place_of(rank, from, position + added));
                if (!CHECK_BITS(value_at(r, place_of(rank + added, shape, position)), wanted))
                    break;
            } while (advance(rank + added, shape, position));
        hmath_release(v);
        hmath_release(r);
    }
    hmath_value *v = counting(2, (int64_t[]){2, 3});
    CHECK_FAILS(hmath_tensor_broadcast_to(ctx, v, 1, (int64_t[]){3}, &out),
                HMATH_DIMENSION_MISMATCH, "shape", -1);
    CHECK_FAILS(hmath_tensor_broadcast_to(ctx, v, 2, (int64_t[]){4, 3}, &out),
                HMATH_DIMENSION_MISMATCH, "shape", -1);
    CHECK_FAILS(hmath_tensor_broadcast_to(ctx, v, 3, (int64_t[]){-4, 2, 3}, &out),
                HMATH_DOMAIN_ERROR, "shape", 0);
    hmath_value *huge = NULL;
    CHECK_INT(hmath_tensor_broadcast_to(ctx, v, 3, (int64_t[]){INT64_MAX / 4, 2, 3}, &huge),
              HMATH_NO_MEMORY);
    CHECK_BAD(hmath_tensor_broadcast_to(ctx, v, 2, NULL, &out));
    hmath_release(v);
}

/* ------------------------------------------------- threads, memory */

/* Large enough for several chunks: the same bits on one thread and on five. */
static void test_movement_on_threads(void)
{
    hmath_value *v = counting(3, (int64_t[]){37, 61, 203}), *results[2][3] = {{NULL}};
    for (int run = 0; run < 2; run++) {
        hmath_options options = {.struct_size = sizeof options, .threads = run == 0 ? 1 : 5};
        hmath_context *own = NULL;
        CHECK_INT(hmath_context_create(&options, &own), HMATH_OK);
        CHECK_INT(hmath_tensor_transpose(own, v, (int64_t[]){2, 0, 1}, &results[run][0]), HMATH_OK);
        CHECK_INT(hmath_tensor_slice(own, v, (int64_t[]){0, 60, 1}, (int64_t[]){37, -1, 203},
                                     (int64_t[]){1, -1, 2}, &results[run][1]),
                  HMATH_OK);
        CHECK_INT(hmath_tensor_demote(own, v, &results[run][2]), HMATH_OK);
        hmath_context_destroy(own);
    }
    check_transposed(v, results[1][0], (int64_t[]){2, 0, 1});
    for (int i = 0; i < 3; i++) {
        CHECK_INT(hmath_tensor_identical(results[0][i], results[1][i]), 1);
        hmath_release(results[0][i]);
        hmath_release(results[1][i]);
    }
    hmath_release(v);
}

static hmath_value *input, *floats;

static hmath_status make_zeros(hmath_value **out)
{
    return hmath_tensor_zeros(ctx, 2, (int64_t[]){30, 40}, out);
}

static hmath_status adopt_nothing(hmath_value **out)
{
    return hmath_tensor_adopt(ctx, 1, (int64_t[]){0}, NULL, NULL, NULL, out);
}

static hmath_status reshape_it(hmath_value **out)
{
    return hmath_tensor_reshape(ctx, input, 1, (int64_t[]){6}, out);
}

static hmath_status transpose_it(hmath_value **out)
{
    return hmath_tensor_transpose(ctx, input, NULL, out);
}

static hmath_status slice_it(hmath_value **out)
{
    return hmath_tensor_slice(ctx, floats, NULL, NULL, NULL, out);
}

static hmath_status concatenate_them(hmath_value **out)
{
    return hmath_tensor_concatenate(ctx, (const hmath_value *[]){input, input}, 2, 1, out);
}

static hmath_status stack_them(hmath_value **out)
{
    return hmath_tensor_stack(ctx, (const hmath_value *[]){floats, floats}, 2, 1, out);
}

static hmath_status broadcast_it(hmath_value **out)
{
    return hmath_tensor_broadcast_to(ctx, input, 3, (int64_t[]){2, 2, 3}, out);
}

static hmath_status demote_it(hmath_value **out) { return hmath_tensor_demote(ctx, input, out); }

static hmath_status promote_it(hmath_value **out) { return hmath_tensor_promote(ctx, floats, out); }

static void test_every_allocation_fails(void)
{
    input = counting(2, (int64_t[]){2, 3});
    floats = counting_floats(2, (int64_t[]){2, 3});
    hmath_status (*const builds[])(hmath_value **) = {
        make_zeros, adopt_nothing,    reshape_it, transpose_it, slice_it,
        stack_them, concatenate_them, demote_it,  promote_it,   broadcast_it};
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        check_every_allocation(builds[i]);
    hmath_release(input);
    hmath_release(floats);
}

int main(void)
{
    if (hmath_context_create(NULL, &ctx) != HMATH_OK)
        return 1;
    RUN(test_create);
    RUN(test_readers_of_other_values);
    RUN(test_fill);
    RUN(test_bad_shapes);
    RUN(test_adopt);
    RUN(test_identical);
    RUN(test_element);
    RUN(test_demote);
    RUN(test_demote_failures);
    RUN(test_reshape);
    RUN(test_transpose);
    RUN(test_slice);
    RUN(test_concatenate);
    RUN(test_stack);
    RUN(test_bad_joins);
    RUN(test_broadcast_to);
    RUN(test_movement_on_threads);
    RUN(test_every_allocation_fails);
    CHECK_INT(hmath_live_values(), 0);
    hmath_context_destroy(ctx);
    return check_report();
}
