/*
 * Work is cut into (unit, grid, band of pixels, panel of weights). With many units a thread takes
 * whole ones, each into a copy of its own; with few, some bands of one, and copies what these read;
 * with few and small ones, all threads work on one. Chains are never cut, so that the cut is free to
 * follow the machine.
 */
#include "tensor/correlate.h"

#include "runtime/pool.h"
#include "tensor/extent.h"

enum {
    BAND = 768,            /* runs of pixels whose table a thread holds at a time */
    PANEL = 32768,         /* doubles of packed weights that share L2 with a window of the source */
    WINDOW = 65536,        /* doubles of the source beside them */
    FEW_RUNS = 48,         /* results of an image for which weights are read in place, unpacked */
    FEW_ROWS = 3,          /* the kernels' wide tiles want them unpacked too */
    SERIAL = 48 * 48 * 48, /* fewer multiplications than this stay on the caller's thread */
    LANE_GAP = 8,          /* a line between what threads write */
    LINE = 8,              /* doubles of a cache line */
};

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

static void make_runs(const hm_correlation *job, const hm_grid *g, int64_t begin, int64_t end,
                      hm_conv_run *run)
{
    for (int64_t i = begin; i < end; i++, run++)
        if (g->folded)
            folded_run(job, g, i, run);
        else if (g->flat)
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
    int64_t band;
    bool filled; /* the copy has been another unit's */
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
    return g->runs >= hm_ceiling(FEW_RUNS, images) && rows > FEW_ROWS &&
           g->depth * job->kernels->contract->tile_rows <= PANEL;
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

static void multiply(hm_correlation *job, workplace *lane, int64_t unit, const hm_grid *g,
                     int64_t band, int64_t panel)
{
    const int64_t height = job->kernels->contract->tile_rows;
    const panel_rows in_panel = rows_of(job, panel);
    const int64_t row = in_panel.begin, rows = in_panel.count;
    const int64_t first = band_begin(job, g, band), last = band_begin(job, g, band + 1);
    const int64_t group = unit % job->groups;
    const double *weights = job->weights + group * job->weight_group + row * job->weight_row;

    hm_conv_block b = {
        .rows = rows,
        .depth = g->depth,
        .source = job->padded.in_place ? job->source + unit * job->channels * job->source_plane
                                       : lane->copy,
        .offset = g->offset,
        .run = lane->run,
        .step = g->axis[2].step,
        .jump = g->jump,
        .gap = job->padded.axis[2].extent - g->axis[2].count,
        .out = job->out + (unit * job->rows + row) * job->result_plane,
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
    bool finite = true;
    for (int64_t begin = first; begin < last; begin += BAND) {
        b.runs = hm_least(BAND, last - begin);
        if (lane->band_grid != g || lane->band != begin || last - first > BAND) {
            make_runs(job, g, begin, begin + b.runs, lane->run);
            lane->band_grid = g;
            lane->band = begin;
        }
        finite &= job->kernels->conv->block(&b);
    }
    if (!finite)
        atomic_store_explicit(&job->infinite, true, memory_order_relaxed);
}

static void copy_channel(const hm_correlation *job, int64_t unit, int64_t channel, bool fresh,
                         double *copy)
{
    hm_padded_copy(&job->padded, job->kernels->arrange, fresh,
                   job->source + (unit * job->channels + channel) * job->source_plane,
                   copy + channel * job->padded.channel);
}

/* A unit of one channel and a 3 x 3 kernel, from the top, or in the adjoint, from the bottom. */
static void multiply_plane(hm_correlation *job, const double *copy, int64_t unit)
{
    const hm_grid_axis *y = &job->grids->axis[1], *x = &job->grids->axis[2];
    const int64_t width = job->padded.axis[2].extent, direction = job->plane_direction;
    const int64_t first = direction > 0 ? 0 : y->count - 1, group = unit % job->groups;
    const double *source = job->padded.in_place ? job->source + unit * job->source_plane : copy;
    for (int64_t row = 0; row < job->rows; row++) {
        const hm_conv_plane plane = {
            .rows = y->count,
            .width = x->count,
            .source = source + (y->source + first) * width + x->source + job->grids->offset[0],
            .source_row = direction * width,
            .tap = direction,
            .weights = job->weights + group * job->weight_group + row * job->weight_row,
            .bias = job->bias ? job->bias + group * job->rows + row : NULL,
            .out = job->out + (unit * job->rows + row) * job->result_plane + first * x->count,
            .out_row = direction * x->count,
        };
        if (!job->kernels->conv->plane(&plane))
            atomic_store_explicit(&job->infinite, true, memory_order_relaxed);
    }
}

/* ---- what a lane does by itself: units one by one, or cuts of them, each into its own copy ---- */

/* Pixels of the padded source that the bands of a cut read. */
static void cut_window(const hm_correlation *job, int64_t cut, int64_t *begin, int64_t *end)
{
    const int64_t inner = job->bands / job->cuts;
    *begin = job->padded.plane;
    *end = 0;
    for (int64_t i = 0; i < job->grid_count; i++) {
        const hm_grid *g = &job->grids[i];
        const int64_t first = band_begin(job, g, cut * inner);
        const int64_t last = band_begin(job, g, (cut + 1) * inner);
        if (first == last || g->depth == 0)
            continue;
        const int64_t gap = g->folded ? job->padded.axis[2].extent - g->axis[2].count : 0;
        hm_conv_run run[2];
        make_runs(job, g, first, first + 1, &run[0]);
        make_runs(job, g, last - 1, last, &run[1]);
        for (int64_t k = 0; k < g->depth / job->channels; k++) { /* the first channel's links */
            const int64_t pixel =
                g->offset[k] < 0 ? g->offset[k] : g->offset[k] % job->padded.plane;
            *begin = hm_least(*begin, run[0].source + pixel);
            *end = hm_most(*end, run[1].source + job->kernels->conv->lanes + gap + pixel);
        }
    }
    *end = hm_least(*end, job->padded.plane); /* idle lanes may look at what lies behind */
    *begin = hm_least(*begin, *end);
}

static void copy_unit(const hm_correlation *job, workplace *lane, int64_t unit, int64_t cut)
{
    if (job->padded.in_place)
        return;
    int64_t begin = 0, end = 0;
    if (job->cuts > 1)
        cut_window(job, cut, &begin, &end);
    for (int64_t c = 0; c < job->channels; c++)
        if (job->cuts == 1)
            copy_channel(job, unit, c, !lane->filled, lane->copy);
        else
            hm_padded_copy_window(&job->padded, job->kernels->arrange, begin, end,
                                  job->source + (unit * job->channels + c) * job->source_plane,
                                  lane->copy + c * job->padded.channel);
    lane->filled = true;
}

static void private_lane(void *task, int64_t index)
{
    hm_correlation *job = task;
    workplace lane = workplace_of(job, index);
    const int64_t items = job->units * job->cuts, inner = job->bands / job->cuts;
    const int64_t grain = hm_most(1, items / (16 * job->lanes));
    int64_t item;
    while ((item = grain * atomic_fetch_add(&job->next, 1)) < items)
        for (const int64_t end = hm_least(item + grain, items); item < end; item++) {
            const int64_t unit = item / job->cuts, cut = item % job->cuts;
            copy_unit(job, &lane, unit, cut);
            if (job->plane_direction && job->cuts == 1) {
                multiply_plane(job, lane.copy, unit);
                continue;
            }
            for (int64_t band = cut * inner; band < (cut + 1) * inner; band++)
                for (int64_t g = 0; g < job->grid_count; g++)
                    for (int64_t panel = 0; panel < job->panels; panel++)
                        multiply(job, &lane, unit, &job->grids[g], band, panel);
        }
}

/* ---- few small units: all lanes work on one, over bands of pixels and panels of weights ---- */

static void copy_chunk(void *task, int64_t channel)
{
    hm_correlation *job = task;
    copy_channel(job, job->unit, channel, job->unit == 0, job->scratch);
}

static void shared_lane(void *task, int64_t index)
{
    hm_correlation *job = task;
    workplace lane = workplace_of(job, index);
    const int64_t items = job->grid_count * job->bands * job->panels;
    int64_t item;
    while ((item = atomic_fetch_add(&job->next, 1)) < items)
        multiply(job, &lane, job->unit, &job->grids[item / (job->bands * job->panels)],
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

/*
 * Into how many cuts each of few units goes, if there are pixels enough: every cut reads all weights
 * again, and copies what its taps reach beyond its own pixels.
 */
static int64_t cuts_of(const hm_correlation *job, int64_t threads, int64_t runs)
{
    enum { RUNS = 60, MANY_RUNS = 192 }; /* of a cut; of one of twice as many cuts */
    if (threads == 1 || job->units >= 2 * threads || job->padded.in_place)
        return 1;
    const int64_t wanted = hm_ceiling(threads, job->units);
    if (runs >= 2 * wanted * MANY_RUNS)
        return 2 * wanted;
    return runs >= wanted * RUNS ? wanted : 1;
}

static void cut(hm_correlation *job, int64_t threads)
{
    const int64_t height = job->kernels->contract->tile_rows,
                  slivers = hm_ceiling(job->rows, height);
    int64_t depth = 1, runs = 0;
    double work = 0;
    for (int64_t g = 0; g < job->grid_count; g++) {
        depth = hm_most(depth, job->grids[g].depth);
        runs = hm_most(runs, job->grids[g].runs);
        work +=
            (double)job->grids[g].depth * (double)job->grids[g].runs * job->kernels->conv->lanes;
    }
    if (work * (double)job->rows * (double)job->units < SERIAL)
        threads = 1;
    job->lanes = threads;
    job->bands = 1;
    job->slivers_a_panel = hm_most(1, PANEL / (depth * height));
    job->cuts = cuts_of(job, threads, runs);
    job->shared = threads > 1 && job->units < 2 * threads && job->cuts == 1;
    if (job->shared) {
        /* Panels first: they share the window of the source. Then bands, for chunks enough. */
        const int64_t wanted = 2 * threads;
        job->slivers_a_panel = hm_least(job->slivers_a_panel, hm_most(1, slivers / wanted));
        const int64_t items = hm_ceiling(slivers, job->slivers_a_panel) * job->grid_count;
        if (items < wanted)
            job->bands = hm_most(1, hm_least(hm_ceiling(wanted, items), runs / 6));
    } else {
        job->lanes = hm_least(threads, job->units * job->cuts);
    }
    job->panels = hm_ceiling(slivers, job->slivers_a_panel);
    job->slivers_a_panel = hm_ceiling(slivers, job->panels);
    job->panels = hm_ceiling(slivers, job->slivers_a_panel);
    /* A source that is read more than once: in bands of what stays in L2 meanwhile. */
    const int64_t source = job->channels * job->padded.channel;
    if (!job->shared && job->panels * job->grid_count > 1)
        job->bands = hm_most(1, hm_least(source / WINDOW, runs / FEW_RUNS));
    job->bands = hm_round_up(job->bands, job->cuts);
    job->packed_group = 0;
    for (int64_t g = 0; g < job->grid_count && job->rows > FEW_ROWS; g++) {
        job->grids[g].packed = job->packed_group;
        if (job->grids[g].depth * height <= PANEL)
            job->packed_group += job->panels * job->slivers_a_panel * height * job->grids[g].depth;
    }
    /* More than one image or band wants them. */
    job->packs_once = job->packed_group > 0 && job->units / job->groups * job->bands > 1;
    job->panel_doubles = job->packs_once ? 0 : job->slivers_a_panel * height * depth;
    job->shared_copy = 0;
    job->scratch_lane =
        BAND * (int64_t)(sizeof(hm_conv_run) / sizeof(double)) + job->panel_doubles + LANE_GAP;
    if (!job->padded.in_place) {
        /* The last run may read a vector beyond the last pixel. */
        const int64_t copy = job->channels * job->padded.channel + job->kernels->conv->lanes;
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
        for (int64_t l = 0; l < job->kernels->conv->lanes; l++)
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
