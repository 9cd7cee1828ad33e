#include "runtime/context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/alloc.h"
#include "runtime/buffer.h"
#include "runtime/checked.h"
#include "runtime/pool.h"
#include "runtime/runtime.h"

/* The failure of one depth of calls. */
typedef struct frame {
    hm_failure failure;
    const char *operation;
    bool failed;
    struct frame *deeper; /* made when a callback first calls back, and kept */
    struct frame *shallower;
} frame;

enum { ALIVE = 0x686d6374, DESTROYED = 0 };

struct hmath_context {
    uint32_t mark;
    _Atomic uintptr_t owner; /* the thread that is inside; 0: none */
    int32_t depth;
    int32_t threads;
    const hm_kernels *kernels;
    frame outermost;
    frame *running; /* the frame of the innermost running call; NULL outside calls */
    void *scratch;
    size_t scratch_capacity;
    bool scratch_taken;
};

/* ------------------------------------------------- entering and leaving */

static uintptr_t this_thread(void) { return (uintptr_t)pthread_self(); }

static bool usable(const hm_context *ctx) { return ctx && ctx->mark == ALIVE; }

static frame *frame_below(hm_context *ctx)
{
    frame *above = ctx->running;
    if (!above)
        return &ctx->outermost;
    if (!above->deeper) {
        frame *created = hm_alloc_zeroed(sizeof *created);
        if (created)
            created->shallower = above;
        above->deeper = created;
    }
    return above->deeper;
}

hm_status hm_enter(hm_context *ctx, const char *operation)
{
    if (!usable(ctx))
        return HMATH_BAD_ARGUMENT;
    uintptr_t nobody = 0, me = this_thread();
    if (atomic_load_explicit(&ctx->owner, memory_order_relaxed) != me &&
        !atomic_compare_exchange_strong_explicit(&ctx->owner, &nobody, me, memory_order_acquire,
                                                 memory_order_relaxed))
        return HMATH_BUSY;
    frame *entered = frame_below(ctx);
    if (!entered)
        return HMATH_NO_MEMORY; /* only a callback gets here; its caller stays inside */
    entered->operation = operation;
    entered->failed = false;
    ctx->running = entered;
    ctx->depth++;
    return HMATH_OK;
}

hm_status hm_leave(hm_context *ctx, hm_status st)
{
    frame *left = ctx->running;
    left->failed = st != HMATH_OK;
    ctx->running = left == &ctx->outermost ? NULL : left->shallower;
    if (--ctx->depth == 0)
        atomic_store_explicit(&ctx->owner, 0, memory_order_release);
    return st;
}

hm_failure *hm_context_failure(hm_context *ctx) { return &ctx->running->failure; }

const char *hm_context_operation(const hm_context *ctx) { return ctx->running->operation; }

const char *hm_context_rename(hm_context *ctx, const char *operation)
{
    const char *old = ctx->running->operation;
    ctx->running->operation = operation;
    return old;
}

void hm_context_adopt_inner_failure(hm_context *ctx)
{
    frame *inner = ctx->running->deeper;
    if (inner && inner->failed)
        hm_failure_copy(&ctx->running->failure, &inner->failure);
}

const hm_kernels *hm_context_kernels(const hm_context *ctx) { return ctx->kernels; }

int32_t hm_context_threads(const hm_context *ctx) { return ctx->threads; }

/* ------------------------------------------------- scratch */

enum { KEEP_SCRATCH = 4 << 20 }; /* a larger block goes back to the cache after use */

/* Each scratch is preceded by one cache line that says how large its block is. */
typedef struct scratch_header {
    size_t capacity;
} scratch_header;

static void *scratch_of(void *block, size_t capacity)
{
    ((scratch_header *)block)->capacity = capacity;
    return (char *)block + HM_ALIGNMENT;
}

hm_status hm_scratch_create(hm_context *ctx, size_t count, size_t size, void *out)
{
    size_t bytes, capacity;
    if (!hm_bytes(HM_ALIGNMENT, count, size, &bytes))
        return hm_fail_memory(ctx);
    void *block = NULL;
    if (!ctx->scratch_taken && ctx->scratch && ctx->scratch_capacity >= bytes) {
        block = ctx->scratch;
        capacity = ctx->scratch_capacity;
        ctx->scratch_taken = true;
    } else if (!(block = hm_block_take(bytes, &capacity))) {
        return hm_fail_memory(ctx);
    }
    *(void **)out = scratch_of(block, capacity);
    return HMATH_OK;
}

void hm_scratch_release(hm_context *ctx, void *scratch)
{
    if (!scratch)
        return;
    void *block = (char *)scratch - HM_ALIGNMENT;
    size_t capacity = ((scratch_header *)block)->capacity;
    if (block == ctx->scratch) {
        ctx->scratch_taken = false;
    } else if (!ctx->scratch_taken && capacity > ctx->scratch_capacity &&
               capacity <= KEEP_SCRATCH) {
        hm_block_give(ctx->scratch, ctx->scratch_capacity);
        ctx->scratch = block;
        ctx->scratch_capacity = capacity;
    } else {
        hm_block_give(block, capacity);
    }
}

/* ------------------------------------------------- creation and options */

/* The options with defaults filled in; false where they ask for what is not there. */
static bool resolve(const hmath_options *options, int32_t *threads, const hm_kernels **kernels)
{
    int32_t asked = options ? options->threads : 0, isa = options ? options->isa : 0;
    if (options && options->struct_size < sizeof(hmath_options))
        return false;
    if (asked < 0)
        return false;
    *threads = asked == 0 ? hm_runtime_default_threads() : asked;
    if (*threads > HM_POOL_THREADS)
        *threads = HM_POOL_THREADS;
    *kernels = hm_kernels_for(isa);
    return *kernels != NULL;
}

static hm_status create(int32_t threads, const hm_kernels *kernels, hm_context **out)
{
    hm_context *ctx = hm_alloc_zeroed(sizeof *ctx);
    if (!ctx)
        return HMATH_NO_MEMORY;
    ctx->mark = ALIVE;
    ctx->threads = threads;
    ctx->kernels = kernels;
    hm_runtime_reserve(HM_RESERVE_CONTEXT);
    *out = ctx;
    return HMATH_OK;
}

hmath_status hmath_context_create(const hmath_options *options, hmath_context **out)
{
    int32_t threads;
    const hm_kernels *kernels;
    if (!out || !resolve(options, &threads, &kernels))
        return HMATH_BAD_ARGUMENT;
    return create(threads, kernels, out);
}

hmath_status hmath_context_clone(hmath_context *ctx, hmath_context **out)
{
    if (!usable(ctx) || !out)
        return HMATH_BAD_ARGUMENT;
    return create(ctx->threads, ctx->kernels, out);
}

void hmath_context_destroy(hmath_context *ctx)
{
    if (!usable(ctx))
        return;
    ctx->mark = DESTROYED;
    for (frame *inner = ctx->outermost.deeper; inner;) {
        frame *next = inner->deeper;
        hm_free(inner);
        inner = next;
    }
    hm_block_give(ctx->scratch, ctx->scratch_capacity);
    hm_free(ctx);
    hm_runtime_release(HM_RESERVE_CONTEXT);
}

hmath_status hmath_context_configure(hmath_context *ctx, const hmath_options *options)
{
    int32_t threads;
    const hm_kernels *kernels;
    if (!usable(ctx) || !resolve(options, &threads, &kernels))
        return HMATH_BAD_ARGUMENT;
    uintptr_t nobody = 0;
    if (!atomic_compare_exchange_strong(&ctx->owner, &nobody, this_thread()))
        return HMATH_BUSY;
    ctx->threads = threads;
    ctx->kernels = kernels;
    atomic_store(&ctx->owner, 0);
    return HMATH_OK;
}

hmath_status hmath_context_options(const hmath_context *ctx, hmath_options *out)
{
    if (!usable(ctx) || !out || out->struct_size < sizeof(hmath_options))
        return HMATH_BAD_ARGUMENT;
    out->threads = ctx->threads;
    out->isa = ctx->kernels->isa;
    return HMATH_OK;
}

/* ------------------------------------------------- the last failure */

/* Outside calls: of the latest call. Inside a callback: of the latest call that the callback made. */
static const frame *latest(const hm_context *ctx)
{
    const frame *found = ctx->running ? ctx->running->deeper : &ctx->outermost;
    return found && found->failed ? found : NULL;
}

const hmath_error *hmath_last_error(const hmath_context *ctx)
{
    const frame *found = usable(ctx) ? latest(ctx) : NULL;
    return found ? &found->failure.error : NULL;
}

hmath_status hmath_last_error_take(hmath_context *ctx, hmath_value **out)
{
    const frame *found = usable(ctx) ? latest(ctx) : NULL;
    if (!found || !out)
        return HMATH_BAD_ARGUMENT;
    return hm_math_error_create(&found->failure, out);
}

hmath_status hmath_math_error_get(const hmath_value *v, const hmath_error **out)
{
    const hm_failure *failure = hm_math_error_failure(v);
    if (!failure || !out)
        return HMATH_BAD_ARGUMENT;
    *out = &failure->error;
    return HMATH_OK;
}
