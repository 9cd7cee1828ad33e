#include "tensor/panels.h"

#include <assert.h>

#include "runtime/pool.h"

/*
 * PANEL_COLUMNS columns of packed right operand are shared by all threads. A task is one block of rows
 * and one group of panels; groups are as many as give every thread a few tasks, and wide enough that
 * packing the rows again for each one costs little.
 */
enum { PANEL_COLUMNS = 1024, ROW_SLIVERS = 6, GROUP_COLUMNS = 512, SERIAL_WORK = 1 << 16 };

typedef struct pass {
    const hm_panels *p;
    void *job;
    hm_range k, columns;
    char *right;
    int64_t groups;
} pass;

static int64_t ceiling(int64_t n, int64_t d) { return (n + d - 1) / d; }

static hm_range piece(int64_t first, int64_t size, int64_t end)
{
    return (hm_range){first, end - first < size ? end - first : size};
}

static void pack_panel(void *task, int64_t i)
{
    const pass *s = task;
    int64_t end = s->columns.first + s->columns.count;
    hm_range columns = piece(s->columns.first + i * s->p->tile_columns, s->p->tile_columns, end);
    s->p->pack_right(s->job, s->k, columns, s->right + (size_t)i * s->p->panel_bytes);
}

static void multiply_group(const pass *s, hm_range rows, const char *sliver, int64_t group)
{
    const int64_t width = s->p->tile_columns, end = s->columns.first + s->columns.count;
    const int64_t panels = ceiling(s->columns.count, width), each = ceiling(panels, s->groups);
    for (int64_t i = group * each; i < (group + 1) * each && i < panels; i++) {
        hm_range columns = piece(s->columns.first + i * width, width, end);
        s->p->tile(s->job, rows, columns, s->k, sliver, s->right + (size_t)i * s->p->panel_bytes);
    }
}

static void multiply_rows(void *task, int64_t i)
{
    const pass *s = task;
    const int64_t block = ROW_SLIVERS * s->p->tile_rows;
    _Alignas(64) char sliver[HM_SLIVER_BYTES];
    hm_range rows = piece(i / s->groups * block, block, s->p->rows);
    for (int64_t first = rows.first; first < rows.first + rows.count; first += s->p->tile_rows) {
        hm_range some = piece(first, s->p->tile_rows, rows.first + rows.count);
        s->p->pack_left(s->job, some, s->k, sliver);
        multiply_group(s, some, sliver, i % s->groups);
    }
}

/* Small products are not worth waking anybody. */
static void run(hm_context *ctx, const pass *s, int64_t chunks, void (*body)(void *, int64_t))
{
    if (s->p->rows * s->columns.count * s->k.count > SERIAL_WORK) {
        hm_parallel_for(ctx, chunks, body, (void *)(uintptr_t)s);
        return;
    }
    for (int64_t i = 0; i < chunks; i++)
        body((void *)(uintptr_t)s, i);
}

static int64_t groups_of(int64_t columns, int64_t row_blocks, int64_t threads)
{
    const int64_t most = ceiling(columns, GROUP_COLUMNS);
    const int64_t wanted = threads == 1 ? 1 : ceiling(4 * threads, row_blocks);
    return wanted < most ? wanted : most;
}

hm_status hm_run_panels(hm_context *ctx, const hm_panels *p, void *job)
{
    const int64_t widest = p->columns < PANEL_COLUMNS ? p->columns : PANEL_COLUMNS;
    const int64_t row_blocks = ceiling(p->rows, ROW_SLIVERS * p->tile_rows);
    if (p->rows == 0 || p->columns == 0)
        return HMATH_OK;

    assert(p->sliver_bytes <= HM_SLIVER_BYTES);
    pass s = {.p = p, .job = job};
    hm_status st =
        hm_scratch_create(ctx, (size_t)ceiling(widest, p->tile_columns), p->panel_bytes, &s.right);
    if (st != HMATH_OK)
        return st;
    for (int64_t j = 0; j < p->columns; j += PANEL_COLUMNS) {
        s.columns = piece(j, PANEL_COLUMNS, p->columns);
        s.groups = groups_of(s.columns.count, row_blocks, hm_context_threads(ctx));
        for (int64_t k = 0; k < p->depth; k += p->depth_block) {
            s.k = piece(k, p->depth_block, p->depth);
            run(ctx, &s, ceiling(s.columns.count, p->tile_columns), pack_panel);
            run(ctx, &s, row_blocks * s.groups, multiply_rows);
        }
    }
    hm_scratch_release(ctx, s.right);
    return HMATH_OK;
}
