/**
 * hmath_autodiff.h: graphs of operations, their derivatives, and programs made of them.
 *
 * A *node* is an immutable value: an ADExpr (287) is a scalar, an ADTensor (288) has a shape of rank 1 or
 * more. Nodes are made from variables and constants by the functions below; a node's shape is fixed and
 * checked when it is made, its numbers when it is evaluated. A derivative is made of nodes, so it can be
 * differentiated again. The sine of 0 and its slope there:
 *
 *     hmath_value *x = NULL, *y = NULL, *slope = NULL, *program = NULL, *number = NULL;
 *     hmath_value *results[2] = {NULL, NULL};
 *     double value, derivative;
 *     if (hmath_autodiff_variable(ctx, "x", 0, NULL, &x) == HMATH_OK &&
 *         hmath_autodiff_sin(ctx, x, &y) == HMATH_OK &&
 *         hmath_autodiff_gradient(ctx, y, (const hmath_value *[]){x}, 1, &slope) == HMATH_OK &&
 *         hmath_autodiff_compile(ctx, (const hmath_value *[]){y, slope}, 2,
 *                                (const hmath_value *[]){x}, 1, &program) == HMATH_OK &&
 *         hmath_double_create(ctx, 0.0, &number) == HMATH_OK &&
 *         hmath_program_run(ctx, program, (const hmath_value *[]){number}, 1, results, 2) ==
 *             HMATH_OK &&
 *         hmath_double_get(results[0], &value) == HMATH_OK &&
 *         hmath_double_get(results[1], &derivative) == HMATH_OK)
 *         printf("%g %g\n", value, derivative);     // 0 1
 *     hmath_release(results[1]);
 *     hmath_release(results[0]);
 *     hmath_release(number);
 *     hmath_release(program);
 *     hmath_release(slope);
 *     hmath_release(y);
 *     hmath_release(x);
 *
 * A *program* (kind 300) is a graph made ready to run: dead nodes dropped, equal ones shared, constants
 * computed, chains of elementwise nodes run tile by tile in one pass, results placed in one block of
 * memory by liveness. It runs many times, from several threads at once.
 *
 * Operands. Wherever a node is taken, a Double serves as a scalar constant and a Tensor Double as a
 * constant tensor. Constants have to be finite. Elementwise operands broadcast as NumPy's do: aligned at
 * their last axes, extents equal or 1.
 *
 * Failure. Every function may return, besides what its own text says, HMATH_BAD_ARGUMENT (a null or
 * released handle), HMATH_NO_MEMORY, HMATH_BUSY, and HMATH_CHECKED with TypeMismatch (an operand is no
 * node, Double or Tensor Double), NonFinite (a constant) or DimensionMismatch (shapes that do not fit). A
 * failure while numbers are computed is the operation's own MathError: its `operation` names the node's
 * operation ("autodiff.log"), its `argument` and `index` what was to blame, and its message ends with the
 * node's formula. Outputs are untouched on failure and the caller's to release on success.
 *
 * Results have the same bits on every thread count and instruction set, and do not depend on how nodes
 * are gathered into programs.
 */
#ifndef HMATH_AUTODIFF_H
#define HMATH_AUTODIFF_H

#include "hmath_tensor.h"

#if defined(__cplusplus) && !defined(HMATH_CDEF)
extern "C" {
#endif

/* ---------------------------------------------------------------- variables, constants, reading */

/**
 * A variable: a value that comes when the graph is evaluated. Two variables of one name are two.
 * @param name   zero-terminated, copied (31 bytes at most, whole UTF-8 characters), for people; NULL: none
 * @param shape  `rank` extents; rank 0 makes an ADExpr
 * @return HMATH_CHECKED also: DomainError (a negative extent), DimensionMismatch (more than 8 axes)
 */
HMATH_CALL hmath_autodiff_variable(hmath_context *ctx, const char *name, int32_t rank,
                                   const int64_t *shape, hmath_value **out);

/** A constant, from a Double or a Tensor Double. */
HMATH_CALL hmath_autodiff_constant(hmath_context *ctx, const hmath_value *value, hmath_value **out);

/** The number of axes (0 for an ADExpr), -1 where v is no node; the extents, NULL where it is none. */
HMATH_API int32_t hmath_autodiff_rank(const hmath_value *v);
HMATH_API const int64_t *hmath_autodiff_shape(const hmath_value *v);

/** The node's operation ("autodiff.add"), static; NULL where v is no node. */
HMATH_API const char *hmath_autodiff_operation(const hmath_value *v);

/** A variable's name, borrowed from it; NULL where v is no variable. */
HMATH_API const char *hmath_autodiff_name(const hmath_value *v);

/** 1 where a and b are the same node, 0 where not. */
HMATH_API int hmath_autodiff_same(const hmath_value *a, const hmath_value *b);

/** The graph in Graphviz's language, as a String. */
HMATH_CALL hmath_autodiff_to_dot(hmath_context *ctx, const hmath_value *const *outputs, size_t n,
                                 hmath_value **out);

/** The formula, as a String: "sin(x) * 2.0 + y"; cut off where it grows beyond a few lines. */
HMATH_CALL hmath_autodiff_to_text(hmath_context *ctx, const hmath_value *node, hmath_value **out);

/* ---------------------------------------------------------------- elementwise */

/*
 * Of two operands, correctly rounded, power to 2 ulp. At evaluation: divide refuses right = 0
 * (DomainError), power a negative base under an exponent that is no integer and 0 under a negative one; all
 * of them Overflow. Where maximum or minimum meets a tie, each operand gets half of the cotangent.
 * Comparisons give 1.0 and 0.0, with derivative 0.
 */
HMATH_CALL hmath_autodiff_add(hmath_context *ctx, const hmath_value *left, const hmath_value *right,
                              hmath_value **out);
HMATH_CALL hmath_autodiff_subtract(hmath_context *ctx, const hmath_value *left,
                                   const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_autodiff_multiply(hmath_context *ctx, const hmath_value *left,
                                   const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_autodiff_divide(hmath_context *ctx, const hmath_value *left,
                                 const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_autodiff_power(hmath_context *ctx, const hmath_value *base,
                                const hmath_value *exponent, hmath_value **out);
HMATH_CALL hmath_autodiff_maximum(hmath_context *ctx, const hmath_value *left,
                                  const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_autodiff_minimum(hmath_context *ctx, const hmath_value *left,
                                  const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_autodiff_equal(hmath_context *ctx, const hmath_value *left,
                                const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_autodiff_less(hmath_context *ctx, const hmath_value *left,
                               const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_autodiff_less_equal(hmath_context *ctx, const hmath_value *left,
                                     const hmath_value *right, hmath_value **out);

/** a where condition is not 0, else b; both are computed. No derivative flows into the condition. */
HMATH_CALL hmath_autodiff_select(hmath_context *ctx, const hmath_value *condition,
                                 const hmath_value *a, const hmath_value *b, hmath_value **out);

/*
 * Of one operand, as accurate as their namesakes in hmath_tensor.h. At evaluation: log needs value > 0,
 * log1p > -1, sqrt >= 0, reciprocal != 0 (DomainError). The derivative of absolute and of sign is 0 at 0;
 * that of sqrt at 0 is a DomainError.
 */
HMATH_CALL hmath_autodiff_negate(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_absolute(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_sign(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_square(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_sqrt(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_reciprocal(hmath_context *ctx, const hmath_value *value,
                                     hmath_value **out);
HMATH_CALL hmath_autodiff_exp(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_expm1(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_log(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_log1p(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_sin(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_cos(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_tan(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_tanh(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_autodiff_erf(hmath_context *ctx, const hmath_value *value, hmath_value **out);

/**
 * An activation (274) of every element. hmath_neural_core_activation_expr is the same for a node.
 * @return HMATH_CHECKED also: NonFinite, DomainError (the selector's parameter)
 */
HMATH_CALL hmath_autodiff_activation(hmath_context *ctx, const hmath_value *method,
                                     const hmath_value *value, hmath_value **out);

/* ---------------------------------------------------------------- arrangement */

/** The same elements, row-major, under another shape. Costs nothing when run. */
HMATH_CALL hmath_autodiff_reshape(hmath_context *ctx, const hmath_value *value, int32_t rank,
                                  const int64_t *shape, hmath_value **out);

/** Axis i of the result is axis axes[i]; NULL: reversed. IndexOutOfBounds, DomainError (twice the same). */
HMATH_CALL hmath_autodiff_transpose(hmath_context *ctx, const hmath_value *value,
                                    const int64_t *axes, hmath_value **out);

/** Repeated to a larger shape. */
HMATH_CALL hmath_autodiff_broadcast_to(hmath_context *ctx, const hmath_value *value, int32_t rank,
                                       const int64_t *shape, hmath_value **out);

/** As hmath_tensor_slice: start, stop and step per axis; NULL for from the beginning, to the end, 1. */
HMATH_CALL hmath_autodiff_slice(hmath_context *ctx, const hmath_value *value, const int64_t *start,
                                const int64_t *stop, const int64_t *step, hmath_value **out);

/** Element `index`, counted row-major, as an ADExpr. IndexOutOfBounds. */
HMATH_CALL hmath_autodiff_element(hmath_context *ctx, const hmath_value *value, int64_t index,
                                  hmath_value **out);

/** Along an axis that all have. EmptyInput: n = 0. */
HMATH_CALL hmath_autodiff_concatenate(hmath_context *ctx, const hmath_value *const *values,
                                      size_t n, int64_t axis, hmath_value **out);

/** n scalars, row-major, as a tensor of a shape with n elements. */
HMATH_CALL hmath_autodiff_stack(hmath_context *ctx, const hmath_value *const *values, size_t n,
                                int32_t rank, const int64_t *shape, hmath_value **out);

/** n nodes of one shape side by side along a new axis. EmptyInput: n = 0. */
HMATH_CALL hmath_autodiff_stack_along(hmath_context *ctx, const hmath_value *const *values,
                                      size_t n, int64_t axis, hmath_value **out);

/**
 * Along `axis`, the slices that `indices` name: whole numbers, checked at evaluation (IndexOutOfBounds,
 * DomainError). The axis gives way to the axes of `indices`. An embedding is a gather along axis 0.
 */
HMATH_CALL hmath_autodiff_gather(hmath_context *ctx, const hmath_value *value,
                                 const hmath_value *indices, int64_t axis, hmath_value **out);

/* ---------------------------------------------------------------- reductions and products */

/**
 * Along `count` axes (HMATH_ALL_AXES: all); with `keep`, they stay with extent 1. The order of summation
 * is the numerics contract's. mean and max of nothing are EmptyInput. Elements that share a maximum share
 * its cotangent alike.
 */
HMATH_CALL hmath_autodiff_sum(hmath_context *ctx, const hmath_value *value, int32_t count,
                              const int64_t *axes, int keep, hmath_value **out);
HMATH_CALL hmath_autodiff_mean(hmath_context *ctx, const hmath_value *value, int32_t count,
                               const int64_t *axes, int keep, hmath_value **out);
HMATH_CALL hmath_autodiff_max(hmath_context *ctx, const hmath_value *value, int32_t count,
                              const int64_t *axes, int keep, hmath_value **out);

/** Euclidean norm over all elements of n nodes, without overflow on the way; derivative 0 at 0. */
HMATH_CALL hmath_autodiff_norm(hmath_context *ctx, const hmath_value *const *values, size_t n,
                               hmath_value **out);

/** left @ right as in NumPy: matrices on the last two axes, leading axes broadcast. */
HMATH_CALL hmath_autodiff_matmul(hmath_context *ctx, const hmath_value *left,
                                 const hmath_value *right, hmath_value **out);

/* ---------------------------------------------------------------- layers */

/*
 * The nodes that training needs besides the *_expr and *_ad functions of hmath_deeplearning.h: the
 * operations without a graph of the same names (in core and layers) say what each computes, checks and
 * refuses. Scalar parameters and selectors are Values, as there.
 */

/** Along an axis. First-order. @return HMATH_CHECKED also: IndexOutOfBounds, EmptyInput */
HMATH_CALL hmath_autodiff_softmax(hmath_context *ctx, const hmath_value *value, int64_t axis,
                                  hmath_value **out);
HMATH_CALL hmath_autodiff_log_softmax(hmath_context *ctx, const hmath_value *value, int64_t axis,
                                      hmath_value **out);
HMATH_CALL hmath_autodiff_sparsemax(hmath_context *ctx, const hmath_value *value, int64_t axis,
                                    hmath_value **out);

/** layers.transposed_convolution. The bias is a vector, or a list of scalars. */
HMATH_CALL hmath_autodiff_transposed_convolution(hmath_context *ctx,
                                                 const hmath_value *output_padding,
                                                 const hmath_value *options,
                                                 const hmath_value *input,
                                                 const hmath_value *weights,
                                                 const hmath_value *bias, hmath_value **out);

/** layers.pooling. Of equal maxima in a window the first one gets the cotangent. */
HMATH_CALL hmath_autodiff_pooling(hmath_context *ctx, const hmath_value *mode,
                                  const hmath_value *kernel, const hmath_value *stride,
                                  const hmath_value *padding, const hmath_value *input,
                                  hmath_value **out);

/** layers.group_norm and layers.instance_norm. */
HMATH_CALL hmath_autodiff_group_norm(hmath_context *ctx, const hmath_value *groups,
                                     const hmath_value *epsilon, const hmath_value *input,
                                     hmath_value **out);
HMATH_CALL hmath_autodiff_instance_norm(hmath_context *ctx, const hmath_value *epsilon,
                                        const hmath_value *input, hmath_value **out);

/**
 * Batch normalisation in its training form: input [N, C, spatial...] by the batch's own mean and
 * population variance per channel, times gamma, plus beta. These statistics are nodes of length C too,
 * for running averages.
 */
HMATH_CALL hmath_autodiff_batch_norm(hmath_context *ctx, const hmath_value *epsilon,
                                     const hmath_value *gamma, const hmath_value *beta,
                                     const hmath_value *input, hmath_value **out,
                                     hmath_value **mean, hmath_value **variance);

/**
 * layers.multihead_attention: query [..., N, D], key [..., M, D], value [..., M, F] with the same leading
 * axes; D and F are split into heads. The mask ([[Bool]], N x M, or NULL) is the same for all. First-order.
 */
HMATH_CALL hmath_autodiff_multihead_attention(hmath_context *ctx, const hmath_value *heads,
                                              const hmath_value *query, const hmath_value *key,
                                              const hmath_value *value, const hmath_value *mask,
                                              hmath_value **out);

/* ---------------------------------------------------------------- derivatives */

/**
 * Reverse mode: the gradient of a node of one element with respect to m nodes, each shaped like its
 * node; zeros where the output does not depend on it. Gradients are nodes and can be differentiated
 * again, except through softmax, log_softmax, sparsemax, CTC, attention and custom nodes.
 * @param gradients  room for m handles
 * @return HMATH_CHECKED also: DimensionMismatch (output has other than one element), DomainError (the
 *         output depends on `wrt` through something that has no derivative: a first-order operation's
 *         derivative, named in the message)
 */
HMATH_CALL hmath_autodiff_gradient(hmath_context *ctx, const hmath_value *output,
                                   const hmath_value *const *wrt, size_t m,
                                   hmath_value **gradients);

/**
 * Reverse mode from outputs of any shape: the sum of their Jacobians, transposed, applied to `seeds`,
 * each shaped like its output.
 */
HMATH_CALL hmath_autodiff_pull_back(hmath_context *ctx, const hmath_value *const *outputs,
                                    const hmath_value *const *seeds, size_t n,
                                    const hmath_value *const *wrt, size_t m,
                                    hmath_value **cotangents);

/**
 * Forward mode: the output's Jacobians applied to tangents, each shaped like its node in `wrt`, summed. Custom
 * nodes have no tangent (DomainError).
 */
HMATH_CALL hmath_autodiff_push_forward(hmath_context *ctx, const hmath_value *output,
                                       const hmath_value *const *wrt,
                                       const hmath_value *const *tangents, size_t m,
                                       hmath_value **tangent);

/* ---------------------------------------------------------------- programs */

/**
 * A program that computes n outputs from values for m variables. Variables on which no output depends may
 * be among them: a derivative often depends on fewer than what it is the derivative of.
 * @return HMATH_CHECKED also: DomainError (a variable of the graph is missing, an input is no variable or
 *         stands there twice)
 */
HMATH_CALL hmath_autodiff_compile(hmath_context *ctx, const hmath_value *const *outputs, size_t n,
                                  const hmath_value *const *inputs, size_t m, hmath_value **out);

/**
 * A program whose outputs are the value of a one-element node and its gradient with respect to k nodes.
 * Inputs that take part in none of it are let be.
 */
HMATH_CALL hmath_autodiff_compile_gradient(hmath_context *ctx, const hmath_value *output,
                                           const hmath_value *const *inputs, size_t m,
                                           const hmath_value *const *wrt, size_t k,
                                           hmath_value **out);

/** How many inputs and outputs; -1 where v is no program. */
HMATH_API int64_t hmath_program_inputs(const hmath_value *v);
HMATH_API int64_t hmath_program_outputs(const hmath_value *v);

/**
 * What compiling came to: nodes that the outputs depend on, steps that a run takes, how many of these
 * steps run several nodes at once, bytes that a run needs besides its results.
 * @return HMATH_BAD_ARGUMENT: v is no program, or a pointer is NULL
 */
HMATH_CALL hmath_program_describe(const hmath_value *v, int64_t *nodes, int64_t *steps,
                                  int64_t *groups, int64_t *workspace);

/**
 * Run it. inputs[i] is a Double for a scalar variable, a Tensor Double of the variable's shape for any
 * other (a tensor of rank 0 serves as a Double); outputs[j] becomes a Double or a Tensor Double.
 * @param m, n  have to be the program's numbers of inputs and outputs (DimensionMismatch)
 * @return HMATH_CHECKED: TypeMismatch, DimensionMismatch, NonFinite (an input), or what a node refused;
 *         HMATH_CALLBACK: a callback failed
 */
HMATH_CALL hmath_program_run(hmath_context *ctx, const hmath_value *program,
                             const hmath_value *const *inputs, size_t m, hmath_value **outputs,
                             size_t n);

/* ---------------------------------------------------------------- evaluation at once */

/*
 * Each of these compiles a program, runs it and forgets it: compile one yourself to run it often.
 * `variables` and `values` are m variables and what they stand for.
 */

/** The values of n nodes. */
HMATH_CALL hmath_autodiff_evaluate(hmath_context *ctx, const hmath_value *const *outputs, size_t n,
                                   const hmath_value *const *variables,
                                   const hmath_value *const *values, size_t m,
                                   hmath_value **results);

/** The value of a one-element node and its gradient with respect to k nodes. */
HMATH_CALL hmath_autodiff_value_and_gradient(hmath_context *ctx, const hmath_value *output,
                                             const hmath_value *const *variables,
                                             const hmath_value *const *values, size_t m,
                                             const hmath_value *const *wrt, size_t k,
                                             hmath_value **value, hmath_value **gradients);

/** The Jacobian of a node with respect to another: shape (output's axes..., wrt's axes...). */
HMATH_CALL hmath_autodiff_jacobian(hmath_context *ctx, const hmath_value *output,
                                   const hmath_value *const *variables,
                                   const hmath_value *const *values, size_t m,
                                   const hmath_value *wrt, hmath_value **out);

/** The value of a node, and its tangent where variables[i] moves along tangents[i] (NULL: not at all). */
HMATH_CALL hmath_autodiff_jvp(hmath_context *ctx, const hmath_value *output,
                              const hmath_value *const *variables, const hmath_value *const *values,
                              const hmath_value *const *tangents, size_t m, hmath_value **value,
                              hmath_value **tangent);

/* ---------------------------------------------------------------- custom nodes */

/**
 * The value of a custom node: one value per input, Doubles for scalars and Tensors for others, all
 * finite; *out is a Double or Tensor of the node's shape, a new reference. Runs on the thread that runs
 * the program, and may call the library with the context it gets. Anything but HMATH_OK ends the run:
 * with the failure of the callback's latest call where that is what it returns, else with HMATH_CALLBACK.
 */
typedef hmath_status (*hmath_custom_forward)(hmath_context *ctx, void *user,
                                             const hmath_value *const *inputs, size_t n,
                                             hmath_value **out);

/** Its derivative: from the inputs and the adjoint, a Tuple of one cotangent per input, shaped like it. */
typedef hmath_status (*hmath_custom_reverse)(hmath_context *ctx, void *user,
                                             const hmath_value *const *inputs, size_t n,
                                             const hmath_value *adjoint,
                                             hmath_value **cotangents_tuple);

/**
 * A node of n inputs whose value and derivative are callbacks. First-order. destroy(user) is called once,
 * when the last graph or program that holds the node is gone; on failure it is not called. User data that
 * holds a reference to the node itself keeps both for ever.
 * @param reverse  NULL: the node has no derivative
 * @param destroy  NULL: nothing to do
 */
HMATH_CALL hmath_autodiff_custom(hmath_context *ctx, const hmath_value *const *inputs, size_t n,
                                 int32_t rank, const int64_t *shape, hmath_custom_forward forward,
                                 hmath_custom_reverse reverse, void *user, void (*destroy)(void *),
                                 hmath_value **out);

/* ---------------------------------------------------------------- dual numbers */

/*
 * A Dual (289) is a number with its derivative along one direction. Arithmetic on duals carries both
 * along: forward mode without a graph. Wherever a Dual is taken, a Double serves as one of tangent 0.
 * Functions have the domains, failures and kinks of their namesakes above.
 */
HMATH_CALL hmath_dual_create(hmath_context *ctx, double value, double tangent, hmath_value **out);
HMATH_CALL hmath_dual_get(const hmath_value *v, double *value, double *tangent);
HMATH_CALL hmath_dual_add(hmath_context *ctx, const hmath_value *left, const hmath_value *right,
                          hmath_value **out);
HMATH_CALL hmath_dual_subtract(hmath_context *ctx, const hmath_value *left,
                               const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_dual_multiply(hmath_context *ctx, const hmath_value *left,
                               const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_dual_divide(hmath_context *ctx, const hmath_value *left, const hmath_value *right,
                             hmath_value **out);
HMATH_CALL hmath_dual_power(hmath_context *ctx, const hmath_value *base,
                            const hmath_value *exponent, hmath_value **out);
HMATH_CALL hmath_dual_maximum(hmath_context *ctx, const hmath_value *left, const hmath_value *right,
                              hmath_value **out);
HMATH_CALL hmath_dual_minimum(hmath_context *ctx, const hmath_value *left, const hmath_value *right,
                              hmath_value **out);
HMATH_CALL hmath_dual_negate(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_absolute(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_sqrt(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_exp(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_expm1(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_log(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_log1p(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_sin(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_cos(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_tan(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_tanh(hmath_context *ctx, const hmath_value *value, hmath_value **out);
HMATH_CALL hmath_dual_erf(hmath_context *ctx, const hmath_value *value, hmath_value **out);

/* ---------------------------------------------------------------- the older handles */

/**
 * The handle type of earlier programs: one scalar or tensor node. It is counted like a value; import and
 * export share the node, so that a graph can be built with both.
 */
typedef struct hmath_ad hmath_ad;

/** The node of a handle as a Value 287 or 288; of such a Value as a handle. TypeMismatch: it is none. */
HMATH_CALL hmath_ad_value_import(hmath_context *ctx, hmath_ad *handle, hmath_value **out);
HMATH_CALL hmath_ad_value_export(hmath_context *ctx, const hmath_value *value, hmath_ad **out);

/** One reference more; returns the handle. One less. NULL is fine for both. */
HMATH_API hmath_ad *hmath_ad_retain(hmath_ad *handle);
HMATH_API void hmath_ad_release(hmath_ad *handle);

HMATH_CALL hmath_ad_variable(hmath_context *ctx, const char *name, hmath_ad **out);
HMATH_CALL hmath_ad_constant(hmath_context *ctx, double value, hmath_ad **out);

#if defined(__cplusplus) && !defined(HMATH_CDEF)
}
#endif

#endif
