/*
 * A network of three dense layers, trained in C alone. The graph is built once: loss, gradients and the
 * Adam update. It is compiled to one program, and a training step is one call.
 *
 *     cc 04_train.c $(python -m hmath --cflags --libs) -o train && ./train [steps]
 *
 * The task: tell on which of three turns of a spiral a point of the plane lies.
 */
#include <hmath_deeplearning.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 3, PARAMETERS = 2 * LAYERS, STATE = 1 + 2 * PARAMETERS, BATCH = 96, CLASSES = 3 };

static const int64_t widths[LAYERS + 1] = {2, 32, 32, CLASSES};

/*
 * Building a graph is a long row of calls that can fail in one way: remember the first failure, and
 * every handle, so that the formulas stay readable and nothing leaks.
 */
typedef struct builder {
    hmath_context *ctx;
    hmath_status status;
    hmath_value *made[512];
    int count;
} builder;

/* `made` is looked at after the call that fills it in. */
static hmath_value *keep(builder *b, hmath_status status, hmath_value *const *made)
{
    if (status != HMATH_OK) {
        if (b->status == HMATH_OK) {
            const hmath_error *error = hmath_last_error(b->ctx);
            fprintf(stderr, "status %d: %s\n", status, error ? error->message : "no context");
            b->status = status;
        }
        return NULL;
    }
    if (b->count == (int)(sizeof b->made / sizeof b->made[0]))
        abort();
    return b->made[b->count++] = *made;
}

static hmath_value *number(builder *b, double x)
{
    hmath_value *v = NULL;
    return keep(b, hmath_double_create(b->ctx, x, &v), &v);
}

static hmath_value *variable(builder *b, const char *name, int32_t rank, const int64_t *shape)
{
    hmath_value *v = NULL;
    return keep(b, hmath_autodiff_variable(b->ctx, name, rank, shape, &v), &v);
}

typedef hmath_status unary(hmath_context *, const hmath_value *, hmath_value **);
typedef hmath_status binary(hmath_context *, const hmath_value *, const hmath_value *,
                            hmath_value **);

static hmath_value *apply(builder *b, unary *f, hmath_value *x)
{
    hmath_value *v = NULL;
    return b->status ? NULL : keep(b, f(b->ctx, x, &v), &v);
}

static hmath_value *combine(builder *b, binary *f, hmath_value *x, hmath_value *y)
{
    hmath_value *v = NULL;
    return b->status ? NULL : keep(b, f(b->ctx, x, y, &v), &v);
}

#define ADD(x, y) combine(b, hmath_autodiff_add, x, y)
#define SUBTRACT(x, y) combine(b, hmath_autodiff_subtract, x, y)
#define MULTIPLY(x, y) combine(b, hmath_autodiff_multiply, x, y)
#define DIVIDE(x, y) combine(b, hmath_autodiff_divide, x, y)
#define POWER(x, y) combine(b, hmath_autodiff_power, x, y)
#define SQRT(x) apply(b, hmath_autodiff_sqrt, x)
#define SQUARE(x) apply(b, hmath_autodiff_square, x)

/* Dense layers with GELU between them, and the mean cross entropy of the softmax. */
static hmath_value *network(builder *b, hmath_value *input, hmath_value *const *parameters,
                            hmath_value *target)
{
    hmath_value *gelu = NULL, *h = input, *logs = NULL, *sum = NULL;
    gelu = keep(b, hmath_neural_core_gelu_create(b->ctx, &gelu), &gelu);
    for (int i = 0; i < LAYERS && !b->status; i++) {
        hmath_value *dense = NULL, *active = NULL;
        h = keep(b,
                 hmath_neural_layers_dense_ad(b->ctx, h, parameters[2 * i], parameters[2 * i + 1],
                                              &dense),
                 &dense);
        if (i + 1 < LAYERS && !b->status)
            h = keep(b, hmath_autodiff_activation(b->ctx, gelu, h, &active), &active);
    }
    if (b->status)
        return NULL;
    logs = keep(b, hmath_autodiff_log_softmax(b->ctx, h, 1, &logs), &logs);
    hmath_value *picked = MULTIPLY(logs, target);
    if (b->status)
        return NULL;
    sum = keep(b, hmath_autodiff_sum(b->ctx, picked, HMATH_ALL_AXES, NULL, 0, &sum), &sum);
    return DIVIDE(sum, number(b, -BATCH));
}

/* Kingma and Ba 2015. state: steps, then first and second moments; outputs take the same order. */
static void adam(builder *b, hmath_value *const *parameters, hmath_value *const *gradients,
                 hmath_value *const *state, hmath_value **updated, hmath_value **new_state)
{
    hmath_value *one = number(b, 1), *rate = number(b, 0.01);
    hmath_value *beta1 = number(b, 0.9), *beta2 = number(b, 0.999), *epsilon = number(b, 1e-8);
    hmath_value *keep1 = number(b, 1 - 0.9), *keep2 = number(b, 1 - 0.999);
    hmath_value *steps = new_state[0] = ADD(state[0], one);
    hmath_value *size = DIVIDE(rate, SUBTRACT(one, POWER(beta1, steps)));
    hmath_value *spread = SQRT(SUBTRACT(one, POWER(beta2, steps)));
    for (int i = 0; i < PARAMETERS; i++) {
        hmath_value *m = ADD(MULTIPLY(beta1, state[1 + i]), MULTIPLY(keep1, gradients[i]));
        hmath_value *v =
            ADD(MULTIPLY(beta2, state[1 + PARAMETERS + i]), MULTIPLY(keep2, SQUARE(gradients[i])));
        hmath_value *step = DIVIDE(m, ADD(DIVIDE(SQRT(v), spread), epsilon));
        updated[i] = SUBTRACT(parameters[i], MULTIPLY(size, step));
        new_state[1 + i] = m;
        new_state[1 + PARAMETERS + i] = v;
    }
}

/* One program: parameters, state and a batch in; loss, parameters and state out. */
static hmath_value *training_step(builder *b)
{
    const int64_t input_shape[] = {BATCH, 2}, target_shape[] = {BATCH, CLASSES};
    hmath_value *inputs[PARAMETERS + STATE + 2], *outputs[1 + PARAMETERS + STATE];
    hmath_value *gradients[PARAMETERS] = {NULL}, *program = NULL;
    hmath_value **parameters = inputs, **state = inputs + PARAMETERS;
    for (int i = 0; i < LAYERS; i++) {
        const int64_t shape[] = {widths[i + 1], widths[i]};
        for (int k = 0; k < 2; k++) { /* weights, bias; and the moments of both */
            const int at = 2 * i + k, rank = 2 - k;
            parameters[at] = variable(b, k ? "bias" : "weights", rank, shape);
            state[1 + at] = variable(b, "first", rank, shape);
            state[1 + PARAMETERS + at] = variable(b, "second", rank, shape);
        }
    }
    state[0] = variable(b, "steps", 0, NULL);
    inputs[PARAMETERS + STATE] = variable(b, "input", 2, input_shape);
    inputs[PARAMETERS + STATE + 1] = variable(b, "target", 2, target_shape);

    hmath_value *loss = outputs[0] =
        network(b, inputs[PARAMETERS + STATE], parameters, inputs[PARAMETERS + STATE + 1]);
    if (b->status)
        return NULL;
    hmath_status status = hmath_autodiff_gradient(
        b->ctx, loss, (const hmath_value *const *)parameters, PARAMETERS, gradients);
    for (int i = 0; i < PARAMETERS; i++)
        keep(b, status, &gradients[i]);
    adam(b, parameters, gradients, state, outputs + 1, outputs + 1 + PARAMETERS);
    if (b->status)
        return NULL;
    status = hmath_autodiff_compile(b->ctx, (const hmath_value *const *)outputs,
                                    1 + PARAMETERS + STATE, (const hmath_value *const *)inputs,
                                    PARAMETERS + STATE + 2, &program);
    return keep(b, status, &program);
}

/* ---------------------------------------------------------------- data and first parameters */

/* Points of three arms of a spiral, and which arm each is on. */
static void spiral(builder *b, hmath_value **input, hmath_value **target)
{
    double x[BATCH * 2], y[BATCH * CLASSES] = {0};
    const double turn_cos = 0.9553364891256060, turn_sin = 0.2955202066613396; /* of 0.3 */
    const double arm_cos = -0.5, arm_sin = 0.8660254037844386;                 /* of 2 pi / 3 */
    double arm[2] = {1, 0};
    for (int c = 0; c < CLASSES; c++) {
        double along[2] = {arm[0], arm[1]};
        for (int i = 0; i < BATCH / CLASSES; i++) {
            const int row = c * (BATCH / CLASSES) + i;
            const double radius = 0.1 + 1.5 * i / (BATCH / CLASSES);
            const double next[2] = {along[0] * turn_cos - along[1] * turn_sin,
                                    along[0] * turn_sin + along[1] * turn_cos};
            along[0] = next[0];
            along[1] = next[1];
            x[2 * row] = radius * along[0];
            x[2 * row + 1] = radius * along[1];
            y[CLASSES * row + c] = 1;
        }
        const double next[2] = {arm[0] * arm_cos - arm[1] * arm_sin,
                                arm[0] * arm_sin + arm[1] * arm_cos};
        arm[0] = next[0];
        arm[1] = next[1];
    }
    *input = *target = NULL;
    keep(b, hmath_tensor_create(b->ctx, 2, (const int64_t[]){BATCH, 2}, x, input), input);
    keep(b, hmath_tensor_create(b->ctx, 2, (const int64_t[]){BATCH, CLASSES}, y, target), target);
}

/* Normal weights of deviation sqrt(1 / width) from a seeded generator; zeros for everything else. */
static void first_values(builder *b, hmath_value **values)
{
    hmath_value *generator = NULL, *rng = NULL;
    generator = keep(b, hmath_random_pcg64_create(b->ctx, 54, &generator), &generator);
    if (!b->status)
        rng = keep(b, hmath_random_seed(b->ctx, generator, 42, &rng), &rng);
    for (int i = 0; i < LAYERS && !b->status; i++) {
        const int64_t shape[] = {widths[i + 1], widths[i]};
        hmath_value *normal = NULL, *next = NULL, *deviation = NULL, *scaled = NULL;
        const hmath_status status =
            hmath_random_normal_tensor(b->ctx, 2, shape, rng, &normal, &next);
        keep(b, status, &normal);
        rng = keep(b, status, &next);
        if (b->status)
            return;
        const double scale = widths[i] == 2 ? 0.7071067811865476 : 0.1767766952966369;
        deviation = keep(b, hmath_tensor_full(b->ctx, 0, NULL, scale, &deviation), &deviation);
        if (b->status)
            return;
        values[2 * i] = keep(b, hmath_tensor_multiply(b->ctx, normal, deviation, &scaled), &scaled);
        for (int k = 0; k < 2; k++) {
            const int rank = 2 - k, at = 2 * i + k;
            hmath_value *zero[3] = {NULL, NULL, NULL};
            for (int z = 0; z < 3; z++)
                keep(b, hmath_tensor_zeros(b->ctx, rank, shape, &zero[z]), &zero[z]);
            if (k == 1)
                values[at] = zero[0];
            values[PARAMETERS + 1 + at] = zero[1];
            values[PARAMETERS + 1 + PARAMETERS + at] = zero[2];
        }
    }
    values[PARAMETERS] = number(b, 0);
}

int main(int argc, char **argv)
{
    const int steps = argc > 1 ? atoi(argv[1]) : 300;
    hmath_value *values[PARAMETERS + STATE + 2] = {NULL}, *results[1 + PARAMETERS + STATE];
    double first = 0, last = 0;
    builder graph = {0}, *b = &graph;
    if (hmath_context_create(NULL, &graph.ctx) != HMATH_OK)
        return 1;
    hmath_value *program = training_step(b);
    first_values(b, values);
    spiral(b, &values[PARAMETERS + STATE], &values[PARAMETERS + STATE + 1]);
    for (int i = 0; i < PARAMETERS + STATE; i++)
        values[i] = hmath_retain(values[i]); /* each step gives the old ones back */

    for (int step = 0; step < steps && !b->status; step++) {
        const hmath_status status =
            hmath_program_run(b->ctx, program, (const hmath_value *const *)values,
                              PARAMETERS + STATE + 2, results, 1 + PARAMETERS + STATE);
        if (status != HMATH_OK) {
            keep(b, status, NULL);
            break;
        }
        if (hmath_double_get(results[0], &last) == HMATH_OK && step % 50 == 0)
            printf("step %4d  loss %.6f\n", step, last);
        first = step ? first : last;
        hmath_release(results[0]);
        for (int i = 0; i < PARAMETERS + STATE; i++) {
            hmath_release(values[i]);
            values[i] = results[1 + i];
        }
    }
    printf("loss %.6f -> %.6f\n", first, last);

    int bad = b->status != HMATH_OK || !(last < first / 10 || steps < 300);
    for (int i = 0; i < PARAMETERS + STATE; i++)
        hmath_release(values[i]);
    for (int i = 0; i < graph.count; i++)
        hmath_release(graph.made[i]);
    bad |= hmath_live_values() != 0;
    hmath_context_destroy(graph.ctx);
    return bad;
}
