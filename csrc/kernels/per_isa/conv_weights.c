/* Gradients of a convolution's weights by tiles: chains over pixels, results turned as they lie. */
#include "kernels/conv.h"
#include "kernels/contract.h"
#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/lanes.h"
#include "kernels/per_isa/tile.h"
#include "kernels/per_isa/transpose.h"

bool HM_K(conv_weights)(const hm_conv_weights_block *b);

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
bool HM_K(conv_weights)(const hm_conv_weights_block *b)
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
