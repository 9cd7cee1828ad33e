/*
 * Sparsemax (Martins and Astudillo 2016): the point of the probability simplex nearest to z. With z
 * sorted downwards the support is the k largest, for the greatest k with 1 + k z_k > z_1 + ... +
 * z_k, and p = max(0, z - tau), tau = (z_1 + ... + z_k - 1)/k.
 *
 * No sorting: entries not above max - 1 are out at once; among the others the smallest one that is
 * in is found by bisection over the doubles themselves, each round looking only at what is still
 * undecided, so that 64 rounds are the most there can be. Sums run in two doubles: who is on the
 * boundary is decided exactly.
 */
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "neural/core/core.h"
#include "runtime/context.h"
#include "runtime/pool.h"

typedef struct pair {
    double high, low;
} pair;

/* a + b exactly, for any a and b (Knuth) */
static pair exact_sum(double a, double b)
{
    const double s = a + b, b_part = s - a;
    return (pair){s, (a - (s - b_part)) + (b - b_part)};
}

static pair add(pair a, double b)
{
    const pair s = exact_sum(a.high, b);
    const double low = s.low + a.low, high = s.high + low;
    return (pair){high, low - (high - s.high)};
}

/* Order-preserving: as whole numbers, doubles compare like themselves. */
static int64_t key_of(double x)
{
    int64_t bits;
    x += 0.0; /* no -0 */
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? (int64_t)((uint64_t)INT64_MIN - (uint64_t)bits) : bits;
}

static double from_key(int64_t key)
{
    const int64_t bits = key < 0 ? (int64_t)((uint64_t)INT64_MIN - (uint64_t)key) : key;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Is 1 + count*z above sum, in two doubles? count < 2^53. */
static bool supports(double z, double count, pair sum)
{
    const double product = count * z;
    pair left = exact_sum(1.0, product);
    left = add(left, fma(count, z, -product));
    left = add(left, -sum.high);
    left = add(left, -sum.low);
    return left.high > 0 || (left.high == 0 && left.low > 0);
}

/*
 * z holds `count` candidates, and is used up. Invariant: entries with a key from `in` on are
 * counted into sum and taken; those below `out` are out; the z that are left lie between.
 */
static void find_support(double *z, int64_t count, pair *sum, double *taken)
{
    *sum = (pair){0, 0};
    *taken = 0;
    while (count > 0) {
        double low = z[0], high = z[0];
        for (int64_t i = 1; i < count; i++) {
            low = z[i] < low ? z[i] : low;
            high = z[i] > high ? z[i] : high;
        }
        const int64_t low_key = key_of(low), high_key = key_of(high);
        const double pivot =
            from_key(low_key + (int64_t)(((uint64_t)high_key - (uint64_t)low_key + 1) / 2));

        pair upper = *sum;
        double upper_taken = *taken, smallest = high;
        for (int64_t i = 0; i < count; i++)
            if (z[i] >= pivot) {
                upper = add(upper, z[i]);
                upper_taken++;
                smallest = z[i] < smallest ? z[i] : smallest;
            }
        const bool in = supports(smallest, upper_taken, upper);
        if (in) {
            *sum = upper;
            *taken = upper_taken;
        }
        int64_t left = 0;
        for (int64_t i = 0; i < count; i++) {
            const bool above = z[i] >= pivot;
            /* all of the upper part in: go on below it; else its smallest is out, and all that is
             * below */
            if (in ? !above : above && z[i] > smallest)
                z[left++] = z[i];
        }
        count = left;
    }
}

/* False where an entry is not finite. `candidates` has room for n. */
static bool sparsemax_row(const hm_kernels *k, const double *x, int64_t n, double *candidates,
                          double *out)
{
    const double most = k->reduce->maximum(x, n);
    if (isnan(most))
        return false;
    /* Far from 0 the largest is taken from all first: exact for candidates, and nothing overflows.
     */
    const double shift = most >= 2 || most <= -1 ? most : 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (x[i] - most >= -1)
            candidates[count++] = x[i] - shift;

    pair sum;
    double taken;
    find_support(candidates, count, &sum, &taken);
    const pair excess = add(sum, -1.0);
    const double tau = excess.high / taken;
    const double tau_low = (fma(-tau, taken, excess.high) + excess.low) / taken;
    for (int64_t i = 0; i < n; i++) {
        const double z = x[i] - most >= -1 ? (x[i] - shift - tau) - tau_low : 0;
        out[i] = z > 0 ? z : 0.0;
    }
    return true;
}

typedef struct sparsemax_task {
    const hm_kernels *kernels;
    const double *x;
    int64_t rows, n, chunks;
    double *room, *out;
    atomic_bool spoiled;
} sparsemax_task;

static void rows_chunk(void *task, int64_t chunk)
{
    sparsemax_task *t = task;
    const int64_t end = hm_split(t->rows, t->chunks, chunk + 1);
    for (int64_t row = hm_split(t->rows, t->chunks, chunk); row < end; row++)
        if (!sparsemax_row(t->kernels, t->x + row * t->n, t->n, t->room + chunk * t->n,
                           t->out + row * t->n))
            atomic_store_explicit(&t->spoiled, true, memory_order_relaxed);
}

enum { CHUNK_ELEMENTS = 4096, MOST_CHUNKS = 16 }; /* each chunk needs room for one row */

hm_status hm_sparsemax(hm_context *ctx, const hm_doubles *values, hm_value **out)
{
    sparsemax_task task = {.kernels = hm_context_kernels(ctx), .x = values->data};
    hm_value *result = NULL;
    hm_status st;
    if ((st = hm_check_rows_of_some(ctx, "values", values, &task.rows, &task.n)) != HMATH_OK ||
        (st = hm_result_like(ctx, values->source, values->length, &result, &task.out)) != HMATH_OK)
        return st;
    task.chunks = hm_chunks(values->length, CHUNK_ELEMENTS, MOST_CHUNKS);
    task.chunks = task.chunks < task.rows || task.rows == 0 ? task.chunks : task.rows;
    if ((st = hm_scratch_create(ctx, (size_t)(task.chunks * task.n), sizeof(double), &task.room)) !=
        HMATH_OK)
        goto done;
    hm_parallel_for(ctx, task.chunks, rows_chunk, &task);
    if (task.spoiled) {
        st = hm_check_finite(ctx, "values", values->data, values->length);
        st = st != HMATH_OK ? st : hm_fail_overflow(ctx);
        goto done;
    }
    *out = result;
    result = NULL;
done:
    hm_scratch_release(ctx, task.room);
    hm_release(result);
    return st;
}
