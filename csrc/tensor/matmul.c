#include "tensor/matmul.h"

#include "tensor/contract.h"
#include "tensor/view.h"

static hm_status check_ranked(hm_context *ctx, const char *argument, const hm_shape *shape)
{
    return shape->rank > 0 ? HMATH_OK : hm_fail_shape(ctx, argument, "rank 1 or more", "rank 0");
}

/* The axes before the last two. */
static hm_shape batch_of(const hm_shape *shape)
{
    hm_shape batch = *shape;
    batch.rank = shape->rank > 2 ? shape->rank - 2 : 0;
    return batch;
}

/* Without a batch to repeat it over, a stack of matrices against one matrix is one tall matrix. */
static void join_rows(hm_matmul_plan *plan)
{
    hm_broadcast *batch = &plan->batch;
    if (batch->axes == 1 && batch->left[0] == 1 && batch->right[0] == 0) {
        plan->rows *= batch->extent[0];
        *batch = (hm_broadcast){.size = 1};
    }
}

hm_status hm_matmul_plan_create(hm_context *ctx, const hm_shape *left, const hm_shape *right,
                                hm_matmul_plan *out)
{
    hm_status st;
    if ((st = check_ranked(ctx, "left", left)) != HMATH_OK ||
        (st = check_ranked(ctx, "right", right)) != HMATH_OK)
        return st;
    const bool row = left->rank == 1, column = right->rank == 1;
    const int64_t depth = left->extent[left->rank - 1];
    const int64_t right_depth = right->extent[column ? 0 : right->rank - 2];
    if (depth != right_depth)
        return hm_fail_dimension(ctx, "right", depth, right_depth);

    const hm_shape left_batch = batch_of(left), right_batch = batch_of(right);
    hm_matmul_plan plan = {
        .rows = row ? 1 : left->extent[left->rank - 2],
        .depth = depth,
        .columns = column ? 1 : right->extent[right->rank - 1],
    };
    hm_shape batch;
    if ((st = hm_shape_broadcast(ctx, "right", &left_batch, &right_batch, &batch)) != HMATH_OK)
        return st;
    plan.result = batch;
    if (!row)
        plan.result.extent[plan.result.rank++] = plan.rows;
    if (!column)
        plan.result.extent[plan.result.rank++] = plan.columns;
    int64_t size;
    if (!hm_shape_size(&plan.result, &size))
        return hm_fail_memory(ctx);
    plan.batch = hm_broadcast_plan(&left_batch, &right_batch, &batch);
    join_rows(&plan);
    *out = plan;
    return HMATH_OK;
}

/* The innermost axis of the batch is one call; the axes around it are counted through. */
hm_status hm_matmul_run(hm_context *ctx, const hm_matmul_plan *plan, const double *left,
                        const double *right, double *out, bool *finite)
{
    const hm_broadcast *batch = &plan->batch;
    const int64_t left_size = plan->rows * plan->depth, right_size = plan->depth * plan->columns;
    const int64_t size = plan->rows * plan->columns;
    const int32_t inner = batch->axes - 1;
    hm_product product = {
        .batch = inner < 0 ? batch->size : batch->extent[inner],
        .rows = plan->rows,
        .columns = plan->columns,
        .depth = plan->depth,
        .left = hm_matrix_rows(left, plan->depth),
        .right = hm_matrix_rows(right, plan->columns),
        .out_row = plan->columns,
        .out_batch = size,
    };
    if (inner >= 0) {
        product.left.batch = batch->left[inner] * left_size;
        product.right.batch = batch->right[inner] * right_size;
    }
    *finite = true;
    for (int64_t done = 0; done < batch->size; done += product.batch) {
        int64_t left_place, right_place;
        hm_broadcast_places(batch, done, &left_place, &right_place);
        product.left.data = left + left_place * left_size;
        product.right.data = right + right_place * right_size;
        product.out = out + done * size;
        bool part_finite;
        hm_status st = hm_contract(ctx, &product, &part_finite);
        if (st != HMATH_OK)
            return st;
        *finite = *finite && part_finite;
    }
    return HMATH_OK;
}

/* A result that is not finite has a cause: an operand that is not, or else the chain itself. */
static hm_status explain(hm_context *ctx, const hm_tensor *left, const hm_tensor *right)
{
    hm_status st;
    if ((st = hm_check_tensor_finite(ctx, "left", left)) != HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "right", right)) != HMATH_OK)
        return st;
    return hm_fail_overflow(ctx);
}

hm_status hm_matmul(hm_context *ctx, const hm_tensor *left, const hm_tensor *right, hm_tensor **out)
{
    hm_matmul_plan plan;
    hm_tensor *result = NULL;
    bool finite;
    hm_status st = hm_matmul_plan_create(ctx, &left->shape, &right->shape, &plan);
    if (st != HMATH_OK)
        return st;
    if ((st = hm_tensor_create(ctx, &plan.result, &result)) != HMATH_OK)
        return st;
    if ((st = hm_matmul_run(ctx, &plan, left->data, right->data, result->data, &finite)) !=
        HMATH_OK)
        goto done;
    if (result->size == 0) { /* nothing was read */
        if ((st = hm_check_tensor_finite(ctx, "left", left)) != HMATH_OK ||
            (st = hm_check_tensor_finite(ctx, "right", right)) != HMATH_OK)
            goto done;
    } else if (!finite) {
        st = explain(ctx, left, right);
        goto done;
    }
    hm_tensor_remember_finite(left);
    hm_tensor_remember_finite(right);
    hm_tensor_remember_finite(result);
    *out = result;
    result = NULL;
done:
    hm_release(result);
    return st;
}
