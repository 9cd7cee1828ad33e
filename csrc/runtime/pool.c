/*
 * One job at a time. Workers sleep on a futex word that counts jobs; after a job they watch it for a
 * short while before they sleep, so that a stream of jobs finds them awake. A worker *enters* the open
 * job; the caller, out of chunks, closes it and waits only for those who entered: a worker that wakes
 * late finds the door shut and costs nobody anything.
 */
#include "runtime/pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernels/cpu.h"
#include "runtime/buffer.h"
#include "runtime/context.h"

/* Watching longer would take a core from the host's own threads; KERNEL: a cold wake is 20-45 us. */
enum { WATCH_NANOSECONDS = 100 * 1000, PAUSES_PER_LOOK = 16, OPEN = 1, ENTRY = 2 };

static struct {
    pthread_mutex_t
        lock; /* held by the caller whose job this is, and while workers start or stop */
    pthread_t workers[HM_POOL_THREADS];
    _Atomic int32_t last_core[HM_POOL_THREADS];
    int32_t started;

    _Atomic uint32_t serial;   /* futex word: changes with every job */
    _Atomic uint32_t sleeping; /* workers in, or about to enter, the futex */
    _Atomic bool stopping;

    _Atomic int64_t door;   /* OPEN while workers may enter, plus ENTRY for each one inside */
    _Atomic int32_t wanted; /* workers with a smaller number may enter */
    void (*body)(void *, int64_t);
    void *task;
    int32_t shares; /* one a thread that may take part, the caller's first */
    bool backwards;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/*
 * Neighbouring chunks are one thread's share, so that a thread finds in its own caches what it left there
 * in the job before, and writes to lines that no other thread writes to. Who is done takes from the others.
 */
typedef struct share {
    _Alignas(64) _Atomic int64_t next;
    int64_t first, end;
} share;

static share shares[HM_POOL_THREADS];

static pthread_once_t fork_handlers = PTHREAD_ONCE_INIT;

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t nanoseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void futex(int operation, uint32_t value)
{
    syscall(SYS_futex, &pool.serial, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void claim_chunks(int32_t own)
{
    for (int32_t i = 0; i < pool.shares; i++) {
        share *s = &shares[(own + i) % pool.shares];
        int64_t chunk;
        while ((chunk = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed)) < s->end)
            pool.body(pool.task, pool.backwards ? s->first + (s->end - 1 - chunk) : chunk);
    }
}

/* ------------------------------------------------- workers */

static bool enter(int32_t number)
{
    int64_t door = atomic_load(&pool.door);
    while (door & OPEN) {
        if (number >= atomic_load(&pool.wanted))
            return false;
        if (atomic_compare_exchange_weak(&pool.door, &door, door + ENTRY))
            return true;
    }
    return false;
}

/* Watch for a while, then sleep, until the serial is another one. */
static uint32_t next_serial(uint32_t seen)
{
    int64_t end = nanoseconds() + WATCH_NANOSECONDS;
    do {
        for (int i = 0; i < PAUSES_PER_LOOK; i++) {
            if (atomic_load_explicit(&pool.serial, memory_order_acquire) != seen)
                return atomic_load(&pool.serial);
            relax();
        }
    } while (nanoseconds() < end);

    atomic_fetch_add(&pool.sleeping, 1);
    while (atomic_load(&pool.serial) == seen)
        futex(FUTEX_WAIT, seen);
    atomic_fetch_sub(&pool.sleeping, 1);
    return atomic_load(&pool.serial);
}

typedef struct birth {
    int32_t number;
    uint32_t serial;
} birth;

static birth births[HM_POOL_THREADS];

static void *work(void *argument)
{
    birth *born = argument;
    uint32_t seen = born->serial;
    for (;;) {
        seen = next_serial(seen);
        if (atomic_load(&pool.stopping))
            return NULL;
        atomic_store_explicit(&pool.last_core[born->number], sched_getcpu(), memory_order_relaxed);
        if (!enter(born->number))
            continue;
        claim_chunks(born->number + 1);
        atomic_fetch_sub(&pool.door, ENTRY);
    }
}

/* ------------------------------------------------- the caller's side, with the lock held */

static void before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
    hm_buffer_cache_lock();
}

static void after_fork_in_parent(void)
{
    hm_buffer_cache_unlock();
    pthread_mutex_unlock(&pool.lock);
}

/* Threads do not survive a fork: the child starts its own when it first needs them. */
static void after_fork_in_child(void)
{
    pool.started = 0;
    atomic_store(&pool.sleeping, 0);
    atomic_store(&pool.door, 0);
    hm_buffer_cache_unlock();
    pthread_mutex_unlock(&pool.lock);
}

static void install_fork_handlers(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/*
 * Workers leave signals to the host's threads, which may expect them in one of their own, but for
 * those that a thread causes itself and for a profiler's clock.
 */
static void block_signals(sigset_t *before)
{
    static const int kept[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigset_t blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        sigdelset(&blocked, kept[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
}

/* As many workers as can be had, up to `wanted`. */
static void start_workers(int32_t wanted)
{
    sigset_t signals;
    if (pool.started >= wanted)
        return;
    pthread_once(&fork_handlers, install_fork_handlers);
    block_signals(&signals);
    while (pool.started < wanted) {
        int32_t number = pool.started;
        births[number] = (birth){number, atomic_load(&pool.serial)};
        atomic_store(&pool.last_core[number], -1);
        if (pthread_create(&pool.workers[number], NULL, work, &births[number]) != 0)
            break;
        pool.started++;
    }
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
}

/*
 * The scheduler likes to wake a thread on the core of its waker, where it would wait for the caller to
 * finish. A worker last seen on this core is sent to the others.
 */
static void send_off_this_core(int32_t workers)
{
    int here = sched_getcpu();
    cpu_set_t others;
    for (int32_t i = 0; i < workers; i++) {
        if (atomic_load_explicit(&pool.last_core[i], memory_order_relaxed) != here)
            continue;
        if (sched_getaffinity(0, sizeof others, &others) != 0)
            return;
        CPU_CLR((size_t)here, &others);
        if (CPU_COUNT(&others) > 0)
            pthread_setaffinity_np(pool.workers[i], sizeof others, &others);
    }
}

static void run_with_workers(int32_t workers, int64_t chunks)
{
    pool.shares = workers + 1;
    for (int32_t i = 0; i < pool.shares; i++) {
        shares[i].first = hm_split(chunks, pool.shares, i);
        atomic_store_explicit(&shares[i].next, shares[i].first, memory_order_relaxed);
        shares[i].end = hm_split(chunks, pool.shares, i + 1);
    }
    atomic_store(&pool.wanted, workers);
    atomic_store(&pool.door, OPEN);
    send_off_this_core(workers);
    atomic_fetch_add(&pool.serial, 1);
    if (atomic_load(&pool.sleeping))
        futex(FUTEX_WAKE, (uint32_t)INT32_MAX);

    claim_chunks(0);

    atomic_fetch_and(&pool.door, ~(int64_t)OPEN);
    for (int looks = 0; atomic_load(&pool.door) != 0; looks++) {
        if (looks < 2000)
            relax();
        else
            sched_yield(); /* the worker may need this very core */
    }
}

/*
 * Jobs go through their chunks forwards and backwards in turn: what one touched last the next touches first, and
 * finds it in the second cache even where the whole does not fit. (Xeon with 2 MB of it, a result used again and
 * again: the sum of 512K doubles 168 to 121 us, of 1M 320 to 273; x + y of 256K 247 to 201, of 1M 925 to 880.)
 * Nothing of the kind was measured with less.
 */
static bool backwards_now(void)
{
    enum { ENOUGH = 2 << 20 };
    static _Atomic uint32_t turns;
    return hm_cpu_own_caches().second >= ENOUGH &&
           (atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed) & 1);
}

void hm_parallel_for(const hm_context *ctx, int64_t chunks, void (*body)(void *task, int64_t chunk),
                     void *task)
{
    const bool backwards = chunks > 1 && backwards_now();
    int64_t threads = hm_context_threads(ctx);
    if (threads > chunks)
        threads = chunks;
    if (threads <= 1 || pthread_mutex_trylock(&pool.lock) != 0) {
        for (int64_t i = 0; i < chunks; i++)
            body(task, backwards ? chunks - 1 - i : i);
        return;
    }
    pool.body = body;
    pool.task = task;
    pool.backwards = backwards;
    start_workers((int32_t)threads - 1);
    run_with_workers((int32_t)threads - 1, chunks);
    pthread_mutex_unlock(&pool.lock);
}

int64_t hm_chunks(int64_t n, int64_t least, int64_t most)
{
    int64_t chunks = n / least;
    if (chunks > most)
        chunks = most;
    return chunks > 1 ? chunks : 1;
}

void hm_pool_stop(void)
{
    if (pthread_mutex_trylock(&pool.lock) != 0)
        return; /* somebody is at work: the runtime has come back to life */
    atomic_store(&pool.stopping, true);
    atomic_fetch_add(&pool.serial, 1);
    futex(FUTEX_WAKE, (uint32_t)INT32_MAX);
    for (int32_t i = 0; i < pool.started; i++)
        pthread_join(pool.workers[i], NULL);
    pool.started = 0;
    atomic_store(&pool.stopping, false);
    pthread_mutex_unlock(&pool.lock);
}
