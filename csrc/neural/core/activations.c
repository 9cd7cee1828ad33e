/*
 * Activations: the formulas are the kernels' (kernels/elementwise.h, SEMANTICS of each there); here
 * are the checks and the threads.
 */
#include <math.h>
#include <stdatomic.h>

#include "kernels/elementwise.h"
#include "neural/core/core.h"
#include "runtime/context.h"
#include "runtime/pool.h"

enum {
    CHUNK = 16384
}; /* elements: some 10 to 50 microseconds, inputs and results in the second cache */

/* The finite result, or what was wrong: the kernel only says that something was. */
static hm_status explain(hm_context *ctx, const char *argument, const double *x, int64_t n)
{
    hm_status st = hm_check_finite(ctx, argument, x, n);
    return st != HMATH_OK ? st : hm_fail_overflow(ctx);
}

hm_status hm_activation_number(hm_context *ctx, const hm_activation *method, bool derivative,
                               double value, double *out)
{
    hm_status st = hm_check_activation(ctx, "method.parameter", method);
    if (st != HMATH_OK || (st = hm_check_scalar_finite(ctx, "value", value)) != HMATH_OK)
        return st;
    const hm_elementwise_kernels *k = hm_context_kernels(ctx)->elementwise;
    double result;
    if (!(derivative ? k->activation_derivative
                     : k->activation)[method->formula](1, method->parameter, &value, &result))
        return hm_fail_overflow(ctx);
    *out = result;
    return HMATH_OK;
}

typedef struct map_task {
    hm_activation_kernel *kernel;
    hm_binary_kernel *binary; /* instead, where it is set */
    double parameter;
    const double *x, *y;
    int64_t n, chunks;
    double *out;
    atomic_bool spoiled;
} map_task;

static void map_chunk(void *task, int64_t chunk)
{
    map_task *t = task;
    const int64_t first = hm_split(t->n, t->chunks, chunk);
    const size_t n = (size_t)(hm_split(t->n, t->chunks, chunk + 1) - first);
    const bool finite = t->binary ? t->binary(n, t->x + first, 1, t->y + first, 1, t->out + first)
                                  : t->kernel(n, t->parameter, t->x + first, t->out + first);
    if (!finite)
        atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
}

/* False where an element or a result is not finite. */
static bool map(const hm_context *ctx, map_task *task)
{
    task->chunks = hm_chunks(task->n, CHUNK, INT64_MAX);
    hm_parallel_for(ctx, task->chunks, map_chunk, task);
    return !task->spoiled;
}

hm_status hm_activation_tensor(hm_context *ctx, const hm_activation *method, bool derivative,
                               const hm_tensor *value, hm_tensor **out)
{
    hm_status st = hm_check_activation(ctx, "method.parameter", method);
    hm_tensor *result = NULL;
    if (st != HMATH_OK || (st = hm_tensor_like(ctx, value, &result)) != HMATH_OK)
        return st;
    const hm_elementwise_kernels *k = hm_context_kernels(ctx)->elementwise;
    map_task task = {
        .kernel = (derivative ? k->activation_derivative : k->activation)[method->formula],
        .parameter = method->parameter,
        .x = value->data,
        .n = value->size,
        .out = result->data,
    };
    if (!map(ctx, &task)) {
        hm_release(result);
        return explain(ctx, "value", value->data, value->size);
    }
    *out = result;
    return HMATH_OK;
}

hm_status hm_gated_linear_unit(hm_context *ctx, const hm_doubles *values, const hm_doubles *gate,
                               hm_value **out)
{
    hm_status st;
    if ((st = hm_check_vector(ctx, "values", values)) != HMATH_OK ||
        (st = hm_check_vector(ctx, "gate", gate)) != HMATH_OK ||
        (st = hm_check_length(ctx, "gate", gate->length, values->length)) != HMATH_OK)
        return st;
    hm_value *result = NULL;
    map_task task = {
        .binary = hm_context_kernels(ctx)->elementwise->binary[HM_BINARY_gated],
        .x = values->data,
        .y = gate->data,
        .n = values->length,
    };
    if ((st = hm_result_like(ctx, values->source, values->length, &result, &task.out)) != HMATH_OK)
        return st;
    if (!map(ctx, &task)) {
        hm_release(result);
        st = hm_check_finite(ctx, "values", values->data, values->length);
        return st != HMATH_OK ? st : explain(ctx, "gate", gate->data, gate->length);
    }
    *out = result;
    return HMATH_OK;
}
