/*
 * Carrying a move out: first it is brought to its simplest form, then it is walked as a stack of
 * two-dimensional grids, the one shape of loop that copies, fills, gathers and transposes.
 */
#include <string.h>

#include "runtime/pool.h"
#include "tensor/arrange.h"

/* ------------------------------------------------- the simplest form */

/* Run every axis upwards on the `to` side. */
static void turn_axes(hm_move *m)
{
    for (int32_t i = 0; i < m->axes; i++) {
        if (m->to[i] >= 0)
            continue;
        m->to_start += m->to[i] * (m->extent[i] - 1);
        m->from_start += m->from[i] * (m->extent[i] - 1);
        m->to[i] = -m->to[i];
        m->from[i] = -m->from[i];
    }
}

static void set_axis(hm_move *m, int32_t i, const hm_move *source, int32_t j)
{
    m->extent[i] = source->extent[j];
    m->from[i] = source->from[j];
    m->to[i] = source->to[j];
}

/* Axes of one position are none; the others in the order in which they run through `to`. */
static void sort_axes(hm_move *m)
{
    hm_move sorted = *m;
    sorted.axes = 0;
    for (int32_t i = 0; i < m->axes; i++) {
        if (m->extent[i] == 1)
            continue;
        int32_t place = sorted.axes++;
        for (; place > 0 && sorted.to[place - 1] < m->to[i]; place--)
            set_axis(&sorted, place, &sorted, place - 1);
        set_axis(&sorted, place, m, i);
    }
    *m = sorted;
}

/*
 * Neighbouring axes are one where the inner one's end is the outer one's next step, on both sides.
 */
static void merge_axes(hm_move *m)
{
    int32_t kept = 0;
    for (int32_t i = 1; i < m->axes; i++) {
        if (m->from[kept] == m->from[i] * m->extent[i] && m->to[kept] == m->to[i] * m->extent[i]) {
            m->extent[kept] *= m->extent[i];
            m->from[kept] = m->from[i];
            m->to[kept] = m->to[i];
        } else {
            set_axis(m, ++kept, m, i);
        }
    }
    if (m->axes > 0)
        m->axes = kept + 1;
}

/* ------------------------------------------------- one grid */

typedef struct grid {
    int64_t rows, from_row, to_row;
    int64_t columns, from_column, to_column;
} grid;

enum { TILE = 16, SHORT_RUN = 16 };

/* Each size of element has its own copy of this, in which memcpy is one instruction. */
static inline __attribute__((always_inline)) void copy_grid(const grid *g, size_t size,
                                                            const char *from, char *to)
{
    const int64_t step = (int64_t)size;
    if (g->from_column == 1 && g->to_column == 1 && g->columns >= SHORT_RUN) {
        for (int64_t r = 0; r < g->rows; r++)
            memcpy(to + r * g->to_row * step, from + r * g->from_row * step,
                   (size_t)g->columns * size);
        return;
    }
    /* tiles, so that neither side is read or written in strides over more than the first cache */
    for (int64_t first = 0; first < g->columns; first += TILE * TILE) {
        int64_t last = first + TILE * TILE < g->columns ? first + TILE * TILE : g->columns;
        for (int64_t r = 0; r < g->rows; r++) {
            const char *source = from + r * g->from_row * step;
            char *target = to + r * g->to_row * step;
            if (g->from_column == 0) {
                char element[sizeof(double)];
                memcpy(element, source, size);
                for (int64_t c = first; c < last; c++)
                    memcpy(target + c * g->to_column * step, element, size);
                continue;
            }
            for (int64_t c = first; c < last; c++)
                memcpy(target + c * g->to_column * step, source + c * g->from_column * step, size);
        }
    }
}

static void copy_doubles(const hm_kernels *kernels, const grid *g, const double *from, double *to)
{
    if (g->from_row == 1 && g->to_column == 1 && g->from_column != 1)
        kernels->arrange->transpose(g->rows, g->columns, from, g->from_column, to, g->to_row);
    else
        copy_grid(g, sizeof(double), (const char *)from, (char *)to);
}

static void copy_floats(const grid *g, const float *from, float *to)
{
    copy_grid(g, sizeof(float), (const char *)from, (char *)to);
}

/* ------------------------------------------------- a box of grids */

typedef struct job {
    const hm_kernels *kernels;
    size_t element_size;
    const void *from;
    void *to;
    hm_move move;  /* the whole box, in simplest form */
    int32_t split; /* the axis that is cut into chunks */
    int64_t chunks;
} job;

/*
 * The innermost axis makes the columns. The rows are the axis that runs along `from` where the
 * columns do not, since then the grid is a transposed matrix; else the next axis out.
 */
static int32_t row_axis(const hm_move *m)
{
    const int32_t inner = m->axes - 1;
    if (inner > 0 && m->from[inner] != 1)
        for (int32_t i = 0; i < inner; i++)
            if (m->from[i] == 1)
                return i;
    return inner - 1;
}

static void walk(const job *j, const hm_move *m)
{
    grid g = {.rows = 1, .columns = 1, .from_column = 1, .to_column = 1};
    const int32_t inner = m->axes - 1, rows = row_axis(m);
    if (inner >= 0)
        g.columns = m->extent[inner], g.from_column = m->from[inner], g.to_column = m->to[inner];
    if (rows >= 0)
        g.rows = m->extent[rows], g.from_row = m->from[rows], g.to_row = m->to[rows];

    int64_t position[HM_MAX_RANK] = {0};
    int64_t from = m->from_start, to = m->to_start;
    for (;;) {
        if (j->element_size == sizeof(double))
            copy_doubles(j->kernels, &g, (const double *)j->from + from, (double *)j->to + to);
        else
            copy_floats(&g, (const float *)j->from + from, (float *)j->to + to);

        int32_t axis = inner - 1; /* the next grid: count up like an odometer */
        for (; axis >= 0; axis--) {
            if (axis == rows)
                continue;
            from += m->from[axis];
            to += m->to[axis];
            if (++position[axis] < m->extent[axis])
                break;
            from -= m->from[axis] * m->extent[axis];
            to -= m->to[axis] * m->extent[axis];
            position[axis] = 0;
        }
        if (axis < 0)
            return;
    }
}

static void walk_chunk(void *task, int64_t chunk)
{
    const job *j = task;
    hm_move part = j->move;
    if (part.axes > 0) {
        const int32_t axis = j->split;
        int64_t first = hm_split(part.extent[axis], j->chunks, chunk);
        part.extent[axis] = hm_split(part.extent[axis], j->chunks, chunk + 1) - first;
        part.from_start += first * part.from[axis];
        part.to_start += first * part.to[axis];
    }
    walk(j, &part);
}

enum {
    ELEMENTS_A_CHUNK = 1 << 15, /* some 15 microseconds of copying */
    MOST_CHUNKS = 64
};

void hm_move_run(const hm_context *ctx, const hm_move *move, size_t element_size, const void *from,
                 void *to)
{
    job j = {.kernels = hm_context_kernels(ctx),
             .element_size = element_size,
             .from = from,
             .to = to,
             .move = *move};
    int64_t size = 1;
    for (int32_t i = 0; i < move->axes; i++)
        size *= move->extent[i];
    if (size == 0)
        return;
    turn_axes(&j.move);
    sort_axes(&j.move);
    merge_axes(&j.move);

    j.chunks = hm_chunks(size, ELEMENTS_A_CHUNK, MOST_CHUNKS);
    for (int32_t i = 1; i < j.move.axes && j.move.extent[j.split] < j.chunks; i++)
        if (j.move.extent[i] > j.move.extent[j.split])
            j.split = i;
    if (j.move.axes > 0 && j.move.extent[j.split] < j.chunks)
        j.chunks = j.move.extent[j.split];
    hm_parallel_for(ctx, j.chunks, walk_chunk, &j);
}
