/* Moving elements where vectors help: transposing a matrix, copying short rows. */
#ifndef HM_ARRANGE_KERNELS_H
#define HM_ARRANGE_KERNELS_H

#include <stdint.h>

typedef struct hm_arrange_kernels {
    /*
     * to[r * to_row + c] = from[c * from_column + r] for r < rows, c < columns, whatever the bits
     * are. `to` overlaps nothing; both need the alignment of a double; either count may be 0.
     */
    void (*transpose)(int64_t rows, int64_t columns, const double *from, int64_t from_column,
                      double *to, int64_t to_row);

    /* to[r * to_row + i] = from[r * from_row + i] for r < rows, i < n, likewise. */
    void (*copy_rows)(int64_t rows, int64_t n, const double *from, int64_t from_row, double *to,
                      int64_t to_row);
} hm_arrange_kernels;

#endif
