/*
 * Arithmetic among the ops of a group, as chains that run in registers. An op works on the accumulator
 * where that holds one of its operands, and its result goes to memory only where somebody else reads it.
 * A product with one number that is read by one sum becomes a step of that sum.
 *
 * Ops know each other by places: a register holds the result of the last op that wrote it.
 */
#include <assert.h>
#include <string.h>

#include "autodiff/planner.h"

enum {
    MOST_STEPS = 4, /* of one op: load, compute, store, watch */
    WORTH_A_THREAD =
        60 /* in the units of cost(): a chunk takes several times as long as handing it over */
};

typedef struct chains {
    const hm_tile_op *ops;
    int32_t count;
    int32_t *writer; /* by register: the op that wrote it last, while ops are walked through */

    /* by op */
    int32_t *readers; /* how many operands are its result, if that is in a register */
    int32_t *reader;  /* the last of them */
    int32_t *product; /* of a sum: which operand is a product it takes over; HM_NONE */
    bool *watched;    /* its result has to be looked at */
    bool *taken_over;

    hm_tile_step *steps;
    hm_tile_part *parts;
    int32_t step_count, part_count;
    bool open;         /* the last part is a chain */
    bool full;         /* it holds the accumulator ... */
    hm_place contents; /* ... which has this place too ... */
    bool stored;       /* ... and has been written there */
} chains;

static bool is_arithmetic(const hm_tile_op *op)
{
    const uint32_t code = op->node->op->scalar_code;
    return code >= HM_SCALAR_ADD && code <= HM_SCALAR_SQRT;
}

/*
 * An infinity or a NaN that goes into one of these comes out as one, so that only their own results need
 * a look. (A quotient hides one in its divisor.)
 */
static bool passes_on(const hm_tile_op *op)
{
    const uint32_t code = op->node->op->scalar_code;
    return code == HM_SCALAR_ADD || code == HM_SCALAR_SUBTRACT || code == HM_SCALAR_MULTIPLY ||
           code == HM_SCALAR_NEGATE || code == HM_SCALAR_SQUARE;
}

static bool in_register(const hm_place *place) { return place->kind == HM_PLACE_REGISTER; }

static bool is_number(const hm_tile_op *op, int32_t k) { return op->repeated >> k & 1; }

/* The op whose result operand k is, HM_NONE where it comes from elsewhere. */
static int32_t source(const chains *c, const hm_tile_op *op, int32_t k)
{
    return in_register(&op->inputs[k]) ? c->writer[op->inputs[k].index] : HM_NONE;
}

static void note_writer(chains *c, int32_t m)
{
    if (in_register(&c->ops[m].output))
        c->writer[c->ops[m].output.index] = m;
}

static void find_readers(chains *c)
{
    for (int32_t m = 0; m < c->count; m++) {
        const hm_tile_op *op = &c->ops[m];
        for (int32_t k = 0; k < op->node->count; k++) {
            const int32_t from = source(c, op, k);
            if (from == HM_NONE)
                continue;
            c->readers[from]++;
            c->reader[from] = m;
            c->watched[from] |= !passes_on(op);
        }
        c->watched[m] = !in_register(&op->output);
        note_writer(c, m);
    }
}

/* Does a product begin with what the accumulator holds, so that it need not leave it on the way to a sum? */
static bool stays_in_accumulator(const chains *c, int32_t factor_source, int32_t product,
                                 int32_t sum)
{
    return factor_source != HM_NONE && factor_source + 1 == product && product + 1 == sum &&
           c->readers[factor_source] == 1 && is_arithmetic(&c->ops[factor_source]);
}

/* Is operand k of a sum a product with one number, read by nobody else, its factor still where it was? */
static bool can_take_over(const chains *c, const int32_t *factor_source, int32_t m, int32_t k)
{
    const hm_tile_op *sum = &c->ops[m];
    const int32_t from = source(c, sum, k);
    if (from == HM_NONE || is_number(sum, 1 - k) || c->readers[from] != 1 || c->watched[from] ||
        stays_in_accumulator(c, factor_source[from], from, m))
        return false;
    const hm_tile_op *product = &c->ops[from];
    return product->node->op->scalar_code == HM_SCALAR_MULTIPLY &&
           (product->repeated == 1 || product->repeated == 2) &&
           source(c, product, product->repeated == 1) == factor_source[from];
}

/* Of two products the older one: the younger is likely to be in the accumulator. */
static void take_products_over(chains *c, int32_t *factor_source)
{
    for (int32_t m = 0; m < c->count; m++) {
        const hm_tile_op *op = &c->ops[m];
        const uint32_t code = op->node->op->scalar_code;
        if (code == HM_SCALAR_MULTIPLY)
            factor_source[m] = source(c, op, op->repeated == 1);
        if (code == HM_SCALAR_ADD || code == HM_SCALAR_SUBTRACT) {
            const bool left = can_take_over(c, factor_source, m, 0);
            const bool right = can_take_over(c, factor_source, m, 1);
            if (left || right) {
                c->product[m] = !left || (right && source(c, op, 1) < source(c, op, 0));
                c->taken_over[source(c, op, c->product[m])] = true;
            }
        }
        note_writer(c, m);
    }
}

/* ------------------------------------------------- steps */

static void add_step(chains *c, int32_t code, bool moves, hm_place x, hm_place y)
{
    c->steps[c->step_count++] = (hm_tile_step){code, moves, x, y};
    c->parts[c->part_count - 1].count++;
}

static bool is_accumulator(const chains *c, const hm_place *place)
{
    return c->full && place->kind == c->contents.kind && place->index == c->contents.index;
}

static void load(chains *c, hm_place x)
{
    if (!is_accumulator(c, &x))
        add_step(c, HM_CHAIN_LOAD, true, x, (hm_place){0});
}

/* Operand k with the accumulator, which holds the other one. */
static void combine(chains *c, const hm_tile_op *op, int32_t k)
{
    static const int32_t codes[2][4] = {
        {HM_CHAIN_ADD, HM_CHAIN_SUBTRACT_FROM, HM_CHAIN_MULTIPLY, HM_CHAIN_DIVIDE_INTO},
        {HM_CHAIN_ADD, HM_CHAIN_SUBTRACT, HM_CHAIN_MULTIPLY, HM_CHAIN_DIVIDE}};
    const int32_t code = codes[k][op->node->op->scalar_code - HM_SCALAR_ADD];
    const int32_t number = is_number(op, k) ? HM_CHAIN_ADD_NUMBER - HM_CHAIN_ADD : 0;
    add_step(c, code + number, !number, op->inputs[k], (hm_place){0});
}

/* A sum of the accumulator and the product that operand k is. */
static void combine_product(chains *c, const hm_tile_op *op, int32_t k)
{
    const hm_tile_op *product = &c->ops[source(c, op, k)];
    const int32_t factor = product->repeated == 1;
    const int32_t code = op->node->op->scalar_code == HM_SCALAR_ADD ? HM_CHAIN_ADD_PRODUCT
                         : k == 1                                   ? HM_CHAIN_SUBTRACT_PRODUCT
                                  : HM_CHAIN_SUBTRACT_FROM_PRODUCT;
    add_step(c, code, true, product->inputs[factor], product->inputs[1 - factor]);
}

static void compute(chains *c, const hm_tile_op *op, int32_t product)
{
    const uint32_t code = op->node->op->scalar_code;
    if (product != HM_NONE) {
        load(c, op->inputs[1 - product]);
        combine_product(c, op, product);
    } else if (code >= HM_SCALAR_NEGATE) {
        load(c, op->inputs[0]);
        add_step(c, HM_CHAIN_NEGATE + (int32_t)(code - HM_SCALAR_NEGATE), false, (hm_place){0},
                 (hm_place){0});
    } else {
        const bool right = is_number(op, 0) || is_accumulator(c, &op->inputs[1]);
        load(c, op->inputs[right]);
        combine(c, op, !right);
    }
}

/* Is there room in the part for one more op, and `more` steps before it? */
static bool has_room(const chains *c, int32_t more)
{
    return c->parts[c->part_count - 1].count + more + MOST_STEPS <= HM_CHAIN_MOST;
}

/* Does the op after m read m's result straight from the accumulator, and nobody else at all? */
static bool goes_on(const chains *c, int32_t m)
{
    int32_t next = m + 1;
    while (next < c->count && c->taken_over[next])
        next++;
    return next < c->count && c->readers[m] == 1 && c->reader[m] == next &&
           is_arithmetic(&c->ops[next]) && has_room(c, c->watched[m]);
}

static void begin_part(chains *c, int32_t first)
{
    assert(c->stored);
    c->parts[c->part_count++] = (hm_tile_part){first, 0};
    c->full = false;
}

static void emit(chains *c, int32_t m)
{
    const hm_tile_op *op = &c->ops[m];
    if (!is_arithmetic(op)) {
        begin_part(c, m);
        c->open = false;
        return;
    }
    if (!c->open || !has_room(c, 0))
        begin_part(c, c->step_count);
    c->open = true;
    compute(c, op, c->product[m]);
    c->full = true;
    c->contents = op->output;
    c->stored = !in_register(&op->output) || !goes_on(c, m);
    if (c->stored)
        add_step(c, HM_CHAIN_STORE, true, op->output, (hm_place){0});
    if (c->watched[m])
        add_step(c, HM_CHAIN_WATCH, false, (hm_place){0}, (hm_place){0});
}

/*
 * What a tile costs, in units of about 0.1 us (Zen 4): a step in registers one, a quotient or a root four,
 * a function ten.
 */
static int32_t cost(const chains *c)
{
    enum { SLOW = 4, FUNCTION = 10 };
    int64_t sum = 0;
    for (int32_t i = 0; i < c->step_count; i++) {
        const int32_t code = c->steps[i].code;
        const bool slow = code == HM_CHAIN_DIVIDE || code == HM_CHAIN_DIVIDE_INTO ||
                          code == HM_CHAIN_DIVIDE_NUMBER || code == HM_CHAIN_DIVIDE_INTO_NUMBER ||
                          code == HM_CHAIN_SQRT;
        sum += slow ? SLOW : 1;
    }
    for (int32_t i = 0; i < c->part_count; i++)
        sum += c->parts[i].count ? 0 : FUNCTION;
    return sum < INT32_MAX ? (int32_t)sum : INT32_MAX;
}

/* ------------------------------------------------- all of it */

static void *kept_copy(hm_planner *p, const void *from, int32_t count, size_t size)
{
    void *kept = hm_program_keep(p->program, (size_t)count, size);
    if (kept && count)
        memcpy(kept, from, (size_t)count * size);
    return kept;
}

static void forget_writers(chains *c, const hm_tiles *tiles)
{
    memset(c->writer, 0xff, (size_t)tiles->registers * sizeof *c->writer);
}

hm_status hm_emit_chains(hm_planner *p, hm_tiles *tiles)
{
    const int32_t n = tiles->op_count;
    const int64_t mark = hm_plan_mark(p);
    chains c = {.ops = tiles->ops, .count = n, .stored = true};
    int32_t *factor_source = hm_plan_filled(p, n, sizeof *factor_source, 0xff);
    c.writer = hm_plan_temporary(p, tiles->registers, sizeof *c.writer);
    c.readers = hm_plan_filled(p, n, sizeof *c.readers, 0);
    c.reader = hm_plan_filled(p, n, sizeof *c.reader, 0xff);
    c.product = hm_plan_filled(p, n, sizeof *c.product, 0xff);
    c.watched = hm_plan_filled(p, n, sizeof *c.watched, 0);
    c.taken_over = hm_plan_filled(p, n, sizeof *c.taken_over, 0);
    c.steps = hm_plan_temporary(p, (int64_t)n * MOST_STEPS, sizeof *c.steps);
    c.parts = hm_plan_temporary(p, n, sizeof *c.parts);
    if (!factor_source || !c.writer || !c.readers || !c.reader || !c.product || !c.watched ||
        !c.taken_over || !c.steps || !c.parts)
        return hm_plan_no_memory(p);
    forget_writers(&c, tiles);
    find_readers(&c);
    forget_writers(&c, tiles);
    take_products_over(&c, factor_source);
    forget_writers(&c, tiles);
    for (int32_t m = 0; m < n; m++) {
        if (!c.taken_over[m] && (c.ops[m].along == HM_NONE || c.ops[m].along > m))
            emit(&c, m);
        note_writer(&c, m);
    }
    tiles->steps = kept_copy(p, c.steps, c.step_count, sizeof *c.steps);
    tiles->parts = kept_copy(p, c.parts, c.part_count, sizeof *c.parts);
    tiles->part_count = c.part_count;
    tiles->tiles_per_chunk = 1 + WORTH_A_THREAD / (cost(&c) + 1);
    hm_plan_give_back(p, mark, hm_plan_mark(p));
    return tiles->steps && tiles->parts ? HMATH_OK : hm_plan_no_memory(p);
}
