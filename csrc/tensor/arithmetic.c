#include "tensor/arithmetic.h"

#include <math.h>

#include "runtime/pool.h"
#include "tensor/view.h"

/* ------------------------------------------------- one tensor */

enum { ELEMENTS_A_CHUNK = 1 << 14, MOST_CHUNKS = 128, LINE = 8 };

typedef struct job {
    hm_unary_kernel *kernel;
    const double *input;
    double *out;
    int64_t n, chunks;
    atomic_bool spoiled;
} job;

static void run_chunk(void *task, int64_t chunk)
{
    job *j = task;
    const int64_t lines = (j->n + LINE - 1) / LINE;
    const int64_t first = LINE * hm_split(lines, j->chunks, chunk);
    int64_t last = LINE * hm_split(lines, j->chunks, chunk + 1);
    if (last > j->n)
        last = j->n;
    if (!j->kernel((size_t)(last - first), j->input + first, j->out + first))
        atomic_store_explicit(&j->spoiled, true, memory_order_relaxed);
}

bool hm_unary_run(const hm_context *ctx, int op, const double *input, int64_t n, double *out)
{
    job j = {.kernel = hm_context_kernels(ctx)->elementwise->unary[op],
             .input = input,
             .out = out,
             .n = n,
             .chunks = hm_chunks(n, ELEMENTS_A_CHUNK, MOST_CHUNKS)};
    hm_parallel_for(ctx, j.chunks, run_chunk, &j);
    return !j.spoiled;
}

/* Where a function is defined; functions that are not here are defined everywhere. */
static bool outside(int op, double x, const char **requirement)
{
    switch (op) {
    case HM_UNARY_sqrt: *requirement = ">= 0"; return x < 0;
    case HM_UNARY_log: *requirement = "> 0"; return x <= 0;
    case HM_UNARY_log1p: *requirement = "> -1"; return x <= -1;
    case HM_UNARY_reciprocal: *requirement = "not 0"; return x == 0;
    default: return false;
    }
}

hm_status hm_unary_failure(hm_context *ctx, int op, const char *argument, const double *input,
                           int64_t n)
{
    hm_status st = hm_check_finite(ctx, argument, input, n);
    if (st != HMATH_OK)
        return st;
    const char *requirement;
    for (int64_t i = 0; i < n; i++)
        if (outside(op, input[i], &requirement))
            return hm_fail_domain(ctx, argument, i, input[i], requirement);
    return hm_fail_overflow(ctx);
}

hm_status hm_unary(hm_context *ctx, int op, const hm_tensor *input, hm_tensor **out)
{
    hm_tensor *result = NULL;
    hm_status st = hm_tensor_like(ctx, input, &result);
    if (st != HMATH_OK)
        return st;
    if (!hm_unary_run(ctx, op, input->data, input->size, result->data)) {
        hm_release(result);
        return hm_unary_failure(ctx, op, "input", input->data, input->size);
    }
    hm_tensor_remember_finite(input);
    hm_tensor_remember_finite(result);
    *out = result;
    return HMATH_OK;
}

/* ------------------------------------------------- two tensors */

/* What the right operand may not be, given the left one. */
static bool forbidden(int op, double left, double right, const char **requirement)
{
    switch (op) {
    case HM_BINARY_divide: *requirement = "not 0"; return right == 0;
    case HM_BINARY_pow:
        *requirement = left == 0 ? ">= 0 where left is 0" : "an integer where left is negative";
        return left == 0 ? right < 0 : left < 0 && right != trunc(right);
    default: return false;
    }
}

hm_status hm_binary_failure(hm_context *ctx, int op, const char *argument, const hm_broadcast *plan,
                            const double *left, const double *right)
{
    const char *requirement;
    for (int64_t i = 0; i < plan->size; i++) {
        int64_t left_place, right_place;
        hm_broadcast_places(plan, i, &left_place, &right_place);
        if (forbidden(op, left[left_place], right[right_place], &requirement))
            return hm_fail_domain(ctx, argument, right_place, right[right_place], requirement);
    }
    return hm_fail_overflow(ctx);
}

static hm_status check_operands(hm_context *ctx, const hm_tensor *left, const hm_tensor *right)
{
    hm_status st = hm_check_tensor_finite(ctx, "left", left);
    return st != HMATH_OK ? st : hm_check_tensor_finite(ctx, "right", right);
}

/* first and second are left and right, in the order in which the kernel gets them. */
static hm_status binary(hm_context *ctx, int op, const hm_tensor *left, const hm_tensor *right,
                        const hm_tensor *first, const hm_tensor *second, hm_tensor **out)
{
    hm_shape shape;
    hm_tensor *result = NULL;
    hm_status st = hm_shape_broadcast(ctx, "right", &left->shape, &right->shape, &shape);
    if (st != HMATH_OK || (st = hm_tensor_create(ctx, &shape, &result)) != HMATH_OK)
        return st;
    const hm_broadcast plan = hm_broadcast_plan(&first->shape, &second->shape, &shape);
    hm_binary_kernel *kernel = hm_context_kernels(ctx)->elementwise->binary[op];
    const bool finite =
        hm_broadcast_run(ctx, &plan, kernel, first->data, second->data, result->data);
    if (!finite || plan.size == 0) /* of an empty result the kernel saw nothing */
        st = check_operands(ctx, left, right);
    if (st == HMATH_OK && !finite)
        st = hm_binary_failure(ctx, op, "right", &plan, left->data, right->data);
    if (st != HMATH_OK)
        goto done;
    hm_tensor_remember_finite(left);
    hm_tensor_remember_finite(right);
    hm_tensor_remember_finite(result);
    *out = result;
    result = NULL;
done:
    hm_release(result);
    return st;
}

hm_status hm_binary(hm_context *ctx, int op, const hm_tensor *left, const hm_tensor *right,
                    hm_tensor **out)
{
    return binary(ctx, op, left, right, left, right, out);
}

hm_status hm_binary_turned(hm_context *ctx, int op, const hm_tensor *left, const hm_tensor *right,
                           hm_tensor **out)
{
    return binary(ctx, op, left, right, right, left, out);
}
