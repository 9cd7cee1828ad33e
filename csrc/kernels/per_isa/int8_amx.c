/*
 * Integer products in the matrix registers of AMX. Four of them hold the sums of 32 rows by 32 columns; an
 * instruction adds to one of them what 16 rows by 64 steps of the left operand and 64 steps by 16 columns of
 * the right one come to, in wrapping 32-bit integers.
 *
 * The registers are set up in every call of `multiply` and given back at its end: nobody else's are in the
 * way, and a thread that has none in use is cheap to switch from.
 */
#define INT8_MATRIX /* compilers have different names for what they may use */

#include "kernels/cpu.h"
#include "kernels/per_isa/int8_pack.h"
#include "kernels/per_isa/int8_results.h"
#include "kernels/per_isa/isa.h"

enum { REGISTER_ROWS = 16, REGISTER_BYTES = 64, RIGHT_BYTES = COLUMNS * RUN };
_Static_assert((int)ROWS == 2 * REGISTER_ROWS && (int)UNIT == REGISTER_BYTES && VECTORS == 2,
               "a tile is two by two registers");

/* Unit after unit of depth, and in each row after row: what a register takes lies in one piece. */
static void pack_left(int64_t rows, int64_t depth, const int8_t *left, int64_t stride, void *sliver)
{
    for (int64_t i = 0; i < rows; i++) {
        const int8_t *from = left + i * stride;
        int8_t *to = (int8_t *)sliver + i * UNIT;
        int64_t k = 0;
        for (; k + UNIT <= depth; k += UNIT, to += ROWS * UNIT)
            store_vector(to, load_vector(from + k));
        if (k < depth)
            store_vector(to, _mm512_maskz_loadu_epi8(((__mmask64)1 << (depth - k)) - 1, from + k));
    }
}

/* What LDTILECFG reads. */
typedef struct configuration {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} configuration;

/* Names of registers are part of instructions, so they are macros. */
#define UPPER_LEFT 0 /* sums: of the first rows and columns */
#define UPPER_RIGHT 1
#define LOWER_LEFT 2
#define LOWER_RIGHT 3
#define UPPER 4 /* rows of the left operand */
#define LOWER 5
#define LEFT 6 /* columns of the right operand */
#define RIGHT 7

static void shape_register(configuration *c, int name, int64_t rows)
{
    c->rows[name] = (uint8_t)rows;
    c->row_bytes[name] = rows ? REGISTER_BYTES : 0; /* without rows a register does not exist */
}

static void set_up_registers(int64_t rows)
{
    const int64_t upper = rows < REGISTER_ROWS ? rows : REGISTER_ROWS, lower = rows - upper;
    configuration c = {.palette = 1};
    shape_register(&c, UPPER_LEFT, upper);
    shape_register(&c, UPPER_RIGHT, upper);
    shape_register(&c, LOWER_LEFT, lower);
    shape_register(&c, LOWER_RIGHT, lower);
    shape_register(&c, UPPER, upper);
    shape_register(&c, LOWER, lower);
    shape_register(&c, LEFT, UNIT / RUN);
    shape_register(&c, RIGHT, UNIT / RUN);
    /* GCC 12's intrinsic does not say that it reads all of it. */
    __asm__ volatile("ldtilecfg %0" ::"m"(c));
}

/* `lower`: there are more rows than one register has. */
VEC_INLINE void tile_of(const bool lower, int64_t depth, const int8_t *sliver, const char *panel,
                        int32_t *sums, const plain_sums *before)
{
    enum { SUMS_BYTES = COLUMNS * sizeof(int32_t), HALF = REGISTER_ROWS * COLUMNS };
    const int64_t units = padded(depth) / UNIT, rows = before ? before->rows : 0;
    _tile_zero(UPPER_LEFT);
    _tile_zero(UPPER_RIGHT);
    if (lower) {
        _tile_zero(LOWER_LEFT);
        _tile_zero(LOWER_RIGHT);
    }
    int64_t row = 0;
    for (int64_t unit = 0; unit < units; unit++) {
        _tile_loadd(UPPER, sliver, UNIT);
        _tile_loadd(LEFT, panel, RIGHT_BYTES);
        _tile_loadd(RIGHT, panel + REGISTER_BYTES, RIGHT_BYTES);
        _tile_dpbssd(UPPER_LEFT, UPPER, LEFT);
        _tile_dpbssd(UPPER_RIGHT, UPPER, RIGHT);
        if (lower) {
            _tile_loadd(LOWER, sliver + REGISTER_ROWS * UNIT, UNIT);
            _tile_dpbssd(LOWER_LEFT, LOWER, LEFT);
            _tile_dpbssd(LOWER_RIGHT, LOWER, RIGHT);
        }
        sliver += ROWS * UNIT;
        panel += COLUMNS * UNIT;
        for (const int64_t end = rows * (unit + 1) / units; row < end; row++)
            scale_row(before, row);
    }
    _tile_stored(UPPER_LEFT, sums, SUMS_BYTES);
    _tile_stored(UPPER_RIGHT, sums + LANES, SUMS_BYTES);
    if (lower) {
        _tile_stored(LOWER_LEFT, sums + HALF, SUMS_BYTES);
        _tile_stored(LOWER_RIGHT, sums + HALF + LANES, SUMS_BYTES);
    }
}

/* The lines that results go to need not be fetched here: what stores wait for, products hide. */
static void tile_of_16(int64_t depth, const void *sliver, const void *panel, int32_t *sums,
                       const plain_sums *before, const double *out, int64_t out_stride)
{
    (void)out;
    (void)out_stride;
    tile_of(false, depth, sliver, panel, sums, before);
}

static void tile_of_32(int64_t depth, const void *sliver, const void *panel, int32_t *sums,
                       const plain_sums *before, const double *out, int64_t out_stride)
{
    (void)out;
    (void)out_stride;
    tile_of(true, depth, sliver, panel, sums, before);
}

static bool multiply(const hm_int8_coding *coding, int64_t rows, int64_t columns, int64_t depth,
                     const void *sliver, const void *panels, size_t panel_bytes, bool first,
                     bool last, double *out, int64_t out_stride)
{
    set_up_registers(rows);
    const bool fits =
        multiply_with(rows > REGISTER_ROWS ? tile_of_32 : tile_of_16, coding, rows, columns, depth,
                      sliver, panels, panel_bytes, first, last, out, out_stride);
    _tile_release();
    return fits;
}

extern const hm_int8_kernels HM_K(int8);
const hm_int8_kernels HM_K(int8) = {
    .tile_rows = ROWS,
    .tile_columns = COLUMNS,
    .unit = UNIT,
    .left_step = ROWS,
    .right_step = COLUMNS,
    .granted = hm_cpu_grants_tiles,
    .pack_left = pack_left,
    .pack_right = pack_right,
    .multiply = multiply,
    .sum = sum,
};
