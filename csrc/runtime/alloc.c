#include "runtime/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE ((size_t)4 << 20)

enum { NEVER = -1 };

static _Atomic int64_t until_failure = NEVER;
static atomic_int failed;

bool hm_alloc_refused(void)
{
    if (atomic_load_explicit(&until_failure, memory_order_relaxed) == NEVER)
        return false;
    int64_t left = atomic_fetch_sub(&until_failure, 1);
    if (left > 0)
        return false;
    atomic_store(&until_failure, NEVER);
    if (left == 0)
        atomic_store(&failed, 1);
    return left == 0;
}

void hm_test_fail_allocation(int64_t n)
{
    atomic_store(&failed, 0);
    atomic_store(&until_failure, n < 0 ? NEVER : n);
}

int hm_test_allocation_failed(void) { return atomic_load(&failed); }

/* malloc(0) may be NULL, which here would read as a failure. */
static size_t at_least_one(size_t bytes) { return bytes ? bytes : 1; }

/*
 * Large blocks ask for huge pages, as far as they cover whole ones. The tables of a graph of two million nodes were
 * 65,000 pages of 4 KiB, whose first touches took a fifth of the time that planning it took (Zen 3, virtual); they
 * take that time still where the machine below has to find the memory first.
 */
static void *on_huge_pages(void *block, size_t bytes)
{
    if (!block || bytes < LARGE)
        return block;
    const uintptr_t first = ((uintptr_t)block + HM_HUGE_PAGE - 1) & ~(HM_HUGE_PAGE - 1);
    const uintptr_t end = ((uintptr_t)block + bytes) & ~(HM_HUGE_PAGE - 1);
    madvise((void *)first, end - first, MADV_HUGEPAGE); /* a wish; the answer does not matter */
    return block;
}

void *hm_alloc(size_t bytes)
{
    return hm_alloc_refused() ? NULL : on_huge_pages(malloc(at_least_one(bytes)), bytes);
}

void *hm_alloc_zeroed(size_t bytes)
{
    return hm_alloc_refused() ? NULL : on_huge_pages(calloc(1, at_least_one(bytes)), bytes);
}

void *hm_realloc(void *block, size_t bytes)
{
    return hm_alloc_refused() ? NULL : on_huge_pages(realloc(block, at_least_one(bytes)), bytes);
}

void *hm_alloc_aligned(size_t bytes, size_t alignment)
{
    if (hm_alloc_refused() || bytes > (size_t)PTRDIFF_MAX - alignment)
        return NULL;
    size_t rounded = (at_least_one(bytes) + alignment - 1) / alignment * alignment;
    return aligned_alloc(alignment, rounded);
}

void hm_free(void *block) { free(block); }

/* Twice as much is certain to hold a multiple; what stands before and after it goes back. */
void *hm_map(size_t bytes)
{
    if (hm_alloc_refused() || bytes > (size_t)PTRDIFF_MAX / 2)
        return NULL;
    char *room = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    char *pages = (char *)(((uintptr_t)room + bytes - 1) & ~(uintptr_t)(bytes - 1));
    if (pages != room)
        munmap(room, (size_t)(pages - room));
    munmap(pages + bytes, (size_t)(room + bytes - pages));
    return pages;
}

void hm_unmap(void *pages, size_t bytes) { munmap(pages, bytes); }
