/*
 * The immutable, counted value behind every handle.
 *
 * A kind is a struct whose first member is an hm_value, and an hm_class that says how to let go of what
 * the struct holds. The one owner fills a new value in; once published it is never written again, so
 * readers need no lock. Each live value reserves the runtime.
 */
#ifndef HM_VALUE_H
#define HM_VALUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/status.h"

typedef struct hm_released hm_released; /* values on their way out */

typedef struct hm_class {
    int32_t kind;
    const char *name;
    /*
     * Free what self owns besides its own memory, and hand each reference it holds to
     * hm_release_later: releasing is a loop over a worklist, so depth costs no stack. NULL: nothing.
     */
    void (*dispose)(hm_value *self, hm_released *released);
} hm_class;

struct hmath_value {
    union {
        _Atomic int64_t references;
        hm_value *next_released; /* of a dying value, which nobody counts any more: the worklist */
    };
    const hm_class *class;
};

/* A new value with one reference and zeroed members, or NULL where there is no memory. */
hm_value *hm_value_alloc(const hm_class *class, size_t size);

/* The same with the failure recorded: hm_value_create(ctx, &class, sizeof *tensor, &tensor). */
hm_status hm_value_create(hm_context *ctx, const hm_class *class, size_t size, void *out);

/* Take a reference; give one back. NULL is fine for both. const, since counting is no change. */
void *hm_retain(const void *value);
void hm_release(const void *value);

/* For dispose: give back a reference held by a dying value. */
void hm_release_later(hm_released *released, const void *value);

/* Is v a live value of this kind? False for NULL and, in debug builds, for released handles. */
bool hm_value_is(const hm_value *v, int32_t kind);

/* Is v usable at all: not NULL and, in debug builds, not released? */
bool hm_value_alive(const hm_value *v);

/* "Double", "List of Double", "null" ... into `size` bytes of text. */
void hm_value_describe(const hm_value *v, char *text, size_t size);

#endif
