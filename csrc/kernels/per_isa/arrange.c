/*
 * A matrix transposed in blocks of a cache line by a cache line: where data is aligned each line of
 * either side is touched once, whatever the strides, so that nothing need stay in the cache.
 */
#include "kernels/arrange.h"

#include "kernels/per_isa/isa.h"
#include "kernels/per_isa/transpose.h"

enum {
    BLOCK = 8,
    LINE = 8,    /* doubles of a cache line */
    AHEAD = 512, /* doubles that copied rows are fetched ahead: mostly rows of the next images */
};

static inline void transpose_plain(int64_t rows, int64_t columns, const double *from,
                                   int64_t from_column, double *to, int64_t to_row)
{
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            to[r * to_row + c] = from[c * from_column + r];
}

VEC_INLINE void transpose_block(const double *from, int64_t from_column, double *to, int64_t to_row)
{
    for (int64_t r = 0; r < BLOCK; r += VEC_WIDTH)
        for (int64_t c = 0; c < BLOCK; c += VEC_WIDTH) {
            vec turned[VEC_WIDTH];
            transpose_load(from + c * from_column + r, from_column, turned);
            for (int64_t i = 0; i < VEC_WIDTH; i++)
                vec_store(to + (r + i) * to_row + c, turned[i]);
        }
}

static void transpose(int64_t rows, int64_t columns, const double *from, int64_t from_column,
                      double *to, int64_t to_row)
{
    const int64_t whole_rows = rows / BLOCK * BLOCK, whole_columns = columns / BLOCK * BLOCK;
    for (int64_t r = 0; r < whole_rows; r += BLOCK)
        for (int64_t c = 0; c < whole_columns; c += BLOCK)
            transpose_block(from + c * from_column + r, from_column, to + r * to_row + c, to_row);
    transpose_plain(whole_rows, columns - whole_columns, from + whole_columns * from_column,
                    from_column, to + whole_columns, to_row);
    transpose_plain(rows - whole_rows, columns, from + whole_rows, from_column,
                    to + whole_rows * to_row, to_row);
}

/* A row's last whole vector goes back over what the one before has copied. */
static void copy_rows(int64_t rows, int64_t n, const double *from, int64_t from_row, double *to,
                      int64_t to_row)
{
    const int64_t last = n - VEC_WIDTH;
    for (; rows > 0; rows--, from += from_row, to += to_row) {
        int64_t i = 0;
        for (int64_t f = 0; f < n; f += LINE)
            __builtin_prefetch(from + f + AHEAD);
        for (; i <= last; i += VEC_WIDTH)
            vec_store(to + i, vec_load(from + i));
        if (i < n && last >= 0)
            vec_store(to + last, vec_load(from + last));
        else if (i < n)
            vec_store_partial(to, (size_t)n, vec_load_partial(from, (size_t)n));
    }
}

extern const hm_arrange_kernels HM_K(arrange);
const hm_arrange_kernels HM_K(arrange) = {.transpose = transpose, .copy_rows = copy_rows};
