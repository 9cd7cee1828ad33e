#include "runtime/buffer.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/alloc.h"
#include "runtime/checked.h"

/*
 * Small blocks are malloc's business, which is good at them. From 32 KiB up, sizes are rounded to four
 * steps an octave (at most 25 % is wasted) and blocks of one step are kept in a stack. The cache as a
 * whole holds at most 256 MiB, and no single block beyond 128 MiB.
 */
#define CACHE_BOUND ((size_t)256 << 20)
#define BLOCK_BOUND ((size_t)128 << 20)
#define SMALLEST ((size_t)32 << 10)
#define HUGE_PAGE ((size_t)2 << 20)

enum { STEPS = 4, OCTAVES = 13, CLASSES = STEPS * OCTAVES }; /* 32 KiB ... 128 MiB and above */

typedef struct cached {
    struct cached *next;
} cached;

static struct {
    pthread_mutex_t lock;
    cached *blocks[CLASSES];
    size_t bytes;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The class whose size is the smallest that holds `bytes`, and that size; -1 where it is not cached. */
static int class_of(size_t bytes, size_t *capacity)
{
    if (bytes < SMALLEST || bytes > BLOCK_BOUND)
        return -1;
    int octave = 0;
    while ((SMALLEST << (octave + 1)) <= bytes)
        octave++;
    size_t base = SMALLEST << octave, step = base / STEPS;
    size_t steps = (bytes - base + step - 1) / step;
    *capacity = base + steps * step;
    return octave * STEPS + (int)steps;
}

void *hm_block_take(size_t bytes, size_t *capacity)
{
    *capacity = bytes;
    int class = class_of(bytes, capacity);
    if (class >= 0 && class < CLASSES) {
        pthread_mutex_lock(&cache.lock);
        cached *found = cache.blocks[class];
        if (found) {
            cache.blocks[class] = found->next;
            cache.bytes -= *capacity;
        }
        pthread_mutex_unlock(&cache.lock);
        if (found)
            return found;
    }
    void *block = hm_alloc_aligned(*capacity, *capacity >= HUGE_PAGE ? HUGE_PAGE : HM_ALIGNMENT);
    if (block && *capacity >= HUGE_PAGE)
        madvise(block, *capacity, MADV_HUGEPAGE); /* a wish; the answer does not matter */
    return block;
}

void hm_block_give(void *block, size_t capacity)
{
    if (!block)
        return;
    size_t rounded = capacity;
    int class = class_of(capacity, &rounded);
    bool kept = false;
    if (class >= 0 && class < CLASSES && rounded == capacity) {
        pthread_mutex_lock(&cache.lock);
        if (cache.bytes + capacity <= CACHE_BOUND) {
            cached *entry = block;
            entry->next = cache.blocks[class];
            cache.blocks[class] = entry;
            cache.bytes += capacity;
            kept = true;
        }
        pthread_mutex_unlock(&cache.lock);
    }
    if (!kept)
        hm_free(block);
}

void hm_buffer_cache_clear(void)
{
    cached *all = NULL;
    pthread_mutex_lock(&cache.lock);
    for (int class = 0; class < CLASSES; class ++) {
        while (cache.blocks[class]) {
            cached *entry = cache.blocks[class];
            cache.blocks[class] = entry->next;
            entry->next = all;
            all = entry;
        }
    }
    cache.bytes = 0;
    pthread_mutex_unlock(&cache.lock);
    while (all) {
        cached *next = all->next;
        hm_free(all);
        all = next;
    }
}

size_t hm_buffer_cache_bytes(void)
{
    pthread_mutex_lock(&cache.lock);
    size_t bytes = cache.bytes;
    pthread_mutex_unlock(&cache.lock);
    return bytes;
}

void hm_buffer_cache_lock(void) { pthread_mutex_lock(&cache.lock); }

void hm_buffer_cache_unlock(void) { pthread_mutex_unlock(&cache.lock); }

/* The header takes the first cache line of its own block, so that data stays aligned. */
_Static_assert(sizeof(hm_buffer) <= HM_ALIGNMENT, "the header fits in the first cache line");

hm_status hm_buffer_create(hm_context *ctx, size_t bytes, hm_buffer **out)
{
    size_t total, capacity;
    if (!hm_bytes(HM_ALIGNMENT, bytes, 1, &total))
        return hm_fail_memory(ctx);
    hm_buffer *buffer = hm_block_take(total, &capacity);
    if (!buffer)
        return hm_fail_memory(ctx);
    *buffer = (hm_buffer){.data = (char *)buffer + HM_ALIGNMENT, .capacity = capacity};
    atomic_init(&buffer->references, 1);
    *out = buffer;
    return HMATH_OK;
}

hm_status hm_buffer_adopt(hm_context *ctx, void *data, void (*release)(void *), void *user,
                          hm_buffer **out)
{
    hm_buffer *buffer = hm_alloc(sizeof *buffer);
    if (!buffer)
        return hm_fail_memory(ctx);
    *buffer = (hm_buffer){.data = data, .release = release, .user = user};
    atomic_init(&buffer->references, 1);
    *out = buffer;
    return HMATH_OK;
}

hm_buffer *hm_buffer_retain(hm_buffer *buffer)
{
    if (buffer)
        atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}

void hm_buffer_release(hm_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1)
        return;
    if (buffer->capacity) {
        hm_block_give(buffer, buffer->capacity);
        return;
    }
    if (buffer->release)
        buffer->release(buffer->user);
    hm_free(buffer);
}
