/*
 * Matrix products whose operands are converted on their way into the kernel: the loops, the packing
 * buffers and the threads, for any element type.
 *
 * The right operand is packed into panels of tile_columns, the left one into slivers of at most
 * tile_rows, and every sliver is multiplied with every panel. Blocks of depth follow one another in
 * increasing order for every element of the result. What is packed at one time is bounded, whatever the
 * operands' size.
 */
#ifndef HM_PANELS_H
#define HM_PANELS_H

#include <stddef.h>

#include "runtime/context.h"

typedef struct hm_range {
    int64_t first, count;
} hm_range;

typedef struct hm_panels {
    int64_t rows, columns, depth; /* depth >= 1 */
    int64_t tile_rows, tile_columns, depth_block;
    size_t sliver_bytes, panel_bytes; /* of one sliver and one panel over a block of depth */
    double serial; /* fewer multiplications than this stay on the caller's thread */

    /* Fill one sliver (of at most tile_rows), and the panels of any number of columns. */
    void (*pack_left)(const void *job, hm_range rows, hm_range k, void *sliver);
    void (*pack_right)(const void *job, hm_range k, hm_range columns, void *panels);

    /* A sliver times panels: called once for every block of depth, in increasing order. */
    void (*multiply)(void *job, hm_range rows, hm_range columns, hm_range k, const void *sliver,
                     const void *panels);
} hm_panels;

/* HMATH_OK or HMATH_NO_MEMORY. */
hm_status hm_run_panels(hm_context *ctx, const hm_panels *panels, void *job);

#endif
