/* Convolution tiles: the right operand is gathered by a table of offsets, results go where they
 * belong. */
#include "kernels/conv.h"

#include "kernels/contract.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/tile.h"
#include "kernels/per_isa/transpose.h"

extern const hm_conv_kernels HM_K(conv);

/* ---- forward and input gradient ---- */

#ifdef __AVX512F__ /* a load with a mask leaves the other lanes as they are */
#define FOLDS
#endif

enum { MOST_VECTORS = 8, ALL_LANES = (1 << VEC_WIDTH) - 1 };

typedef struct conv_job {
    const hm_conv_block *block;
    const double *left;
    const hm_conv_run *run;
    double *out;
    const double *bias;
} conv_job;

/* Some lanes, or results apart: by way of memory. Returns x with +0 in the lanes that are no
 * results. */
static __attribute__((noinline)) vec scatter(double *out, const hm_conv_block *b,
                                             const hm_conv_run *run, vec x)
{
    const uint64_t results = run->results;
    if (b->step == 2 && results == ALL_LANES && run->fold == 0) {
        vec_store_apart(out, x);
        return x;
    }
    double lane[VEC_WIDTH];
    vec_store(lane, x);
    for (int l = 0; l < VEC_WIDTH; l++)
        if (results >> l & 1) {
            if (l > 0 && l == run->fold)
                out += b->jump;
            *out = lane[l];
            out += b->step;
        } else {
            lane[l] = 0.0;
            if (l > 0 && results >> (l - 1) & 1)
                out += b->jump;
        }
    return vec_load(lane);
}

/* The lanes of a run that lie in the next row. */
MATH_INLINE vec_mask next_row(const hm_conv_run *run)
{
    double lane[VEC_WIDTH];
    for (int l = 0; l < VEC_WIDTH; l++)
        lane[l] = run->fold && l >= run->fold;
    return vec_not_equal(vec_load(lane), vec_of(0.0));
}

MATH_INLINE vec load_folded(const double *source, vec_mask next, int64_t gap)
{
    const vec x = vec_load(source);
#ifdef FOLDS
    return vec_load_over(x, next, source + gap);
#else
    (void)next, (void)gap;
    return x;
#endif
}

MATH_INLINE bool conv_tile(const conv_job *job, const int rows, const int vectors,
                           const bool packed, const bool folded)
{
    const hm_conv_block *const b = job->block;
    vec acc[TILE_ROWS][MOST_VECTORS];
    const double *source[MOST_VECTORS];
    /* Results go to `rows` planes, all out of L2: fetch their lines while the chains run. */
    UNROLL (i, 0, rows) {
        UNROLL (j, 0, vectors) {
            acc[i][j] = vec_of(0.0);
            __builtin_prefetch(job->out + i * b->out_row + job->run[j].destination, 1);
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
        left[i] = job->left + 3 * i * left_row;
    }
    for (int64_t k = 0; k < b->depth; k++) {
        const int64_t offset = b->offset[k];
        vec x[MOST_VECTORS];
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
    vec poison = vec_of(0.0); /* 0 * x is NaN for infinities and NaN, and stays it */
    UNROLL (i, 0, rows) {
        UNROLL (j, 0, vectors) {
            vec x = acc[i][j];
            if (job->bias)
                x += vec_broadcast(job->bias + i);
            x += vec_of(0.0);
            double *to = job->out + i * b->out_row + job->run[j].destination;
            if (b->step == 1 && job->run[j].results == ALL_LANES && (!folded || b->jump == 0))
                vec_store(to, x);
            else
                x = scatter(to, b, &job->run[j], x);
            poison = vec_fma(x, vec_of(0.0), poison);
        }
    }
    return !vec_mask_any(vec_is_nan(poison));
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

static bool block(const hm_conv_block *b)
{
    const int64_t slivers = (b->rows + TILE_ROWS - 1) / TILE_ROWS;
    const bool packed = b->left_panel > 0;
    static const struct {
        int64_t vectors;
        conv_function *tile;
    } wide[] = {{8, conv_wide_1}, {4, conv_wide_2}, {WIDE_3, conv_wide_3}};
    const bool widens = !packed && b->rows <= 3;
    conv_job job = {.block = b};
    bool finite = true;
    for (int64_t r = 0; r < b->runs;) {
        const int64_t left_over = b->runs - r;
        job.run = b->run + r;
        if (widens && left_over >= wide[b->rows - 1].vectors) {
            job.left = b->left;
            job.out = b->out;
            job.bias = b->bias;
            finite &= wide[b->rows - 1].tile(&job);
            r += wide[b->rows - 1].vectors;
            continue;
        }
        const int64_t vectors = left_over < TILE_VECTORS ? left_over : TILE_VECTORS;
        for (int64_t s = 0; s < slivers; s++) {
            const int64_t i = hm_contract_sliver(b->rows, slivers, s);
            const int64_t rows = hm_contract_sliver(b->rows, slivers, s + 1) - i;
            job.left = packed ? b->left + s * b->left_panel : b->left + i * b->left_row;
            job.out = b->out + i * b->out_row;
            job.bias = b->bias ? b->bias + i : NULL;
            finite &= choose_tile(job.run, rows, vectors, packed)(&job);
        }
        r += vectors;
    }
    return finite;
}

/* ---- one channel, 3 x 3 ---- */

enum { STRIP_VECTORS = TILE_ROWS == 8 ? 4 : 1 };

/*
 * A strip of columns from top to bottom. Each source row is read once for the three result rows it
 * belongs to, whose chains stand at different ky: the oldest ends with it, the youngest begins.
 */
MATH_INLINE bool strip(const hm_conv_plane *p, const int64_t x, const int vectors)
{
    vec weight[9], oldest[STRIP_VECTORS], middle[STRIP_VECTORS], poison = vec_of(0.0);
    UNROLL (k, 0, 9) {
        weight[k] = vec_broadcast(p->weights + k);
    }
    UNROLL (j, 0, vectors) {
        oldest[j] = middle[j] = vec_of(0.0);
    }
    const vec bias = p->bias ? vec_broadcast(p->bias) : vec_of(0.0);
    const double *source = p->source + x;
    double *out = p->out + x - 2 * p->out_row; /* the chains of rows -2 and -1 end unseen */
    for (int64_t y = 0; y < p->rows + 2; y++, source += p->source_row, out += p->out_row)
        UNROLL (j, 0, vectors) {
            vec youngest = vec_of(0.0);
            UNROLL (k, 0, 3) {
                const vec v = vec_load(source + j * VEC_WIDTH + k * p->tap);
                oldest[j] = vec_fma(weight[6 + k], v, oldest[j]);
                middle[j] = vec_fma(weight[3 + k], v, middle[j]);
                youngest = vec_fma(weight[k], v, youngest);
            }
            if (y >= 2) {
                const vec result = oldest[j] + bias + vec_of(0.0);
                poison = vec_fma(result, vec_of(0.0), poison);
                vec_store(out + j * VEC_WIDTH, result);
            }
            oldest[j] = middle[j];
            middle[j] = youngest;
        }
    return !vec_mask_any(vec_is_nan(poison));
}

static __attribute__((noinline)) bool wide_strip(const hm_conv_plane *p, int64_t x)
{
    return strip(p, x, STRIP_VECTORS);
}

static __attribute__((noinline)) bool narrow_strip(const hm_conv_plane *p, int64_t x)
{
    return strip(p, x, 1);
}

static bool plane(const hm_conv_plane *p)
{
    bool finite = true;
    int64_t x = 0;
    for (; x + STRIP_VECTORS * VEC_WIDTH <= p->width; x += STRIP_VECTORS * VEC_WIDTH)
        finite &= wide_strip(p, x);
    for (; x < p->width; x += VEC_WIDTH) /* the last one goes back over pixels already done */
        finite &= narrow_strip(p, x + VEC_WIDTH <= p->width ? x : p->width - VEC_WIDTH);
    return finite;
}

/* ---- gradient of the weights ---- */

typedef struct weights_job {
    const hm_conv_weights_block *block;
    const int64_t *row_offset;
    const double *right;
    double *out;
    int64_t columns;
} weights_job;

VEC_INLINE int64_t turned_columns(const weights_job *job, const int vectors)
{
    return job->columns < vectors * VEC_WIDTH ? job->columns : vectors * VEC_WIDTH;
}

/* Whole blocks turn in registers. */
VEC_INLINE bool turns_whole(const weights_job *job, const int rows, const int vectors)
{
    return rows % VEC_WIDTH == 0 && job->columns >= vectors * VEC_WIDTH;
}

/* The tile from and to where its result lies turned: column after column. */
VEC_INLINE void load_turned(vec acc[TILE_ROWS][TILE_VECTORS], const int rows, const int vectors,
                            const weights_job *job)
{
    const int64_t step = job->block->out_column;
    if (turns_whole(job, rows, vectors)) {
        UNROLL (j, 0, vectors) {
            UNROLL (i, 0, rows / VEC_WIDTH) {
                vec turned[VEC_WIDTH];
                transpose_load(job->out + j * VEC_WIDTH * step + i * VEC_WIDTH, step, turned);
                UNROLL (c, 0, VEC_WIDTH) {
                    acc[i * VEC_WIDTH + c][j] = turned[c];
                }
            }
        }
        return;
    }
    double lane[TILE_ROWS][TILE_COLUMNS] = {{0}};
    const int64_t columns = turned_columns(job, vectors);
    for (int64_t j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++)
            lane[i][j] = job->out[j * step + i];
    UNROLL (i, 0, rows) {
        UNROLL (j, 0, vectors) {
            acc[i][j] = vec_load(lane[i] + j * VEC_WIDTH);
        }
    }
}

VEC_INLINE void store_turned(vec acc[TILE_ROWS][TILE_VECTORS], const int rows, const int vectors,
                             const weights_job *job)
{
    const int64_t step = job->block->out_column;
    double lane[TILE_ROWS][TILE_COLUMNS];
    UNROLL (i, 0, rows) {
        UNROLL (j, 0, vectors) {
            vec_store(lane[i] + j * VEC_WIDTH, acc[i][j]);
        }
    }
    if (turns_whole(job, rows, vectors)) {
        UNROLL (j, 0, vectors) {
            UNROLL (i, 0, rows / VEC_WIDTH) {
                vec turned[VEC_WIDTH];
                transpose_load(lane[i * VEC_WIDTH] + j * VEC_WIDTH, TILE_COLUMNS, turned);
                UNROLL (c, 0, VEC_WIDTH) {
                    vec_store(job->out + (j * VEC_WIDTH + c) * step + i * VEC_WIDTH, turned[c]);
                }
            }
        }
        return;
    }
    const int64_t columns = turned_columns(job, vectors);
    for (int64_t j = 0; j < columns; j++)
        for (int i = 0; i < rows; i++)
            job->out[j * step + i] = lane[i][j];
}

MATH_INLINE bool weights_tile(const weights_job *job, const int rows, const int vectors)
{
    const hm_conv_weights_block *const b = job->block;
    vec acc[TILE_ROWS][TILE_VECTORS];
    if (b->first) {
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                acc[i][j] = vec_of(0.0);
            }
        }
    } else {
        load_turned(acc, rows, vectors, job);
    }
    const double *source[TILE_ROWS];
    UNROLL (i, 0, rows) {
        source[i] = b->source + job->row_offset[i];
    }
    const double *right = job->right;
    for (int64_t k = 0; k < b->depth; k++) {
        const int64_t offset = b->offset[k];
        vec x[TILE_VECTORS];
        UNROLL (j, 0, vectors) {
            x[j] = vec_load(right + j * VEC_WIDTH);
        }
        UNROLL (i, 0, rows) {
            const vec a = vec_broadcast(source[i] + offset);
            UNROLL (j, 0, vectors) {
                acc[i][j] = vec_fma(a, x[j], acc[i][j]);
            }
        }
        right += TILE_COLUMNS;
    }
    vec poison = vec_of(0.0);
    if (b->last)
        UNROLL (i, 0, rows) {
            UNROLL (j, 0, vectors) {
                acc[i][j] += vec_of(0.0);
                const int64_t lanes = job->columns - j * VEC_WIDTH;
                if (lanes >= VEC_WIDTH) {
                    poison = vec_fma(acc[i][j], vec_of(0.0), poison);
                } else { /* the packed panel is undefined beyond its columns */
                    double lane[VEC_WIDTH];
                    vec_store(lane, acc[i][j]);
                    poison = vec_fma(vec_load_partial(lane, (size_t)lanes), vec_of(0.0), poison);
                }
            }
        }
    store_turned(acc, rows, vectors, job);
    return !vec_mask_any(vec_is_nan(poison));
}

typedef bool weights_function(const weights_job *job);

#define WEIGHTS_TILE(rows, vectors) \
    static __attribute__((noinline)) bool weights_##rows##_##vectors(const weights_job *job) \
    { \
        return weights_tile(job, rows, vectors); \
    }
#define WEIGHTS_TILES(rows) WEIGHTS_TILE(rows, 1) WEIGHTS_TILE(rows, 2) WEIGHTS_TILE(rows, 3)
#define WEIGHTS_ROW(rows) \
    { \
        weights_##rows##_1, weights_##rows##_2, weights_##rows##_3 \
    }

WEIGHTS_TILES(1)
WEIGHTS_TILES(2)
WEIGHTS_TILES(3)
WEIGHTS_TILES(4)
#if defined(__AVX512F__) || defined(__aarch64__)
WEIGHTS_TILES(5)
WEIGHTS_TILES(6)
WEIGHTS_TILES(7)
WEIGHTS_TILES(8)
#endif

static weights_function *const weights_tiles[TILE_ROWS][TILE_VECTORS] = {
    WEIGHTS_ROW(1), WEIGHTS_ROW(2), WEIGHTS_ROW(3), WEIGHTS_ROW(4),
#if defined(__AVX512F__) || defined(__aarch64__)
    WEIGHTS_ROW(5), WEIGHTS_ROW(6), WEIGHTS_ROW(7), WEIGHTS_ROW(8),
#endif
};

static bool weights(const hm_conv_weights_block *b)
{
    const int64_t slivers = (b->rows + TILE_ROWS - 1) / TILE_ROWS;
    weights_job job = {.block = b};
    bool finite = true;
    for (int64_t s = 0; s < slivers; s++) {
        const int64_t i = hm_contract_sliver(b->rows, slivers, s);
        const int64_t rows = hm_contract_sliver(b->rows, slivers, s + 1) - i;
        job.row_offset = b->row_offset + i;
        for (int64_t j = 0; j < b->columns; j += TILE_COLUMNS) {
            job.columns = b->columns - j < TILE_COLUMNS ? b->columns - j : TILE_COLUMNS;
            job.right = b->right + j / TILE_COLUMNS * b->right_panel;
            job.out = b->out + j * b->out_column + i;
            finite &= weights_tiles[rows - 1][(job.columns - 1) / VEC_WIDTH](&job);
        }
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
