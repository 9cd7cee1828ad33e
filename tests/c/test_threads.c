/*
 * Several threads, each with a context of its own and its own workers, share what values are made for
 * sharing: tensors of which nobody knows yet that they are finite, a generator's state, a graph, a
 * program. Everybody gets the bits that one thread alone gets. The thread sanitizer watches.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "hmath_deeplearning.h"
#include "tensors.h"

enum { THREADS = 6, ROUNDS = 8, PARTS = 2, RESULTS = 8 };

static const int64_t x_shape[] = {96, 80}, w_shape[] = {80, 64}, drawn_shape[] = {300, 40};

typedef struct shared {
    hmath_value *variables[PARTS], *loss, *program, *rng;
    hmath_value *tensors[PARTS]; /* new in every round */
    hmath_value *wanted[RESULTS];
    pthread_barrier_t start;
    atomic_int wrong;
} shared;

/* loss = mean(tanh(x @ w)), and a program of it and its gradients. */
static void make_graph(shared *s)
{
    hmath_value *product = NULL, *bent = NULL, *generator = NULL;
    CHECK_INT(hmath_autodiff_variable(ctx, "x", 2, x_shape, &s->variables[0]), HMATH_OK);
    CHECK_INT(hmath_autodiff_variable(ctx, "w", 2, w_shape, &s->variables[1]), HMATH_OK);
    CHECK_INT(hmath_autodiff_matmul(ctx, s->variables[0], s->variables[1], &product), HMATH_OK);
    CHECK_INT(hmath_autodiff_tanh(ctx, product, &bent), HMATH_OK);
    CHECK_INT(hmath_autodiff_mean(ctx, bent, HMATH_ALL_AXES, NULL, 0, &s->loss), HMATH_OK);
    const hmath_value *const *variables = (const hmath_value *const *)s->variables;
    CHECK_INT(hmath_autodiff_compile_gradient(ctx, s->loss, variables, PARTS, variables, PARTS,
                                              &s->program),
              HMATH_OK);
    CHECK_INT(hmath_random_philox4x32_create(ctx, &generator), HMATH_OK);
    CHECK_INT(hmath_random_seed(ctx, generator, 42, &s->rng), HMATH_OK);
    hmath_release(generator);
    hmath_release(bent);
    hmath_release(product);
}

static hmath_value *between_one_and_minus_one(const int64_t *shape, uint64_t seed)
{
    double data[96 * 80];
    for (int i = 0; i < 96 * 80; i++)
        data[i] = (double)random_below(&seed, 2001) / 1000.0 - 1.0;
    return tensor_of(2, shape, data);
}

static void make_tensors(shared *s)
{
    s->tensors[0] = between_one_and_minus_one(x_shape, 1);
    s->tensors[1] = between_one_and_minus_one(w_shape, 2);
}

static void release_all(hmath_value **values, int count)
{
    for (int i = 0; i < count; i++) {
        hmath_release(values[i]);
        values[i] = NULL;
    }
}

static hmath_status work(hmath_context *own, const shared *s, hmath_value *results[RESULTS])
{
    const hmath_value *const *variables = (const hmath_value *const *)s->variables;
    const hmath_value *const *tensors = (const hmath_value *const *)s->tensors;
    hmath_value *next = NULL;
    hmath_status st;
    if ((st = hmath_tensor_matmul(own, tensors[0], tensors[1], &results[0])) == HMATH_OK &&
        (st = hmath_program_run(own, s->program, tensors, PARTS, &results[1], 3)) == HMATH_OK &&
        (st = hmath_autodiff_value_and_gradient(own, s->loss, variables, tensors, PARTS, variables,
                                                PARTS, &results[4], &results[5])) == HMATH_OK)
        st = hmath_random_normal_tensor(own, 2, drawn_shape, s->rng, &results[7], &next);
    hmath_release(next);
    return st;
}

static int identical(const hmath_value *a, const hmath_value *b)
{
    double x, y;
    if (hmath_double_get(a, &x) == HMATH_OK && hmath_double_get(b, &y) == HMATH_OK)
        return same_bits(x, y);
    return hmath_tensor_identical(a, b) == 1;
}

static void *run(void *argument)
{
    shared *s = argument;
    hmath_options options = {.struct_size = sizeof options, .threads = 3};
    hmath_context *own = NULL;
    hmath_value *results[RESULTS] = {NULL};
    int wrong = hmath_context_create(&options, &own) != HMATH_OK;
    pthread_barrier_wait(&s->start);
    if (!wrong)
        wrong = work(own, s, results) != HMATH_OK;
    for (int i = 0; i < RESULTS && !wrong; i++)
        wrong = !identical(results[i], s->wanted[i]);
    release_all(results, RESULTS);
    hmath_context_destroy(own);
    atomic_fetch_add(&s->wrong, wrong);
    return NULL;
}

static void test_sharing(void)
{
    const int64_t before = hmath_live_values();
    shared s = {.wrong = 0};
    make_graph(&s);
    make_tensors(&s);
    CHECK_INT(work(ctx, &s, s.wanted), HMATH_OK);
    release_all(s.tensors, PARTS);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t threads[THREADS];
        make_tensors(&s);
        pthread_barrier_init(&s.start, NULL, THREADS);
        for (int i = 0; i < THREADS; i++)
            CHECK_INT(pthread_create(&threads[i], NULL, run, &s), 0);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&s.start);
        release_all(s.tensors, PARTS);
    }
    CHECK_INT(atomic_load(&s.wrong), 0);
    release_all(s.wanted, RESULTS);
    release_all(s.variables, PARTS);
    hmath_release(s.loss);
    hmath_release(s.program);
    hmath_release(s.rng);
    CHECK_INT(hmath_live_values(), before);
}

/* The last reference to a graph, a program and their tensors goes in any thread, in any order. */
static void *release_last(void *value)
{
    hmath_release(value);
    return NULL;
}

static void test_last_references(void)
{
    const int64_t before = hmath_live_values();
    for (int round = 0; round < 20 * ROUNDS; round++) {
        shared s = {.wrong = 0};
        pthread_t threads[5];
        make_graph(&s);
        hmath_value *held[] = {s.variables[0], s.variables[1], s.loss, s.program, s.rng};
        for (int i = 0; i < 5; i++)
            CHECK_INT(pthread_create(&threads[i], NULL, release_last, held[(i + round) % 5]), 0);
        for (int i = 0; i < 5; i++)
            pthread_join(threads[i], NULL);
    }
    CHECK_INT(hmath_live_values(), before);
}

int main(void)
{
    if (hmath_context_create(NULL, &ctx) != HMATH_OK)
        return 1;
    RUN(test_sharing);
    RUN(test_last_references);
    hmath_context_destroy(ctx);
    return check_report();
}
