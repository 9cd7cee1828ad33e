/* Convolution tiles: the right operand is gathered by a table of offsets, results go where they
 * belong. */
#include "kernels/conv.h"

#include "kernels/contract.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"
#include "kernels/per_isa/tile.h"
#include "kernels/per_isa/transpose.h"

extern const hm_conv_kernels HM_K(conv);

/* ---- forward and input gradient ---- */

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

/* ---- one channel, 3 x 3 ---- */

enum { STRIP_VECTORS = TILE_ROWS == 8 ? 4 : 1 };

/* Columns from top to bottom: where the next source row and result row lie, and the chains. */
typedef struct strip_job {
    vec weight[9], bias, poison;
    vec oldest[STRIP_VECTORS], middle[STRIP_VECTORS];
    int64_t x[STRIP_VECTORS]; /* the last vector goes back over pixels of the one before */
    const double *source;
    double *out;
} strip_job;

/*
 * Each source row is read once for the three result rows it belongs to, whose chains stand at different
 * ky: the oldest ends with it, the youngest begins. The first and the last rows belong to fewer.
 */
MATH_INLINE void strip_row(strip_job *s, const hm_conv_plane *p, const int vectors, const bool ends,
                           const bool goes_on, const bool begins)
{
    UNROLL (j, 0, vectors) {
        vec youngest = vec_of(0.0);
        UNROLL (k, 0, 3) {
            const vec v = vec_load(s->source + s->x[j] + k * p->tap);
            if (ends)
                s->oldest[j] = vec_fma(s->weight[6 + k], v, s->oldest[j]);
            if (goes_on)
                s->middle[j] = vec_fma(s->weight[3 + k], v, s->middle[j]);
            if (begins)
                youngest = vec_fma(s->weight[k], v, youngest);
        }
        if (ends) {
            const vec result = s->oldest[j] + s->bias + vec_of(0.0);
            s->poison = vec_taint(s->poison, result);
            vec_store(s->out + s->x[j], result);
        }
        s->oldest[j] = s->middle[j];
        s->middle[j] = youngest;
    }
    s->source += p->source_row;
    if (ends)
        s->out += p->out_row;
}

MATH_INLINE bool strip(const hm_conv_plane *plane, const int64_t first, const int vectors)
{
    const hm_conv_plane p = *plane; /* which results cannot overwrite */
    strip_job s = {.source = p.source, .out = p.out, .poison = vec_of(0.0)};
    s.bias = p.bias ? vec_broadcast(p.bias) : vec_of(0.0);
    UNROLL (k, 0, 9) {
        s.weight[k] = vec_broadcast(p.weights + k);
    }
    UNROLL (j, 0, vectors) {
        s.x[j] = (first + j) * VEC_WIDTH;
        s.x[j] = s.x[j] + VEC_WIDTH <= p.width ? s.x[j] : p.width - VEC_WIDTH;
        s.middle[j] = vec_of(0.0);
    }
    strip_row(&s, &p, vectors, false, false, true);
    strip_row(&s, &p, vectors, false, true, true);
    const double *next = p.next + first * VEC_WIDTH * p.rows;
    for (int64_t y = 1; y < p.rows - 1; y++, next += vectors * VEC_WIDTH) {
        UNROLL (j, 0, vectors) {
            __builtin_prefetch(next + j * VEC_WIDTH, 1);
        }
        strip_row(&s, &p, vectors, true, true, true);
    }
    if (p.rows > 1)
        strip_row(&s, &p, vectors, true, true, false);
    strip_row(&s, &p, vectors, true, false, false);
    return !vec_is_tainted(s.poison);
}

#define STRIP(vectors) \
    static \
        __attribute__((noinline)) bool strip_of_##vectors(const hm_conv_plane *p, int64_t first) \
    { \
        return strip(p, first, vectors); \
    }

STRIP(1)
#if defined(__AVX512F__) || defined(__aarch64__)
STRIP(2)
STRIP(3)
STRIP(4)
#endif

/* As wide as registers allow: a narrow strip waits for its own chains. */
static bool plane(const hm_conv_plane *p)
{
    static bool (*const strips[STRIP_VECTORS])(const hm_conv_plane *, int64_t) = {
        strip_of_1,
#if defined(__AVX512F__) || defined(__aarch64__)
        strip_of_2,
        strip_of_3,
        strip_of_4,
#endif
    };
    const int64_t vectors = (p->width + VEC_WIDTH - 1) / VEC_WIDTH;
    bool finite = true;
    for (int64_t j = 0; j < vectors; j += STRIP_VECTORS) {
        const int64_t wide = vectors - j < STRIP_VECTORS ? vectors - j : STRIP_VECTORS;
        finite &= strips[wide - 1](p, j);
    }
    return finite;
}

/* ---- gradient of the weights ---- */

/*
 * A tile is the higher the narrower it is, up to so many rows for one, two and three vectors: a chain
 * waits four cycles for each link, and two multiply-adds begin in a cycle.
 */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { ROWS_BY_1 = 8, ROWS_BY_2 = 8, ROWS_BY_3 = 8, MOST_ROWS = 8 };
#else
enum { ROWS_BY_1 = 9, ROWS_BY_2 = 6, ROWS_BY_3 = 4, MOST_ROWS = 9 };
#endif

/* Where a panel is more than L1 holds: fetched so many links ahead. A tile of one vector waits for its
 * chains, not for memory. */
enum { RIGHT_AHEAD = TILE_ROWS == 8 ? 12 * TILE_COLUMNS : 0 };

typedef struct weights_job {
    const hm_conv_weights_block *block;
    const int64_t *row_offset;
    const double *right;
    double *out;
    int64_t columns;
} weights_job;

/* The first of a vector's width from `at` on; the last one goes back over some of the one before. */
VEC_INLINE int64_t whole_from(int64_t at, int64_t end)
{
    return at + VEC_WIDTH <= end ? at : end - VEC_WIDTH;
}

/* A tile's rows, `lane`, from where its result lies turned, column after column; +0 beyond its columns.
 */
static __attribute__((noinline)) void load_turned(const weights_job *job, int64_t rows,
                                                  double lane[MOST_ROWS][TILE_COLUMNS])
{
    const int64_t step = job->block->out_column, columns = job->columns;
    if (columns % VEC_WIDTH)
        for (int64_t i = 0; i < rows; i++)
            vec_store(lane[i] + columns / VEC_WIDTH * VEC_WIDTH, vec_of(0.0));
    if (rows < VEC_WIDTH || columns < VEC_WIDTH) {
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++)
                lane[i][j] = job->out[j * step + i];
        return;
    }
    for (int64_t i = 0; i < rows; i += VEC_WIDTH)
        for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
            const int64_t row = whole_from(i, rows), column = whole_from(j, columns);
            vec turned[VEC_WIDTH];
            transpose_load(job->out + column * step + row, step, turned);
            for (int l = 0; l < VEC_WIDTH; l++)
                vec_store(lane[row + l] + column, turned[l]);
        }
}

static __attribute__((noinline)) void store_turned(const weights_job *job, int64_t rows,
                                                   double lane[MOST_ROWS][TILE_COLUMNS])
{
    const int64_t step = job->block->out_column, columns = job->columns;
    if (rows < VEC_WIDTH || columns < VEC_WIDTH) {
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++)
                job->out[j * step + i] = lane[i][j];
        return;
    }
    for (int64_t i = 0; i < rows; i += VEC_WIDTH)
        for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
            const int64_t row = whole_from(i, rows), column = whole_from(j, columns);
            vec turned[VEC_WIDTH];
            transpose_load(lane[row] + column, TILE_COLUMNS, turned);
            for (int l = 0; l < VEC_WIDTH; l++)
                vec_store(job->out + (column + l) * step + row, turned[l]);
        }
}

MATH_INLINE bool weights_tile(const weights_job *job, const int rows, const int vectors)
{
    const hm_conv_weights_block *const b = job->block;
    double lane[MOST_ROWS][TILE_COLUMNS];
    vec acc[MOST_ROWS][TILE_VECTORS];
    if (b->first) {
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                acc[i][j] = vec_of(0.0);
            }
        }
    } else {
        load_turned(job, rows, lane);
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                acc[i][j] = vec_load(lane[i] + j * VEC_WIDTH);
            }
        }
    }
    const double *source[MOST_ROWS];
    UNROLL (i, 0, rows) {
        source[i] = b->source + job->row_offset[i];
    }
    const double *right = job->right;
    for (int64_t k = 0; k < b->depth; k++) {
        const int64_t offset = b->offset[k];
        vec x[TILE_VECTORS];
        UNROLL (j, 0, vectors) {
            x[j] = vec_load(right + j * VEC_WIDTH);
            if (vectors > 1 && RIGHT_AHEAD > 0)
                __builtin_prefetch(right + RIGHT_AHEAD + j * VEC_WIDTH);
        }
        UNROLL (i, 0, rows) {
            const vec a = vec_broadcast(source[i] + offset);
            UNROLL (j, 0, vectors) {
                acc[i][j] = vec_fma(a, x[j], acc[i][j]);
            }
        }
        right += TILE_COLUMNS;
    }
    vec poison[TILE_VECTORS];
    UNROLL (j, 0, vectors) {
        poison[j] = vec_of(0.0);
    }
    if (b->last)
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                acc[i][j] += vec_of(0.0);
                poison[j] = vec_taint(poison[j], acc[i][j]);
            }
        }
    UNROLL (i, 0, rows) {
        UNROLL (j, 0, vectors) {
            vec_store(lane[i] + j * VEC_WIDTH, acc[i][j]);
        }
    }
    store_turned(job, rows, lane);
    /* The last vector's lanes beyond the columns are no results. */
    const size_t lanes = (size_t)(job->columns - (vectors - 1) * VEC_WIDTH);
    vec spoilt = vec_keep(first_lanes(lanes), poison[vectors - 1]);
    UNROLL (j, 0, vectors - 1) {
        spoilt += poison[j];
    }
    return !vec_is_tainted(spoilt);
}

typedef bool weights_function(const weights_job *job);

#define WEIGHTS_TILE(rows, vectors) \
    static __attribute__((noinline)) bool weights_##rows##_##vectors(const weights_job *job) \
    { \
        return weights_tile(job, rows, vectors); \
    }
#define WEIGHTS_TILES(rows) WEIGHTS_TILE(rows, 1) WEIGHTS_TILE(rows, 2) WEIGHTS_TILE(rows, 3)

WEIGHTS_TILES(1)
WEIGHTS_TILES(2)
WEIGHTS_TILES(3)
WEIGHTS_TILES(4)
WEIGHTS_TILE(5, 1)
WEIGHTS_TILE(5, 2)
WEIGHTS_TILE(6, 1)
WEIGHTS_TILE(6, 2)
WEIGHTS_TILE(7, 1)
WEIGHTS_TILE(8, 1)
#if defined(__AVX512F__) || defined(__aarch64__)
WEIGHTS_TILE(5, 3)
WEIGHTS_TILE(6, 3)
WEIGHTS_TILE(7, 2)
WEIGHTS_TILE(7, 3)
WEIGHTS_TILE(8, 2)
WEIGHTS_TILE(8, 3)
#else
WEIGHTS_TILE(9, 1)
#endif

/* [vectors - 1][rows - 1] */
static weights_function *const weights_tiles[TILE_VECTORS][MOST_ROWS] = {
#if defined(__AVX512F__) || defined(__aarch64__)
    {weights_1_1, weights_2_1, weights_3_1, weights_4_1, weights_5_1, weights_6_1, weights_7_1,
     weights_8_1},
    {weights_1_2, weights_2_2, weights_3_2, weights_4_2, weights_5_2, weights_6_2, weights_7_2,
     weights_8_2},
    {weights_1_3, weights_2_3, weights_3_3, weights_4_3, weights_5_3, weights_6_3, weights_7_3,
     weights_8_3},
#else
    {weights_1_1, weights_2_1, weights_3_1, weights_4_1, weights_5_1, weights_6_1, weights_7_1,
     weights_8_1, weights_9_1},
    {weights_1_2, weights_2_2, weights_3_2, weights_4_2, weights_5_2, weights_6_2},
    {weights_1_3, weights_2_3, weights_3_3, weights_4_3},
#endif
};

/* A tile's share, one of `parts`, in fetching what is packed next. */
static void fetch_next(const hm_conv_weights_block *b, int64_t part, int64_t parts)
{
    for (int64_t r = b->next_rows * part / parts; r < b->next_rows * (part + 1) / parts; r++)
        for (int64_t i = 0; i < b->next_count; i += LINE)
            __builtin_prefetch(b->next + r * b->next_row + i, 0, 2);
}

/* One sliver of the rows of a panel of columns j ... */
static bool weights_sliver(const hm_conv_weights_block *b, int64_t j, int64_t slivers, int64_t s)
{
    const int64_t i = hm_contract_sliver(b->rows, slivers, s);
    const int64_t rows = hm_contract_sliver(b->rows, slivers, s + 1) - i;
    const int64_t columns = b->columns - j < TILE_COLUMNS ? b->columns - j : TILE_COLUMNS;
    const weights_job job = {.block = b,
                             .row_offset = b->row_offset + i,
                             .right = b->right + j / TILE_COLUMNS * b->right_panel,
                             .out = b->out + j * b->out_column + i,
                             .columns = columns};
    return weights_tiles[(columns - 1) / VEC_WIDTH][rows - 1](&job);
}

/*
 * Panel by panel where L1 holds one, else sliver by sliver, whose sources it holds.
 */
static bool weights(const hm_conv_weights_block *b)
{
    static const int most_rows[TILE_VECTORS] = {ROWS_BY_1, ROWS_BY_2, ROWS_BY_3};
    bool finite = true;
    if (TILE_ROWS < 8) {
        for (int64_t j = 0; j < b->columns; j += TILE_COLUMNS) {
            const int64_t vectors = (b->columns - j + VEC_WIDTH - 1) / VEC_WIDTH;
            const int height = most_rows[(vectors < TILE_VECTORS ? vectors : TILE_VECTORS) - 1];
            const int64_t slivers = (b->rows + height - 1) / height;
            for (int64_t s = 0; s < slivers; s++) {
                if (j == 0)
                    fetch_next(b, s, slivers);
                finite &= weights_sliver(b, j, slivers, s);
            }
        }
    } else {
        const int64_t slivers = (b->rows + TILE_ROWS - 1) / TILE_ROWS;
        for (int64_t s = 0; s < slivers; s++)
            for (int64_t j = 0; j < b->columns; j += TILE_COLUMNS)
                finite &= weights_sliver(b, j, slivers, s);
    }
    return finite;
}

const hm_conv_kernels HM_K(conv) = {
    .lanes = VEC_WIDTH,
#ifdef FOLDS
    .folds = true,
#endif
    .block = block,
    .plane = plane,
    .weights = weights,
};
