/*
 * Dropout: a mode, a random continuation, and a result of three parts.
 *
 * No state hides anywhere: the generator that goes in is still what it was afterwards, and the one
 * that comes out continues it. The result is a tuple; each part taken out of it is one more
 * reference to give back.
 */
#include <hmath_deeplearning.h>
#include <stdio.h>

enum { ELEMENTS = 8 };

static int failed(const hmath_context *ctx, hmath_status status)
{
    if (status == HMATH_OK)
        return 0;
    const hmath_error *error = hmath_last_error(ctx);
    fprintf(stderr, "status %d: %s\n", status, error ? error->message : "no context");
    return 1;
}

static void print(const char *name, const hmath_value *tensor)
{
    printf("%-10s", name);
    for (int64_t i = 0; i < hmath_tensor_size(tensor); i++)
        printf(" %5.2f", hmath_tensor_data(tensor)[i]);
    printf("\n");
}

int main(void)
{
    const int64_t shape[] = {2, 4};
    const double values[ELEMENTS] = {1, 2, 3, 4, 5, 6, 7, 8};

    hmath_context *ctx = NULL;
    hmath_value *input = NULL, *generator = NULL, *rng = NULL, *probability = NULL;
    hmath_value *training = NULL, *result = NULL, *output = NULL, *mask = NULL, *advanced = NULL;
    hmath_value *again = NULL, *repeated = NULL;
    int bad = 1;
    if (failed(ctx, hmath_context_create(NULL, &ctx)) ||
        failed(ctx, hmath_tensor_create(ctx, 2, shape, values, &input)) ||
        failed(ctx, hmath_random_pcg32_create(ctx, 54, &generator)) ||
        failed(ctx, hmath_random_seed(ctx, generator, 42, &rng)) ||
        failed(ctx, hmath_double_create(ctx, 0.5, &probability)) ||
        failed(ctx, hmath_neural_layers_training_create(ctx, &training)))
        goto done;

    /* (output, mask, next rng) */
    if (failed(ctx, hmath_neural_layers_dropout(ctx, training, probability, rng, input, &result)) ||
        failed(ctx, hmath_tuple_item(ctx, result, 0, &output)) ||
        failed(ctx, hmath_tuple_item(ctx, result, 1, &mask)) ||
        failed(ctx, hmath_tuple_item(ctx, result, 2, &advanced)))
        goto done;
    print("output", output);
    print("mask", mask); /* 0, or 1 / (1 - probability) where the element was kept */

    bad = 0;
    for (int i = 0; i < ELEMENTS; i++)
        bad |= hmath_tensor_data(output)[i] != values[i] * hmath_tensor_data(mask)[i];

    /* The old generator is as it was, so that the same call gives the same bits. */
    if (failed(ctx, hmath_neural_layers_dropout(ctx, training, probability, rng, input, &again)) ||
        failed(ctx, hmath_tuple_item(ctx, again, 0, &repeated))) {
        bad = 1;
        goto done;
    }
    bad |= hmath_tensor_identical(output, repeated) != 1;

done:
    /* In any order: a part lives as long as it is held, also when its tuple is gone. */
    hmath_release(result);
    hmath_release(again);
    hmath_release(output);
    hmath_release(mask);
    hmath_release(advanced);
    hmath_release(repeated);
    hmath_release(training);
    hmath_release(probability);
    hmath_release(rng);
    hmath_release(generator);
    hmath_release(input);
    bad |= hmath_live_values() != 0;
    hmath_context_destroy(ctx);
    return bad;
}
