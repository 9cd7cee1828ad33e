/*
 * Readers of records: wrappers that take one record and return one of its fields.
 *
 *     HM_FIELD(layers, running_mean, state, HMATH_KIND_BATCH_NORM_STATE, hm_batch_norm_state, running_mean)
 *
 * defines hmath_neural_layers_running_mean(ctx, state, out). Numbers become Values; lists and tensors
 * are shared with the record, since both are immutable.
 */
#ifndef HM_FIELD_H
#define HM_FIELD_H

#include "abi/edge.h"
#include "runtime/scalar.h"

static inline hm_status hm_publish_shared(hm_context *ctx, const void *value, hm_value **out)
{
    (void)ctx;
    *out = hm_retain(value);
    return HMATH_OK;
}

/* Its form does not know _Generic. */
/* clang-format off */
#define HM_PUBLISH(ctx, field, out) \
    _Generic((field), \
        double: hm_double_create, \
        int64_t: hm_int_create, \
        default: hm_publish_shared)(ctx, field, out)
/* clang-format on */

/* NOLINTBEGIN(bugprone-macro-parentheses): `argument` is a name, and stands in no expression */
#define HM_FIELD(space, reader, argument, kind, type, field) \
    hmath_status hmath_neural_##space##_##reader(hmath_context *ctx, const hmath_value *argument, \
                                                 hmath_value **out) \
    { \
        hm_status st = hm_edge_enter(ctx, #space "." #reader, out); \
        if (st != HMATH_OK) \
            return st; \
        const type *record; \
        if ((st = hm_arg_object(ctx, #argument, argument, kind, &record)) == HMATH_OK) \
            st = HM_PUBLISH(ctx, record->field, out); \
        return hm_leave(ctx, st); \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
