#include "autodiff/order.h"

#include <string.h>

#include "runtime/alloc.h"

enum { FREE = -1, FIRST_CAPACITY = 64, NEIGHBOURS = 6, DIGIT = 11, BUCKETS = 1 << DIGIT };

/* Serials of one graph are dense: runs of 64 stay neighbours in the table, and the runs are spread. */
static uint64_t home(const hm_order *order, uint64_t serial)
{
    uint64_t run = (serial >> NEIGHBOURS) * 0x9e3779b97f4a7c15u >> 20;
    return (run << NEIGHBOURS | (serial & ((1 << NEIGHBOURS) - 1))) & order->mask;
}

/* The table's entry for a serial, or the free one where it belongs. */
static int32_t *entry(const hm_order *order, uint64_t serial)
{
    uint64_t i = home(order, serial);
    while (order->places[i] != FREE && order->nodes[order->places[i]]->serial != serial)
        i = (i + 1) & order->mask;
    return &order->places[i];
}

int64_t hm_order_find(const hm_order *order, const hm_node *node)
{
    return *entry(order, node->serial);
}

void hm_order_free(hm_order *order)
{
    hm_free(order->nodes);
    hm_free(order->places);
    hm_free(order->first_input);
    hm_free(order->inputs);
    *order = (hm_order){0};
}

static void fill_table(hm_order *order)
{
    memset(order->places, 0xff, (order->mask + 1) * sizeof *order->places);
    for (int64_t i = 0; i < order->count; i++)
        *entry(order, order->nodes[i]->serial) = (int32_t)i;
}

/* Room for `capacity` nodes in a table that is at most half full. Positions are 32 bits wide. */
static bool grow(hm_order *order, int64_t capacity)
{
    if (capacity > INT32_MAX / 2)
        return false;
    hm_node **nodes = hm_realloc(order->nodes, (size_t)capacity * sizeof(hm_node *));
    if (!nodes)
        return false;
    order->nodes = nodes;
    int32_t *places = hm_alloc((size_t)capacity * 2 * sizeof *places);
    if (!places)
        return false;
    hm_free(order->places);
    order->places = places;
    order->mask = (uint64_t)capacity * 2 - 1;
    fill_table(order);
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

static bool sort(hm_order *order)
{
    keyed *keys = hm_alloc((size_t)order->count * 2 * sizeof *keys);
    if (!keys)
        return false;
    keyed *from = keys, *to = keys + order->count;
    uint64_t least = UINT64_MAX, most = 0;
    for (int64_t i = 0; i < order->count; i++) {
        uint64_t serial = order->nodes[i]->serial;
        from[i] = (keyed){serial, order->nodes[i]};
        least = serial < least ? serial : least;
        most = serial > most ? serial : most;
    }
    for (int64_t i = 0; i < order->count; i++)
        from[i].key -= least;
    for (int shift = 0; order->count && shift < 64 && (most - least) >> shift; shift += DIGIT) {
        sort_digit(from, to, order->count, shift);
        keyed *sorted = to;
        to = from;
        from = sorted;
    }
    for (int64_t i = 0; i < order->count; i++)
        order->nodes[i] = from[i].node;
    hm_free(keys);
    return true;
}

/* Where each input stands, so that nobody looks it up twice. */
static bool list_inputs(hm_order *order)
{
    int64_t total = 0;
    for (int64_t i = 0; i < order->count; i++)
        total += order->nodes[i]->count;
    order->first_input = hm_alloc((size_t)(order->count + 1) * sizeof(int64_t));
    order->inputs = hm_alloc((size_t)total * sizeof(int32_t));
    if (!order->first_input || !order->inputs)
        return false;
    total = 0;
    for (int64_t i = 0; i < order->count; i++) {
        const hm_node *node = order->nodes[i];
        order->first_input[i] = total;
        for (int32_t k = 0; k < node->count; k++)
            order->inputs[total++] = *entry(order, node->inputs[k]->serial);
    }
    order->first_input[order->count] = total;
    return true;
}

hm_status hm_order_create(hm_context *ctx, hm_node *const *roots, int64_t n, hm_order *out)
{
    hm_order order = {0};
    int64_t capacity = FIRST_CAPACITY;
    bool ok = grow(&order, capacity);
    for (int64_t i = 0; ok && i < n; i++)
        ok = add(&order, roots[i], &capacity);
    for (int64_t seen = 0; ok && seen < order.count; seen++) /* the list is its own worklist */
        for (int32_t i = 0; ok && i < order.nodes[seen]->count; i++)
            ok = add(&order, order.nodes[seen]->inputs[i], &capacity);
    if (ok && (ok = sort(&order))) {
        fill_table(&order);
        ok = list_inputs(&order);
    }
    if (!ok) {
        hm_order_free(&order);
        return hm_fail_memory(ctx);
    }
    *out = order;
    return HMATH_OK;
}
