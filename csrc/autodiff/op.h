/*
 * What a differentiable primitive is: one `const hm_op`, defined at the foot of the file that computes
 * it and listed in ops.def. It holds a shape rule, a way to compute, and a reverse rule that builds
 * nodes, so that gradients are graphs like any other.
 *
 * An op computes in one of two ways. An *elementwise* op has a `map` over tiles of contiguous numbers:
 * programs run chains of them tile by tile, broadcasting their inputs on the way. Every other op has a
 * `run` that sees whole inputs. A map never fails: it lets NaN or an infinity come out, and `refuse`
 * then says which element of which input was to blame.
 */
#ifndef HM_OP_H
#define HM_OP_H

#include <stdbool.h>

#include "kernels/kernels.h"
#include "runtime/value.h"
#include "tensor/shape.h"

typedef struct hm_op hm_op;
typedef struct hm_node hm_node;
typedef struct hm_graph hm_graph;

enum { HM_VARIADIC = -1, HM_MAX_MAP_ARITY = 4 };

enum {
    HM_OP_VIEW = 1,     /* the result is its only input's numbers under another shape */
    HM_OP_UNIQUE = 2,   /* two nodes are never the same: variables, callbacks */
    HM_OP_LINEAR = 4,   /* in all inputs together: the tangent is the op itself on tangents */
    HM_OP_REPEATS = 16, /* the map takes single numbers for whole tiles */
    HM_OP_MULTILINEAR =
        8 /* in each input: the tangent is a sum with one input exchanged at a time */
};

/*
 * Arithmetic that programs do without the op's map, with its bits: the scalar interpreter itself, tiles by
 * kernels/arithmetic.h, where these follow one another in the same order.
 */
enum {
    HM_SCALAR_CALL, /* none of these: the map is called for one number */
    HM_SCALAR_ADD,
    HM_SCALAR_SUBTRACT,
    HM_SCALAR_MULTIPLY,
    HM_SCALAR_DIVIDE,
    HM_SCALAR_NEGATE,
    HM_SCALAR_SQUARE,
    HM_SCALAR_SQRT,
    HM_SCALAR_COPY
};

/* One evaluation. Inputs and output are contiguous, row-major, finite, and overlap nowhere. */
typedef struct hm_run {
    hm_context *ctx;
    const hm_node *node; /* shapes and attributes */
    const double *const *inputs;
    double *output;
    bool absorbed; /* the first input is what the node that made it was made of; see absorbs */
    double *sums;  /* NULL, or room for sums of the output; see sums_over */
    bool summed;   /* the first input is such sums of it; see takes_sums */
} hm_run;

struct hm_op {
    const char *name;             /* "autodiff.exp": the operation that failures name */
    const char *word;             /* what pictures and formulas call it; NULL: "exp" */
    const char *const *arguments; /* what failures call the inputs; NULL: "values" */
    int32_t arity;                /* number of inputs, or HM_VARIADIC */
    uint32_t flags;
    uint32_t scalar_code; /* HM_SCALAR_...; elementwise ops only */

    /* The result's shape, or a failure that says which input does not fit. */
    hm_status (*shape)(hm_context *ctx, hm_node *const *inputs, int32_t count,
                       const void *attributes, hm_shape *out);

    /*
     * Elementwise ops: n numbers of each input to n results, true where all of them are finite. May be
     * called from any thread. `output` may be one of the inputs. Where bit i of `repeated` is set, input
     * i is one number for all n: only ops with HM_OP_REPEATS see that.
     */
    bool (*map)(const hm_kernels *kernels, const void *attributes, const double *const *inputs,
                uint32_t repeated, double *output, int64_t n);
    /* The failure for element `index`, where x holds that element of each input; OK: none to blame. */
    hm_status (*refuse)(hm_context *ctx, const hm_node *node, const double *x, int64_t index);

    /*
     * Elementwise ops of one input: can `map_two` compute `other`, a node of the same input, along with this
     * one, with the bits of both maps and in less time? NULL: no.
     */
    bool (*pairs)(const hm_node *node, const hm_node *other);
    bool (*map_two)(const hm_kernels *kernels, const void *attributes, const double *input,
                    double *output, double *other_output, int64_t n);

    /* All other ops. */
    hm_status (*run)(const hm_run *run);

    /*
     * Put a node, or NULL for zero, into cotangents[i] for each input with wanted[i]. Shapes may be the
     * result's where an input was broadcast: the driver sums back. Failing is the graph's business.
     */
    void (*reverse)(hm_graph *g, hm_node *node, hm_node *cotangent, const bool *wanted,
                    hm_node **cotangents);

    /*
     * The node times the derivative of ReLU at x, in one pass and with the bits of two; `rectified` is the
     * node of ReLU of x. NULL, or returns NULL, where the op cannot.
     */
    hm_node *(*rectify)(hm_graph *g, hm_node *node, hm_node *rectified, hm_node *x);

    /*
     * Can `run` do the work of the elementwise node of one input that its own first input is, in the same
     * pass and with the bits of two? Programs make use of it where nobody else reads that node. NULL: no.
     */
    bool (*absorbs)(const hm_node *node, const hm_node *first);

    /*
     * Over how many trailing axes can `run` sum its own result, part by part while that is in the cache? The
     * sums, one for each element of the other axes, have the bits of a sum over these axes. NULL: none.
     */
    int32_t (*sums_over)(const hm_node *node);
    /* Would `run` begin by summing its first input over so many trailing axes, exactly? NULL: no. */
    bool (*takes_sums)(const hm_node *node, int32_t axes);

    /* The tangent of the result; tangents[i] is NULL for zero. Not needed where a flag says it all. */
    hm_node *(*tangent)(hm_graph *g, hm_node *node, hm_node *const *tangents);

    /* Take and give back what the attributes refer to. NULL: they are plain bytes. */
    void (*retain)(void *attributes);
    void (*dispose)(void *attributes, hm_released *released);
};

/* The op's own word, by default what follows the point: "exp" of "autodiff.exp". */
const char *hm_op_word(const hm_op *op);

/* What failures call input i. */
const char *hm_op_argument(const hm_op *op, int32_t i);

#endif
