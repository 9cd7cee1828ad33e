/*
 * How a product is cut.
 *
 *   strips   where the left operand, packed, is small: each chunk is a range of columns, packs all of
 *            the left operand for itself, and uses the panels that it packs while they are in L2. Nobody
 *            waits for anybody.
 *   shared   the rest: all threads pack a block of the right operand, then each packs and multiplies
 *            the rows of its own. Packed rows are kept for the next block of columns where that takes no
 *            more than so much memory.
 */
#include "tensor/panels.h"

#include "kernels/cpu.h"
#include "runtime/pool.h"
#include "tensor/extent.h"

enum {
    SMALL_LEFT = 64 << 10,   /* bytes of packed left operand that are packed again by every chunk */
    FEW_ROWS = 64,           /* likewise, whatever the depth */
    GROUP_BYTES = 128 << 10, /* of panels that are packed and used at once, in strips */
    PANEL_COLUMNS = 1024,    /* packed at once, shared */
    LARGE_CACHE = 2 << 20, /* an L2 that half of has to hold them, as what lies behind it is slow */
    KEPT_BYTES = 16 << 20, /* of packed left operand */
};

typedef struct cut {
    const hm_panels *p;
    void *job;
    int64_t slivers, panels; /* of all rows; of all columns, or of the block at hand */
    hm_range k, columns;     /* the block at hand, shared */
    int64_t chunks, row_blocks;
    char *left, *right;             /* of chunk 0 */
    size_t left_bytes, right_bytes; /* from one chunk to the next */
    size_t kept_bytes; /* from one kept sliver of a chunk to the next; 0: none is kept */
} cut;

static hm_range part(int64_t n, int64_t parts, int64_t i)
{
    const int64_t first = hm_split(n, parts, i);
    return (hm_range){first, hm_split(n, parts, i + 1) - first};
}

/* Sliver i of `slivers`, as even as possible: of an even number of rows, the last one perhaps excepted. */
static hm_range part_of_rows(int64_t rows, int64_t slivers, int64_t i)
{
    const hm_range pairs = part(hm_ceiling(rows, 2), slivers, i);
    return (hm_range){2 * pairs.first, hm_least(2 * pairs.count, rows - 2 * pairs.first)};
}

/* Part i of `parts` of the cut's panels, as columns. */
static hm_range part_of_panels(const cut *c, int64_t parts, int64_t i, int64_t *first_panel)
{
    const hm_range panels = part(c->panels, parts, i);
    const int64_t width = c->p->tile_columns, first = panels.first * width;
    *first_panel = panels.first;
    return (hm_range){c->columns.first + first,
                      hm_least(panels.count * width, c->columns.count - first)};
}

static hm_range block_of_depth(const hm_panels *p, int64_t k)
{
    return (hm_range){k, hm_least(p->depth_block, p->depth - k)};
}

static void run(hm_context *ctx, cut *c, int64_t chunks, void (*body)(void *, int64_t))
{
    if (chunks > 1)
        hm_parallel_for(ctx, chunks, body, c);
    else
        body(c, 0);
}

static size_t cache_lines(int64_t bytes) { return (size_t)hm_round_up(bytes, 64); }

static hm_status allocate(hm_context *ctx, cut *c, size_t shared_right)
{
    const size_t chunks = (size_t)c->chunks;
    const hm_status st = hm_scratch_create(
        ctx, chunks * (c->left_bytes + c->right_bytes) + shared_right, 1, &c->left);
    c->right = c->left + chunks * c->left_bytes;
    return st;
}

/* ------------------------------------------------- strips */

static void multiply_strip(void *task, int64_t chunk)
{
    const cut *c = task;
    const hm_panels *p = c->p;
    int64_t panel;
    const hm_range all = part_of_panels(c, c->chunks, chunk, &panel);
    char *slivers = c->left + (size_t)chunk * c->left_bytes;
    char *panels = c->right + (size_t)chunk * c->right_bytes;
    const int64_t width = (int64_t)(c->right_bytes / p->panel_bytes) * p->tile_columns;
    for (int64_t k = 0; k < p->depth; k += p->depth_block) {
        const hm_range depth = block_of_depth(p, k);
        for (int64_t s = 0; s < c->slivers; s++)
            p->pack_left(c->job, part_of_rows(p->rows, c->slivers, s), depth,
                         slivers + (size_t)s * p->sliver_bytes);
        for (int64_t j = 0; j < all.count; j += width) {
            const hm_range columns = {all.first + j, hm_least(width, all.count - j)};
            p->pack_right(c->job, depth, columns, panels);
            for (int64_t s = 0; s < c->slivers; s++)
                p->multiply(c->job, part_of_rows(p->rows, c->slivers, s), columns, depth,
                            slivers + (size_t)s * p->sliver_bytes, panels);
        }
    }
}

static hm_status run_strips(hm_context *ctx, cut *c, int64_t threads)
{
    const hm_panels *p = c->p;
    const int64_t group = hm_most(1, GROUP_BYTES / (int64_t)p->panel_bytes);
    c->columns = (hm_range){0, p->columns};
    c->chunks = hm_least(c->panels, threads);
    c->left_bytes = cache_lines(c->slivers * (int64_t)p->sliver_bytes);
    c->right_bytes = (size_t)hm_least(group, hm_ceiling(c->panels, c->chunks)) * p->panel_bytes;
    const hm_status st = allocate(ctx, c, 0);
    if (st == HMATH_OK)
        run(ctx, c, c->chunks, multiply_strip);
    return st;
}

/* ------------------------------------------------- shared */

static void pack_panels(void *task, int64_t chunk)
{
    const cut *c = task;
    int64_t panel;
    const hm_range columns = part_of_panels(c, hm_least(c->chunks, c->panels), chunk, &panel);
    c->p->pack_right(c->job, c->k, columns, c->right + (size_t)panel * c->p->panel_bytes);
}

static void multiply_rows(void *task, int64_t chunk)
{
    const cut *c = task;
    const hm_panels *p = c->p;
    const int64_t groups = c->chunks / c->row_blocks;
    const hm_range rows = part_of_rows(p->rows, c->row_blocks, chunk / groups);
    int64_t panel;
    const hm_range columns = part_of_panels(c, groups, chunk % groups, &panel);
    const int64_t slivers = hm_ceiling(rows.count, p->tile_rows);
    char *sliver = c->left + (size_t)chunk * c->left_bytes;
    for (int64_t s = 0; s < slivers; s++) {
        hm_range some = part_of_rows(rows.count, slivers, s);
        some.first += rows.first;
        if (!c->kept_bytes || c->columns.first == 0)
            p->pack_left(c->job, some, c->k, sliver);
        p->multiply(c->job, some, columns, c->k, sliver, c->right + (size_t)panel * p->panel_bytes);
        sliver += c->kept_bytes;
    }
}

/*
 * Panels to pack at once. Every sliver meets all of them, so they had better stay in L2; where L2 is small,
 * narrow blocks would have the left operand packed too often.
 */
static int64_t panels_at_once(const hm_panels *p)
{
    const int64_t panels = hm_ceiling(p->columns, p->tile_columns);
    const int64_t cache = hm_cpu_own_caches().second;
    int64_t most = PANEL_COLUMNS / p->tile_columns;
    if (cache >= LARGE_CACHE)
        most = hm_least(most, hm_most(1, cache / 2 / (int64_t)p->panel_bytes));
    return hm_ceiling(panels, hm_ceiling(panels, most)); /* blocks of equal size */
}

/* Two equal chunks a thread; of rows, as long as there is a sliver for each. */
static void cut_chunks(cut *c, int64_t threads)
{
    const int64_t wanted = threads == 1 ? 1 : 2 * threads;
    c->row_blocks = c->slivers >= wanted ? wanted : hm_least(threads, c->slivers);
    c->chunks = c->row_blocks;
    if (c->row_blocks < threads)
        c->chunks *= hm_least(c->panels, hm_ceiling(wanted, c->row_blocks));
}

/* Room for one sliver of each chunk, or for all, where more columns are to come that need them again. */
static void cut_slivers(cut *c, bool again)
{
    const hm_panels *p = c->p;
    const int64_t rows = part_of_rows(p->rows, c->row_blocks, 0).count;
    const size_t all = (size_t)hm_ceiling(rows, p->tile_rows) * p->sliver_bytes;
    const bool keep =
        again && c->chunks == c->row_blocks && (size_t)c->chunks * all <= (size_t)KEPT_BYTES;
    c->kept_bytes = keep ? p->sliver_bytes : 0;
    c->left_bytes = cache_lines(keep ? (int64_t)all : (int64_t)p->sliver_bytes);
}

static void multiply_block(hm_context *ctx, cut *c)
{
    run(ctx, c, hm_least(c->chunks, c->panels), pack_panels);
    run(ctx, c, c->chunks, multiply_rows);
}

static hm_status run_shared(hm_context *ctx, cut *c, int64_t threads)
{
    const hm_panels *p = c->p;
    c->panels = panels_at_once(p);
    const int64_t width = c->panels * p->tile_columns;
    cut_chunks(c, threads);
    cut_slivers(c, width < p->columns);
    const hm_status st = allocate(ctx, c, (size_t)c->panels * p->panel_bytes);
    if (st != HMATH_OK)
        return st;
    for (int64_t k = 0; k < p->depth; k += p->depth_block) {
        c->k = block_of_depth(p, k);
        for (int64_t j = 0; j < p->columns; j += width) {
            c->columns = (hm_range){j, hm_least(width, p->columns - j)};
            c->panels = hm_ceiling(c->columns.count, p->tile_columns);
            cut_chunks(c, threads);
            multiply_block(ctx, c);
        }
    }
    return HMATH_OK;
}

hm_status hm_run_panels(hm_context *ctx, const hm_panels *p, void *job)
{
    if (p->rows == 0 || p->columns == 0)
        return HMATH_OK;
    const double work = (double)p->rows * (double)p->columns * (double)p->depth;
    const int64_t threads = work < p->serial ? 1 : hm_context_threads(ctx);
    cut c = {.p = p,
             .job = job,
             .slivers = hm_ceiling(p->rows, p->tile_rows),
             .panels = hm_ceiling(p->columns, p->tile_columns)};
    const bool small = p->rows <= FEW_ROWS || c.slivers * (int64_t)p->sliver_bytes <= SMALL_LEFT;
    const hm_status st = small ? run_strips(ctx, &c, threads) : run_shared(ctx, &c, threads);
    hm_scratch_release(ctx, c.left);
    return st;
}
