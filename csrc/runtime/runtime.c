#include "runtime/runtime.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/buffer.h"
#include "runtime/pool.h"

static _Atomic int64_t reservations;

void hm_runtime_reserve(int64_t reservation)
{
    atomic_fetch_add_explicit(&reservations, reservation, memory_order_relaxed);
}

/*
 * The last one out turns off the lights. Somebody else may come in at the same moment: pool and cache
 * are safe to clear at any time and come back when they are next used, so that costs time and no more.
 */
void hm_runtime_release(int64_t reservation)
{
    if (atomic_fetch_sub_explicit(&reservations, reservation, memory_order_acq_rel) != reservation)
        return;
    hm_pool_stop();
    hm_buffer_cache_clear();
}

int64_t hm_runtime_live_values(void)
{
    return atomic_load(&reservations) & (HM_RESERVE_CONTEXT - 1);
}

static int32_t usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n > 0 ? n : 1;
}

int32_t hm_runtime_default_threads(void)
{
    const char *wish = getenv("HMATH_NUM_THREADS");
    if (wish && *wish) {
        char *end;
        long n = strtol(wish, &end, 10);
        if (*end == 0 && n >= 1 && n <= HM_POOL_THREADS)
            return (int32_t)n;
    }
    int32_t cores = usable_cores();
    return cores < HM_POOL_THREADS ? cores : HM_POOL_THREADS;
}
