/* input * transpose(weights) + bias over the last axis. */
#include "neural/layers/dense.h"

#include "neural/layers/layers.h"
#include "tensor/contract.h"

hm_status hm_check_dense(hm_context *ctx, const hm_dense_names *names, int64_t features,
                         const hm_tensor *weights, const hm_doubles *bias)
{
    hm_status st;
    if ((st = hm_check_rank(ctx, names->weights, &weights->shape, 2)) != HMATH_OK ||
        (st = hm_check_length(ctx, names->weights, weights->shape.extent[1], features)) !=
            HMATH_OK ||
        (st = hm_check_vector(ctx, names->bias, bias)) != HMATH_OK)
        return st;
    return hm_check_length(ctx, names->bias, bias->length, weights->shape.extent[0]);
}

hm_status hm_check_features(hm_context *ctx, const hm_tensor *input)
{
    return input->shape.rank > 0 ? HMATH_OK
                                 : hm_fail_shape(ctx, "input", "rank 1 or more", "rank 0");
}

hm_status hm_check_dense_finite(hm_context *ctx, const hm_dense_names *names,
                                const hm_tensor *weights, const hm_doubles *bias)
{
    hm_status st = hm_check_tensor_finite(ctx, names->weights, weights);
    return st != HMATH_OK ? st : hm_check_doubles_finite(ctx, names->bias, bias);
}

hm_status hm_run_dense(hm_context *ctx, const double *input, int64_t rows, const hm_tensor *weights,
                       const hm_doubles *bias, double *out, bool *finite)
{
    const int64_t outputs = weights->shape.extent[0], features = weights->shape.extent[1];
    const hm_product product = {.batch = 1,
                                .rows = rows,
                                .columns = outputs,
                                .depth = features,
                                .left = hm_matrix_rows(input, features),
                                .right = hm_matrix_transposed(weights->data, features),
                                .out = out,
                                .out_row = outputs,
                                .column_bias = bias->data};
    return hm_contract(ctx, &product, finite);
}

hm_status hm_dense(hm_context *ctx, const hm_tensor *input, const hm_tensor *weights,
                   const hm_doubles *bias, hm_tensor **out)
{
    static const hm_dense_names names = {"weights", "bias"};
    hm_status st;
    if ((st = hm_check_features(ctx, input)) != HMATH_OK)
        return st;
    const int32_t last = input->shape.rank - 1;
    const int64_t rows = hm_shape_span(&input->shape, 0, last);
    if ((st = hm_check_dense(ctx, &names, input->shape.extent[last], weights, bias)) != HMATH_OK)
        return st;

    hm_shape shape = input->shape;
    shape.extent[last] = weights->shape.extent[0];
    hm_tensor *result = NULL;
    bool finite = true;
    if ((st = hm_tensor_create(ctx, &shape, &result)) != HMATH_OK ||
        (st = hm_run_dense(ctx, input->data, rows, weights, bias, result->data, &finite)) !=
            HMATH_OK)
        goto done;
    /* Every element of an operand meets some element of the result, if there is one. */
    if (result->size == 0 || !finite) {
        if ((st = hm_check_tensor_finite(ctx, "input", input)) != HMATH_OK ||
            (st = hm_check_dense_finite(ctx, &names, weights, bias)) != HMATH_OK)
            goto done;
        if (!finite) {
            st = hm_fail_overflow(ctx);
            goto done;
        }
    }
    atomic_init(&result->known_finite, true);
    *out = result;
    result = NULL;
done:
    hm_release(result);
    return st;
}
