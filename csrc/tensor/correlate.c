/*
 * Work is cut into (unit, window, grid, band of pixels, panel of weights). A thread takes whole
 * windows, each into a copy of its own, if there are enough of them; of few and small ones, all
 * threads work on one. Chains are never cut between threads, so that the cut is free to follow the
 * machine.
 */
#include "tensor/correlate.h"

#include "kernels/cpu.h"
#include "runtime/pool.h"
#include "tensor/extent.h"

enum {
    BAND = 768,            /* runs of pixels whose table a thread holds at a time */
    FEW_RUNS = 48,         /* results of an image for which weights are read in place, unpacked */
    FEW_ROWS = 3,          /* the kernels' wide tiles want them unpacked too */
    SERIAL = 48 * 48 * 48, /* fewer multiplications than this stay on the caller's thread */
    LANE_GAP = 8,          /* a line between what threads write */
    LINE = 8,              /* doubles of a cache line */
};

/* What is held near while it is used again. */
typedef struct limits {
    int64_t links;  /* of the chains of a tile, whose pixels stay in L1 for all slivers; 0: any */
    int64_t panel;  /* doubles of packed weights that share L2 with a window of the source */
    int64_t window; /* doubles of the source beside them */
} limits;

/*
 * Measured on Sapphire Rapids (48K, 2M), where a tile of 8 x 24 takes 12 cycles a link and waits for L2
 * if all it reads comes from there, on Zen 4 (32K, 1M), where it takes 24 and does not, and on Zen 3 (32K,
 * 512K), where one of 4 x 12 takes 6.
 */
static limits limits_here(void)
{
    const hm_cpu_caches caches = hm_cpu_own_caches();
    if (caches.first >= 48 << 10 && caches.second >= 2 << 20)
        return (limits){.links = 256, .panel = 163840, .window = 32768};
    if (caches.second > 0 && caches.second < 1 << 20)
        return (limits){.links = 256, .panel = 32768, .window = 49152};
    return (limits){.links = 0, .panel = 32768, .window = 65536};
}

/* ---- runs: vectors of neighbouring pixels ---- */

/*
 * Rows by themselves leave part of a row's last vector idle, unless it can be moved back over
 * pixels already done (the same bits twice). Flat runs go on over the row's end, through pixels
 * that are no results, and cost a scatter. Folded runs leave these out, for a second load in vectors
 * that fold. Whichever is least.
 */
static void choose_runs(const hm_correlation *job, hm_grid *g)
{
    enum { SCATTER = 12 }; /* links of a chain that a scattered vector costs */
    enum { FOLD = 24 };    /* folding costs one in so many links */
    const int64_t lanes = job->kernels->conv->lanes;
    const hm_grid_axis *z = &g->axis[0], *y = &g->axis[1], *x = &g->axis[2];
    const int64_t by_rows = hm_ceiling(x->count, lanes) * y->count;
    const int64_t flat = hm_ceiling((y->count - 1) * job->padded.axis[2].extent + x->count, lanes);
    const int64_t rows_cost = by_rows * (g->depth + (x->count < lanes ? SCATTER : 1));
    g->jump = y->step * job->result[2] - x->count * x->step;
    const bool seen = g->jump == 0 || x->count < job->padded.axis[2].extent; /* where rows end */
    g->flat = !job->padded.in_place && seen && flat * (g->depth + SCATTER) < rows_cost;
    const int64_t pixels = y->count * x->count, folded = hm_ceiling(pixels, lanes);
    const int64_t folded_cost =
        folded * (g->depth + g->depth / FOLD + (g->jump || x->step > 1 ? SCATTER : 1));
    g->folded = job->kernels->conv->folds && !job->padded.in_place && pixels >= lanes &&
                x->count >= lanes - 1 && job->rows % job->kernels->contract->tile_rows == 0 &&
                folded_cost < (g->flat ? flat * (g->depth + SCATTER) : rows_cost);
    g->flat &= !g->folded;
    g->runs_a_line = g->folded ? folded : g->flat ? flat : hm_ceiling(x->count, lanes);
    g->runs = z->count * (g->flat || g->folded ? g->runs_a_line : by_rows);
}

static void row_run(const hm_correlation *job, const hm_grid *g, int64_t index, hm_conv_run *run)
{
    const int64_t lanes = job->kernels->conv->lanes;
    const hm_grid_axis *z = &g->axis[0], *y = &g->axis[1], *x = &g->axis[2];
    const int64_t line = index / g->runs_a_line, iz = line / y->count, iy = line % y->count;
    int64_t ix = index % g->runs_a_line * lanes;
    if (x->count >= lanes)
        ix = hm_least(ix, x->count - lanes);
    const hm_padded_axis *axis = job->padded.axis;
    run->source =
        ((z->source + iz) * axis[1].extent + y->source + iy) * axis[2].extent + x->source + ix;
    run->destination =
        ((z->destination + iz * z->step) * job->result[1] + y->destination + iy * y->step) *
            job->result[2] +
        x->destination + ix * x->step;
    run->results = ((uint64_t)1 << hm_least(lanes, x->count - ix)) - 1;
    run->fold = 0;
}

static void flat_run(const hm_correlation *job, const hm_grid *g, int64_t index, hm_conv_run *run)
{
    const int64_t lanes = job->kernels->conv->lanes;
    const hm_grid_axis *z = &g->axis[0], *y = &g->axis[1], *x = &g->axis[2];
    const hm_padded_axis *axis = job->padded.axis;
    const int64_t iz = index / g->runs_a_line, first = index % g->runs_a_line * lanes;
    const int64_t width = axis[2].extent;
    run->results = 0;
    run->fold = 0;
    int64_t iy = first / width, ix = first % width;
    run->source = ((z->source + iz) * axis[1].extent + y->source) * width + x->source + first;
    const int64_t line = iy + (ix >= x->count), column = ix < x->count ? ix : 0;
    run->destination =
        ((z->destination + iz * z->step) * job->result[1] + y->destination + line * y->step) *
            job->result[2] +
        x->destination + column * x->step;
    for (int64_t l = 0; l < lanes && iy < y->count; l++) {
        if (ix < x->count)
            run->results |= (uint64_t)1 << l;
        if (++ix == width) {
            ix = 0;
            iy++;
        }
    }
}

/* The last one goes back over pixels of the one before, as that of a row does. */
static void folded_run(const hm_correlation *job, const hm_grid *g, int64_t index, hm_conv_run *run)
{
    const int64_t lanes = job->kernels->conv->lanes;
    const hm_grid_axis *z = &g->axis[0], *y = &g->axis[1], *x = &g->axis[2];
    const hm_padded_axis *axis = job->padded.axis;
    const int64_t iz = index / g->runs_a_line;
    const int64_t first = hm_least(index % g->runs_a_line * lanes, y->count * x->count - lanes);
    const int64_t iy = first / x->count, ix = first % x->count;
    run->source =
        ((z->source + iz) * axis[1].extent + y->source + iy) * axis[2].extent + x->source + ix;
    run->destination =
        ((z->destination + iz * z->step) * job->result[1] + y->destination + iy * y->step) *
            job->result[2] +
        x->destination + ix * x->step;
    run->results = ((uint64_t)1 << lanes) - 1;
    run->fold = x->count - ix < lanes ? x->count - ix : 0;
}

/* Those that fold come last, together: few tiles have to load twice. */
static void folded_runs(const hm_correlation *job, const hm_grid *g, int64_t begin, int64_t end,
                        hm_conv_run *run)
{
    for (int folds = 0; folds < 2; folds++)
        for (int64_t i = begin; i < end; i++) {
            hm_conv_run next;
            folded_run(job, g, i, &next);
            if ((next.fold > 0) == folds)
                *run++ = next;
        }
}

static void make_runs(const hm_correlation *job, const hm_grid *g, int64_t begin, int64_t end,
                      hm_conv_run *run)
{
    if (g->folded) {
        folded_runs(job, g, begin, end, run);
        return;
    }
    for (int64_t i = begin; i < end; i++, run++)
        if (g->flat)
            flat_run(job, g, i, run);
        else
            row_run(job, g, i, run);
}

/* ---- work: (band of runs, panel of weights) of a grid of a unit ---- */

/* What a thread has to itself. The runs that it made last stay good for the next unit. */
typedef struct workplace {
    double *copy;
    double *panel;
    hm_conv_run *run;
    const hm_grid *band_grid;
    int64_t band, band_rows; /* the first run, and rows of the window */
    bool filled;             /* the copy has been another window's */
} workplace;

static workplace workplace_of(const hm_correlation *job, int64_t index)
{
    double *base = job->scratch + job->shared_copy + index * job->scratch_lane;
    workplace l = {.run = (hm_conv_run *)base};
    l.panel = base + BAND * (int64_t)(sizeof(hm_conv_run) / sizeof(double));
    l.copy = job->shared ? job->scratch : l.panel + job->panel_doubles;
    return l;
}

/* Links k ... of the chain, whose weights are neighbours, into the slivers of rows of the kernels. */
static void pack_stretch(const hm_correlation *job, const hm_grid *g, int64_t rows, int64_t k,
                         const double *weights, double *panel)
{
    const int64_t height = job->kernels->contract->tile_rows, slivers = hm_ceiling(rows, height);
    for (int64_t s = 0; s < slivers; s++) {
        const int64_t begin = hm_contract_sliver(rows, slivers, s);
        const int64_t count = hm_contract_sliver(rows, slivers, s + 1) - begin;
        const double *from = weights + begin * job->weight_row;
        double *to = panel + (s * g->depth + k) * height;
        if (g->stretch > 1)
            job->kernels->contract->pack_left(count, g->stretch, from, job->weight_row, 1, to);
        else
            for (int64_t i = 0; i < count; i++)
                to[i] = from[i * job->weight_row];
    }
}

/*
 * In the order that the weights lie in. Those of an adjoint's channel are neighbours, the next
 * channel's are far: nothing but this fetches them in time.
 */
static void pack_weights(const hm_correlation *job, const hm_grid *g, int64_t rows,
                         const double *weights, double *panel)
{
    for (int64_t k = 0; k < g->depth; k += g->stretch) {
        const int64_t next = k + g->stretch;
        if (next < g->depth && g->stretch == job->weight_row)
            for (int64_t i = 0; i < rows * job->weight_row; i += LINE)
                __builtin_prefetch(weights + g->weight[next] + i);
        pack_stretch(job, g, rows, k, weights + g->weight[k], panel);
    }
}

/* Not before the last run of a row, which may go back over pixels of the one before. */
static int64_t band_begin(const hm_correlation *job, const hm_grid *g, int64_t band)
{
    const int64_t begin = g->runs * band / job->bands, line = g->runs_a_line;
    return line > 1 && begin % line == line - 1 ? begin - 1 : begin;
}

/* Rows of a panel. */
typedef struct panel_rows {
    int64_t begin, count;
} panel_rows;

static panel_rows rows_of(const hm_correlation *job, int64_t panel)
{
    const int64_t slivers = hm_ceiling(job->rows, job->kernels->contract->tile_rows);
    const int64_t end = hm_least(slivers, (panel + 1) * job->slivers_a_panel);
    const int64_t begin = hm_contract_sliver(job->rows, slivers, panel * job->slivers_a_panel);
    return (panel_rows){begin, hm_contract_sliver(job->rows, slivers, end) - begin};
}

/* Whether the grid's weights are packed, or read in place. */
static bool packs(const hm_correlation *job, const hm_grid *g, int64_t rows)
{
    const int64_t images = job->packs_once ? job->units / job->groups : 1;
    return g->all_runs >= hm_ceiling(FEW_RUNS, images) && rows > FEW_ROWS &&
           g->depth * job->kernels->contract->tile_rows <= job->panel_most;
}

static double *packed_panel(const hm_correlation *job, const hm_grid *g, int64_t group,
                            int64_t panel)
{
    return job->packed + group * job->packed_group + g->packed +
           panel * job->slivers_a_panel * job->kernels->contract->tile_rows * g->depth;
}

/* A panel of a grid of a group, before the first unit. */
static void pack_chunk(void *task, int64_t chunk)
{
    const hm_correlation *job = task;
    const int64_t panel = chunk % job->panels, rest = chunk / job->panels;
    const hm_grid *g = &job->grids[rest % job->grid_count];
    const int64_t group = rest / job->grid_count;
    const panel_rows rows = rows_of(job, panel);
    if (packs(job, g, rows.count))
        pack_weights(job, g, rows.count,
                     job->weights + group * job->weight_group + rows.begin * job->weight_row,
                     packed_panel(job, g, group, panel));
}

/* The part of grid `index` that lies in a window; where its first result is in a channel's. */
static hm_grid grid_of(const hm_correlation *job, int64_t index, int64_t window, int64_t *result)
{
    hm_grid g = job->grids[index];
    *result = 0;
    if (job->windows == 1)
        return g;
    hm_grid_axis *axis = &g.axis[job->window_axis];
    const int64_t first = window * job->window_rows;
    axis->count = hm_most(0, hm_least(job->window_rows, axis->count - first));
    *result = first * axis->step;
    for (int a = job->window_axis + 1; a < HM_CONV_AXES; a++)
        *result *= job->result[a];
    if (axis->count > 0)
        choose_runs(job, &g);
    else
        g.runs = 0;
    return g;
}

static void multiply(hm_correlation *job, workplace *lane, int64_t unit, int64_t window,
                     int64_t index, int64_t band, int64_t panel)
{
    int64_t result;
    const hm_grid grid = grid_of(job, index, window, &result), *const g = &grid;
    const int64_t height = job->kernels->contract->tile_rows;
    const panel_rows in_panel = rows_of(job, panel);
    const int64_t row = in_panel.begin, rows = in_panel.count;
    const int64_t first = band_begin(job, g, band), last = band_begin(job, g, band + 1);
    const int64_t group = unit % job->groups;
    const double *weights = job->weights + group * job->weight_group + row * job->weight_row;

    hm_conv_block b = {
        .rows = rows,
        .depth = g->depth,
        .links = job->links,
        .source = job->padded.in_place ? job->source + unit * job->channels * job->source_plane
                                       : lane->copy,
        .offset = g->offset,
        .run = lane->run,
        .step = g->axis[2].step,
        .jump = g->jump,
        .gap = job->padded.axis[2].extent - g->axis[2].count,
        .out = job->out + (unit * job->rows + row) * job->result_plane + result,
        .out_row = job->result_plane,
        .bias = job->bias ? job->bias + group * job->rows + row : NULL,
    };
    if (!packs(job, g, rows)) {
        b.left = weights;
        b.left_row = job->weight_row;
        b.left_offset = g->weight;
    } else {
        if (!job->packs_once)
            pack_weights(job, g, rows, weights, lane->panel);
        b.left = job->packs_once ? packed_panel(job, g, group, panel) : lane->panel;
        b.left_panel = g->depth * height;
    }
    const int64_t window_rows = g->axis[job->window_axis].count;
    bool finite = true;
    for (int64_t begin = first; begin < last; begin += BAND) {
        b.runs = hm_least(BAND, last - begin);
        if (lane->band_grid != &job->grids[index] || lane->band != begin ||
            lane->band_rows != window_rows || last - first > BAND) {
            make_runs(job, g, begin, begin + b.runs, lane->run);
            lane->band_grid = &job->grids[index];
            lane->band = begin;
            lane->band_rows = window_rows;
        }
        finite &= job->kernels->conv->block(&b);
    }
    if (!finite)
        atomic_store_explicit(&job->infinite, true, memory_order_relaxed);
}

/* A unit of one channel and a 3 x 3 kernel, from the top, or in the adjoint, from the bottom. */
static void multiply_plane(hm_correlation *job, const double *copy, int64_t unit, int64_t window)
{
    int64_t result;
    const hm_grid grid = grid_of(job, 0, window, &result);
    const hm_grid_axis *y = &grid.axis[1], *x = &grid.axis[2];
    const int64_t width = job->padded.axis[2].extent, direction = job->plane_direction;
    const int64_t first = direction > 0 ? 0 : y->count - 1, group = unit % job->groups;
    const double *source = job->padded.in_place ? job->source + unit * job->source_plane : copy;
    for (int64_t row = 0; row < job->rows; row++) {
        const hm_conv_plane plane = {
            .rows = y->count,
            .width = x->count,
            .source = source + (y->source + first) * width + x->source + grid.offset[0],
            .source_row = direction * width,
            .tap = direction,
            .weights = job->weights + group * job->weight_group + row * job->weight_row,
            .bias = job->bias ? job->bias + group * job->rows + row : NULL,
            .out =
                job->out + (unit * job->rows + row) * job->result_plane + result + first * x->count,
            .out_row = direction * x->count,
            .next = job->out + (unit * job->rows + row + 1) * job->result_plane + result,
        };
        if (!job->kernels->conv->plane(&plane))
            atomic_store_explicit(&job->infinite, true, memory_order_relaxed);
    }
}

/* ---- what a lane does by itself: windows one by one, each into its own copy ---- */

/* What the window reads of the padded source; `inside`: of its axis, nothing but image. */
static hm_padded padded_of(const hm_correlation *job, int64_t window, bool *inside)
{
    hm_padded padded = job->padded;
    hm_padded_axis *axis = &padded.axis[job->window_axis];
    axis->start += window * job->window_rows * axis->stride;
    *inside = axis->start >= 0 && axis->extent <= (axis->image - axis->start) / axis->stride;
    return padded;
}

static void copy_channel(const hm_correlation *job, const hm_padded *padded, int64_t unit,
                         int64_t channel, bool fresh, double *copy)
{
    hm_padded_copy(padded, job->kernels->arrange, fresh,
                   job->source + (unit * job->channels + channel) * job->source_plane,
                   copy + channel * padded->channel);
}

/* Zeros beside the image stay from window to window, those before and behind its axis do not. */
static void copy_window(const hm_correlation *job, workplace *lane, int64_t unit, int64_t window)
{
    if (job->padded.in_place)
        return;
    bool inside;
    const hm_padded padded = padded_of(job, window, &inside);
    const bool fresh = !lane->filled || (job->windows > 1 && !inside);
    for (int64_t c = 0; c < job->channels; c++)
        copy_channel(job, &padded, unit, c, fresh, lane->copy);
    lane->filled = true;
}

static void do_window(hm_correlation *job, workplace *lane, int64_t unit, int64_t window)
{
    copy_window(job, lane, unit, window);
    if (job->plane_direction && (job->windows == 1 || job->window_axis == 1)) {
        multiply_plane(job, lane->copy, unit, window);
        return;
    }
    for (int64_t band = 0; band < job->bands; band++)
        for (int64_t g = 0; g < job->grid_count; g++)
            for (int64_t panel = 0; panel < job->panels; panel++)
                multiply(job, lane, unit, window, g, band, panel);
}

static void private_lane(void *task, int64_t index)
{
    hm_correlation *job = task;
    workplace lane = workplace_of(job, index);
    const int64_t items = job->units * job->windows;
    const int64_t grain = hm_most(1, items / (16 * job->lanes));
    int64_t item;
    while ((item = grain * atomic_fetch_add(&job->next, 1)) < items)
        for (const int64_t end = hm_least(item + grain, items); item < end; item++)
            do_window(job, &lane, item / job->windows, item % job->windows);
}

/* ---- few small units: all lanes work on one, over bands of pixels and panels of weights ---- */

static void copy_chunk(void *task, int64_t channel)
{
    hm_correlation *job = task;
    copy_channel(job, &job->padded, job->unit, channel, job->unit == 0, job->scratch);
}

static void shared_lane(void *task, int64_t index)
{
    hm_correlation *job = task;
    workplace lane = workplace_of(job, index);
    const int64_t items = job->grid_count * job->bands * job->panels;
    int64_t item;
    while ((item = atomic_fetch_add(&job->next, 1)) < items)
        multiply(job, &lane, job->unit, 0, item / (job->bands * job->panels),
                 item / job->panels % job->bands, item % job->panels);
}

static void run_shared(hm_context *ctx, hm_correlation *job)
{
    for (job->unit = 0; job->unit < job->units; job->unit++) {
        if (!job->padded.in_place)
            hm_parallel_for(ctx, job->channels, copy_chunk, job);
        atomic_store(&job->next, 0);
        hm_parallel_for(ctx, job->lanes, shared_lane, job);
    }
}

/* ---- memory, and who does what ---- */

/* Fewer multiplications than are worth a second thread. */
static bool is_serial(const hm_correlation *job, double links)
{
    return links * (double)job->rows * (double)job->units < SERIAL;
}

/*
 * Into how many windows each of few units goes for the threads, if there are pixels enough: every
 * window reads all weights again, and copies what its taps reach beyond its own pixels.
 */
static int64_t windows_for_threads(const hm_correlation *job, int64_t threads, int64_t runs)
{
    enum { RUNS = 60, MANY_RUNS = 192 }; /* of a window; of one of twice as many */
    if (threads == 1 || job->units >= 2 * threads)
        return 1;
    const int64_t wanted = hm_ceiling(threads, job->units);
    if (runs >= 2 * wanted * MANY_RUNS)
        return 2 * wanted;
    return runs >= wanted * RUNS ? wanted : 1;
}

/* Rows, of which there are `rows`, whose windows stay in L2; each row is so many doubles. */
static int64_t rows_for_cache(int64_t rows, int64_t row, int64_t beyond)
{
    enum { LEAST = 3 }; /* times what a window copies beyond its rows */
    const int64_t room = limits_here().window / hm_most(1, row) - beyond;
    return hm_least(rows, hm_most(hm_most(room, LEAST * beyond), 1));
}

/* Whole vectors, if rows go on in the next. */
static int64_t even_rows(const hm_correlation *job, int64_t rows, int64_t results)
{
    int64_t lanes = job->kernels->conv->lanes;
    for (; results % 2 == 0 && lanes > 1; results /= 2)
        lanes /= 2;
    return hm_round_up(rows, lanes);
}

bool hm_correlate_window(hm_context *ctx, hm_correlation *job, const int64_t count[HM_CONV_AXES],
                         int64_t links)
{
    job->windows = 1;
    if (!hm_padded_measure(&job->padded, job->channels))
        return false;
    int a = 0;
    while (a < HM_CONV_AXES - 1 && count[a] == 1)
        a++;
    job->window_axis = a;
    job->window_rows = count[a];
    if (job->padded.in_place)
        return true;

    int64_t inner = 1, results = 1; /* of one row: doubles of a channel, and results */
    for (int i = a + 1; i < HM_CONV_AXES; i++) {
        inner *= job->padded.axis[i].extent;
        results *= count[i];
    }
    for (int i = 0; i < HM_CONV_AXES; i++)
        inner *= job->padded.axis[i].phases;
    hm_padded_axis *axis = &job->padded.axis[a];
    const int64_t beyond = axis->extent - count[a] + (job->grid_count > 1);
    const double all = (double)links * (double)results * (double)count[a];
    const int64_t threads = is_serial(job, all) ? 1 : hm_context_threads(ctx);
    const int64_t runs = hm_ceiling(results, job->kernels->conv->lanes) * count[a];
    const int64_t for_threads = windows_for_threads(job, threads, runs);
    const int64_t near = rows_for_cache(count[a], job->channels * inner, beyond);
    const int64_t windows = hm_round_up(hm_ceiling(count[a], near), for_threads);
    const int64_t rows = hm_ceiling(count[a], windows);
    job->window_rows = hm_least(count[a], windows > 1 ? even_rows(job, rows, results) : rows);
    job->windows = hm_ceiling(count[a], job->window_rows);
    if (job->windows == 1)
        return true;
    axis->extent = beyond + job->window_rows;
    const bool room = hm_padded_measure(&job->padded, job->channels);
    job->padded.in_place = false;
    return room;
}

/*
 * Doubles behind a copy that idle lanes read: the last run may read a vector beyond the last pixel, and a run
 * that does not fold, in a tile where others do, as far again as the next row is away.
 */
static int64_t behind_copy(const hm_correlation *job)
{
    bool folds = false;
    for (int64_t g = 0; g < job->grid_count; g++)
        folds |= job->grids[g].folded;
    return job->kernels->conv->lanes + (folds ? job->padded.axis[2].extent : 0);
}

static void cut(hm_correlation *job, int64_t threads)
{
    const int64_t height = job->kernels->contract->tile_rows,
                  slivers = hm_ceiling(job->rows, height);
    int64_t depth = 1, runs = 0;
    double links = 0;
    for (int64_t g = 0; g < job->grid_count; g++) {
        depth = hm_most(depth, job->grids[g].depth);
        runs = hm_most(runs, job->grids[g].runs);
        links +=
            (double)job->grids[g].depth * (double)job->grids[g].runs * job->kernels->conv->lanes;
    }
    if (is_serial(job, links))
        threads = 1;
    job->lanes = threads;
    job->bands = 1;
    const limits limit = limits_here();
    job->links = limit.links;
    job->panel_most = limit.panel;
    job->slivers_a_panel = hm_most(1, limit.panel / (depth * height));
    job->shared = threads > 1 && job->units < 2 * threads && job->windows == 1;
    if (job->shared) {
        /* Panels first: they share the window of the source. Then bands, for chunks enough. */
        const int64_t wanted = 2 * threads;
        job->slivers_a_panel = hm_least(job->slivers_a_panel, hm_most(1, slivers / wanted));
        const int64_t items = hm_ceiling(slivers, job->slivers_a_panel) * job->grid_count;
        if (items < wanted)
            job->bands = hm_most(1, hm_least(hm_ceiling(wanted, items), runs / 6));
    } else {
        job->lanes = hm_least(threads, job->units * job->windows);
    }
    job->panels = hm_ceiling(slivers, job->slivers_a_panel);
    job->slivers_a_panel = hm_ceiling(slivers, job->panels);
    job->panels = hm_ceiling(slivers, job->slivers_a_panel);
    /* A source that is read more than once: in bands of what stays in L2 meanwhile. */
    const int64_t source = job->channels * job->padded.channel;
    if (!job->shared && job->panels * job->grid_count > 1)
        job->bands = hm_most(1, hm_least(source / limit.window, runs / FEW_RUNS));
    job->packed_group = 0;
    for (int64_t g = 0; g < job->grid_count && job->rows > FEW_ROWS; g++) {
        job->grids[g].packed = job->packed_group;
        if (job->grids[g].depth * height <= limit.panel)
            job->packed_group += job->panels * job->slivers_a_panel * height * job->grids[g].depth;
    }
    /* More than one image, window or band wants them. */
    job->packs_once =
        job->packed_group > 0 && job->units / job->groups * job->windows * job->bands > 1;
    job->panel_doubles = job->packs_once ? 0 : job->slivers_a_panel * height * depth;
    job->shared_copy = 0;
    job->scratch_lane =
        BAND * (int64_t)(sizeof(hm_conv_run) / sizeof(double)) + job->panel_doubles + LANE_GAP;
    if (!job->padded.in_place) {
        const int64_t copy = job->channels * job->padded.channel + behind_copy(job);
        *(job->shared ? &job->shared_copy : &job->scratch_lane) +=
            hm_ceiling(copy, LANE_GAP) * LANE_GAP;
    }
}

hm_status hm_correlate(hm_context *ctx, hm_correlation *job, bool *finite)
{
    /* In place, no vector may hang over the end of its row: the last row's would leave the memory.
     */
    for (int64_t g = 0; g < job->grid_count; g++)
        job->padded.in_place &= job->grids[g].axis[2].count >= job->kernels->conv->lanes;
    for (int64_t g = 0; g < job->grid_count; g++)
        choose_runs(job, &job->grids[g]);
    for (int64_t g = 0; g < job->grid_count; g++)
        job->grids[g].all_runs = job->grids[g].runs;
    cut(job, hm_context_threads(ctx));
    const int64_t doubles = job->shared_copy + job->lanes * job->scratch_lane;
    job->scratch = job->packed = NULL;
    hm_status st = hm_scratch_create(ctx, (size_t)doubles, sizeof(double), &job->scratch);
    if (st == HMATH_OK && job->packs_once)
        st = hm_scratch_create(ctx, (size_t)(job->groups * job->packed_group), sizeof(double),
                               &job->packed);
    if (st != HMATH_OK)
        goto done;
    if (job->packs_once)
        hm_parallel_for(ctx, job->groups * job->grid_count * job->panels, pack_chunk, job);
    /* What lies behind a copy is read by idle lanes only; as zeros, no sanitizer asks about it. */
    const int64_t copies = job->padded.in_place ? 0 : job->shared ? 1 : job->lanes;
    for (int64_t i = 0; i < copies; i++) {
        double *end = workplace_of(job, i).copy + job->channels * job->padded.channel;
        for (int64_t l = 0; l < behind_copy(job); l++)
            end[l] = 0.0;
    }
    if (job->shared)
        run_shared(ctx, job);
    else
        hm_parallel_for(ctx, job->lanes, private_lane, job);
    *finite = !atomic_load(&job->infinite);
done:
    hm_scratch_release(ctx, job->packed);
    hm_scratch_release(ctx, job->scratch);
    return st;
}
