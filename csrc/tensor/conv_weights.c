/*
 * The gradient of a convolution's weights: a matrix product along all output pixels of all images.
 *
 * Rows are (input channel, kernel axes): what row i reads of the padded input at pixel k is at
 * row_offset[i] + offset[k]. Columns are output channels, their cotangents packed by pixels. Blocks
 * of pixels continue the chains through the result; they may span images, so that small ones are
 * not slow.
 */
#include <stdatomic.h>
#include <string.h>

#include "kernels/cpu.h"
#include "runtime/pool.h"
#include "tensor/conv.h"
#include "tensor/extent.h"

enum {
    DEPTH = 512,  /* pixels of a block, at most: the longer, the fewer turns of its result */
    ENOUGH = 256, /* pixels of a block, if L1 then holds a panel of them */
    COLUMNS = 96, /* output channels of a block: their cotangents take 384 KB of L2 */
    SERIAL = 48 * 48 * 48, /* fewer multiplications than this stay on the caller's thread */
    LINE = 8,              /* doubles of a cache line */
};

typedef struct weights_job {
    const hm_kernels *kernels;
    const hm_conv *conv;
    hm_padded padded;
    int64_t channels, rows, columns, pixels; /* of a group; pixels of an image */
    int64_t taps;                            /* rows of a channel */
    const double *input, *cotangent;
    double *weights;
    const int64_t *row_offset, *pixel_offset;
    int64_t depth;  /* pixels of a block, at most */
    int64_t flight; /* images whose pixels make a block */
    /* sharing: a slice of the rows and columns of a group, for all images, is one thread's */
    int64_t lanes, row_slices, column_slices, slice_columns, slice_channels;
    int64_t panel_doubles, lane_doubles;
    double *lane;
    atomic_llong next;
    atomic_bool infinite;
} weights_job;

static int64_t product(const int64_t extent[HM_CONV_AXES])
{
    return extent[0] * extent[1] * extent[2];
}

/* What a thread has to itself. */
typedef struct workplace {
    double *panel, *copy;
    int64_t filled; /* channels of the copy that have been written: their zeros stay */
} workplace;

/* Rows and columns of a group, and where the channels of its rows lie. */
typedef struct slice {
    int64_t group, row, row_end, column, column_end;
    int64_t channel, channels;
    int64_t image, images; /* in flight */
    const double *source;  /* channel 0 of the first of these */
    int64_t image_doubles; /* from one to the next */
} slice;

static slice slice_of(const weights_job *job, int64_t index)
{
    const int64_t row_slice = index % job->row_slices, rest = index / job->row_slices;
    slice s = {.group = rest / job->column_slices};
    s.row = job->rows * row_slice / job->row_slices;
    s.row_end = job->rows * (row_slice + 1) / job->row_slices;
    s.column = rest % job->column_slices * job->slice_columns;
    s.column_end = hm_least(s.column + job->slice_columns, job->columns);
    s.channel = s.row / job->taps;
    s.channels = hm_ceiling(s.row_end, job->taps) - s.channel;
    return s;
}

/* The channels that the rows read, of the images in flight: copied, or where they are. */
static void find_source(const weights_job *job, workplace *place, slice *s)
{
    const hm_conv *c = job->conv;
    const int64_t plane = product(c->input), each = job->padded.channel;
    const double *input =
        job->input + (s->image * c->in_channels + s->group * job->channels) * plane;
    if (job->padded.in_place) {
        s->source = input;
        s->image_doubles = c->in_channels * plane;
        return;
    }
    for (int64_t i = 0; i < s->images * s->channels; i++) {
        const int64_t image = i / s->channels, channel = s->channel + i % s->channels;
        hm_padded_copy(&job->padded, job->kernels->arrange, i >= place->filled,
                       input + (image * c->in_channels + channel) * plane, place->copy + i * each);
    }
    place->filled = hm_most(place->filled, s->images * s->channels);
    s->source = place->copy - s->channel * each;
    s->image_doubles = s->channels * each;
}

/* Cotangents of columns j ... of pixels p ... of the images in flight, and where the input has
 * these. */
static void gather_block(const weights_job *job, const slice *s, int64_t p, int64_t depth,
                         int64_t j, int64_t columns, double *panel, int64_t *offset)
{
    const int64_t width = job->kernels->contract->tile_columns;
    for (int64_t k = 0; k < depth;) {
        const int64_t image = (p + k) / job->pixels, pixel = (p + k) % job->pixels;
        const int64_t run = hm_least(depth - k, job->pixels - pixel);
        const int64_t channel =
            (s->image + image) * job->conv->out_channels + s->group * job->columns + j;
        job->kernels->contract->pack_right(run, columns,
                                           job->cotangent + channel * job->pixels + pixel, 1,
                                           job->pixels, panel + k * width, job->depth * width);
        for (int64_t i = 0; i < run; i++)
            offset[k + i] = image * s->image_doubles + job->pixel_offset[pixel + i];
        k += run;
    }
}

/* The cotangents of columns j ... of an image's pixels from p on, if there are any: for the kernel to
 * fetch while it multiplies those before. */
static void announce(const weights_job *job, const slice *s, int64_t p, int64_t j,
                     hm_conv_weights_block *b)
{
    const int64_t image = s->image + p / job->pixels, pixel = p % job->pixels;
    if (image >= job->conv->batch || j >= s->column_end)
        return;
    const int64_t channel = image * job->conv->out_channels + s->group * job->columns + j;
    b->next = job->cotangent + channel * job->pixels + pixel;
    b->next_row = job->pixels;
    b->next_rows = hm_least(COLUMNS, s->column_end - j);
    b->next_count = hm_least(job->depth, job->pixels - pixel);
}

/* All pixels in flight. */
static bool multiply_flight(const weights_job *job, const slice *s, double *panel)
{
    const int64_t depth = s->images * job->pixels, blocks = hm_ceiling(depth, job->depth);
    int64_t offset[DEPTH];
    bool finite = true;
    for (int64_t j = s->column; j < s->column_end; j += COLUMNS)
        for (int64_t i = 0; i < blocks; i++) {
            const int64_t p = depth * i / blocks;
            hm_conv_weights_block b = {
                .rows = s->row_end - s->row,
                .columns = hm_least(COLUMNS, s->column_end - j),
                .depth = depth * (i + 1) / blocks - p,
                .source = s->source,
                .row_offset = job->row_offset + s->row,
                .offset = offset,
                .right = panel,
                .right_panel = job->depth * job->kernels->contract->tile_columns,
                .out = job->weights + (s->group * job->columns + j) * job->rows + s->row,
                .out_column = job->rows,
                .first = s->image == 0 && i == 0,
            };
            b.last = s->image + s->images == job->conv->batch && p + b.depth == depth;
            const bool on = i + 1 < blocks || s->column_end - s->column <= COLUMNS;
            announce(job, s, on ? p + b.depth : 0, on ? j : j + COLUMNS, &b);
            gather_block(job, s, p, b.depth, j, b.columns, panel, offset);
            finite &= job->kernels->conv->weights(&b);
        }
    return finite;
}

static void multiply_lane(void *task, int64_t index)
{
    weights_job *job = task;
    double *room = job->lane + index * job->lane_doubles;
    workplace place = {.panel = room, .copy = room + job->panel_doubles};
    const int64_t width = job->kernels->contract->tile_columns;
    /* What stands beside the last column is multiplied too, and left out: it may as well be numbers. */
    if (job->columns % width || job->slice_columns % width)
        memset(place.panel, 0, (size_t)job->panel_doubles * sizeof(double));
    const int64_t slices = job->conv->groups * job->row_slices * job->column_slices;
    const int64_t batch = job->conv->batch;
    bool finite = true;
    int64_t next;
    while ((next = atomic_fetch_add(&job->next, 1)) < slices) {
        slice s = slice_of(job, next);
        for (; s.image < batch; s.image += s.images) {
            s.images = hm_least(job->flight, batch - s.image);
            find_source(job, &place, &s);
            finite &= multiply_flight(job, &s, place.panel);
        }
    }
    if (!finite)
        atomic_store_explicit(&job->infinite, true, memory_order_relaxed);
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
 * Each slice packs the cotangents of its columns and copies the channels of its rows. Where there are
 * rows enough for a slice to make packing little beside multiplying, and several groups apart, only
 * rows are cut: then every channel is copied about once. Else columns first, by whole vectors.
 */
static void cut(weights_job *job, int64_t threads)
{
    enum { ROWS = 128 };
    const int64_t height = job->kernels->contract->tile_rows, vector = job->kernels->conv->lanes;
    const int64_t wanted = hm_ceiling(threads, job->conv->groups);
    job->column_slices = 1;
    if (threads == 1)
        job->row_slices = 1;
    else if (job->rows >= ROWS * wanted)
        job->row_slices = hm_least(2 * wanted, job->rows / ROWS);
    else {
        job->column_slices = hm_least(wanted, hm_ceiling(job->columns, vector));
        job->row_slices =
            hm_least(hm_ceiling(wanted, job->column_slices), hm_ceiling(job->rows, height));
    }
    job->slice_columns = hm_ceiling(job->columns, job->column_slices);
    if (job->column_slices > 1)
        job->slice_columns = hm_round_up(job->slice_columns, vector);
    job->column_slices = hm_ceiling(job->columns, job->slice_columns);
    job->slice_channels =
        hm_least(job->channels, hm_ceiling(job->rows, job->row_slices) / job->taps + 2);
    job->lanes = hm_least(threads, job->conv->groups * job->column_slices * job->row_slices);
}

/* A panel of cotangents takes three quarters of L1, what its rows read of the input the rest; where that
 * would make the chains too short, panels come from L2. */
static int64_t depth_here(int64_t panel_columns)
{
    const int64_t line = panel_columns * (int64_t)sizeof(double);
    const int64_t near = hm_cpu_own_caches().first / 4 * 3 / line;
    return near >= ENOUGH ? hm_least(near, DEPTH) : DEPTH;
}

static hm_status run(hm_context *ctx, weights_job *job)
{
    const hm_conv *c = job->conv;
    const int64_t width = job->kernels->contract->tile_columns;
    const double work =
        (double)job->rows * (double)job->columns * (double)job->pixels * (double)c->batch;
    const int64_t threads = work * (double)c->groups < SERIAL ? 1 : hm_context_threads(ctx);
    job->depth = depth_here(width);
    job->flight = hm_least(c->batch, hm_ceiling(job->depth, job->pixels));
    cut(job, threads);
    job->panel_doubles = job->depth * hm_round_up(hm_least(COLUMNS, job->slice_columns), width);
    const int64_t copy =
        job->padded.in_place ? 0 : job->flight * job->slice_channels * job->padded.channel;
    job->lane_doubles = hm_round_up(job->panel_doubles + copy, LINE) + LINE;
    int64_t *tables = NULL;
    hm_status st =
        hm_scratch_create(ctx, (size_t)(job->rows + job->pixels), sizeof *tables, &tables);
    if (st == HMATH_OK)
        st = hm_scratch_create(ctx, (size_t)(job->lanes * job->lane_doubles), sizeof(double),
                               &job->lane);
    if (st == HMATH_OK) {
        fill_tables(job, tables, tables + job->rows);
        job->row_offset = tables;
        job->pixel_offset = tables + job->rows;
        hm_parallel_for(ctx, job->lanes, multiply_lane, job);
    }
    hm_scratch_release(ctx, job->lane);
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
        .taps = product(c->kernel),
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
