/*
 * The bridge between Python's objects and a wrapper's Values: one foreign call an operation.
 *
 * Every wrapper takes Values, scalars too. Making them one by one from Python would cost several
 * foreign calls an operation and would leak where one of them failed. Instead Python describes each
 * argument by a small tuple, which cffi turns into a bridge_argument; bridge_call makes the Values,
 * calls the wrapper, gives back what it made and describes the result, all in one call.
 */
#ifndef HMATH_PYTHON_BRIDGE_H
#define HMATH_PYTHON_BRIDGE_H

/* Forms of an argument, and the members each one uses besides `form`. */
enum {
    BRIDGE_NONE = 0,        /* an absent Maybe */
    BRIDGE_VALUE = 1,       /* data: a hmath_value */
    BRIDGE_DOUBLE = 2,      /* number */
    BRIDGE_INT = 3,         /* length: the integer */
    BRIDGE_BOOL = 4,        /* length: 0 or 1 */
    BRIDGE_DOUBLES = 5,     /* data: length doubles, and the same for the next three */
    BRIDGE_INTS = 6,        /* int64_t */
    BRIDGE_BOOLS = 7,       /* uint8_t */
    BRIDGE_VALUES = 8,      /* hmath_value *: a List of them */
    BRIDGE_DOUBLE_ROWS = 9, /* data: length rows of columns numbers; the next two too */
    BRIDGE_INT_ROWS = 10,
    BRIDGE_BOOL_ROWS = 11,
    BRIDGE_TENSOR = 12, /* data: doubles, row-major, lent for the call; length: rank; shape */
    BRIDGE_VECTOR = 13, /* data: length doubles, a tensor of rank 1, lent for the call */
    BRIDGE_MATRIX = 14, /* data: length x columns doubles, a tensor of rank 2, lent for the call */
    BRIDGE_INT8S = 15,  /* in results only */
    BRIDGE_MAX_ARGUMENTS = 8
};

typedef struct bridge_argument {
    int32_t form;
    double number;
    const void *data;
    int64_t length, columns;
    const int64_t *shape;
} bridge_argument;

/* A result, and what a look into it would show. */
typedef struct bridge_result {
    hmath_value *value; /* ours; a MathError where the call was refused; NULL where there is none */
    int32_t kind;       /* HMATH_KIND_... of value */
    int32_t element; /* BRIDGE_DOUBLES, BRIDGE_INTS ..., or BRIDGE_VALUES: how data is to be read */
    double number;   /* a Double */
    const double *doubles; /* data, where it is of doubles */
    const void *data;      /* the elements of a packed list, the bytes of a String */
    int64_t length;        /* of a List, Tuple or String; an Int, a Bool */
    int64_t columns;       /* of a list of rows */
} bridge_result;

/* Any wrapper; called with as many Values as it takes. */
typedef void (*bridge_function)(void);

/*
 * Call `function` with `count` arguments. Returns its status; on HMATH_CHECKED the result is the
 * MathError. HMATH_BAD_ARGUMENT: more than BRIDGE_MAX_ARGUMENTS, or an unknown form.
 */
hmath_status bridge_call(hmath_context *ctx, bridge_function function,
                         const bridge_argument *arguments, size_t count, bridge_result *result);

/*
 * The same for a wrapper that returns a Double, which no checked operation returns as a NaN: a NaN
 * says that bridge_call has to be asked why.
 */
double bridge_call_double(hmath_context *ctx, bridge_function function,
                          const bridge_argument *arguments, size_t count);

/* The same for a wrapper of a value and a Double that returns a Double: the shortest way for
 * scalars. */
double bridge_call_scalar(hmath_context *ctx, bridge_function function, const hmath_value *value,
                          double x);

/*
 * A wrapper of one tensor, or of two of which one may be a number: its tensor is NULL, and it becomes
 * one of rank 0. The result, or NULL where anything is wrong: then the longer way finds out what.
 */
hmath_value *bridge_unary(hmath_context *ctx, bridge_function function, const hmath_value *input);
hmath_value *bridge_binary(hmath_context *ctx, bridge_function function, const hmath_value *left,
                           const hmath_value *right, double number);

/* A reduction over one axis, which may count from the end, or (axes 0) over all; the axes go. */
hmath_value *bridge_reduction(hmath_context *ctx, bridge_function function,
                              const hmath_value *input, int32_t axes, int64_t axis);

/* Under another shape, in which one extent may be -1: what is left over. */
hmath_value *bridge_reshape(hmath_context *ctx, const hmath_value *input, size_t rank,
                            const int64_t *shape);

/* An element of a tensor of rank `count`; positions may count from the end. NaN: the longer way. */
double bridge_element(hmath_context *ctx, const hmath_value *input, size_t count,
                      const int64_t *index);

/* Row `row`, without its axis; and the rows start, start + step, ... NULL as above. */
hmath_value *bridge_row(hmath_context *ctx, const hmath_value *input, int64_t row);
hmath_value *bridge_rows(hmath_context *ctx, const hmath_value *input, int64_t start, int64_t stop,
                         int64_t step);

/* Any wrapper of handles alone, and a norm of (axes, epsilon, input); NULL as for bridge_tensor. */
hmath_value *bridge_values(hmath_context *ctx, bridge_function function, hmath_value *const *values,
                           size_t count);
hmath_value *bridge_norm(hmath_context *ctx, bridge_function function, int64_t axes, double epsilon,
                         hmath_value *input);

/* layers.dense of two tensors and a bias of `count` numbers; NULL as for bridge_tensor. */
hmath_value *bridge_dense(hmath_context *ctx, const hmath_value *input, const hmath_value *weights,
                          const double *bias, size_t count);

/*
 * A Tensor Double of `count` values (of zeros where values is NULL), or NULL where the shape does
 * not ask for as many or anything else is wrong: then the longer way finds out what.
 */
hmath_value *bridge_tensor(hmath_context *ctx, int32_t rank, const int64_t *shape,
                           const double *values, int64_t count);

/* The same for a wrapper of two values and two lists of numbers: a loss. */
double bridge_call_lists(hmath_context *ctx, bridge_function function, const hmath_value *first,
                         const hmath_value *second, const double *left, size_t left_count,
                         const double *right, size_t right_count);

/*
 * A wrapper that turns a list of doubles into one as long: `count` results go to `out`. Not 0 where the
 * call failed, and out is as it was.
 */
int bridge_call_map(hmath_context *ctx, bridge_function function, const double *values,
                    size_t count, double *out);

/* Make the Value that an argument describes, to be kept. Data that is lent is copied. */
hmath_status bridge_make(hmath_context *ctx, const bridge_argument *argument,
                         bridge_result *result);

/* Describe a value without taking it over. */
void bridge_describe(hmath_value *value, bridge_result *result);

/* Element i of a List or Tuple, as a result of its own. */
hmath_status bridge_item(hmath_context *ctx, const hmath_value *value, int64_t i,
                         bridge_result *result);

/*
 * DLPack capsules; see _capsule.c. Append a capsule that owns `managed` to a list: 0, or not 0
 * where there is no memory. The structure in a capsule, or NULL where it is none of that version or
 * was taken. Mark it as taken.
 */
int bridge_capsule_append(uintptr_t list, void *managed, int versioned);
void *bridge_capsule_pointer(uintptr_t capsule, int versioned);
void bridge_capsule_taken(uintptr_t capsule, int versioned);

/* A custom node is gone, and its functions with it; see _callback.c. */
void bridge_custom_gone(void *user);

/* The file that the library was loaded from. */
const char *bridge_library_path(void);

#endif
