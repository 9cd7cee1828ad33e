#include "autodiff/order.h"

#include <string.h>

#include "runtime/alloc.h"

enum { FREE = -1, FIRST_CAPACITY = 64, DIGIT = 11, BUCKETS = 1 << DIGIT };

/* The entry in the table of far nodes for a serial, or the free one where it belongs. */
static int32_t *far_entry(const hm_order *order, uint64_t serial)
{
    uint64_t i = (serial * 0x9e3779b97f4a7c15u >> 20) & order->mask;
    while (order->far[i] != FREE && order->nodes[order->far[i]]->serial != serial)
        i = (i + 1) & order->mask;
    return &order->far[i];
}

static int32_t *entry(const hm_order *order, uint64_t serial)
{
    const uint64_t age = order->youngest - serial;
    return age < order->near_size ? &order->near[age] : far_entry(order, serial);
}

int64_t hm_order_find(const hm_order *order, const hm_node *node)
{
    return node->serial > order->youngest ? FREE : *entry(order, node->serial);
}

void hm_order_free(hm_order *order)
{
    hm_free(order->nodes);
    hm_free(order->near);
    hm_free(order->far);
    hm_free(order->first_input);
    hm_free(order->inputs);
    *order = (hm_order){0};
}

/* Empty tables: one for the nearest nodes, one at most half full for what lies farther away. */
static bool make_tables(hm_order *order, int64_t capacity)
{
    int64_t far = 0;
    hm_free(order->near);
    hm_free(order->far);
    order->near_size = (uint64_t)capacity * 2;
    for (int64_t i = 0; i < order->count; i++)
        far += order->youngest - order->nodes[i]->serial >= order->near_size;
    order->mask = FIRST_CAPACITY - 1; /* the next nodes may be far all of them */
    while (order->mask < (uint64_t)(far + capacity - order->count) * 2)
        order->mask = order->mask * 2 + 1;
    order->near = hm_alloc(order->near_size * sizeof *order->near);
    order->far = hm_alloc((order->mask + 1) * sizeof *order->far);
    if (!order->near || !order->far)
        return false;
    memset(order->near, 0xff, order->near_size * sizeof *order->near);
    memset(order->far, 0xff, (order->mask + 1) * sizeof *order->far);
    return true;
}

/* Room for `capacity` nodes. Positions are 32 bits wide. */
static bool grow(hm_order *order, int64_t capacity)
{
    if (capacity > INT32_MAX / 2)
        return false;
    hm_node **nodes = hm_realloc(order->nodes, (size_t)capacity * sizeof(hm_node *));
    if (!nodes)
        return false;
    order->nodes = nodes;
    if (!make_tables(order, capacity))
        return false;
    for (int64_t i = 0; i < order->count; i++)
        *entry(order, nodes[i]->serial) = (int32_t)i;
    return true;
}

/* Take a node in, unless it is there already. */
static bool add(hm_order *order, hm_node *node, int64_t *capacity)
{
    int32_t *place = entry(order, node->serial);
    if (*place != FREE)
        return true;
    if (order->count == *capacity) {
        if (!grow(order, *capacity * 2))
            return false;
        *capacity *= 2;
        place = entry(order, node->serial);
    }
    *place = (int32_t)order->count;
    order->nodes[order->count++] = node;
    return true;
}

/* ------------------------------------------------- by serial */

typedef struct keyed {
    uint64_t key; /* serial, counted from the smallest */
    hm_node *node;
} keyed;

/* One pass of a radix sort, stable, over the digit at `shift`. */
static void sort_digit(const keyed *from, keyed *to, int64_t n, int shift)
{
    int64_t start[BUCKETS + 1] = {0};
    for (int64_t i = 0; i < n; i++)
        start[(from[i].key >> shift & (BUCKETS - 1)) + 1]++;
    for (int b = 0; b < BUCKETS; b++)
        start[b + 1] += start[b];
    for (int64_t i = 0; i < n; i++)
        to[start[from[i].key >> shift & (BUCKETS - 1)]++] = from[i];
}

/* The nodes that are far, oldest first, into `sorted`. */
static bool sort_far(const hm_order *order, hm_node **sorted, int64_t far)
{
    keyed *keys = hm_alloc((size_t)far * 2 * sizeof *keys);
    if (!keys)
        return false;
    keyed *from = keys, *to = keys + far;
    uint64_t least = UINT64_MAX, most = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < order->count; i++) {
        const uint64_t serial = order->nodes[i]->serial;
        if (order->youngest - serial < order->near_size)
            continue;
        from[n++] = (keyed){serial, order->nodes[i]};
        least = serial < least ? serial : least;
        most = serial > most ? serial : most;
    }
    for (int64_t i = 0; i < n; i++)
        from[i].key -= least;
    for (int shift = 0; n && shift < 64 && (most - least) >> shift; shift += DIGIT) {
        sort_digit(from, to, n, shift);
        keyed *other = to;
        to = from;
        from = other;
    }
    for (int64_t i = 0; i < n; i++)
        sorted[i] = from[i].node;
    hm_free(keys);
    return true;
}

/* What is near lies in its table youngest first already. */
static bool sort(hm_order *order)
{
    hm_node **sorted = hm_alloc((size_t)order->count * sizeof(hm_node *));
    int64_t far = order->count;
    for (uint64_t age = 0; age < order->near_size; age++)
        far -= order->near[age] != FREE;
    if (!sorted || !sort_far(order, sorted, far)) {
        hm_free(sorted);
        return false;
    }
    int64_t i = far;
    for (uint64_t age = order->near_size; age-- > 0;)
        if (order->near[age] != FREE) {
            sorted[i] = order->nodes[order->near[age]];
            order->near[age] = (int32_t)i++;
        }
    hm_free(order->nodes);
    order->nodes = sorted;
    memset(order->far, 0xff, (order->mask + 1) * sizeof *order->far);
    for (i = 0; i < far; i++)
        *far_entry(order, sorted[i]->serial) = (int32_t)i;
    return true;
}

/* Where each input stands, so that nobody looks it up twice. */
static bool list_inputs(hm_order *order)
{
    int64_t total = 0;
    for (int64_t i = 0; i < order->count; i++)
        total += hm_order_count(order, i);
    order->first_input = hm_alloc((size_t)(order->count + 1) * sizeof(int64_t));
    order->inputs = hm_alloc((size_t)total * sizeof(int32_t));
    if (!order->first_input || !order->inputs)
        return false;
    total = 0;
    for (int64_t i = 0; i < order->count; i++) {
        const hm_node *node = order->nodes[i];
        order->first_input[i] = total;
        for (int32_t k = 0; k < hm_order_count(order, i); k++)
            order->inputs[total++] = *entry(order, node->inputs[k]->serial);
    }
    order->first_input[order->count] = total;
    return true;
}

hm_status hm_order_create(hm_context *ctx, hm_node *const *roots, int64_t n, hm_order *out)
{
    return hm_order_create_since(ctx, roots, n, 0, out);
}

hm_status hm_order_create_since(hm_context *ctx, hm_node *const *roots, int64_t n, uint64_t since,
                                hm_order *out)
{
    hm_order order = {.since = since};
    int64_t capacity = FIRST_CAPACITY;
    for (int64_t i = 0; i < n; i++)
        order.youngest = roots[i]->serial > order.youngest ? roots[i]->serial : order.youngest;
    bool ok = grow(&order, capacity);
    for (int64_t i = 0; ok && i < n; i++)
        ok = add(&order, roots[i], &capacity);
    for (int64_t seen = 0; ok && seen < order.count; seen++) /* the list is its own worklist */
        for (int32_t i = 0; ok && i < hm_order_count(&order, seen); i++)
            ok = add(&order, order.nodes[seen]->inputs[i], &capacity);
    if (!ok || !sort(&order) || !list_inputs(&order)) {
        hm_order_free(&order);
        return hm_fail_memory(ctx);
    }
    *out = order;
    return HMATH_OK;
}
