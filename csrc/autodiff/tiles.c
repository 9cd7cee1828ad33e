/*
 * Elementwise nodes of one shape, run tile by tile: each tile goes through the whole group while it is
 * in the cache, so a chain of n nodes costs one pass over memory. Threads take runs of tiles; elements
 * do not know of each other, so nothing depends on who takes which.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "autodiff/plan.h"
#include "runtime/buffer.h"
#include "runtime/pool.h"

enum { MOST_CHUNKS = 256 };

/* ------------------------------------------------- operands from outside */

/* Merge the axes of `shape` that the operand walks in one stride. */
void hm_tile_spread_axes(const hm_shape *operand, const hm_shape *shape, hm_tile_spread *out)
{
    int64_t step[HM_MAX_RANK], stride = 1;
    int32_t lead = shape->rank - operand->rank;
    for (int32_t i = shape->rank; i-- > 0;) {
        int64_t own = i < lead ? 1 : operand->extent[i - lead];
        step[i] = own == 1 ? 0 : stride;
        stride *= own;
    }
    out->axes = 0;
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->extent[i] == 1)
            continue;
        int32_t last = out->axes - 1;
        if (last >= 0 && out->stride[last] == step[i] * shape->extent[i]) {
            out->extent[last] *= shape->extent[i];
            out->stride[last] = step[i];
        } else {
            out->extent[out->axes] = shape->extent[i];
            out->stride[out->axes++] = step[i];
        }
    }
    if (out->axes == 1 && out->stride[0] == 0)
        out->axes = 0;
}

static void fill(double *to, double x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        to[i] = x;
}

/* Elements first ... first + n - 1 of the spread operand. */
static void spread(const hm_tile_spread *how, const double *from, int64_t first, int64_t n,
                   double *to)
{
    int64_t at[HM_MAX_RANK], rest = first, source = 0;
    for (int32_t k = how->axes; k-- > 0;) {
        at[k] = rest % how->extent[k];
        rest /= how->extent[k];
        source += at[k] * how->stride[k];
    }
    const int32_t inner = how->axes - 1;
    const int64_t run = how->extent[inner], stride = how->stride[inner];
    while (n > 0) {
        int64_t count = run - at[inner] < n ? run - at[inner] : n;
        if (stride == 0)
            fill(to, from[source], count);
        else
            for (int64_t i = 0; i < count; i++)
                to[i] = from[source + i * stride];
        to += count;
        n -= count;
        source += count * stride;
        at[inner] += count;
        for (int32_t k = inner; k > 0 && at[k] == how->extent[k]; k--) { /* carry */
            source += how->stride[k - 1] - how->extent[k] * how->stride[k];
            at[k] = 0;
            at[k - 1]++;
        }
    }
}

/* ------------------------------------------------- one tile */

typedef struct tile {
    const hm_frame *frame;
    const hm_tiles *tiles;
    double *registers;
    int64_t first, n;
} tile;

static double *operand(const tile *t, const hm_place *place)
{
    if (place->kind == HM_PLACE_REGISTER)
        return t->registers + place->index * hm_tile_room(t->tiles->size);
    return hm_place_pointer(t->frame, place) + t->first;
}

/*
 * Does every tile see the same numbers: one, or rows that begin anew with each tile? Such an operand stays in
 * its register for all tiles: the register is its own.
 */
static bool repeats(const hm_tile_spread *how)
{
    int64_t period = 1;
    for (int32_t k = 1; k < how->axes; k++)
        period *= how->extent[k];
    return how->axes == 0 || (how->stride[0] == 0 && HM_TILE % period == 0);
}

static void load(const tile *t, const hm_tile_spread *how)
{
    const double *from = hm_place_pointer(t->frame, &how->from);
    double *to = t->registers + how->to * hm_tile_room(t->tiles->size);
    if (how->axes == 0)
        fill(to, *from, t->n);
    else
        spread(how, from, t->first, t->n, to);
}

static void load_spreads(const tile *t, bool repeating)
{
    for (int32_t i = 0; i < t->tiles->spread_count; i++)
        if (repeats(&t->tiles->spreads[i]) == repeating)
            load(t, &t->tiles->spreads[i]);
}

static void find_operands(const tile *t, const hm_tile_op *op, const double **inputs,
                          double **output)
{
    for (int32_t k = 0; k < op->node->count; k++)
        inputs[k] = op->repeated >> k & 1 ? hm_place_pointer(t->frame, &op->inputs[k])
                                          : operand(t, &op->inputs[k]);
    *output = operand(t, &op->output);
}

static bool run_map(const tile *t, const hm_tile_op *op, const double *const *inputs,
                    double *output)
{
    return op->node->op->map(hm_context_kernels(t->frame->ctx), hm_node_attributes(op->node),
                             inputs, op->repeated, output, t->n);
}

/* An op, and the one along with it: either of the two is the one that can compute both. */
static bool run_op(const tile *t, const hm_tile_op *op)
{
    const double *inputs[HM_MAX_MAP_ARITY];
    double *output, *other_output;
    find_operands(t, op, inputs, &output);
    if (op->along == HM_NONE)
        return run_map(t, op, inputs, output);
    const hm_tile_op *other = &t->tiles->ops[op->along];
    const hm_node *node = op->node, *first = node->op->map_two ? node : other->node;
    other_output = operand(t, &other->output);
    return first->op->map_two(hm_context_kernels(t->frame->ctx), hm_node_attributes(first),
                              inputs[0], first == node ? output : other_output,
                              first == node ? other_output : output, t->n);
}

static bool run_chain(const tile *t, const hm_tile_step *steps, int32_t count)
{
    hm_chain_step chain[HM_CHAIN_MOST];
    for (int32_t i = 0; i < count; i++) {
        chain[i].code = steps[i].code;
        chain[i].x =
            steps[i].moves ? operand(t, &steps[i].x) : hm_place_pointer(t->frame, &steps[i].x);
        chain[i].y = hm_place_pointer(t->frame, &steps[i].y);
    }
    return hm_context_kernels(t->frame->ctx)->arithmetic->chain((size_t)t->n, chain, count);
}

/* True where every result is finite. */
static bool run_tile(const tile *t)
{
    const hm_tiles *tiles = t->tiles;
    bool finite = true;
    load_spreads(t, false);
    for (int32_t i = 0; i < tiles->part_count; i++) {
        const hm_tile_part *part = &tiles->parts[i];
        finite &= part->count ? run_chain(t, &tiles->steps[part->first], part->count)
                              : run_op(t, &tiles->ops[part->first]);
    }
    return finite;
}

/* The same once more, looking at each result as it comes. */
static hm_status find_failure_in_tile(const tile *t)
{
    load_spreads(t, false);
    for (int32_t i = 0; i < t->tiles->op_count; i++) {
        const hm_tile_op *op = &t->tiles->ops[i];
        const double *inputs[HM_MAX_MAP_ARITY];
        double *output;
        find_operands(t, op, inputs, &output);
        if (run_map(t, op, inputs, output))
            continue;
        for (int64_t j = 0; j < t->n; j++) {
            if (isfinite(output[j]))
                continue;
            double x[HM_MAX_MAP_ARITY];
            for (int32_t k = 0; k < op->node->count; k++)
                x[k] = inputs[k][op->repeated >> k & 1 ? 0 : j];
            return hm_refuse_element(t->frame->ctx, op->node, x, t->first + j);
        }
    }
    return HMATH_OK;
}

/* ------------------------------------------------- all tiles */

typedef struct job {
    const hm_frame *frame;
    const hm_tiles *tiles;
    int64_t chunks;
    atomic_bool bad, no_memory;
} job;

static int64_t tile_count(const hm_tiles *tiles) { return (tiles->size + HM_TILE - 1) / HM_TILE; }

static void move_to(tile *t, int64_t i)
{
    const int64_t rest = t->tiles->size - i * HM_TILE;
    t->first = i * HM_TILE;
    t->n = rest < HM_TILE ? rest : HM_TILE;
}

/* The first tile, with what stays for all of them. */
static tile open_tile(const hm_frame *frame, const hm_tiles *tiles, double *registers)
{
    tile t = {frame, tiles, registers, 0, 0};
    move_to(&t, 0);
    load_spreads(&t, true);
    return t;
}

static bool run_tiles(const hm_frame *frame, const hm_tiles *tiles, double *registers, int64_t from,
                      int64_t to)
{
    bool finite = true;
    tile t = open_tile(frame, tiles, registers);
    for (int64_t i = from; i < to; i++) {
        move_to(&t, i);
        finite &= run_tile(&t);
    }
    return finite;
}

static void run_chunk(void *task, int64_t chunk)
{
    job *j = task;
    size_t capacity;
    const size_t room = (size_t)(j->tiles->registers * hm_tile_room(j->tiles->size));
    double *registers = hm_block_take(room * sizeof(double), &capacity);
    if (!registers) {
        atomic_store(&j->no_memory, true);
        return;
    }
    int64_t n = tile_count(j->tiles);
    if (!run_tiles(j->frame, j->tiles, registers, n * chunk / j->chunks,
                   n * (chunk + 1) / j->chunks))
        atomic_store(&j->bad, true);
    hm_block_give(registers, capacity);
}

static hm_status find_failure(const hm_frame *frame, const hm_tiles *tiles)
{
    tile t = open_tile(frame, tiles, frame->registers);
    hm_status st = HMATH_OK;
    for (int64_t i = 0; i < tile_count(tiles) && st == HMATH_OK; i++) {
        move_to(&t, i);
        st = find_failure_in_tile(&t);
    }
    return st;
}

hm_status hm_tiles_run(const hm_frame *frame, const hm_tiles *tiles)
{
    job j = {.frame = frame, .tiles = tiles};
    if (tiles->size == 0) /* no tile at all, not even a first one that shows what repeats */
        return HMATH_OK;
    j.chunks = hm_chunks(tile_count(tiles), tiles->tiles_per_chunk, MOST_CHUNKS);
    if (j.chunks > 1 && hm_context_threads(frame->ctx) > 1)
        hm_parallel_for(frame->ctx, j.chunks, run_chunk, &j);
    else if (!run_tiles(frame, tiles, frame->registers, 0, tile_count(tiles)))
        atomic_store(&j.bad, true);
    if (atomic_load(&j.no_memory))
        return hm_fail_memory(frame->ctx);
    return atomic_load(&j.bad) ? find_failure(frame, tiles) : HMATH_OK;
}
