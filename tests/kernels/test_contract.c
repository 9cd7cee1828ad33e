/*
 * Matrix products, bit by bit against the contract spelled out as a triple loop: every table, every
 * way operands can lie in memory, one to four threads, shapes that reach every plan and every tail.
 */
#include <stdlib.h>

#include "runtime/context.h"
#include "tables.h"
#include "tensor/contract.h"

static uint64_t state = 20;

static int64_t pick(int64_t least, int64_t most)
{
    return least + (int64_t)(next_word(&state) % (uint64_t)(most - least + 1));
}

/* Operands end where their memory ends, so that the address sanitizer sees every read beyond. */
static double *numbers(int64_t n, int spread)
{
    double *p = malloc((size_t)(n ? n : 1) * sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = next_spread(&state, spread);
    return p;
}

static const double untouched = 0x1.badp99;

static double *blank(int64_t n)
{
    double *p = malloc((size_t)(n ? n : 1) * sizeof *p);
    for (int64_t i = 0; i < n; i++)
        p[i] = untouched;
    return p;
}

/* Doubles from the first to the last element of such a matrix. */
static int64_t span(int64_t rows, int64_t columns, const hm_matrix *m)
{
    return rows && columns ? (rows - 1) * m->row + (columns - 1) * m->column + 1 : 0;
}

static void reference(const hm_product *p, double *out)
{
    for (int64_t b = 0; b < p->batch; b++)
        for (int64_t i = 0; i < p->rows; i++)
            for (int64_t j = 0; j < p->columns; j++) {
                const double *left = p->left.data + b * p->left.batch + i * p->left.row;
                const double *right = p->right.data + b * p->right.batch + j * p->right.column;
                double acc = 0.0;
                for (int64_t k = 0; k < p->depth; k++)
                    acc = fma(left[k * p->left.column], right[k * p->right.row], acc);
                if (p->column_bias)
                    acc += p->column_bias[j];
                if (p->row_bias)
                    acc += p->row_bias[i];
                out[b * p->out_batch + i * p->out_row + j] = acc + 0.0;
            }
}

/* A matrix by rows, by columns, or spread out both ways; extents beyond what is needed at random.
 */
static hm_matrix layout(int64_t rows, int64_t columns, int kind)
{
    const int64_t gap = pick(0, 3) == 0 ? pick(1, 5) : 0;
    hm_matrix m = {.row = columns + gap, .column = 1};
    if (kind == 1)
        m = (hm_matrix){.row = 1, .column = rows + gap};
    if (kind == 2)
        m = (hm_matrix){.row = 2 * columns + gap, .column = 2};
    return m;
}

typedef struct shape {
    int64_t rows, columns, depth;
} shape;

/* One after the other, so that every compiler draws the same. */
static shape pick_shape(int64_t least, int64_t rows, int64_t columns, int64_t depth)
{
    shape s;
    s.rows = pick(least, rows);
    s.columns = pick(least, columns);
    s.depth = pick(least, depth);
    return s;
}

static hm_context *context(int32_t isa, int32_t threads)
{
    const hmath_options options = {.struct_size = sizeof options, .threads = threads, .isa = isa};
    hm_context *ctx = NULL;
    CHECK_INT(hmath_context_create(&options, &ctx), HMATH_OK);
    CHECK_INT(hm_enter(ctx, "test"), HMATH_OK);
    return ctx;
}

enum { THREADS = 4 };

static hm_context *contexts[ISA_LAST + 1][THREADS + 1];

static void check_one(const hm_product *product, int isa, int threads, int64_t left_in_place,
                      const double *wanted, int64_t size, bool finite)
{
    hm_product p = *product;
    hm_contract_kernels kernels = *hm_context_kernels(contexts[isa][threads])->contract;
    kernels.left_in_place = left_in_place;
    double *got = p.out = blank(size);
    bool all_finite = !finite;
    CHECK_INT(hm_contract_by(contexts[isa][threads], &kernels, &p, &all_finite), HMATH_OK);
    CHECK_INT(all_finite, finite);
    int64_t wrong = 0;
    for (int64_t i = 0; i < size; i++)
        wrong += !same(got[i], wanted[i]);
    if (!CHECK_INT(wrong, 0))
        printf("isa %d threads %d in place %d: %d x %d x %d, batch %d, left %d %d, right %d %d\n",
               isa, threads, (int)left_in_place, (int)p.rows, (int)p.columns, (int)p.depth,
               (int)p.batch, (int)p.left.row, (int)p.left.column, (int)p.right.row,
               (int)p.right.column);
    free(got);
}

/* Every table, every number of threads, the blocking of every processor. */
static void check_everywhere(const hm_product *product, const double *wanted, int64_t size,
                             bool finite)
{
    int isa = 0;
    while (next_table(&isa))
        for (int threads = 1; threads <= THREADS; threads++) {
            check_one(product, isa, threads, 0, wanted, size, finite);
            check_one(product, isa, threads, 1 << 17, wanted, size, finite);
        }
}

static void check_batch(shape s, int64_t batch, bool one_left, int left_kind, int right_kind)
{
    static int count;
    const int biases = count++ % 4; /* none, rows, columns, both */
    hm_product p = {.batch = batch, .rows = s.rows, .columns = s.columns, .depth = s.depth};
    p.left = layout(s.rows, s.depth, left_kind);
    p.right = layout(s.depth, s.columns, right_kind);
    int64_t left_size = span(s.rows, s.depth, &p.left),
            right_size = span(s.depth, s.columns, &p.right);
    p.left.batch = one_left ? 0 : left_size;
    p.right.batch = pick(0, 4) ? right_size : 0;
    left_size += (batch - 1) * p.left.batch;
    right_size += (batch - 1) * p.right.batch;
    double *left = numbers(left_size, 12), *right = numbers(right_size, 12);
    double *row_bias = numbers(s.rows, 20), *column_bias = numbers(s.columns, 20);
    p.left.data = left;
    p.right.data = right;
    p.row_bias = biases & 1 ? row_bias : NULL;
    p.column_bias = biases & 2 ? column_bias : NULL;
    p.out_row = s.columns + (pick(0, 3) ? 0 : pick(1, 4));
    p.out_batch = s.rows * p.out_row + pick(0, 2);
    const int64_t size = batch * p.out_batch;
    double *wanted = blank(size);
    reference(&p, wanted);
    check_everywhere(&p, wanted, size, true);
    free(wanted);
    free(column_bias);
    free(row_bias);
    free(right);
    free(left);
}

static void check_product(shape s, int64_t batch, int left_kind, int right_kind)
{
    check_batch(s, batch, pick(0, 4) == 0, left_kind, right_kind);
}

/* ---- tests ---- */

static void test_contract__small_shapes(void)
{
    for (int i = 0; i < 1500; i++)
        check_product(pick_shape(0, 20, 60, 40), 1 + i % 3, i / 3 % 3, i / 9 % 3);
    for (int i = 0; i < 144; i++) { /* one row, or one column */
        shape s = pick_shape(1, 40, 40, 40);
        *(i / 4 % 2 ? &s.rows : &s.columns) = 1;
        check_product(s, 1 + i % 3, i / 3 % 3, i / 9 % 3);
    }
}

/* One extent short, the others long enough to meet every block of k and every split over threads.
 */
static void test_contract__thin_shapes(void)
{
    for (int i = 0; i < 240; i++) {
        const shape s = pick_shape(1, 90, 90, 90);
        int64_t extent[3] = {s.rows, s.columns, s.depth};
        extent[i % 3] = pick(1, 9);
        extent[(i + 1) % 3] = pick(1, 600);
        check_product((shape){extent[0], extent[1], extent[2]}, 1, i / 3 % 3, i / 9 % 3);
    }
}

static void test_contract__large_shapes(void)
{
    for (int i = 0; i < 12; i++)
        check_product(pick_shape(65, 230, 400, 600), 1, i % 3, i / 3 % 3);
    for (int i = 0; i < 12; i++) /* strips of the right operand */
        check_product(pick_shape(24, 200, 180, 300), 1, i % 3, i / 3 % 3);
    check_product((shape){30, 152, 600}, 1, 0,
                  0); /* in three pieces, the last columns 2 and 2 vectors */
    check_product((shape){400, 70, 90}, 1, 1, 0); /* a left operand that is scattered */
    check_product((shape){1000, 40, 600}, 1, 0, 1);
    check_product((shape){70, 90, 1100}, 1, 0, 1); /* beyond two blocks of depth */
    check_product((shape){300, 40, 1100}, 1, 1, 0);
    check_product((shape){2100, 30, 40}, 1, 0, 1); /* beyond one block of rows */
    check_product((shape){70, 2500, 20}, 1, 1, 1); /* and of columns */
}

static void test_contract__batches(void)
{
    for (int i = 0; i < 60; i++)
        check_product(pick_shape(1, 30, 30, 30), 2 + i * 7 % 39, i % 2, i / 2 % 2);
    check_product((shape){70, 90, 80}, 5, 0, 1);
    check_product((shape){80, 64, 64}, 40, 0, 0);
}

/* A left operand that is packed once, in one block or more, shared or by each thread for itself. */
static void test_contract__one_left(void)
{
    for (int kind = 0; kind < 2; kind++) {
        check_batch((shape){131, 97, 128}, 4, true, kind, 0);
        check_batch((shape){130, 100, 129}, 17, true, kind, 0);
        check_batch((shape){270, 30, 90}, 3, true, kind, kind);
        check_batch((shape){300, 26, 520}, 2, true, kind, 0); /* two blocks of depth: never kept */
        check_batch((shape){970, 5, 20}, 2, true, kind, 1);   /* two of rows */
        check_batch((shape){66, 2410, 9}, 2, true, kind, 1);  /* two of columns */
    }
}

/* A row has the same bits alone, whatever plan its batch goes by. */
static void test_contract__row_alone(void)
{
    const int64_t columns = 70, depth = 300;
    for (int transposed = 0; transposed < 2; transposed++) {
        double *left = numbers(100 * depth, 10), *right = numbers(depth * columns, 10);
        double *bias = numbers(columns, 10);
        hm_product p = {
            .batch = 1, .rows = 100, .columns = columns, .depth = depth, .out_row = columns};
        p.left = hm_matrix_rows(left, depth);
        p.right = transposed ? hm_matrix_transposed(right, depth) : hm_matrix_rows(right, columns);
        p.column_bias = bias;
        double *all = p.out = blank(100 * columns);
        bool finite;
        CHECK_INT(hm_contract(contexts[HMATH_ISA_BASELINE][1], &p, &finite), HMATH_OK);
        for (int64_t first = 0; first < 100; first += 7) {
            hm_product part = p;
            part.rows = first % 2 ? 1 : pick(1, 100 - first);
            part.left.data = left + first * depth;
            check_everywhere(&part, all + first * columns, part.rows * columns, true);
        }
        free(all);
        free(bias);
        free(right);
        free(left);
    }
}

/* Products that underflow to -0 give +0, with a bias of -0 too; so does depth 0. */
static void test_contract__zeros(void)
{
    double left[12 * 3], right[3 * 40], bias[40], wanted[12 * 40] = {0};
    for (int i = 0; i < 12 * 3; i++)
        left[i] = 0x1p-600;
    for (int i = 0; i < 3 * 40; i++)
        right[i] = -0x1p-600;
    for (int i = 0; i < 40; i++)
        bias[i] = -0.0;
    for (int depth = 0; depth <= 3; depth++)
        for (int rows = 1; rows <= 12; rows++)
            for (int transposed = 0; transposed < 2; transposed++) {
                hm_product p = {
                    .batch = 1, .rows = rows, .columns = 40, .depth = depth, .out_row = 40};
                p.left = hm_matrix_rows(left, 3);
                p.right = transposed ? hm_matrix_transposed(right, 3) : hm_matrix_rows(right, 40);
                check_everywhere(&p, wanted, rows * 40, true);
                p.column_bias = bias;
                check_everywhere(&p, wanted, rows * 40, true);
            }
}

/* One element overflows: it is reported, wherever it stands; all others are as ever. */
static void test_contract__overflow(void)
{
    const int64_t shapes[][3] = {{1, 40, 9},   {3, 5, 9},     {9, 3, 30},
                                 {20, 50, 70}, {70, 90, 300}, {100, 1, 50}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int transposed = 0; transposed < 2; transposed++)
            for (int trial = 0; trial < 4; trial++) {
                const int64_t rows = shapes[i][0], columns = shapes[i][1], depth = shapes[i][2];
                double *left = numbers(rows * depth, 4), *right = numbers(depth * columns, 4);
                double *wanted = blank(rows * columns);
                hm_product p = {.batch = 1, .rows = rows, .columns = columns, .depth = depth};
                p.out_row = columns;
                p.left = hm_matrix_rows(left, depth);
                p.right = transposed ? hm_matrix_transposed(right, depth)
                                     : hm_matrix_rows(right, columns);
                const int64_t row = pick(0, rows - 1);
                const int64_t column = pick(0, columns - 1), k = pick(0, depth - 1);
                left[row * depth + k] = 0x1p1000;
                right[k * p.right.row + column * p.right.column] = 0x1p900;
                reference(&p, wanted);
                check_everywhere(&p, wanted, rows * columns, false);
                free(wanted);
                free(right);
                free(left);
            }
}

int main(void)
{
    int isa = 0;
    while (next_table(&isa))
        for (int threads = 1; threads <= THREADS; threads++)
            contexts[isa][threads] = context(isa, threads);
    RUN(test_contract__small_shapes);
    RUN(test_contract__thin_shapes);
    RUN(test_contract__large_shapes);
    RUN(test_contract__batches);
    RUN(test_contract__one_left);
    RUN(test_contract__row_alone);
    RUN(test_contract__zeros);
    RUN(test_contract__overflow);
    for (int i = 0; i <= ISA_LAST; i++)
        for (int threads = 1; threads <= THREADS; threads++)
            if (contexts[i][threads]) {
                CHECK_INT(hm_leave(contexts[i][threads], HMATH_OK), HMATH_OK);
                hmath_context_destroy(contexts[i][threads]);
            }
    return check_report();
}
