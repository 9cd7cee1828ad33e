/*
 * Counted memory for the numbers of lists and tensors, 64-byte aligned, and a bounded cache of blocks
 * that were given back: first-touch page faults on fresh memory cost more than many an operation.
 */
#ifndef HM_BUFFER_H
#define HM_BUFFER_H

#include <stdatomic.h>
#include <stddef.h>

#include "runtime/status.h"

typedef struct hm_buffer {
    _Atomic int64_t references;
    void *data;
    size_t capacity;             /* of the block this header opens; 0 for adopted memory */
    void (*release)(void *user); /* adopted memory only; may be NULL */
    void *user;
} hm_buffer;

/* `bytes` of uninitialised memory with one reference. */
hm_status hm_buffer_create(hm_context *ctx, size_t bytes, hm_buffer **out);

/* Memory of the caller's; release(user) is called once when the last reference goes. */
hm_status hm_buffer_adopt(hm_context *ctx, void *data, void (*release)(void *), void *user,
                          hm_buffer **out);

hm_buffer *hm_buffer_retain(hm_buffer *buffer);
void hm_buffer_release(hm_buffer *buffer); /* NULL is ignored */

/* Cached blocks, 64-byte aligned, for whatever is no Value: packing panels, partial sums. */
void *hm_block_take(size_t bytes, size_t *capacity);
void hm_block_give(void *block, size_t capacity);

/* Give every cached block back to the system; how many bytes the cache holds. */
void hm_buffer_cache_clear(void);
size_t hm_buffer_cache_bytes(void);

/* Around a fork: hold the cache still, and let it go in parent and child. */
void hm_buffer_cache_lock(void);
void hm_buffer_cache_unlock(void);

#endif
