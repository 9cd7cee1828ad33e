/*
 * The gradient of a convolution's weights: a matrix product along all output pixels of all images.
 *
 * Rows are (input channel, kernel axes): what row i reads of the padded input at pixel k is at
 * row_offset[i] + offset[k]. Columns are output channels, their cotangents packed by pixels. Blocks
 * of pixels continue the chains through the result; they may span images, so that small ones are
 * not slow.
 */
#include <stdatomic.h>

#include "runtime/pool.h"
#include "tensor/conv.h"
#include "tensor/extent.h"

enum {
    DEPTH = 256,   /* pixels of a block; with a panel of cotangents, half of L2 at 64 channels */
    COLUMNS = 240, /* output channels of a block */
    SERIAL = 48 * 48 * 48, /* fewer multiplications than this stay on the caller's thread */
    LINE = 8,              /* doubles of a cache line */
};

typedef struct weights_job {
    const hm_kernels *kernels;
    const hm_conv *conv;
    hm_padded padded;
    int64_t channels, rows, columns, pixels; /* of a group; pixels of an image */
    int64_t group;
    const double *input, *cotangent;
    double *weights;
    const int64_t *row_offset, *pixel_offset;
    /* images in flight */
    int64_t image, images, flight;
    double *copy;
    /* sharing */
    int64_t lanes, row_slices, column_slices, slice_columns, lane_doubles;
    double *lane;
    atomic_llong next;
    atomic_bool infinite;
} weights_job;

static int64_t product(const int64_t extent[HM_CONV_AXES])
{
    return extent[0] * extent[1] * extent[2];
}

static void copy_chunk(void *task, int64_t chunk)
{
    weights_job *job = task;
    const hm_conv *c = job->conv;
    const int64_t image = chunk / job->channels, channel = chunk % job->channels;
    const int64_t from =
        (job->image + image) * c->in_channels + job->group * job->channels + channel;
    hm_padded_copy(&job->padded, job->input + from * product(c->input),
                   job->copy + chunk * job->padded.channel);
}

/* Cotangents of columns j ... of pixels p ... of the images in flight, and where the input has
 * these. */
static void gather_block(const weights_job *job, int64_t p, int64_t depth, int64_t j,
                         int64_t columns, double *panel, int64_t panel_step, int64_t *offset)
{
    const hm_conv *c = job->conv;
    const int64_t image_doubles = job->channels * job->padded.channel;
    for (int64_t k = 0; k < depth;) {
        const int64_t image = (p + k) / job->pixels, pixel = (p + k) % job->pixels;
        const int64_t run = hm_least(depth - k, job->pixels - pixel);
        const int64_t channel =
            (job->image + image) * c->out_channels + job->group * job->columns + j;
        job->kernels->contract->pack_right(
            run, columns, job->cotangent + channel * job->pixels + pixel, 1, job->pixels,
            panel + k * job->kernels->contract->tile_columns, panel_step);
        for (int64_t i = 0; i < run; i++)
            offset[k + i] = image * image_doubles + job->pixel_offset[pixel + i];
        k += run;
    }
}

/* All pixels in flight, for a slice of the rows and of the columns. */
static void multiply_slice(weights_job *job, double *panel, int64_t slice)
{
    const int64_t width = job->kernels->contract->tile_columns, panel_step = DEPTH * width;
    const int64_t r = slice % job->row_slices, begin = slice / job->row_slices * job->slice_columns;
    const int64_t row = job->rows * r / job->row_slices;
    const int64_t row_end = job->rows * (r + 1) / job->row_slices;
    const int64_t end = hm_least(begin + job->slice_columns, job->columns);
    const int64_t depth = job->images * job->pixels;
    int64_t offset[DEPTH];
    bool finite = true;
    for (int64_t j = begin; j < end; j += COLUMNS)
        for (int64_t p = 0; p < depth; p += DEPTH) {
            hm_conv_weights_block b = {
                .rows = row_end - row,
                .columns = hm_least(COLUMNS, end - j),
                .depth = hm_least(DEPTH, depth - p),
                .source = job->copy,
                .row_offset = job->row_offset + row,
                .offset = offset,
                .right = panel,
                .right_panel = panel_step,
                .out = job->weights + (job->group * job->columns + j) * job->rows + row,
                .out_column = job->rows,
                .first = job->image == 0 && p == 0,
            };
            b.last = job->image + job->images == job->conv->batch && p + b.depth == depth;
            gather_block(job, p, b.depth, j, b.columns, panel, panel_step, offset);
            finite &= job->kernels->conv->weights(&b);
        }
    if (!finite)
        atomic_store_explicit(&job->infinite, true, memory_order_relaxed);
}

static void multiply_lane(void *task, int64_t index)
{
    weights_job *job = task;
    int64_t slice;
    while ((slice = atomic_fetch_add(&job->next, 1)) < job->row_slices * job->column_slices)
        multiply_slice(job, job->lane + index * job->lane_doubles, slice);
}

static void run_group(hm_context *ctx, weights_job *job)
{
    const hm_conv *c = job->conv;
    const int64_t copied = product(c->input) * job->channels;
    for (job->image = 0; job->image < c->batch; job->image += job->flight) {
        job->images = hm_least(job->flight, c->batch - job->image);
        const int64_t chunks = job->images * job->channels;
        if (job->lanes > 1 && copied * job->images > SERIAL)
            hm_parallel_for(ctx, chunks, copy_chunk, job);
        else
            for (int64_t i = 0; i < chunks; i++)
                copy_chunk(job, i);
        atomic_store(&job->next, 0);
        hm_parallel_for(ctx, job->lanes, multiply_lane, job);
    }
}

static void fill_tables(const weights_job *job, int64_t *row_offset, int64_t *pixel_offset)
{
    const hm_conv *c = job->conv;
    for (int64_t channel = 0; channel < job->channels; channel++)
        for (int64_t z = 0; z < c->kernel[0]; z++)
            for (int64_t y = 0; y < c->kernel[1]; y++)
                for (int64_t x = 0; x < c->kernel[2]; x++)
                    *row_offset++ =
                        channel * job->padded.channel +
                        hm_padded_tap(&job->padded, (const int64_t[HM_CONV_AXES]){z, y, x});
    const hm_padded_axis *axis = job->padded.axis;
    for (int64_t z = 0; z < c->output[0]; z++)
        for (int64_t y = 0; y < c->output[1]; y++)
            for (int64_t x = 0; x < c->output[2]; x++)
                *pixel_offset++ = (z * axis[1].extent + y) * axis[2].extent + x;
}

/*
 * Columns first, as each slice packs the cotangents of its own; a slice of fewer than LEAST_COLUMNS
 * would read more of the input than it computes.
 */
static void cut(weights_job *job, int64_t threads)
{
    enum { LEAST_COLUMNS = 16 };
    const int64_t height = job->kernels->contract->tile_rows,
                  wanted = threads == 1 ? 1 : 2 * threads;
    const int64_t most_slices = hm_ceiling(job->columns, LEAST_COLUMNS);
    job->column_slices = hm_least(wanted, most_slices);
    job->slice_columns = hm_round_up(hm_ceiling(job->columns, job->column_slices), height);
    job->column_slices = hm_ceiling(job->columns, job->slice_columns);
    job->row_slices =
        hm_least(hm_ceiling(wanted, job->column_slices), hm_ceiling(job->rows, height));
    job->lanes = hm_least(threads, job->column_slices * job->row_slices);
}

static hm_status run(hm_context *ctx, weights_job *job)
{
    const hm_conv *c = job->conv;
    const int64_t width = job->kernels->contract->tile_columns;
    const double work =
        (double)job->rows * (double)job->columns * (double)job->pixels * (double)c->batch;
    const int64_t threads = work < SERIAL ? 1 : hm_context_threads(ctx);
    job->flight = hm_least(c->batch, hm_ceiling(DEPTH, job->pixels));
    cut(job, threads);
    job->lane_doubles = DEPTH * hm_round_up(hm_least(COLUMNS, job->slice_columns), width) + LINE;
    const int64_t copy = hm_ceiling(job->flight * job->channels * job->padded.channel, LINE) * LINE;
    int64_t *tables = NULL;
    hm_status st =
        hm_scratch_create(ctx, (size_t)(job->rows + job->pixels), sizeof *tables, &tables);
    if (st == HMATH_OK)
        st = hm_scratch_create(ctx, (size_t)(copy + job->lanes * job->lane_doubles), sizeof(double),
                               &job->copy);
    if (st == HMATH_OK) {
        fill_tables(job, tables, tables + job->rows);
        job->row_offset = tables;
        job->pixel_offset = tables + job->rows;
        job->lane = job->copy + copy;
        for (job->group = 0; job->group < c->groups; job->group++)
            run_group(ctx, job);
    }
    hm_scratch_release(ctx, job->copy);
    hm_scratch_release(ctx, tables);
    return st;
}

hm_status hm_convolve_weights(hm_context *ctx, const hm_conv *c, const double *input,
                              const double *cotangent, double *weights, bool *finite)
{
    *finite = true;
    weights_job job = {
        .kernels = hm_context_kernels(ctx),
        .conv = c,
        .channels = c->in_channels / c->groups,
        .rows = c->in_channels / c->groups * product(c->kernel),
        .columns = c->out_channels / c->groups,
        .pixels = product(c->output),
        .input = input,
        .cotangent = cotangent,
        .weights = weights,
    };
    if (job.rows == 0 || job.columns == 0)
        return HMATH_OK;
    if (c->batch == 0) { /* empty chains */
        for (int64_t i = 0; i < c->out_channels * job.rows; i++)
            weights[i] = 0.0;
        return HMATH_OK;
    }
    for (int a = 0; a < HM_CONV_AXES; a++)
        job.padded.axis[a] = hm_padded_forward(c->input[a], c->output[a], c->kernel[a],
                                               c->stride[a], c->padding[a], c->dilation[a]);
    if (!hm_padded_measure(&job.padded, job.channels))
        return hm_fail_memory(ctx);
    const hm_status st = run(ctx, &job);
    *finite = !atomic_load(&job.infinite);
    return st;
}
