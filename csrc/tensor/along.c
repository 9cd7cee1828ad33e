#include "tensor/along.h"

#include <math.h>
#include <string.h>

#include "runtime/pool.h"
#include "tensor/reduce.h"
#include "tensor/view.h"

/* ------------------------------------------------- plans */

static void add_loop(hm_loops *loops, int64_t extent, int64_t stride)
{
    const int32_t last = loops->axes - 1;
    if (extent == 1)
        return;
    if (last >= 0 && loops->stride[last] == extent * stride) {
        loops->extent[last] *= extent;
        loops->stride[last] = stride;
        return;
    }
    loops->extent[loops->axes] = extent;
    loops->stride[loops->axes++] = stride;
}

/* Kept axes, then reduced ones, then kept ones: then the set is the middle of a box. */
static void find_box(hm_along *plan)
{
    const hm_loops *kept = &plan->kept, *reduced = &plan->reduced;
    if (reduced->axes > 1)
        return;
    const int64_t stride = reduced->axes == 1 ? reduced->stride[0] : 1;
    int64_t outer = 1, inner = 1;
    for (int32_t i = 0; i < kept->axes; i++)
        *(kept->stride[i] < stride ? &inner : &outer) *= kept->extent[i];
    plan->is_box = true;
    plan->outer = reduced->axes == 1 ? outer : 1;
    plan->inner = reduced->axes == 1 ? inner : plan->results;
}

hm_along hm_along_plan(const hm_shape *input, uint32_t axes, bool keep)
{
    hm_along plan = {.results = 1, .extent = 1};
    int64_t stride[HM_MAX_RANK];
    hm_shape_strides(input, stride);
    for (int32_t i = 0; i < input->rank; i++) {
        const bool reduced = axes >> i & 1;
        *(reduced ? &plan.extent : &plan.results) *= input->extent[i];
        add_loop(reduced ? &plan.reduced : &plan.kept, input->extent[i], stride[i]);
        if (!reduced || keep)
            plan.result.extent[plan.result.rank++] = reduced ? 1 : input->extent[i];
    }
    find_box(&plan);
    return plan;
}

/* ------------------------------------------------- boxes */

static void run_box(const hm_context *ctx, const hm_along *plan, hm_along_kind kind,
                    const double *input, double *out)
{
    const int64_t outer = plan->outer, extent = plan->extent, inner = plan->inner;
    switch (kind) {
    case HM_ALONG_SUM: hm_axis_sum(ctx, input, outer, extent, inner, 1.0, out); break;
    case HM_ALONG_MEAN: hm_axis_sum(ctx, input, outer, extent, inner, (double)extent, out); break;
    case HM_ALONG_MAX: hm_axis_maximum(ctx, input, outer, extent, inner, out); break;
    case HM_ALONG_MIN: hm_axis_minimum(ctx, input, outer, extent, inner, out); break;
    }
}

/* ------------------------------------------------- any other set */

static int64_t place_of(const hm_loops *loops, int64_t position)
{
    int64_t place = 0;
    for (int32_t i = loops->axes - 1; i >= 0; i--) {
        place += position % loops->extent[i] * loops->stride[i];
        position /= loops->extent[i];
    }
    return place;
}

/* The elements of one result, brought in range by a power of two. */
typedef struct scattered {
    const hm_kernels *kernels;
    hm_along_kind kind;
    const hm_loops *loops;
    const double *first;
    int shift;
} scattered;

/* The elements from `position` on that follow each other in the innermost loop, at most `most`. */
static int64_t run_at(const scattered *s, int64_t position, int64_t most, const double **from)
{
    const int64_t extent = s->loops->extent[s->loops->axes - 1];
    const int64_t left = extent - position % extent;
    *from = s->first + place_of(s->loops, position);
    return left < most ? left : most;
}

/* Elements first ... first + n - 1, in `room`. */
static void gather(const scattered *s, int64_t first, int64_t n, double room[HM_BLOCK])
{
    const int64_t stride = s->loops->stride[s->loops->axes - 1];
    const double *from;
    for (int64_t done = 0, run; done < n; done += run) {
        run = run_at(s, first + done, n - done, &from);
        for (int64_t i = 0; i < run; i++)
            room[done + i] = from[i * stride];
    }
    if (s->shift)
        for (int64_t i = 0; i < n; i++)
            room[i] = hm_wide_round((hm_wide){room[i], s->shift});
}

/* Their sum. Long contiguous runs are summed where they lie. */
enum { LONG_RUN = 2 * HM_LANES };

static double sum_block(const scattered *s, int64_t first, int64_t n)
{
    const hm_reduce_kernels *k = s->kernels->reduce;
    const int32_t inner = s->loops->axes - 1;
    if (s->loops->stride[inner] != 1 || s->loops->extent[inner] < LONG_RUN || s->shift) {
        double room[HM_BLOCK];
        gather(s, first, n, room);
        return k->sum(room, n);
    }
    double lanes[HM_LANES] = {0};
    const double *from;
    for (int64_t done = 0, run; done < n; done += run) {
        run = run_at(s, first + done, n - done, &from);
        k->add_to_lanes(from, run, done, lanes);
    }
    for (int half = HM_LANES / 2; half; half /= 2)
        for (int i = 0; i < half; i++)
            lanes[i] += lanes[i + half];
    return lanes[0];
}

static double extreme_block(const scattered *s, int64_t first, int64_t n)
{
    const hm_reduce_kernels *k = s->kernels->reduce;
    double room[HM_BLOCK];
    gather(s, first, n, room);
    return s->kind == HM_ALONG_MAX ? k->maximum(room, n) : k->minimum(room, n);
}

static void scattered_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const scattered *s = job;
    const bool is_extreme = s->kind == HM_ALONG_MAX || s->kind == HM_ALONG_MIN;
    *out = (hm_partial){{is_extreme ? extreme_block(s, first, n) : sum_block(s, first, n)}};
}

static void magnitude_block(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const scattered *s = job;
    double room[HM_BLOCK];
    gather(s, first, n, room);
    *out = (hm_partial){{s->kernels->reduce->largest_magnitude(room, n)}};
}

static void join_maxima(hm_partial *left, const hm_partial *right)
{
    if (right->of[0] > left->of[0] || isnan(right->of[0]))
        left->of[0] = right->of[0];
}

static void join_minima(hm_partial *left, const hm_partial *right)
{
    if (right->of[0] < left->of[0] || isnan(right->of[0]))
        left->of[0] = right->of[0];
}

static const hm_reduction scattered_sum = {scattered_block, hm_join_sums};
static const hm_reduction scattered_magnitude = {magnitude_block, join_maxima};
static const hm_reduction scattered_maximum = {scattered_block, join_maxima};
static const hm_reduction scattered_minimum = {scattered_block, join_minima};

/*
 * A sum whose partial sums left the range of a double is taken again near 1, as tensor/reduce.h
 * does: its exact value may be a double, or the mean.
 */
static double scattered_mean(scattered *s, int64_t extent, double divisor)
{
    hm_partial total, largest;
    hm_reduce_here(&scattered_sum, s, extent, &total);
    if (isfinite(total.of[0]))
        return total.of[0] / divisor;
    hm_reduce_here(&scattered_magnitude, s, extent, &largest);
    if (!isfinite(largest.of[0]))
        return NAN;
    s->shift = -ilogb(largest.of[0]);
    hm_reduce_here(&scattered_sum, s, extent, &total);
    return hm_wide_round(
        hm_wide_divide(hm_wide_normal(total.of[0], -s->shift), hm_wide_of(divisor)));
}

static double reduce_scattered(scattered *s, int64_t extent)
{
    hm_partial total;
    if (extent == 0)
        return 0.0;
    switch (s->kind) {
    case HM_ALONG_SUM: return scattered_mean(s, extent, 1.0);
    case HM_ALONG_MEAN: return scattered_mean(s, extent, (double)extent);
    case HM_ALONG_MAX: hm_reduce_here(&scattered_maximum, s, extent, &total); break;
    case HM_ALONG_MIN: hm_reduce_here(&scattered_minimum, s, extent, &total); break;
    }
    return total.of[0];
}

typedef struct job {
    const hm_kernels *kernels;
    const hm_along *plan;
    hm_along_kind kind;
    const double *input;
    double *out;
    int64_t chunks;
} job;

static void run_scattered_chunk(void *task, int64_t chunk)
{
    const job *j = task;
    const hm_along *plan = j->plan;
    const int64_t last = hm_split(plan->results, j->chunks, chunk + 1);
    for (int64_t i = hm_split(plan->results, j->chunks, chunk); i < last; i++) {
        scattered s = {j->kernels, j->kind, &plan->reduced, j->input + place_of(&plan->kept, i), 0};
        j->out[i] = reduce_scattered(&s, plan->extent);
    }
}

enum { ELEMENTS_A_CHUNK = 1 << 14, MOST_CHUNKS = 64 };

static void run_scattered(const hm_context *ctx, const hm_along *plan, hm_along_kind kind,
                          const double *input, double *out)
{
    job j = {
        .kernels = hm_context_kernels(ctx), .plan = plan, .kind = kind, .input = input, .out = out};
    j.chunks = hm_chunks(plan->results, ELEMENTS_A_CHUNK / (plan->extent + 1) + 1, MOST_CHUNKS);
    hm_parallel_for(ctx, j.chunks, run_scattered_chunk, &j);
}

void hm_along_run(const hm_context *ctx, const hm_along *plan, hm_along_kind kind,
                  const double *input, double *out)
{
    if (plan->is_box)
        run_box(ctx, plan, kind, input, out);
    else
        run_scattered(ctx, plan, kind, input, out);
}

/* ------------------------------------------------- the checked operations */

hm_status hm_reduce_axes(hm_context *ctx, hm_along_kind kind, const hm_tensor *input, int32_t count,
                         const int64_t *axes, bool keep, hm_tensor **out)
{
    uint32_t set;
    hm_status st = hm_axis_set(ctx, "axes", input->shape.rank, count, axes, &set);
    if (st != HMATH_OK)
        return st;
    const hm_along plan = hm_along_plan(&input->shape, set, keep);
    if (kind != HM_ALONG_SUM && plan.extent == 0 && plan.results > 0)
        return hm_fail_empty(ctx, "input");

    hm_tensor *result = NULL;
    if ((st = hm_tensor_create(ctx, &plan.result, &result)) != HMATH_OK)
        return st;
    hm_along_run(ctx, &plan, kind, input->data, result->data);
    if (hm_all_finite(ctx, result->data, result->size)) { /* then every element that went in is */
        hm_tensor_remember_finite(input);
        hm_tensor_remember_finite(result);
        *out = result;
        return HMATH_OK;
    }
    hm_release(result);
    st = hm_check_tensor_finite(ctx, "input", input);
    return st != HMATH_OK ? st : hm_fail_overflow(ctx);
}

typedef struct search {
    const hm_kernels *kernels;
    const double *input;
    int64_t *out;
    int64_t outer, extent, inner, chunks;
} search;

/* The kernel finds how large, a scan finds where. */
static int64_t place_of_largest(const hm_kernels *kernels, const double *row, int64_t n)
{
    const double largest = kernels->reduce->maximum(row, n);
    int64_t i = 0;
    while (i < n - 1 && row[i] != largest)
        i++;
    return i;
}

static void search_slab(const search *s, const double *slab, int64_t *out)
{
    if (s->inner == 1) {
        *out = place_of_largest(s->kernels, slab, s->extent);
        return;
    }
    memset(out, 0, (size_t)s->inner * sizeof *out);
    for (int64_t i = 1; i < s->extent; i++)
        for (int64_t j = 0; j < s->inner; j++)
            if (slab[i * s->inner + j] > slab[out[j] * s->inner + j])
                out[j] = i;
}

static void search_chunk(void *task, int64_t chunk)
{
    const search *s = task;
    const int64_t last = hm_split(s->outer, s->chunks, chunk + 1);
    for (int64_t i = hm_split(s->outer, s->chunks, chunk); i < last; i++)
        search_slab(s, s->input + i * s->extent * s->inner, s->out + i * s->inner);
}

hm_status hm_argmax(hm_context *ctx, const hm_tensor *input, int64_t axis, hm_list **out)
{
    const hm_shape *shape = &input->shape;
    if (axis < 0 || axis >= shape->rank)
        return hm_fail_index(ctx, "axis", HM_SCALAR, axis, shape->rank);
    search s = {
        .kernels = hm_context_kernels(ctx),
        .input = input->data,
        .outer = hm_shape_span(shape, 0, (int32_t)axis),
        .extent = shape->extent[axis],
        .inner = hm_shape_span(shape, (int32_t)axis + 1, shape->rank),
    };
    const int64_t results = s.outer * s.inner;
    if (s.extent == 0 && results > 0)
        return hm_fail_empty(ctx, "input");
    hm_status st = hm_check_tensor_finite(ctx, "input", input);
    hm_list *found = NULL;
    if (st != HMATH_OK || (st = hm_list_reserve(ctx, HM_ELEMENT_INT, results, &found)) != HMATH_OK)
        return st;
    s.out = found->data;
    if (results > 0) {
        s.chunks = hm_chunks(s.outer, ELEMENTS_A_CHUNK / (s.extent * s.inner) + 1, MOST_CHUNKS);
        hm_parallel_for(ctx, s.chunks, search_chunk, &s);
    }
    *out = found;
    return HMATH_OK;
}
