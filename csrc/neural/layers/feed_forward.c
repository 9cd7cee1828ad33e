/*
 * dense, activation, dense, by blocks of rows whose hidden features stay in the cache between the
 * three. Rows know nothing of each other, so that blocks change no bit.
 */
#include <stdatomic.h>

#include "neural/layers/dense.h"
#include "neural/layers/layers.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/extent.h"

enum { HIDDEN = 1 << 18, CHUNK_ELEMENTS = 8192 };

static const hm_dense_names first_names = {"first_weights", "first_bias"};
static const hm_dense_names second_names = {"second_weights", "second_bias"};

typedef struct activation_task {
    hm_activation_kernel *kernel;
    double parameter;
    double *x;
    int64_t n;
    atomic_bool spoiled;
} activation_task;

static void activate_chunk(void *task, int64_t chunk)
{
    activation_task *t = task;
    const int64_t first = chunk * CHUNK_ELEMENTS, n = hm_least(CHUNK_ELEMENTS, t->n - first);
    if (!t->kernel((size_t)n, t->parameter, t->x + first, t->x + first))
        atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
}

/* In place; whether the results are finite. */
static bool activate(const hm_context *ctx, const hm_activation *activation, double *x, int64_t n)
{
    const hm_elementwise_kernels *k = hm_context_kernels(ctx)->elementwise;
    activation_task task = {.kernel = k->activation[activation->formula],
                            .parameter = activation->parameter,
                            .x = x,
                            .n = n};
    hm_parallel_for(ctx, hm_ceiling(n, CHUNK_ELEMENTS), activate_chunk, &task);
    return !atomic_load(&task.spoiled);
}

static hm_status check_elements(hm_context *ctx, const hm_tensor *input,
                                const hm_tensor *first_weights, const hm_doubles *first_bias,
                                const hm_tensor *second_weights, const hm_doubles *second_bias)
{
    hm_status st;
    if ((st = hm_check_tensor_finite(ctx, "input", input)) != HMATH_OK ||
        (st = hm_check_dense_finite(ctx, &first_names, first_weights, first_bias)) != HMATH_OK)
        return st;
    return hm_check_dense_finite(ctx, &second_names, second_weights, second_bias);
}

hm_status hm_transformer_feed_forward(hm_context *ctx, const hm_activation *activation,
                                      const hm_tensor *input, const hm_tensor *first_weights,
                                      const hm_doubles *first_bias, const hm_tensor *second_weights,
                                      const hm_doubles *second_bias, hm_tensor **out)
{
    hm_status st;
    if ((st = hm_check_activation(ctx, "activation.parameter", activation)) != HMATH_OK ||
        (st = hm_check_features(ctx, input)) != HMATH_OK)
        return st;
    const int32_t last = input->shape.rank - 1;
    const int64_t rows = hm_shape_span(&input->shape, 0, last),
                  features = input->shape.extent[last];
    if ((st = hm_check_dense(ctx, &first_names, features, first_weights, first_bias)) != HMATH_OK)
        return st;
    const int64_t hidden = first_weights->shape.extent[0];
    if ((st = hm_check_dense(ctx, &second_names, hidden, second_weights, second_bias)) != HMATH_OK)
        return st;

    hm_shape shape = input->shape;
    shape.extent[last] = second_weights->shape.extent[0];
    const int64_t outputs = shape.extent[last];
    const int64_t block = hm_most(64, HIDDEN / hm_most(1, hidden));
    hm_tensor *result = NULL;
    double *between = NULL;
    bool finite = true;
    if ((st = hm_tensor_create(ctx, &shape, &result)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)(hm_least(rows, block) * hidden), sizeof *between,
                                &between)) != HMATH_OK)
        goto done;
    for (int64_t first = 0; first < rows && outputs && finite; first += block) {
        const int64_t n = hm_least(block, rows - first);
        if ((st = hm_run_dense(ctx, input->data + first * features, n, first_weights, first_bias,
                               between, &finite)) != HMATH_OK)
            goto done;
        finite = finite && activate(ctx, activation, between, n * hidden);
        if (finite && (st = hm_run_dense(ctx, between, n, second_weights, second_bias,
                                         result->data + first * outputs, &finite)) != HMATH_OK)
            goto done;
    }
    /* A result looked at every element of the operands, if it has elements and hidden ones behind
     * it. */
    if (!finite || result->size == 0 || hidden == 0) {
        st = check_elements(ctx, input, first_weights, first_bias, second_weights, second_bias);
        if (st == HMATH_OK && !finite)
            st = hm_fail_overflow(ctx);
        if (st != HMATH_OK)
            goto done;
    }
    atomic_init(&result->known_finite, true);
    *out = result;
    result = NULL;
done:
    hm_scratch_release(ctx, between);
    hm_release(result);
    return st;
}
