/*
 * What a program consists of: steps over places. The planner (planner.h) makes it, program.c runs it, and tiles.c and
 * scalars.c run the two kinds of groups.
 */
#ifndef HM_PLAN_H
#define HM_PLAN_H

#include "autodiff/program.h"
#include "runtime/alloc.h"

enum { HM_NONE = -1 };

/* Where a result lives while the program runs. */
typedef enum hm_place_kind {
    HM_PLACE_NOWHERE,
    HM_PLACE_INPUT,     /* the caller's numbers of input `index` */
    HM_PLACE_OUTPUT,    /* the caller's room for output `index` */
    HM_PLACE_CONSTANT,  /* `pointer` */
    HM_PLACE_SCALAR,    /* scalar `index` of the workspace */
    HM_PLACE_WORKSPACE, /* `index` doubles into the workspace's tensors */
    HM_PLACE_REGISTER   /* tile register `index`, inside its group only */
} hm_place_kind;

typedef struct hm_place {
    hm_place_kind kind;
    union {
        int64_t index;
        const double *pointer;
    };
} hm_place;

/* ------------------------------------------------- tiles: elementwise nodes of one shape */

enum { HM_TILE = 1024 }; /* doubles; a handful of tiles fits the first-level cache */

/* Doubles of the cache lines that `size` of them fill. */
static inline int64_t hm_whole_lines(int64_t size)
{
    const int64_t line = HM_ALIGNMENT / (int64_t)sizeof(double);
    return (size + line - 1) / line * line;
}

/* Doubles of a register of a group of that size: a tile, or whole lines that hold all there is. */
static inline int64_t hm_tile_room(int64_t size)
{
    return size < HM_TILE ? hm_whole_lines(size) : HM_TILE;
}

/* An operand from outside that has to be spread over the group's shape, into a register. */
typedef struct hm_tile_spread {
    hm_place from;
    int32_t to;   /* register */
    int32_t axes; /* of the group's shape, neighbours merged; 0: one number fills every tile */
    int64_t extent[HM_MAX_RANK];
    int64_t stride[HM_MAX_RANK]; /* in the operand; 0: repeated along this axis */
} hm_tile_spread;

typedef struct hm_tile_op {
    const hm_node *node;
    hm_place inputs[HM_MAX_MAP_ARITY]; /* a register, or numbers of the group's own shape */
    uint32_t repeated;                 /* bit i: inputs[i] is one number, as the map is told */
    hm_place output;
    int32_t
        along; /* the op that is computed along with this one, or with which this one is; HM_NONE */
} hm_tile_op;

/* A step of arithmetic in registers (kernels/arithmetic.h): x or out, and y, which is one number. */
typedef struct hm_tile_step {
    int32_t code; /* HM_CHAIN_... */
    bool moves;   /* x or out is numbers of the group's own shape, rather than one number */
    hm_place x, y;
} hm_tile_step;

enum { HM_CHAIN_MOST = 48 }; /* steps */

/*
 * What a tile goes through: steps first ... first + count - 1 in registers; where count is 0, op `first`, and
 * the one along with it.
 */
typedef struct hm_tile_part {
    int32_t first, count;
} hm_tile_part;

typedef struct hm_tiles {
    int64_t size; /* elements of the shape */
    const hm_tile_op
        *ops; /* for failures: every result has a place, though chains do not fill them all */
    const hm_tile_spread *spreads;
    const hm_tile_part *parts;
    const hm_tile_step *steps;
    int32_t op_count, spread_count, part_count, registers;
    int32_t tiles_per_chunk; /* what a thread takes at a time */
} hm_tiles;

/* ------------------------------------------------- scalars: elementwise nodes of shape () */

typedef struct hm_scalar_op {
    uint32_t code;   /* HM_SCALAR_..., HM_SCALAR_CALL: the op's map */
    uint32_t output; /* scalar indices */
    uint32_t a, b;   /* of a call: its index in `calls` */
} hm_scalar_op;

typedef struct hm_scalar_call {
    const hm_node *node;
    uint32_t inputs[HM_MAX_MAP_ARITY];
} hm_scalar_call;

typedef struct hm_scalars {
    const hm_scalar_op *ops;
    const hm_scalar_call *calls;
    const hm_node *const *nodes; /* of each op, for failures */
    int64_t count;
} hm_scalars;

/* ------------------------------------------------- steps */

typedef enum hm_step_kind { HM_STEP_OP, HM_STEP_TILES, HM_STEP_SCALARS } hm_step_kind;

typedef struct hm_step {
    hm_step_kind kind;
    union {
        struct {
            const hm_node *node;
            const hm_place *inputs;
            hm_place output;
            hm_place sums;
            bool absorbed, summed; /* as the run is told */
        } op;
        hm_tiles tiles;
        hm_scalars scalars;
    };
} hm_step;

/* After the last step: what has to be brought to an output from elsewhere. */
typedef struct hm_delivery {
    hm_place from;
    int64_t output;
    int64_t size;
} hm_delivery;

struct hm_program {
    hm_value base;
    hm_node **outputs; /* these references keep the whole graph alive */
    hm_node **inputs;
    int64_t output_count, input_count;

    hm_step *steps;
    int64_t step_count;
    hm_delivery *deliveries;
    int64_t delivery_count;

    double *scalar_constants; /* the first scalars of every run */
    int64_t scalar_constant_count;
    int64_t scalar_count;
    int64_t *scalar_inputs; /* by input: its scalar, or -1 */

    int64_t workspace_doubles; /* tensors */
    int64_t register_doubles;  /* the most that a group's registers take */
    int32_t most_inputs;       /* of any op step */
    int64_t nodes;             /* for hm_program_describe */

    void **blocks; /* everything above that is not a value lives in these */
    int64_t block_count, block_capacity;
};

/* Fill in everything of a program whose inputs and outputs stand. */
hm_status hm_plan(hm_context *ctx, hm_program *program);

/* Memory that lives as long as the program; NULL where there is none. */
void *hm_program_keep(hm_program *program, size_t count, size_t size);

/* One run's view of memory. */
typedef struct hm_frame {
    hm_context *ctx;
    const double *const *inputs;
    double *const *outputs;
    double *scalars;
    double *tensors;
    double *registers;       /* for groups that run on the caller's thread */
    const double **pointers; /* most_inputs of them */
} hm_frame;

static inline double *hm_place_pointer(const hm_frame *frame, const hm_place *place)
{
    switch (place->kind) {
    case HM_PLACE_INPUT: return (double *)(uintptr_t)frame->inputs[place->index];
    case HM_PLACE_OUTPUT: return frame->outputs[place->index];
    case HM_PLACE_CONSTANT: return (double *)(uintptr_t)place->pointer;
    case HM_PLACE_SCALAR: return frame->scalars + place->index;
    case HM_PLACE_WORKSPACE: return frame->tensors + place->index;
    default: return NULL;
    }
}

hm_status hm_tiles_run(const hm_frame *frame, const hm_tiles *tiles);
hm_status hm_scalars_run(const hm_frame *frame, const hm_scalars *scalars);

/*
 * The failure of an elementwise node whose element `index` came out as no finite number, where x holds
 * that element of each input: its own refusal, else Overflow.
 */
hm_status hm_refuse_element(hm_context *ctx, const hm_node *node, const double *x, int64_t index);

/* Strides of an operand spread over a shape, axes merged where they can be; see hm_tile_spread. */
void hm_tile_spread_axes(const hm_shape *operand, const hm_shape *shape, hm_tile_spread *out);

#endif
