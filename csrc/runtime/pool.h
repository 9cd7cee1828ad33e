/*
 * Threads. A job is a number of chunks, fixed by the shape of the work alone; threads claim chunks one
 * by one, in no particular order, each from a range of neighbours first, so who does which never matters,
 * and results cannot depend on how many threads there are.
 * Small jobs belong on the caller's thread: ask for one chunk.
 */
#ifndef HM_POOL_H
#define HM_POOL_H

#include "runtime/status.h"

enum { HM_POOL_THREADS = 256 }; /* the most that one call can use, the caller included */

/*
 * Call body(task, i) once for every i in 0 ... chunks - 1, on up to the context's number of threads,
 * and return when all are done. Bodies may not call the pool. A job that finds the pool busy with
 * another one runs on its caller's thread.
 */
void hm_parallel_for(const hm_context *ctx, int64_t chunks, void (*body)(void *task, int64_t chunk),
                     void *task);

/* How many chunks of at least `least` units are worth making of n units; at least 1, at most `most`. */
int64_t hm_chunks(int64_t n, int64_t least, int64_t most);

/* Where part i begins when n units are cut into `parts` of nearly equal size; part `parts` begins at n. */
static inline int64_t hm_split(int64_t n, int64_t parts, int64_t i)
{
    int64_t each = n / parts, over = n % parts;
    return i * each + (i < over ? i : over);
}

/* End the workers; the next job starts new ones. */
void hm_pool_stop(void);

#endif
