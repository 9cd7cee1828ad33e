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
    uintptr_t value; /* ours, its address; a MathError where the call was refused; 0: none */
    int32_t kind;    /* HMATH_KIND_... of value */
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

/* Make the Value that an argument describes, to be kept. Data that is lent is copied. */
hmath_status bridge_make(hmath_context *ctx, const bridge_argument *argument,
                         bridge_result *result);

/*
 * Run a program on what `count` arguments describe; `outputs` is room for `results` Values. A run keeps nothing
 * of its inputs, so that tensors are always lent.
 */
hmath_status bridge_run(hmath_context *ctx, const hmath_value *program,
                        const bridge_argument *inputs, size_t count, hmath_value **outputs,
                        size_t results);

/* Describe a value without taking it over. */
void bridge_describe(hmath_value *value, bridge_result *result);

/* Element i of a result that is a List or Tuple, as a result of its own. */
hmath_status bridge_item(hmath_context *ctx, const bridge_result *from, int64_t i,
                         bridge_result *result);

/* A custom node is gone, and its functions with it; see _callback.c. */
void bridge_custom_gone(void *user);

/* The file that the library was loaded from. */
const char *bridge_library_path(void);

#endif
