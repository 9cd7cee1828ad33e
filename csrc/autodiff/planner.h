/*
 * The planner's working state, shared by its phases. Nodes are known by their position in the order,
 * oldest first; each phase fills in what the next ones read:
 *
 *   canonical.c  equal nodes become one (equal.c), constant ones are computed, views find their root
 *   plan.c       what the outputs need, what of it is done by those that read it, what is computed in pairs
 *   schedule.c   which elementwise nodes run together, and when every step runs
 *   place.c      scalars, and by liveness the workspace
 *   emit.c       the steps; emit_tiles.c those of elementwise nodes, chains.c the arithmetic in them
 */
#ifndef HM_PLANNER_H
#define HM_PLANNER_H

#include "autodiff/leaf.h"
#include "autodiff/order.h"
#include "autodiff/plan.h"

typedef struct hm_arena {
    void **blocks;
    int64_t count, capacity;
} hm_arena;

/* What the phases ask about a node over and over, in one byte, so that none of them has to go and look. */
enum {
    HM_TRAIT_NUMBER = 1, /* of shape () */
    HM_TRAIT_VARIABLE = 2,
    HM_TRAIT_MAP = 4,       /* elementwise */
    HM_TRAIT_CALL = 8,      /* a map that the scalar interpreter has no instruction for */
    HM_TRAIT_ABSORBS = 16,  /* its op may do the work of its first input too ... */
    HM_TRAIT_PAIRS = 32,    /* ... be computed in one pass with another one ... */
    HM_TRAIT_SUMS = 64,     /* ... or sum its result besides */
    HM_TRAIT_COMPUTED = 128 /* by a run, rather than found elsewhere; known once it is marked */
};

typedef struct hm_planner {
    hm_context *ctx;
    hm_program *program;
    hm_order order;
    hm_arena temporary;
    double *numbers; /* of the program's: room for constants of shape () */
    int64_t numbers_left;
    int32_t n;      /* nodes in the order */
    uint8_t traits; /* that some node has */

    /* by position in the order */
    uint8_t *traits_of;
    int32_t *canonical;      /* the oldest node equal to this one */
    int32_t *root;           /* of a canonical node: itself, or what it is a view of */
    const double **constant; /* the numbers of a node known now, or NULL */
    int32_t *input;          /* of a variable: which input of the program; HM_NONE */
    bool *live;
    bool *absorbs; /* does the work of its first input too, and reads what that was made of */
    /* the same, NULL where a plan has none of these: read through hm_plan_entry */
    int32_t *pair; /* of two nodes that are computed in one pass (op.h), the other one; HM_NONE */
    int32_t *sums_for; /* who reads the sums that a node makes besides its result; HM_NONE */
    int32_t *sums_of;  /* of that one: whose they are; HM_NONE */
    hm_place *sums;    /* where they are, by whose they are */
    /* by position in the order, always */
    int32_t *step;     /* of a computed root */
    int32_t *last_use; /* the last step that reads a root */
    bool *escapes;     /* read outside the step that makes it */
    hm_place *place;   /* of a root */

    int32_t *member; /* computed roots by step, in the order in which they run */
    int64_t member_count;
    int64_t *first_member; /* by step; one more at the end */
} hm_planner;

hm_status hm_plan_canonicalise(hm_planner *p);
hm_status hm_plan_schedule(hm_planner *p);
hm_status hm_plan_place(hm_planner *p);
hm_status hm_plan_emit(hm_planner *p);

/* A step of elementwise nodes of one shape. `last` is room for a number by position. */
hm_status hm_emit_tiles(hm_planner *p, hm_step *step, const int32_t *members, int64_t count,
                        int32_t *last);

/* The parts of a group whose ops have their places. */
hm_status hm_emit_chains(hm_planner *p, hm_tiles *tiles);

/* Memory that lives as long as the planning; its bytes all alike, or anything. */
void *hm_plan_temporary(hm_planner *p, int64_t count, size_t size);
void *hm_plan_filled(hm_planner *p, int64_t count, size_t size, int byte);

/* Give back early what was taken from one mark to the next. */
int64_t hm_plan_mark(const hm_planner *p);
void hm_plan_give_back(hm_planner *p, int64_t from, int64_t to);

static inline hm_status hm_plan_no_memory(hm_planner *p) { return hm_fail_memory(p->ctx); }

static inline int32_t hm_plan_find(const hm_planner *p, const hm_node *node)
{
    return (int32_t)hm_order_find(&p->order, node);
}

/* How many inputs node i has. */
static inline int32_t hm_plan_count(const hm_planner *p, int32_t i)
{
    return (int32_t)(p->order.first_input[i + 1] - p->order.first_input[i]);
}

static inline bool hm_plan_has(const hm_planner *p, int32_t i, uint8_t trait)
{
    return p->traits_of[i] & trait;
}

static inline bool hm_plan_is_number(const hm_planner *p, int32_t i)
{
    return hm_plan_has(p, i, HM_TRAIT_NUMBER);
}

/* How many elements its result has. */
static inline int64_t hm_plan_size(const hm_planner *p, int32_t i)
{
    return hm_plan_is_number(p, i) ? 1 : p->order.nodes[i]->size;
}

/* Canonical position of input k of node i, once equal.c has been there. */
static inline int32_t hm_plan_input(const hm_planner *p, int32_t i, int32_t k)
{
    return hm_order_input(&p->order, i, k);
}

static inline bool hm_plan_is_leaf(const hm_planner *p, int32_t i)
{
    return p->constant[i] || hm_plan_has(p, i, HM_TRAIT_VARIABLE);
}

static inline bool hm_plan_is_elementwise(const hm_planner *p, int32_t i)
{
    return hm_plan_has(p, i, HM_TRAIT_MAP);
}

/* Does a run compute this node, rather than find it elsewhere? */
static inline bool hm_plan_is_computed(const hm_planner *p, int32_t i)
{
    return hm_plan_has(p, i, HM_TRAIT_COMPUTED);
}

/* Entry i of a table that is there only where a plan has something for it. */
static inline int32_t hm_plan_entry(const int32_t *table, int32_t i)
{
    return table ? table[i] : HM_NONE;
}

static inline hm_place hm_place_at(hm_place_kind kind, int64_t index)
{
    return (hm_place){kind, {.index = index}};
}

/* A step towards a hash, and its result. */
static inline uint64_t hm_plan_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

#endif
