/*
 * What contexts share: the thread pool and the buffer cache. Both come to life when first used and go
 * when nothing reserves the runtime any more; contexts and live values reserve it.
 */
#ifndef HM_RUNTIME_H
#define HM_RUNTIME_H

#include <stdint.h>

/* Both kinds of reservation share one counter: contexts in its upper bits, values in the lower 40. */
#define HM_RESERVE_VALUE ((int64_t)1)
#define HM_RESERVE_CONTEXT ((int64_t)1 << 40)

void hm_runtime_reserve(int64_t reservation);
void hm_runtime_release(int64_t reservation);
int64_t hm_runtime_live_values(void);

/* Threads that this process may use: HMATH_NUM_THREADS, else the cores of its affinity mask. */
int32_t hm_runtime_default_threads(void);

#endif
