/* A matrix transposed in blocks, each turned inside the registers. */
#include "kernels/arrange.h"

#include "kernels/per_isa/isa.h"
#include "kernels/vec/vec.h"

enum { BLOCK = 8 }; /* doubles in a cache line: blocks read and write whole lines where data is aligned */

static void transpose(int64_t rows, int64_t columns, const double *from, int64_t from_column, double *to,
                      int64_t to_row)
{
    for (int64_t r = 0; r < rows; r += BLOCK)
        for (int64_t c = 0; c < columns; c++)
            for (int64_t i = r; i < rows && i < r + BLOCK; i++)
                to[i * to_row + c] = from[c * from_column + i];
}

extern const hm_arrange_kernels HM_K(arrange);
const hm_arrange_kernels HM_K(arrange) = {.transpose = transpose};
