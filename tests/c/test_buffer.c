/* The cache of blocks: what is handed out is whole, apart and warm, and memory goes back when it is asked to. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "hmath.h"
#include "runtime/alloc.h"
#include "runtime/buffer.h"

/* Sanitizers keep books on memory in memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PLAIN_MEMORY = 0 };
#elif defined(__clang__)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { PLAIN_MEMORY = 0 };
#else
enum { PLAIN_MEMORY = 1 };
#endif
#else
enum { PLAIN_MEMORY = 1 };
#endif

enum { MIB = 1 << 20, CACHE_MIB = 256 };

typedef struct block {
    unsigned char *at;
    size_t bytes, capacity;
} block;

static block take(size_t bytes)
{
    block b = {.bytes = bytes};
    b.at = hm_block_take(bytes, &b.capacity);
    CHECK(b.at != NULL && b.capacity >= bytes);
    CHECK_INT((int64_t)((uintptr_t)b.at % HM_ALIGNMENT), 0);
    return b;
}

static void give(block b) { hm_block_give(b.at, b.capacity); }

static void mark(block b, int with) { memset(b.at, with, b.bytes); }

static bool is_marked(block b, int with)
{
    for (size_t i = 0; i < b.bytes; i++)
        if (b.at[i] != (unsigned char)with)
            return false;
    return true;
}

/* Around every step of sizes, from what malloc has to what huge pages have; the smallest of all lie apart too. */
static void test_blocks__lie_apart(void)
{
    enum { MOST = 600 };
    block blocks[MOST];
    int count = 0;
    for (size_t bytes = 0; bytes <= 130; bytes += 13) {
        blocks[count] = take(bytes);
        mark(blocks[count], count);
        count++;
    }
    for (size_t base = 256; base <= 4 * MIB; base *= 2)
        for (size_t quarter = 4; quarter < 8; quarter++)
            for (size_t off = 0; off < 3; off++) {
                const size_t bytes = base / 4 * quarter + off * HM_ALIGNMENT - 1;
                blocks[count] = take(bytes);
                mark(blocks[count], count);
                count++;
            }
    for (int i = 0; i < count; i++)
        CHECK(is_marked(blocks[i], i));
    for (int i = 0; i < count; i++)
        give(blocks[i]);
    hm_buffer_cache_clear();
    CHECK_INT((int64_t)hm_buffer_cache_bytes(), 0);
}

/* A power of two and a header are one size; what was given is what the next one gets. */
static void test_blocks__come_back_warm(void)
{
    for (size_t bytes = 32 << 10; bytes <= 8 * MIB; bytes *= 2) {
        const block first = take(bytes + HM_ALIGNMENT);
        CHECK_INT((int64_t)first.capacity, (int64_t)(bytes + HM_ALIGNMENT));
        give(first);
        const block again = take(bytes);
        CHECK(again.at == first.at && again.capacity == first.capacity);
        give(again);
    }
    hm_buffer_cache_clear();
}

static int64_t resident_mib(void)
{
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &ignored, &pages) != 2)
        pages = 0;
    if (file)
        fclose(file);
    return (int64_t)pages * sysconf(_SC_PAGESIZE) / MIB;
}

/*
 * More than the cache holds, given back but for one in twenty: what stays resident is the cache, these, and
 * the edges of others; after the cache is cleared, these and the edges.
 */
static void test_memory__goes_back(void)
{
    enum { BLOCKS = 640, KEPT = 20 };
    static block blocks[BLOCKS];
    const size_t bytes = MIB / 2 + HM_ALIGNMENT;
    const int64_t before = resident_mib();
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = take(bytes);
        mark(blocks[i], i);
    }
    CHECK(resident_mib() - before >= BLOCKS / 2);
    for (int i = 0; i < BLOCKS; i++)
        if (i % KEPT)
            give(blocks[i]);
    const int64_t kept = BLOCKS / KEPT / 2, edges = BLOCKS / 8;
    CHECK(hm_buffer_cache_bytes() <= (size_t)CACHE_MIB * MIB);
    CHECK(resident_mib() - before <= CACHE_MIB + kept + edges);
    hm_buffer_cache_clear();
    CHECK(resident_mib() - before <= kept + edges);
    for (int i = 0; i < BLOCKS; i += KEPT) {
        CHECK(is_marked(blocks[i], i));
        give(blocks[i]);
    }
    hm_buffer_cache_clear();
    CHECK(resident_mib() - before <= 8);
}

/* Little memory is no more than it was: the first blocks touch no huge page. */
static void test_memory__little_stays_little(void)
{
    const int64_t before = resident_mib();
    const block b = take(256 << 10);
    mark(b, 1);
    CHECK(resident_mib() - before <= 1);
    give(b);
    hm_buffer_cache_clear();
}

static void *churn(void *seed)
{
    uint64_t state = (uintptr_t)seed;
    for (int i = 0; i < 300; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        block b = {.bytes = (size_t)(state >> 33) % (3 * MIB) + 1};
        b.at = hm_block_take(b.bytes, &b.capacity);
        if (!b.at)
            return NULL;
        b.at[0] = b.at[b.bytes - 1] = (unsigned char)i;
        if (i % 50 == 49)
            hm_buffer_cache_clear();
        if (b.at[0] != (unsigned char)i || b.at[b.bytes - 1] != (unsigned char)i)
            return NULL;
        give(b);
    }
    return seed;
}

static void test_threads__share_the_cache(void)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++)
        CHECK_INT(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
    for (uintptr_t i = 0; i < 4; i++) {
        void *answer = NULL;
        pthread_join(threads[i], &answer);
        CHECK(answer == (void *)(i + 1));
    }
    hm_buffer_cache_clear();
}

static void test_out_of_memory__is_no_block(void)
{
    for (size_t bytes = 1; bytes <= 8 * MIB; bytes *= 2) {
        size_t capacity;
        hm_buffer_cache_clear();
        hm_test_fail_allocation(0);
        CHECK(hm_block_take(bytes, &capacity) == NULL);
        hm_test_fail_allocation(-1);
        give(take(bytes));
        hm_test_fail_allocation(0); /* what was kept counts as well */
        CHECK(hm_block_take(bytes, &capacity) == NULL);
        CHECK(hm_test_allocation_failed());
        hm_test_fail_allocation(-1);
    }
    hm_buffer_cache_clear();
}

int main(void)
{
    if (PLAIN_MEMORY)
        RUN(test_memory__little_stays_little);
    RUN(test_blocks__lie_apart);
    RUN(test_blocks__come_back_warm);
    if (PLAIN_MEMORY)
        RUN(test_memory__goes_back);
    RUN(test_threads__share_the_cache);
    RUN(test_out_of_memory__is_no_block);
    return check_report();
}
