/*
 * Convolution without im2col: the tile of the contraction, its right operand read straight from
 * padded images.
 *
 * A result pixel is one chain over (channel, kernel axes row-major). Where the k-th input of a
 * pixel lies depends on the pixel and on k only through a sum: source + pixel + offset[k]. So a
 * table over k turns the image into the right operand of a matrix product, for one to three axes,
 * any dilation, and any stride once the images are copied apart by stride phase. tensor/conv.h
 * makes copies and tables.
 *
 * The law is that of kernels/contract.h: acc <- fma(weight_k, input_k, acc) in increasing k from
 * +0, the bias, then +0. Zeros of the padding may be terms: the last +0 makes that invisible.
 */
#ifndef HM_CONV_KERNELS_H
#define HM_CONV_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Up to `lanes` neighbouring pixels of the padded image, some of which are results. Where the
 * kernels fold rows, a run may go on in the next row, past the padding between: its lanes there read
 * from `gap` further.
 */
typedef struct hm_conv_run {
    int64_t source; /* offset of the first; a whole vector can be read there at every offset[k] */
    int64_t destination; /* of the first that is a result */
    uint64_t results; /* bit l: pixel l is one. The next goes `step` further, and `jump` more across
                         pixels that are none: there a row of results ends */
    int64_t fold;     /* pixels from this one on lie in the next row of results; 0: none does */
} hm_conv_run;

/*
 * rows x pixels of result. left (i, k), the weights: packed as for the contraction in slivers cut
 * by hm_contract_sliver (left_panel > 0), or in place, left[i * left_row + left_offset[k]].
 */
typedef struct hm_conv_block {
    int64_t rows, depth;
    int64_t links; /* of the chains, whose reading L1 holds: cut there if packed; 0: not cut */
    const double *left;
    int64_t left_panel, left_row;
    const int64_t
        *left_offset; /* read where not packed; so for one to three rows, which are fastest so */
    const double *source;
    const int64_t *offset; /* depth of them */
    const hm_conv_run *run;
    int64_t runs, step, jump, gap;
    double *out; /* pixel p of row i at out[i * out_row + p] */
    int64_t out_row;
    const double *bias; /* one a row, or NULL */
} hm_conv_block;

/*
 * The gradient of the weights: rows are (channel, kernel axes), columns are output channels, and
 * the chain runs over pixels: (i, k) at source[row_offset[i] + offset[k]]; right packed by
 * contract->pack_right. (i, j) of the result at out[j * out_column + i].
 */
typedef struct hm_conv_weights_block {
    int64_t rows, columns, depth;
    const double *source;
    const int64_t *row_offset, *offset;
    const double *right;
    int64_t right_panel;
    double *out;
    int64_t out_column;
    bool first, last; /* start from +0, not from out; add +0 and look whether all is finite */
    /* What is packed next, to be fetched meanwhile: rows of next_count doubles, next_row apart. */
    const double *next;
    int64_t next_rows, next_row, next_count;
} hm_conv_weights_block;

/*
 * One channel by a 3 x 3 kernel: result (y, x) is the chain over (ky, kx) row-major of weights[3*ky
 * + kx] times source[(y + ky) * source_row + x + kx * tap]. Rows may run either way, so may taps;
 * width >= lanes.
 */
typedef struct hm_conv_plane {
    int64_t rows, width;
    const double *source;
    int64_t source_row, tap;
    const double *weights, *bias; /* bias one number, or NULL */
    double *out;                  /* (y, x) at out[y * out_row + x] */
    int64_t out_row;
    const double *next; /* rows x width doubles that are written next: they are fetched */
} hm_conv_plane;

typedef struct hm_conv_kernels {
    int32_t lanes; /* pixels of a run */
    bool folds;    /* runs may be folded, if rows are a multiple of the contraction's tile_rows */
    /* False where a result is infinite or NaN. */
    bool (*block)(const hm_conv_block *block);
    bool (*plane)(const hm_conv_plane *plane);
    bool (*weights)(const hm_conv_weights_block *block);
} hm_conv_kernels;

#endif
