/**
 * hmath_tensor.h: tensors of doubles, and of floats on their way in and out.
 *
 * A tensor is an immutable value: a shape of up to eight extents, each 0 or more, and that many
 * numbers in row-major order, contiguous and 64-byte aligned. Rank 0 is a single number. Whatever
 * looks like a change makes a new tensor; a reshape shares the elements of the old one. In a few
 * lines:
 *
 *     const int64_t shape[] = {2, 3}, axis = 1;
 *     const double values[] = {1, 2, 3, 4, 5, 6};
 *     hmath_value *matrix = NULL, *rows = NULL;
 *     if (hmath_tensor_create(ctx, 2, shape, values, &matrix) == HMATH_OK &&
 *         hmath_tensor_sum(ctx, matrix, 1, &axis, 0, &rows) == HMATH_OK)
 *         printf("%g %g\n", hmath_tensor_data(rows)[0], hmath_tensor_data(rows)[1]); // 6 15
 *     hmath_release(rows);
 *     hmath_release(matrix);
 *
 * Two kinds. A Tensor Double (161) is what operations work on. A Tensor Float (162) carries
 * binary32 data: it can be made, moved (reshape, transpose, slice, concatenate, stack,
 * broadcast_to), read, promoted to Double and had by demoting one. Given to anything else it is a
 * TypeMismatch; nothing is ever widened silently.
 *
 * Checks. A tensor may hold any number, infinities and NaN included, and moving data changes none.
 * Arithmetic is checked: an operand that is not finite is NonFinite, an argument outside the domain
 * of a function DomainError, a result beyond the largest double Overflow; each names the argument
 * and the flat, row-major position in it. Functions make the first failure in this order known:
 * kinds, numbers such as axes, shapes, emptiness, elements (argument by argument), the result.
 *
 * Statuses. Every function that takes a context may return, besides what its own text says,
 *     HMATH_BAD_ARGUMENT   ctx, out, a tensor or a needed array is NULL, or a handle was released
 *     HMATH_NO_MEMORY      also where the number of elements, extents of 0 counted as 1, does not
 *                          fit the address space
 *     HMATH_BUSY           another thread is inside a call with ctx
 *     HMATH_CHECKED        TypeMismatch: an argument is no tensor, or is a Tensor Float where only
 *                          Double will do
 * and leaves *out as it was unless it returns HMATH_OK. Results are the caller's to release.
 *
 * Axes count from 0. (Python's negative axes and indices are Python's own.)
 *
 * Results do not depend on the number of threads or the instruction set, to the last bit.
 */
#ifndef HMATH_TENSOR_H
#define HMATH_TENSOR_H

#include "hmath.h"

#if defined(__cplusplus) && !defined(HMATH_CDEF)
extern "C" {
#endif

enum { HMATH_TENSOR_MAX_RANK = 8 };

/* ---------------------------------------------------------------- making tensors */

/*
 * In this section `rank` and `shape` say what is made: shape[0] ... shape[rank - 1]; shape may be
 * NULL where rank is 0. HMATH_CHECKED: DomainError (shape[i] is negative), DimensionMismatch (more
 * than eight axes).
 */

/**
 * A Tensor Double of a copy of values[0] ... values[size - 1], row-major. Any double is taken as it
 * is. values may be NULL where the size is 0.
 */
HMATH_CALL hmath_tensor_create(hmath_context *ctx, int32_t rank, const int64_t *shape,
                               const double *values, hmath_value **out);

/** The same for a Tensor Float. */
HMATH_CALL hmath_tensor_from_floats(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                    const float *values, hmath_value **out);

/**
 * A Tensor Double over the caller's memory, without a copy. `data` has to hold its numbers
 * unchanged until release(user) is called, which happens once, when nothing needs them any more: on
 * whichever thread gives the last reference back, which may be later than the last reference to
 * *out, since reshaped tensors share the memory. release may be NULL. On failure it is not called
 * and the memory stays the caller's business.
 * @param data  at least as aligned as a double is; NULL only where the size is 0
 * @return besides the common statuses, HMATH_BAD_ARGUMENT where data is misaligned
 */
HMATH_CALL hmath_tensor_adopt(hmath_context *ctx, int32_t rank, const int64_t *shape, double *data,
                              void (*release)(void *), void *user, hmath_value **out);

/** The same for a Tensor Float. */
HMATH_CALL hmath_tensor_adopt_floats(hmath_context *ctx, int32_t rank, const int64_t *shape,
                                     float *data, void (*release)(void *), void *user,
                                     hmath_value **out);

/** A Tensor Double of +0. */
HMATH_CALL hmath_tensor_zeros(hmath_context *ctx, int32_t rank, const int64_t *shape,
                              hmath_value **out);

/** A Tensor Double whose every element is x, which may be any double. */
HMATH_CALL hmath_tensor_full(hmath_context *ctx, int32_t rank, const int64_t *shape, double x,
                             hmath_value **out);

/* ---------------------------------------------------------------- reading tensors */

/*
 * Readers take no context and never fail: -1 or NULL means that v is no tensor (for the two data
 * pointers: no tensor of that kind). What they point to is borrowed and lives as long as v.
 */

/** The number of axes, 0 to 8. */
HMATH_API int32_t hmath_tensor_rank(const hmath_value *v);

/** The number of elements: the product of the extents, 1 for rank 0. */
HMATH_API int64_t hmath_tensor_size(const hmath_value *v);

/** The extents; not NULL for rank 0 either. */
HMATH_API const int64_t *hmath_tensor_shape(const hmath_value *v);

/**
 * The elements of a Tensor Double in row-major order. Of an empty one: some pointer, not to be
 * read.
 */
HMATH_API const double *hmath_tensor_data(const hmath_value *v);

/** The elements of a Tensor Float. */
HMATH_API const float *hmath_tensor_float_data(const hmath_value *v);

/**
 * Are two tensors the same, bit for bit: kind, shape and elements? So 0.0 is not -0.0, and a NaN is
 * itself. 1 or 0; -1 where one of them is no tensor.
 */
HMATH_API int32_t hmath_tensor_identical(const hmath_value *a, const hmath_value *b);

/**
 * One element of a tensor of either kind; a float is widened exactly. Any value is given as it is.
 * @param index  one position per axis; NULL is fine for rank 0
 * @return HMATH_CHECKED: IndexOutOfBounds (index[i] is negative or not below the extent)
 */
HMATH_CALL hmath_tensor_element(hmath_context *ctx, const hmath_value *input, const int64_t *index,
                                double *out);

/* ---------------------------------------------------------------- between the two kinds */

/** Tensor Float to Tensor Double of the same shape: exact, for every float. */
HMATH_CALL hmath_tensor_promote(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/**
 * Tensor Double to Tensor Float of the same shape, each element rounded once to nearest, ties to
 * even; subnormal floats are kept, what is too small becomes a zero of its sign.
 * @return HMATH_CHECKED: NonFinite, Overflow (an element rounds beyond the largest float)
 */
HMATH_CALL hmath_tensor_demote(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/* ---------------------------------------------------------------- movement */

/*
 * These take tensors of either kind and give one of the same; elements move unchanged, whatever
 * they are.
 */

/**
 * The same elements in the same order under another shape; shares them: O(1).
 * @return HMATH_CHECKED: DomainError (a negative extent), DimensionMismatch (more than eight axes,
 *         or another number of elements)
 */
HMATH_CALL hmath_tensor_reshape(hmath_context *ctx, const hmath_value *input, int32_t rank,
                                const int64_t *shape, hmath_value **out);

/**
 * Axes in another order: axis i of the result is axis axes[i] of the input.
 * @param axes  each of 0 ... rank - 1 once; NULL: all axes in reverse, which transposes a matrix
 * @return HMATH_CHECKED: IndexOutOfBounds (axes[i]), DomainError (axes[i] stands there twice)
 */
HMATH_CALL hmath_tensor_transpose(hmath_context *ctx, const hmath_value *input, const int64_t *axes,
                                  hmath_value **out);

/**
 * A part of a tensor: along each axis the positions start, start + step, ... that lie before stop;
 * with a negative step those that lie after it. So a stop on the wrong side of start gives no
 * positions, and stop -1 with step -1 runs down to position 0 included.
 * @param start, stop, step  one number per axis each. NULL for step: all 1. NULL for start or stop:
 *                           from the first position, up to the extent (only where step is NULL too)
 * @return HMATH_CHECKED: DomainError (step[i] is 0), IndexOutOfBounds (start[i] or stop[i] is
 *         outside 0 ... extent; with a negative step outside -1 ... extent - 1)
 */
HMATH_CALL hmath_tensor_slice(hmath_context *ctx, const hmath_value *input, const int64_t *start,
                              const int64_t *stop, const int64_t *step, hmath_value **out);

/**
 * Tensors one behind the other along an axis they have. All are of one kind and rank, at least 1,
 * and of one shape but for that axis, along which lengths may differ and be 0.
 * @param count  how many; 0 is EmptyInput
 * @return HMATH_CHECKED: TypeMismatch (kinds differ), IndexOutOfBounds (axis), DimensionMismatch,
 *         EmptyInput
 */
HMATH_CALL hmath_tensor_concatenate(hmath_context *ctx, const hmath_value *const *tensors,
                                    size_t count, int64_t axis, hmath_value **out);

/**
 * Tensors side by side along a new axis, which becomes axis `axis` of the result, 0 ... rank. All
 * are of one kind and shape, of rank 7 at most.
 * @return HMATH_CHECKED: TypeMismatch (kinds differ), IndexOutOfBounds (axis), DimensionMismatch,
 *         EmptyInput (count is 0)
 */
HMATH_CALL hmath_tensor_stack(hmath_context *ctx, const hmath_value *const *tensors, size_t count,
                              int64_t axis, hmath_value **out);

/**
 * A tensor repeated to a larger shape. Shapes are aligned at their last axes; along each the input
 * has the extent of the shape, or 1, which is repeated; axes it lacks are repeated too.
 * @return HMATH_CHECKED: DomainError (a negative extent), DimensionMismatch
 */
HMATH_CALL hmath_tensor_broadcast_to(hmath_context *ctx, const hmath_value *input, int32_t rank,
                                     const int64_t *shape, hmath_value **out);

/* ---------------------------------------------------------------- arithmetic */

/*
 * Two tensors Double, left and right, are first broadcast against each other: shapes are aligned at
 * their last axes, and along each the extents are equal or one of them is 1, which is repeated. The
 * result has the larger extent everywhere; with a 0 among them it is empty. Each element is the
 * exact result rounded once, unless said otherwise.
 *
 * HMATH_CHECKED: DimensionMismatch (right does not broadcast against left), NonFinite (in left,
 * then in right), and what is said below. Elements of operands are checked even where the result is
 * empty.
 */

/** left + right. HMATH_CHECKED: Overflow. */
HMATH_CALL hmath_tensor_add(hmath_context *ctx, const hmath_value *left, const hmath_value *right,
                            hmath_value **out);

/** left - right. HMATH_CHECKED: Overflow. */
HMATH_CALL hmath_tensor_subtract(hmath_context *ctx, const hmath_value *left,
                                 const hmath_value *right, hmath_value **out);

/** left * right. HMATH_CHECKED: Overflow; an underflow rounds, to zero in the end. */
HMATH_CALL hmath_tensor_multiply(hmath_context *ctx, const hmath_value *left,
                                 const hmath_value *right, hmath_value **out);

/**
 * left / right. HMATH_CHECKED: DomainError (an element of right is 0, whatever stands left),
 * Overflow.
 */
HMATH_CALL hmath_tensor_divide(hmath_context *ctx, const hmath_value *left,
                               const hmath_value *right, hmath_value **out);

/**
 * left to the power of right, to 2 ulp; x^0 is 1 for every x, 0 included.
 * @return HMATH_CHECKED: DomainError at an element of right that is negative where left is 0, or no
 *         integer where left is negative; Overflow
 */
HMATH_CALL hmath_tensor_power(hmath_context *ctx, const hmath_value *left, const hmath_value *right,
                              hmath_value **out);

/** The larger (smaller) of the two; of zeros of both signs +0 (-0). */
HMATH_CALL hmath_tensor_maximum(hmath_context *ctx, const hmath_value *left,
                                const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_tensor_minimum(hmath_context *ctx, const hmath_value *left,
                                const hmath_value *right, hmath_value **out);

/** 1.0 where the relation holds between left and right, else 0.0. 0.0 and -0.0 are equal. */
HMATH_CALL hmath_tensor_equal(hmath_context *ctx, const hmath_value *left, const hmath_value *right,
                              hmath_value **out);
HMATH_CALL hmath_tensor_not_equal(hmath_context *ctx, const hmath_value *left,
                                  const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_tensor_less(hmath_context *ctx, const hmath_value *left, const hmath_value *right,
                             hmath_value **out);
HMATH_CALL hmath_tensor_less_equal(hmath_context *ctx, const hmath_value *left,
                                   const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_tensor_greater(hmath_context *ctx, const hmath_value *left,
                                const hmath_value *right, hmath_value **out);
HMATH_CALL hmath_tensor_greater_equal(hmath_context *ctx, const hmath_value *left,
                                      const hmath_value *right, hmath_value **out);

/*
 * Functions of one tensor Double; the result has its shape. HMATH_CHECKED: NonFinite, and what is
 * said below. Errors are in units in the last place (ulp) of the exact result, over the whole
 * domain.
 */

/** -x, exact; -0 of 0. */
HMATH_CALL hmath_tensor_negate(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** |x|, exact. */
HMATH_CALL hmath_tensor_absolute(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** -1, 0 or 1; a zero keeps its sign. */
HMATH_CALL hmath_tensor_sign(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** x * x. HMATH_CHECKED: Overflow. */
HMATH_CALL hmath_tensor_square(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** 1 / x. HMATH_CHECKED: DomainError (x is 0), Overflow (x is subnormal and too small). */
HMATH_CALL hmath_tensor_reciprocal(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** The square root, correctly rounded; -0 of -0. HMATH_CHECKED: DomainError (x < 0). */
HMATH_CALL hmath_tensor_sqrt(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** e^x, to 1 ulp. HMATH_CHECKED: Overflow (x > 709.78...); underflow is gradual. */
HMATH_CALL hmath_tensor_exp(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** e^x - 1, to 1.5 ulp, also near 0. HMATH_CHECKED: Overflow. */
HMATH_CALL hmath_tensor_expm1(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** The natural logarithm, to 1 ulp. HMATH_CHECKED: DomainError (x <= 0). */
HMATH_CALL hmath_tensor_log(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** log(1 + x), to 1 ulp, also near 0. HMATH_CHECKED: DomainError (x <= -1). */
HMATH_CALL hmath_tensor_log1p(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** Sine and cosine of x radians, to 1 ulp for every finite x. */
HMATH_CALL hmath_tensor_sin(hmath_context *ctx, const hmath_value *input, hmath_value **out);
HMATH_CALL hmath_tensor_cos(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/**
 * The tangent of x radians, to 2.5 ulp for every finite x; no double is near enough to a pole to
 * overflow.
 */
HMATH_CALL hmath_tensor_tan(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** The hyperbolic tangent, to 1.5 ulp. */
HMATH_CALL hmath_tensor_tanh(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** 1 / (1 + e^-x), to 1 ulp, also where it is subnormal. */
HMATH_CALL hmath_tensor_sigmoid(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/**
 * log sigmoid(x) = -softplus(-x), and softplus(x) = log(1 + e^x), both to 4 ulp, without overflow.
 */
HMATH_CALL hmath_tensor_log_sigmoid(hmath_context *ctx, const hmath_value *input,
                                    hmath_value **out);
HMATH_CALL hmath_tensor_softplus(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/** The error function, to 1 ulp, and 1 - erf(x) without cancellation, to 1.5 ulp. */
HMATH_CALL hmath_tensor_erf(hmath_context *ctx, const hmath_value *input, hmath_value **out);
HMATH_CALL hmath_tensor_erfc(hmath_context *ctx, const hmath_value *input, hmath_value **out);

/* ---------------------------------------------------------------- matrix products */

/**
 * The product of two tensors Double of rank 1 or more, as NumPy and PyTorch define it. The last
 * axis of left is summed against the last but one of right, or its only one:
 *     (k,) (k,)              -> ()          (n, k) (k, m)          -> (n, m)
 *     (k,) (k, m)            -> (m,)        (..., n, k) (..., k, m) -> (..., n, m)
 *     (n, k) (k,)            -> (n,)        where the leading axes ... broadcast against each other
 * Each element is one chain acc = fma(left_k, right_k, acc) in increasing k from +0 (of no terms:
 * +0), the same bits whichever way it is asked for.
 * @return HMATH_CHECKED: DimensionMismatch (an operand of rank 0; extents that do not match),
 *         NonFinite, Overflow (an element of the result is not finite)
 */
HMATH_CALL hmath_tensor_matmul(hmath_context *ctx, const hmath_value *left,
                               const hmath_value *right, hmath_value **out);

/* ---------------------------------------------------------------- along axes */

/*
 * Reductions of a tensor Double over a set of axes, in any order:
 *     axes        axis_count different axes; not read where axis_count is HMATH_ALL_AXES or 0
 *     axis_count  HMATH_ALL_AXES for every axis; 0 for none, which reduces each element alone
 *     keep        not 0: the reduced axes stay, with extent 1; 0: they go
 * HMATH_CHECKED: IndexOutOfBounds (axes[i]), DomainError (axes[i] stands there twice), NonFinite,
 * and what is said below.
 */
enum { HMATH_ALL_AXES = -1 };

/** The sum; 0 of nothing. In the order of the numerics contract. HMATH_CHECKED: Overflow. */
HMATH_CALL hmath_tensor_sum(hmath_context *ctx, const hmath_value *input, int32_t axis_count,
                            const int64_t *axes, int keep, hmath_value **out);

/**
 * The sum divided by the number of terms; never an Overflow, whatever the sum is.
 * @return HMATH_CHECKED: EmptyInput (a mean of nothing)
 */
HMATH_CALL hmath_tensor_mean(hmath_context *ctx, const hmath_value *input, int32_t axis_count,
                             const int64_t *axes, int keep, hmath_value **out);

/**
 * The largest (smallest) element; a zero comes out as +0. HMATH_CHECKED: EmptyInput (of nothing).
 */
HMATH_CALL hmath_tensor_max(hmath_context *ctx, const hmath_value *input, int32_t axis_count,
                            const int64_t *axes, int keep, hmath_value **out);
HMATH_CALL hmath_tensor_min(hmath_context *ctx, const hmath_value *input, int32_t axis_count,
                            const int64_t *axes, int keep, hmath_value **out);

/**
 * (variance, mean). The variance is the sum of squared deviations from the mean, over the number of
 * elements less `correction`: 0 for a population, 1 for a sample. Neither loses digits to the
 * other: an input with mean 1e8 and deviation 1 costs no more than the data's own rounding. Blocks
 * of 4096 elements are combined as in Chan, Golub and LeVeque, "Algorithms for computing the sample
 * variance", The American Statistician 37(3), 1983.
 * @param correction  at least 0, below the number of elements
 * @param out         Tuple of two Tensors
 * @return HMATH_CHECKED: DomainError (correction), EmptyInput (of nothing), Overflow (a variance)
 */
HMATH_CALL hmath_tensor_var_mean(hmath_context *ctx, const hmath_value *input, int32_t axis_count,
                                 const int64_t *axes, int64_t correction, int keep,
                                 hmath_value **out);

/**
 * Where the largest element along one axis stands; of equal ones the first.
 * @param axis  0 ... rank - 1
 * @param out   [Int], one position for each combination of the other axes, in row-major order:
 *              labels, as the metrics take them
 * @return HMATH_CHECKED: IndexOutOfBounds (axis), EmptyInput (the axis has no elements and the
 *         result would have), NonFinite
 */
HMATH_CALL hmath_tensor_argmax(hmath_context *ctx, const hmath_value *input, int64_t axis,
                               hmath_value **out);

/* ---------------------------------------------------------------- DLPack */

/*
 * The structures of the DLPack specification, which dlpack.h defines under the same names. They
 * belong to whoever holds them, who calls managed->deleter(managed) when done.
 */
struct DLManagedTensor;
struct DLManagedTensorVersioned;

/**
 * Lend a tensor of either kind, without a copy, marked read-only (DLPack 1.0). The tensor lives
 * until the deleter is called, from any thread, with or without a context.
 */
HMATH_CALL hmath_tensor_to_dlpack_versioned(hmath_context *ctx, const hmath_value *input,
                                            struct DLManagedTensorVersioned **out);

/**
 * The older structure, which cannot say that it is read-only: so it holds a copy, which the
 * receiver may write to.
 */
HMATH_CALL hmath_tensor_to_dlpack(hmath_context *ctx, const hmath_value *input,
                                  struct DLManagedTensor **out);

/**
 * Take what another library lends: float64 becomes a Tensor Double, float32 a Tensor Float. Where
 * it is contiguous, row-major and aligned it is adopted, so it may not change while the tensor
 * lives; else it is copied. On success `managed` is the library's: its deleter is
 * called when nothing needs the memory any more (at once where it was copied). On failure it stays
 * the caller's.
 * @return HMATH_BAD_ARGUMENT also where the structure is malformed or of another major version;
 *         HMATH_CHECKED: TypeMismatch (memory that is not the CPU's, or elements that are not
 *         float64 or float32), DomainError (a negative extent), DimensionMismatch (more than eight
 *         axes)
 */
HMATH_CALL hmath_tensor_from_dlpack_versioned(hmath_context *ctx,
                                              struct DLManagedTensorVersioned *managed,
                                              hmath_value **out);
HMATH_CALL hmath_tensor_from_dlpack(hmath_context *ctx, struct DLManagedTensor *managed,
                                    hmath_value **out);

#if defined(__cplusplus) && !defined(HMATH_CDEF)
}
#endif

#endif
