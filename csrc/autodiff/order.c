#include "autodiff/order.h"

#include <string.h>

#include "runtime/alloc.h"

enum { FREE = -1, FIRST_CAPACITY = 64, DIGIT = 11, BUCKETS = 1 << DIGIT };
enum { NEAR = 2, DENSE = 8 }; /* how wide the near table is, by capacity: at least, and at most */

/* The entry in the table of far nodes for a serial, or the free one where it belongs. */
static int32_t *far_entry(const hm_order *order, uint64_t serial)
{
    uint64_t i = (serial * 0x9e3779b97f4a7c15u >> 20) & order->mask;
    while (order->far[i] != FREE && order->nodes[order->far[i]]->serial != serial)
        i = (i + 1) & order->mask;
    return &order->far[i];
}

static inline int32_t *entry(const hm_order *order, uint64_t serial)
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

/* Note where a node stands; there is room for it. */
static void note(hm_order *order, int32_t position)
{
    const uint64_t serial = order->nodes[position]->serial;
    order->far_count += order->youngest - serial >= order->near_size;
    *entry(order, serial) = position;
}

/* A table of that mask for the nodes that are far now; some in the old one may have become near. */
static bool remake_far(hm_order *order, uint64_t mask)
{
    int32_t *old = order->far;
    const uint64_t old_size = old ? order->mask + 1 : 0;
    int32_t *table = hm_alloc((mask + 1) * sizeof *table);
    if (!table)
        return false;
    memset(table, 0xff, (mask + 1) * sizeof *table);
    order->far = table;
    order->mask = mask;
    order->far_count = 0;
    for (uint64_t i = 0; i < old_size; i++)
        if (old[i] != FREE)
            note(order, old[i]);
    hm_free(old);
    return true;
}

/* What is near stays where it is, as ages do not change: a long chain is never looked at again. */
static bool grow_near(hm_order *order, uint64_t size)
{
    int32_t *near = hm_realloc(order->near, size * sizeof *near);
    if (!near)
        return false;
    memset(near + order->near_size, 0xff, (size - order->near_size) * sizeof *near);
    order->near = near;
    order->near_size = size;
    return order->far_count == 0 || remake_far(order, order->mask);
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
    const uint64_t near = (uint64_t)capacity * NEAR;
    return order->near_size >= near || grow_near(order, near);
}

/*
 * Room for one more among the far. A graph and its gradient are two chains that are walked down side by side: the
 * older one is near, too, as soon as the table may be that wide, and then needs no hashing.
 */
static bool make_room(hm_order *order, int64_t capacity)
{
    while ((uint64_t)order->far_count * 2 > order->mask &&
           order->near_size * 2 <= (uint64_t)capacity * DENSE)
        if (!grow_near(order, order->near_size * 2))
            return false;
    return (uint64_t)order->far_count * 2 <= order->mask || remake_far(order, order->mask * 2 + 1);
}

/* Take a node in, unless it is there already. The table of far nodes stays half empty at least. */
static bool add(hm_order *order, hm_node *node, int64_t *capacity)
{
    if (*entry(order, node->serial) != FREE)
        return true;
    if (order->count == *capacity) {
        if (!grow(order, *capacity * 2))
            return false;
        *capacity *= 2;
    }
    if (!make_room(order, *capacity))
        return false;
    order->nodes[order->count] = node;
    note(order, (int32_t)order->count++);
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
static bool sort_far(const hm_order *order, hm_node **sorted)
{
    const int64_t far = order->far_count;
    if (far == 0)
        return true;
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
    for (int shift = 0; shift < 64 && (most - least) >> shift; shift += DIGIT) {
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
    if (!sorted || !sort_far(order, sorted)) {
        hm_free(sorted);
        return false;
    }
    int64_t i = order->far_count;
    for (uint64_t age = order->near_size; age-- > 0;)
        if (order->near[age] != FREE) {
            sorted[i] = order->nodes[order->near[age]];
            order->near[age] = (int32_t)i++;
        }
    hm_free(order->nodes);
    order->nodes = sorted;
    memset(order->far, 0xff, (order->mask + 1) * sizeof *order->far);
    for (i = 0; i < order->far_count; i++)
        *far_entry(order, sorted[i]->serial) = (int32_t)i;
    return true;
}

/* How many of its inputs belong to the order. */
static int32_t count_inputs(const hm_order *order, const hm_node *node)
{
    return node->serial < order->since ? 0 : node->count;
}

/* Where each input stands, `total` of them, so that nobody looks it up twice. */
static bool list_inputs(hm_order *order, int64_t total)
{
    order->first_input = hm_alloc((size_t)(order->count + 1) * sizeof(int64_t));
    order->inputs = hm_alloc((size_t)total * sizeof(int32_t));
    if (!order->first_input || !order->inputs)
        return false;
    total = 0;
    for (int64_t i = 0; i < order->count; i++) {
        const hm_node *node = order->nodes[i];
        order->first_input[i] = total;
        for (int32_t k = 0; k < count_inputs(order, node); k++)
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
    bool ok = grow(&order, capacity) && remake_far(&order, FIRST_CAPACITY - 1);
    for (int64_t i = 0; ok && i < n; i++)
        ok = add(&order, roots[i], &capacity);
    int64_t inputs = 0;
    for (int64_t seen = 0; ok && seen < order.count; seen++) { /* the list is its own worklist */
        const int32_t count = count_inputs(&order, order.nodes[seen]);
        for (int32_t i = 0; ok && i < count; i++)
            ok = add(&order, order.nodes[seen]->inputs[i], &capacity);
        inputs += count;
    }
    if (!ok || !sort(&order) || !list_inputs(&order, inputs)) {
        hm_order_free(&order);
        return hm_fail_memory(ctx);
    }
    *out = order;
    return HMATH_OK;
}
