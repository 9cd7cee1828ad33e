/*
 * The kernels do the rows whose sums are in a comfortable range, which are all of them in ordinary
 * life. A row that is not goes the slow way: the same formula over the row times a power of two,
 * while variance, epsilon and what they make keep exponents of their own (tensor/wide.h).
 */
#include "tensor/normalize.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/pool.h"

enum { CHUNK_ELEMENTS = 32768, LONG_ROW = 1 << 17 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* 2^exponent as two factors, each of them a double; multiplied with one after the other. */
typedef struct power {
    double half, rest;
} power;

static power power_of(int exponent)
{
    return (power){ldexp(1.0, exponent / 2), ldexp(1.0, exponent - exponent / 2)};
}

static double moved(double x, int shift)
{
    const power p = power_of(shift);
    return x * p.half * p.rest;
}

static hm_wide times_power_of_two(hm_wide a, int64_t exponent)
{
    return hm_wide_normal(a.value, a.exponent + exponent);
}

static hm_wide inverse_root(hm_wide square)
{
    return hm_wide_divide(hm_wide_of(1.0), hm_wide_root(square));
}

hm_wide hm_inverse_deviation(const hm_spread *s, double epsilon)
{
    const hm_wide variance = hm_wide_normal(s->squares / (double)s->count, -2 * (int64_t)s->shift);
    return inverse_root(hm_wide_add(variance, hm_wide_of(epsilon)));
}

/* ---- rows ---- */

typedef struct rows_task {
    const hm_context *ctx;
    const hm_kernels *kernels;
    const double *x;
    int64_t rows, n, rows_per_chunk;
    double epsilon;
    double *out;
    bool centred; /* layer norm; else RMS norm */
    bool aside;   /* results go past the caches */
    atomic_bool spoiled;
} rows_task;

/* Sums of a row times 2^shift, on the context's threads where it is given. */
static hm_spread row_spread(const rows_task *t, const hm_context *ctx, const double *x, int shift)
{
    hm_spread s = {.count = t->n, .shift = shift};
    if (t->centred) {
        const hm_moments m = hm_moments_shifted(ctx, t->kernels, x, t->n, shift);
        s.mean = m.mean;
        s.squares = m.squares;
    } else {
        s.squares = hm_square_sum_shifted(ctx, t->kernels, x, t->n, shift);
    }
    return s;
}

/*
 * Of a row that is not to be squared as it stands. Without a mean its elements need not move, and the
 * small ones beside a large one keep all their bits. Powers of two that enlarge come before the one
 * product that rounds, those that diminish after it.
 */
static void careful_row(const rows_task *t, const double *x, const hm_spread *s, double *out)
{
    const int shift = t->centred ? s->shift : 0;
    const hm_wide by = times_power_of_two(hm_inverse_deviation(s, t->epsilon), -shift);
    const power near = power_of(shift), up = power_of(by.exponent > 0 ? (int)by.exponent : 0),
                down = power_of(by.exponent < 0 ? (int)by.exponent : 0);
    for (int64_t i = 0; i < t->n; i++) {
        const double deviation = x[i] * near.half * near.rest - s->mean;
        out[i] = deviation * up.half * up.rest * by.value * down.half * down.rest;
    }
}

/* One row of any length and magnitude; false where it is not finite. */
static bool any_row(const rows_task *t, const hm_context *ctx, const double *x, double *out)
{
    hm_spread s = row_spread(t, ctx, x, 0);
    if (!hm_row_is_comfortable(s.squares, t->centred ? s.mean : 1.0, t->epsilon)) {
        const double magnitude = t->kernels->reduce->largest_magnitude(x, t->n);
        if (isnan(magnitude))
            return false;
        if (magnitude != 0) {
            s = row_spread(t, ctx, x, -ilogb(magnitude));
            careful_row(t, x, &s, out);
            return true;
        }
    }
    const double by = 1.0 / sqrt(s.squares / (double)t->n + t->epsilon);
    t->kernels->norm->standardize(x, t->n, s.mean, by, t->aside, out);
    return true;
}

static void rows_chunk(void *task, int64_t chunk)
{
    rows_task *t = task;
    const hm_norm_kernels *k = t->kernels->norm;
    int64_t row = chunk * t->rows_per_chunk;
    const int64_t end = least(t->rows, row + t->rows_per_chunk);
    while (row < end) {
        if (t->n <= HM_BLOCK)
            row += (t->centred ? k->layer_rows : k->rms_rows)(
                t->x + row * t->n, end - row, t->n, t->epsilon, t->aside, t->out + row * t->n);
        if (row < end) {
            if (!any_row(t, NULL, t->x + row * t->n, t->out + row * t->n))
                atomic_store(&t->spoiled, true);
            row++;
        }
    }
    k->settle();
}

static bool run_rows(rows_task *t)
{
    t->kernels = hm_context_kernels(t->ctx);
    t->aside = t->rows * t->n >= HM_LASTING;
    if (t->rows < 8 && t->n >= LONG_ROW) {
        for (int64_t row = 0; row < t->rows; row++)
            if (!any_row(t, t->ctx, t->x + row * t->n, t->out + row * t->n))
                return false;
        t->kernels->norm->settle();
        return true;
    }
    if (t->rows == 0)
        return true;
    t->rows_per_chunk = CHUNK_ELEMENTS / t->n + 1;
    hm_parallel_for(t->ctx, (t->rows - 1) / t->rows_per_chunk + 1, rows_chunk, t);
    return !atomic_load(&t->spoiled);
}

bool hm_layer_rows(const hm_context *ctx, const double *x, int64_t rows, int64_t n, double epsilon,
                   double *out)
{
    rows_task task = {
        .ctx = ctx, .x = x, .rows = rows, .n = n, .epsilon = epsilon, .out = out, .centred = true};
    return run_rows(&task);
}

bool hm_rms_rows(const hm_context *ctx, const double *x, int64_t rows, int64_t n, double epsilon,
                 double *out)
{
    rows_task task = {.ctx = ctx, .x = x, .rows = rows, .n = n, .epsilon = epsilon, .out = out};
    return run_rows(&task);
}

/* ---- channels: their elements stand in `batch` segments of `spatial` each ---- */

typedef struct channel_job {
    const hm_kernels *kernels;
    const double *x; /* the channel's first element */
    int64_t channels, spatial;
    int shift;
} channel_job;

/* Segments lie far apart, and the processor's own prefetching begins anew in each. */
static void fetch(const double *segment, int64_t n)
{
    enum { LINE = 8, MOST = 1024 };
    for (int64_t i = 0; i < least(n, MOST); i += LINE)
        __builtin_prefetch(segment + i);
}

/* Elements first ... first+n-1 of the channel, gathered unless they lie in one segment. */
static const double *channel_block(const channel_job *j, int64_t first, int64_t n,
                                   double room[HM_BLOCK])
{
    const int64_t stride = j->channels * j->spatial;
    int64_t segment = first / j->spatial, offset = first % j->spatial;
    if (j->shift == 0 && offset + n <= j->spatial)
        return j->x + segment * stride + offset;
    for (int64_t done = 0; done < n; segment++, offset = 0) {
        const int64_t take = least(n - done, j->spatial - offset);
        if (done + take < n)
            fetch(j->x + (segment + 1) * stride, least(n - done - take, j->spatial));
        memcpy(room + done, j->x + segment * stride + offset, (size_t)take * sizeof *room);
        done += take;
    }
    for (int64_t i = 0; j->shift != 0 && i < n; i++)
        room[i] = moved(room[i], j->shift);
    return room;
}

static void channel_moments(const void *job, int64_t first, int64_t n, hm_partial *out)
{
    const channel_job *j = job;
    double room[HM_BLOCK];
    const hm_moments m = j->kernels->reduce->moments(channel_block(j, first, n, room), n);
    *out = (hm_partial){{m.mean, m.squares, (double)n}};
}

static const hm_reduction channel_reduction = {channel_moments, hm_join_moments};

static double channel_magnitude(const channel_job *j, int64_t count)
{
    double most = 0, room[HM_BLOCK];
    for (int64_t first = 0; first < count; first += HM_BLOCK) {
        const int64_t n = least(count - first, HM_BLOCK);
        const double here =
            j->kernels->reduce->largest_magnitude(channel_block(j, first, n, room), n);
        most = here > most || isnan(here) ? here : most;
        if (isnan(most))
            break;
    }
    return most;
}

static hm_spread channel_spread(channel_job job, int64_t count)
{
    hm_partial total;
    hm_reduce_here(&channel_reduction, &job, count, &total);
    if (!(total.of[1] <= HM_COMFORTABLE_MOST && total.of[1] >= HM_COMFORTABLE_LEAST)) {
        const double magnitude = channel_magnitude(&job, count);
        if (magnitude != 0 && !isnan(magnitude) && abs(ilogb(magnitude)) > 300) {
            job.shift = -ilogb(magnitude);
            hm_reduce_here(&channel_reduction, &job, count, &total);
        }
    }
    return (hm_spread){total.of[0], total.of[1], count, job.shift};
}

typedef struct channels_task {
    const hm_kernels *kernels;
    const double *x;
    int64_t batch, channels, spatial, channels_per_chunk;
    hm_spread *spreads;
} channels_task;

static void spreads_chunk(void *task, int64_t chunk)
{
    const channels_task *t = task;
    int64_t c = chunk * t->channels_per_chunk;
    const int64_t end = least(t->channels, c + t->channels_per_chunk);
    hm_moments columns[64];
    if (t->spatial == 1 && t->batch <= HM_BLOCK) /* channels are columns: several at a time */
        t->kernels->reduce->column_moments(t->x + c, t->batch, t->channels, end - c, columns);
    for (int64_t first = c; c < end; c++) {
        const channel_job job = {t->kernels, t->x + c * t->spatial, t->channels, t->spatial, 0};
        if (t->spatial == 1 && t->batch <= HM_BLOCK) {
            const hm_moments *m = &columns[c - first];
            t->spreads[c] = (hm_spread){m->mean, m->squares, t->batch, 0};
            if (m->squares <= HM_COMFORTABLE_MOST && m->squares >= HM_COMFORTABLE_LEAST)
                continue;
        }
        t->spreads[c] = channel_spread(job, t->batch * t->spatial);
    }
}

static channels_task spreads_task(const hm_context *ctx, const double *x, int64_t batch,
                                  int64_t channels, int64_t spatial, hm_spread *out)
{
    return (channels_task){.kernels = hm_context_kernels(ctx),
                           .x = x,
                           .batch = batch,
                           .channels = channels,
                           .spatial = spatial,
                           .channels_per_chunk = least(64, CHUNK_ELEMENTS / (batch * spatial) + 1),
                           .spreads = out};
}

void hm_channel_spreads(const hm_context *ctx, const double *x, int64_t batch, int64_t channels,
                        int64_t spatial, hm_spread *out)
{
    if (channels == 0)
        return;
    channels_task task = spreads_task(ctx, x, batch, channels, spatial, out);
    hm_parallel_for(ctx, (channels - 1) / task.channels_per_chunk + 1, spreads_chunk, &task);
}

double hm_spread_mean(const hm_spread *s) { return ldexp(s->mean, -s->shift); }

double hm_spread_variance(const hm_spread *s, double divisor)
{
    return hm_wide_round(hm_wide_normal(s->squares / divisor, -2 * (int64_t)s->shift));
}

hm_standard hm_standard_of_spread(const hm_spread *s, double epsilon)
{
    return (hm_standard){s->mean, times_power_of_two(hm_inverse_deviation(s, epsilon), -s->shift),
                         s->shift};
}

hm_standard hm_standard_of(double mean, double variance, double epsilon)
{
    return (hm_standard){mean, inverse_root(hm_wide_add(hm_wide_of(variance), hm_wide_of(epsilon))),
                         0};
}

/* ---- what the statistics are for ---- */

enum { PANEL = 64 };

typedef struct affine_task {
    const hm_kernels *kernels;
    const double *x;
    int64_t batch, channels, spatial, panels, per_chunk;
    const hm_standard *standard;
    const double *gamma, *beta;
    double *out;
    bool aside; /* results go past the caches */
    atomic_bool spoiled;
} affine_task;

/*
 * May the kernels have the channel, in plain doubles? What overflows there they notice, and what
 * underflows before it is multiplied by a gamma of at most 2^64 is less than 2^-1010 of the result.
 */
static bool is_plain(const hm_standard *s, double gamma)
{
    return s->shift == 0 && s->by.exponent > -500 && s->by.exponent < 500 && fabs(gamma) <= 0x1p64;
}

/* (x*2^shift - mean) * by * gamma + beta with the kernels' roundings, wherever its parts may lie. */
static double careful_element(affine_task *t, double x, int64_t channel)
{
    const hm_standard *s = &t->standard[channel];
    const double here = moved(x, s->shift), difference = here - s->mean;
    const hm_wide deviation =
        isinf(difference) ? hm_wide_normal(0.5 * here - 0.5 * s->mean, 1) : hm_wide_of(difference);
    const hm_wide y = hm_wide_fused(hm_wide_multiply(deviation, s->by),
                                    hm_wide_of(t->gamma[channel]), hm_wide_of(t->beta[channel]));
    const double rounded = isfinite(x) ? hm_wide_round(y) : NAN;
    if (!isfinite(rounded))
        atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
    return rounded;
}

/* Segments: channel c of batch element i is contiguous. */
static void affine_segment(affine_task *t, int64_t unit)
{
    const int64_t c = unit % t->channels, n = t->spatial;
    const double *x = t->x + unit * n;
    double *out = t->out + unit * n;
    const hm_standard *s = &t->standard[c];
    if (is_plain(s, t->gamma[c]) &&
        t->kernels->norm->affine(x, n, s->mean, hm_wide_round(s->by), t->gamma[c], t->beta[c],
                                 t->aside, out))
        return;
    for (int64_t i = 0; i < n; i++)
        out[i] = careful_element(t, x[i], c);
}

static void segments_chunk(void *task, int64_t chunk)
{
    affine_task *t = task;
    const int64_t end = least(t->batch * t->channels, (chunk + 1) * t->per_chunk);
    for (int64_t unit = chunk * t->per_chunk; unit < end; unit++)
        affine_segment(t, unit);
    t->kernels->norm->settle();
}

/* Without spatial axes channels are columns: rows of the batch, a panel of channels at a time. */
static void affine_panel(affine_task *t, int64_t row, int64_t rows, int64_t first, int64_t columns)
{
    const double *x = t->x + row * t->channels + first;
    double *out = t->out + row * t->channels + first;
    const double *gamma = t->gamma + first, *beta = t->beta + first;
    double mean[PANEL], by[PANEL];
    bool plain = true;
    for (int64_t j = 0; j < columns; j++) {
        const hm_standard *s = &t->standard[first + j];
        mean[j] = s->mean;
        by[j] = hm_wide_round(s->by);
        plain = plain && is_plain(s, gamma[j]);
    }
    if (plain &&
        t->kernels->norm->affine_columns(x, rows, t->channels, columns, mean, by, gamma, beta, out))
        return;
    for (int64_t i = 0; i < rows; i++, x += t->channels, out += t->channels)
        for (int64_t j = 0; j < columns; j++)
            out[j] = careful_element(t, x[j], first + j);
}

static void columns_chunk(void *task, int64_t chunk)
{
    affine_task *t = task;
    const int64_t row = chunk / t->panels * t->per_chunk, first = chunk % t->panels * PANEL;
    affine_panel(t, row, least(t->per_chunk, t->batch - row), first,
                 least(PANEL, t->channels - first));
}

static affine_task channels_affine(const hm_context *ctx, const double *x, int64_t batch,
                                   int64_t channels, int64_t spatial, const hm_standard *standard,
                                   const double *gamma, const double *beta, double *out)
{
    return (affine_task){.kernels = hm_context_kernels(ctx),
                         .x = x,
                         .batch = batch,
                         .channels = channels,
                         .spatial = spatial,
                         .standard = standard,
                         .gamma = gamma,
                         .beta = beta,
                         .out = out,
                         .aside = batch * channels * spatial >= HM_LASTING};
}

bool hm_channel_affine(const hm_context *ctx, const double *x, int64_t batch, int64_t channels,
                       int64_t spatial, const hm_standard *standard, const double *gamma,
                       const double *beta, double *out)
{
    if (batch == 0 || channels == 0 || spatial == 0)
        return true;
    affine_task task =
        channels_affine(ctx, x, batch, channels, spatial, standard, gamma, beta, out);
    if (spatial > 1) {
        task.per_chunk = CHUNK_ELEMENTS / spatial + 1;
        hm_parallel_for(ctx, (batch * channels - 1) / task.per_chunk + 1, segments_chunk, &task);
    } else {
        task.panels = (channels - 1) / PANEL + 1;
        task.per_chunk = CHUNK_ELEMENTS / least(channels, PANEL) + 1;
        hm_parallel_for(ctx, ((batch - 1) / task.per_chunk + 1) * task.panels, columns_chunk,
                        &task);
    }
    return !atomic_load(&task.spoiled);
}

/* ---- the two together ---- */

typedef struct batch_task {
    channels_task statistics;
    affine_task result;
    hm_standard *standard;
    double epsilon;
} batch_task;

/* False where a spread is not finite, and then there is no standard. */
static bool standards_of(const hm_spread *spreads, int64_t first, int64_t end, double epsilon,
                         hm_standard *standard)
{
    for (int64_t c = first; c < end; c++) {
        if (!isfinite(spreads[c].squares) || !isfinite(spreads[c].mean))
            return false;
        standard[c] = hm_standard_of_spread(&spreads[c], epsilon);
    }
    return true;
}

static void batch_chunk(void *task, int64_t chunk)
{
    batch_task *t = task;
    const channels_task *s = &t->statistics;
    const int64_t first = chunk * s->channels_per_chunk,
                  end = least(s->channels, first + s->channels_per_chunk);
    spreads_chunk(&t->statistics, chunk);
    if (!standards_of(s->spreads, first, end, t->epsilon, t->standard)) {
        atomic_store_explicit(&t->result.spoiled, true, memory_order_relaxed);
        return;
    }
    for (int64_t i = 0; i < s->batch; i++)
        for (int64_t c = first; c < end; c++)
            affine_segment(&t->result, i * s->channels + c);
    s->kernels->norm->settle();
}

/*
 * Channels of at most CHUNK_ELEMENTS are still in the second cache when their results are written, and
 * are read from afar once (32 x 64 x 28 x 28, 2 MB of second cache: 1.90 to 1.30 ms).
 */
bool hm_channel_norm(const hm_context *ctx, const double *x, int64_t batch, int64_t channels,
                     int64_t spatial, double epsilon, const double *gamma, const double *beta,
                     hm_spread *spreads, hm_standard *standard, double *out)
{
    if (channels == 0)
        return true;
    if (spatial == 1 || batch * spatial > CHUNK_ELEMENTS) {
        hm_channel_spreads(ctx, x, batch, channels, spatial, spreads);
        return standards_of(spreads, 0, channels, epsilon, standard) &&
               hm_channel_affine(ctx, x, batch, channels, spatial, standard, gamma, beta, out);
    }
    batch_task task = {.statistics = spreads_task(ctx, x, batch, channels, spatial, spreads),
                       .standard = standard,
                       .epsilon = epsilon};
    task.result = channels_affine(ctx, x, batch, channels, spatial, standard, gamma, beta, out);
    hm_parallel_for(ctx, (channels - 1) / task.statistics.channels_per_chunk + 1, batch_chunk,
                    &task);
    return !atomic_load(&task.result.spoiled);
}
