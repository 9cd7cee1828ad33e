/*
 * How a function fails: it records what went wrong on the context and returns the status to pass on,
 *
 *     if (axis < 0 || axis >= rank)
 *         return hm_fail_index(ctx, "axis", HM_SCALAR, axis, rank);
 *
 * The operation's name is the context's (hm_enter). `argument` is the Python parameter name, or
 * "parameter.field"; it and `requirement` must be string literals, since they are kept as pointers.
 * `index` is the flat, row-major position of the offending element, or HM_SCALAR.
 */
#ifndef HM_STATUS_H
#define HM_STATUS_H

#include <stdint.h>

#include "hmath.h"

typedef hmath_status hm_status;
typedef hmath_context hm_context;
typedef hmath_value hm_value;

enum { HM_SCALAR = -1 };

/* "argument[index] = value; required <requirement>", e.g. requirement "> 0". */
hm_status hm_fail_domain(hm_context *ctx, const char *argument, int64_t index, double value,
                         const char *requirement);

/* The same for an integer, kept to its last digit. */
hm_status hm_fail_domain_int(hm_context *ctx, const char *argument, int64_t index, int64_t value,
                             const char *requirement);

/* "argument[index] = value <reason>; required <requirement>"; the reason is copied. */
hm_status hm_fail_domain_because(hm_context *ctx, const char *argument, int64_t index, double value,
                                 const char *reason, const char *requirement);

/* DomainError in words: "argument[index] <found>; required <requirement>". `found` is copied. */
hm_status hm_fail_requirement(hm_context *ctx, const char *argument, int64_t index,
                              const char *found, const char *requirement);

hm_status hm_fail_nonfinite(hm_context *ctx, const char *argument, int64_t index, double value);

/* A length or an extent that is not what another argument makes it. */
hm_status hm_fail_dimension(hm_context *ctx, const char *argument, int64_t expected,
                            int64_t actual);

/* A rank, a shape or a rule between extents, as texts; both are copied. */
hm_status hm_fail_shape(hm_context *ctx, const char *argument, const char *expected,
                        const char *actual);

hm_status hm_fail_empty(hm_context *ctx, const char *argument);

/* `value` is outside 0 ... bound - 1. */
hm_status hm_fail_index(hm_context *ctx, const char *argument, int64_t index, int64_t value,
                        int64_t bound);

hm_status hm_fail_overflow(hm_context *ctx);

/* `expected` names a kind ("Double"); `actual` is what was given instead. */
hm_status hm_fail_type(hm_context *ctx, const char *argument, const char *expected,
                       const hm_value *actual);

/* The same for what is no Value; `actual` is copied. */
hm_status hm_fail_type_text(hm_context *ctx, const char *argument, const char *expected,
                            const char *actual);

/*
 * Say where the failure just recorded stands, behind its message: "...; in log(x - 1)". Left out where there is
 * no room for all of it.
 */
void hm_fail_where(hm_context *ctx, const char *relation, const char *where);

/* HMATH_NO_MEMORY; allocates nothing. */
hm_status hm_fail_memory(hm_context *ctx);

/* HMATH_BAD_ARGUMENT: "argument <problem>", e.g. problem "is null". Both literals. */
hm_status hm_fail_argument(hm_context *ctx, const char *argument, const char *problem);

/* HMATH_CALLBACK: a callback reported failure and said no more. */
hm_status hm_fail_callback(hm_context *ctx, const char *argument);

#endif
