/*
 * Householder's QR, by panels. Reflection k, H_k = I - scale_k v_k v_k^T, maps column k below the
 * diagonal to a multiple of a unit vector; Q's columns are H_0 H_1 ... H_n-1 applied to the unit
 * vectors. The sign of R's diagonal that Householder's choice leaves is taken out at the end
 * (Mezzadri, "How to generate random matrices from the classical compact groups", Notices AMS 54
 * (2007)).
 *
 * The reflections of a panel are one matrix, I - V T V^T with a small upper triangular T (Schreiber
 * and Van Loan, "A storage-efficient WY representation", SIAM J. Sci. Stat. Comput. 10 (1989)), so
 * that nearly all arithmetic is matrix products, whose elements are chains of the contract's order:
 * threads and instruction sets change nothing.
 *
 * A column lies in one row of memory: what is a matrix product from the left in the books is one
 * from the right here.
 */
#include "neural/layers/orthogonal.h"

#include <math.h>
#include <string.h>

#include "tensor/contract.h"
#include "tensor/reduce.h"

/*
 * Order 1,024 on one thread of a Zen 4, milliseconds (LAPACK through PyTorch: 140): panels of 32, slabs
 * of 2^15 to 2^18 doubles 88 to 100, of 2^20 118; panels of 64 92 to 110.
 */
enum {
    PANEL = 32,
    SLAB_DOUBLES = 1 << 17 /* of the product that is subtracted, so that it stays in cache: 1 MB */
};

typedef struct factors {
    hm_context *ctx;
    const hm_kernels *kernels;
    int64_t rows, columns;
    double *v;     /* v_k is row k: zeros in front of element k */
    double *scale; /* of reflection k */
    double *sign;  /* of R's diagonal element k */
    double *slab, *coordinates, *turned;
} factors;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static double dot(const hm_kernels *kernels, const double *x, const double *y, int64_t n)
{
    return hm_wide_round(hm_sum_row(kernels, HM_ROW_DOT, x, y, n));
}

/* ------------------------------------------------- one reflection */

/* Turn column k into v_k. */
static void make_reflection(factors *f, int64_t k)
{
    double *v = f->v + k * f->rows + k;
    const double norm = sqrt(dot(f->kernels, v, v, f->rows - k)), first = v[0];
    memset(v - k, 0, (size_t)k * sizeof *v); /* what stands there is R's */
    if (norm == 0.0) {                       /* H = I */
        f->scale[k] = 0.0;
        f->sign[k] = 1.0;
        return;
    }
    v[0] = first + copysign(norm, first); /* away from zero: nothing cancels */
    f->scale[k] = 1.0 / (norm * (norm + fabs(first)));
    f->sign[k] = -copysign(1.0, first);
}

static void reflect(const factors *f, int64_t k, double *column)
{
    const double *v = f->v + k * f->rows + k;
    const int64_t n = f->rows - k;
    const double c = f->scale[k] * dot(f->kernels, v, column + k, n);
    f->kernels->random->subtract(c, v, column + k, n);
}

/* ------------------------------------------------- a panel of them */

typedef struct panel {
    int64_t from, width, length; /* reflections from ..., on elements from ... of a column */
    hm_matrix v;                 /* (width, length) */
    double t[PANEL * PANEL];
} panel;

/* T's column i is -scale_i T (V^T v_i) above the diagonal and scale_i on it. */
static hm_status describe(const factors *f, int64_t from, panel *p)
{
    double inner[PANEL * PANEL];
    bool finite;
    p->from = from;
    p->width = least(PANEL, f->columns - from);
    p->length = f->rows - from;
    p->v = hm_matrix_rows(f->v + from * f->rows + from, f->rows);
    const hm_product gram = {.batch = 1,
                             .rows = p->width,
                             .columns = p->width,
                             .depth = p->length,
                             .left = p->v,
                             .right = {p->v.data, .row = 1, .column = f->rows},
                             .out = inner,
                             .out_row = PANEL};
    hm_status st = hm_contract(f->ctx, &gram, &finite);
    if (st != HMATH_OK)
        return st;
    memset(p->t, 0, sizeof p->t);
    for (int64_t i = 0; i < p->width; i++) {
        const double scale = f->scale[from + i];
        for (int64_t j = 0; j < i; j++) {
            double sum = 0.0;
            for (int64_t k = j; k < i; k++)
                sum += p->t[j * PANEL + k] * inner[k * PANEL + i];
            p->t[j * PANEL + i] = -scale * sum;
        }
        p->t[i * PANEL + i] = scale;
    }
    return HMATH_OK;
}

/* Columns first ... end - 1 of `matrix`, X, become X - X V T V^T, with T transposed if asked for. */
static hm_status apply(const factors *f, const panel *p, bool transposed, double *matrix,
                       int64_t first, int64_t end)
{
    const int64_t slab = SLAB_DOUBLES / p->length + 1;
    for (int64_t at = first; at < end; at += slab) {
        double *x = matrix + at * f->rows + p->from;
        const int64_t count = least(slab, end - at);
        const hm_product steps[3] = {
            {.batch = 1,
             .rows = count,
             .columns = p->width,
             .depth = p->length,
             .left = hm_matrix_rows(x, f->rows),
             .right = {p->v.data, .row = 1, .column = f->rows},
             .out = f->coordinates,
             .out_row = PANEL},
            {.batch = 1,
             .rows = count,
             .columns = p->width,
             .depth = p->width,
             .left = hm_matrix_rows(f->coordinates, PANEL),
             .right = transposed ? hm_matrix_transposed(p->t, PANEL) : hm_matrix_rows(p->t, PANEL),
             .out = f->turned,
             .out_row = PANEL},
            {.batch = 1,
             .rows = count,
             .columns = p->length,
             .depth = p->width,
             .left = hm_matrix_rows(f->turned, PANEL),
             .right = p->v,
             .out = f->slab,
             .out_row = p->length},
        };
        for (int i = 0; i < 3; i++) {
            bool finite;
            hm_status st = hm_contract(f->ctx, &steps[i], &finite);
            if (st != HMATH_OK)
                return st;
        }
        for (int64_t j = 0; j < count; j++)
            f->kernels->random->subtract(1.0, f->slab + j * p->length, x + j * f->rows, p->length);
    }
    return HMATH_OK;
}

/* ------------------------------------------------- all of it */

/* A becomes v_0, v_1, ... */
static hm_status factor(factors *f)
{
    hm_status st = HMATH_OK;
    for (int64_t from = 0; from < f->columns && st == HMATH_OK; from += PANEL) {
        const int64_t to = least(from + PANEL, f->columns);
        for (int64_t k = from; k < to; k++) {
            make_reflection(f, k);
            for (int64_t j = k + 1; j < to; j++)
                reflect(f, k, f->v + j * f->rows);
        }
        panel p;
        if (to < f->columns && (st = describe(f, from, &p)) == HMATH_OK)
            st = apply(f, &p, false, f->v, to, f->columns);
    }
    return st;
}

/* Unit vectors become Q's columns. Reflections behind column j leave unit vector j alone. */
static hm_status accumulate(const factors *f, double *q)
{
    hm_status st = HMATH_OK;
    memset(q, 0, (size_t)f->rows * (size_t)f->columns * sizeof *q);
    for (int64_t j = 0; j < f->columns; j++)
        q[j * f->rows + j] = 1.0;
    for (int64_t from = (f->columns - 1) / PANEL * PANEL; from >= 0 && st == HMATH_OK;
         from -= PANEL) {
        panel p;
        if ((st = describe(f, from, &p)) == HMATH_OK)
            st = apply(f, &p, true, q, from, f->columns);
    }
    for (int64_t j = 0; j < f->columns; j++)
        for (int64_t i = 0; i < f->rows && f->sign[j] < 0.0; i++)
            q[j * f->rows + i] = -q[j * f->rows + i];
    return st;
}

hm_status hm_orthonormalise(hm_context *ctx, double *matrix, int64_t rows, int64_t columns)
{
    const size_t size = (size_t)rows * (size_t)columns; /* of a matrix that exists */
    const int64_t slab = least(SLAB_DOUBLES + rows, (int64_t)size);
    factors f = {.ctx = ctx, .kernels = hm_context_kernels(ctx), .rows = rows, .columns = columns};
    hm_status st;
    if ((st = hm_scratch_create(ctx, size, sizeof(double), &f.v)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)columns, sizeof(double), &f.scale)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)columns, sizeof(double), &f.sign)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)slab, sizeof(double), &f.slab)) != HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)columns * PANEL, sizeof(double), &f.coordinates)) !=
            HMATH_OK ||
        (st = hm_scratch_create(ctx, (size_t)columns * PANEL, sizeof(double), &f.turned)) !=
            HMATH_OK)
        goto done;
    memcpy(f.v, matrix, size * sizeof(double));
    if ((st = factor(&f)) == HMATH_OK)
        st = accumulate(&f, matrix);
done:
    hm_scratch_release(ctx, f.v);
    hm_scratch_release(ctx, f.scale);
    hm_scratch_release(ctx, f.sign);
    hm_scratch_release(ctx, f.slab);
    hm_scratch_release(ctx, f.coordinates);
    hm_scratch_release(ctx, f.turned);
    return st;
}
