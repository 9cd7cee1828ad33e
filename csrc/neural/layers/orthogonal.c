/*
 * Householder's QR. Reflection k, H_k = I - scale_k v_k v_k^T, maps column k below the diagonal to
 * a multiple of a unit vector; Q's columns are H_0 H_1 ... H_n-1 applied to the unit vectors. The
 * sign of R's diagonal that Householder's choice leaves is taken out at the end (Mezzadri, "How to
 * generate random matrices from the classical compact groups", Notices AMS 54 (2007)).
 *
 * A column meets the reflections in their order and nothing else, and every inner product has the
 * contract's order; so it makes no difference which thread has which column. Reflections are
 * applied a panel at a time, so that a column stays in cache while a whole panel passes over it.
 */
#include "neural/layers/orthogonal.h"

#include <math.h>
#include <string.h>

#include "runtime/pool.h"
#include "tensor/reduce.h"

enum {
    PANEL = 32,            /* reflections that pass over a column in one go */
    WORTH_A_CHUNK = 262144 /* multiplications: about 50 microseconds */
};

typedef struct reflections {
    const hm_kernels *kernels;
    int64_t rows, columns;
    const double *v; /* v_k in column k, from row k on; above stands what is no longer needed */
    const double *scale;
} reflections;

static double dot(const hm_kernels *kernels, const double *x, const double *y, int64_t n)
{
    return hm_wide_round(hm_sum_row(kernels, HM_ROW_DOT, x, y, n));
}

static void reflect(const reflections *h, int64_t k, double *column)
{
    const double *v = h->v + k * h->rows + k;
    const int64_t n = h->rows - k;
    h->kernels->random->subtract(h->scale[k] * dot(h->kernels, v, column + k, n), v, column + k, n);
}

/* Turn column k into v_k; returns the sign of R's diagonal element. */
static double make_reflection(const hm_kernels *kernels, double *v, int64_t n, double *scale)
{
    const double norm = sqrt(dot(kernels, v, v, n)), first = v[0];
    if (norm == 0.0) { /* H = I */
        *scale = 0.0;
        return 1.0;
    }
    v[0] = first + copysign(norm, first); /* away from zero: nothing cancels */
    *scale = 1.0 / (norm * (norm + fabs(first)));
    return -copysign(1.0, first);
}

/* Reflections from ... to - 1, in this order or backwards, over every column of a range. */
typedef struct pass {
    const reflections *h;
    double *matrix;
    int64_t from, to, first, end, columns_per_chunk;
    bool backwards;
} pass;

static void pass_chunk(void *task, int64_t chunk)
{
    const pass *p = task;
    const int64_t first = p->first + chunk * p->columns_per_chunk;
    const int64_t end =
        first + p->columns_per_chunk < p->end ? first + p->columns_per_chunk : p->end;
    for (int64_t j = first; j < end; j++) {
        double *column = p->matrix + j * p->h->rows;
        if (p->backwards)
            for (int64_t k = p->to - 1; k >= p->from; k--)
                reflect(p->h, k, column);
        else
            for (int64_t k = p->from; k < p->to; k++)
                reflect(p->h, k, column);
    }
}

static void run_pass(const hm_context *ctx, pass *p)
{
    if (p->first >= p->end)
        return;
    const int64_t work = 2 * (p->to - p->from) * (p->h->rows - p->from);
    p->columns_per_chunk = work >= WORTH_A_CHUNK ? 1 : WORTH_A_CHUNK / work;
    hm_parallel_for(ctx, (p->end - p->first - 1) / p->columns_per_chunk + 1, pass_chunk, p);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* A becomes v_0, v_1, ... column by column. */
static void factor(const hm_context *ctx, reflections *h, double *matrix, double *scale,
                   double *sign)
{
    for (int64_t from = 0; from < h->columns; from += PANEL) {
        const int64_t to = least(from + PANEL, h->columns);
        for (int64_t k = from; k < to; k++) {
            double *v = matrix + k * h->rows + k;
            sign[k] = make_reflection(h->kernels, v, h->rows - k, &scale[k]);
            for (int64_t j = k + 1; j < to; j++)
                reflect(h, k, matrix + j * h->rows);
        }
        run_pass(
            ctx,
            &(pass){
                .h = h, .matrix = matrix, .from = from, .to = to, .first = to, .end = h->columns});
    }
}

/* Unit vectors become Q's columns. Reflections behind column j leave unit vector j alone. */
static void accumulate(const hm_context *ctx, const reflections *h, double *q)
{
    memset(q, 0, (size_t)(h->rows * h->columns) * sizeof *q);
    for (int64_t j = 0; j < h->columns; j++)
        q[j * h->rows + j] = 1.0;
    for (int64_t from = (h->columns - 1) / PANEL * PANEL; from >= 0; from -= PANEL)
        run_pass(ctx, &(pass){.h = h,
                              .matrix = q,
                              .from = from,
                              .to = least(from + PANEL, h->columns),
                              .first = from,
                              .end = h->columns,
                              .backwards = true});
}

hm_status hm_orthonormalise(hm_context *ctx, double *matrix, int64_t rows, int64_t columns)
{
    const size_t size = (size_t)rows * (size_t)columns; /* of a matrix that exists */
    hm_status st;
    double *v = NULL, *scale = NULL, *sign = NULL;
    if ((st = hm_scratch_create(ctx, size, sizeof *v, &v)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)columns, sizeof *scale, &scale)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)columns, sizeof *sign, &sign)) != HMATH_OK)
        goto done;
    memcpy(v, matrix, size * sizeof *v);
    reflections h = {.kernels = hm_context_kernels(ctx),
                     .rows = rows,
                     .columns = columns,
                     .v = v,
                     .scale = scale};
    factor(ctx, &h, v, scale, sign);
    accumulate(ctx, &h, matrix);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++)
            matrix[j * rows + i] *= sign[j];
done:
    hm_scratch_release(ctx, v);
    hm_scratch_release(ctx, scale);
    hm_scratch_release(ctx, sign);
    return st;
}
