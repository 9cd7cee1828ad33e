#include "runtime/value.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "runtime/alloc.h"
#include "runtime/list.h"
#include "runtime/runtime.h"

struct hm_released {
    hm_value *first;
};

#ifndef NDEBUG
/*
 * Debug builds do not give a dead value's memory back at once: its header is marked and kept in a ring,
 * so that a handle used after its last release is noticed instead of read from reused memory.
 */
enum { QUARANTINE = 4096, DEAD = -1 };

static _Atomic(hm_value *) quarantine[QUARANTINE];
static atomic_size_t quarantined;

static void bury(hm_value *v)
{
    atomic_store(&v->references, DEAD);
    size_t place = atomic_fetch_add(&quarantined, 1) % QUARANTINE;
    hm_free(atomic_exchange(&quarantine[place], v));
}

bool hm_value_alive(const hm_value *v) { return v && atomic_load(&v->references) > 0; }
#else
static void bury(hm_value *v) { hm_free(v); }

bool hm_value_alive(const hm_value *v) { return v != NULL; }
#endif

hm_value *hm_value_alloc(const hm_class *class, size_t size)
{
    assert(size >= sizeof(hm_value));
    hm_value *v = hm_alloc(size);
    if (!v)
        return NULL;
    memset(v, 0, size);
    atomic_init(&v->references, 1);
    v->class = class;
    hm_runtime_reserve(HM_RESERVE_VALUE);
    return v;
}

hm_status hm_value_create(hm_context *ctx, const hm_class *class, size_t size, void *out)
{
    hm_value *v = hm_value_alloc(class, size);
    if (!v)
        return hm_fail_memory(ctx);
    *(hm_value **)out = v;
    return HMATH_OK;
}

void *hm_retain(const void *value)
{
    hm_value *v = (hm_value *)(uintptr_t)value;
    if (hm_value_alive(v))
        atomic_fetch_add_explicit(&v->references, 1, memory_order_relaxed);
    return v;
}

/* Give one reference back; true where it was the last. */
static bool drop(hm_value *v)
{
    if (atomic_load_explicit(&v->references, memory_order_acquire) == 1)
        return true; /* nobody else holds it, so nobody can take another */
    return atomic_fetch_sub_explicit(&v->references, 1, memory_order_acq_rel) == 1;
}

void hm_release_later(hm_released *released, const void *value)
{
    hm_value *v = (hm_value *)(uintptr_t)value;
    if (!hm_value_alive(v) || !drop(v))
        return;
    v->next_released = released->first;
    released->first = v;
}

void hm_release(const void *value)
{
    hm_value *v = (hm_value *)(uintptr_t)value;
#ifndef NDEBUG
    if (v && !hm_value_alive(v))
        fprintf(stderr, "libhmath: a handle was released once too often\n");
#endif
    hm_released released = {NULL};
    hm_release_later(&released, v);
    while (released.first) {
        hm_value *dying = released.first;
        released.first = dying->next_released;
        if (dying->class->dispose)
            dying->class->dispose(dying, &released);
        bury(dying);
        hm_runtime_release(HM_RESERVE_VALUE);
    }
}

bool hm_value_is(const hm_value *v, int32_t kind)
{
    return hm_value_alive(v) && v->class->kind == kind;
}

void hm_value_describe(const hm_value *v, char *text, size_t size)
{
    if (!v)
        snprintf(text, size, "null");
    else if (!hm_value_alive(v))
        snprintf(text, size, "released handle");
    else if (v->class->kind == HMATH_KIND_LIST)
        hm_list_describe((const hm_list *)v, text, size);
    else
        snprintf(text, size, "%s", v->class->name);
}
