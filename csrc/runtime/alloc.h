/*
 * All memory of the library comes from here, so that a test can make the n-th allocation fail.
 * Contents are uninitialised unless said otherwise. NULL means that there was none to be had; freeing
 * NULL does nothing.
 */
#ifndef HM_ALLOC_H
#define HM_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HM_ALIGNMENT = 64 }; /* a cache line, and the widest vector register */
#define HM_HUGE_PAGE ((size_t)2 << 20)

void *hm_alloc(size_t bytes);
void *hm_alloc_zeroed(size_t bytes);
void *hm_realloc(void *block, size_t bytes);
void *hm_alloc_aligned(size_t bytes, size_t alignment); /* a power of two; freed like any other */
void hm_free(void *block);

/*
 * Pages of the system's, at a multiple of their own size, a power of two, and zero: none of them is there before
 * it is touched, which nobody can say of memory that an allocator may have had in its hands.
 */
void *hm_map(size_t bytes);
void hm_unmap(void *pages, size_t bytes);

/*
 * For tests: let `n` more allocations succeed in the whole process and fail the one after them, once.
 * A negative n never fails. hm_test_allocation_failed() tells whether the failure has happened.
 */
void hm_test_fail_allocation(int64_t n);
int hm_test_allocation_failed(void);

/* Is this the one that fails? For whoever hands out memory it has kept, which counts like any other. */
bool hm_alloc_refused(void);

#endif
