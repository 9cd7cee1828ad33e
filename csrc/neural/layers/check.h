/* Step 2 of the order of checks, for the parameters that layers have in common. */
#ifndef HM_LAYERS_CHECK_H
#define HM_LAYERS_CHECK_H

#include <stdio.h>

#include "tensor/view.h"

static inline hm_status hm_check_positive(hm_context *ctx, const char *argument, double x)
{
    hm_status st = hm_check_scalar_finite(ctx, argument, x);
    if (st == HMATH_OK && !(x > 0))
        st = hm_fail_domain(ctx, argument, HM_SCALAR, x, "> 0");
    return st;
}

static inline hm_status hm_check_not_negative(hm_context *ctx, const char *argument, double x)
{
    hm_status st = hm_check_scalar_finite(ctx, argument, x);
    if (st == HMATH_OK && !(x >= 0))
        st = hm_fail_domain(ctx, argument, HM_SCALAR, x, ">= 0");
    return st;
}

static inline hm_status hm_check_count(hm_context *ctx, const char *argument, int64_t n)
{
    return n >= 0 ? HMATH_OK : hm_fail_domain_int(ctx, argument, HM_SCALAR, n, ">= 0");
}

static inline hm_status hm_check_at_least_one(hm_context *ctx, const char *argument, int64_t n)
{
    return n >= 1 ? HMATH_OK : hm_fail_domain_int(ctx, argument, HM_SCALAR, n, ">= 1");
}

/* Every entry of a parameter list. */
static inline hm_status hm_check_entries(hm_context *ctx, const char *argument, const hm_ints *list,
                                         int64_t least)
{
    for (int64_t i = 0; i < list->length; i++)
        if (list->data[i] < least)
            return hm_fail_domain_int(ctx, argument, i, list->data[i], least ? ">= 1" : ">= 0");
    return HMATH_OK;
}

/* Step 3: `count` things of `whole` that fall into `parts` equal parts. */
static inline hm_status hm_check_divides(hm_context *ctx, const char *argument, int64_t parts,
                                         int64_t count, const char *whole)
{
    if (count % parts == 0)
        return HMATH_OK;
    char expected[64], actual[32];
    snprintf(expected, sizeof expected, "a divisor of %lld %s", (long long)count, whole);
    snprintf(actual, sizeof actual, "%lld", (long long)parts);
    return hm_fail_shape(ctx, argument, expected, actual);
}

#endif
