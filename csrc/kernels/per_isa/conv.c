/*
 * Convolutions and their input gradients by tiles: the right operand is gathered by a table of offsets, results go
 * where they belong. Planes of one channel are conv_plane.c's, gradients of weights conv_weights.c's.
 */
#include "kernels/conv.h"

#include "kernels/contract.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"
#include "kernels/per_isa/tile.h"

extern const hm_conv_kernels HM_K(conv);
bool HM_K(conv_plane)(const hm_conv_plane *plane);
bool HM_K(conv_weights)(const hm_conv_weights_block *block);

#if defined(__AVX512F__) || defined(__AVX2__) /* two loads become one vector in one operation */
#define FOLDS
#endif

enum { MOST_VECTORS = 8, ALL_LANES = (1 << VEC_WIDTH) - 1 };

typedef struct conv_job {
    const hm_conv_block *block;
    int64_t begin, end; /* links of the chains */
    const double *left;
    const hm_conv_run *run;
    int64_t step; /* from every result of a run to the next, 1 or 2; 0: it differs, or is more */
    double *out;
    const double *bias;
    vec *partial; /* a tile's chains, between its links and the next */
} conv_job;

#ifdef __AVX512F__

/* Lane l to out[l * step] for the bits of a piece. */
static void store_piece(double *out, int64_t step, unsigned piece, vec x)
{
    if (step == 1) {
        vec_store_over(out, vec_mask_of(piece), x);
    } else if (step == 2) {
        unsigned apart = (piece | piece << 4) & 0x0F0F;
        apart = (apart | apart << 2) & 0x3333;
        apart = (apart | apart << 1) & 0x5555;
        vec_store_over(out, vec_mask_of(apart & ALL_LANES), vec_zip_low(x, x));
        vec_store_over(out + VEC_WIDTH, vec_mask_of(apart >> VEC_WIDTH), vec_zip_high(x, x));
    } else {
        double lane[VEC_WIDTH];
        vec_store(lane, x);
        for (int l = 0; l < VEC_WIDTH; l++)
            if (piece >> l & 1)
                out[l * step] = lane[l];
    }
}

/* Some lanes, or results apart: a row's at a time. Returns x with +0 in the lanes that are no
 * results. */
static __attribute__((noinline)) vec scatter(double *out, const hm_conv_block *b,
                                             const hm_conv_run *run, vec x)
{
    for (unsigned left = (unsigned)run->results; left;) {
        const int first = __builtin_ctz(left);
        int end = first + __builtin_ctz(~(left >> first));
        if (first < run->fold && run->fold < end)
            end = (int)run->fold;
        const unsigned piece = left & ((1u << end) - 1);
        store_piece(out - first * b->step, b->step, piece, x);
        out += (end - first) * b->step + b->jump;
        left ^= piece;
    }
    return vec_keep(vec_mask_of((unsigned)run->results), x);
}

#else

/* Some lanes, or results apart: by way of memory. Returns x with +0 in the lanes that are no
 * results. */
static __attribute__((noinline)) vec scatter(double *out, const hm_conv_block *b,
                                             const hm_conv_run *run, vec x)
{
    const uint64_t results = run->results;
    double lane[VEC_WIDTH];
    vec_store(lane, x);
    for (int l = 0; l < VEC_WIDTH; l++) {
        if (results >> l & 1) {
            *out = lane[l];
            out += b->step;
        } else {
            lane[l] = 0.0;
            if (l > 0 && results >> (l - 1) & 1)
                out += b->jump;
        }
        if (l + 1 == run->fold)
            out += b->jump;
    }
    return vec_load(lane);
}

#endif

#ifdef FOLDS

/* The lanes of a run that lie in the next row. */
MATH_INLINE vec_mask next_row(const hm_conv_run *run)
{
    return vec_mask_of(run->fold ? ALL_LANES & ~((1u << run->fold) - 1) : 0);
}

MATH_INLINE vec load_folded(const double *source, vec_mask next, int64_t gap)
{
    return vec_load_over(vec_load(source), next, source + gap);
}

#else

MATH_INLINE vec_mask next_row(const hm_conv_run *run)
{
    (void)run;
    return vec_less(vec_of(0.0), vec_of(0.0));
}

MATH_INLINE vec load_folded(const double *source, vec_mask next, int64_t gap)
{
    (void)next, (void)gap;
    return vec_load(source);
}

#endif

/* What finish does where a tile's results lie in no simple way. */
static __attribute__((noinline)) bool finish_scattered(const conv_job *job, const vec *results,
                                                       int rows, int vectors)
{
    vec poison = vec_of(0.0);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++) {
            vec x = results[i * vectors + j];
            if (job->bias)
                x += vec_broadcast(job->bias + i);
            double *to = job->out + i * job->block->out_row + job->run[j].destination;
            x = scatter(to, job->block, &job->run[j], x + vec_of(0.0));
            poison = vec_fma(x, vec_of(0.0), poison);
        }
    return !vec_mask_any(vec_is_nan(poison));
}

/* Adds bias and +0 and puts the results where they belong; false where one is infinite or NaN. */
MATH_INLINE bool finish(const conv_job *job, vec acc[TILE_ROWS][MOST_VECTORS], const int rows,
                        const int vectors)
{
    static const double no_bias = 0.0; /* adding +0 twice is adding it once */
    if (job->step == 0) {
        vec results[TILE_ROWS * MOST_VECTORS];
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                results[i * vectors + j] = acc[i][j];
            }
        }
        return finish_scattered(job, results, rows, vectors);
    }
    /* Nothing is read from the job again, whose fields results might overwrite for all a compiler knows.
     */
    double *out = job->out;
    const double *bias = job->bias ? job->bias : &no_bias;
    const int64_t out_row = job->block->out_row, bias_step = job->bias ? 1 : 0;
    const bool apart = job->step == 2;
    int64_t at[MOST_VECTORS];
    vec poison[MOST_VECTORS]; /* 0 * x is NaN for infinities and NaN, and stays it */
    UNROLL (j, 0, vectors) {
        at[j] = job->run[j].destination;
        poison[j] = vec_of(0.0);
    }
    UNROLL (i, 0, rows) {
        const vec shift = vec_broadcast(bias);
        UNROLL (j, 0, vectors) {
            const vec x = acc[i][j] + shift + vec_of(0.0);
            if (apart)
                vec_store_apart(out + at[j], x);
            else
                vec_store(out + at[j], x);
            poison[j] = vec_fma(x, vec_of(0.0), poison[j]);
        }
        bias += bias_step;
        out += out_row;
    }
    UNROLL (j, 1, vectors) {
        poison[0] += poison[j];
    }
    return !vec_mask_any(vec_is_nan(poison[0]));
}

MATH_INLINE bool conv_tile(const conv_job *job, const int rows, const int vectors,
                           const bool packed, const bool folded)
{
    /* Weights come one after the other, a line or less a link: fetched so many links ahead. */
    enum { WEIGHTS_AHEAD = 16 * TILE_ROWS };
    const hm_conv_block *const b = job->block;
    vec acc[TILE_ROWS][MOST_VECTORS];
    const double *source[MOST_VECTORS];
    if (packed && job->begin > 0) {
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                acc[i][j] = job->partial[i * vectors + j];
            }
        }
    } else {
        /* Results go to `rows` planes, all out of L2: fetch their lines while the chains run. */
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                acc[i][j] = vec_of(0.0);
                __builtin_prefetch(job->out + i * b->out_row + job->run[j].destination, 1);
            }
        }
    }
    UNROLL (j, 0, vectors) {
        source[j] = b->source + job->run[j].source;
    }
    vec_mask next[MOST_VECTORS];
    if (folded)
        UNROLL (j, 0, vectors) {
            next[j] = next_row(&job->run[j]);
        }
    const int64_t left_row = packed ? 1 : b->left_row, gap = b->gap;
    const double *left[3];
    UNROLL (i, 0, (rows + 2) / 3) {
        left[i] = job->left + 3 * i * left_row + (packed ? job->begin * TILE_ROWS : 0);
    }
    for (int64_t k = job->begin; k < job->end; k++) {
        const int64_t offset = b->offset[k];
        vec x[MOST_VECTORS];
        if (packed)
            __builtin_prefetch(left[0] + WEIGHTS_AHEAD);
        else if (TILE_ROWS < 8) /* few rows are done too soon for lines to come by themselves */
            __builtin_prefetch(source[vectors - 1] + offset + vectors * VEC_WIDTH);
        UNROLL (j, 0, vectors) {
            x[j] = folded ? load_folded(source[j] + offset, next[j], gap)
                          : vec_load(source[j] + offset);
        }
        const int64_t from = packed ? 0 : b->left_offset[k];
        UNROLL (i, 0, rows) {
            const vec a = vec_broadcast(left[i / 3] + from + i % 3 * left_row);
            UNROLL (j, 0, vectors) {
                acc[i][j] = vec_fma(a, x[j], acc[i][j]);
            }
        }
        if (packed)
            UNROLL (i, 0, (rows + 2) / 3) {
                left[i] += TILE_ROWS;
            }
    }
    if (packed && job->end < b->depth) {
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                job->partial[i * vectors + j] = acc[i][j];
            }
        }
        return true;
    }
    return finish(job, acc, rows, vectors);
}

typedef bool conv_function(const conv_job *job);

#define CONV_TILE_OF(name, rows, vectors, packed, folded) \
    static __attribute__((noinline)) bool name(const conv_job *job) \
    { \
        return conv_tile(job, rows, vectors, packed, folded); \
    }
#define CONV_TILE(name, rows, vectors, packed) CONV_TILE_OF(name, rows, vectors, packed, false)

#define CONV_TILES(rows) \
    CONV_TILE(conv_placed_##rows##_1, rows, 1, false) \
    CONV_TILE(conv_placed_##rows##_2, rows, 2, false) \
    CONV_TILE(conv_placed_##rows##_3, rows, 3, false) \
    CONV_TILE(conv_packed_##rows##_1, rows, 1, true) \
    CONV_TILE(conv_packed_##rows##_2, rows, 2, true) \
    CONV_TILE(conv_packed_##rows##_3, rows, 3, true)

#define CONV_ROW(kind, rows) \
    { \
        conv_##kind##_##rows##_1, conv_##kind##_##rows##_2, conv_##kind##_##rows##_3 \
    }

/*
 * One to three rows, as in depthwise convolutions and for images of three colours: with three
 * accumulators a row, loads (two a vector that crosses a line) would take longer than arithmetic.
 */
enum { WIDE_3 = TILE_ROWS == 8 ? 6 : 3 };

CONV_TILE(conv_wide_1, 1, 8, false)
CONV_TILE(conv_wide_2, 2, 4, false)
CONV_TILE(conv_wide_3, 3, WIDE_3, false)
CONV_TILES(1)
CONV_TILES(2)
CONV_TILES(3)
CONV_TILES(4)
#if defined(__AVX512F__) || defined(__aarch64__)
CONV_TILES(5)
CONV_TILES(6)
CONV_TILES(7)
CONV_TILES(8)
#define CONV_ROWS(kind) \
    { \
        CONV_ROW(kind, 1), CONV_ROW(kind, 2), CONV_ROW(kind, 3), CONV_ROW(kind, 4), \
            CONV_ROW(kind, 5), CONV_ROW(kind, 6), CONV_ROW(kind, 7), CONV_ROW(kind, 8) \
    }
#else
#define CONV_ROWS(kind) \
    { \
        CONV_ROW(kind, 1), CONV_ROW(kind, 2), CONV_ROW(kind, 3), CONV_ROW(kind, 4) \
    }
#endif

/* [packed][rows - 1][vectors - 1] */
static conv_function *const conv_tiles[2][TILE_ROWS][TILE_VECTORS] = {CONV_ROWS(placed),
                                                                      CONV_ROWS(packed)};

#ifdef FOLDS
CONV_TILE_OF(conv_folded_placed_1, TILE_ROWS, 1, false, true)
CONV_TILE_OF(conv_folded_placed_2, TILE_ROWS, 2, false, true)
CONV_TILE_OF(conv_folded_placed_3, TILE_ROWS, 3, false, true)
CONV_TILE_OF(conv_folded_packed_1, TILE_ROWS, 1, true, true)
CONV_TILE_OF(conv_folded_packed_2, TILE_ROWS, 2, true, true)
CONV_TILE_OF(conv_folded_packed_3, TILE_ROWS, 3, true, true)
#endif

/* Tiles without a fold have less to load. */
static conv_function *choose_tile(const hm_conv_run *run, int64_t rows, int64_t vectors,
                                  bool packed)
{
#ifdef FOLDS
    static conv_function *const folded_tiles[2][TILE_VECTORS] = {
        {conv_folded_placed_1, conv_folded_placed_2, conv_folded_placed_3},
        {conv_folded_packed_1, conv_folded_packed_2, conv_folded_packed_3}};
    for (int64_t j = 0; j < vectors; j++)
        if (run[j].fold)
            return folded_tiles[packed][vectors - 1];
#else
    (void)run;
#endif
    return conv_tiles[packed][rows - 1][vectors - 1];
}

/* See conv_job. */
static int64_t step_of(const hm_conv_block *b, const hm_conv_run *run, int64_t runs)
{
    bool even = b->step <= 2;
    for (int64_t j = 0; j < runs; j++)
        even &= run[j].results == ALL_LANES && (run[j].fold == 0 || b->jump == 0);
    return even ? b->step : 0;
}

/* One to three rows of weights in place by many runs: how many of these are done. */
static int64_t wide_block(const hm_conv_block *b, conv_job *job, bool *finite)
{
    static const struct {
        int64_t vectors;
        conv_function *tile;
    } wide[] = {{8, conv_wide_1}, {4, conv_wide_2}, {WIDE_3, conv_wide_3}};
    int64_t r = 0;
    if (b->left_panel > 0 || b->rows > 3)
        return 0;
    const int64_t vectors = wide[b->rows - 1].vectors;
    job->left = b->left;
    job->out = b->out;
    job->bias = b->bias;
    for (; r + vectors <= b->runs; r += vectors) {
        job->run = b->run + r;
        job->step = step_of(b, job->run, vectors);
        *finite &= wide[b->rows - 1].tile(job);
    }
    return r;
}

enum { SLIVERS = 16 }; /* whose chains stay near between their links */

/* Links are cut where L1 would not hold what they read, for slivers enough that read the same. */
static int64_t cuts_of(const hm_conv_block *b, int64_t slivers)
{
    enum { ENOUGH = 4 };
    const bool cut = b->left_panel > 0 && b->links > 0 && slivers >= ENOUGH;
    return cut && b->depth > b->links ? (b->depth + b->links - 1) / b->links : 1;
}

/* A few runs by slivers `first` ... `last` - 1. */
static bool block_of_slivers(const hm_conv_block *b, conv_job *job, int64_t vectors, int64_t first,
                             int64_t last)
{
    const int64_t slivers = (b->rows + TILE_ROWS - 1) / TILE_ROWS;
    const bool packed = b->left_panel > 0;
    const int64_t cuts = cuts_of(b, last - first);
    vec partial[SLIVERS][TILE_ROWS * TILE_VECTORS];
    bool finite = true;
    for (int64_t cut = 0; cut < cuts; cut++) {
        job->begin = b->depth * cut / cuts;
        job->end = b->depth * (cut + 1) / cuts;
        for (int64_t s = first; s < last; s++) {
            const int64_t i = hm_contract_sliver(b->rows, slivers, s);
            const int64_t rows = hm_contract_sliver(b->rows, slivers, s + 1) - i;
            job->left = packed ? b->left + s * b->left_panel : b->left + i * b->left_row;
            job->out = b->out + i * b->out_row;
            job->bias = b->bias ? b->bias + i : NULL;
            job->partial = partial[s - first];
            finite &= choose_tile(job->run, rows, vectors, packed)(job);
        }
    }
    return finite;
}

static bool block(const hm_conv_block *b)
{
    const int64_t slivers = (b->rows + TILE_ROWS - 1) / TILE_ROWS;
    conv_job job = {.block = b, .end = b->depth};
    bool finite = true;
    for (int64_t r = wide_block(b, &job, &finite), vectors; r < b->runs; r += vectors) {
        vectors = b->runs - r < TILE_VECTORS ? b->runs - r : TILE_VECTORS;
        job.run = b->run + r;
        job.step = step_of(b, job.run, vectors);
        for (int64_t s = 0; s < slivers; s += SLIVERS)
            finite &= block_of_slivers(b, &job, vectors, s,
                                       s + SLIVERS < slivers ? s + SLIVERS : slivers);
    }
    return finite;
}

const hm_conv_kernels HM_K(conv) = {
    .lanes = VEC_WIDTH,
#ifdef FOLDS
    .folds = true,
#endif
    .block = block,
    .plane = HM_K(conv_plane),
    .weights = HM_K(conv_weights),
};
