/*
 * Convolution and its adjoint as one thing (tensor/correlate.h): a sum over (channel, taps) of a
 * padded source, for every result pixel.
 *
 * Forward, the source is the input, copied apart by stride phase, and the result one grid of
 * pixels. The adjoint has one source grid and as many result grids as the stride has phases: pixel
 * i of the result, i + padding = Q * stride + r, gets the taps t with t * dilation = r + h *
 * stride, at source pixel Q - h.
 */
#include "tensor/conv.h"

#include "runtime/checked.h"
#include "tensor/contract.h"
#include "tensor/correlate.h"
#include "tensor/extent.h"

static int64_t product(const int64_t extent[HM_CONV_AXES])
{
    return extent[0] * extent[1] * extent[2];
}

/* ---- forward ---- */

/* Each weight of a row is one kernel tap of one channel, in the order of the chain. */
static void forward_offsets(const hm_conv *c, const hm_padded *padded, int64_t channels,
                            int64_t *offset)
{
    for (int64_t channel = 0; channel < channels; channel++)
        for (int64_t z = 0; z < c->kernel[0]; z++)
            for (int64_t y = 0; y < c->kernel[1]; y++)
                for (int64_t x = 0; x < c->kernel[2]; x++)
                    *offset++ = channel * padded->channel +
                                hm_padded_tap(padded, (const int64_t[HM_CONV_AXES]){z, y, x});
}

/* Every pixel by itself: a matrix product of weights and image. `adjoint`: of transposed weights.
 */
static bool is_pointwise(const hm_conv *c)
{
    for (int a = 0; a < HM_CONV_AXES; a++)
        if (c->kernel[a] != 1 || c->stride[a] != 1 || c->padding[a] != 0)
            return false;
    return true;
}

/* Has the kernels' plane: one channel, 3 x 3 taps side by side, rows of at least a vector of
 * results. */
static bool is_plane(const hm_conv *c, int64_t channels, const int64_t result[HM_CONV_AXES],
                     int64_t lanes)
{
    bool plain = channels == 1 && c->kernel[0] == 1 && c->stride[0] == 1 && result[0] == 1 &&
                 result[2] >= lanes;
    for (int a = 1; a < HM_CONV_AXES; a++)
        plain &= c->kernel[a] == 3 && c->stride[a] == 1 && c->dilation[a] == 1;
    return plain && c->padding[0] == 0;
}

static hm_status pointwise(hm_context *ctx, const hm_conv *c, bool adjoint, const double *source,
                           const double *weights, const double *bias, double *out, bool *finite)
{
    const int64_t in = c->in_channels / c->groups, over = c->out_channels / c->groups;
    const int64_t rows = adjoint ? in : over, depth = adjoint ? over : in,
                  pixels = product(c->input);
    *finite = true;
    for (int64_t g = 0; g < c->groups; g++) {
        const double *of_group = weights + g * rows * depth;
        hm_product p = {.batch = c->batch, .rows = rows, .columns = pixels, .depth = depth};
        p.left = adjoint ? hm_matrix_transposed(of_group, rows) : hm_matrix_rows(of_group, depth);
        p.right = hm_matrix_rows(source + g * depth * pixels, pixels);
        p.right.batch = c->groups * depth * pixels;
        p.out = out + g * rows * pixels;
        p.out_row = pixels;
        p.out_batch = c->groups * rows * pixels;
        p.row_bias = bias ? bias + g * rows : NULL;
        bool group_finite;
        const hm_status st = hm_contract(ctx, &p, &group_finite);
        if (st != HMATH_OK)
            return st;
        *finite &= group_finite;
    }
    return HMATH_OK;
}

hm_status hm_convolve(hm_context *ctx, const hm_conv *c, const double *input, const double *weights,
                      const double *bias, double *output, bool *finite)
{
    *finite = true;
    if (c->batch == 0 || c->out_channels == 0)
        return HMATH_OK;
    if (is_pointwise(c))
        return pointwise(ctx, c, false, input, weights, bias, output, finite);

    const int64_t channels = c->in_channels / c->groups, depth = channels * product(c->kernel);
    hm_grid all = {.depth = depth, .stretch = depth};
    hm_correlation job = {
        .kernels = hm_context_kernels(ctx),
        .units = c->batch * c->groups,
        .groups = c->groups,
        .rows = c->out_channels / c->groups,
        .channels = channels,
        .source_plane = product(c->input),
        .result_plane = product(c->output),
        .weight_row = depth,
        .weight_group = c->out_channels / c->groups * depth,
        .source = input,
        .weights = weights,
        .bias = bias,
        .out = output,
        .grids = &all,
        .grid_count = 1,
    };
    for (int a = 0; a < HM_CONV_AXES; a++) {
        job.padded.axis[a] = hm_padded_forward(c->input[a], c->output[a], c->kernel[a],
                                               c->stride[a], c->padding[a], c->dilation[a]);
        job.result[a] = c->output[a];
        all.axis[a] = (hm_grid_axis){.count = c->output[a], .step = 1};
    }
    if (!hm_correlate_window(ctx, &job, c->output, depth))
        return hm_fail_memory(ctx);

    int64_t *tables = NULL;
    hm_status st = hm_scratch_create(ctx, 2 * (size_t)depth, sizeof *tables, &tables);
    if (st != HMATH_OK)
        return st;
    forward_offsets(c, &job.padded, channels, tables);
    for (int64_t k = 0; k < depth; k++)
        tables[depth + k] = k;
    all.offset = tables;
    all.weight = tables + depth;
    job.plane_direction = is_plane(c, channels, c->output, job.kernels->conv->lanes);
    st = hm_correlate(ctx, &job, finite);
    hm_scratch_release(ctx, tables);
    return st;
}

/* ---- adjoint ---- */

/*
 * The phase of an axis that result pixel `first` begins: its pixels first, first + stride, ... and
 * the taps that reach them, every period-th.
 */
typedef struct axis_phase {
    int64_t count;             /* pixels */
    int64_t source;            /* what tap 0 of residue 0 would read for the first */
    int64_t tap, period, taps; /* first tap, from tap to tap, how many */
    int64_t back, back_step; /* how far before `source` a tap reads: the first, and more per tap */
} axis_phase;

static axis_phase phase_of(const hm_conv *c, int a, int64_t first)
{
    const int64_t stride = c->stride[a], dilation = c->dilation[a], kernel = c->kernel[a];
    const int64_t residue = (first + c->padding[a]) % stride;
    axis_phase p = {.count = (c->input[a] - 1 - first) / stride + 1,
                    .source = (first + c->padding[a]) / stride,
                    .period = hm_stride_period(stride, dilation)};
    p.back_step = dilation / (stride / p.period);
    while (p.tap < hm_least(kernel, p.period) && p.tap * dilation % stride != residue)
        p.tap++;
    if (p.tap < hm_least(kernel, p.period)) {
        p.taps = (kernel - 1 - p.tap) / p.period + 1;
        p.back = p.tap * dilation / stride;
    }
    return p;
}

static int64_t phases_of(const hm_conv *c, int a) { return hm_least(c->stride[a], c->input[a]); }

/* Zeros in front and behind, so that every tap of every phase of the axis finds a pixel; false where
 * there are more than 64 bits can count. */
static bool adjoint_axis(const hm_conv *c, int a, hm_padded_axis *axis)
{
    int64_t front = 0, end = c->output[a];
    for (int64_t first = 0; first < phases_of(c, a); first++) {
        const axis_phase p = phase_of(c, a, first);
        if (p.taps == 0)
            continue;
        front = hm_most(front, p.back + (p.taps - 1) * p.back_step - p.source);
        end = hm_most(end, p.source + p.count);
    }
    if (!hm_add_int(front, end, &end))
        return false;
    *axis = hm_padded_plain(c->output[a], front, end);
    return true;
}

/* The chain of a grid: taps of its phase, row-major, for every channel. */
static void adjoint_chain(const hm_conv *c, const hm_padded *padded, int64_t channels, int64_t rows,
                          const axis_phase phase[HM_CONV_AXES], int64_t *offset, int64_t *weight)
{
    const hm_padded_axis *axis = padded->axis;
    for (int64_t channel = 0; channel < channels; channel++)
        for (int64_t z = 0; z < phase[0].taps; z++)
            for (int64_t y = 0; y < phase[1].taps; y++)
                for (int64_t x = 0; x < phase[2].taps; x++) {
                    const int64_t n[HM_CONV_AXES] = {z, y, x};
                    int64_t back = 0, tap = 0;
                    for (int a = 0; a < HM_CONV_AXES; a++) {
                        back = back * axis[a].extent + phase[a].back + n[a] * phase[a].back_step;
                        tap = tap * c->kernel[a] + phase[a].tap + n[a] * phase[a].period;
                    }
                    *offset++ = channel * padded->channel - back;
                    *weight++ = channel * rows * product(c->kernel) + tap;
                }
}

/* All grids and their chains; together these have each tap of each channel once. */
static void adjoint_grids(const hm_conv *c, hm_correlation *job, int64_t *offset, int64_t *weight)
{
    const hm_padded_axis *axis = job->padded.axis;
    hm_grid *g = job->grids;
    for (int64_t z = 0; z < phases_of(c, 0); z++)
        for (int64_t y = 0; y < phases_of(c, 1); y++)
            for (int64_t x = 0; x < phases_of(c, 2); x++, g++) {
                const int64_t first[HM_CONV_AXES] = {z, y, x};
                axis_phase phase[HM_CONV_AXES];
                *g = (hm_grid){.depth = job->channels, .offset = offset, .weight = weight};
                for (int a = 0; a < HM_CONV_AXES; a++) {
                    phase[a] = phase_of(c, a, first[a]);
                    g->depth *= phase[a].taps;
                    g->axis[a] = (hm_grid_axis){.count = phase[a].count,
                                                .source = phase[a].source - axis[a].start,
                                                .destination = first[a],
                                                .step = c->stride[a]};
                    if (phase[a].count == 1)
                        g->axis[a].step = 1;
                }
                adjoint_chain(c, &job->padded, job->channels, job->rows, phase, offset, weight);
                g->stretch =
                    g->depth == job->channels * product(c->kernel) ? product(c->kernel) : 1;
                if (g->depth == 0) /* bias only: nothing is read, but pixels need a place */
                    for (int a = 0; a < HM_CONV_AXES; a++)
                        g->axis[a].source = 0;
                offset += g->depth;
                weight += g->depth;
            }
}

hm_status hm_convolve_adjoint(hm_context *ctx, const hm_conv *c, const double *output,
                              const double *weights, const double *bias, double *input,
                              bool *finite)
{
    *finite = true;
    if (c->batch == 0 || c->in_channels == 0)
        return HMATH_OK;
    if (is_pointwise(c))
        return pointwise(ctx, c, true, output, weights, bias, input, finite);

    const int64_t channels = c->out_channels / c->groups, rows = c->in_channels / c->groups;
    const int64_t taps = product(c->kernel);
    hm_correlation job = {
        .kernels = hm_context_kernels(ctx),
        .units = c->batch * c->groups,
        .groups = c->groups,
        .rows = rows,
        .channels = channels,
        .source_plane = product(c->output),
        .result_plane = product(c->input),
        .weight_row = taps,
        .weight_group = channels * rows * taps,
        .source = output,
        .weights = weights,
        .bias = bias,
        .out = input,
        .grid_count = phases_of(c, 0) * phases_of(c, 1) * phases_of(c, 2),
    };
    int64_t count[HM_CONV_AXES];
    for (int a = 0; a < HM_CONV_AXES; a++) {
        if (!adjoint_axis(c, a, &job.padded.axis[a]))
            return hm_fail_memory(ctx);
        job.result[a] = c->input[a];
        count[a] = hm_ceiling(c->input[a], c->stride[a]);
    }
    if (!hm_correlate_window(ctx, &job, count, channels * taps))
        return hm_fail_memory(ctx);

    int64_t *tables = NULL;
    const size_t links = (size_t)(channels * taps);
    hm_status st = hm_scratch_create(ctx, 2 * links, sizeof *tables, &tables);
    if (st == HMATH_OK)
        st = hm_scratch_create(ctx, (size_t)job.grid_count, sizeof *job.grids, &job.grids);
    if (st == HMATH_OK) {
        adjoint_grids(c, &job, tables, tables + links);
        job.plane_direction = -is_plane(c, channels, c->input, job.kernels->conv->lanes);
        st = hm_correlate(ctx, &job, finite);
    }
    hm_scratch_release(ctx, job.grids);
    hm_scratch_release(ctx, tables);
    return st;
}
