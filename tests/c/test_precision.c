/* deeplearning_precision through its wrappers: results, every failure, and running out of memory. */
#include <float.h>
#include <math.h>

#include "check.h"
#include "hmath_deeplearning.h"
#include "runtime/alloc.h"
#include "runtime/context.h"
#include "tensor/tensor.h"

static hmath_context *ctx;

static hmath_value *doubles(const double *data, size_t n)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_list_from_doubles(ctx, data, n, &v), HMATH_OK);
    return v;
}

static hmath_value *number(double x)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_double_create(ctx, x, &v), HMATH_OK);
    return v;
}

static hmath_value *integer(int64_t x)
{
    hmath_value *v = NULL;
    CHECK_INT(hmath_int_create(ctx, x, &v), HMATH_OK);
    return v;
}

static hmath_value *tensor(int32_t rank, const int64_t *extents, const double *values)
{
    hm_shape shape;
    hm_tensor *t = NULL;
    CHECK_INT(hm_enter(ctx, "test"), HMATH_OK);
    CHECK_INT(hm_shape_from_extents(ctx, "shape", rank, extents, &shape), HMATH_OK);
    CHECK_INT(hm_tensor_create(ctx, &shape, &t), HMATH_OK);
    hm_leave(ctx, HMATH_OK);
    if (t->size)
        memcpy(t->data, values, (size_t)t->size * sizeof *values);
    return &t->base;
}

static hmath_value *scheme(int symmetric)
{
    hmath_value *v = NULL;
    CHECK_INT(symmetric ? hmath_neural_precision_symmetric_create(ctx, &v)
                        : hmath_neural_precision_asymmetric_create(ctx, &v),
              HMATH_OK);
    return v;
}

static hmath_value *scaler(double scale, int64_t interval, int64_t steps)
{
    hmath_value *s = number(scale), *i = integer(interval), *f = integer(steps), *v = NULL;
    CHECK_INT(hmath_neural_precision_loss_scaler_create(ctx, s, i, f, &v), HMATH_OK);
    hmath_release(s);
    hmath_release(i);
    hmath_release(f);
    return v;
}

static void check_error(int32_t constructor, const char *argument, int64_t index)
{
    const hmath_error *error = hmath_last_error(ctx);
    if (!CHECK(error != NULL))
        return;
    CHECK_INT(error->constructor, constructor);
    CHECK_TEXT(error->argument, argument);
    CHECK_INT(error->index, index);
}

/* ------------------------------------------------- quantization */

static void test_quantize__both_schemes(void)
{
    const double data[] = {127.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, -127.0};
    const int8_t wanted[] = {127, 0, 2, 2, 0, -2, -2, -127};
    hmath_value *s = scheme(1), *t = tensor(1, (int64_t[]){8}, data), *q = NULL, *v = NULL;
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, NULL, t, &q), HMATH_OK);
    CHECK_INT(hmath_kind(q), HMATH_KIND_QUANTIZED_TENSOR);
    CHECK_INT(hmath_neural_precision_quantized_values(ctx, q, &v), HMATH_OK);
    hmath_release(q); /* the list lives on */
    const int8_t *bytes;
    size_t n;
    CHECK_INT(hmath_list_int8s(v, &bytes, &n), HMATH_OK);
    CHECK_INT((int64_t)n, 8);
    CHECK(memcmp(bytes, wanted, 8) == 0);
    hmath_release(v);
    hmath_release(t);
    hmath_release(s);

    const double lopsided[] = {-253.0, 257.0};
    s = scheme(0);
    t = tensor(1, (int64_t[]){2}, lopsided);
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, NULL, t, &q), HMATH_OK);
    CHECK_INT(hmath_neural_precision_quantized_values(ctx, q, &v), HMATH_OK);
    CHECK_INT(hmath_list_int8s(v, &bytes, &n), HMATH_OK);
    CHECK_INT(bytes[0], -128);
    CHECK_INT(bytes[1], 126);
    hmath_release(v);
    hmath_release(q);
    hmath_release(t);
    hmath_release(s);
}

/* Along every axis of a 3-D tensor, slice by slice equal to quantizing the slice alone. */
static void test_quantize__slices(void)
{
    enum { A = 3, B = 5, C = 70 };
    static double data[A * B * C];
    for (int i = 0; i < A * B * C; i++)
        data[i] = sin(i * 12.9898) * 43.7 * (1 + i % B);
    const int64_t extents[] = {A, B, C};
    hmath_value *t = tensor(3, extents, data);
    for (int symmetric = 0; symmetric < 2; symmetric++) {
        hmath_value *s = scheme(symmetric);
        for (int64_t axis = 0; axis < 3; axis++) {
            hmath_value *along = integer(axis), *q = NULL, *v = NULL, *scales = NULL;
            CHECK_INT(hmath_neural_precision_quantize(ctx, s, along, t, &q), HMATH_OK);
            CHECK_INT(hmath_neural_precision_quantized_values(ctx, q, &v), HMATH_OK);
            CHECK_INT(hmath_neural_precision_quantization_scales(ctx, q, &scales), HMATH_OK);
            CHECK_INT(hmath_list_length(scales), extents[axis]);
            const int8_t *bytes, *slice_bytes;
            const double *scale, *slice_scale;
            size_t n;
            CHECK_INT(hmath_list_int8s(v, &bytes, &n), HMATH_OK);
            CHECK_INT(hmath_list_doubles(scales, &scale, &n), HMATH_OK);
            for (int64_t slice = 0; slice < extents[axis]; slice++) {
                double part[A * B * C];
                int64_t place[A * B * C], count = 0;
                for (int64_t i = 0; i < A * B * C; i++) {
                    int64_t index[] = {i / (B * C), i / C % B, i % C};
                    if (index[axis] == slice) {
                        place[count] = i;
                        part[count++] = data[i];
                    }
                }
                hmath_value *alone = tensor(1, &count, part), *aq = NULL, *av = NULL, *as = NULL;
                CHECK_INT(hmath_neural_precision_quantize(ctx, s, NULL, alone, &aq), HMATH_OK);
                CHECK_INT(hmath_neural_precision_quantized_values(ctx, aq, &av), HMATH_OK);
                CHECK_INT(hmath_neural_precision_quantization_scales(ctx, aq, &as), HMATH_OK);
                CHECK_INT(hmath_list_int8s(av, &slice_bytes, &n), HMATH_OK);
                CHECK_INT(hmath_list_doubles(as, &slice_scale, &n), HMATH_OK);
                CHECK_BITS(scale[slice], slice_scale[0]);
                for (int64_t i = 0; i < count; i++)
                    CHECK_INT(bytes[place[i]], slice_bytes[i]);
                hmath_release(alone);
                hmath_release(aq);
                hmath_release(av);
                hmath_release(as);
            }
            hmath_release(along);
            hmath_release(q);
            hmath_release(v);
            hmath_release(scales);
        }
        hmath_release(s);
    }
    hmath_release(t);
}

static void test_quantize__failures(void)
{
    const double data[] = {1.0, 2.0, NAN, 4.0};
    const int64_t extents[] = {2, 2}, none[] = {0, 2};
    hmath_value *s = scheme(1), *t = tensor(2, extents, data), *empty = tensor(2, none, data);
    hmath_value *axis = integer(2), *negative = integer(-1), *zero = integer(0), *out = NULL;
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, NULL, t, &out), HMATH_CHECKED);
    check_error(HMATH_NON_FINITE, "input", 2);
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, zero, t, &out), HMATH_CHECKED);
    check_error(HMATH_NON_FINITE, "input", 2);
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, axis, t, &out), HMATH_CHECKED);
    check_error(HMATH_INDEX_OUT_OF_BOUNDS, "axis", -1);
    CHECK_INT(hmath_last_error(ctx)->bound, 2);
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, negative, empty, &out), HMATH_CHECKED);
    check_error(HMATH_INDEX_OUT_OF_BOUNDS, "axis", -1);
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, NULL, empty, &out), HMATH_CHECKED);
    check_error(HMATH_EMPTY_INPUT, "input", -1);
    CHECK_INT(hmath_neural_precision_quantize(ctx, t, NULL, t, &out), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "scheme", -1);
    CHECK_TEXT(hmath_last_error(ctx)->actual, "Tensor Double");
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, s, t, &out), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "axis", -1);
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, NULL, NULL, &out), HMATH_BAD_ARGUMENT);
    CHECK(out == NULL);
    hmath_release(s);
    hmath_release(t);
    hmath_release(empty);
    hmath_release(axis);
    hmath_release(negative);
    hmath_release(zero);
}

/* One part of the stored form at a time is wrong. */
static void test_quantized_from_parts(void)
{
    const int64_t shape[] = {2, 2}, zeros[] = {0, 5}, symmetric[] = {0, 0}, far[] = {0, 128};
    const int8_t values[] = {1, 2, 3, 4};
    const double scales[] = {1.0, 2.0}, wrong[] = {1.0, 0.0}, infinite[] = {1.0, INFINITY};
    hmath_value *q = NULL, *t = NULL;
    CHECK_INT(hmath_quantized_tensor_create(ctx, 2, 0, 2, shape, values, scales, zeros, &q),
              HMATH_OK);
    CHECK_INT(hmath_neural_precision_dequantize(ctx, q, &t), HMATH_OK);
    CHECK_BITS(((hm_tensor *)t)->data[3], -2.0);
    int32_t kind, rank;
    int64_t axis;
    const int64_t *extents;
    CHECK_INT(hmath_quantized_tensor_get(q, &kind, &axis, &rank, &extents), HMATH_OK);
    CHECK(kind == 2 && axis == 0 && rank == 2 && extents[1] == 2);
    CHECK_INT(hmath_quantized_tensor_get(t, &kind, &axis, &rank, &extents), HMATH_BAD_ARGUMENT);
    hmath_release(q);
    hmath_release(t);
    q = NULL;
    CHECK_INT(hmath_quantized_tensor_create(ctx, 3, 0, 2, shape, values, scales, zeros, &q),
              HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "scheme", -1);
    CHECK_INT(hmath_quantized_tensor_create(ctx, 2, 2, 2, shape, values, scales, zeros, &q),
              HMATH_CHECKED);
    check_error(HMATH_INDEX_OUT_OF_BOUNDS, "axis", -1);
    CHECK_INT(hmath_quantized_tensor_create(ctx, 2, 0, 2, zeros, values, scales, zeros, &q),
              HMATH_CHECKED);
    check_error(HMATH_EMPTY_INPUT, "values", -1);
    CHECK_INT(hmath_quantized_tensor_create(ctx, 2, 0, 2, shape, values, wrong, zeros, &q),
              HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "scales", 1);
    CHECK_INT(hmath_quantized_tensor_create(ctx, 2, 0, 2, shape, values, infinite, zeros, &q),
              HMATH_CHECKED);
    check_error(HMATH_NON_FINITE, "scales", 1);
    CHECK_INT(hmath_quantized_tensor_create(ctx, 2, 0, 2, shape, values, scales, far, &q),
              HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "zero_points", 1);
    CHECK_INT(hmath_quantized_tensor_create(ctx, 1, 0, 2, shape, values, scales, zeros, &q),
              HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "zero_points", 1);
    CHECK_INT(hmath_quantized_tensor_create(ctx, 1, 0, 2, shape, values, scales, symmetric, NULL),
              HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_quantized_tensor_create(ctx, 1, 0, 2, NULL, values, scales, symmetric, &q),
              HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_quantized_tensor_create(ctx, 1, 0, 2, shape, NULL, scales, symmetric, &q),
              HMATH_BAD_ARGUMENT);
    CHECK(q == NULL);
}

static void test_dequantize__overflow(void)
{
    /* the least value lies 200.6 steps below 0 and is coded as 201 steps */
    const double data[] = {-DBL_MAX, 0.27119 * DBL_MAX};
    hmath_value *s = scheme(0), *t = tensor(1, (int64_t[]){2}, data), *q = NULL, *out = NULL;
    CHECK_INT(hmath_neural_precision_quantize(ctx, s, NULL, t, &q), HMATH_OK);
    CHECK_INT(hmath_neural_precision_dequantize(ctx, q, &out), HMATH_CHECKED);
    CHECK_INT(hmath_last_error(ctx)->constructor, HMATH_OVERFLOW);
    CHECK(out == NULL);
    hmath_release(s);
    hmath_release(t);
    hmath_release(q);
}

/* ------------------------------------------------- products */

static hmath_value *quantized(int32_t kind, int64_t axis, int64_t rows, int64_t columns,
                              const int8_t *values, const double *scales, const int64_t *zeros)
{
    hmath_value *v = NULL;
    const int64_t shape[] = {rows, columns};
    CHECK_INT(hmath_quantized_tensor_create(ctx, kind, axis, 2, shape, values, scales, zeros, &v),
              HMATH_OK);
    return v;
}

/* One row of K times one column of K, all with the same integers; the sum is K * a * b. */
static hmath_status product_of_constants(int64_t depth, int8_t a, int8_t b, double *result)
{
    static int8_t left[1 << 18], right[1 << 18];
    const double one = 1.0;
    const int64_t zero = 0;
    memset(left, a, (size_t)depth);
    memset(right, b, (size_t)depth);
    hmath_value *l = quantized(2, -1, 1, depth, left, &one, &zero), *out = NULL;
    hmath_value *r = quantized(2, -1, depth, 1, right, &one, &zero);
    hmath_status st = hmath_neural_precision_int8_gemm(ctx, l, r, &out);
    if (st == HMATH_OK)
        *result = ((hm_tensor *)out)->data[0];
    hmath_release(l);
    hmath_release(r);
    hmath_release(out);
    return st;
}

static void test_int8_gemm__limits(void)
{
    double result = 0;
    /* 2^17 products of 2^14 are 2^31: one too many; without the last they are not */
    CHECK_INT(product_of_constants((1 << 17) - 1, -128, -128, &result), HMATH_OK);
    CHECK_BITS(result, 0x1p31 - 16384);
    CHECK_INT(product_of_constants(1 << 17, -128, -128, &result), HMATH_CHECKED);
    check_error(HMATH_OVERFLOW, NULL, -1);
    /* -2^31 itself is an integer of 32 bits */
    CHECK_INT(product_of_constants(1 << 18, 64, -128, &result), HMATH_OK);
    CHECK_BITS(result, -0x1p31);
    CHECK_INT(product_of_constants(1 << 18, 65, -128, &result), HMATH_CHECKED);
    /* a sum that a 32-bit accumulator would wrap to 0 */
    CHECK_INT(product_of_constants(1 << 18, -128, -128, &result), HMATH_CHECKED);
}

/* Zero points count: (q - z) up to 255 in size, so that 2^31 is near at K = 33,025. */
static void test_int8_gemm__zero_points(void)
{
    enum { K = 33026 };
    static int8_t left[K], right[K];
    const double one = 1.0;
    const int64_t low = -128;
    memset(left, 127, K);
    memset(right, 127, K);
    for (int64_t depth = K - 1; depth <= K; depth++) {
        hmath_value *l = quantized(2, -1, 1, depth, left, &one, &low), *out = NULL;
        hmath_value *r = quantized(2, -1, depth, 1, right, &one, &low);
        hmath_status st = hmath_neural_precision_int8_gemm(ctx, l, r, &out);
        CHECK_INT(st, depth * 65025 < INT64_C(0x80000000) ? HMATH_OK : HMATH_CHECKED);
        if (out)
            CHECK_BITS(((hm_tensor *)out)->data[0], (double)(depth * 65025));
        hmath_release(l);
        hmath_release(r);
        hmath_release(out);
    }
}

/* Scales whose product is no double on the way, but is one in the end. */
static void test_int8_gemm__scales(void)
{
    const int8_t two[] = {2}, three[] = {3};
    const int64_t zero = 0;
    const double pairs[][3] = {{0x1p1000, 0x1p-1000, 6.0},     {0x1.8p1023, 0x1p-1074, 0x1.2p-48},
                               {0x1p-600, 0x1p-600, 0.0},      {0x1p-537, 0x1p-537, 0x1.8p-1072},
                               {0x1p1022, 0x1p-1, 0x1.8p1023}, {0x1p600, 0x1p600, INFINITY}};
    for (int i = 0; i < 6; i++) {
        hmath_value *l = quantized(1, -1, 1, 1, two, &pairs[i][0], &zero), *out = NULL;
        hmath_value *r = quantized(1, -1, 1, 1, three, &pairs[i][1], &zero);
        hmath_status st = hmath_neural_precision_int8_gemm(ctx, l, r, &out);
        CHECK_INT(st, isinf(pairs[i][2]) ? HMATH_CHECKED : HMATH_OK);
        if (out)
            CHECK_BITS(((hm_tensor *)out)->data[0], pairs[i][2]);
        hmath_release(l);
        hmath_release(r);
        hmath_release(out);
    }
}

static hmath_value *format(int half)
{
    hmath_value *v = NULL;
    CHECK_INT(half ? hmath_neural_precision_fp16_create(ctx, &v)
                   : hmath_neural_precision_bf16_create(ctx, &v),
              HMATH_OK);
    return v;
}

static void check_reduced_error(int half, const int64_t *left, const int64_t *right, double value,
                                int32_t constructor, const char *argument)
{
    double data[16] = {value};
    hmath_value *f = format(half), *l = tensor(2, left, data), *r = tensor(2, right, data),
                *out = NULL;
    CHECK_INT(hmath_neural_precision_reduced_gemm(ctx, f, l, r, &out), HMATH_CHECKED);
    check_error(constructor, argument, constructor == HMATH_NON_FINITE ? 0 : -1);
    CHECK(out == NULL);
    hmath_release(f);
    hmath_release(l);
    hmath_release(r);
}

static void test_products__failures(void)
{
    const int64_t square[] = {2, 2}, wide[] = {2, 3}, no_rows[] = {0, 2}, no_columns[] = {2, 0};
    check_reduced_error(1, square, wide, 65520.0, HMATH_OVERFLOW, NULL);
    check_reduced_error(1, wide, square, 1.0, HMATH_DIMENSION_MISMATCH, "right");
    check_reduced_error(1, square, square, NAN, HMATH_NON_FINITE, "left");
    check_reduced_error(0, square, square, 0x1p70, HMATH_OVERFLOW, NULL);
    /* an operand that meets no partner is looked at all the same */
    check_reduced_error(1, no_rows, square, 65520.0, HMATH_OVERFLOW, NULL);
    check_reduced_error(1, square, no_columns, 65520.0, HMATH_OVERFLOW, NULL);

    double data[4] = {0};
    hmath_value *f = format(1), *a = tensor(2, no_columns, data), *b = tensor(2, no_rows, data),
                *out = NULL;
    CHECK_INT(hmath_neural_precision_reduced_gemm(ctx, f, a, b, &out), HMATH_OK);
    for (int i = 0; i < 4; i++)
        CHECK_BITS(((hm_tensor *)out)->data[i], 0.0);
    hmath_release(out);
    out = NULL;
    CHECK_INT(hmath_neural_precision_reduced_gemm(ctx, a, a, b, &out), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "precision", -1);
    hmath_release(f);
    hmath_release(a);
    hmath_release(b);

    const int8_t q[] = {1, 2, 3, 4};
    const double ones[] = {1.0, 1.0};
    const int64_t zeros[] = {0, 0};
    hmath_value *per_row = quantized(1, 0, 2, 2, q, ones, zeros),
                *per_column = quantized(1, 1, 2, 2, q, ones, zeros);
    hmath_value *flat = quantized(1, -1, 1, 4, q, ones, zeros);
    CHECK_INT(hmath_neural_precision_int8_gemm(ctx, per_column, per_column, &out), HMATH_CHECKED);
    check_error(HMATH_DIMENSION_MISMATCH, "left", -1);
    CHECK_INT(hmath_neural_precision_int8_gemm(ctx, per_row, per_row, &out), HMATH_CHECKED);
    check_error(HMATH_DIMENSION_MISMATCH, "right", -1);
    CHECK_INT(hmath_neural_precision_int8_gemm(ctx, flat, per_column, &out), HMATH_CHECKED);
    check_error(HMATH_DIMENSION_MISMATCH, "right", -1);
    CHECK_TEXT(hmath_last_error(ctx)->expected, "4");
    CHECK_INT(hmath_neural_precision_int8_gemm(ctx, per_row, NULL, &out), HMATH_BAD_ARGUMENT);
    CHECK(out == NULL);
    hmath_release(per_row);
    hmath_release(per_column);
    hmath_release(flat);
}

/* ------------------------------------------------- loss scaling */

static void check_update(double scale, int64_t interval, int64_t steps, int finite,
                         double wanted_scale, int64_t wanted_steps)
{
    hmath_value *state = scaler(scale, interval, steps), *flag = NULL, *next = NULL, *part = NULL;
    double got;
    int64_t got_steps;
    CHECK_INT(hmath_bool_create(ctx, finite, &flag), HMATH_OK);
    CHECK_INT(hmath_neural_precision_update_loss_scaler(ctx, flag, state, &next), HMATH_OK);
    CHECK_INT(hmath_neural_precision_loss_scale(ctx, next, &part), HMATH_OK);
    CHECK_INT(hmath_double_get(part, &got), HMATH_OK);
    CHECK_BITS(got, wanted_scale);
    hmath_release(part);
    CHECK_INT(hmath_neural_precision_finite_steps(ctx, next, &part), HMATH_OK);
    CHECK_INT(hmath_int_get(part, &got_steps), HMATH_OK);
    CHECK_INT(got_steps, wanted_steps);
    hmath_release(part);
    CHECK_INT(hmath_neural_precision_scale_growth_interval(ctx, next, &part), HMATH_OK);
    CHECK_INT(hmath_int_get(part, &got_steps), HMATH_OK);
    CHECK_INT(got_steps, interval);
    hmath_release(part);
    hmath_release(state);
    hmath_release(flag);
    hmath_release(next);
}

static void test_update_loss_scaler(void)
{
    check_update(1024, 3, 0, 1, 1024, 1);
    check_update(1024, 3, 1, 1, 1024, 2);
    check_update(1024, 3, 2, 1, 2048, 0);
    check_update(1024, 3, 7, 1, 2048, 0);
    check_update(1024, 3, 2, 0, 512, 0);
    check_update(0x1p23, 1, 0, 1, 0x1p24, 0);
    check_update(0x1p24, 1, 0, 1, 0x1p24, 0);
    check_update(0x1.8p23, 1, 0, 1, 0x1.8p23, 0);
    check_update(0x1p40, 1, 0, 1, 0x1p40, 0);
    check_update(DBL_MAX, 1, 0, 1, DBL_MAX, 0);
    check_update(DBL_MIN, 5, 4, 0, DBL_MIN, 0);
    check_update(1.5 * DBL_MIN, 5, 4, 0, DBL_MIN, 0);
    check_update(0x1p-1074, 5, 4, 0, 0x1p-1074, 0);
    check_update(4, INT64_MAX, INT64_MAX, 1, 8, 0);
    check_update(4, INT64_MAX, INT64_MAX - 2, 1, 4, INT64_MAX - 1);
}

static void check_update_error(double scale, int64_t interval, int64_t steps, const char *argument,
                               int32_t constructor)
{
    hmath_value *state = scaler(scale, interval, steps), *flag = NULL, *next = NULL;
    CHECK_INT(hmath_bool_create(ctx, 1, &flag), HMATH_OK);
    CHECK_INT(hmath_neural_precision_update_loss_scaler(ctx, flag, state, &next), HMATH_CHECKED);
    check_error(constructor, argument, -1);
    hmath_release(state);
    hmath_release(flag);
    CHECK(next == NULL);
}

static void test_loss_scaler__failures(void)
{
    check_update_error(0, 1, 0, "state.scale", HMATH_DOMAIN_ERROR);
    check_update_error(-0.0, 1, 0, "state.scale", HMATH_DOMAIN_ERROR);
    check_update_error(INFINITY, 0, 0, "state.scale", HMATH_NON_FINITE);
    check_update_error(NAN, 1, 0, "state.scale", HMATH_NON_FINITE);
    check_update_error(1, 0, -1, "state.growth_interval", HMATH_DOMAIN_ERROR);
    check_update_error(1, 1, -1, "state.finite_steps", HMATH_DOMAIN_ERROR);

    hmath_value *zero = number(0), *one = number(1), *steps = integer(0), *v = NULL;
    CHECK_INT(hmath_neural_precision_initial_loss_scaler(ctx, zero, steps, &v), HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "scale", -1);
    CHECK_INT(hmath_neural_precision_initial_loss_scaler(ctx, one, steps, &v), HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "growth_interval", -1);
    CHECK_INT(hmath_neural_precision_initial_loss_scaler(ctx, steps, steps, &v), HMATH_CHECKED);
    check_error(HMATH_TYPE_MISMATCH, "scale", -1);
    hmath_release(zero);
    hmath_release(one);
    hmath_release(steps);

    hmath_value *state = scaler(0x1p20, 1, 0), *huge = number(0x1p1010), *nan = number(NAN);
    CHECK_INT(hmath_neural_precision_scale_loss(ctx, state, huge, &v), HMATH_CHECKED);
    check_error(HMATH_OVERFLOW, NULL, -1);
    CHECK_INT(hmath_neural_precision_scale_loss(ctx, state, nan, &v), HMATH_CHECKED);
    check_error(HMATH_NON_FINITE, "loss", -1);
    hmath_release(state);
    hmath_release(huge);
    hmath_release(nan);
    CHECK(v == NULL);
}

static void check_unscale(double scale, const double *data, size_t n, int wanted_finite)
{
    hmath_value *state = scaler(scale, 1, 0), *g = doubles(data, n), *both = NULL, *part = NULL;
    int finite = -1;
    const double *out;
    size_t count = 99;
    CHECK_INT(hmath_neural_precision_unscale_gradients(ctx, state, g, &both), HMATH_OK);
    CHECK_INT(hmath_tuple_item(ctx, both, 0, &part), HMATH_OK);
    CHECK_INT(hmath_bool_get(part, &finite), HMATH_OK);
    CHECK_INT(finite, wanted_finite);
    hmath_release(part);
    CHECK_INT(hmath_tuple_item(ctx, both, 1, &part), HMATH_OK);
    CHECK_INT(hmath_list_doubles(part, &out, &count), HMATH_OK);
    CHECK_INT((int64_t)count, finite == 1 ? (int64_t)n : 0);
    for (size_t i = 0; i < count; i++)
        CHECK_BITS(out[i], data[i] / scale);
    hmath_release(part);
    hmath_release(both);
    hmath_release(state);
    hmath_release(g);
}

static void test_unscale_gradients(void)
{
    const double good[] = {8.0, -1.0, 0.0, -0.0, 1e-310}, bad[] = {1.0, NAN}, big[] = {1e300};
    check_unscale(4.0, good, 5, 1);
    check_unscale(4.0, good, 0, 1);
    check_unscale(4.0, bad, 2, 0);
    check_unscale(1e-300, big, 1, 0); /* the quotient is not finite */
}

/* ------------------------------------------------- gradients */

static double norm_of(const double *data, size_t n)
{
    hmath_value *g = doubles(data, n), *out = NULL;
    double norm = NAN;
    if (hmath_neural_precision_gradient_norm(ctx, g, &out) == HMATH_OK)
        CHECK_INT(hmath_double_get(out, &norm), HMATH_OK);
    hmath_release(g);
    hmath_release(out);
    return norm;
}

static void test_gradient_norm(void)
{
    CHECK_BITS(norm_of((double[]){3.0, -4.0}, 2), 5.0);
    CHECK_BITS(norm_of(NULL, 0), 0.0);
    CHECK_BITS(norm_of((double[]){0x1p-1074}, 1), 0x1p-1074);
    CHECK_BITS(norm_of((double[]){DBL_MAX}, 1), DBL_MAX);
    CHECK_BITS(norm_of((double[]){0x1.8p1000, 0x1p1001}, 2), 0x1.4p1001);
    CHECK_BITS(norm_of((double[]){DBL_MAX, DBL_MAX}, 2), NAN);
    CHECK_INT(hmath_last_error(ctx)->constructor, HMATH_OVERFLOW);
    CHECK_BITS(norm_of((double[]){1.0, INFINITY}, 2), NAN);
    check_error(HMATH_NON_FINITE, "gradient", 1);
}

static void check_clip(double maximum, const double *data, size_t n, const double *wanted)
{
    hmath_value *bound = number(maximum), *g = doubles(data, n), *out = NULL;
    const double *clipped;
    size_t count = 0;
    CHECK_INT(hmath_neural_precision_clip_gradients(ctx, bound, g, &out), HMATH_OK);
    CHECK_INT(hmath_list_doubles(out, &clipped, &count), HMATH_OK);
    CHECK_INT((int64_t)count, (int64_t)n);
    for (size_t i = 0; i < count; i++) /* three roundings; 2^-51 relative holds four */
        CHECK(fabs(clipped[i] - wanted[i]) <= 0x1p-51 * fabs(wanted[i]));
    hmath_release(bound);
    hmath_release(g);
    hmath_release(out);
}

static void test_clip_gradients(void)
{
    check_clip(1.0, (double[]){3.0, -4.0}, 2, (double[]){0.6, -0.8});
    check_clip(5.0, (double[]){3.0, -4.0}, 2, (double[]){3.0, -4.0});
    check_clip(1.0, NULL, 0, NULL);
    /* the norm is no double */
    check_clip(2.0, (double[]){DBL_MAX, -DBL_MAX}, 2, (double[]){sqrt(2.0), -sqrt(2.0)});
    /* maximum / norm is no double */
    check_clip(0x1p-1000, (double[]){0x1p900, 0x1p-200}, 2, (double[]){0x1p-1000, 0.0});
    check_clip(0x1p-1074, (double[]){0x1p1000}, 1, (double[]){0x1p-1074});
    check_clip(DBL_MAX, (double[]){DBL_MAX, 0.0}, 2, (double[]){DBL_MAX, 0.0});

    hmath_value *zero = number(0), *g = doubles((double[]){1.0}, 1), *out = NULL;
    CHECK_INT(hmath_neural_precision_clip_gradients(ctx, zero, g, &out), HMATH_CHECKED);
    check_error(HMATH_DOMAIN_ERROR, "maximum", -1);
    hmath_release(zero);
    zero = number(-INFINITY);
    CHECK_INT(hmath_neural_precision_clip_gradients(ctx, zero, g, &out), HMATH_CHECKED);
    check_error(HMATH_NON_FINITE, "maximum", -1);
    hmath_release(zero);
    hmath_release(g);
    CHECK(out == NULL);
}

/* ------------------------------------------------- memory */

static hmath_status run_everything(hmath_value *symmetric, hmath_value *axis, hmath_value *input,
                                   hmath_value *square, hmath_value *state, hmath_value *bound,
                                   hmath_value *gradient)
{
    hmath_value *q = NULL, *t = NULL, *pair = NULL, *clipped = NULL, *w = NULL, *y = NULL,
                *z = NULL, *f = NULL;
    hmath_status st;
    if ((st = hmath_neural_precision_quantize(ctx, symmetric, axis, input, &q)) == HMATH_OK &&
        (st = hmath_neural_precision_dequantize(ctx, q, &t)) == HMATH_OK &&
        (st = hmath_neural_precision_quantize(ctx, symmetric, NULL, square, &w)) == HMATH_OK &&
        (st = hmath_neural_precision_int8_gemm(ctx, w, w, &y)) == HMATH_OK &&
        (st = hmath_neural_precision_bf16_create(ctx, &f)) == HMATH_OK &&
        (st = hmath_neural_precision_reduced_gemm(ctx, f, square, square, &z)) == HMATH_OK &&
        (st = hmath_neural_precision_unscale_gradients(ctx, state, gradient, &pair)) == HMATH_OK)
        st = hmath_neural_precision_clip_gradients(ctx, bound, gradient, &clipped);
    hmath_release(q);
    hmath_release(t);
    hmath_release(pair);
    hmath_release(clipped);
    hmath_release(w);
    hmath_release(y);
    hmath_release(z);
    hmath_release(f);
    return st;
}

static void test_every_allocation_fails(void)
{
    static double data[20 * 300];
    for (int i = 0; i < 20 * 300; i++)
        data[i] = i - 3000;
    const int64_t extents[] = {20, 300};
    hmath_value *s = scheme(1), *t = tensor(2, extents, data), *state = scaler(2, 1, 0);
    hmath_value *square = tensor(2, (int64_t[]){60, 60}, data);
    hmath_value *bound = number(1), *g = doubles(data, 1000),
                *axes[] = {NULL, integer(0), integer(1)};
    for (int a = 0; a < 3; a++) {
        int64_t before = hmath_live_values(), n = 0;
        for (;; n++) {
            hm_test_fail_allocation(n);
            hmath_status st = run_everything(s, axes[a], t, square, state, bound, g);
            if (!hm_test_allocation_failed())
                break;
            CHECK_INT(st, HMATH_NO_MEMORY);
            CHECK_INT(hmath_live_values(), before);
        }
        hm_test_fail_allocation(-1);
        CHECK(n >= 8);
        hmath_release(axes[a]);
    }
    hmath_release(s);
    hmath_release(t);
    hmath_release(state);
    hmath_release(bound);
    hmath_release(g);
    hmath_release(square);
}

int main(void)
{
    if (hmath_context_create(NULL, &ctx) != HMATH_OK)
        return 1;
    RUN(test_quantize__both_schemes);
    RUN(test_quantize__slices);
    RUN(test_quantize__failures);
    RUN(test_quantized_from_parts);
    RUN(test_dequantize__overflow);
    RUN(test_int8_gemm__limits);
    RUN(test_int8_gemm__zero_points);
    RUN(test_int8_gemm__scales);
    RUN(test_products__failures);
    RUN(test_update_loss_scaler);
    RUN(test_loss_scaler__failures);
    RUN(test_unscale_gradients);
    RUN(test_gradient_norm);
    RUN(test_clip_gradients);
    RUN(test_every_allocation_fails);
    CHECK_INT(hmath_live_values(), 0);
    hmath_context_destroy(ctx);
    return check_report();
}
