#include "neural/precision/quantize.h"

#include <float.h>
#include <math.h>

#include "runtime/checked.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/view.h"

/*
 * Two ways through the slices. Long runs are coded one by one with one scale each. Short runs would
 * waste their vectors, so the tensor is read as a matrix of `outer` rows whose columns each have a
 * scale: channel j / inner for column j.
 */
enum { LONG_RUN = 64, CHUNK = 1 << 16, COLUMNS_PER_CHUNK = 512 };

static bool in_runs(const hm_slices *slices)
{
    return slices->inner >= LONG_RUN || slices->outer == 1;
}

static int64_t width(const hm_slices *slices) { return slices->channels * slices->inner; }

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* ------------------------------------------------- calibration */

static hm_coding calibrate(hm_scheme scheme, hm_extremes range)
{
    if (range.low == 0 && range.high == 0)
        return (hm_coding){.scale = 1, .zero = 0, .low = scheme == HM_SYMMETRIC ? -127 : -128};
    const double smallest = 0x1p-1074;
    if (scheme == HM_SYMMETRIC) {
        double scale = fmax(-range.low, range.high) / 127;
        return (hm_coding){.scale = scale > 0 ? scale : smallest, .zero = 0, .low = -127};
    }
    double scale = range.high / 255 - range.low / 255;
    if (!(scale > 0))
        scale = smallest;
    double zero = rint(fmax(-128, fmin(127, -128 - range.low / scale)));
    return (hm_coding){.scale = scale, .zero = zero, .low = -128};
}

/*
 * One pass that finds the range of every slice. ranges[c] is of channel c; for columns low and high
 * are the ranges of the columns, folded into ranges at the end.
 */
typedef struct calibration {
    const hm_quantize_kernels *kernels;
    const double *x;
    hm_slices slices;
    int64_t run_chunks; /* chunks that share one run; only where there is one run */
    hm_extremes *ranges;
    double *low, *high;
    _Atomic bool bad;
} calibration;

/* The one run of a tensor coded as a whole, a chunk of it at a time. */
static void whole_chunk(void *task, int64_t chunk)
{
    calibration *c = task;
    int64_t begin = chunk * CHUNK, n = smaller(CHUNK, c->slices.inner - begin);
    if (!c->kernels->extremes(c->x + begin, n, &c->ranges[chunk]))
        c->bad = true;
}

static void run_chunk(void *task, int64_t channel)
{
    calibration *c = task;
    for (int64_t o = 0; o < c->slices.outer; o++) {
        const double *run = c->x + (o * c->slices.channels + channel) * c->slices.inner;
        if (!c->kernels->extremes(run, c->slices.inner, &c->ranges[channel]))
            c->bad = true;
    }
}

static void column_chunk(void *task, int64_t chunk)
{
    calibration *c = task;
    int64_t columns = width(&c->slices), begin = chunk * COLUMNS_PER_CHUNK;
    int64_t n = smaller(COLUMNS_PER_CHUNK, columns - begin);
    if (!c->kernels->column_extremes(c->x + begin, c->slices.outer, columns, n, c->low + begin,
                                     c->high + begin))
        c->bad = true;
}

static hm_extremes wider(hm_extremes a, hm_extremes b)
{
    return (hm_extremes){fmin(a.low, b.low), fmax(a.high, b.high)};
}

static hm_status range_of_whole(hm_context *ctx, calibration *c, hm_extremes *range)
{
    int64_t chunks = (c->slices.inner + CHUNK - 1) / CHUNK;
    hm_status st = hm_scratch_create(ctx, (size_t)chunks, sizeof *c->ranges, &c->ranges);
    if (st != HMATH_OK)
        return st;
    for (int64_t i = 0; i < chunks; i++)
        c->ranges[i] = (hm_extremes){0, 0};
    hm_parallel_for(ctx, chunks, whole_chunk, c);
    *range = (hm_extremes){0, 0};
    for (int64_t i = 0; i < chunks; i++)
        *range = wider(*range, c->ranges[i]);
    hm_scratch_release(ctx, c->ranges);
    return HMATH_OK;
}

static void ranges_of_runs(hm_context *ctx, calibration *c, hm_extremes *ranges)
{
    c->ranges = ranges;
    hm_parallel_for(ctx, c->slices.channels, run_chunk, c);
}

static hm_status ranges_of_columns(hm_context *ctx, calibration *c, hm_extremes *ranges)
{
    int64_t columns = width(&c->slices);
    double *both = NULL;
    hm_status st = hm_scratch_create(ctx, (size_t)columns, 2 * sizeof *both, &both);
    if (st != HMATH_OK)
        return st;
    for (int64_t j = 0; j < 2 * columns; j++)
        both[j] = 0;
    c->low = both;
    c->high = both + columns;
    hm_parallel_for(ctx, (columns + COLUMNS_PER_CHUNK - 1) / COLUMNS_PER_CHUNK, column_chunk, c);
    for (int64_t j = 0; j < columns; j++) {
        hm_extremes *range = &ranges[j / c->slices.inner];
        *range = wider(*range, (hm_extremes){c->low[j], c->high[j]});
    }
    hm_scratch_release(ctx, both);
    return HMATH_OK;
}

/* The range of every slice; NonFinite. */
static hm_status find_ranges(hm_context *ctx, const hm_tensor *input, const hm_slices *slices,
                             hm_extremes *ranges)
{
    calibration c = {
        .kernels = hm_context_kernels(ctx)->quantize, .x = input->data, .slices = *slices};
    hm_status st = HMATH_OK;
    for (int64_t i = 0; i < slices->channels; i++)
        ranges[i] = (hm_extremes){0, 0};
    if (slices->channels == 1 && slices->outer == 1)
        st = range_of_whole(ctx, &c, ranges);
    else if (in_runs(slices))
        ranges_of_runs(ctx, &c, ranges);
    else
        st = ranges_of_columns(ctx, &c, ranges);
    if (st == HMATH_OK && c.bad)
        st = hm_check_finite(ctx, "input", input->data, input->size);
    return st;
}

/* ------------------------------------------------- coding */

/* One pass that encodes (x to q) or decodes (q to x). */
typedef struct coding_pass {
    const hm_quantize_kernels *kernels;
    hm_slices slices;
    double low;
    const double *scales; /* one a channel */
    const int64_t *zeros;
    const double *column_scales, *column_zeros; /* one a column, where not in runs */
    const double *x;
    double *decoded;
    int8_t *q;
    int64_t pieces; /* pieces of CHUNK elements to a run */
    _Atomic bool bad;
} coding_pass;

static void code_piece(void *task, int64_t chunk)
{
    coding_pass *pass = task;
    int64_t run = chunk / pass->pieces, begin = chunk % pass->pieces * CHUNK;
    int64_t n = smaller(CHUNK, pass->slices.inner - begin), at = run * pass->slices.inner + begin;
    int64_t channel = run % pass->slices.channels;
    hm_coding coding = {pass->scales[channel], (double)pass->zeros[channel], pass->low};
    if (!pass->decoded)
        pass->kernels->encode(pass->x + at, n, &coding, pass->q + at);
    else if (!pass->kernels->decode(pass->q + at, n, &coding, pass->decoded + at))
        pass->bad = true;
}

static void code_columns(void *task, int64_t chunk)
{
    coding_pass *pass = task;
    int64_t columns = width(&pass->slices), at = chunk * COLUMNS_PER_CHUNK;
    int64_t n = smaller(COLUMNS_PER_CHUNK, columns - at), rows = pass->slices.outer;
    const double *scales = pass->column_scales + at, *zeros = pass->column_zeros + at;
    if (!pass->decoded)
        pass->kernels->encode_columns(pass->x + at, rows, columns, n, scales, zeros, pass->low,
                                      pass->q + at);
    else if (!pass->kernels->decode_columns(pass->q + at, rows, columns, n, scales, zeros,
                                            pass->decoded + at))
        pass->bad = true;
}

static hm_status code_in_columns(hm_context *ctx, coding_pass *pass)
{
    int64_t columns = width(&pass->slices);
    double *both = NULL;
    hm_status st = hm_scratch_create(ctx, (size_t)columns, 2 * sizeof *both, &both);
    if (st != HMATH_OK)
        return st;
    for (int64_t j = 0; j < columns; j++) {
        both[j] = pass->scales[j / pass->slices.inner];
        both[columns + j] = (double)pass->zeros[j / pass->slices.inner];
    }
    pass->column_scales = both;
    pass->column_zeros = both + columns;
    hm_parallel_for(ctx, (columns + COLUMNS_PER_CHUNK - 1) / COLUMNS_PER_CHUNK, code_columns, pass);
    hm_scratch_release(ctx, both);
    return HMATH_OK;
}

static hm_status code(hm_context *ctx, coding_pass *pass, const hm_quantized *quantized)
{
    pass->kernels = hm_context_kernels(ctx)->quantize;
    pass->slices = hm_slices_of(&quantized->shape, quantized->axis);
    pass->low = quantized->scheme == HM_SYMMETRIC ? -127 : -128;
    pass->scales = quantized->scales->data;
    pass->zeros = quantized->zeros->data;
    pass->q = quantized->values->data;
    if (!in_runs(&pass->slices))
        return code_in_columns(ctx, pass);
    pass->pieces = (pass->slices.inner + CHUNK - 1) / CHUNK;
    hm_parallel_for(ctx, pass->slices.outer * pass->slices.channels * pass->pieces, code_piece,
                    pass);
    return HMATH_OK;
}

hm_status hm_quantize(hm_context *ctx, hm_scheme scheme, const int64_t *axis,
                      const hm_tensor *input, hm_quantized **out)
{
    if (axis && (*axis < 0 || *axis >= input->shape.rank))
        return hm_fail_index(ctx, "axis", HM_SCALAR, *axis, input->shape.rank);
    if (input->size == 0)
        return hm_fail_empty(ctx, "input");

    hm_quantized *result = NULL;
    hm_extremes *ranges = NULL;
    int64_t along = axis ? *axis : HM_PER_TENSOR;
    hm_slices slices = hm_slices_of(&input->shape, along);
    coding_pass pass = {.x = input->data};
    hm_status st;
    if ((st = hm_quantized_create(ctx, scheme, along, &input->shape, &result)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)slices.channels, sizeof *ranges, &ranges)) !=
            HMATH_OK ||
        (st = find_ranges(ctx, input, &slices, ranges)) != HMATH_OK)
        goto done;
    for (int64_t i = 0; i < slices.channels; i++) {
        hm_coding coding = calibrate(scheme, ranges[i]);
        ((double *)result->scales->data)[i] = coding.scale;
        ((int64_t *)result->zeros->data)[i] = (int64_t)coding.zero;
    }
    if ((st = code(ctx, &pass, result)) != HMATH_OK)
        goto done;

    *out = result;
    result = NULL;
done:
    hm_scratch_release(ctx, ranges);
    hm_release(result);
    return st;
}

hm_status hm_dequantize(hm_context *ctx, const hm_quantized *quantized, hm_tensor **out)
{
    hm_tensor *result = NULL;
    hm_status st = hm_tensor_create(ctx, &quantized->shape, &result);
    if (st != HMATH_OK)
        return st;
    coding_pass pass = {.decoded = result->data};
    if ((st = code(ctx, &pass, quantized)) == HMATH_OK && pass.bad)
        st = hm_fail_overflow(ctx);
    if (st != HMATH_OK) {
        hm_release(result);
        return st;
    }
    atomic_init(&result->known_finite, true);
    *out = result;
    return HMATH_OK;
}
