/* Matrix products: loops over tiles, packing, and the product of few rows with a transposed matrix.
 */
#include "kernels/contract.h"

#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/tile.h"
#include "kernels/per_isa/transpose.h"

extern const hm_contract_kernels HM_K(contract);

/* ---- tiles: one function a height and width, so that each keeps its accumulators in registers
 * ---- */

typedef bool tile_function(const tile_job *job);

#define TILE(name, rows, vectors, packed, partial) \
    static __attribute__((noinline)) bool name(const tile_job *job) \
    { \
        return tile(job, rows, vectors, packed, partial, false); \
    }

#define PARTIAL_TILES(rows) \
    TILE(strided_##rows##_1, rows, 1, false, true) \
    TILE(strided_##rows##_2, rows, 2, false, true) \
    TILE(strided_##rows##_3, rows, 3, false, true) \
    TILE(packed_##rows##_1, rows, 1, true, true) \
    TILE(packed_##rows##_2, rows, 2, true, true) \
    TILE(packed_##rows##_3, rows, 3, true, true)

/* Whole tiles of their own where masks are not for nothing, as AVX-512 has them. */
#if defined(__AVX512F__)
#define TILES(rows) PARTIAL_TILES(rows)
#define ROW(kind, rows) \
    { \
        kind##_##rows##_1, kind##_##rows##_2, kind##_##rows##_3, kind##_##rows##_3 \
    }
#else
#define TILES(rows) \
    PARTIAL_TILES(rows) \
    TILE(strided_##rows##_whole, rows, 3, false, false) \
    TILE(packed_##rows##_whole, rows, 3, true, false)
#define ROW(kind, rows) \
    { \
        kind##_##rows##_1, kind##_##rows##_2, kind##_##rows##_3, kind##_##rows##_whole \
    }
#endif

TILES(1)
TILES(2)
TILES(3)
TILES(4)
#if defined(__AVX512F__) || defined(__aarch64__)
TILES(5)
TILES(6)
TILES(7)
TILES(8)
#define ROWS(kind) \
    { \
        ROW(kind, 1), ROW(kind, 2), ROW(kind, 3), ROW(kind, 4), ROW(kind, 5), ROW(kind, 6), \
            ROW(kind, 7), ROW(kind, 8) \
    }
#else
#define ROWS(kind) \
    { \
        ROW(kind, 1), ROW(kind, 2), ROW(kind, 3), ROW(kind, 4) \
    }
#endif

/* [packed][rows - 1][vectors - 1, or 3 for whole tiles] */
static tile_function *const tiles[2][TILE_ROWS][4] = {ROWS(strided), ROWS(packed)};

/* One or two rows alone: three accumulators a row would wait for each other, eight do not. */
static __attribute__((noinline)) bool wide_1(const tile_job *job)
{
    return tile(job, 1, 8, false, false, false);
}

static __attribute__((noinline)) bool wide_2(const tile_job *job)
{
    return tile(job, 2, 4, false, false, false);
}

/* The first rows of a block with a strip. */
#define KEEPING_TILE(vectors) \
    static __attribute__((noinline)) bool keeping_##vectors(const tile_job *job) \
    { \
        return tile(job, TILE_ROWS, vectors, false, true, true); \
    }
KEEPING_TILE(1)
KEEPING_TILE(2)
KEEPING_TILE(3)

static tile_function *const keeping_tiles[TILE_VECTORS] = {keeping_1, keeping_2, keeping_3};

/* ---- the block ---- */

/* The tile's share of what is needed after the block. */
static void fetch_ahead(tile_job *job, hm_contract_ahead *ahead)
{
    for (int r = 0; r < 3; r++)
        if (ahead->range[r].begin < ahead->range[r].end) {
            job->fetch = ahead->range[r].begin;
            job->fetch_step = ahead->step;
            job->fetch_row = ahead->step * job->depth;
            ahead->range[r].begin += 3 * job->fetch_row;
            return;
        }
}

/* Rows begin ... begin + rows - 1 of a panel are next. */
static void set_rows(tile_job *job, const hm_contract_block *b, int64_t column, int64_t begin)
{
    job->left = b->left + begin * b->left_row;
    job->out = b->out + begin * b->out_row + column;
    job->row_bias = b->row_bias ? b->row_bias + begin : NULL;
    job->fetch = TILE_IS_SMALL ? NULL : job->left; /* which is near */
    job->fetch_row = 0;
    job->fetch_step = 1;
    if (b->ahead)
        fetch_ahead(job, b->ahead);
}

/*
 * Sliver s of a panel's `slivers` fetches its share of what comes after it. Of a panel that lies in rows these
 * are three lines of each row, wherever lines begin, shared by three slivers if there are as many (products out
 * of L3 on Zen 3: 8 x 1024 x 1024 takes half the time, 128 x 128 x 128 a tenth less).
 */
static void set_fetch(tile_job *job, const hm_contract_block *b, const double *next_panel,
                      int64_t s, int64_t slivers)
{
    if (b->fetches_panels) {
        const bool shared = slivers >= 3;
        if (s < (shared ? 3 : 1)) {
            job->fetch = next_panel + s * LINE;
            job->fetch_row = shared ? 0 : LINE;
            job->fetch_step = b->right_step;
        }
    } else if (b->left_panel > 0 && TILE_IS_SMALL) {
        if (s * LINE < TILE_COLUMNS) {
            job->fetch = next_panel + s * LINE * b->depth;
            job->fetch_step = LINE;
        }
    } else if (b->left_panel > 0) {
        job->fetch = next_panel + s * TILE_COLUMNS * b->depth / slivers;
        job->fetch_step = LINE;
    } else if (b->fetch && 3 * s < TILE_COLUMNS) {
        job->fetch = b->fetch + 3 * s * b->fetch_row;
        job->fetch_row = b->fetch_row;
    }
}

/* Whole columns of the block, at most TILE_COLUMNS: slivers one below the other. */
static bool panel(const hm_contract_block *b, tile_job *job, int64_t column, int64_t columns)
{
    const bool packed = b->left_panel > 0;
    const int64_t vectors = (columns + VEC_WIDTH - 1) / VEC_WIDTH;
    const int64_t kept = b->strip && b->rows > TILE_ROWS ? TILE_ROWS : 0, rest = b->rows - kept;
    const int64_t slivers = (rest + TILE_ROWS - 1) / TILE_ROWS;
    const double *const next_panel = job->right + b->right_panel;
    const double *sliver = b->left;
    bool finite = true;
    job->lanes = (size_t)(columns - (vectors - 1) * VEC_WIDTH);
    if (kept) {
        set_rows(job, b, column, 0);
        job->strip = b->strip;
        finite = keeping_tiles[vectors - 1](job);
        job->right = b->strip;
        job->right_step = TILE_COLUMNS;
        sliver += b->left_panel;
    }
    for (int64_t s = 0; s < slivers; s++, sliver += b->left_panel) {
        const int64_t i = kept + hm_contract_sliver(rest, slivers, s);
        const int64_t rows = kept + hm_contract_sliver(rest, slivers, s + 1) - i;
        set_rows(job, b, column, i);
        set_fetch(job, b, next_panel, s, slivers);
        if (packed) {
            job->left = sliver;
            job->next_out =
                s + 1 < slivers ? job->out + rows * b->out_row : b->out + column + TILE_COLUMNS;
        }
        finite &= tiles[packed][rows - 1][columns == TILE_COLUMNS ? 3 : vectors - 1](job);
    }
    return finite;
}

static bool block(const hm_contract_block *b)
{
    tile_job job = {.depth = b->depth,
                    .left_row = b->left_row,
                    .left_step = b->left_step,
                    .out_row = b->out_row,
                    .first = b->first,
                    .last = b->last};
    const bool unpacked_right = b->right_panel == TILE_COLUMNS;
    const bool few_rows = b->rows <= 2 && unpacked_right && b->left_panel == 0;
    const int64_t wide = b->rows == 1 ? 8 * VEC_WIDTH : 4 * VEC_WIDTH;
    bool finite = true;
    for (int64_t j = 0; j < b->columns;) {
        const int64_t left_over = b->columns - j;
        int64_t columns = left_over < TILE_COLUMNS ? left_over : TILE_COLUMNS;
        job.right = b->right + j / TILE_COLUMNS * b->right_panel + j % TILE_COLUMNS;
        job.right_step = b->right_step;
        job.column_bias = b->column_bias ? b->column_bias + j : NULL;
        if (few_rows && left_over >= wide) {
            columns = wide;
            set_rows(&job, b, j, 0);
            set_fetch(&job, b, job.right + columns, 0, 1);
            finite &= b->rows == 1 ? wide_1(&job) : wide_2(&job);
        } else {
            if (unpacked_right)
                columns = hm_contract_panel(TILE_COLUMNS, left_over);
            finite &= panel(b, &job, j, columns);
        }
        j += columns;
    }
    return finite;
}

/* ---- packing ---- */

static void pack_left(int64_t rows, int64_t depth, const double *left, int64_t row, int64_t step,
                      double *out)
{
    const int64_t slivers = (rows + TILE_ROWS - 1) / TILE_ROWS;
    for (int64_t s = 0; s < slivers; s++) {
        const int64_t begin = hm_contract_sliver(rows, slivers, s);
        const int64_t height = hm_contract_sliver(rows, slivers, s + 1) - begin;
        const double *from = left + begin * row;
        double *to = out + s * depth * TILE_ROWS;
        int64_t k = 0;
        if (height == TILE_ROWS && row == 1)
            for (; k < depth; k++)
                for (int i = 0; i < TILE_ROWS; i += VEC_WIDTH)
                    vec_store(to + k * TILE_ROWS + i, vec_load(from + k * step + i));
        else if (height == TILE_ROWS && step == 1)
            for (; k + VEC_WIDTH <= depth; k += VEC_WIDTH)
                for (int i = 0; i < TILE_ROWS; i += VEC_WIDTH) {
                    vec turned[VEC_WIDTH];
                    transpose_load(from + i * row + k, row, turned);
                    for (int c = 0; c < VEC_WIDTH; c++)
                        vec_store(to + (k + c) * TILE_ROWS + i, turned[c]);
                }
        for (; k < depth; k++)
            for (int64_t i = 0; i < height; i++)
                to[k * TILE_ROWS + i] = from[i * row + k * step];
    }
}

/* Rows of the right operand lie in memory as the panels want them. */
static void pack_right_rows(int64_t depth, int64_t columns, const double *right, int64_t step,
                            double *out, int64_t panel)
{
    const int64_t whole = columns / TILE_COLUMNS, rest = columns % TILE_COLUMNS;
    for (int64_t k = 0; k < depth; k++) {
        const double *from = right + k * step;
        double *to = out + k * TILE_COLUMNS;
        for (int64_t p = 0; p < whole; p++, from += TILE_COLUMNS, to += panel)
            for (int j = 0; j < TILE_COLUMNS; j += VEC_WIDTH)
                vec_store(to + j, vec_load(from + j));
        for (int64_t j = 0; j < rest; j++)
            to[j] = from[j];
    }
}

static void pack_right(int64_t depth, int64_t columns, const double *right, int64_t step,
                       int64_t column, double *out, int64_t panel)
{
    if (column == 1) {
        pack_right_rows(depth, columns, right, step, out, panel);
        return;
    }
    for (int64_t j = 0; j < columns; j += VEC_WIDTH) {
        const double *from = right + j * column;
        double *to = out + j / TILE_COLUMNS * panel + j % TILE_COLUMNS;
        const int64_t width = columns - j < VEC_WIDTH ? columns - j : VEC_WIDTH;
        int64_t k = 0;
        if (width == VEC_WIDTH && step == 1)
            for (; k + VEC_WIDTH <= depth; k += VEC_WIDTH) {
                vec turned[VEC_WIDTH];
                transpose_load(from + k, column, turned);
                for (int c = 0; c < VEC_WIDTH; c++)
                    vec_store(to + (k + c) * TILE_COLUMNS, turned[c]);
            }
        for (; k < depth; k++)
            for (int64_t i = 0; i < width; i++)
                to[k * TILE_COLUMNS + i] = from[i * column + k * step];
    }
}

/* ---- few rows times a transposed matrix ---- */

/*
 * The columns of the right operand, rows of memory, are often a power of two apart, and then all
 * fall into one set of L1, eight lines deep. So eight of them are read side by side, and the eight
 * columns of the second half lag behind the first by LAG lines, in sets of their own (1 x 1024 x
 * 1024 on Zen 4: 13.4 GFLOP/s without lag, 18.4 with it).
 */
enum {
    DOT_ROWS = TILE_ROWS < 8 ? 4 : 6, /* of a tile */
    DOT_MOST_ROWS = TILE_ROWS,        /* of a product: beyond, packing is faster */
    DOT_VECTORS = VEC_WIDTH < 8 ? 4 : 2,
    LAG = 64,
    LONG = 512, /* chains worth it; below, one step of lag hides the latency of the turning */
};

/* Vectors begin ... end - 1 advance by VEC_WIDTH links from k. */
VEC_INLINE void dot_step(vec acc[DOT_ROWS][DOT_VECTORS], const int rows, const int begin,
                         const int end, int64_t k, const double *left, int64_t left_row,
                         const double *right, int64_t right_column)
{
    UNROLL (j, begin, end) {
        vec turned[VEC_WIDTH];
        transpose_load(right + j * VEC_WIDTH * right_column + k, right_column, turned);
        UNROLL (c, 0, VEC_WIDTH)
            UNROLL (i, 0, rows)
                acc[i][j] =
                    vec_fma(vec_broadcast(left + i * left_row + k + c), turned[c], acc[i][j]);
    }
}

/* `rows` chains by `vectors` vectors of columns; links beyond the last whole vector go one by one.
 */
MATH_INLINE bool dot_tile(const int rows, const int vectors, int64_t depth, const double *left,
                          int64_t left_row, const double *right, int64_t right_column, double *out,
                          int64_t out_row, const double *row_bias, const double *column_bias)
{
    vec acc[DOT_ROWS][DOT_VECTORS];
    UNROLL (i, 0, rows)
        UNROLL (j, 0, vectors)
            acc[i][j] = vec_of(0.0);
    const int64_t whole = depth / VEC_WIDTH * VEC_WIDTH;
    const int64_t step = whole < VEC_WIDTH ? whole : VEC_WIDTH;
    const int64_t lag = vectors == 1 ? 0 : depth >= LONG ? LAG : step;
    const int half = vectors == 1 ? 1 : vectors / 2;
    int64_t k = 0;
    for (; k < lag; k += VEC_WIDTH)
        dot_step(acc, rows, 0, half, k, left, left_row, right, right_column);
    for (; k < whole; k += VEC_WIDTH) {
        dot_step(acc, rows, 0, half, k, left, left_row, right, right_column);
        dot_step(acc, rows, half, vectors, k - lag, left, left_row, right, right_column);
    }
    for (k = whole - lag; k < whole; k += VEC_WIDTH)
        dot_step(acc, rows, half, vectors, k, left, left_row, right, right_column);
    for (; k < depth; k++)
        UNROLL (j, 0, vectors) {
            vec b = vec_of(0.0);
            UNROLL (c, 0, VEC_WIDTH)
                b[c] = right[(j * VEC_WIDTH + c) * right_column + k];
            UNROLL (i, 0, rows)
                acc[i][j] = vec_fma(vec_broadcast(left + i * left_row + k), b, acc[i][j]);
        }
    vec poison = vec_of(0.0);
    UNROLL (i, 0, rows)
        UNROLL (j, 0, vectors) {
            vec x = acc[i][j];
            if (column_bias)
                x += vec_load(column_bias + j * VEC_WIDTH);
            if (row_bias)
                x += vec_broadcast(row_bias + i);
            x += vec_of(0.0);
            poison = vec_fma(x, vec_of(0.0), poison);
            vec_store(out + i * out_row + j * VEC_WIDTH, x);
        }
    return !vec_mask_any(vec_is_nan(poison));
}

#define DOT(rows) \
    static __attribute__((noinline)) bool dot_##rows( \
        int64_t depth, const double *left, int64_t left_row, const double *right, \
        int64_t right_column, double *out, int64_t out_row, const double *row_bias, \
        const double *column_bias) \
    { \
        return dot_tile(rows, DOT_VECTORS, depth, left, left_row, right, right_column, out, \
                        out_row, row_bias, column_bias); \
    } \
    static __attribute__((noinline)) bool dot_one_##rows( \
        int64_t depth, const double *left, int64_t left_row, const double *right, \
        int64_t right_column, double *out, int64_t out_row, const double *row_bias, \
        const double *column_bias) \
    { \
        return dot_tile(rows, 1, depth, left, left_row, right, right_column, out, out_row, \
                        row_bias, column_bias); \
    }
DOT(1)
DOT(2)
DOT(3)
DOT(4)
#if defined(__AVX512F__) || defined(__aarch64__)
DOT(5)
DOT(6)
#define DOTS(kind) \
    { \
        kind##_1, kind##_2, kind##_3, kind##_4, kind##_5, kind##_6 \
    }
#else
#define DOTS(kind) \
    { \
        kind##_1, kind##_2, kind##_3, kind##_4 \
    }
#endif

/* Fewer columns than lanes: the lanes without one repeat the last column. */
static bool dot_partial(int64_t rows, int64_t columns, int64_t depth, const double *left,
                        int64_t left_row, const double *right, int64_t right_column, double *out,
                        int64_t out_row, const double *row_bias, const double *column_bias)
{
    const double *column[VEC_WIDTH];
    for (int64_t j = 0; j < VEC_WIDTH; j++)
        column[j] = right + (j < columns ? j : columns - 1) * right_column;
    vec acc[DOT_ROWS];
    for (int i = 0; i < DOT_ROWS; i++)
        acc[i] = vec_of(0.0);
    for (int64_t k = 0; k < depth; k++) {
        vec b = vec_of(0.0);
        UNROLL (j, 0, VEC_WIDTH)
            b[j] = column[j][k];
        for (int64_t i = 0; i < rows; i++)
            acc[i] = vec_fma(vec_broadcast(left + i * left_row + k), b, acc[i]);
    }
    vec poison = vec_of(0.0);
    for (int64_t i = 0; i < rows; i++) {
        vec x = acc[i];
        if (column_bias)
            x += vec_load_partial(column_bias, (size_t)columns);
        if (row_bias)
            x += vec_broadcast(row_bias + i);
        x += vec_of(0.0);
        poison = vec_fma(x, vec_of(0.0), poison);
        vec_store_partial(out + i * out_row, (size_t)columns, x);
    }
    return !vec_mask_any(vec_is_nan(poison));
}

static bool dot(int64_t rows, int64_t columns, int64_t depth, const double *left, int64_t left_row,
                const double *right, int64_t right_column, double *out, int64_t out_row,
                const double *row_bias, const double *column_bias)
{
    typedef bool dot_function(int64_t, const double *, int64_t, const double *, int64_t, double *,
                              int64_t, const double *, const double *);
    static dot_function *const dots[2][DOT_ROWS] = {DOTS(dot_one), DOTS(dot)};
    const int64_t slivers = (rows + DOT_ROWS - 1) / DOT_ROWS;
    bool finite = true;
    for (int64_t j = 0; j < columns;) {
        const bool whole = columns - j >= DOT_VECTORS * VEC_WIDTH;
        if (columns - j < VEC_WIDTH && columns >= VEC_WIDTH)
            j = columns - VEC_WIDTH; /* some columns twice, to the same bits */
        for (int64_t s = 0; s < slivers; s++) {
            const int64_t i = hm_contract_sliver(rows, slivers, s);
            const int64_t height = hm_contract_sliver(rows, slivers, s + 1) - i;
            const double *from = left + i * left_row;
            double *to = out + i * out_row + j;
            const double *sliver_bias = row_bias ? row_bias + i : NULL;
            const double *bias = column_bias ? column_bias + j : NULL;
            if (columns < VEC_WIDTH)
                finite &= dot_partial(height, columns, depth, from, left_row, right, right_column,
                                      to, out_row, sliver_bias, bias);
            else
                finite &= dots[whole][height - 1](depth, from, left_row, right + j * right_column,
                                                  right_column, to, out_row, sliver_bias, bias);
        }
        j += whole ? DOT_VECTORS * VEC_WIDTH : VEC_WIDTH;
    }
    return finite;
}

const hm_contract_kernels HM_K(contract) = {
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .block = block,
    .pack_left = pack_left,
    .pack_right = pack_right,
    .dot_rows = DOT_MOST_ROWS,
    .dot = dot,
};
