/*
 * How a product is cut.
 *
 *   direct   small products, and few rows times a row-major matrix: tiles read both operands in place.
 *   dot      very few rows times a transposed matrix: its columns are turned in registers.
 *   strips   few rows times any other matrix: a strip of it is packed and used while it is in L1.
 *   packed   the rest: both operands are packed, once, into panels that all threads then read.
 *
 * What few rows are depends on the processor (left_in_place): one that multiplies faster than L2
 * delivers two operands, or whose tiles are so small that they read twice as much of them, wants one
 * of them in L1, and reads the other in place.
 *
 * The chunks that threads claim are cut by shape; as every element is one chain whatever the cut,
 * the plan is free to follow the machine.
 */
#include "tensor/contract.h"

#include <stdatomic.h>

#include "runtime/pool.h"
#include "tensor/extent.h"

/*
 * Blocking, in doubles, tried on Zen 4 (32K L1, 1M L2): BLOCK_ROWS x DEPTH stay in L2 while panels of
 * DEPTH x tile_columns stream past; ROWS x DEPTH and DEPTH x COLUMNS, packed, share L3. A tile that goes
 * deep touches its results seldom: 1024 cubed runs at 49 GFLOP/s with 256, 51 with 512, of 58.
 */
enum {
    DEPTH = 512,
    BLOCK_ROWS = 96,
    BLOCK_PANELS = 10,
    ROWS = 960,
    COLUMNS = 2400,
    KEPT_DEPTH = 192,  /* of a strip that a block's first rows leave: 36 KB in 48K of L1 */
    STRIP_DEPTH = 512, /* long runs: 64 x 1024 x 1024 transposed 2.87 ms with 192, 2.65 with 512 */
    LINE = 8,          /* of memory */
    SERIAL = 48 * 48 * 48, /* fewer multiplications than this stay on the caller's thread */
};

typedef enum plan { DIRECT, DOT, STRIPS, PACKED } plan;

typedef struct product_job {
    const hm_contract_kernels *kernels;
    const hm_product *product;
    plan plan;
    int64_t chunks, slice; /* columns, or rows where by_rows, in a chunk of the unpacked plans */
    bool by_rows;
    bool keeps_strips; /* direct: the first rows of a chunk leave them to the others */
    bool packs_left;   /* direct: a chunk packs the rows of its own */
    double *scratch;
    hm_contract_ahead *ahead; /* direct, strips: the next product of a batch, or NULL */
    /* packed: the block at hand */
    int64_t row, rows, column, columns, k, depth;
    int64_t block_rows, block_columns;
    double *left, *right;
    bool leaves_left; /* in place */
    bool keeps_left;  /* packed, for the whole batch */
    bool left_packed; /* by an earlier product of it, or it need not be */
    atomic_bool infinite;
} product_job;

/* The left operand of a whole batch, in one block that every product cuts alike. */
static bool packs_left_once(const hm_product *p)
{
    return p->batch > 1 && p->left.batch == 0 && p->rows <= ROWS && p->depth <= DEPTH &&
           p->columns <= COLUMNS;
}

/*
 * Its packing is shared by all products, and that of the right operands is little beside so many rows,
 * whose tiles would wait for each new one (8 of 256 x 196 x 256: 4.1 ms in place, 3.95 packed).
 */
static bool left_is_worth_packing(const hm_product *p)
{
    return packs_left_once(p) && p->batch >= 4 && p->rows >= 128 && p->depth >= 128 &&
           p->columns >= 96;
}

/* A few rows may be more of them where they are read out of L2 in place. */
static bool few_rows(const hm_contract_kernels *kernels, const hm_product *p)
{
    return p->rows <= 64 || (p->rows <= 256 && p->rows * p->depth <= kernels->left_in_place &&
                             !left_is_worth_packing(p));
}

/* Of rows that lie transposed and far apart a tile reads another page for every link. */
static bool left_is_scattered(const hm_contract_kernels *kernels, const hm_product *p)
{
    return kernels->left_in_place > 0 && kernels->tile_rows >= LINE && p->left.column != 1 &&
           p->rows > 256;
}

/* Half of L2 does not hold the right operand: tiles fetch the next panel while they use one. */
static bool right_is_far(const hm_contract_kernels *kernels, const hm_product *p)
{
    return kernels->left_in_place > 0 && p->depth * p->columns > kernels->left_in_place;
}

/*
 * A panel as narrow as those of four doubles a vector reads a line and a half of rows that are far apart, which
 * meet in few sets of L2. Packing reads a row in one go, and is worth it from few rows on (64 x 512 x 512 out of L3
 * on Zen 3: a quarter less time).
 */
static bool packs_few_rows(const hm_contract_kernels *kernels, const hm_product *p)
{
    return kernels->tile_rows < LINE && p->rows >= 24 && right_is_far(kernels, p);
}

static plan choose(const hm_contract_kernels *kernels, const hm_product *p)
{
    const int64_t m = p->rows, n = p->columns, k = p->depth;
    if (k == 0)
        return DIRECT; /* nothing is read */
    if (p->right.column == 1) {
        const bool cached = (k * n <= 40000 && m * k <= 65536) || (m <= 256 && k <= 256);
        const bool packs = left_is_worth_packing(p) || left_is_scattered(kernels, p);
        if (packs_few_rows(kernels, p))
            return PACKED;
        return few_rows(kernels, p) || (cached && !packs) ? DIRECT : PACKED;
    }
    if (p->right.row == 1 && p->left.column == 1 && m <= kernels->dot_rows)
        return DOT;
    return few_rows(kernels, p) ? STRIPS : PACKED;
}

/* Rows enough to pay for what the first of them write, of a matrix that does not stay in L1 by itself. */
static bool keeps_strips(const hm_contract_kernels *kernels, const hm_product *p)
{
    return kernels->left_in_place > 0 && p->rows >= 24 && p->columns >= 128 && p->depth >= 32;
}

/*
 * Of rows that lie transposed a link of a tile reads tile_rows doubles. Where that is half a line, and the lines
 * of a tile lie a power of two apart, every line comes from L2 twice for every panel; packed rows are read in
 * one go (128 x 128 x 128 out of L3 on Zen 3: a tenth less time).
 */
static bool packs_left(const hm_contract_kernels *kernels, const hm_product *p)
{
    return kernels->tile_rows < LINE && p->left.column != 1 && keeps_strips(kernels, p);
}

/*
 * So few columns do not pay for packing the rows, which lie in memory as tiles read them
 * (512 x 512 x 24: 1.8 times as fast in place, 3136 x 576 x 64: 1.25 times).
 */
static bool leaves_left(const hm_contract_kernels *kernels, const hm_product *p)
{
    return kernels->left_in_place > 0 && p->left.column == 1 && p->columns <= 128 &&
           !left_is_worth_packing(p);
}

static void note(product_job *job, bool finite)
{
    if (!finite)
        atomic_store_explicit(&job->infinite, true, memory_order_relaxed);
}

/* Without a context the caller's thread does it all: it is a chunk of a batch already. */
static void run_chunks(const hm_context *ctx, int64_t chunks, void (*body)(void *, int64_t),
                       product_job *job)
{
    if (ctx)
        hm_parallel_for(ctx, chunks, body, job);
    else
        for (int64_t i = 0; i < chunks; i++)
            body(job, i);
}

/* ---- direct, dot, strips: a chunk is a range of columns, or of rows ---- */

/* Scratch of a chunk of these plans: a strip, and behind it packed rows. */
static int64_t strip_doubles(const product_job *job)
{
    const int64_t depth = job->plan == STRIPS ? STRIP_DEPTH : job->keeps_strips ? KEPT_DEPTH : 0;
    return depth * job->kernels->tile_columns;
}

static int64_t chunk_doubles(const product_job *job)
{
    const int64_t rows = job->by_rows ? job->slice : job->product->rows;
    const int64_t left =
        job->packs_left ? KEPT_DEPTH * hm_round_up(rows, job->kernels->tile_rows) : 0;
    return strip_doubles(job) + left;
}

/* Links that tiles go without leaving their results. */
static int64_t direct_depth(const product_job *job)
{
    const hm_product *p = job->product;
    if (job->keeps_strips)
        return hm_ceiling(p->depth, hm_ceiling(p->depth, KEPT_DEPTH));
    return p->rows <= 8 ? 32 : p->rows <= 64 ? 64 : DEPTH;
}

/* The block's rows, packed; those that keep the strip are a sliver of their own. */
static void pack_rows(const hm_contract_kernels *kernels, hm_contract_block *b, double *to)
{
    const int64_t height = kernels->tile_rows, kept = b->rows > height ? height : 0;
    const double *from = b->left;
    kernels->pack_left(kept, b->depth, from, b->left_row, b->left_step, to);
    kernels->pack_left(b->rows - kept, b->depth, from + kept * b->left_row, b->left_row,
                       b->left_step, to + kept * b->depth);
    b->left = to;
    b->left_row = 1;
    b->left_step = height;
    b->left_panel = height * b->depth;
}

static void direct_range(product_job *job, double *strip, int64_t row, int64_t rows, int64_t column,
                         int64_t columns)
{
    const hm_product *p = job->product;
    const int64_t most = direct_depth(job);
    hm_contract_block b = {
        .rows = rows,
        .columns = columns,
        .left_row = p->left.row,
        .left_step = p->left.column,
        .right_panel = job->kernels->tile_columns,
        .right_step = p->right.row,
        .strip = strip,
        .ahead = job->ahead,
        .fetches_panels = !job->ahead && (job->keeps_strips || right_is_far(job->kernels, p)),
        .out = p->out + row * p->out_row + column,
        .out_row = p->out_row,
        .row_bias = p->row_bias ? p->row_bias + row : NULL,
        .column_bias = p->column_bias ? p->column_bias + column : NULL,
    };
    int64_t k = 0;
    do {
        b.depth = hm_least(most, p->depth - k);
        b.left = p->left.data + row * p->left.row + k * p->left.column;
        b.right = p->right.data + k * p->right.row + column;
        if (job->packs_left) {
            b.left_row = p->left.row;
            b.left_step = p->left.column;
            pack_rows(job->kernels, &b, strip + strip_doubles(job));
        }
        b.first = k == 0;
        k += b.depth;
        b.last = k == p->depth;
        note(job, job->kernels->block(&b));
    } while (k < p->depth);
}

/*
 * A strip of a matrix that lies transposed is read in short runs of many rows, of which the processor
 * foresees little: so the strip that is packed next, from (k, column) on or at the top of the next
 * columns, is fetched while this one is multiplied (64 x 1024 x 1024: 2.65 -> 2.50 ms).
 */
static void fetch_next(const product_job *job, hm_contract_block *b, int64_t k, int64_t column,
                       int64_t end)
{
    const hm_matrix *right = &job->product->right;
    b->fetch = NULL;
    if (k == job->product->depth) {
        k = 0;
        column += b->columns;
    }
    if (right->row == 1 && column < end && !job->ahead) {
        b->fetch = right->data + k + column * right->column;
        b->fetch_row = right->column;
    }
}

static void strips_range(product_job *job, double *strip, int64_t column, int64_t columns)
{
    const hm_product *p = job->product;
    const int64_t width = job->kernels->tile_columns;
    const int64_t end = column + columns;
    for (int64_t j = column, next; j < end; j = next) {
        next = j + hm_contract_panel(width, end - j);
        hm_contract_block b = {
            .rows = p->rows,
            .columns = next - j,
            .left_row = p->left.row,
            .left_step = p->left.column,
            .right = strip,
            .right_panel = STRIP_DEPTH * width,
            .right_step = width,
            .ahead = job->ahead,
            .out = p->out + j,
            .out_row = p->out_row,
            .row_bias = p->row_bias,
            .column_bias = p->column_bias ? p->column_bias + j : NULL,
        };
        for (int64_t k = 0; k < p->depth;) {
            b.depth = hm_least(STRIP_DEPTH, p->depth - k);
            job->kernels->pack_right(b.depth, b.columns,
                                     p->right.data + k * p->right.row + j * p->right.column,
                                     p->right.row, p->right.column, strip, b.right_panel);
            b.left = p->left.data + k * p->left.column;
            b.first = k == 0;
            k += b.depth;
            b.last = k == p->depth;
            fetch_next(job, &b, k, j, end);
            note(job, job->kernels->block(&b));
        }
    }
}

static void unpacked_chunk(void *task, int64_t chunk)
{
    product_job *job = task;
    const hm_product *p = job->product;
    const int64_t total = job->by_rows ? p->rows : p->columns;
    const int64_t begin = chunk * job->slice, count = hm_least(job->slice, total - begin);
    double *strip = job->scratch ? job->scratch + chunk * chunk_doubles(job) : NULL;
    switch (job->plan) {
    case DIRECT:
        if (job->by_rows)
            direct_range(job, strip, begin, count, 0, p->columns);
        else
            direct_range(job, strip, 0, p->rows, begin, count);
        break;
    case DOT:
        note(job, job->kernels->dot(p->rows, count, p->depth, p->left.data, p->left.row,
                                    p->right.data + begin * p->right.column, p->right.column,
                                    p->out + begin, p->out_row, p->row_bias,
                                    p->column_bias ? p->column_bias + begin : NULL));
        break;
    case STRIPS: strips_range(job, strip, begin, count); break;
    case PACKED: break;
    }
}

/* ---- packed ---- */

/* Packing: first the slivers of the left operand, a block of rows a chunk, then panels of the
 * right. */
static void pack_chunk(void *task, int64_t chunk)
{
    product_job *job = task;
    const hm_product *p = job->product;
    const int64_t left_chunks = job->left_packed ? 0 : hm_ceiling(job->rows, job->block_rows);
    if (chunk < left_chunks) {
        const int64_t i = chunk * job->block_rows;
        job->kernels->pack_left(hm_least(job->block_rows, job->rows - i), job->depth,
                                p->left.data + (job->row + i) * p->left.row +
                                    job->k * p->left.column,
                                p->left.row, p->left.column, job->left + i * job->depth);
    } else {
        const int64_t j = (chunk - left_chunks) * job->block_columns;
        job->kernels->pack_right(job->depth, hm_least(job->block_columns, job->columns - j),
                                 p->right.data + job->k * p->right.row +
                                     (job->column + j) * p->right.column,
                                 p->right.row, p->right.column, job->right + j * job->depth,
                                 job->kernels->tile_columns * job->depth);
    }
}

static void multiply_chunk(void *task, int64_t chunk)
{
    product_job *job = task;
    const hm_product *p = job->product;
    const int64_t groups = hm_ceiling(job->columns, job->block_columns);
    const int64_t i = chunk / groups * job->block_rows, j = chunk % groups * job->block_columns;
    hm_contract_block b = {
        .rows = hm_least(job->block_rows, job->rows - i),
        .columns = hm_least(job->block_columns, job->columns - j),
        .depth = job->depth,
        .left = job->left + i * job->depth,
        .left_panel = job->depth * job->kernels->tile_rows,
        .right = job->right + j * job->depth,
        .right_panel = job->depth * job->kernels->tile_columns,
        .right_step = job->kernels->tile_columns,
        .out = p->out + (job->row + i) * p->out_row + job->column + j,
        .out_row = p->out_row,
        .first = job->k == 0,
        .last = job->k + job->depth == p->depth,
        .row_bias = p->row_bias ? p->row_bias + job->row + i : NULL,
        .column_bias = p->column_bias ? p->column_bias + job->column + j : NULL,
    };
    if (job->leaves_left) {
        b.left = p->left.data + (job->row + i) * p->left.row + job->k;
        b.left_panel = 0;
        b.left_row = p->left.row;
        b.left_step = 1;
    }
    note(job, job->kernels->block(&b));
}

/* Blocks as even as possible, and twice as many as threads where the product is large enough. */
static void cut_blocks(product_job *job, int64_t threads)
{
    const int64_t height = job->kernels->tile_rows, width = job->kernels->tile_columns;
    const int64_t panels = hm_ceiling(job->columns, width);
    const int64_t groups = hm_ceiling(panels, BLOCK_PANELS);
    int64_t blocks = hm_ceiling(job->rows, BLOCK_ROWS);
    if (threads > 1 && blocks * groups < 2 * threads)
        blocks = hm_ceiling(2 * threads, groups);
    job->block_columns = hm_ceiling(panels, groups) * width;
    job->block_rows = hm_round_up(hm_ceiling(job->rows, blocks), height);
}

static void run_packed(const hm_context *ctx, product_job *job)
{
    const hm_product *p = job->product;
    const int64_t depth = hm_least(DEPTH, p->depth);
    job->left = job->scratch;
    job->left_packed |= job->leaves_left;
    job->right =
        job->scratch + depth * hm_round_up(hm_least(ROWS, p->rows), job->kernels->tile_rows);
    for (job->column = 0; job->column < p->columns; job->column += COLUMNS) {
        job->columns = hm_least(COLUMNS, p->columns - job->column);
        for (job->k = 0; job->k < p->depth; job->k += DEPTH) {
            job->depth = hm_least(DEPTH, p->depth - job->k);
            for (job->row = 0; job->row < p->rows; job->row += ROWS) {
                job->rows = hm_least(ROWS, p->rows - job->row);
                cut_blocks(job, ctx ? hm_context_threads(ctx) : 1);
                const int64_t blocks = hm_ceiling(job->rows, job->block_rows);
                const int64_t groups = hm_ceiling(job->columns, job->block_columns);
                const int64_t slivers = job->left_packed ? 0 : blocks;
                run_chunks(ctx, slivers + (job->row == 0 ? groups : 0), pack_chunk, job);
                run_chunks(ctx, blocks * groups, multiply_chunk, job);
                job->left_packed = job->keeps_left || job->leaves_left;
            }
        }
    }
}

/* ---- one product ---- */

static bool worth_threads(const hm_product *p)
{
    return (double)p->rows * (double)p->columns * (double)p->depth >= SERIAL;
}

/* Cuts of rows or columns into whole tiles, and which part of the product the busiest thread gets. */
typedef struct slicing {
    bool by_rows;
    int64_t slice, chunks;
    double busiest;
} slicing;

static slicing slice_by(const product_job *job, bool by_rows, int64_t wanted, int64_t threads)
{
    const hm_contract_kernels *k = job->kernels;
    const int64_t total = by_rows ? job->product->rows : job->product->columns;
    const int64_t unit = by_rows ? k->tile_rows : k->tile_columns;
    const int64_t slice = hm_round_up(hm_ceiling(total, wanted), unit);
    const int64_t chunks = hm_ceiling(total, slice);
    const int64_t most = hm_least(hm_ceiling(chunks, threads) * slice, total);
    return (slicing){by_rows, slice, chunks, (double)most / (double)total};
}

/*
 * Twice as many chunks as threads, so that a thread that comes late costs little, unless as many as
 * threads are more even. Rows may be cut where the right operand, which every thread then reads, is small
 * beside the rest or fits in L2.
 */
static void plan_job(product_job *job, int64_t threads)
{
    const hm_product *p = job->product;
    const int64_t some = threads > 1 && worth_threads(p) ? threads : 1;
    job->plan = choose(job->kernels, p);
    job->keeps_strips = job->plan == DIRECT && keeps_strips(job->kernels, p);
    job->packs_left = job->plan == DIRECT && packs_left(job->kernels, p);
    job->keeps_left = packs_left_once(p);
    job->leaves_left = leaves_left(job->kernels, p);
    const bool rows_too =
        job->plan == DIRECT && (p->rows > p->columns || p->depth * p->columns <= 1 << 16);
    slicing best = {.busiest = 2};
    for (int cut = 0; cut < (rows_too ? 4 : 2); cut++) {
        const int64_t wanted = some > 1 && cut % 2 == 0 ? 2 * some : some;
        const slicing s = slice_by(job, cut < 2 && rows_too, wanted, some);
        if (s.busiest < best.busiest)
            best = s;
    }
    job->by_rows = best.by_rows;
    job->slice = best.slice;
    job->chunks = best.chunks;
}

static size_t scratch_doubles(const product_job *job)
{
    const hm_product *p = job->product;
    const int64_t width = job->kernels->tile_columns, height = job->kernels->tile_rows;
    int64_t doubles = job->chunks * chunk_doubles(job);
    if (job->plan == PACKED)
        doubles = hm_least(DEPTH, p->depth) * (hm_round_up(hm_least(ROWS, p->rows), height) +
                                               hm_round_up(hm_least(COLUMNS, p->columns), width));
    return (size_t)doubles;
}

static void run(const hm_context *ctx, product_job *job)
{
    if (job->plan == PACKED)
        run_packed(ctx, job);
    else
        run_chunks(ctx, job->chunks, unpacked_chunk, job);
}

/* ---- batches ---- */

typedef struct batch_job {
    const hm_product *product;
    const product_job *plan;
    size_t scratch_each;
    int64_t slice;
    double *scratch;
    atomic_bool infinite;
} batch_job;

static hm_product member(const hm_product *p, int64_t b)
{
    hm_product one = *p;
    one.batch = 1;
    one.left.data += b * p->left.batch;
    one.right.data += b * p->right.batch;
    one.out += b * p->out_batch;
    return one;
}

/* A matrix whose batch lies in one piece. */
static int64_t piece(hm_matrix m, int64_t rows, int64_t columns)
{
    return m.batch == rows * columns ? m.batch : 0;
}

/* Doubles of both operands and the result. */
static int64_t doubles_of(const hm_product *p)
{
    return p->rows * p->depth + p->depth * p->columns + p->rows * p->columns;
}

/*
 * Small products of a large batch would wait for memory, as each begins where the processor foresees nothing: so
 * the operands and the result of the next are fetched while one is multiplied (64 of 64 cubed on Sapphire Rapids:
 * 580 -> 430 us). L2 must hold two of them (8 of 256 cubed lost 3 %), and the least are over before it helps.
 */
static bool fetches_ahead(const product_job *job, const hm_product *p)
{
    const int64_t LEAST = 512, doubles = doubles_of(p);
    return p->batch > 1 && p->depth > 0 && job->chunks == 1 &&
           (job->plan == DIRECT || job->plan == STRIPS) && doubles >= LEAST &&
           doubles <= job->kernels->left_in_place;
}

/* At product b of a batch. */
static void aim(hm_contract_ahead *ahead, const hm_product *p, int64_t b)
{
    const hm_product one = member(p, b);
    const double *starts[] = {one.left.data, one.right.data, one.out};
    const int64_t doubles[] = {piece(p->left, p->rows, p->depth),
                               piece(p->right, p->depth, p->columns), p->out_batch};
    for (int r = 0; r < 3; r++)
        ahead->range[r] = (hm_contract_range){starts[r], starts[r] + doubles[r]};
}

/* Doubles a link, in each of the three places of a tile, that bring all of a product near. */
static int64_t step_ahead(const product_job *job, const hm_product *p)
{
    const int64_t tiles = hm_ceiling(p->rows, job->kernels->tile_rows) *
                          hm_ceiling(p->columns, job->kernels->tile_columns);
    return hm_least(hm_ceiling(doubles_of(p), 3 * tiles * p->depth), LINE);
}

/* Products begin ... end - 1 of a batch, one after the other. */
static void run_members(const hm_context *ctx, product_job *job, const hm_product *p, int64_t begin,
                        int64_t end)
{
    const bool fetches = fetches_ahead(job, p);
    hm_contract_ahead ahead = {.step = fetches ? step_ahead(job, p) : 0};
    for (int64_t b = begin; b < end; b++) {
        const hm_product one = member(p, b);
        job->product = &one;
        job->ahead = fetches && b + 1 < end ? &ahead : NULL;
        if (job->ahead)
            aim(&ahead, p, b + 1);
        run(ctx, job);
    }
}

static void batch_chunk(void *task, int64_t chunk)
{
    batch_job *all = task;
    product_job job = *all->plan;
    if (all->scratch) /* some products need none */
        job.scratch = all->scratch + (size_t)chunk * all->scratch_each;
    const int64_t end = hm_least((chunk + 1) * all->slice, all->product->batch);
    run_members(NULL, &job, all->product, chunk * all->slice, end);
    if (atomic_load_explicit(&job.infinite, memory_order_relaxed))
        atomic_store_explicit(&all->infinite, true, memory_order_relaxed);
}

/*
 * Products too small to share are dealt out whole, and so are middling ones that come out even, as the heads of
 * an attention do: sharing each is a meeting of the threads for each. Larger ones are shared, one after the other.
 */
static bool are_dealt_out(const hm_product *p, int64_t threads)
{
    const double MIDDLING = 1 << 22; /* multiplications, some 100 us */
    const double work = (double)p->rows * (double)p->columns * (double)p->depth;
    return !worth_threads(p) || p->batch >= 4 * threads ||
           (p->batch % threads == 0 && work <= MIDDLING);
}

static hm_status run_batch(hm_context *ctx, const hm_product *p, product_job *job, bool *finite)
{
    const int64_t threads = hm_context_threads(ctx);
    const bool shared = threads > 1 && !are_dealt_out(p, threads);
    plan_job(job, shared || p->batch == 1 ? threads : 1);
    const bool many = threads > 1 && !shared && p->batch > 1;
    batch_job all = {.product = p, .plan = job, .scratch_each = scratch_doubles(job)};
    const double work = (double)p->batch * (double)p->rows * (double)p->columns * (double)p->depth;
    int64_t chunks = many && work >= SERIAL ? hm_least(p->batch, 4 * threads) : 1;
    all.slice = hm_ceiling(p->batch, chunks);
    chunks = hm_ceiling(p->batch, all.slice);
    if (all.scratch_each) {
        const hm_status st =
            hm_scratch_create(ctx, (size_t)chunks * all.scratch_each, sizeof(double), &all.scratch);
        if (st != HMATH_OK)
            return st;
    }
    if (many) {
        hm_parallel_for(ctx, chunks, batch_chunk, &all);
    } else {
        job->scratch = all.scratch;
        run_members(ctx, job, p, 0, p->batch);
    }
    *finite = !atomic_load(&all.infinite) && !atomic_load(&job->infinite);
    hm_scratch_release(ctx, all.scratch);
    return HMATH_OK;
}

/*
 * A result of one column is one of one row, seen from the other side: a * b rounds as b * a. Not with
 * both biases, whose order would be exchanged.
 */
static hm_product turned(const hm_product *p)
{
    hm_product t = *p;
    t.rows = p->columns;
    t.columns = p->rows;
    t.left = (hm_matrix){p->right.data, p->right.column, p->right.row, p->right.batch};
    t.right = (hm_matrix){p->left.data, p->left.column, p->left.row, p->left.batch};
    t.row_bias = p->column_bias;
    t.column_bias = p->row_bias;
    return t;
}

hm_status hm_contract_by(hm_context *ctx, const hm_contract_kernels *kernels,
                         const hm_product *product, bool *finite)
{
    *finite = true;
    if (product->batch == 0 || product->rows == 0 || product->columns == 0)
        return HMATH_OK;
    hm_product p = *product;
    if (p.columns == 1 && p.rows > 1 && p.out_row == 1 && !(p.row_bias && p.column_bias))
        p = turned(product);
    product_job job = {.kernels = kernels, .product = &p};
    return run_batch(ctx, &p, &job, finite);
}

hm_status hm_contract(hm_context *ctx, const hm_product *product, bool *finite)
{
    return hm_contract_by(ctx, hm_context_kernels(ctx)->contract, product, finite);
}
