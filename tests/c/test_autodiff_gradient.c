/*
 * The derivatives of every primitive in ops.def, against finite differences of its own values: a
 * primitive without a row here fails the test. For random inputs x, a random direction v and random
 * weights w over the result, with L(x) = w . f(x):
 *
 *   reverse  gradient of L, times v, against the slope of L along v
 *   forward  w . tangent along v, against the same number from reverse mode
 *   second   gradient of (gradient of L times v), times v, against the slope of the former along v
 *
 * Slopes are central differences with one Richardson step, (4 D(h) - D(2h)) / 3: truncation O(h^4) at
 * h = 2^-9 is below 1e-8 for functions whose fifth derivative is of order 1 to 100, rounding adds
 * 2^-53 / h, 1e-13. Forward and reverse are the same sum in another order: 1e-11.
 */
#include <stdlib.h>

#include "autodiff/custom.h"
#include "autodiff/gradient.h"
#include "autodiff/leaf.h"
#include "autodiff/order.h"
#include "autodiff/program.h"
#include "autodiff_samples.h"
#include "check.h"
#include "primitives/primitives.h"
#include "runtime/alloc.h"

static hmath_context *ctx;

static const double step = 0x1p-9, slope_tolerance = 1e-7, order_tolerance = 1e-11;

/* splitmix64 (Steele, Lea, Flood 2014), to [0, 1) */
static uint64_t state;

/* Each sample has numbers of its own, whatever other samples there are. (FNV-1a of its label) */
static void begin_numbers(const char *name)
{
    state = 0xcbf29ce484222325u;
    for (; *name; name++)
        state = (state ^ (unsigned char)*name) * 0x100000001b3u;
}

static double uniform(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void fill(double *data, int64_t n, double low, double high)
{
    for (int64_t i = 0; i < n; i++)
        data[i] = low + (high - low) * uniform();
}

/* ------------------------------------------------- one sample */

enum { ROOM = 512 };

typedef struct trial {
    const sample *of;
    hm_node *x[SAMPLE_INPUTS], *v[SAMPLE_INPUTS];
    hm_node *w;
    double x_data[SAMPLE_INPUTS][ROOM], v_data[SAMPLE_INPUTS][ROOM], w_data[ROOM];
} trial;

/* The value of a scalar node at x + along * v. */
static double value_at(const trial *t, hm_node *node, double along)
{
    double moved[SAMPLE_INPUTS][ROOM], result = NAN;
    hm_node *inputs[2 * SAMPLE_INPUTS + 1];
    const double *data[2 * SAMPLE_INPUTS + 1];
    int n = 0;
    for (int i = 0; i < t->of->inputs; i++) {
        for (int64_t k = 0; k < t->x[i]->size; k++)
            moved[i][k] = t->x_data[i][k] + along * t->v_data[i][k];
        inputs[n] = t->x[i];
        data[n++] = moved[i];
        inputs[n] = t->v[i];
        data[n++] = t->v_data[i];
    }
    inputs[n] = t->w;
    data[n++] = t->w_data;
    hm_program *program = NULL;
    double *out = &result;
    CHECK_INT(hm_enter(ctx, "test"), HMATH_OK);
    hm_status st = hm_program_create(ctx, &node, 1, inputs, n, &program);
    if (st == HMATH_OK)
        st = hm_program_run(ctx, program, data, &out);
    hm_leave(ctx, st);
    if (!CHECK_INT(st, HMATH_OK))
        printf("  %s: %s\n", t->of->label,
               hmath_last_error(ctx) ? hmath_last_error(ctx)->message : "");
    hm_release(program);
    return result;
}

static double slope(const trial *t, hm_node *node)
{
    double near = (value_at(t, node, step) - value_at(t, node, -step)) / (2 * step);
    double far = (value_at(t, node, 2 * step) - value_at(t, node, -2 * step)) / (4 * step);
    return (4 * near - far) / 3;
}

static void check_near(const trial *t, const char *what, double got, double wanted,
                       double tolerance)
{
    if (!CHECK(fabs(got - wanted) <= tolerance * (1 + fabs(wanted))))
        printf("  %s, %s: got %.17g, wanted %.17g\n", t->of->label, what, got, wanted);
}

/* sum of a_i . b_i */
static hm_node *inner(hm_graph *g, hm_node *const *a, hm_node *const *b, int n)
{
    hm_node *sum = NULL;
    for (int i = 0; i < n; i++) {
        hm_node *term = a[i] ? hm_ad_sum_all(g, hm_ad_multiply(g, a[i], b[i])) : NULL;
        sum = sum && term ? hm_ad_add(g, sum, term) : sum ? sum : term;
    }
    return sum ? sum : hm_ad_constant(g, 0.0);
}

static bool contains(hm_graph *g, hm_node *root, const hm_op *op)
{
    hm_order order;
    bool found = false;
    if (hm_order_create(g->ctx, &root, 1, &order) != HMATH_OK)
        return false;
    for (int64_t i = 0; i < order.count; i++)
        found |= order.nodes[i]->op == op;
    hm_order_free(&order);
    return found;
}

static void try_sample(const sample *of)
{
    static trial t;
    hm_graph g;
    t.of = of;
    CHECK_INT(hm_enter(ctx, "test"), HMATH_OK);
    hm_graph_open(&g, ctx);
    for (int i = 0; i < of->inputs; i++) {
        t.x[i] = hm_ad_variable(&g, "x", &of->shapes[i]);
        t.v[i] = hm_ad_variable(&g, "v", &of->shapes[i]);
        fill(t.x_data[i], t.x[i]->size, of->low, of->high);
        fill(t.v_data[i], t.v[i]->size, of->still >> i & 1 ? 0 : -1, of->still >> i & 1 ? 0 : 1);
    }
    if (of->fix)
        of->fix(t.x_data);
    hm_node *y = of->build(&g, t.x);
    if (!CHECK(y != NULL && g.status == HMATH_OK)) {
        printf("  %s: %s\n", of->label, hm_context_failure(ctx)->message);
        (void)hm_graph_close(&g, NULL, 0, NULL);
        hm_leave(ctx, HMATH_OK);
        return;
    }
    if (!CHECK(contains(&g, y, of->op)))
        printf("  %s: its op does not occur\n", of->label);
    hm_shape shape = hm_node_shape(y);
    CHECK(y->size <= ROOM);
    t.w = hm_ad_variable(&g, "w", &shape);
    fill(t.w_data, t.w->size, -1, 1);
    hm_node *moving[SAMPLE_INPUTS], *along[SAMPLE_INPUTS], *gradients[SAMPLE_INPUTS];
    int n = 0;
    for (int i = 0; i < of->inputs; i++)
        if (!(of->still >> i & 1)) {
            moving[n] = t.x[i];
            along[n++] = t.v[i];
        }
    hm_node *loss = inner(&g, &y, &t.w, 1), *tangent = NULL, *directional, *second = NULL;
    hm_ad_gradient(&g, loss, moving, n, gradients);
    directional = g.status == HMATH_OK ? inner(&g, gradients, along, n) : NULL;
    if (!of->reverse_only)
        hm_forward_mode(&g, &y, 1, moving, along, n, &tangent);
    hm_node *forward = inner(&g, &tangent, &t.w, 1);
    if (of->second) {
        hm_ad_gradient(&g, directional, moving, n, gradients);
        second = g.status == HMATH_OK ? inner(&g, gradients, along, n) : NULL;
    }
    if (!CHECK_INT(g.status, HMATH_OK))
        printf("  %s: %s\n", of->label, hm_context_failure(ctx)->message);
    hm_leave(ctx, HMATH_OK);
    if (g.status == HMATH_OK) {
        double reverse = value_at(&t, directional, 0);
        check_near(&t, "reverse", reverse, slope(&t, loss), slope_tolerance);
        if (!of->reverse_only)
            check_near(&t, "forward", value_at(&t, forward, 0), reverse, order_tolerance);
        if (second)
            check_near(&t, "second", value_at(&t, second, 0), slope(&t, directional),
                       slope_tolerance);
    }
    (void)hm_graph_close(&g, NULL, 0, NULL);
}

static void test_gradient__every_sample(void)
{
    for (size_t i = 0; i < sample_count; i++) {
        begin_numbers(samples[i].label);
        for (int repeat = 0; repeat < 3; repeat++)
            try_sample(&samples[i]);
    }
}

static void test_gradient__every_op_has_a_sample(void)
{
    for (size_t i = 0; hm_all_ops[i]; i++) {
        bool found = false;
        for (size_t k = 0; k < sample_count; k++)
            found |= samples[k].op == hm_all_ops[i];
        if (!CHECK(found))
            printf("  %s has no sample\n", hm_all_ops[i]->name);
    }
}

int main(void)
{
    CHECK_INT(hmath_context_create(NULL, &ctx), HMATH_OK);
    int64_t alive = hmath_live_values();
    RUN(test_gradient__every_op_has_a_sample);
    RUN(test_gradient__every_sample);
    CHECK_INT(hmath_live_values(), alive);
    hmath_context_destroy(ctx);
    return check_report();
}
