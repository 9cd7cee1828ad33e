/* Quantization: one division, one rounding and two clamps an element; bound by memory. */
#include "kernels/quantize.h"

#include "kernels/per_isa/isa.h"
#include "kernels/vec/vec.h"

typedef int8_t bytes __attribute__((vector_size(VEC_WIDTH)));

VEC_INLINE bytes load_bytes(const int8_t *p)
{
    bytes b;
    __builtin_memcpy(&b, p, sizeof b);
    return b;
}

VEC_INLINE void store_bytes(int8_t *p, bytes b) { __builtin_memcpy(p, &b, sizeof b); }

/* ------------------------------------------------- extremes */

/* 0 for a finite number, NaN for any other: sums of these tell of all numbers seen. */
VEC_INLINE vec trace(vec x) { return x * 0.0; }

VEC_INLINE bool nothing_in(vec traces) { return vec_mask_all(vec_equal(traces, vec_of(0.0))); }

static bool extremes(const double *x, int64_t n, hm_extremes *out)
{
    vec low = vec_of(out->low), high = vec_of(out->high), traces = vec_of(0.0);
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        vec v = vec_load(x + i);
        low = vec_min(v, low);
        high = vec_max(v, high);
        traces += trace(v);
    }
    vec v =
        vec_load_partial(x + i, (size_t)(n - i)); /* the lanes beyond hold 0, which counts anyway */
    low = vec_min(v, low);
    high = vec_max(v, high);
    traces += trace(v);
    *out = (hm_extremes){vec_smallest(low), vec_largest(high)};
    return nothing_in(traces);
}

static bool column_extremes(const double *x, int64_t rows, int64_t stride, int64_t columns,
                            double *low, double *high)
{
    vec traces = vec_of(0.0);
    for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
        size_t lanes = (size_t)(columns - j < VEC_WIDTH ? columns - j : VEC_WIDTH);
        vec least = vec_load_partial(low + j, lanes), most = vec_load_partial(high + j, lanes);
        for (int64_t i = 0; i < rows; i++) {
            vec v = vec_load_partial(x + i * stride + j, lanes);
            least = vec_min(v, least);
            most = vec_max(v, most);
            traces += trace(v);
        }
        vec_store_partial(low + j, lanes, least);
        vec_store_partial(high + j, lanes, most);
    }
    return nothing_in(traces);
}

/* ------------------------------------------------- encoding */

/*
 * |x / scale| is at most 255 but for scales that are the smallest double, where it is clamped to far
 * outside the range before it is rounded: vec_round wants less than 2^51.
 */
VEC_INLINE bytes encode_lanes(vec x, vec scale, vec zero, vec low)
{
    vec quotient = vec_min(vec_max(x / scale, vec_of(-1024.0)), vec_of(1024.0));
    vec coded = vec_round(quotient) + zero;
    vec clamped = vec_min(vec_max(coded, low), vec_of(127.0));
    return __builtin_convertvector(vec_round_to_int(clamped), bytes);
}

/*
 * The product with the scale's inverse is within 2^-52 of the quotient, relatively, and rounds to the
 * same integer but where the quotient is that close to the middle between two. Then, and for scales whose
 * inverse is no normal number, it is divided, which takes longer than all the rest.
 */
typedef struct inverse_coding {
    vec inverse, least, most, shift;
} inverse_coding;

VEC_INLINE bool inverse_serves(double scale) { return scale >= 0x1p-1000 && scale <= 0x1p1000; }

/* False where a lane is close to the middle. |x / scale| at most 2^11. */
VEC_INLINE bool encode_by_inverse(vec x, const inverse_coding *c, int8_t *q)
{
    const vec rounded = vec_fma(x, c->inverse, vec_of(0x1.8p52)) - 0x1.8p52;
    const vec rest = vec_fma(x, c->inverse, -rounded);
    if (!vec_mask_all(vec_less(vec_abs(rest), vec_of(0.5 - 0x1p-40))))
        return false;
    const vec clamped = vec_min(vec_max(rounded, c->least), c->most);
    store_bytes(q, __builtin_convertvector(vec_round_to_int(clamped + c->shift), bytes));
    return true;
}

static void encode(const double *x, int64_t n, const hm_coding *coding, int8_t *q)
{
    const vec scale = vec_of(coding->scale), zero = vec_of(coding->zero), low = vec_of(coding->low);
    const inverse_coding c = {vec_of(1.0 / coding->scale), low - zero, 127.0 - zero, zero};
    const bool by_inverse = inverse_serves(coding->scale);
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        const vec v = vec_load(x + i);
        if (!by_inverse || !encode_by_inverse(v, &c, q + i))
            store_bytes(q + i, encode_lanes(v, scale, zero, low));
    }
    if (i < n) {
        size_t lanes = (size_t)(n - i);
        bytes last = encode_lanes(vec_load_partial(x + i, lanes), scale, zero, low);
        __builtin_memcpy(q + i, &last, lanes);
    }
}

static void encode_columns(const double *x, int64_t rows, int64_t stride, int64_t columns,
                           const double *scale, const double *zero, double low, int8_t *q)
{
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
            size_t lanes = (size_t)(columns - j < VEC_WIDTH ? columns - j : VEC_WIDTH);
            bytes coded = encode_lanes(vec_load_partial(x + i * stride + j, lanes),
                                       vec_load_partial(scale + j, lanes),
                                       vec_load_partial(zero + j, lanes), vec_of(low));
            __builtin_memcpy(q + i * stride + j, &coded, lanes);
        }
    }
}

/* ------------------------------------------------- decoding */

static bool decode(const int8_t *q, int64_t n, const hm_coding *coding, double *x)
{
    const vec scale = vec_of(coding->scale), zero = vec_of(coding->zero);
    vec traces = vec_of(0.0);
    int64_t i = 0;
    for (; i + VEC_WIDTH <= n; i += VEC_WIDTH) {
        vec decoded = scale * (__builtin_convertvector(load_bytes(q + i), vec) - zero);
        traces += trace(decoded);
        vec_store(x + i, decoded);
    }
    double last = 0.0;
    for (; i < n; i++) {
        x[i] = coding->scale * ((double)q[i] - coding->zero);
        last += x[i] * 0.0;
    }
    return nothing_in(traces) && last == 0.0;
}

static bool decode_columns(const int8_t *q, int64_t rows, int64_t stride, int64_t columns,
                           const double *scale, const double *zero, double *x)
{
    double traces = 0.0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns; j++) {
            double decoded = scale[j] * ((double)q[i * stride + j] - zero[j]);
            traces += decoded * 0.0;
            x[i * stride + j] = decoded;
        }
    }
    return traces == 0.0;
}

extern const hm_quantize_kernels HM_K(quantize);
const hm_quantize_kernels HM_K(quantize) = {
    .extremes = extremes,
    .column_extremes = column_extremes,
    .encode = encode,
    .encode_columns = encode_columns,
    .decode = decode,
    .decode_columns = decode_columns,
};
