/*
 * What a convolution and its adjoint have in common: every result pixel is a chain over channels
 * and taps of a padded source.
 */
#ifndef HM_CORRELATE_H
#define HM_CORRELATE_H

#include <stdatomic.h>

#include "runtime/context.h"
#include "tensor/padded.h"

/* Result pixels along one axis, the t-th at destination + t*step, reading the source from source +
 * t. */
typedef struct hm_grid_axis {
    int64_t count, source, destination, step;
} hm_grid_axis;

/* Result pixels that have the same taps. */
typedef struct hm_grid {
    hm_grid_axis axis[HM_CONV_AXES];
    int64_t depth;         /* links of a chain */
    const int64_t *offset; /* of a link's operand in the source, from what the pixel reads */
    const int64_t *weight; /* of its weight in a row of weights */
    int64_t stretch;       /* weights of so many links in a row are neighbours */
    /* chosen by hm_correlate: vectors of pixels, by rows or across their ends, with the padding
     * between rows among their pixels (flat) or without it (folded) */
    bool flat, folded;
    int64_t runs_a_line, runs;
    int64_t all_runs; /* in all windows */
    int64_t packed;   /* where its panels begin among the packed weights of a group */
    int64_t jump;     /* in the result, from behind a row's last pixel to the next one's first */
} hm_grid;

typedef struct hm_correlation {
    const hm_kernels *kernels;
    hm_padded padded;       /* of the source */
    int64_t units, groups;  /* images x groups, group fastest */
    int64_t rows, channels; /* of a group: of the result and of the source */
    int64_t source_plane;   /* doubles of a channel */
    int64_t result[HM_CONV_AXES], result_plane;
    int64_t weight_row, weight_group; /* from one to the next in the weights */
    const double *source, *weights, *bias;
    double *out;
    hm_grid *grids;
    int64_t grid_count;
    int64_t
        plane_direction; /* 1: each unit is a 3 x 3 kernel on one channel; -1: backwards; else 0 */

    /* by hm_correlate_window */
    int window_axis;
    int64_t windows, window_rows; /* results of a grid along the axis in each; fewer in the last */

    /* how hm_correlate shares it out */
    int64_t links, panel_most; /* of the chains of a tile; doubles of packed weights */
    int64_t lanes;             /* threads, at most */
    bool shared;               /* all lanes work on one unit; else each on its own */
    int64_t unit;              /* the one */
    int64_t bands;             /* of the runs of a grid */
    int64_t slivers_a_panel, panels, panel_doubles; /* of the weights */
    bool packs_once; /* all weights before the first unit; else each panel when it is wanted */
    double *packed;
    int64_t packed_group; /* doubles */
    double *scratch;      /* a copy that all share, then what each lane has to itself */
    int64_t shared_copy, scratch_lane; /* doubles of these */
    atomic_llong next;
    atomic_bool infinite;
} hm_correlation;

/*
 * First of all: measures the padded source, and cuts results into windows along their outermost
 * axis, for threads and for caches. Then job->padded is what one window reads; offsets are made for
 * it, but grids for the whole result. `count`: results of a grid along each axis, at most; `links`:
 * of the chains of all grids together. False where no memory has room for the source.
 */
bool hm_correlate_window(hm_context *ctx, hm_correlation *job, const int64_t count[HM_CONV_AXES],
                         int64_t links);

/* HMATH_OK or HMATH_NO_MEMORY; *finite tells whether every result is finite. */
hm_status hm_correlate(hm_context *ctx, hm_correlation *job, bool *finite);

#endif
