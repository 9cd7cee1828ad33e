/*
 * Pooling. Average pooling is linear, and its transpose spreads each cotangent over its window. Maximum
 * pooling picks one cell of each window, the first of the largest: its derivative scatters to those
 * cells, and the derivative of that gathers from them.
 */
#include "neural/layers/pooling.h"

#include <math.h>
#include <string.h>

#include "autodiff/gradient.h"
#include "neural/graph/graph.h"
#include "kernels/elementwise.h"
#include "primitives/elementwise.h"
#include "primitives/primitives.h"
#include "runtime/pool.h"
#include "tensor/extent.h"
#include "tensor/reduce.h"

typedef struct pooling {
    hm_window window[3];
    hm_shape input, output;
    int64_t method;
} pooling;

static const char *const input_argument[] = {"input"};
static const char *const input_cotangent[] = {"input", "cotangent"};

static hm_status output_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                              const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const pooling *)attributes)->output;
    return HMATH_OK;
}

static hm_status input_shape(hm_context *ctx, hm_node *const *inputs, int32_t count,
                             const void *attributes, hm_shape *out)
{
    (void)ctx, (void)inputs, (void)count;
    *out = ((const pooling *)attributes)->input;
    return HMATH_OK;
}

static int64_t plane_count(const pooling *p) { return p->input.extent[0] * p->input.extent[1]; }

static hm_status pool_run(const hm_run *run)
{
    const pooling *p = hm_node_attributes(run->node);
    if (run->absorbed)
        hm_pool_rectified(run->ctx, p->window, plane_count(p), run->inputs[0], run->output);
    else
        hm_pool_windows(run->ctx, (hm_pool_method)p->method, p->window, plane_count(p),
                        run->inputs[0], run->output);
    return HMATH_OK;
}

static bool absorbs_rectification(const hm_node *node, const hm_node *first)
{
    const pooling *p = hm_node_attributes(node);
    return hm_is_rectified(first) && hm_pools_squares(p->window);
}

/* ------------------------------------------------- window by window */

/* What is done to each window of a plane: x are cells, `places` the windows' own numbers. */
typedef struct visit {
    const pooling *p;
    const double *x;    /* of all planes; what the largest cell is found in */
    const double *from; /* windows for scatter and spread, cells for gather */
    double *to;         /* cells for scatter and spread, windows for gather */
    double floor;       /* no cell counts as less: of squares only */
    double *sums;       /* NULL, or where the sums of planes of `to` go */
    const hm_kernels *kernels;
    int64_t cells, windows; /* of one plane */
    int64_t planes_per_chunk;
} visit;

/* The real cells of place o along one axis: first ... end - 1. */
static void range(const hm_window *w, int64_t o, int64_t *first, int64_t *end)
{
    const int64_t start = o * w->stride - w->padding, stop = start + w->kernel;
    *first = start > 0 ? start : 0;
    *end = stop < w->extent ? stop : w->extent;
}

/* A window's box of real cells. */
typedef struct box {
    int64_t first[3], end[3];
} box;

static int64_t first_of_largest(const double *plane, const hm_window *w, const box *b)
{
    int64_t at = (b->first[0] * w[1].extent + b->first[1]) * w[2].extent + b->first[2];
    double largest = plane[at];
    for (int64_t z = b->first[0]; z < b->end[0]; z++)
        for (int64_t y = b->first[1]; y < b->end[1]; y++) {
            const int64_t row = (z * w[1].extent + y) * w[2].extent;
            for (int64_t x = b->first[2]; x < b->end[2]; x++)
                if (plane[row + x] > largest) {
                    largest = plane[row + x];
                    at = row + x;
                }
        }
    return at;
}

static void spread_over(double *plane, const hm_window *w, const box *b, double u)
{
    const int64_t cells =
        (b->end[0] - b->first[0]) * (b->end[1] - b->first[1]) * (b->end[2] - b->first[2]);
    const double share = u / (double)cells;
    for (int64_t z = b->first[0]; z < b->end[0]; z++)
        for (int64_t y = b->first[1]; y < b->end[1]; y++) {
            double *row = plane + (z * w[1].extent + y) * w[2].extent;
            for (int64_t x = b->first[2]; x < b->end[2]; x++)
                row[x] += share;
        }
}

typedef void visit_window(const visit *v, int64_t plane, int64_t window, const box *b);

static void scatter_window(const visit *v, int64_t plane, int64_t window, const box *b)
{
    int64_t at = first_of_largest(v->x + plane * v->cells, v->p->window, b);
    v->to[plane * v->cells + at] += v->from[plane * v->windows + window];
}

static void gather_window(const visit *v, int64_t plane, int64_t window, const box *b)
{
    int64_t at = first_of_largest(v->x + plane * v->cells, v->p->window, b);
    v->to[plane * v->windows + window] = v->from[plane * v->cells + at];
}

static void spread_window(const visit *v, int64_t plane, int64_t window, const box *b)
{
    spread_over(v->to + plane * v->cells, v->p->window, b, v->from[plane * v->windows + window]);
}

/* Windows of one plane in row-major order: contributions to a cell are added in that order. */
static inline __attribute__((always_inline)) void visit_plane(const visit *v, int64_t plane,
                                                              visit_window *each)
{
    const hm_window *w = v->p->window;
    int64_t window = 0;
    box b;
    for (int64_t z = 0; z < w[0].places; z++) {
        range(&w[0], z, &b.first[0], &b.end[0]);
        for (int64_t y = 0; y < w[1].places; y++) {
            range(&w[1], y, &b.first[1], &b.end[1]);
            for (int64_t x = 0; x < w[2].places; x++) {
                range(&w[2], x, &b.first[2], &b.end[2]);
                each(v, plane, window++, &b);
            }
        }
    }
}

static int64_t last_plane(const visit *v, int64_t chunk)
{
    const int64_t planes = plane_count(v->p), end = (chunk + 1) * v->planes_per_chunk;
    return end < planes ? end : planes;
}

static void clear_planes(const visit *v, int64_t first, int64_t end)
{
    memset(v->to + first * v->cells, 0, (size_t)((end - first) * v->cells) * sizeof(double));
}

/* Largest cells of a plane of squares: every cell is written once. */
static void scatter_squares(const visit *v, int64_t of)
{
    const hm_window *y = &v->p->window[1], *x = &v->p->window[2];
    const int64_t depth = v->p->window[0].extent, area = y->extent * x->extent;
    for (int64_t plane = of * depth; plane < (of + 1) * depth; plane++) {
        double *to = v->to + plane * area;
        v->kernels->pool->square_scatter(v->x + plane * area, x->extent, y->places, x->places,
                                         v->floor, v->from + plane * y->places * x->places, to);
        if (x->extent > 2 * x->places)
            for (int64_t row = 0; row < 2 * y->places; row++)
                to[(row + 1) * x->extent - 1] = 0.0;
        for (int64_t i = 2 * y->places * x->extent; i < area; i++)
            to[i] = 0.0;
    }
}

static void scatter_chunk(void *task, int64_t chunk)
{
    const visit *v = task;
    const bool squares = hm_pools_squares(v->p->window);
    for (int64_t plane = chunk * v->planes_per_chunk; plane < last_plane(v, chunk); plane++) {
        if (squares) {
            scatter_squares(v, plane);
        } else {
            clear_planes(v, plane, plane + 1);
            visit_plane(v, plane, scatter_window);
        }
        if (v->sums)
            v->sums[plane] = hm_sum_row_rounded(v->kernels, HM_ROW_SUM, v->to + plane * v->cells,
                                                NULL, v->cells);
    }
}

static void spread_chunk(void *task, int64_t chunk)
{
    const visit *v = task;
    const int64_t first = chunk * v->planes_per_chunk, end = last_plane(v, chunk);
    clear_planes(v, first, end);
    for (int64_t plane = first; plane < end; plane++)
        visit_plane(v, plane, spread_window);
}

static void gather_chunk(void *task, int64_t chunk)
{
    const visit *v = task;
    for (int64_t plane = chunk * v->planes_per_chunk; plane < last_plane(v, chunk); plane++)
        visit_plane(v, plane, gather_window);
}

static int64_t chunk_planes(visit *v)
{
    enum { CHUNK_CELLS = 32768, MOST_CHUNKS = 64 };
    const int64_t planes = plane_count(v->p);
    const int64_t chunks = hm_least(hm_chunks(planes * v->cells, CHUNK_CELLS, MOST_CHUNKS), planes);
    v->planes_per_chunk = hm_ceiling(planes, chunks);
    return hm_ceiling(planes, v->planes_per_chunk);
}

/* Windows side by side have no cell in common: what is moved there is as finite as it was. */
static bool may_overflow(const pooling *p)
{
    for (int a = 0; a < 3; a++)
        if (p->window[a].stride < p->window[a].kernel && p->window[a].places > 1)
            return true;
    return false;
}

static hm_status visit_all(const hm_run *run, const double *x, double floor, const double *from,
                           void (*body)(void *, int64_t))
{
    const pooling *p = hm_node_attributes(run->node);
    const hm_kernels *k = hm_context_kernels(run->ctx);
    visit v = {.p = p,
               .x = x,
               .from = from,
               .to = run->output,
               .floor = floor,
               .sums = run->sums,
               .kernels = k,
               .cells = hm_shape_span(&p->input, 2, p->input.rank),
               .windows = hm_shape_span(&p->output, 2, p->output.rank)};
    if (plane_count(p) == 0)
        return HMATH_OK;
    hm_parallel_for(run->ctx, chunk_planes(&v), body, &v);
    if (!may_overflow(p) || k->elementwise->all_finite((size_t)run->node->size, run->output))
        return HMATH_OK;
    return hm_fail_overflow(run->ctx);
}

/* All axes of a plane. */
static int32_t sums_of_planes(const hm_node *node) { return node->rank - 2; }

static hm_status scatter_run(const hm_run *run)
{
    return visit_all(run, run->inputs[0], -INFINITY, run->inputs[1], scatter_chunk);
}

static hm_status rectified_scatter_run(const hm_run *run)
{
    return visit_all(run, run->inputs[0], 0.0, run->inputs[1], scatter_chunk);
}

static hm_status gather_run(const hm_run *run)
{
    return visit_all(run, run->inputs[0], -INFINITY, run->inputs[1], gather_chunk);
}

static hm_status spread_run(const hm_run *run)
{
    return visit_all(run, NULL, -INFINITY, run->inputs[0], spread_chunk);
}

/* ------------------------------------------------- derivatives */

static hm_node *of_input(hm_graph *g, const hm_op *op, const hm_node *like, hm_node *x, hm_node *u)
{
    return hm_graph_make2(g, op, hm_node_attributes(like), sizeof(pooling), x, u);
}

static void max_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                        hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = of_input(g, &hm_op_max_pool_scatter, node, node->inputs[0], u);
}

/* Where the largest cells stand does not change with x almost everywhere. */
static void scatter_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                            hm_node **cotangents)
{
    if (wanted[1])
        cotangents[1] = of_input(g, &hm_op_max_pool_gather, node, node->inputs[0], u);
}

/*
 * What comes back through pooling and then through ReLU: the largest cells of what was rectified are
 * found again in what was not.
 */
static hm_node *scatter_rectify(hm_graph *g, hm_node *node, hm_node *rectified, hm_node *x)
{
    const pooling *p = hm_node_attributes(node);
    if (node->inputs[0] != rectified || !hm_pools_squares(p->window))
        return NULL;
    return of_input(g, &hm_op_max_pool_rectified_scatter, node, x, node->inputs[1]);
}

static void rectified_scatter_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                                      hm_node **cotangents)
{
    if (!wanted[1])
        return;
    hm_node *x = node->inputs[0];
    hm_node *slope = hm_ad_activation_derivative(g, HM_ACTIVATION_relu, 0, x);
    cotangents[1] =
        of_input(g, &hm_op_max_pool_gather, node, hm_ad_activation(g, HM_ACTIVATION_relu, 0, x),
                 hm_ad_multiply(g, u, slope));
}

static void gather_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                           hm_node **cotangents)
{
    if (wanted[1])
        cotangents[1] = of_input(g, &hm_op_max_pool_scatter, node, node->inputs[0], u);
}

static hm_node *linear(hm_graph *g, const hm_op *op, const hm_node *like, hm_node *x)
{
    return hm_graph_make1(g, op, hm_node_attributes(like), sizeof(pooling), x);
}

static void average_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                            hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = linear(g, &hm_op_average_pool_spread, node, u);
}

static void spread_reverse(hm_graph *g, hm_node *node, hm_node *u, const bool *wanted,
                           hm_node **cotangents)
{
    (void)wanted;
    cotangents[0] = linear(g, &hm_op_average_pool, node, u);
}

const hm_op hm_op_max_pool = {.name = "layers.pooling",
                              .arguments = input_argument,
                              .arity = 1,
                              .shape = output_shape,
                              .run = pool_run,
                              .reverse = max_reverse,
                              .absorbs = absorbs_rectification};

const hm_op hm_op_max_pool_scatter = {.name = "layers.pooling",
                                      .arguments = input_cotangent,
                                      .arity = 2,
                                      .shape = input_shape,
                                      .run = scatter_run,
                                      .sums_over = sums_of_planes,
                                      .reverse = scatter_reverse,
                                      .rectify = scatter_rectify};

const hm_op hm_op_max_pool_rectified_scatter = {.name = "layers.pooling",
                                                .arguments = input_cotangent,
                                                .arity = 2,
                                                .shape = input_shape,
                                                .run = rectified_scatter_run,
                                                .sums_over = sums_of_planes,
                                                .reverse = rectified_scatter_reverse};

const hm_op hm_op_max_pool_gather = {.name = "layers.pooling",
                                     .arguments = input_cotangent,
                                     .arity = 2,
                                     .shape = output_shape,
                                     .run = gather_run,
                                     .reverse = gather_reverse};

const hm_op hm_op_average_pool = {.name = "layers.pooling",
                                  .arguments = input_argument,
                                  .arity = 1,
                                  .flags = HM_OP_LINEAR,
                                  .shape = output_shape,
                                  .run = pool_run,
                                  .reverse = average_reverse};

const hm_op hm_op_average_pool_spread = {.name = "layers.pooling",
                                         .arguments = input_argument,
                                         .arity = 1,
                                         .flags = HM_OP_LINEAR,
                                         .shape = input_shape,
                                         .run = spread_run,
                                         .reverse = spread_reverse};

hm_node *hm_ad_pooling(hm_graph *g, const hm_pool_mode *mode, const hm_ints *kernel,
                       const hm_ints *stride, const hm_ints *padding, hm_node *input)
{
    pooling p;
    hm_shape output;
    hm_status st;
    if (!input)
        return NULL;
    memset(&p, 0, sizeof p);
    p.input = hm_node_shape(input);
    if ((st = hm_plan_pooling(g->ctx, kernel, stride, padding, &p.input, p.window, &output)) !=
            HMATH_OK ||
        (st = hm_check_pool_padding(g->ctx, kernel, padding)) != HMATH_OK)
        return hm_graph_fail(g, st);
    p.input = hm_shape_as_attribute(&p.input);
    p.output = hm_shape_as_attribute(&output);
    p.method = mode->method;
    const hm_op *op = mode->method == HM_POOL_MAX ? &hm_op_max_pool : &hm_op_average_pool;
    return hm_graph_make1(g, op, &p, sizeof p, input);
}
