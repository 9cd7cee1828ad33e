/*
 * Graphs and programs through the public functions: every way they can run out of memory, the same bits
 * on every instruction set and thread count, a million nodes, the older handles, callbacks.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "check.h"
#include "hmath_deeplearning.h"
#include "runtime/alloc.h"

static hmath_context *ctx;

enum { MADE = 128 };

/* Remembers what was made, so that a test can fail anywhere and leak nothing. */
typedef struct maker {
    hmath_context *ctx;
    hmath_status status;
    hmath_value *made[MADE];
    int count;
} maker;

static hmath_value *keep(maker *m, hmath_status st, hmath_value *const *made)
{
    if (st != HMATH_OK) {
        m->status = m->status ? m->status : st;
        return NULL;
    }
    return m->made[m->count++] = *made;
}

static void give_back(maker *m)
{
    for (int i = 0; i < m->count; i++)
        hmath_release(m->made[i]);
}

static hmath_value *variable(maker *m, int32_t rank, const int64_t *shape)
{
    hmath_value *v = NULL;
    return m->status ? NULL : keep(m, hmath_autodiff_variable(m->ctx, "x", rank, shape, &v), &v);
}

static hmath_value *tensor(maker *m, int32_t rank, const int64_t *shape, double phase)
{
    double data[64 * 48];
    int64_t size = 1;
    hmath_value *v = NULL;
    for (int32_t i = 0; i < rank; i++)
        size *= shape[i];
    for (int64_t i = 0; i < size; i++) /* anything between -1 and 1 */
        data[i] = (double)((i * 7919 + (int64_t)(phase * 1000)) % 2001) / 1000.0 - 1.0;
    return m->status ? NULL : keep(m, hmath_tensor_create(m->ctx, rank, shape, data, &v), &v);
}

/*
 * Dense, layer norm, GELU, log-softmax, a loss and all gradients; run once. The results, which are the
 * caller's, or the first failure.
 */
enum { RESULTS = 4 };

static hmath_status network(hmath_context *with, hmath_value *results[RESULTS])
{
    static const int64_t x_shape[] = {48, 40}, w_shape[] = {33, 40}, b_shape[] = {33};
    maker m = {.ctx = with};
    hmath_value *x = variable(&m, 2, x_shape), *w = variable(&m, 2, w_shape),
                *b = variable(&m, 1, b_shape);
    hmath_value *in[3] = {tensor(&m, 2, x_shape, 0), tensor(&m, 2, w_shape, 0.3),
                          tensor(&m, 1, b_shape, 0.7)};
    hmath_value *v = NULL, *h = NULL, *gelu = NULL, *one = NULL, *epsilon = NULL, *loss = NULL;
    hmath_value *program = NULL, *gradients[3] = {NULL};
    if (!m.status)
        gelu = keep(&m, hmath_neural_core_gelu_create(with, &v), &v);
    if (!m.status)
        one = keep(&m, hmath_int_create(with, 1, &v), &v);
    if (!m.status)
        epsilon = keep(&m, hmath_double_create(with, 1e-5, &v), &v);
    if (!m.status)
        h = keep(&m, hmath_neural_layers_dense_ad(with, x, w, b, &v), &v);
    if (!m.status)
        h = keep(&m, hmath_neural_layers_layer_norm_ad(with, one, epsilon, h, &v), &v);
    if (!m.status)
        h = keep(&m, hmath_autodiff_activation(with, gelu, h, &v), &v);
    if (!m.status)
        h = keep(&m, hmath_autodiff_add(with, h, b, &v), &v);
    if (!m.status)
        h = keep(&m, hmath_autodiff_log_softmax(with, h, 1, &v), &v);
    if (!m.status)
        h = keep(&m, hmath_autodiff_tanh(with, h, &v), &v);
    if (!m.status)
        loss = keep(&m, hmath_autodiff_mean(with, h, HMATH_ALL_AXES, NULL, 0, &v), &v);
    if (!m.status) {
        const hmath_value *wrt[] = {x, w, b};
        hmath_status st = hmath_autodiff_gradient(with, loss, wrt, 3, gradients);
        for (int i = 0; i < 3; i++)
            keep(&m, st, &gradients[i]);
    }
    if (!m.status) {
        const hmath_value *outputs[] = {loss, gradients[0], gradients[1], gradients[2]};
        const hmath_value *inputs[] = {x, w, b};
        program = keep(&m, hmath_autodiff_compile(with, outputs, RESULTS, inputs, 3, &v), &v);
    }
    if (!m.status)
        m.status =
            hmath_program_run(with, program, (const hmath_value *const *)in, 3, results, RESULTS);
    give_back(&m);
    return m.status;
}

static void release_results(hmath_value *results[RESULTS])
{
    for (int i = 0; i < RESULTS; i++)
        hmath_release(results[i]);
}

static int identical(const hmath_value *a, const hmath_value *b)
{
    double x, y;
    if (hmath_double_get(a, &x) == HMATH_OK && hmath_double_get(b, &y) == HMATH_OK)
        return same_bits(x, y);
    return hmath_tensor_identical(a, b) == 1;
}

static void test_program__same_bits_everywhere(void)
{
    hmath_value *wanted[RESULTS], *got[RESULTS];
    if (!CHECK_INT(network(ctx, wanted), HMATH_OK))
        return;
    for (int32_t isa = HMATH_ISA_BASELINE; isa <= HMATH_ISA_NEON; isa++)
        for (int32_t threads = 1; threads <= 4; threads++) {
            hmath_options options = {.struct_size = sizeof options, .threads = threads, .isa = isa};
            hmath_context *other = NULL;
            if (hmath_context_create(&options, &other) != HMATH_OK)
                continue; /* not on this machine */
            if (CHECK_INT(network(other, got), HMATH_OK)) {
                for (int i = 0; i < RESULTS; i++)
                    CHECK(identical(got[i], wanted[i]));
                release_results(got);
            }
            hmath_context_destroy(other);
        }
    release_results(wanted);
}

/* Every allocation fails once; nothing leaks, and the status says what it was. */
static void test_program__out_of_memory(void)
{
    hmath_value *results[RESULTS];
    int64_t alive = hmath_live_values(), n = 0;
    hmath_status st;
    do {
        hm_test_fail_allocation(n++);
        st = network(ctx, results);
        int failed = hm_test_allocation_failed();
        hm_test_fail_allocation(-1);
        CHECK(st == HMATH_NO_MEMORY || st == HMATH_OK); /* OK too where there is another way */
        CHECK(failed || st == HMATH_OK);
        if (st == HMATH_OK)
            release_results(results);
        CHECK_INT(hmath_live_values(), alive);
        if (!failed)
            break;
    } while (n < 5000);
    CHECK(n < 5000);
}

/* y = 0.5 y + x, a million nodes: built, differentiated, compiled, run and released without recursion. */
static void test_chain__a_million_nodes(void)
{
    hmath_value *x = NULL, *y = NULL, *half = NULL, *gradient = NULL, *program = NULL, *in = NULL;
    hmath_value *results[2] = {NULL};
    CHECK_INT(hmath_autodiff_variable(ctx, "x", 0, NULL, &x), HMATH_OK);
    CHECK_INT(hmath_double_create(ctx, 0.5, &half), HMATH_OK);
    CHECK_INT(hmath_double_create(ctx, 1.0, &in), HMATH_OK);
    y = hmath_retain(x);
    for (int i = 0; i < 500000; i++) {
        hmath_value *product = NULL, *sum = NULL;
        if (hmath_autodiff_multiply(ctx, y, half, &product) != HMATH_OK ||
            hmath_autodiff_add(ctx, product, x, &sum) != HMATH_OK) {
            check_that(0, "a node could not be made", __FILE__, __LINE__);
            break;
        }
        hmath_release(y);
        hmath_release(product);
        y = sum;
    }
    const hmath_value *wrt[] = {x}, *inputs[] = {in};
    CHECK_INT(hmath_autodiff_gradient(ctx, y, wrt, 1, &gradient), HMATH_OK);
    const hmath_value *outputs[] = {y, gradient};
    CHECK_INT(hmath_autodiff_compile(ctx, outputs, 2, wrt, 1, &program), HMATH_OK);
    CHECK_INT(hmath_program_run(ctx, program, inputs, 1, results, 2), HMATH_OK);
    double value = 0, slope = 0;
    CHECK_INT(hmath_double_get(results[0], &value), HMATH_OK);
    CHECK_INT(hmath_double_get(results[1], &slope), HMATH_OK);
    CHECK_BITS(value, 2.0);
    CHECK_BITS(slope, 2.0);
    hmath_value *all[] = {x, y, half, gradient, program, in, results[0], results[1]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hmath_release(all[i]);
}

/* A scalar taken out of a tensor a thousand times is put back by one node, not by a thousand tensors. */
static void test_elements__are_put_back_at_once(void)
{
    maker m = {.ctx = ctx};
    const int64_t shape[] = {100};
    hmath_value *x = variable(&m, 1, shape), *sum = NULL, *v = NULL, *gradient = NULL, *program;
    for (int64_t i = 0; i < 100; i++) {
        hmath_value *element = NULL, *square = NULL, *next = NULL;
        CHECK_INT(hmath_autodiff_element(ctx, x, i, &element), HMATH_OK);
        CHECK_INT(hmath_autodiff_square(ctx, element, &square), HMATH_OK);
        if (sum)
            CHECK_INT(hmath_autodiff_add(ctx, sum, square, &next), HMATH_OK);
        else
            next = hmath_retain(square);
        hmath_release(element);
        hmath_release(square);
        hmath_release(sum);
        sum = next;
    }
    const hmath_value *wrt[] = {x};
    CHECK_INT(hmath_autodiff_gradient(ctx, sum, wrt, 1, &gradient), HMATH_OK);
    CHECK_TEXT(hmath_autodiff_operation(gradient), "autodiff.place_elements");
    const hmath_value *outputs[] = {gradient};
    CHECK_INT(hmath_autodiff_compile(ctx, outputs, 1, wrt, 1, &program), HMATH_OK);
    const hmath_value *in[] = {tensor(&m, 1, shape, 0)};
    CHECK_INT(hmath_program_run(ctx, program, in, 1, &v, 1), HMATH_OK);
    for (int i = 0; v && i < 100; i++)
        CHECK_BITS(hmath_tensor_data(v)[i], 2 * hmath_tensor_data(in[0])[i]);
    hmath_release(v);
    hmath_release(program);
    hmath_release(gradient);
    hmath_release(sum);
    give_back(&m);
}

static void test_handles__share_the_node(void)
{
    hmath_ad *x = NULL, *two = NULL, *back = NULL;
    hmath_value *x_value = NULL, *again = NULL, *two_value = NULL, *product = NULL, *number = NULL;
    CHECK_INT(hmath_ad_variable(ctx, "x", &x), HMATH_OK);
    CHECK_INT(hmath_ad_constant(ctx, 2.0, &two), HMATH_OK);
    CHECK_INT(hmath_ad_value_import(ctx, x, &x_value), HMATH_OK);
    CHECK_INT(hmath_ad_value_import(ctx, x, &again), HMATH_OK);
    CHECK_INT(hmath_autodiff_same(x_value, again), 1);
    CHECK_INT(hmath_kind(x_value), HMATH_KIND_AD_EXPR);
    CHECK_INT(hmath_ad_value_import(ctx, two, &two_value), HMATH_OK);
    CHECK_INT(hmath_autodiff_multiply(ctx, x_value, two_value, &product), HMATH_OK);
    CHECK_INT(hmath_ad_value_export(ctx, product, &back), HMATH_OK);
    hmath_ad_release(hmath_ad_retain(back));
    CHECK_INT(hmath_double_create(ctx, 1.0, &number), HMATH_OK);
    hmath_ad *untouched = back;
    CHECK_INT(hmath_ad_value_export(ctx, number, &untouched), HMATH_CHECKED);
    CHECK(untouched == back);
    CHECK_INT(hmath_ad_value_export(ctx, NULL, &untouched), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_ad_value_import(ctx, NULL, &again), HMATH_BAD_ARGUMENT);
    hmath_ad_release(x);
    hmath_ad_release(two);
    hmath_ad_release(back);
    hmath_value *all[] = {x_value, again, two_value, product, number};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        hmath_release(all[i]);
}

static atomic_int destroyed;

static void destroy(void *user) { atomic_fetch_add((atomic_int *)user, 1); }

static hmath_status refuses(hmath_context *with, void *user, const hmath_value *const *inputs,
                            size_t n, hmath_value **out)
{
    (void)with, (void)user, (void)inputs, (void)n, (void)out;
    return HMATH_CALLBACK;
}

/* Fails as the call it makes fails. */
static hmath_status log_of_minus_one(hmath_context *with, void *user,
                                     const hmath_value *const *inputs, size_t n, hmath_value **out)
{
    hmath_value *minus = NULL;
    (void)user, (void)inputs, (void)n;
    hmath_status st = hmath_double_create(with, -1.0, &minus);
    if (st == HMATH_OK)
        st = hmath_dual_log(with, minus, out);
    hmath_release(minus);
    return st;
}

static void test_custom__failures_and_destruction(void)
{
    hmath_custom_forward forwards[] = {refuses, log_of_minus_one};
    const hmath_status wanted[] = {HMATH_CALLBACK, HMATH_CHECKED};
    for (int i = 0; i < 2; i++) {
        maker m = {.ctx = ctx};
        hmath_value *x = variable(&m, 0, NULL), *y = NULL, *number = NULL, *result = NULL;
        atomic_store(&destroyed, 0);
        const hmath_value *inputs[] = {x};
        CHECK_INT(hmath_autodiff_custom(ctx, inputs, 1, 0, NULL, forwards[i], NULL, &destroyed,
                                        destroy, &y),
                  HMATH_OK);
        CHECK_INT(hmath_double_create(ctx, 1.0, &number), HMATH_OK);
        const hmath_value *outputs[] = {y}, *values[] = {number};
        CHECK_INT(hmath_autodiff_evaluate(ctx, outputs, 1, inputs, values, 1, &result), wanted[i]);
        if (wanted[i] == HMATH_CHECKED)
            CHECK_INT(hmath_last_error(ctx)->constructor, HMATH_DOMAIN_ERROR);
        CHECK(result == NULL);
        hmath_value *gradient = NULL;
        CHECK_INT(hmath_autodiff_gradient(ctx, y, inputs, 1, &gradient), HMATH_CHECKED);
        CHECK_INT(atomic_load(&destroyed), 0);
        hmath_release(y);
        CHECK_INT(atomic_load(&destroyed), 1);
        hmath_release(number);
        give_back(&m);
    }
}

/*
 * 0.9 m + tanh(x) x: the product with 0.9 could be had at once, in the group of the tanh, and would wait in
 * the workspace for its sum; it runs with the sum instead. So there is room for tanh(x) and its product.
 */
static void test_schedule__nodes_run_where_they_are_needed(void)
{
    enum { N = 64, BYTES = N * N * 8, REGISTERS = 4 * 1024 * 8 };
    maker k = {.ctx = ctx};
    const int64_t shape[] = {N, N};
    hmath_value *m = variable(&k, 2, shape), *x = variable(&k, 2, shape), *v = NULL;
    hmath_value *decay = keep(&k, hmath_double_create(ctx, 0.9, &v), &v);
    hmath_value *left = keep(&k, hmath_autodiff_multiply(ctx, m, decay, &v), &v);
    hmath_value *slope = keep(&k, hmath_autodiff_tanh(ctx, x, &v), &v);
    hmath_value *right = keep(&k, hmath_autodiff_matmul(ctx, slope, x, &v), &v);
    hmath_value *sum = keep(&k, hmath_autodiff_add(ctx, left, right, &v), &v);
    const hmath_value *outputs[] = {sum}, *inputs[] = {m, x};
    hmath_value *program = keep(&k, hmath_autodiff_compile(ctx, outputs, 1, inputs, 2, &v), &v);
    int64_t nodes = 0, steps = 0, groups = 0, workspace = 0;
    CHECK_INT(hmath_program_describe(program, &nodes, &steps, &groups, &workspace), HMATH_OK);
    CHECK_INT(steps, 3);
    CHECK_INT(groups, 2);
    CHECK(workspace >= 2 * BYTES && workspace < 2 * BYTES + REGISTERS);
    give_back(&k);
}

/*
 * x + 1, of which `readers` sines are taken, and all of these summed; each sum, sine and x + 1 is one node, or made
 * anew wherever it is read, the latter in two halves that read equal sums. Returns the workspace of its program.
 */
static int64_t workspace_of_sines(int readers, bool anew)
{
    maker k = {.ctx = ctx};
    hmath_value *x = variable(&k, 0, NULL), *v = NULL, *total = x;
    hmath_value *one = keep(&k, hmath_double_create(ctx, 1.0, &v), &v);
    hmath_value *y = NULL, *sine = NULL;
    for (int i = 0; i < readers; i++) {
        if (!y || (anew && i == readers / 2))
            y = keep(&k, hmath_autodiff_add(ctx, x, one, &v), &v);
        if (!sine || anew)
            sine = keep(&k, hmath_autodiff_sin(ctx, y, &v), &v);
        total = keep(&k, hmath_autodiff_multiply(ctx, total, sine, &v), &v);
    }
    const hmath_value *outputs[] = {total}, *inputs[] = {x};
    hmath_value *program = keep(&k, hmath_autodiff_compile(ctx, outputs, 1, inputs, 1, &v), &v);
    int64_t nodes = 0, steps = 0, groups = 0, workspace = 0;
    CHECK_INT(k.status, HMATH_OK);
    CHECK_INT(hmath_program_describe(program, &nodes, &steps, &groups, &workspace), HMATH_OK);
    give_back(&k);
    return workspace;
}

/* Room for one number a node: what is made anew shares it, whether it has few readers or many. */
static void test_equal_nodes__are_one(void)
{
    for (int readers = 1; readers <= 40; readers++)
        CHECK_INT(workspace_of_sines(readers, true), workspace_of_sines(readers, false));
    CHECK(workspace_of_sines(40, false) < (40 + 40) * 8);
}

static void test_null_arguments(void)
{
    hmath_value *v = NULL, *x = NULL;
    CHECK_INT(hmath_autodiff_add(ctx, NULL, NULL, &v), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_autodiff_variable(ctx, NULL, 2, NULL, &v), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_autodiff_gradient(ctx, NULL, NULL, 1, &v), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_autodiff_compile(ctx, NULL, 1, NULL, 0, &v), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_program_run(ctx, NULL, NULL, 0, &v, 0), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_autodiff_variable(ctx, "x", 0, NULL, &x), HMATH_OK);
    CHECK_INT(hmath_autodiff_sum(ctx, x, HMATH_ALL_AXES - 1, NULL, 0, &v), HMATH_BAD_ARGUMENT);
    CHECK(v == NULL);
    /* Nothing needs no room. */
    CHECK_INT(hmath_autodiff_gradient(ctx, x, NULL, 0, NULL), HMATH_OK);
    CHECK_INT(hmath_autodiff_evaluate(ctx, NULL, 0, NULL, NULL, 0, NULL), HMATH_OK);
    CHECK_INT(hmath_autodiff_compile(ctx, NULL, 0, NULL, 0, &v), HMATH_OK);
    CHECK_INT(hmath_program_run(ctx, v, NULL, 0, NULL, 0), HMATH_OK);
    hmath_release(v);
    hmath_release(x);
    v = NULL;
    CHECK_INT(hmath_autodiff_rank(NULL), -1);
    CHECK(hmath_autodiff_shape(NULL) == NULL && hmath_autodiff_name(NULL) == NULL);
    CHECK(v == NULL);
}

int main(void)
{
    CHECK_INT(hmath_context_create(NULL, &ctx), HMATH_OK);
    int64_t alive = hmath_live_values();
    RUN(test_null_arguments);
    RUN(test_handles__share_the_node);
    RUN(test_custom__failures_and_destruction);
    RUN(test_elements__are_put_back_at_once);
    RUN(test_program__same_bits_everywhere);
    RUN(test_program__out_of_memory);
    RUN(test_schedule__nodes_run_where_they_are_needed);
    RUN(test_equal_nodes__are_one);
    RUN(test_chain__a_million_nodes);
    CHECK_INT(hmath_live_values(), alive);
    hmath_context_destroy(ctx);
    return check_report();
}
