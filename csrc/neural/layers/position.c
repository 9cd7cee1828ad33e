/*
 * Where a query stands and which keys it may see, and what tells one position from another. With a
 * cached prefix of `offset` keys, query i stands at position offset + i. Both are below 2^63, so
 * that their sum fits an unsigned number and never wraps.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "neural/layers/check.h"
#include "neural/layers/frequency.h"
#include "neural/layers/layers.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/extent.h"

hm_status hm_causal_mask(hm_context *ctx, int64_t queries, int64_t keys, int64_t offset,
                         hm_list **out)
{
    hm_status st;
    hm_list *mask = NULL;
    if ((st = hm_check_count(ctx, "queries", queries)) != HMATH_OK ||
        (st = hm_check_count(ctx, "keys", keys)) != HMATH_OK ||
        (st = hm_check_count(ctx, "offset", offset)) != HMATH_OK ||
        (st = hm_rows_reserve(ctx, HM_ELEMENT_BOOL, queries, keys, &mask)) != HMATH_OK)
        return st;
    uint8_t *allowed = mask->data;
    for (int64_t i = 0; keys > 0 && i < queries; i++) { /* empty rows may be without number */
        const uint64_t position = (uint64_t)offset + (uint64_t)i;
        for (int64_t j = 0; j < keys; j++)
            *allowed++ = (uint64_t)j <= position;
    }
    *out = mask;
    return HMATH_OK;
}

hm_status hm_alibi_bias(hm_context *ctx, double slope, int64_t queries, int64_t keys,
                        int64_t offset, hm_list **out)
{
    hm_status st;
    hm_list *bias = NULL;
    if ((st = hm_check_not_negative(ctx, "slope", slope)) != HMATH_OK ||
        (st = hm_check_count(ctx, "queries", queries)) != HMATH_OK ||
        (st = hm_check_count(ctx, "keys", keys)) != HMATH_OK ||
        (st = hm_check_count(ctx, "offset", offset)) != HMATH_OK ||
        (st = hm_rows_reserve(ctx, HM_ELEMENT_DOUBLE, queries, keys, &bias)) != HMATH_OK)
        return st;

    double lowest = 0, *data = bias->data;
    for (int64_t i = 0; keys > 0 && i < queries; i++) { /* empty rows may be without number */
        const uint64_t position = (uint64_t)offset + (uint64_t)i;
        for (int64_t j = 0; j < keys; j++) {
            const uint64_t key = (uint64_t)j;
            const uint64_t away = position < key ? key - position : position - key;
            const double element = 0.0 - slope * (double)away; /* +0 where they meet */
            lowest = element < lowest ? element : lowest;
            *data++ = element;
        }
    }
    if (!isfinite(lowest)) {
        hm_release(bias);
        return hm_fail_overflow(ctx);
    }
    *out = bias;
    return HMATH_OK;
}

/* ------------------------------------------------- turning pairs */

/* Below 2^53 every position is a double; the angle is its product with a frequency in two doubles.
 */
#define POSITIONS ((int64_t)1 << 53)

static hm_status check_positions(hm_context *ctx, int64_t offset, int64_t length)
{
    return offset < POSITIONS - length
               ? HMATH_OK
               : hm_fail_domain_int(ctx, "offset", HM_SCALAR, offset, "offset + length < 2^53");
}

enum { PAIRS = 256, CHUNK_PAIRS = 4096 };

/* Rows first ... of d features each, one position after the other. */
typedef struct turning {
    const hm_kernels *kernels;
    int64_t rows, d, pairs, offset, rows_per_chunk;
    const double *high, *low; /* frequencies, one a pair */
    const double *x;          /* to be turned; NULL: write sines and cosines */
    double *out;
    atomic_bool spoiled;
} turning;

/* An odd width ends on a sine. */
static void write_waves(const double *sines, const double *cosines, int64_t pairs, int64_t left,
                        double *out)
{
    for (int64_t i = 0; i < pairs; i++) {
        out[2 * i] = sines[i];
        if (2 * i + 1 < left)
            out[2 * i + 1] = cosines[i];
    }
}

static bool turn_pairs(const double *sines, const double *cosines, int64_t pairs, const double *x,
                       double *out)
{
    double zeros = 0; /* 0 times what is not finite is NaN */
    for (int64_t i = 0; i < pairs; i++) {
        const double a = x[2 * i], b = x[2 * i + 1];
        out[2 * i] = a * cosines[i] - b * sines[i];
        out[2 * i + 1] = a * sines[i] + b * cosines[i];
        zeros += out[2 * i] * 0.0 + out[2 * i + 1] * 0.0;
    }
    return zeros == 0;
}

static void turn_row(turning *t, int64_t row)
{
    double sines[PAIRS], cosines[PAIRS];
    const int64_t position = t->offset + row;
    for (int64_t first = 0; first < t->pairs; first += PAIRS) {
        const int64_t n = hm_least(PAIRS, t->pairs - first), at = row * t->d + 2 * first;
        if (position == 0) { /* no angle, whatever the frequency */
            for (int64_t i = 0; i < n; i++) {
                sines[i] = 0;
                cosines[i] = 1;
            }
        } else {
            t->kernels->elementwise->turn((size_t)n, (double)position, t->high + first,
                                          t->low + first, sines, cosines);
        }
        if (!t->x)
            write_waves(sines, cosines, n, t->d - 2 * first, t->out + at);
        else if (!turn_pairs(sines, cosines, n, t->x + at, t->out + at))
            atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
    }
}

static void turn_chunk(void *task, int64_t chunk)
{
    turning *t = task;
    const int64_t first = chunk * t->rows_per_chunk;
    const int64_t end = hm_least(t->rows, first + t->rows_per_chunk);
    for (int64_t row = first; row < end; row++)
        turn_row(t, row);
}

static hm_status turn(hm_context *ctx, double base, turning *t)
{
    if (t->rows == 0 || t->pairs == 0)
        return HMATH_OK;
    double *frequencies = NULL;
    hm_status st =
        hm_scratch_create(ctx, (size_t)(2 * t->pairs), sizeof *frequencies, &frequencies);
    if (st != HMATH_OK)
        return st;
    t->kernels = hm_context_kernels(ctx);
    t->high = frequencies;
    t->low = frequencies + t->pairs;
    hm_frequencies(t->kernels, base, t->d, t->pairs, frequencies, frequencies + t->pairs);
    t->rows_per_chunk = CHUNK_PAIRS / t->pairs + 1;
    hm_parallel_for(ctx, hm_ceiling(t->rows, t->rows_per_chunk), turn_chunk, t);
    hm_scratch_release(ctx, frequencies);
    return atomic_load(&t->spoiled) ? hm_fail_overflow(ctx) : HMATH_OK;
}

static hm_status turn_into(hm_context *ctx, double base, turning *t, hm_tensor **out)
{
    const hm_shape shape = {.rank = 2, .extent = {t->rows, t->d}};
    hm_tensor *result = NULL;
    hm_status st = hm_tensor_create(ctx, &shape, &result);
    if (st != HMATH_OK)
        return st;
    t->out = result->data;
    if ((st = turn(ctx, base, t)) != HMATH_OK) {
        hm_release(result);
        return st;
    }
    atomic_init(&result->known_finite, true);
    *out = result;
    return HMATH_OK;
}

hm_status hm_rotary_embedding(hm_context *ctx, double base, int64_t offset, const hm_tensor *input,
                              hm_tensor **out)
{
    hm_status st;
    if ((st = hm_check_positive(ctx, "base", base)) != HMATH_OK ||
        (st = hm_check_count(ctx, "offset", offset)) != HMATH_OK ||
        (st = hm_check_rank(ctx, "input", &input->shape, 2)) != HMATH_OK)
        return st;
    const int64_t rows = input->shape.extent[0], d = input->shape.extent[1];
    if (d % 2 != 0) {
        char actual[32];
        snprintf(actual, sizeof actual, "%lld", (long long)d);
        return hm_fail_shape(ctx, "input", "an even number of features", actual);
    }
    if ((st = hm_check_tensor_finite(ctx, "input", input)) != HMATH_OK ||
        (st = check_positions(ctx, offset, rows)) != HMATH_OK)
        return st;
    turning t = {.rows = rows, .d = d, .pairs = d / 2, .offset = offset, .x = input->data};
    return turn_into(ctx, base, &t, out);
}

hm_status hm_sinusoidal_encoding(hm_context *ctx, int64_t length, int64_t dimensions,
                                 int64_t offset, hm_tensor **out)
{
    hm_status st;
    if ((st = hm_check_at_least_one(ctx, "length", length)) != HMATH_OK ||
        (st = hm_check_at_least_one(ctx, "dimensions", dimensions)) != HMATH_OK ||
        (st = hm_check_count(ctx, "offset", offset)) != HMATH_OK ||
        (st = check_positions(ctx, offset, length)) != HMATH_OK)
        return st;
    turning t = {.rows = length,
                 .d = dimensions,
                 .pairs = dimensions / 2 + dimensions % 2,
                 .offset = offset};
    return turn_into(ctx, 10000.0, &t, out);
}
