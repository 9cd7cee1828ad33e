/*
 * The edge of the library: what every wrapper does with the Values it is given.
 *
 * A wrapper enters its context, reads the kinds of its arguments in argument order, calls one core
 * function that has natural types, and publishes the result:
 *
 *     hmath_status hmath_neural_core_regularization(hmath_context *ctx, const hmath_value *l1,
 *                                                   const hmath_value *l2,
 *                                                   const hmath_value *weights, hmath_value **out)
 *     {
 *         hm_status st = hm_edge_enter(ctx, "core.regularization", out);
 *         if (st != HMATH_OK)
 *             return st;
 *         double l1_value, l2_value, result;
 *         hm_doubles weights_value;
 *         if ((st = hm_arg_double(ctx, "l1", l1, &l1_value)) == HMATH_OK &&
 *             (st = hm_arg_double(ctx, "l2", l2, &l2_value)) == HMATH_OK &&
 *             (st = hm_arg_doubles(ctx, "weights", weights, &weights_value)) == HMATH_OK &&
 *             (st = hm_regularization(ctx, l1_value, l2_value, &weights_value, &result)) == HMATH_OK)
 *             st = hm_double_create(ctx, result, out);
 *         return hm_leave(ctx, st);
 *     }
 *
 * Reading kinds is step 1 of the order of checks (TypeMismatch; HMATH_BAD_ARGUMENT for NULL). What
 * concerns shapes is only noted in the view: a core function checks it at step 3 with hm_check_vector
 * or hm_check_matrix, after the scalar parameters.
 */
#ifndef HM_EDGE_H
#define HM_EDGE_H

#include "runtime/context.h"
#include "runtime/list.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

/* hm_enter, after a look at out. */
hm_status hm_edge_enter(hm_context *ctx, const char *operation, hm_value **out);

/* Scalars. */
hm_status hm_arg_double(hm_context *ctx, const char *name, const hm_value *v, double *out);
hm_status hm_arg_int(hm_context *ctx, const char *name, const hm_value *v, int64_t *out);
hm_status hm_arg_bool(hm_context *ctx, const char *name, const hm_value *v, bool *out);

/* An object of a fixed kind: hm_arg_object(ctx, "method", v, HMATH_KIND_LOSS, &loss). */
hm_status hm_arg_object(hm_context *ctx, const char *name, const hm_value *v, int32_t kind,
                        void *out);

/* A Double tensor (161). */
hm_status hm_arg_tensor(hm_context *ctx, const char *name, const hm_value *v,
                        const hm_tensor **out);

/* A tensor of either kind (161, 162). */
hm_status hm_arg_either_tensor(hm_context *ctx, const char *name, const hm_value *v,
                               const hm_tensor **out);

/* [Double]: a flat list, or a Double tensor. [[Double]]: a list of lists, or a Double tensor. */
hm_status hm_arg_doubles(hm_context *ctx, const char *name, const hm_value *v, hm_doubles *out);
hm_status hm_arg_double_rows(hm_context *ctx, const char *name, const hm_value *v,
                             hm_double_rows *out);

/* [Int], [Bool], [[Bool]]. */
hm_status hm_arg_ints(hm_context *ctx, const char *name, const hm_value *v, hm_ints *out);
hm_status hm_arg_bools(hm_context *ctx, const char *name, const hm_value *v, hm_bools *out);
hm_status hm_arg_bool_rows(hm_context *ctx, const char *name, const hm_value *v, hm_bool_rows *out);

/* Publish a tuple of two or three results; their references are used up, on failure too. */
hm_status hm_publish_pair(hm_context *ctx, hm_value *first, hm_value *second, hm_value **out);
hm_status hm_publish_triple(hm_context *ctx, hm_value *first, hm_value *second, hm_value *third,
                            hm_value **out);

#endif
