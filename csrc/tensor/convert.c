#include "tensor/convert.h"

#include <math.h>

#include "runtime/pool.h"
#include "tensor/view.h"

enum { ELEMENTS_A_CHUNK = 1 << 15, MOST_CHUNKS = 64 };

typedef struct job {
    const hm_tensor *from;
    hm_tensor *to;
    int64_t chunks;
    atomic_bool spoiled; /* a float is not finite */
} job;

static void promote_chunk(void *task, int64_t chunk)
{
    const job *j = task;
    const int64_t last = hm_split(j->from->size, j->chunks, chunk + 1);
    for (int64_t i = hm_split(j->from->size, j->chunks, chunk); i < last; i++)
        j->to->data[i] = (double)j->from->floats[i];
}

/* x * 0 is a zero for a finite x and NaN else. Sixteen sums run side by side. */
static void demote_chunk(void *task, int64_t chunk)
{
    enum { SUMS = 16 };
    job *j = task;
    float zeros[SUMS] = {0}, spoiled = 0;
    int64_t i = hm_split(j->from->size, j->chunks, chunk);
    const int64_t last = hm_split(j->from->size, j->chunks, chunk + 1);
    for (; i + SUMS <= last; i += SUMS)
        for (int64_t k = 0; k < SUMS; k++) {
            j->to->floats[i + k] = (float)j->from->data[i + k];
            zeros[k] += j->to->floats[i + k] * 0.0f;
        }
    for (; i < last; i++) {
        j->to->floats[i] = (float)j->from->data[i];
        spoiled += j->to->floats[i] * 0.0f;
    }
    for (int64_t k = 0; k < SUMS; k++)
        spoiled += zeros[k];
    if (spoiled != 0)
        atomic_store_explicit(&j->spoiled, true, memory_order_relaxed);
}

hm_status hm_promote(hm_context *ctx, const hm_tensor *input, hm_tensor **out)
{
    hm_tensor *result = NULL;
    hm_status st = hm_tensor_create(ctx, &input->shape, &result);
    if (st != HMATH_OK)
        return st;
    job j = {.from = input,
             .to = result,
             .chunks = hm_chunks(input->size, ELEMENTS_A_CHUNK, MOST_CHUNKS)};
    hm_parallel_for(ctx, j.chunks, promote_chunk, &j);
    *out = result;
    return HMATH_OK;
}

hm_status hm_demote(hm_context *ctx, const hm_tensor *input, hm_tensor **out)
{
    hm_tensor *result = NULL;
    hm_status st = hm_tensor_float_create(ctx, &input->shape, &result);
    if (st != HMATH_OK)
        return st;
    job j = {.from = input,
             .to = result,
             .chunks = hm_chunks(input->size, ELEMENTS_A_CHUNK, MOST_CHUNKS)};
    hm_parallel_for(ctx, j.chunks, demote_chunk, &j);
    if (j.spoiled) {
        hm_release(result);
        st = hm_check_tensor_finite(ctx, "input", input);
        return st != HMATH_OK ? st : hm_fail_overflow(ctx);
    }
    hm_tensor_remember_finite(input); /* a finite float comes from a finite double */
    *out = result;
    return HMATH_OK;
}
