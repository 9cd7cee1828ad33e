/*
 * A program of calls read from bytes: any of the 135 wrappers, and arithmetic of graphs, with arguments made for
 * their types, with what earlier calls gave, and now and then with what does not fit at all.
 *
 * Whatever comes in, a call gives a value that holds finite numbers alone, or a failure that says what is wrong
 * and gives nothing; and in the end nothing is left alive.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cursor.h"
#include "hmath_autodiff.h"
#include "hmath_deeplearning.h"
#include "hmath_random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_ARGUMENTS = 7, POOL = 48, MOST_CALLS = 64, LONGEST = 8, LARGEST = 2048, DEPTH = 3 };

typedef void (*function)(void);

typedef struct wrapper {
    const char *name;
    function call;
    int count;
    const char *result;
    const char *types[MOST_ARGUMENTS];
} wrapper;

static const wrapper wrappers[] = {/* fewer than a byte has values */
#define ROW(name, count, result, ...) {#name, (function)name, count, result, {__VA_ARGS__}},
#include "wrappers.inc"
#define ONE(name) ROW(hmath_autodiff_##name, 1, "ADTensor", "ADTensor")
#define TWO(name) ROW(hmath_autodiff_##name, 2, "ADTensor", "ADTensor", "ADTensor")
                                   TWO(add) TWO(subtract) TWO(multiply) TWO(divide) TWO(power)
                                       TWO(maximum) TWO(less) TWO(matmul) ONE(negate) ONE(absolute)
                                           ONE(square) ONE(sqrt) ONE(exp) ONE(log) ONE(sin)
                                               ONE(tanh) ONE(erf)
#undef ONE
#undef TWO
#undef ROW
};

enum { WRAPPERS = sizeof wrappers / sizeof wrappers[0] };

/*
 * Values in use, with the types they were made for; and the variables among them, with values to bind. Most extents
 * and lengths of one program are alike, and most tensors have so many axes: others seldom fit together.
 */
typedef struct machine {
    cursor in;
    hmath_context *ctx;
    size_t extent, spatial_axes;
    hmath_value *pool[POOL];
    const char *types[POOL];
    int count;
    hmath_value *variables[POOL], *bindings[POOL];
    int variable_count;
} machine;

static const char *running = "";

#define DEMAND(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s: %s\n", running, #condition); \
            abort(); \
        } \
    } while (0)

/* ------------------------------------------------- what comes out */

static void check_numbers(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        DEMAND(isfinite(x[i]));
}

/* Lists of lists are not deep here, but one that a call gives could be anything. */
static void check_value(machine *m, const hmath_value *v, int depth)
{
    double x;
    const double *numbers;
    size_t n, columns;
    const int32_t kind = hmath_kind(v);
    DEMAND(v && hmath_kind_name(kind));
    if (hmath_double_get(v, &x) == HMATH_OK)
        check_numbers(&x, 1);
    else if (kind == HMATH_KIND_TENSOR_DOUBLE)
        check_numbers(hmath_tensor_data(v), hmath_tensor_size(v));
    else if (hmath_list_doubles(v, &numbers, &n) == HMATH_OK)
        check_numbers(numbers, (int64_t)n);
    else if (hmath_rows_doubles(v, &numbers, &n, &columns) == HMATH_OK)
        check_numbers(numbers, (int64_t)(n * columns));
    for (int64_t i = 0; depth < DEPTH && i < hmath_tuple_length(v); i++) {
        hmath_value *item = NULL;
        DEMAND(hmath_tuple_item(m->ctx, v, (size_t)i, &item) == HMATH_OK);
        check_value(m, item, depth + 1);
        hmath_release(item);
    }
}

static void check_failure(const machine *m, hmath_status st)
{
    const hmath_error *error = hmath_last_error(m->ctx);
    DEMAND(st == HMATH_CHECKED || st == HMATH_BAD_ARGUMENT || st == HMATH_NO_MEMORY);
    DEMAND(error && error->message && *error->message);
    DEMAND(st != HMATH_CHECKED || (error->constructor >= HMATH_DOMAIN_ERROR &&
                                   error->constructor <= HMATH_TYPE_MISMATCH && error->operation));
}

/* True where the call gave a value, which is sound. */
static int check_outcome(machine *m, hmath_status st, const hmath_value *out)
{
    if (st == HMATH_OK) {
        check_value(m, out, 0);
        return 1;
    }
    DEMAND(!out);
    check_failure(m, st);
    return 0;
}

/* ------------------------------------------------- the pool */

/* Owns v from here on; the oldest goes where there is no room. */
static void keep(machine *m, hmath_value *v, const char *type)
{
    const int at = m->count++ % POOL;
    hmath_release(m->pool[at]);
    m->pool[at] = v;
    m->types[at] = type;
}

/* A value of that type from the pool, with a reference for the caller, or NULL. */
static hmath_value *find(machine *m, const char *type)
{
    const int n = m->count < POOL ? m->count : POOL;
    const int from = n ? (int)below(&m->in, (size_t)n) : 0;
    for (int i = 0; i < n; i++)
        if (strcmp(m->types[(from + i) % n], type) == 0)
            return hmath_retain(m->pool[(from + i) % n]);
    return NULL;
}

/* ------------------------------------------------- what goes in */

static hmath_value *make(machine *m, const char *type, int depth);
static hmath_value *make_number(machine *m, const char *type);

static size_t next_length(machine *m)
{
    return once_in(&m->in, 6) ? below(&m->in, LONGEST) : m->extent;
}

static int next_shape(machine *m, int64_t *shape)
{
    const int rank = (int)(once_in(&m->in, 2) ? below(&m->in, 6) : m->spatial_axes + 2);
    int64_t size = 1;
    for (int i = 0; i < rank; i++) {
        shape[i] = once_in(&m->in, 12) ? (int64_t)below(&m->in, 6) : (int64_t)m->extent;
        shape[i] = size * shape[i] > LARGEST ? 1 : shape[i];
        size *= shape[i];
    }
    return rank;
}

/* Tame ones let a call get further than the check of its numbers. */
static void next_doubles(machine *m, double *x, size_t n)
{
    const size_t how = below(&m->in, 8);
    for (size_t i = 0; i < n; i++) {
        const double byte = next_byte(&m->in);
        x[i] = how == 0   ? next_double(&m->in)
               : how <= 2 ? byte / 256 /* a probability */
               : how == 3 ? (byte < 128 ? 0 : 1)
               : how == 4 ? (byte < 128 ? -1 : 1)
                          : (byte - 127.5) / 64;
    }
}

static hmath_value *make_tensor(machine *m)
{
    double x[LARGEST];
    float floats[LARGEST];
    int64_t shape[8];
    hmath_value *out = NULL;
    const int rank = next_shape(m, shape);
    size_t size = 1;
    for (int i = 0; i < rank; i++)
        size *= (size_t)shape[i];
    next_doubles(m, x, size);
    for (size_t i = 0; i < size; i++)
        floats[i] = (float)x[i];
    DEMAND((once_in(&m->in, 16) ? hmath_tensor_from_floats(m->ctx, rank, shape, floats, &out)
                                : hmath_tensor_create(m->ctx, rank, shape, x, &out)) == HMATH_OK);
    return out;
}

static hmath_value *make_list(machine *m, const char *element)
{
    double x[LONGEST];
    int64_t whole[LONGEST];
    uint8_t flags[LONGEST];
    hmath_value *out = NULL;
    const size_t n = *element == 'I' && once_in(&m->in, 2) ? m->spatial_axes : next_length(m);
    next_doubles(m, x, n);
    for (size_t i = 0; i < n; i++) {
        whole[i] = next_int(&m->in);
        flags[i] = next_byte(&m->in) & 1;
    }
    DEMAND((*element == 'D'   ? hmath_list_from_doubles(m->ctx, x, n, &out)
            : *element == 'I' ? hmath_list_from_ints(m->ctx, whole, n, &out)
                              : hmath_list_from_bools(m->ctx, flags, n, &out)) == HMATH_OK);
    return out;
}

static hmath_value *make_rows(machine *m, const char *element)
{
    double x[LONGEST * LONGEST];
    uint8_t flags[LONGEST * LONGEST];
    hmath_value *out = NULL;
    const size_t rows = next_length(m), columns = next_length(m);
    next_doubles(m, x, rows * columns);
    for (size_t i = 0; i < rows * columns; i++)
        flags[i] = next_byte(&m->in) % 4 > 0;
    DEMAND((*element == 'D'
                ? hmath_rows_from_doubles(m->ctx, x, rows, columns, &out)
                : hmath_rows_from_bools(m->ctx, flags, rows, columns, &out)) == HMATH_OK);
    return out;
}

/* A list of anything. */
static hmath_value *make_values(machine *m, const char *type, int depth)
{
    hmath_value *items[LONGEST] = {NULL}, *out = NULL;
    const size_t n = next_length(m);
    for (size_t i = 0; i < n; i++) {
        items[i] = make(m, type, depth);
        items[i] = items[i] ? items[i] : make_number(m, "Double");
    }
    DEMAND(hmath_list_create(m->ctx, (const hmath_value *const *)items, n, &out) == HMATH_OK);
    for (size_t i = 0; i < n; i++)
        hmath_release(items[i]);
    return out;
}

/* A variable, which is remembered with a value of its shape. */
static hmath_value *make_variable(machine *m, int scalar)
{
    double x[LARGEST];
    int64_t shape[8], size = 1;
    hmath_value *out = NULL, *value = NULL;
    const int rank = scalar ? 0 : next_shape(m, shape);
    for (int i = 0; i < rank; i++)
        size *= shape[i];
    if (m->variable_count == POOL)
        return hmath_retain(m->variables[0]);
    next_doubles(m, x, (size_t)size);
    DEMAND(hmath_autodiff_variable(m->ctx, "x", rank, shape, &out) == HMATH_OK);
    DEMAND((rank ? hmath_tensor_create(m->ctx, rank, shape, x, &value)
                 : hmath_double_create(m->ctx, x[0], &value)) == HMATH_OK);
    m->variables[m->variable_count] = hmath_retain(out);
    m->bindings[m->variable_count++] = value;
    return out;
}

static hmath_value *make_rng(machine *m)
{
    hmath_value *generator = NULL, *out = NULL;
    DEMAND((once_in(&m->in, 4) ? hmath_random_mt19937_create(m->ctx, &generator)
                               : hmath_random_pcg32_create(m->ctx, 54, &generator)) == HMATH_OK);
    DEMAND(hmath_random_seed(m->ctx, generator, next_byte(&m->in), &out) == HMATH_OK);
    hmath_release(generator);
    return out;
}

static hmath_value *call(machine *m, const wrapper *w, int depth);

/* By one of the wrappers that give such a value. */
static hmath_value *make_by_call(machine *m, const char *type, int depth)
{
    const size_t from = below(&m->in, WRAPPERS);
    for (size_t i = 0; depth < DEPTH && i < WRAPPERS; i++) {
        const wrapper *w = &wrappers[(from + i) % WRAPPERS];
        if (strcmp(w->result, type) == 0)
            return call(m, w, depth + 1);
    }
    return NULL;
}

static hmath_value *make_number(machine *m, const char *type)
{
    hmath_value *out = NULL;
    DEMAND((*type == 'D'   ? hmath_double_create(m->ctx, next_double(&m->in), &out)
            : *type == 'I' ? hmath_int_create(m->ctx, next_int(&m->in), &out)
                           : hmath_bool_create(m->ctx, next_byte(&m->in) & 1, &out)) == HMATH_OK);
    return out;
}

/* A value of a type, or NULL where none could be made. */
static hmath_value *make(machine *m, const char *type, int depth)
{
    static const char maybe[] = "Maybe ";
    if (strncmp(type, maybe, sizeof maybe - 1) == 0)
        return once_in(&m->in, 2) ? NULL : make(m, type + sizeof maybe - 1, depth);
    hmath_value *found = once_in(&m->in, 3) ? find(m, type) : NULL;
    if (found)
        return found;
    if (strcmp(type, "Double") == 0 || strcmp(type, "Int") == 0 || strcmp(type, "Bool") == 0)
        return make_number(m, type);
    if (strcmp(type, "Tensor") == 0)
        return make_tensor(m);
    if (strcmp(type, "RNG") == 0)
        return make_rng(m);
    if (strcmp(type, "ADExpr") == 0 || strcmp(type, "ADTensor") == 0)
        return once_in(&m->in, 4) ? make_by_call(m, type, depth) : make_variable(m, type[2] == 'E');
    if (strcmp(type, "[ADExpr]") == 0)
        return make_values(m, "ADExpr", depth);
    if (strcmp(type, "[[ADExpr]]") == 0)
        return make_values(m, "[ADExpr]", depth);
    if (strncmp(type, "[[", 2) == 0)
        return make_rows(m, type + 2);
    if (*type == '[')
        return make_list(m, type + 1);
    return make_by_call(m, type, depth);
}

/* Any value there is, whatever it is. */
static hmath_value *make_any(machine *m, int depth)
{
    static const char *const types[] = {"Double", "Int",    "Bool",       "[Double]",
                                        "[Int]",  "Tensor", "[[Double]]", "ADTensor"};
    if (m->count && once_in(&m->in, 2))
        return hmath_retain(m->pool[below(&m->in, (size_t)(m->count < POOL ? m->count : POOL))]);
    return make(m, types[below(&m->in, sizeof types / sizeof types[0])], depth);
}

/* ------------------------------------------------- calls */

typedef const hmath_value *in;

/* The function as what it is. */
static hmath_status apply(const wrapper *w, hmath_context *ctx, hmath_value **a, hmath_value **out)
{
#define AS(...) ((hmath_status(*)(hmath_context *, __VA_ARGS__))w->call)
    switch (w->count) {
    case 0: return AS(hmath_value **)(ctx, out);
    case 1: return AS(in, hmath_value **)(ctx, a[0], out);
    case 2: return AS(in, in, hmath_value **)(ctx, a[0], a[1], out);
    case 3: return AS(in, in, in, hmath_value **)(ctx, a[0], a[1], a[2], out);
    case 4: return AS(in, in, in, in, hmath_value **)(ctx, a[0], a[1], a[2], a[3], out);
    case 5: return AS(in, in, in, in, in, hmath_value **)(ctx, a[0], a[1], a[2], a[3], a[4], out);
    case 6:
        return AS(in, in, in, in, in, in, hmath_value **)(ctx, a[0], a[1], a[2], a[3], a[4], a[5],
                                                          out);
    default:
        return AS(in, in, in, in, in, in, in, hmath_value **)(ctx, a[0], a[1], a[2], a[3], a[4],
                                                              a[5], a[6], out);
    }
#undef AS
}

/* A record holds what it was given, be it a number or not. */
static int reads_a_record(const wrapper *w)
{
    static const char *const records[] = {"ClassificationMetrics", "BatchNormState", "LossScaler"};
    for (size_t i = 0; w->count == 1 && i < sizeof records / sizeof records[0]; i++)
        if (strcmp(w->types[0], records[i]) == 0)
            return 1;
    return 0;
}

/* The result, or NULL where the call failed as it may. */
static hmath_value *call(machine *m, const wrapper *w, int depth)
{
    hmath_value *arguments[MOST_ARGUMENTS] = {NULL}, *out = NULL;
    for (int i = 0; i < w->count; i++)
        arguments[i] = once_in(&m->in, 24) ? make_any(m, depth) : make(m, w->types[i], depth);
    running = w->name;
    const hmath_status st = apply(w, m->ctx, arguments, &out);
    if (st != HMATH_OK || !reads_a_record(w))
        check_outcome(m, st, out);
    for (int i = 0; i < w->count; i++)
        hmath_release(arguments[i]);
    return out;
}

/* A node's value, and its gradient where it has one element. */
static void differentiate(machine *m)
{
    hmath_value *node = find(m, once_in(&m->in, 2) ? "ADExpr" : "ADTensor"), *gradient = NULL;
    const hmath_value *const *variables = (const hmath_value *const *)m->variables;
    if (!node || !m->variable_count)
        return hmath_release(node);
    running = "hmath_autodiff_gradient";
    const size_t one = below(&m->in, (size_t)m->variable_count);
    hmath_status st = hmath_autodiff_gradient(m->ctx, node, variables + one, 1, &gradient);
    if (check_outcome(m, st, gradient))
        keep(m, gradient, "ADTensor");
    hmath_value *results[2] = {NULL};
    const hmath_value *outputs[] = {node, gradient};
    const size_t n = gradient ? 2 : 1;
    running = "hmath_autodiff_evaluate";
    st = hmath_autodiff_evaluate(m->ctx, outputs, n, variables,
                                 (const hmath_value *const *)m->bindings, (size_t)m->variable_count,
                                 results);
    for (size_t i = 0; i < n; i++) {
        check_outcome(m, st, results[i]);
        hmath_release(results[i]);
    }
    hmath_release(node);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static hmath_context *ctx;
    if (!ctx)
        DEMAND(hmath_context_create(NULL, &ctx) == HMATH_OK);
    const int64_t alive = hmath_live_values();
    machine m = {.in = {data, data + size}, .ctx = ctx};
    m.extent = 1 + below(&m.in, 4);
    m.spatial_axes = 1 + below(&m.in, 3);
    for (int i = 0; i < MOST_CALLS && m.in.at < m.in.end; i++) {
        const wrapper *w = &wrappers[below(&m.in, WRAPPERS)];
        hmath_value *out = once_in(&m.in, 12) ? NULL : call(&m, w, 0);
        if (out)
            keep(&m, out, w->result);
        else if (once_in(&m.in, 4))
            differentiate(&m);
    }
    for (int i = 0; i < POOL; i++)
        hmath_release(m.pool[i]);
    for (int i = 0; i < m.variable_count; i++) {
        hmath_release(m.variables[i]);
        hmath_release(m.bindings[i]);
    }
    running = "all of it";
    DEMAND(hmath_live_values() == alive);
    return 0;
}
