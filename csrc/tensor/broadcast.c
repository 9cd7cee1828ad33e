#include "tensor/broadcast.h"

#include <stdatomic.h>
#include <string.h>

#include "runtime/pool.h"

/* ------------------------------------------------- plans */

/* The stride of each axis of `result` in one operand. */
static void operand_strides(const hm_shape *operand, const hm_shape *result,
                            int64_t stride[HM_MAX_RANK])
{
    int64_t own[HM_MAX_RANK];
    hm_shape_strides(operand, own);
    const int32_t added = result->rank - operand->rank;
    for (int32_t i = 0; i < result->rank; i++)
        stride[i] = i < added || operand->extent[i - added] == 1 ? 0 : own[i - added];
}

hm_broadcast hm_broadcast_plan(const hm_shape *left, const hm_shape *right, const hm_shape *result)
{
    hm_broadcast plan = {.size = hm_shape_span(result, 0, result->rank)};
    int64_t l[HM_MAX_RANK], r[HM_MAX_RANK];
    operand_strides(left, result, l);
    operand_strides(right, result, r);
    for (int32_t i = 0; i < result->rank; i++) {
        const int64_t n = result->extent[i];
        const int32_t last = plan.axes - 1;
        if (n == 1)
            continue;
        if (last >= 0 && plan.left[last] == l[i] * n && plan.right[last] == r[i] * n) {
            plan.extent[last] *= n;
            plan.left[last] = l[i];
            plan.right[last] = r[i];
        } else {
            plan.extent[plan.axes] = n;
            plan.left[plan.axes] = l[i];
            plan.right[plan.axes++] = r[i];
        }
    }
    return plan;
}

void hm_broadcast_places(const hm_broadcast *plan, int64_t element, int64_t *left, int64_t *right)
{
    *left = *right = 0;
    for (int32_t i = plan->axes - 1; i >= 0; i--) {
        const int64_t position = element % plan->extent[i];
        element /= plan->extent[i];
        *left += position * plan->left[i];
        *right += position * plan->right[i];
    }
}

/* ------------------------------------------------- walking */

/* A place in the result, and where that is in the operands. */
typedef struct cursor {
    int64_t position[HM_MAX_RANK];
    int64_t left, right;
} cursor;

static cursor cursor_at(const hm_broadcast *plan, int64_t element)
{
    cursor c = {.left = 0};
    for (int32_t i = plan->axes - 1; i >= 0; i--) {
        c.position[i] = element % plan->extent[i];
        element /= plan->extent[i];
        c.left += c.position[i] * plan->left[i];
        c.right += c.position[i] * plan->right[i];
    }
    return c;
}

/* On by n steps along an axis, which do not go beyond its end. */
static void move_along(const hm_broadcast *plan, cursor *c, int32_t axis, int64_t n)
{
    int64_t steps = n;
    for (int32_t i = axis; i >= 0; i--, steps = 1) {
        c->position[i] += steps;
        c->left += steps * plan->left[i];
        c->right += steps * plan->right[i];
        if (c->position[i] < plan->extent[i])
            return;
        c->left -= plan->extent[i] * plan->left[i];
        c->right -= plan->extent[i] * plan->right[i];
        c->position[i] = 0;
    }
}

static void move_on(const hm_broadcast *plan, cursor *c, int64_t n)
{
    move_along(plan, c, plan->axes - 1, n);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Long innermost runs go to the kernel one by one. */
static bool run_by_run(const hm_broadcast *plan, hm_binary_kernel *kernel, const double *left,
                       const double *right, int64_t first, int64_t n, double *out)
{
    const int32_t inner = plan->axes - 1;
    const size_t left_step = (size_t)plan->left[inner], right_step = (size_t)plan->right[inner];
    bool finite = true;
    cursor c = cursor_at(plan, first);
    for (int64_t done = 0; done < n;) {
        const int64_t run = least(plan->extent[inner] - c.position[inner], n - done);
        finite &=
            kernel((size_t)run, left + c.left, left_step, right + c.right, right_step, out + done);
        move_on(plan, &c, run);
        done += run;
    }
    return finite;
}

/*
 * Short runs, such as the three columns of (1000, 3) + (3,), are not worth a call each. An operand
 * that is not simply contiguous is spread out, a tile at a time, into a buffer in the first cache,
 * and the kernel gets whole tiles.
 */
enum { TILE = 768, SHORT_RUN = 48 };

typedef enum spread {
    CONTIGUOUS, /* as it lies */
    PERIODIC,   /* repeated on all outer axes: one filled tile serves every tile */
    GATHERED
} spread;

/* How an operand of these strides is read; *period of a periodic one divides a tile's length. */
static spread spread_of(const hm_broadcast *plan, const int64_t *stride, int64_t *period)
{
    int64_t span = 1;
    int32_t axis = plan->axes - 1;
    for (; axis >= 0 && stride[axis] == span; axis--)
        span *= plan->extent[axis];
    if (axis < 0)
        return CONTIGUOUS;
    for (; axis >= 0; axis--)
        if (stride[axis] != 0)
            return GATHERED;
    if (span > TILE)
        return GATHERED;
    *period = span;
    return PERIODIC;
}

/*
 * `rows` runs of `columns` elements each. Behind a tile is room for a run that is written too wide.
 */
enum { WIDE = 8 };

static void gather_rows(const double *from, int64_t row, int64_t step, int64_t rows,
                        int64_t columns, double *tile)
{
    if (step == 0 && columns <= WIDE) {
        for (int64_t r = 0; r < rows; r++, tile += columns)
            for (int64_t i = 0; i < WIDE; i++)
                tile[i] = from[r * row];
        return;
    }
    for (int64_t r = 0; r < rows; r++, tile += columns)
        for (int64_t i = 0; i < columns; i++)
            tile[i] = from[r * row + i * step];
}

/* Whole rows of the two innermost axes at a time; what is left of a row at either end alone. */
static void gather(const hm_broadcast *plan, const int64_t *stride, const double *operand,
                   int64_t first, int64_t n, double *tile)
{
    const int32_t inner = plan->axes - 1, outer = inner - 1;
    const int64_t columns = plan->extent[inner];
    const bool is_left = stride == plan->left;
    cursor c = cursor_at(plan, first);
    for (int64_t done = 0; done < n;) {
        const double *from = operand + (is_left ? c.left : c.right);
        const int64_t rows =
            c.position[inner] == 0 && outer >= 0
                ? least(plan->extent[outer] - c.position[outer], (n - done) / columns)
                : 0;
        if (rows > 0) {
            gather_rows(from, stride[outer], stride[inner], rows, columns, tile + done);
            move_along(plan, &c, outer, rows);
            done += rows * columns;
            continue;
        }
        const int64_t run = least(columns - c.position[inner], n - done);
        gather_rows(from, 0, stride[inner], 1, run, tile + done);
        move_on(plan, &c, run);
        done += run;
    }
}

typedef struct side {
    spread how;
    const int64_t *stride;
    const double *operand;
    double tile[TILE + WIDE];
} side;

static void open_side(side *s, const hm_broadcast *plan, const int64_t *stride,
                      const double *operand, int64_t *period)
{
    s->stride = stride;
    s->operand = operand;
    s->how = spread_of(plan, stride, period);
}

static const double *read_side(side *s, const hm_broadcast *plan, int64_t at, int64_t n)
{
    if (s->how == CONTIGUOUS)
        return s->operand + at;
    if (s->how == GATHERED)
        gather(plan, s->stride, s->operand, at, n, s->tile);
    return s->tile;
}

static bool tile_by_tile(const hm_broadcast *plan, hm_binary_kernel *kernel, const double *left,
                         const double *right, int64_t first, int64_t n, double *out)
{
    side l, r;
    int64_t period = 1; /* both sides periodic would be a plan of fewer axes */
    open_side(&l, plan, plan->left, left, &period);
    open_side(&r, plan, plan->right, right, &period);
    const int64_t length = l.how == PERIODIC || r.how == PERIODIC ? TILE / period * period : TILE;
    if (l.how == PERIODIC)
        gather(plan, plan->left, left, first, least(length, n), l.tile);
    if (r.how == PERIODIC)
        gather(plan, plan->right, right, first, least(length, n), r.tile);

    bool finite = true;
    for (int64_t done = 0; done < n; done += length) {
        const int64_t run = least(length, n - done);
        const double *a = read_side(&l, plan, first + done, run);
        const double *b = read_side(&r, plan, first + done, run);
        finite &= kernel((size_t)run, a, 1, b, 1, out + done);
    }
    return finite;
}

bool hm_broadcast_range(const hm_broadcast *plan, hm_binary_kernel *kernel, const double *left,
                        const double *right, int64_t first, int64_t n, double *out)
{
    if (n == 0)
        return true;
    if (plan->axes == 0)
        return kernel(1, left, 1, right, 1, out);
    if (plan->axes == 1 || plan->extent[plan->axes - 1] >= SHORT_RUN)
        return run_by_run(plan, kernel, left, right, first, n, out);
    return tile_by_tile(plan, kernel, left, right, first, n, out);
}

/* ------------------------------------------------- threads */

enum {
    ELEMENTS_A_CHUNK = 1 << 14, /* 10 to 20 microseconds of most kernels */
    MOST_CHUNKS = 128,
    LINE = 8 /* chunks begin at cache lines of the result */
};

typedef struct job {
    const hm_broadcast *plan;
    hm_binary_kernel *kernel;
    const double *left, *right;
    double *out;
    int64_t chunks;
    atomic_bool spoiled;
} job;

static void run_chunk(void *task, int64_t chunk)
{
    job *j = task;
    const int64_t lines = (j->plan->size + LINE - 1) / LINE;
    const int64_t first = LINE * hm_split(lines, j->chunks, chunk);
    const int64_t last = least(LINE * hm_split(lines, j->chunks, chunk + 1), j->plan->size);
    if (!hm_broadcast_range(j->plan, j->kernel, j->left, j->right, first, last - first,
                            j->out + first))
        atomic_store_explicit(&j->spoiled, true, memory_order_relaxed);
}

bool hm_broadcast_run(const hm_context *ctx, const hm_broadcast *plan, hm_binary_kernel *kernel,
                      const double *left, const double *right, double *out)
{
    job j = {.plan = plan,
             .kernel = kernel,
             .left = left,
             .right = right,
             .out = out,
             .chunks = hm_chunks(plan->size, ELEMENTS_A_CHUNK, MOST_CHUNKS)};
    hm_parallel_for(ctx, j.chunks, run_chunk, &j);
    return !j.spoiled;
}
