/*
 * What runs together, and when.
 *
 * A node's height counts the steps that must follow it. Elementwise nodes of one shape and height that
 * feed one another form a cluster, and a pair that one pass computes has one height and is in one; so do all numbers (shape ()) of one height, for whom one call of the
 * interpreter is cheapest; every other node is a cluster of its own. A way that leaves a cluster comes to
 * lower heights only, so clusters never wait for each other in a circle. And since heights count from the
 * end, a node runs where its result is needed, not where its inputs happen to be there.
 *
 * A cluster that draws many tensors from outside, such as the sum of a gradient's contributions, is cut into
 * several, each of which takes in some that then need no room any more.
 *
 * Of the clusters that are ready, those go first that need no more room than their operands may give
 * back; among equals the oldest. (So a parameter is updated while its gradient is in the cache.)
 */
#include <string.h>

#include "autodiff/planner.h"
#include "runtime/alloc.h"

/* The root that input k of node i needs computed first; HM_NONE where it is a leaf. */
static int32_t producer(const hm_planner *p, int32_t i, int32_t k)
{
    int32_t root = p->root[hm_plan_input(p, i, k)];
    return hm_plan_is_computed(p, root) ? root : HM_NONE;
}

/* ------------------------------------------------- shapes as numbers */

static uint64_t hash_shape(const hm_node *node)
{
    uint64_t hash = (uint64_t)node->rank;
    for (int32_t k = 0; k < node->rank; k++)
        hash = hm_plan_mix(hash, (uint64_t)hm_node_extents(node)[k]);
    return hash;
}

static bool same_shape(const hm_node *a, const hm_node *b)
{
    return a->rank == b->rank &&
           memcmp(hm_node_extents(a), hm_node_extents(b), (size_t)a->rank * sizeof(int64_t)) == 0;
}

static int64_t count_elementwise_tensors(const hm_planner *p)
{
    int64_t count = 0;
    for (int32_t i = 0; i < p->n; i++)
        count += !hm_plan_is_number(p, i) && hm_plan_is_elementwise(p, i);
    return count;
}

/* By node: the first elementwise node that has its shape; HM_NONE where it is not elementwise. */
static hm_status number_shapes(hm_planner *p, int32_t *shape_of)
{
    const uint64_t tensors = (uint64_t)count_elementwise_tensors(p);
    uint64_t mask = 15;
    while (mask < tensors * 2)
        mask = mask * 2 + 1;
    int32_t *first = hm_alloc((mask + 1) * sizeof *first), scalar = HM_NONE;
    if (!first)
        return hm_plan_no_memory(p);
    memset(first, 0xff, (mask + 1) * sizeof *first);
    for (int32_t i = 0; i < p->n; i++) {
        if (!hm_plan_is_computed(p, i) || !hm_plan_is_elementwise(p, i))
            continue;
        if (hm_plan_is_number(p, i)) {
            shape_of[i] = scalar = scalar == HM_NONE ? i : scalar;
            continue;
        }
        const hm_node *node = p->order.nodes[i];
        uint64_t at = hash_shape(node) & mask;
        while (first[at] != HM_NONE && !same_shape(node, p->order.nodes[first[at]]))
            at = (at + 1) & mask;
        shape_of[i] = first[at] = first[at] == HM_NONE ? i : first[at];
    }
    hm_free(first);
    return HMATH_OK;
}

/* ------------------------------------------------- clusters */

typedef struct clusters {
    int32_t count;
    int32_t *of;      /* by node */
    int64_t *first;   /* by cluster, oldest first: where its members begin; one more at the end */
    int32_t *members; /* oldest first */

    int32_t *waiting_for; /* by cluster: how many results of others it waits for */
    int64_t *first_user;  /* by cluster: where those that wait for it begin in `users` */
    int32_t *users;
    bool *grows; /* asks for more room than its operands may give back */
} clusters;

/* The second of a pair to be met decides for both: their input hears the higher number from it. */
static void level_pair(const hm_planner *p, int32_t i, int32_t *height)
{
    const int32_t other = hm_plan_entry(p->pair, i);
    if (other <= i)
        return;
    const int32_t most = height[i] > height[other] ? height[i] : height[other];
    height[i] = height[other] = most;
}

/* May one cluster hold both? */
static bool fit_together(const int32_t *shape_of, int32_t from, int32_t i)
{
    return shape_of[from] != HM_NONE && shape_of[from] == shape_of[i];
}

/* How much a cluster draws from outside; tables are there only for plans with so many tensors. */
enum { DRAWS_MOST = 16 };

/*
 * reader, by root: the oldest elementwise node that reads it, for whom alone it counts. below, by node: tensors
 * of others that it and what it feeds on in its cluster draw. beside, by node: those that are drawn on the way
 * from the cluster's end to it, beside that way.
 */
typedef struct draws {
    int32_t *reader, *below, *beside;
} draws;

/* What operand `from` adds to what i draws. */
static int32_t weight(const hm_planner *p, const int32_t *shape_of, const draws *d, int32_t from,
                      int32_t i)
{
    if (from == HM_NONE || d->reader[from] != i || hm_plan_is_number(p, from))
        return 0;
    return fit_together(shape_of, from, i) ? d->below[from] : 1;
}

/* The same for all operands. */
static int32_t total_weight(const hm_planner *p, const int32_t *shape_of, const draws *d, int32_t i)
{
    int32_t sum = 0;
    for (int32_t k = 0; k < hm_plan_count(p, i); k++) {
        const int32_t from = producer(p, i, k);
        bool again = false;
        for (int32_t j = 0; j < k; j++)
            again |= producer(p, i, j) == from;
        sum += again ? 0 : weight(p, shape_of, d, from, i);
    }
    return sum;
}

static hm_status find_draws(hm_planner *p, const int32_t *shape_of, draws *d)
{
    if (count_elementwise_tensors(p) <= DRAWS_MOST)
        return HMATH_OK;
    d->reader = hm_plan_filled(p, p->n, sizeof *d->reader, 0xff);
    d->below = hm_plan_filled(p, p->n, sizeof *d->below, 0);
    d->beside = hm_plan_filled(p, p->n, sizeof *d->beside, 0);
    if (!d->reader || !d->below || !d->beside)
        return hm_plan_no_memory(p);
    for (int32_t i = 0; i < p->n; i++) {
        if (shape_of[i] == HM_NONE || hm_plan_is_number(p, i))
            continue;
        for (int32_t k = 0; k < hm_plan_count(p, i); k++) {
            const int32_t from = producer(p, i, k);
            if (from != HM_NONE && d->reader[from] == HM_NONE)
                d->reader[from] = i;
        }
        d->below[i] = total_weight(p, shape_of, d, i);
    }
    return HMATH_OK;
}

/*
 * Is `from` to run before i's cluster, though it could be in it? Only what draws much itself is cut off, where
 * the way to it has passed enough.
 */
static bool is_cut_off(const hm_planner *p, const int32_t *shape_of, draws *d, int32_t from,
                       int32_t i)
{
    if (!d->below || d->below[from] <= DRAWS_MOST)
        return false;
    const int32_t beside =
        d->beside[i] + total_weight(p, shape_of, d, i) - weight(p, shape_of, d, from, i);
    if (beside >= DRAWS_MOST)
        return true;
    if (d->beside[from] < beside)
        d->beside[from] = beside;
    return false;
}

static void find_heights(const hm_planner *p, const int32_t *shape_of, draws *d, int32_t *height)
{
    for (int32_t i = p->n; i-- > 0;) {
        level_pair(p, i, height);
        for (int32_t k = 0; hm_plan_is_computed(p, i) && k < hm_plan_count(p, i); k++) {
            int32_t from = producer(p, i, k);
            if (from == HM_NONE)
                continue;
            bool together = fit_together(shape_of, from, i) && !is_cut_off(p, shape_of, d, from, i);
            int32_t least = height[i] + !together;
            height[from] = height[from] < least ? least : height[from];
        }
    }
}

/* The oldest node of i's cluster so far. */
static int32_t oldest(int32_t *of, int32_t i)
{
    while (of[i] != i)
        i = of[i] = of[of[i]];
    return i;
}

static void unite(int32_t *of, int32_t i, int32_t j)
{
    i = oldest(of, i);
    j = oldest(of, j);
    if (i < j)
        of[j] = i;
    else
        of[i] = j;
}

/* `numbers`: room by height for a node of shape (), HM_NONE all. */
static void unite_clusters(hm_planner *p, const int32_t *shape_of, const int32_t *height,
                           int32_t *numbers, int32_t *of)
{
    for (int32_t i = 0; i < p->n; i++) {
        if (!hm_plan_is_computed(p, i))
            continue;
        of[i] = i;
        if (shape_of[i] == HM_NONE)
            continue;
        if (hm_plan_is_number(p, i)) {
            int32_t *known = &numbers[height[i]];
            of[i] = *known = *known == HM_NONE ? i : *known;
            continue;
        }
        for (int32_t k = 0; k < hm_plan_count(p, i); k++) {
            int32_t from = producer(p, i, k);
            if (from != HM_NONE && fit_together(shape_of, from, i) && height[from] == height[i])
                unite(of, from, i);
        }
        const int32_t other = hm_plan_entry(p->pair, i);
        if (other != HM_NONE && other < i)
            unite(of, other, i);
    }
}

/* Clusters as numbers, by their oldest members. */
static hm_status number_clusters(hm_planner *p, clusters *c)
{
    int64_t members = 0;
    for (int32_t i = 0; i < p->n; i++) {
        if (c->of[i] == HM_NONE)
            continue;
        members++;
        c->of[i] = c->of[i] == i ? c->count++ : c->of[c->of[i]]; /* older ones have theirs */
    }
    c->first = hm_plan_filled(p, c->count + 2, sizeof *c->first, 0);
    c->members = hm_plan_temporary(p, members, sizeof *c->members);
    if (!c->first || !c->members)
        return hm_plan_no_memory(p);
    for (int32_t i = 0; i < p->n; i++)
        if (c->of[i] != HM_NONE)
            c->first[c->of[i] + 2]++;
    for (int32_t j = 0; j < c->count; j++)
        c->first[j + 2] += c->first[j + 1];
    for (int32_t i = 0; i < p->n; i++)
        if (c->of[i] != HM_NONE)
            c->members[c->first[c->of[i] + 1]++] = i;
    return HMATH_OK;
}

static hm_status find_clusters(hm_planner *p, clusters *c)
{
    const int64_t mark = hm_plan_mark(p);
    int32_t *shape_of = hm_plan_filled(p, p->n, sizeof *shape_of, 0xff);
    int32_t *height = hm_plan_filled(p, p->n, sizeof *height, 0);
    int32_t *numbers = hm_plan_filled(p, (int64_t)p->n + 1, sizeof *numbers, 0xff);
    c->of = hm_plan_filled(p, p->n, sizeof *c->of, 0xff);
    const int64_t beyond = hm_plan_mark(p);
    if (!shape_of || !height || !numbers || !c->of)
        return hm_plan_no_memory(p);
    draws d = {0};
    hm_status st;
    if ((st = number_shapes(p, shape_of)) != HMATH_OK ||
        (st = find_draws(p, shape_of, &d)) != HMATH_OK)
        return st;
    find_heights(p, shape_of, &d, height);
    hm_plan_give_back(p, beyond, hm_plan_mark(p));
    unite_clusters(p, shape_of, height, numbers, c->of);
    hm_plan_give_back(p, mark, mark + 3);
    return number_clusters(p, c);
}

/* ------------------------------------------------- who waits for whom */

static hm_status find_dependencies(hm_planner *p, clusters *c)
{
    c->waiting_for = hm_plan_filled(p, c->count, sizeof *c->waiting_for, 0);
    c->first_user = hm_plan_filled(p, (int64_t)c->count + 2, sizeof *c->first_user, 0);
    if (!c->waiting_for || !c->first_user)
        return hm_plan_no_memory(p);
    if (c->count == 1) /* as where all are numbers: it waits for nobody */
        return HMATH_OK;
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; c->of[i] != HM_NONE && k < hm_plan_count(p, i); k++) {
            int32_t from = producer(p, i, k);
            if (from == HM_NONE || c->of[from] == c->of[i])
                continue;
            c->waiting_for[c->of[i]]++;
            c->first_user[c->of[from] + 2]++;
        }
    for (int32_t j = 0; j < c->count; j++)
        c->first_user[j + 2] += c->first_user[j + 1];
    c->users = hm_plan_temporary(p, c->first_user[c->count + 1], sizeof *c->users);
    if (!c->users)
        return hm_plan_no_memory(p);
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; c->of[i] != HM_NONE && k < hm_plan_count(p, i); k++) {
            int32_t from = producer(p, i, k);
            if (from != HM_NONE && c->of[from] != c->of[i])
                c->users[c->first_user[c->of[from] + 1]++] = c->of[i];
        }
    return HMATH_OK;
}

/* Results that others read take room, unless they are the caller's; operands may give theirs back. */
static hm_status find_growth(hm_planner *p, clusters *c)
{
    int64_t *growth = hm_plan_filled(p, c->count, sizeof *growth, 0);
    bool *counted = hm_plan_filled(p, p->n, sizeof *counted, 0);
    c->grows = hm_plan_filled(p, c->count, sizeof *c->grows, 0);
    if (!growth || !counted || !c->grows)
        return hm_plan_no_memory(p);
    if (c->count == 1)
        return HMATH_OK;
    for (int64_t j = 0; j < p->program->output_count; j++)
        counted[p->root[p->canonical[hm_plan_find(p, p->program->outputs[j])]]] = true;
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t k = 0; c->of[i] != HM_NONE && k < hm_plan_count(p, i); k++) {
            int32_t from = producer(p, i, k);
            if (from == HM_NONE || c->of[from] == c->of[i])
                continue;
            growth[c->of[i]] -= hm_plan_size(p, from);
            if (!counted[from])
                growth[c->of[from]] += hm_plan_is_number(p, from) ? 0 : hm_plan_size(p, from);
            counted[from] = true;
        }
    for (int32_t j = 0; j < c->count; j++)
        c->grows[j] = growth[j] > 0;
    return HMATH_OK;
}

/* ------------------------------------------------- when */

/* Ready clusters: a binary heap, the least on top. */
typedef struct heap {
    int64_t *keys;
    int32_t count;
} heap;

static void heap_push(heap *h, int64_t key)
{
    int32_t i = h->count++;
    for (; i > 0 && h->keys[(i - 1) / 2] > key; i = (i - 1) / 2)
        h->keys[i] = h->keys[(i - 1) / 2];
    h->keys[i] = key;
}

static int64_t heap_pop(heap *h)
{
    int64_t top = h->keys[0], last = h->keys[--h->count];
    int32_t i = 0;
    for (int32_t child = 1; child < h->count; i = child, child = 2 * i + 1) {
        if (child + 1 < h->count && h->keys[child + 1] < h->keys[child])
            child++;
        if (h->keys[child] >= last)
            break;
        h->keys[i] = h->keys[child];
    }
    if (h->count)
        h->keys[i] = last;
    return top;
}

static void make_ready(heap *ready, const clusters *c, int32_t cluster)
{
    heap_push(ready, cluster + (c->grows[cluster] ? (int64_t)c->count : 0));
}

static void take(hm_planner *p, const clusters *c, int32_t cluster, int32_t step)
{
    p->first_member[step] = p->member_count;
    for (int64_t m = c->first[cluster]; m < c->first[cluster + 1]; m++) {
        p->step[c->members[m]] = step;
        p->member[p->member_count++] = c->members[m];
    }
}

/* Clusters one after the other; the heap has room for all of them. */
static void run_through(hm_planner *p, clusters *c, heap *ready)
{
    int32_t step = 0;
    for (int32_t j = 0; j < c->count; j++)
        if (c->waiting_for[j] == 0)
            make_ready(ready, c, j);
    while (ready->count) {
        int32_t next = (int32_t)(heap_pop(ready) % c->count);
        take(p, c, next, step++);
        for (int64_t u = c->first_user[next]; u < c->first_user[next + 1]; u++)
            if (--c->waiting_for[c->users[u]] == 0)
                make_ready(ready, c, c->users[u]);
    }
    p->first_member[step] = p->member_count;
    p->program->step_count = step;
}

hm_status hm_plan_schedule(hm_planner *p)
{
    const int64_t from = hm_plan_mark(p);
    clusters c = {0};
    heap ready = {0};
    hm_status st;
    if ((st = find_clusters(p, &c)) != HMATH_OK || (st = find_dependencies(p, &c)) != HMATH_OK ||
        (st = find_growth(p, &c)) != HMATH_OK)
        return st;
    if (!(ready.keys = hm_plan_temporary(p, c.count, sizeof *ready.keys)))
        return hm_plan_no_memory(p);
    const int64_t to = hm_plan_mark(p);
    p->step = hm_plan_filled(p, p->n, sizeof *p->step, 0xff);
    p->member = hm_plan_temporary(p, c.first[c.count], sizeof *p->member);
    p->first_member = hm_plan_temporary(p, (int64_t)c.count + 1, sizeof *p->first_member);
    if (!p->step || !p->member || !p->first_member)
        return hm_plan_no_memory(p);
    run_through(p, &c, &ready);
    hm_plan_give_back(p, from, to);
    return HMATH_OK;
}
