/*
 * A dense layer: values in, one call, a value out, and everything given back.
 *
 *     cc 01_dense.c $(python -m hmath --cflags --libs) -o dense && ./dense
 */
#include <hmath_deeplearning.h>
#include <stdio.h>

/* Every failure has a message; a program that goes on would look at the status and the error's
 * parts. */
static int failed(const hmath_context *ctx, hmath_status status)
{
    if (status == HMATH_OK)
        return 0;
    const hmath_error *error = hmath_last_error(ctx);
    fprintf(stderr, "status %d: %s\n", status, error ? error->message : "no context");
    return 1;
}

int main(void)
{
    const int64_t shape[] = {1, 2};
    const double input[] = {1, 2}, weights[] = {3, 4}, bias[] = {1};

    /* NULL is what a failed call leaves behind, and releasing NULL is nothing: one exit serves all.
     */
    hmath_context *ctx = NULL;
    hmath_value *x = NULL, *w = NULL, *b = NULL, *y = NULL;
    int bad = 1;
    if (failed(ctx, hmath_context_create(NULL, &ctx)) ||
        failed(ctx, hmath_tensor_create(ctx, 2, shape, input, &x)) ||
        failed(ctx, hmath_tensor_create(ctx, 2, shape, weights, &w)) ||
        failed(ctx, hmath_list_from_doubles(ctx, bias, 1, &b)) ||
        failed(ctx, hmath_neural_layers_dense(ctx, x, w, b, &y)))
        goto done;

    /* The elements belong to y and live as long as it does. */
    printf("dense: %g\n", hmath_tensor_data(y)[0]);
    bad = hmath_tensor_data(y)[0] != 12.0;

    /* A bias that does not fit is refused: the error says in parts what its message says in words.
     */
    hmath_value *unfit = NULL, *untouched = NULL;
    const double two[] = {1, 2};
    if (failed(ctx, hmath_list_from_doubles(ctx, two, 2, &unfit)))
        goto done;
    const hmath_status status = hmath_neural_layers_dense(ctx, x, w, unfit, &untouched);
    const hmath_error *error = hmath_last_error(ctx);
    printf("status %d: %s\n", status, error->message);
    bad |= status != HMATH_CHECKED || error->constructor != HMATH_DIMENSION_MISMATCH || untouched;
    hmath_release(unfit);

done:
    hmath_release(y);
    hmath_release(b);
    hmath_release(w);
    hmath_release(x);
    bad |= hmath_live_values() != 0;
    hmath_context_destroy(ctx);
    return bad;
}
