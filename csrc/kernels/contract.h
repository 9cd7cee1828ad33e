/*
 * Contraction: matrix products of doubles, block by block.
 *
 * The law of every slot: each result element is one chain acc <- fma(left_k, right_k, acc) in
 * increasing k from +0; a bias is added at the end, one rounding each; then +0 is added, so that -0
 * becomes +0. Blocks of k continue the chain through the result's memory, so no blocking changes a
 * bit.
 *
 * tensor/contract.h drives these; it owns the packing buffers, the blocking and the threads.
 */
#ifndef HM_CONTRACT_KERNELS_H
#define HM_CONTRACT_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct hm_contract_range {
    const double *begin, *end;
} hm_contract_range;

/*
 * Memory that is needed after the block: its tiles bring it into L2 while they multiply. A tile takes three
 * times `step` doubles a link from the front of the first range that is not empty.
 */
typedef struct hm_contract_ahead {
    hm_contract_range range[3];
    int64_t step; /* a line at most */
} hm_contract_ahead;

/*
 * out (rows x columns) gets `depth` more links of its chains.
 *
 * left (i, k): slivers of at most tile_rows rows, cut by hm_contract_sliver. Packed (left_panel >
 * 0): sliver s at left + s * left_panel, its element (i, k) at [k * tile_rows + i]. Else
 * row-strided: left[i * left_row + k * left_step]. right (k, j): panels of tile_columns columns,
 * panel p at right + p * right_panel, its element (k, j) at [k * right_step + j]. A row-major
 * matrix is right_panel = tile_columns, right_step = its row stride. No column beyond `columns` is
 * read. out may be neither operand. No alignment is asked of anything.
 *
 * strip: room for depth * tile_columns doubles. Where the right operand is not packed, the first tile_rows
 * rows leave there what they read of it, panel after panel, for the rows below to read: it stays in L1,
 * where rows of memory that lie a power of two apart would not. A packed left operand is cut otherwise
 * beside it: more than tile_rows rows begin with a sliver of tile_rows, and left_row and left_step describe
 * that one.
 */
typedef struct hm_contract_block {
    int64_t rows, columns, depth;
    const double *left;
    int64_t left_panel, left_row, left_step;
    const double *right;
    int64_t right_panel, right_step;
    double *strip; /* or NULL */
    double *out;
    int64_t out_row;
    bool first; /* start the chains at +0, instead of from out */
    bool last;  /* finish: biases, +0 */
    const double
        *fetch; /* tile_columns rows of `depth` doubles that are needed next, or NULL; they may
                            end beyond the operand; not with a packed left operand */
    int64_t fetch_row;
    bool fetches_panels;      /* if not packed: each while the one before is used */
    hm_contract_ahead *ahead; /* or NULL, as it is beside these two; used up as tiles go */
    const double *row_bias, *column_bias; /* of length rows and columns, or NULL; read if last */
} hm_contract_block;

/* Rows are cut into the fewest slivers, as even as possible: sliver s starts at this row. */
static inline int64_t hm_contract_sliver(int64_t rows, int64_t slivers, int64_t s)
{
    return rows * s / slivers;
}

/*
 * Columns of the next panel of `left_over` that are not packed yet. The last four vectors go two and
 * two: a tile of one vector has too few chains, and loads for each, to keep the multipliers busy.
 */
static inline int64_t hm_contract_panel(int64_t tile_columns, int64_t left_over)
{
    const int64_t vector = tile_columns / 3;
    if (left_over <= tile_columns)
        return left_over;
    return left_over <= tile_columns + vector ? 2 * vector : tile_columns;
}

typedef struct hm_contract_kernels {
    int32_t tile_rows, tile_columns;

    /*
     * Blocking: doubles of a left operand that tiles may read in place, out of half of L2, while
     * strips of the right one pass through L1; 0 where that does not pay.
     */
    int64_t left_in_place;

    /* False where a finished element is infinite or NaN; true before the last block of k. */
    bool (*block)(const hm_contract_block *block);

    /*
     * Left element (i, k), at left[i * row + k * step], into slivers of depth * tile_rows doubles
     * each. What a sliver of fewer rows leaves unused is not written.
     */
    void (*pack_left)(int64_t rows, int64_t depth, const double *left, int64_t row, int64_t step,
                      double *out);

    /*
     * Right element (k, j), at right[k * step + j * column], into panels of tile_columns columns,
     * `panel` doubles apart. What the last panel leaves unused is not written.
     */
    void (*pack_right)(int64_t depth, int64_t columns, const double *right, int64_t step,
                       int64_t column, double *out, int64_t panel);

    /*
     * The same product where the right operand lies transposed, element (k, j) at
     * right[j * right_column + k], and rows <= dot_rows: its columns are turned in registers and
     * used at once. Whole chains: first and last are implied. left (i, k) at left[i * left_row +
     * k].
     */
    int32_t dot_rows;
    bool (*dot)(int64_t rows, int64_t columns, int64_t depth, const double *left, int64_t left_row,
                const double *right, int64_t right_column, double *out, int64_t out_row,
                const double *row_bias, const double *column_bias);
} hm_contract_kernels;

#endif
