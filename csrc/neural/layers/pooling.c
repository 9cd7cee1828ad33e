/*
 * Pooling over one to three spatial axes, as three: missing ones have extent 1 and stand first.
 * Work goes by output rows. Where windows lie inside the row, many outputs are computed at once
 * (kernels/pool.h); an output at the border, or one of an uneven bin, is a reduction over its own
 * cells, with the same bits.
 */
#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "neural/layers/check.h"
#include "neural/layers/layers.h"
#include "neural/layers/pooling.h"
#include "runtime/context.h"
#include "runtime/pool.h"
#include "tensor/reduce.h"

enum { AXES = 3 };

typedef struct pooling {
    const hm_kernels *kernels;
    hm_pool_method method;
    bool bins;      /* adaptive: windows are the bins of an even partition */
    bool rectified; /* maxima of squares only: no cell counts as less than 0 */
    hm_window window[AXES];
    const double *x;
    double *out;
    int64_t rows, rows_per_chunk; /* output rows: of all planes */
    int64_t plane_cells;
    int64_t inner_first, inner_end; /* outputs of a row whose windows lie inside it */
    int64_t full_rows, full_tile;   /* rows of a window no border clips, and their tile_size */
} pooling;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

__extension__ typedef __int128 wide;

/* The real cells of window o along one axis: first ... end-1. */
static void cells_of(const pooling *p, int axis, int64_t o, int64_t *first, int64_t *end)
{
    const hm_window *w = &p->window[axis];
    if (p->bins) {
        *first = (int64_t)((wide)o * w->extent / w->places);
        *end = (int64_t)((((wide)o + 1) * w->extent + w->places - 1) / w->places);
        return;
    }
    const int64_t start = o * w->stride - w->padding;
    *first = most(0, start);
    *end = least(w->extent, start + w->kernel);
}

/* ------------------------------------------------- one window by itself */

typedef struct box {
    const pooling *pooling;
    const double *plane;
    int64_t first[AXES], end[AXES];
    double factor; /* cells are read times this power of two */
} box;

static const double *row_of(const box *b, int64_t z, int64_t y)
{
    const hm_window *w = b->pooling->window;
    return b->plane + (z * w[1].extent + y) * w[2].extent;
}

static double box_maximum(const box *b)
{
    const int64_t width = b->end[2] - b->first[2];
    double largest = -INFINITY;
    for (int64_t z = b->first[0]; z < b->end[0]; z++)
        for (int64_t y = b->first[1]; y < b->end[1]; y++) {
            const double *row = row_of(b, z, y) + b->first[2];
            largest = fmax(largest, b->pooling->kernels->reduce->maximum(row, width));
        }
    return largest;
}

/* Cells at ... at+n-1 of a box, row-major, gathered and summed: a block of the tree over all cells.
 */
static void box_block(const void *job, int64_t at, int64_t n, hm_partial *out)
{
    const box *b = job;
    double cells[HM_BLOCK];
    const int64_t width = b->end[2] - b->first[2], height = b->end[1] - b->first[1];
    int64_t x = at % width, row = at / width;
    for (int64_t i = 0; i < n;) {
        const double *from = row_of(b, b->first[0] + row / height, b->first[1] + row % height);
        const int64_t run = least(n - i, width - x);
        if (b->factor == 1)
            memcpy(cells + i, from + b->first[2] + x, (size_t)run * sizeof *cells);
        else
            for (int64_t j = 0; j < run; j++)
                cells[i + j] = from[b->first[2] + x + j] * b->factor;
        i += run;
        x = 0;
        row++;
    }
    *out = (hm_partial){{b->pooling->kernels->reduce->sum(cells, n)}};
}

static const hm_reduction box_sum = {box_block, hm_join_sums};

enum { FEW_CELLS = 9 };

/* Of at most FEW_CELLS cells, as one output of a row; false where it is not finite. */
static bool mean_of_few(const box *b, int64_t cells, double *mean)
{
    const double *tap[FEW_CELLS];
    int64_t t = 0;
    for (int64_t z = b->first[0]; z < b->end[0]; z++)
        for (int64_t y = b->first[1]; y < b->end[1]; y++) {
            const double *row = row_of(b, z, y);
            for (int64_t x = b->first[2]; x < b->end[2]; x++)
                tap[t++] = row + x;
        }
    return b->pooling->kernels->pool->means(tap, cells, 1, mean);
}

/*
 * The mean lies between the cells, so it is a double although their sum may be none: then the cells
 * are summed times 2^-64, exactly but for what is nothing beside a sum that large.
 */
static double box_mean(box *b)
{
    const int64_t cells =
        (b->end[0] - b->first[0]) * (b->end[1] - b->first[1]) * (b->end[2] - b->first[2]);
    double few;
    if (cells <= FEW_CELLS && mean_of_few(b, cells, &few))
        return few;
    hm_partial sum;
    b->factor = 1;
    if (cells <= HM_BLOCK)
        box_block(b, 0, cells, &sum);
    else
        hm_reduce_here(&box_sum, b, cells, &sum);
    if (isfinite(sum.of[0]))
        return sum.of[0] / (double)cells;
    b->factor = 0x1p-64;
    hm_reduce_here(&box_sum, b, cells, &sum);
    const double mean = sum.of[0] / (double)cells * 0x1p64;
    return fmin(fmax(mean, -DBL_MAX), DBL_MAX);
}

static double pool_box(box *b)
{
    return b->pooling->method == HM_POOL_MAX ? box_maximum(b) : box_mean(b);
}

/* ------------------------------------------------- rows of windows */

/*
 * Windows inside a row, TILE outputs at a time. ROOM doubles hold the input columns of a tile,
 * split by the stride's phase so that neighbouring outputs read neighbouring elements.
 */
enum { MOST_TAPS = 512, MOST_STRIDE = 8, TILE = 512, ROOM = 8192, PHASE_SLACK = 16 };

typedef struct workspace {
    double room[ROOM];
    const double *row[MOST_TAPS], *tap[MOST_TAPS];
} workspace;

/* Term t of each of `n` outputs, from a row whose first column is the first output's first cell. */
static int64_t lay_taps(const pooling *p, const double *columns, int64_t n, double *room,
                        const double **tap)
{
    const hm_window *w = &p->window[2];
    if (w->stride == 1) {
        for (int64_t t = 0; t < w->kernel; t++)
            tap[t] = columns + t;
        return 0;
    }
    const int64_t pitch = n + w->kernel / w->stride + 1;
    p->kernels->pool->split(columns, (n - 1) * w->stride + w->kernel, w->stride, pitch, room);
    for (int64_t t = 0; t < w->kernel; t++)
        tap[t] = room + t % w->stride * pitch + t / w->stride;
    return w->stride * pitch;
}

/* Room that one row of a tile of n outputs takes: its columns, or its phases. */
static int64_t room_for(const hm_window *w, int64_t n)
{
    return w->stride * (n + w->kernel / w->stride + 1);
}

/* Down the rows of the windows first, then along what is left. */
static void tile_maxima(const pooling *p, workspace *work, int64_t rows, int64_t at, int64_t n,
                        double *out)
{
    const hm_window *w = &p->window[2];
    const int64_t first = at * w->stride - w->padding, columns = (n - 1) * w->stride + w->kernel;
    const double *down = work->row[0] + first;
    double *room = work->room;
    if (rows > 1) {
        for (int64_t r = 0; r < rows; r++)
            work->tap[r] = work->row[r] + first;
        p->kernels->pool->maxima(work->tap, rows, columns, room);
        down = room;
        room += columns;
    }
    lay_taps(p, down, n, room, work->tap);
    p->kernels->pool->maxima(work->tap, w->kernel, n, out);
}

static bool tile_means(const pooling *p, workspace *work, int64_t rows, int64_t at, int64_t n,
                       double *out)
{
    const hm_window *w = &p->window[2];
    double *room = work->room;
    for (int64_t r = 0; r < rows; r++)
        room += lay_taps(p, work->row[r] + at * w->stride - w->padding, n, room,
                         work->tap + r * w->kernel);
    return p->kernels->pool->means(work->tap, rows * w->kernel, n, out);
}

/* How many outputs a tile may have; 0 where the windows are better taken one by one. */
static int64_t tile_size(const pooling *p, int64_t rows)
{
    const hm_window *w = &p->window[2];
    const bool maximum = p->method == HM_POOL_MAX;
    if (rows > MOST_TAPS || w->kernel > MOST_TAPS || w->stride > MOST_STRIDE)
        return 0;
    if (!maximum && rows * w->kernel > MOST_TAPS)
        return 0;
    const int64_t kept = maximum ? 2 : rows; /* rows in the room: the maxima and their phases */
    int64_t n = TILE;
    while (n && kept * room_for(w, n) > ROOM - PHASE_SLACK)
        n /= 2;
    return n;
}

/* A mean of a tile that is not finite comes from a sum out of range. */
static void mend(box *b, int64_t at, int64_t n, double *out)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(out[i])) {
            cells_of(b->pooling, 2, at + i, &b->first[2], &b->end[2]);
            out[i] = box_mean(b);
        }
}

/* See kernels/pool.h; false where a mean is not finite. */
static bool pool_squares(const pooling *p, const double *x, int64_t pitch, int64_t rows, int64_t n,
                         double *out)
{
    const hm_pool_kernels *k = p->kernels->pool;
    if (p->method == HM_POOL_AVERAGE)
        return k->square_means(x, pitch, rows, n, out);
    k->square_maxima(x, pitch, rows, n, p->rectified ? 0.0 : -INFINITY, out);
    return true;
}

/* The outputs whose windows lie inside the row; where nothing is done, *done stays at their first.
 */
static void pool_inner(const pooling *p, box *b, workspace *work, double *out, int64_t *done)
{
    const int64_t height = b->end[1] - b->first[1], depth = b->end[0] - b->first[0];
    const int64_t rows = depth * height;
    const int64_t tile = rows == p->full_rows                      ? p->full_tile
                         : depth > MOST_TAPS || height > MOST_TAPS ? 0
                                                                   : tile_size(p, rows);
    *done = p->inner_first;
    if (tile == 0)
        return;
    int64_t r = 0;
    for (int64_t z = b->first[0]; z < b->end[0]; z++)
        for (int64_t y = b->first[1]; y < b->end[1]; y++)
            work->row[r++] = row_of(b, z, y);
    const bool squares = rows == 2 && p->window[2].kernel == 2 && p->window[2].stride == 2;
    for (; *done < p->inner_end; *done += tile) {
        const int64_t at = *done, n = least(tile, p->inner_end - at);
        if (squares) {
            const double *cells = work->row[0] + 2 * at - p->window[2].padding;
            if (!pool_squares(p, cells, work->row[1] - work->row[0], 1, n, out + at))
                mend(b, at, n, out + at);
        } else if (p->method == HM_POOL_MAX) {
            tile_maxima(p, work, rows, at, n, out + at);
        } else if (!tile_means(p, work, rows, at, n, out + at)) {
            mend(b, at, n, out + at);
        }
    }
    *done = p->inner_end;
}

/* One output row of the box's plane; the box knows the cells of the other axes. */
static void pool_row(const pooling *p, box *b, workspace *work, double *out)
{
    int64_t inner_done;
    pool_inner(p, b, work, out, &inner_done);
    for (int64_t o = 0; o < p->window[2].places; o++) {
        if (o == p->inner_first && inner_done > o) {
            o = inner_done - 1;
            continue;
        }
        cells_of(p, 2, o, &b->first[2], &b->end[2]);
        out[o] = pool_box(b);
    }
}

static void pool_chunk(void *task, int64_t chunk)
{
    const pooling *p = task;
    const hm_window *w = p->window;
    workspace work;
    const int64_t first = chunk * p->rows_per_chunk,
                  end = least(p->rows, first + p->rows_per_chunk);
    int64_t y = first % w[1].places, z = first / w[1].places % w[0].places;
    box b = {.pooling = p, .plane = p->x + first / w[1].places / w[0].places * p->plane_cells};
    cells_of(p, 0, z, &b.first[0], &b.end[0]);
    for (int64_t row = first; row < end; row++) {
        cells_of(p, 1, y, &b.first[1], &b.end[1]);
        pool_row(p, &b, &work, p->out + row * w[2].places);
        if (++y < w[1].places)
            continue;
        y = 0;
        if (++z == w[0].places) {
            z = 0;
            b.plane += p->plane_cells;
        }
        cells_of(p, 0, z, &b.first[0], &b.end[0]);
    }
}

bool hm_pools_squares(const hm_window window[AXES])
{
    const hm_window *z = &window[0];
    bool squares = z->kernel == 1 && z->stride == 1 && z->padding == 0;
    for (int a = 1; a < AXES; a++)
        squares &= window[a].kernel == 2 && window[a].stride == 2 && window[a].padding == 0;
    return squares;
}

/* Nothing but squares: planes follow one another, along the first axis too. */
static void squares_chunk(void *task, int64_t chunk)
{
    const pooling *p = task;
    const hm_window *y = &p->window[1], *x = &p->window[2];
    const int64_t end = least(p->rows, (chunk + 1) * p->rows_per_chunk);
    int64_t rows;
    for (int64_t row = chunk * p->rows_per_chunk; row < end; row += rows) {
        const int64_t plane = row / y->places, at = row % y->places;
        box b = {.pooling = p, .plane = p->x + plane * y->extent * x->extent, .end = {1}};
        double *out = p->out + row * x->places;
        rows = least(end - row, y->places - at);
        if (pool_squares(p, b.plane + 2 * at * x->extent, x->extent, rows, x->places, out))
            continue;
        for (int64_t r = 0; r < rows; r++) {
            cells_of(p, 1, at + r, &b.first[1], &b.end[1]);
            mend(&b, 0, x->places, out + r * x->places);
        }
    }
}

static void run(hm_context *ctx, pooling *p, int64_t planes, const double *x, double *out)
{
    enum { CHUNK_CELLS = 32768, MOST_CHUNKS = 64 };
    const hm_window *w = p->window;
    const int64_t input = planes * w[0].extent * w[1].extent * w[2].extent;
    const int64_t result = planes * w[0].places * w[1].places * w[2].places;
    if (result == 0)
        return;
    p->kernels = hm_context_kernels(ctx);
    p->x = x;
    p->out = out;
    p->rows = result / p->window[2].places;
    p->plane_cells = p->window[0].extent * p->window[1].extent * p->window[2].extent;
    const int64_t chunks = least(hm_chunks(most(input, result), CHUNK_CELLS, MOST_CHUNKS), p->rows);
    p->rows_per_chunk = (p->rows + chunks - 1) / chunks;
    hm_parallel_for(ctx, (p->rows + p->rows_per_chunk - 1) / p->rows_per_chunk,
                    !p->bins && hm_pools_squares(w) ? squares_chunk : pool_chunk, p);
}

/* ------------------------------------------------- checks */

/* Rank 3 to 5; where the spatial axes of the input land among the three of a pooling. */
static hm_status check_input_rank(hm_context *ctx, const hm_shape *input, int *spatial)
{
    if (input->rank >= 3 && input->rank <= 5) {
        *spatial = input->rank - 2;
        return HMATH_OK;
    }
    char actual[32];
    snprintf(actual, sizeof actual, "rank %d", input->rank);
    return hm_fail_shape(ctx, "input", "rank 3 to 5", actual);
}

/* A window needs a cell: no axis may be empty where there are planes to pool. */
static hm_status check_cells(hm_context *ctx, const hm_shape *input)
{
    const int64_t planes = input->extent[0] * input->extent[1];
    return planes > 0 && hm_shape_span(input, 2, input->rank) == 0 ? hm_fail_empty(ctx, "input")
                                                                   : HMATH_OK;
}

static hm_shape output_shape(const hm_shape *input, const hm_window *window, int spatial)
{
    hm_shape shape = {.rank = input->rank};
    shape.extent[0] = input->extent[0];
    shape.extent[1] = input->extent[1];
    for (int i = 0; i < spatial; i++)
        shape.extent[2 + i] = window[AXES - spatial + i].places;
    return shape;
}

static hm_status finish(hm_context *ctx, pooling *p, const hm_tensor *input, int spatial,
                        hm_tensor **out)
{
    hm_tensor *result = NULL;
    const hm_shape shape = output_shape(&input->shape, p->window, spatial);
    hm_status st = hm_tensor_create(ctx, &shape, &result);
    if (st != HMATH_OK)
        return st;
    run(ctx, p, shape.extent[0] * shape.extent[1], input->data, result->data);
    atomic_init(&result->known_finite, true);
    *out = result;
    return HMATH_OK;
}

static const hm_window whole = {.extent = 1, .kernel = 1, .stride = 1, .dilation = 1, .places = 1};

/* Outputs whose windows need no clipping along the last axis. */
static void find_inner(pooling *p)
{
    const hm_window *w = &p->window[2];
    const int64_t first = w->padding / w->stride + (w->padding % w->stride != 0);
    const int64_t room = w->extent + w->padding - w->kernel;
    const int64_t end = room < 0 ? 0 : least(w->places, room / w->stride + 1);
    p->inner_first = least(first, w->places);
    p->inner_end = most(p->inner_first, end);
    const int64_t depth = p->window[0].kernel, height = p->window[1].kernel;
    p->full_rows = depth > MOST_TAPS || height > MOST_TAPS ? 0 : depth * height;
    p->full_tile = tile_size(p, p->full_rows);
}

void hm_pool_windows(hm_context *ctx, hm_pool_method method, const hm_window window[AXES],
                     int64_t planes, const double *x, double *out)
{
    pooling p = {.method = method, .window = {window[0], window[1], window[2]}};
    find_inner(&p);
    run(ctx, &p, planes, x, out);
}

void hm_pool_rectified(hm_context *ctx, const hm_window window[AXES], int64_t planes,
                       const double *x, double *out)
{
    assert(hm_pools_squares(window));
    pooling p = {
        .method = HM_POOL_MAX, .rectified = true, .window = {window[0], window[1], window[2]}};
    run(ctx, &p, planes, x, out);
}

hm_status hm_plan_pooling(hm_context *ctx, const hm_ints *kernel, const hm_ints *stride,
                          const hm_ints *padding, const hm_shape *input, hm_window window[AXES],
                          hm_shape *out)
{
    hm_status st;
    int spatial = 0;
    if ((st = hm_check_entries(ctx, "kernel", kernel, 1)) != HMATH_OK ||
        (st = hm_check_entries(ctx, "stride", stride, 1)) != HMATH_OK ||
        (st = hm_check_entries(ctx, "padding", padding, 0)) != HMATH_OK ||
        (st = check_input_rank(ctx, input, &spatial)) != HMATH_OK ||
        (st = hm_check_length(ctx, "kernel", kernel->length, spatial)) != HMATH_OK ||
        (st = hm_check_length(ctx, "stride", stride->length, spatial)) != HMATH_OK ||
        (st = hm_check_length(ctx, "padding", padding->length, spatial)) != HMATH_OK)
        return st;
    window[0] = window[1] = window[2] = whole;
    for (int i = 0; i < spatial; i++) {
        hm_window *w = &window[AXES - spatial + i];
        *w = (hm_window){.extent = input->extent[2 + i],
                         .kernel = kernel->data[i],
                         .stride = stride->data[i],
                         .padding = padding->data[i],
                         .dilation = 1};
        if ((st = hm_window_slide(ctx, 2 + i, w)) != HMATH_OK)
            return st;
    }
    *out = output_shape(input, window, spatial);
    return check_cells(ctx, input);
}

/* The first window ends before the first cell. With less padding than window, none is empty. */
hm_status hm_check_pool_padding(hm_context *ctx, const hm_ints *kernel, const hm_ints *padding)
{
    for (int64_t i = 0; i < kernel->length; i++)
        if (padding->data[i] >= kernel->data[i])
            return hm_fail_domain_int(ctx, "padding", i, padding->data[i],
                                      "< kernel, so that every window has a real cell");
    return HMATH_OK;
}

hm_status hm_pooling(hm_context *ctx, const hm_pool_mode *mode, const hm_ints *kernel,
                     const hm_ints *stride, const hm_ints *padding, const hm_tensor *input,
                     hm_tensor **out)
{
    hm_status st;
    hm_shape shape;
    pooling p = {.method = mode->method};
    if ((st = hm_plan_pooling(ctx, kernel, stride, padding, &input->shape, p.window, &shape)) !=
            HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "input", input)) != HMATH_OK ||
        (st = hm_check_pool_padding(ctx, kernel, padding)) != HMATH_OK)
        return st;
    find_inner(&p);
    return finish(ctx, &p, input, input->shape.rank - 2, out);
}

hm_status hm_adaptive_pooling(hm_context *ctx, const hm_pool_mode *mode, const hm_ints *shape,
                              const hm_tensor *input, hm_tensor **out)
{
    hm_status st;
    int spatial = 0;
    if ((st = hm_check_entries(ctx, "shape", shape, 1)) != HMATH_OK ||
        (st = check_input_rank(ctx, &input->shape, &spatial)) != HMATH_OK ||
        (st = hm_check_length(ctx, "shape", shape->length, spatial)) != HMATH_OK ||
        (st = check_cells(ctx, &input->shape)) != HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "input", input)) != HMATH_OK)
        return st;

    /* Where every bin has as many cells, bins are windows side by side. */
    pooling p = {.method = mode->method, .window = {whole, whole, whole}};
    for (int i = 0; i < spatial; i++) {
        const int64_t extent = input->shape.extent[2 + i], places = shape->data[i];
        const int64_t cells = extent % places == 0 && extent > 0 ? extent / places : 1;
        p.window[AXES - spatial + i] = (hm_window){
            .extent = extent, .kernel = cells, .stride = cells, .dilation = 1, .places = places};
        p.bins = p.bins || extent % places != 0;
    }
    if (!p.bins)
        find_inner(&p);
    return finish(ctx, &p, input, spatial, out);
}

hm_status hm_global_pooling(hm_context *ctx, const hm_pool_mode *mode, const hm_tensor *input,
                            hm_tensor **out)
{
    hm_status st;
    int spatial = 0;
    if ((st = check_input_rank(ctx, &input->shape, &spatial)) != HMATH_OK ||
        (st = check_cells(ctx, &input->shape)) != HMATH_OK ||
        (st = hm_check_tensor_finite(ctx, "input", input)) != HMATH_OK)
        return st;
    const hm_shape shape = {.rank = 2, .extent = {input->shape.extent[0], input->shape.extent[1]}};
    hm_tensor *result = NULL;
    if ((st = hm_tensor_create(ctx, &shape, &result)) != HMATH_OK)
        return st;
    const int64_t planes = result->size, cells = planes ? input->size / planes : 1;
    if (mode->method == HM_POOL_MAX)
        hm_axis_maximum(ctx, input->data, planes, cells, 1, result->data);
    else
        hm_axis_sum(ctx, input->data, planes, cells, 1, (double)cells, result->data);
    atomic_init(&result->known_finite, true);
    *out = result;
    return HMATH_OK;
}
