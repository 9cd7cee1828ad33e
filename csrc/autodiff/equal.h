/* Which nodes of a graph are the same: one op with the same attributes on the same nodes. */
#ifndef HM_EQUAL_H
#define HM_EQUAL_H

#include "autodiff/planner.h"

typedef struct hm_equal_entry {
    uint32_t hash;
    int32_t node; /* HM_NONE: free */
} hm_equal_entry;

/*
 * A hash table of nodes, and a way round it. What equals a node reads all that it reads; so where one of its inputs
 * has few readers, a node waits in that input's list, where such another one looks first, and never enters the
 * table. In long chains, and in their gradients, that is nearly every node, and what waits is in the cache still.
 */
typedef struct hm_equals {
    hm_planner *p;
    int32_t *readers; /* by canonical node: operands that are it */
    int32_t *waiting; /* by canonical node: the youngest reader that waits there; HM_NONE */
    int32_t *next;    /* by waiting node: the next older one in the same list */
    hm_equal_entry *table;
    uint64_t mask;
    int64_t count;
} hm_equals;

hm_status hm_equals_open(hm_planner *p, hm_equals *out);
void hm_equals_close(hm_equals *equals);

/* Set p->canonical[i], and name its inputs by theirs; all older nodes have theirs. */
hm_status hm_equals_find(hm_equals *equals, int32_t i);

#endif
