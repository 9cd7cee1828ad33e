/* Which nodes of a graph are the same: one op with the same attributes on the same nodes. */
#ifndef HM_EQUAL_H
#define HM_EQUAL_H

#include "autodiff/planner.h"

typedef struct hm_equal_entry {
    uint32_t hash;
    int32_t node; /* HM_NONE: free */
} hm_equal_entry;

/*
 * A hash table of nodes, and a way round it. Where a node is the only reader of one of its inputs, nothing
 * can equal it but another reader of an equal input; so it waits as that input's `sole` reader, where
 * such another one would look first, and never enters the table. In long chains that is every node.
 */
typedef struct hm_equals {
    hm_planner *p;
    int32_t *readers; /* by canonical node: operands that are it */
    int32_t *sole;    /* by canonical node: the reader that waits there; HM_NONE */
    hm_equal_entry *table;
    uint64_t mask;
    int64_t count;
} hm_equals;

hm_status hm_equals_open(hm_planner *p, hm_equals *out);
void hm_equals_close(hm_equals *equals);

/* Set p->canonical[i]; all older nodes have theirs. */
hm_status hm_equals_find(hm_equals *equals, int32_t i);

#endif
