/* Values, lists, tuples, contexts and failures, through the public functions. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "hmath.h"
#include "runtime/alloc.h"
#include "runtime/context.h"
#include "runtime/pool.h"

static hmath_context *ctx;

static void test_version(void)
{
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", HMATH_VERSION_MAJOR, HMATH_VERSION_MINOR,
             HMATH_VERSION_PATCH);
    CHECK_TEXT(hmath_version(), text);
    CHECK_INT(hmath_abi_version(), HMATH_ABI_VERSION);
    CHECK_INT(hmath_numerics_version(), HMATH_NUMERICS_VERSION);
}

static void test_scalars(void)
{
    hmath_value *v = NULL;
    int truth = 7;
    int64_t integer;
    double number;
    CHECK_INT(hmath_bool_create(ctx, 5, &v), HMATH_OK);
    CHECK_INT(hmath_kind(v), HMATH_KIND_BOOL);
    CHECK_INT(hmath_bool_get(v, &truth), HMATH_OK);
    CHECK_INT(truth, 1);
    CHECK_INT(hmath_int_get(v, &integer), HMATH_BAD_ARGUMENT);
    hmath_release(v);

    CHECK_INT(hmath_int_create(ctx, INT64_MIN, &v), HMATH_OK);
    CHECK_INT(hmath_int_get(v, &integer), HMATH_OK);
    CHECK_INT(integer, INT64_MIN);
    hmath_release(v);

    CHECK_INT(hmath_double_create(ctx, -0.0, &v), HMATH_OK);
    CHECK_INT(hmath_double_get(v, &number), HMATH_OK);
    CHECK_BITS(number, -0.0);
    CHECK_INT(hmath_double_get(v, NULL), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_double_get(NULL, &number), HMATH_BAD_ARGUMENT);
    hmath_release(v);

    const char *bytes;
    size_t size;
    CHECK_INT(hmath_string_create(ctx, "a\0b", 3, &v), HMATH_OK);
    CHECK_INT(hmath_string_get(v, &bytes, &size), HMATH_OK);
    CHECK_INT((int64_t)size, 3);
    CHECK(memcmp(bytes, "a\0b\0", 4) == 0);
    hmath_release(v);
    CHECK_INT(hmath_string_create(ctx, NULL, 0, &v), HMATH_OK);
    hmath_release(v);
}

static void test_null_arguments(void)
{
    hmath_value *v = (hmath_value *)&ctx; /* a mark that must survive */
    CHECK_INT(hmath_double_create(NULL, 1.0, &v), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_double_create(ctx, 1.0, NULL), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_list_from_doubles(ctx, NULL, 3, &v), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_list_create(ctx, NULL, 1, &v), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_rows_from_ints(ctx, NULL, 1, 1, &v), HMATH_BAD_ARGUMENT);
    const hmath_value *holes[] = {NULL};
    CHECK_INT(hmath_tuple_create(ctx, holes, 1, &v), HMATH_BAD_ARGUMENT);
    CHECK_TEXT(hmath_last_error(ctx)->message,
               "tuple_create: items holds a null or released handle");
    CHECK_INT(hmath_last_error(ctx)->constructor, 0);
    CHECK(v == (hmath_value *)&ctx);
    hmath_release(NULL);
    CHECK(hmath_retain(NULL) == NULL);
    CHECK_INT(hmath_kind(NULL), 0);
    CHECK_INT(hmath_list_length(NULL), -1);
    CHECK(hmath_last_error(NULL) == NULL);
}

static void test_options(void)
{
    hmath_context *other = NULL;
    hmath_options options = {
        .struct_size = sizeof options, .threads = 3, .isa = HMATH_ISA_BASELINE};
    CHECK_INT(hmath_context_create(&options, &other), HMATH_OK);
    hmath_options found = {.struct_size = sizeof found};
    CHECK_INT(hmath_context_options(other, &found), HMATH_OK);
    CHECK_INT(found.threads, 3);
    hmath_context *clone = NULL;
    CHECK_INT(hmath_context_clone(other, &clone), HMATH_OK);
    found.threads = 0;
    CHECK_INT(hmath_context_options(clone, &found), HMATH_OK);
    CHECK_INT(found.threads, 3);
    options.threads = 1;
    CHECK_INT(hmath_context_configure(clone, &options), HMATH_OK);
    CHECK_INT(hmath_context_options(clone, &found), HMATH_OK);
    CHECK_INT(found.threads, 1);
    hmath_context_destroy(other);
    hmath_context_destroy(clone);
    hmath_context_destroy(NULL);

    hmath_options bad = options;
    bad.threads = -1;
    CHECK_INT(hmath_context_create(&bad, &other), HMATH_BAD_ARGUMENT);
    bad = options;
    bad.isa = 99;
    CHECK_INT(hmath_context_create(&bad, &other), HMATH_BAD_ARGUMENT);
    bad = options;
    bad.struct_size = 4;
    CHECK_INT(hmath_context_create(&bad, &other), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_context_create(NULL, NULL), HMATH_BAD_ARGUMENT);
}

/* Whatever a list is made from, it is packed where it can be. */
static void test_packing(void)
{
    hmath_value *items[3], *list = NULL, *rows = NULL, *row = NULL, *item = NULL;
    for (int i = 0; i < 3; i++)
        CHECK_INT(hmath_double_create(ctx, i + 0.5, &items[i]), HMATH_OK);
    CHECK_INT(hmath_list_create(ctx, (const hmath_value *const *)items, 3, &list), HMATH_OK);
    const double *data;
    size_t n, columns;
    CHECK_INT(hmath_list_doubles(list, &data, &n), HMATH_OK);
    CHECK_INT((int64_t)n, 3);
    CHECK_BITS(data[2], 2.5);
    const int64_t *ints;
    CHECK_INT(hmath_list_ints(list, &ints, &n), HMATH_BAD_ARGUMENT);
    for (int i = 0; i < 3; i++)
        hmath_release(items[i]);

    const hmath_value *twice[] = {list, list};
    CHECK_INT(hmath_list_create(ctx, twice, 2, &rows), HMATH_OK);
    CHECK_INT(hmath_rows_doubles(rows, &data, &n, &columns), HMATH_OK);
    CHECK_INT((int64_t)n, 2);
    CHECK_INT((int64_t)columns, 3);
    CHECK_BITS(data[3], 0.5);
    CHECK_INT(hmath_list_item(ctx, rows, 1, &row), HMATH_OK);
    hmath_release(rows);
    hmath_release(list); /* the row keeps its block */
    CHECK_INT(hmath_list_length(row), 3);
    CHECK_INT(hmath_list_item(ctx, row, 2, &item), HMATH_OK);
    double number;
    CHECK_INT(hmath_double_get(item, &number), HMATH_OK);
    CHECK_BITS(number, 2.5);
    hmath_release(item);
    item = NULL;
    CHECK_INT(hmath_list_item(ctx, row, 3, &item), HMATH_CHECKED);
    CHECK_INT(hmath_last_error(ctx)->constructor, HMATH_INDEX_OUT_OF_BOUNDS);
    CHECK_INT(hmath_last_error(ctx)->bound, 3);
    CHECK_TEXT(hmath_last_error(ctx)->message,
               "list_item: i = 3 is out of bounds; required >= 0 and < 3");
    CHECK(item == NULL);
    hmath_release(row);
}

static void test_bulk(void)
{
    const uint8_t truths[] = {0, 2, 1};
    const int8_t bytes[] = {-128, 127};
    const int64_t ints[] = {1, 2, 3, 4, 5, 6};
    hmath_value *v = NULL, *item = NULL;
    const uint8_t *bools;
    const int8_t *int8s;
    const int64_t *read;
    size_t n, columns;
    CHECK_INT(hmath_list_from_bools(ctx, truths, 3, &v), HMATH_OK);
    CHECK_INT(hmath_list_bools(v, &bools, &n), HMATH_OK);
    CHECK_INT(bools[1], 1);
    hmath_release(v);
    CHECK_INT(hmath_list_from_int8s(ctx, bytes, 2, &v), HMATH_OK);
    CHECK_INT(hmath_list_int8s(v, &int8s, &n), HMATH_OK);
    CHECK_INT(int8s[0], -128);
    hmath_release(v);
    CHECK_INT(hmath_rows_from_ints(ctx, ints, 3, 2, &v), HMATH_OK);
    CHECK_INT(hmath_rows_ints(v, &read, &n, &columns), HMATH_OK);
    CHECK_INT(read[5], 6);
    CHECK_INT(hmath_list_ints(v, &read, &n), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_list_item(ctx, v, 0, &item), HMATH_OK);
    hmath_release(v);
    CHECK_INT(hmath_list_ints(item, &read, &n), HMATH_OK);
    CHECK_INT(read[1], 2);
    hmath_release(item);

    /* an empty list is a list of every type */
    CHECK_INT(hmath_list_create(ctx, NULL, 0, &v), HMATH_OK);
    const double *doubles;
    CHECK_INT(hmath_list_doubles(v, &doubles, &n), HMATH_OK);
    CHECK_INT((int64_t)n, 0);
    CHECK_INT(hmath_list_bools(v, &bools, &n), HMATH_OK);
    CHECK_INT(hmath_rows_doubles(v, &doubles, &n, &columns), HMATH_OK);
    hmath_release(v);

    /* a size whose bytes do not fit is memory that cannot be had */
    CHECK_INT(hmath_rows_from_doubles(ctx, (const double *)ints, SIZE_MAX / 4, 8, &v),
              HMATH_NO_MEMORY);
}

/* A chain of a million tuples is released by a loop: recursion would overflow the stack. */
static void test_deep_release(void)
{
    int64_t before = hmath_live_values();
    hmath_value *chain = NULL;
    CHECK_INT(hmath_int_create(ctx, 0, &chain), HMATH_OK);
    for (int i = 0; i < 1000000; i++) {
        hmath_value *longer = NULL;
        const hmath_value *items[] = {chain};
        if (hmath_tuple_create(ctx, items, 1, &longer) != HMATH_OK)
            break;
        hmath_release(chain);
        chain = longer;
    }
    CHECK_INT(hmath_live_values() - before, 1000001);
    hmath_release(chain);
    CHECK_INT(hmath_live_values(), before);
}

static void test_error_as_value(void)
{
    hmath_value *tuple = NULL, *item = NULL, *error = NULL;
    const hmath_error *parts;
    CHECK_INT(hmath_tuple_create(ctx, NULL, 0, &tuple), HMATH_OK);
    CHECK_INT(hmath_last_error_take(ctx, &error), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_tuple_item(ctx, tuple, 5, &item), HMATH_CHECKED);
    CHECK_INT(hmath_last_error_take(ctx, &error), HMATH_OK);
    CHECK_INT(hmath_kind(error), HMATH_KIND_MATH_ERROR);
    hmath_release(tuple);
    CHECK_INT(hmath_tuple_create(ctx, NULL, 0, &tuple), HMATH_OK);
    CHECK(hmath_last_error(ctx) == NULL);
    CHECK_INT(hmath_math_error_get(error, &parts), HMATH_OK);
    CHECK_TEXT(parts->operation, "tuple_item");
    CHECK_TEXT(parts->argument, "i");
    CHECK_INT(parts->integer, 5);
    CHECK_INT(hmath_math_error_get(tuple, &parts), HMATH_BAD_ARGUMENT);
    hmath_release(tuple);
    hmath_release(error);
}

/* ------------------------------------------------- threads */

static void *call_busy_context(void *status)
{
    hmath_value *v = NULL;
    *(hmath_status *)status = hmath_double_create(ctx, 1.0, &v);
    hmath_release(v);
    return NULL;
}

static void test_busy(void)
{
    hmath_status inside = -1, outside = -1;
    pthread_t thread;
    CHECK_INT(hm_enter(ctx, "test"), HMATH_OK);
    pthread_create(&thread, NULL, call_busy_context, &inside);
    pthread_join(thread, NULL);
    hm_leave(ctx, HMATH_OK);
    pthread_create(&thread, NULL, call_busy_context, &outside);
    pthread_join(thread, NULL);
    CHECK_INT(inside, HMATH_BUSY);
    CHECK_INT(outside, HMATH_OK);
}

/* An inner call fails and another succeeds: the outer call's own failure is not theirs. */
static void test_reentry(void)
{
    hmath_value *v = NULL;
    CHECK_INT(hm_enter(ctx, "outer"), HMATH_OK);
    hm_status st = hm_fail_empty(ctx, "values");
    CHECK_INT(hmath_list_from_doubles(ctx, NULL, 1, &v), HMATH_BAD_ARGUMENT);
    CHECK_TEXT(hmath_last_error(ctx)->message, "list_create: data is null");
    CHECK_INT(hmath_double_create(ctx, 1.0, &v), HMATH_OK);
    CHECK(hmath_last_error(ctx) == NULL);
    hmath_release(v);
    hm_leave(ctx, st);
    CHECK_TEXT(hmath_last_error(ctx)->message,
               "outer: values is empty; required at least one element");

    CHECK_INT(hm_enter(ctx, "outer"), HMATH_OK);
    CHECK_INT(hmath_list_from_doubles(ctx, NULL, 1, &v), HMATH_BAD_ARGUMENT);
    hm_context_adopt_inner_failure(ctx);
    hm_leave(ctx, HMATH_BAD_ARGUMENT);
    CHECK_TEXT(hmath_last_error(ctx)->message, "list_create: data is null");
}

static void add_chunk(void *task, int64_t chunk)
{
    atomic_fetch_add((_Atomic int64_t *)task, chunk + 1);
}

static int64_t sum_on_threads(int32_t threads)
{
    hmath_options options = {.struct_size = sizeof options, .threads = threads};
    hmath_context *worker = NULL;
    _Atomic int64_t sum = 0;
    if (hmath_context_create(&options, &worker) != HMATH_OK)
        return -1;
    for (int i = 0; i < 200; i++)
        hm_parallel_for(worker, 100, add_chunk, &sum);
    hmath_context_destroy(worker);
    return sum;
}

static void test_pool(void)
{
    for (int32_t threads = 1; threads <= 5; threads++)
        CHECK_INT(sum_on_threads(threads), 200 * 5050);
}

static void *use_everything(void *failures)
{
    hmath_context *own = NULL;
    if (hmath_context_create(NULL, &own) != HMATH_OK)
        return NULL;
    for (int i = 0; i < 300; i++) {
        double data[1024] = {1.0};
        hmath_value *list = NULL, *row = NULL;
        _Atomic int64_t sum = 0;
        hm_parallel_for(own, 10, add_chunk, &sum);
        if (sum != 55 || hmath_rows_from_doubles(own, data, 2, 512, &list) != HMATH_OK ||
            hmath_list_item(own, list, 1, &row) != HMATH_OK)
            atomic_fetch_add((atomic_int *)failures, 1);
        hmath_release(list);
        hmath_release(row);
    }
    hmath_context_destroy(own);
    return NULL;
}

static void test_eight_threads(void)
{
    pthread_t threads[8];
    atomic_int failures = 0;
    int64_t before = hmath_live_values();
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, use_everything, &failures);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(failures, 0);
    CHECK_INT(hmath_live_values(), before);
}

static void test_fork(void)
{
    /* QEMU's user mode falls over an assertion of its own where such a child starts threads. */
    if (getenv("HMATH_TEST_EMULATED"))
        return;
    CHECK_INT(sum_on_threads(3), 200 * 5050);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        hmath_value *v = NULL;
        int good = sum_on_threads(3) == 200 * 5050 && hmath_double_create(ctx, 1.0, &v) == HMATH_OK;
        hmath_release(v);
        _exit(good ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

typedef struct mask_seen {
    pthread_t caller;
    atomic_int seen; /* by a worker: 1 it would take SIGUSR1, 2 it would not; 0 no worker yet */
} mask_seen;

/* The caller keeps its chunk until a worker has had the other one. */
static void look_at_mask(void *task, int64_t chunk)
{
    mask_seen *m = task;
    const struct timespec millisecond = {.tv_nsec = 1000 * 1000};
    sigset_t blocked;
    (void)chunk;
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    if (!pthread_equal(pthread_self(), m->caller))
        atomic_store(&m->seen,
                     1 + (sigismember(&blocked, SIGUSR1) && !sigismember(&blocked, SIGSEGV)));
    for (int patience = 60 * 1000; !atomic_load(&m->seen) && patience; patience--)
        nanosleep(&millisecond, NULL);
}

/* A host may block a signal in its threads and wait for it in one of them: no worker takes it away. */
static void test_workers_take_no_signals(void)
{
    mask_seen m = {.caller = pthread_self()};
    hmath_options options = {.struct_size = sizeof options, .threads = 2};
    hmath_context *own = NULL;
    sigset_t before, after;
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    CHECK_INT(hmath_context_create(&options, &own), HMATH_OK);
    hm_parallel_for(own, 2, look_at_mask, &m);
    hmath_context_destroy(own);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    CHECK_INT(atomic_load(&m.seen), 2);
    CHECK_INT(sigismember(&after, SIGUSR1), sigismember(&before, SIGUSR1));
}

/* ------------------------------------------------- memory */

static hmath_status build_something(void)
{
    double data[2000] = {0};
    hmath_value *rows = NULL, *row = NULL, *tuple = NULL, *text = NULL;
    hmath_status st;
    if ((st = hmath_rows_from_doubles(ctx, data, 2, 1000, &rows)) == HMATH_OK &&
        (st = hmath_list_item(ctx, rows, 1, &row)) == HMATH_OK &&
        (st = hmath_string_create(ctx, "text", 4, &text)) == HMATH_OK) {
        const hmath_value *items[] = {rows, row, text};
        st = hmath_tuple_create(ctx, items, 3, &tuple);
    }
    hmath_release(rows);
    hmath_release(row);
    hmath_release(text);
    hmath_release(tuple);
    return st;
}

static void test_every_allocation_fails(void)
{
    int64_t before = hmath_live_values(), n = 0;
    for (;; n++) {
        hm_test_fail_allocation(n);
        hmath_status st = build_something();
        if (!hm_test_allocation_failed())
            break;
        CHECK_INT(st, HMATH_NO_MEMORY);
        CHECK(strstr(hmath_last_error(ctx)->message, "out of memory") != NULL);
        CHECK_INT(hmath_live_values(), before);
    }
    hm_test_fail_allocation(-1);
    CHECK(n >= 5);
}

static void test_handles_outlive_contexts(void)
{
    hmath_context *own = NULL;
    hmath_value *v = NULL;
    double number = 0;
    CHECK_INT(hmath_context_create(NULL, &own), HMATH_OK);
    CHECK_INT(hmath_double_create(own, 2.0, &v), HMATH_OK);
    hmath_context_destroy(own);
    CHECK_INT(hmath_double_get(v, &number), HMATH_OK);
    CHECK_BITS(number, 2.0);
    hmath_release(v);
}

#ifndef NDEBUG
static void test_released_handle_is_noticed(void)
{
    hmath_value *v = NULL, *list = NULL;
    double number;
    CHECK_INT(hmath_double_create(ctx, 2.0, &v), HMATH_OK);
    hmath_release(v);
    hmath_release(v); /* says so on stderr */
    CHECK_INT(hmath_kind(v), 0);
    CHECK_INT(hmath_double_get(v, &number), HMATH_BAD_ARGUMENT);
    const hmath_value *items[] = {v};
    CHECK_INT(hmath_list_create(ctx, items, 1, &list), HMATH_BAD_ARGUMENT);
}
#endif

int main(void)
{
    if (hmath_context_create(NULL, &ctx) != HMATH_OK)
        return 1;
    RUN(test_version);
    RUN(test_scalars);
    RUN(test_null_arguments);
    RUN(test_options);
    RUN(test_packing);
    RUN(test_bulk);
    RUN(test_deep_release);
    RUN(test_error_as_value);
    RUN(test_busy);
    RUN(test_reentry);
    RUN(test_pool);
    RUN(test_eight_threads);
    RUN(test_fork);
    RUN(test_workers_take_no_signals);
    RUN(test_every_allocation_fails);
    RUN(test_handles_outlive_contexts);
#ifndef NDEBUG
    RUN(test_released_handle_is_noticed);
#endif
    CHECK_INT(hmath_live_values(), 0);
    hmath_context_destroy(ctx);
    return check_report();
}
