#include "runtime/buffer.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "runtime/alloc.h"
#include "runtime/checked.h"

/*
 * Blocks below 1 KiB are malloc's business, which keeps such small ones at hand. From there up, sizes are
 * rounded to four steps an octave, with room for a header besides (at most 25 % is wasted, and nothing of a
 * power of two), and blocks of one step are kept in a stack. The cache as a whole holds at most 256 MiB, and
 * no single block beyond 128 MiB.
 *
 * Parameters and what is computed from them are often some hundred kilobytes each and tens of megabytes in
 * all: on pages of 4 KiB that is more than the processor keeps translations for. So blocks of 128 KiB up to a
 * huge page are cut from slabs that lie on huge pages, one after the other. A slab goes when all its blocks
 * have gone; until then, one that leaves the cache gives its pages back and its place stays empty.
 */
#define CACHE_BOUND ((size_t)256 << 20)
#define BLOCK_BOUND (((size_t)128 << 20) + HM_ALIGNMENT)
#define SMALLEST_CUT ((size_t)128 << 10)
#define SLAB ((size_t)16 << 20)
#define LARGEST_PAGE ((size_t)64 << 10) /* of the ordinary ones, on any machine */

enum { STEPS = 4, OCTAVES = 18, CLASSES = STEPS * OCTAVES }; /* 1 KiB ... 128 MiB and above */

/* Where memory errors are looked for, each block has to be one of the allocator's own, and few are kept. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUTS 0
#endif
#endif
#if !defined(CUTS) && defined(__SANITIZE_ADDRESS__)
#define CUTS 0
#endif
#ifndef CUTS
#define CUTS 1
#endif
#define SMALLEST ((size_t)(CUTS ? 1 : 32) << 10)

typedef struct cached {
    struct cached *next;
} cached;

/* The first bytes of what it manages, at a multiple of SLAB. */
typedef struct slab {
    size_t used;    /* bytes from its beginning */
    int64_t blocks; /* in use or cached, and one more while new ones are cut from it */
} slab;

static struct {
    pthread_mutex_t lock;
    cached *blocks[CLASSES];
    size_t bytes;
    slab *open; /* the one that blocks are cut from, or NULL */
    int64_t slabs;
} cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The class whose size is the smallest that holds `bytes`, and that size; -1 where it is not cached. */
static int class_of(size_t bytes, size_t *capacity)
{
    if (bytes < SMALLEST || bytes > BLOCK_BOUND)
        return -1;
    const size_t payload = bytes - SMALLEST < HM_ALIGNMENT ? SMALLEST : bytes - HM_ALIGNMENT;
    int octave = 0;
    while ((SMALLEST << (octave + 1)) <= payload)
        octave++;
    size_t base = SMALLEST << octave, step = base / STEPS;
    size_t steps = (payload - base + step - 1) / step;
    *capacity = base + steps * step + HM_ALIGNMENT;
    return octave * STEPS + (int)steps;
}

static size_t class_capacity(int class)
{
    const size_t base = SMALLEST << class / STEPS;
    return base + (size_t)(class % STEPS) * (base / STEPS) + HM_ALIGNMENT;
}

/* ------------------------------------------------- slabs, under the lock */

static bool is_cut(size_t capacity)
{
    return CUTS && capacity >= SMALLEST_CUT && capacity < HM_HUGE_PAGE;
}

static void drop(slab *s)
{
    if (--s->blocks > 0)
        return;
    cache.slabs--;
    hm_unmap(s, SLAB);
}

static void close_slab(void)
{
    if (cache.open)
        drop(cache.open);
    cache.open = NULL;
}

/* The first huge page of all is left to small ones, so that who needs little gets no more. */
static slab *open_slab(void)
{
    slab *s = hm_map(SLAB);
    if (!s)
        return NULL;
    const size_t plain = cache.slabs++ ? 0 : HM_HUGE_PAGE;
    madvise((char *)s + plain, SLAB - plain,
            MADV_HUGEPAGE); /* a wish; the answer does not matter */
    *s = (slab){.used = HM_ALIGNMENT, .blocks = 1};
    return s;
}

static void *cut(size_t capacity)
{
    if (cache.open && cache.open->used + capacity > SLAB)
        close_slab();
    if (!cache.open && !(cache.open = open_slab()))
        return NULL;
    void *block = (char *)cache.open + cache.open->used;
    cache.open->used += capacity;
    cache.open->blocks++;
    return block;
}

static void give_pages_back(void *block, size_t capacity)
{
    const uintptr_t first = ((uintptr_t)block + LARGEST_PAGE - 1) & ~(LARGEST_PAGE - 1);
    const uintptr_t end = ((uintptr_t)block + capacity) & ~(LARGEST_PAGE - 1);
    madvise((void *)first, end - first, MADV_DONTNEED);
}

static void uncut(void *block, size_t capacity)
{
    slab *s = (slab *)((uintptr_t)block & ~(uintptr_t)(SLAB - 1));
    if (s->blocks > 1)
        give_pages_back(block, capacity);
    drop(s);
}

/* ------------------------------------------------- small blocks */

/*
 * What malloc keeps at hand is not aligned; an aligned piece it would cut out of a larger one every time, and
 * heal when it is freed (glibc 2.36, 128 bytes: 86 to 309 ns instead of 11 to 20). So a block begins at the
 * next line of a piece, and right before it stands where the piece began: malloc aligns to 16 bytes.
 */
static void *take_small(size_t bytes)
{
    char *piece = hm_alloc(bytes + HM_ALIGNMENT);
    if (!piece)
        return NULL;
    char **block = (char **)(piece + HM_ALIGNMENT - (uintptr_t)piece % HM_ALIGNMENT);
    block[-1] = piece;
    return block;
}

static void give_small(void *block) { hm_free(((char **)block)[-1]); }

/* ------------------------------------------------- blocks */

static void *take_cached(int class, size_t capacity)
{
    cached *found = cache.blocks[class];
    if (found) {
        cache.blocks[class] = found->next;
        cache.bytes -= capacity;
    }
    return found;
}

void *hm_block_take(size_t bytes, size_t *capacity)
{
    *capacity = bytes;
    if (bytes < SMALLEST)
        return take_small(bytes);
    int class = class_of(bytes, capacity);
    if (class >= 0 && class < CLASSES) {
        pthread_mutex_lock(&cache.lock);
        const bool refused = cache.blocks[class] && hm_alloc_refused();
        void *block = refused ? NULL : take_cached(class, *capacity);
        if (!block && !refused && is_cut(*capacity))
            block = cut(*capacity);
        pthread_mutex_unlock(&cache.lock);
        if (block || refused || is_cut(*capacity))
            return block;
    }
    void *block =
        hm_alloc_aligned(*capacity, *capacity >= HM_HUGE_PAGE ? HM_HUGE_PAGE : HM_ALIGNMENT);
    if (block && *capacity >= HM_HUGE_PAGE)
        madvise(block, *capacity, MADV_HUGEPAGE);
    return block;
}

void hm_block_give(void *block, size_t capacity)
{
    if (!block)
        return;
    if (capacity < SMALLEST) {
        give_small(block);
        return;
    }
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
        } else if (is_cut(capacity)) {
            uncut(block, capacity);
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
        const size_t capacity = class_capacity(class);
        for (cached *entry; (entry = take_cached(class, capacity));) {
            if (is_cut(capacity)) {
                uncut(entry, capacity);
            } else {
                entry->next = all;
                all = entry;
            }
        }
    }
    close_slab();
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

/* ------------------------------------------------- counted buffers */

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
