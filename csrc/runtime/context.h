/*
 * The cursor a thread calls with: options, last failure, one reusable block of scratch memory.
 *
 * A call enters its context, works, and leaves it:
 *
 *     hm_status st = hm_enter(ctx, "core.softmax");
 *     if (st != HMATH_OK)
 *         return st;
 *     ...
 *     return hm_leave(ctx, st);
 *
 * The same thread may enter again (a callback); each depth has a failure of its own, so an inner call
 * never clobbers the outer one's.
 */
#ifndef HM_CONTEXT_H
#define HM_CONTEXT_H

#include "kernels/kernels.h"
#include "runtime/failure.h"

/* HMATH_BUSY from a second thread; HMATH_BAD_ARGUMENT where ctx is NULL or destroyed; HMATH_NO_MEMORY. */
hm_status hm_enter(hm_context *ctx, const char *operation);

/* Leaves what hm_enter entered and hands the status through. */
hm_status hm_leave(hm_context *ctx, hm_status st);

const hm_kernels *hm_context_kernels(const hm_context *ctx);
int32_t hm_context_threads(const hm_context *ctx);

/* The failure slot and the operation's name of the call that is running. */
hm_failure *hm_context_failure(hm_context *ctx);
const char *hm_context_operation(const hm_context *ctx);

/* Name the part of the running operation that failures speak of from here on; returns the old name. */
const char *hm_context_rename(hm_context *ctx, const char *operation);

/* A callback failed because a call it made failed: make that failure the outer call's own. */
void hm_context_adopt_inner_failure(hm_context *ctx);

/*
 * Scratch memory, 64-byte aligned, uninitialised: the context's own block where it is free, else one
 * from the buffer cache. Given back by hm_scratch_release, which ignores NULL.
 */
hm_status hm_scratch_create(hm_context *ctx, size_t count, size_t size, void *out);
void hm_scratch_release(hm_context *ctx, void *scratch);

#endif
