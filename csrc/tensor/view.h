/*
 * What an operation sees of a [Double], [[Double]], [Int], [Bool] or [[Bool]] argument, whichever
 * container it came in, and the checks that go with it. `source` is the argument itself: the
 * result's container follows it.
 */
#ifndef HM_VIEW_H
#define HM_VIEW_H

#include "runtime/list.h"
#include "tensor/tensor.h"

typedef struct hm_doubles {
    const double *data;
    int64_t length; /* of a tensor: all its elements */
    int32_t rank;   /* 1, or the tensor's */
    const hm_value *source;
} hm_doubles;

typedef struct hm_double_rows {
    const double *data;
    int64_t rows, columns;
    int32_t rank; /* 2, or the tensor's */
    bool ragged;
    const hm_value *source;
} hm_double_rows;

typedef struct hm_ints {
    const int64_t *data;
    int64_t length;
    const hm_value *source;
} hm_ints;

typedef struct hm_bools {
    const uint8_t *data;
    int64_t length;
    const hm_value *source;
} hm_bools;

typedef struct hm_bool_rows {
    const uint8_t *data;
    int64_t rows, columns;
    bool ragged;
    const hm_value *source;
} hm_bool_rows;

/* Step 3 of the order of checks: DimensionMismatch where the view is no vector, no matrix. */
hm_status hm_check_vector(hm_context *ctx, const char *argument, const hm_doubles *view);
hm_status hm_check_matrix(hm_context *ctx, const char *argument, const hm_double_rows *view);
hm_status hm_check_bool_matrix(hm_context *ctx, const char *argument, const hm_bool_rows *view);

/* Step 3: DimensionMismatch where the length is not `expected`. */
hm_status hm_check_length(hm_context *ctx, const char *argument, int64_t length, int64_t expected);

/* Step 4: EmptyInput. */
hm_status hm_check_some(hm_context *ctx, const char *argument, int64_t count);

/* Is every element finite? On the context's threads where there are many. */
bool hm_all_finite(const hm_context *ctx, const double *data, int64_t n);

/* Step 5: NonFinite with the first offending index. A tensor remembers that it was found finite. */
hm_status hm_check_finite(hm_context *ctx, const char *argument, const double *data, int64_t n);
hm_status hm_check_tensor_finite(hm_context *ctx, const char *argument, const hm_tensor *tensor);
hm_status hm_check_doubles_finite(hm_context *ctx, const char *argument, const hm_doubles *view);

hm_status hm_check_rows_finite(hm_context *ctx, const char *argument, const hm_double_rows *view);

/* Step 2 for scalars: NonFinite, then hm_fail_domain is the caller's. */
hm_status hm_check_scalar_finite(hm_context *ctx, const char *argument, double x);

/*
 * An uninitialised result in the container of `source`: a flat list of n for a list, a tensor of
 * the source's shape for a tensor (then n is its size).
 */
hm_status hm_result_like(hm_context *ctx, const hm_value *source, int64_t n, hm_value **result,
                         double **data);

/*
 * The numbers of a view as a list of their own. A list that stands alone is immutable and serves as
 * its own copy; a row of a block would keep the whole block alive.
 */
hm_status hm_list_of_doubles(hm_context *ctx, const hm_doubles *view, hm_list **out);

/* hm_result_like for rows. */
hm_status hm_rows_result_like(hm_context *ctx, const hm_value *source, int64_t rows,
                              int64_t columns, hm_value **result, double **data);

#endif
