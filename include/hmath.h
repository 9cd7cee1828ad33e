/**
 * hmath.h: what every part of libhmath shares: contexts, statuses, values, errors, versions.
 *
 * libhmath is a library of checked, reproducible double-precision neural primitives. Everything a
 * caller passes in or gets back is a *value*: an immutable, counted, opaque handle. Every call that can
 * fail returns a *status* and writes its result through a last argument `out`. A *context* is the
 * cursor a thread calls with. In a few lines:
 *
 *     hmath_context *ctx = NULL;
 *     hmath_value *x = NULL;
 *     double number;
 *     if (hmath_context_create(NULL, &ctx) == HMATH_OK &&
 *         hmath_double_create(ctx, 0.5, &x) == HMATH_OK && // x is ours now
 *         hmath_double_get(x, &number) == HMATH_OK)
 *         printf("%g\n", number);                          // 0.5
 *     hmath_release(x);                                    // and given back
 *     hmath_context_destroy(ctx);
 *
 * Ownership. Arguments are borrowed for the call. `*out` is written last, on success only, with a new
 * reference that the caller releases; on failure it keeps its old content. The order of releases never
 * matters. NULL may be released and retained, and nothing happens.
 *
 * Threads. A value may be used from every thread and with every context. A context serves one thread at
 * a time; a second one gets HMATH_BUSY. A callback may call back with the context it was given.
 *
 * Failure. HMATH_CHECKED means that the operation refused its input or could not represent its result:
 * hmath_last_error() says which operation, which argument, what was found and what was expected.
 */
#ifndef HMATH_H
#define HMATH_H

#ifndef HMATH_CDEF
#include <stddef.h>
#include <stdint.h>
#endif

/* HMATH_CDEF is defined where the declarations are read by a tool that knows plain C only. */
#if defined(HMATH_CDEF)
#define HMATH_NODISCARD
#define HMATH_EXPORT
#elif defined(__cplusplus) && __cplusplus >= 201703L
#define HMATH_NODISCARD [[nodiscard]]
#define HMATH_EXPORT __attribute__((visibility("default")))
#elif defined(__GNUC__)
#define HMATH_NODISCARD __attribute__((warn_unused_result))
#define HMATH_EXPORT __attribute__((visibility("default")))
#else
#define HMATH_NODISCARD
#define HMATH_EXPORT
#endif
/* The attribute order matters: [[nodiscard]] has to stand first for clang++. */
#define HMATH_API HMATH_EXPORT
#define HMATH_CALL HMATH_NODISCARD HMATH_EXPORT hmath_status

#if defined(__cplusplus) && !defined(HMATH_CDEF)
extern "C" {
#endif

/* ---------------------------------------------------------------- versions */

enum {
    HMATH_VERSION_MAJOR = 1,
    HMATH_VERSION_MINOR = 0,
    HMATH_VERSION_PATCH = 0,
    HMATH_ABI_VERSION = 1,     /* grows when functions are added; a break changes the soname */
    HMATH_NUMERICS_VERSION = 1 /* grows when any operation may return other bits than before */
};

/** "major.minor.patch" of the library that is loaded; static storage. */
HMATH_API const char *hmath_version(void);

/** HMATH_ABI_VERSION of the library that is loaded. */
HMATH_API int32_t hmath_abi_version(void);

/** HMATH_NUMERICS_VERSION of the library that is loaded: equal versions mean equal bits. */
HMATH_API int32_t hmath_numerics_version(void);

/* ---------------------------------------------------------------- statuses */

typedef int hmath_status;

enum {
    HMATH_OK = 0,
    HMATH_BAD_ARGUMENT = 1, /* a null or malformed argument, noticed before anything was done */
    HMATH_NO_MEMORY = 3,    /* memory could not be had; nothing changed */
    HMATH_BUSY = 4,         /* another thread is inside a call with this context */
    HMATH_CALLBACK = 5,     /* a callback reported failure */
    HMATH_CHECKED = 11      /* a MathError: see hmath_last_error() */
};

/* ---------------------------------------------------------------- kinds */

/** What hmath_kind() returns. The numbers are fixed for ever. */
enum {
    HMATH_KIND_BOOL = 1,
    HMATH_KIND_INT = 2, /* 64-bit signed */
    HMATH_KIND_DOUBLE = 3,
    HMATH_KIND_STRING = 4, /* UTF-8 */
    HMATH_KIND_LIST = 5,
    HMATH_KIND_TUPLE = 6,
    HMATH_KIND_MATH_ERROR = 7,
    HMATH_KIND_TENSOR_DOUBLE = 161,
    HMATH_KIND_TENSOR_FLOAT = 162, /* binary32 */
    HMATH_KIND_GENERATOR = 239,
    HMATH_KIND_RNG = 240,
    HMATH_KIND_ACTIVATION = 274,
    HMATH_KIND_LOSS = 275,
    HMATH_KIND_REDUCTION = 276,
    HMATH_KIND_TRAINING = 277,
    HMATH_KIND_BATCH_NORM_STATE = 278,
    HMATH_KIND_INITIALIZER = 279,
    HMATH_KIND_CONV_OPTIONS = 280,
    HMATH_KIND_POOL_MODE = 281,
    HMATH_KIND_KV_CACHE = 282,
    HMATH_KIND_QUANTIZATION = 283,
    HMATH_KIND_PRECISION = 284,
    HMATH_KIND_QUANTIZED_TENSOR = 285,
    HMATH_KIND_LOSS_SCALER = 286,
    HMATH_KIND_AD_EXPR = 287,
    HMATH_KIND_AD_TENSOR = 288,
    HMATH_KIND_DUAL = 289,
    HMATH_KIND_CLASSIFICATION_METRICS = 290,
    HMATH_KIND_PROGRAM = 300
};

typedef struct hmath_value hmath_value;
typedef struct hmath_context hmath_context;

/* ---------------------------------------------------------------- contexts */

/** Instruction sets. Results never depend on them, to the last bit. */
enum {
    HMATH_ISA_DEFAULT =
        0, /* the best this processor has, capped by HMATH_ISA=... in the environment */
    HMATH_ISA_BASELINE = 1, /* what every processor of this architecture has */
    HMATH_ISA_AVX2 = 2,     /* x86-64 with AVX2 and FMA */
    HMATH_ISA_AVX512 = 3,   /* x86-64 with AVX-512 F, DQ, BW, VL */
    HMATH_ISA_NEON = 4      /* AArch64 */
};

/** Options of a context. Set struct_size to sizeof(hmath_options); zero means default. */
typedef struct hmath_options {
    size_t struct_size;
    int32_t
        threads; /* how many threads one call may use; 0: HMATH_NUM_THREADS, else the usable cores */
    int32_t isa; /* HMATH_ISA_... */
} hmath_options;

/**
 * Make a context. Cheap: contexts share one thread pool, one buffer cache and one set of kernels.
 * @param options  NULL for the defaults
 * @return HMATH_OK, HMATH_NO_MEMORY, or HMATH_BAD_ARGUMENT: out is NULL, struct_size is too small,
 *         threads is negative, isa is unknown or this processor does not have it
 */
HMATH_CALL hmath_context_create(const hmath_options *options, hmath_context **out);

/** Another cursor with the same options, for another thread. Statuses as for hmath_context_create. */
HMATH_CALL hmath_context_clone(hmath_context *ctx, hmath_context **out);

/**
 * Give a context back; NULL is ignored. Values made with it stay valid; what contexts share is torn
 * down when the last context and the last value are gone. Do not destroy a context inside one of its
 * own calls.
 */
HMATH_API void hmath_context_destroy(hmath_context *ctx);

/** Change the options for later calls. Statuses as for hmath_context_create; HMATH_BUSY inside a call. */
HMATH_CALL hmath_context_configure(hmath_context *ctx, const hmath_options *options);

/** The options in force, with every default replaced by what it stands for. Set out->struct_size first. */
HMATH_CALL hmath_context_options(const hmath_context *ctx, hmath_options *out);

/* ---------------------------------------------------------------- errors */

/** Constructors of a MathError. */
enum {
    HMATH_DOMAIN_ERROR = 1,        /* argument, index, value, requirement */
    HMATH_NON_FINITE = 2,          /* argument, index, value */
    HMATH_DIMENSION_MISMATCH = 3,  /* argument, expected, actual */
    HMATH_EMPTY_INPUT = 4,         /* argument */
    HMATH_INDEX_OUT_OF_BOUNDS = 5, /* argument, index, value, integer, bound */
    HMATH_OVERFLOW = 6,            /* nothing more */
    HMATH_TYPE_MISMATCH = 7        /* argument, expected, actual */
};

/**
 * A failure in its parts. Absent: index -1, pointers NULL. New members are added at the end only;
 * struct_size says how many there are.
 */
typedef struct hmath_error {
    size_t struct_size;
    int32_t constructor; /* HMATH_DOMAIN_ERROR ...; 0 where the status was not HMATH_CHECKED */
    int64_t index,
        bound;    /* index: flat, row-major position of the offending element in its argument */
    double value; /* what stood there */
    const char *operation; /* "core.loss" */
    const char *argument;  /* "prediction", "options.stride" */
    const char *expected;  /* a length, a shape or a kind, as text */
    const char *actual;
    const char *requirement; /* "> 0" */
    const char *message;     /* one line with all of it; never NULL after a failure */
    int64_t integer;         /* value as a 64-bit integer, where it was one */
} hmath_error;

/**
 * The failure of the latest call with ctx, or NULL if it succeeded. Borrowed: valid until the next call
 * with ctx. Inside a callback it speaks of the callback's own calls.
 */
HMATH_API const hmath_error *hmath_last_error(const hmath_context *ctx);

/**
 * The same failure as a MathError value, which lives as long as it is held.
 * @return HMATH_OK, HMATH_NO_MEMORY, or HMATH_BAD_ARGUMENT: there is no failure
 */
HMATH_CALL hmath_last_error_take(hmath_context *ctx, hmath_value **out);

/** The parts of a MathError value, borrowed from it. HMATH_BAD_ARGUMENT: v is no MathError. */
HMATH_CALL hmath_math_error_get(const hmath_value *v, const hmath_error **out);

/* ---------------------------------------------------------------- values */

/** One more reference to v; returns v. NULL gives NULL. */
HMATH_API hmath_value *hmath_retain(const hmath_value *v);

/** One reference less. NULL is ignored. Structures of any depth are released by a loop. */
HMATH_API void hmath_release(hmath_value *v);

/** HMATH_KIND_..., or 0 for NULL. */
HMATH_API int32_t hmath_kind(const hmath_value *v);

/** The name of a kind as error messages use it ("Tensor Double"); NULL for a number that is none. */
HMATH_API const char *hmath_kind_name(int32_t kind);

/** How many values are alive in this process: equal before and after means nothing leaked. */
HMATH_API int64_t hmath_live_values(void);

/*
 * Scalars. Constructors: HMATH_OK, HMATH_NO_MEMORY, HMATH_BUSY or HMATH_BAD_ARGUMENT (ctx or out NULL).
 * Readers take no context and return HMATH_BAD_ARGUMENT where v is NULL or of another kind.
 * A bool is true where the int is not 0.
 */
HMATH_CALL hmath_bool_create(hmath_context *ctx, int x, hmath_value **out);
HMATH_CALL hmath_int_create(hmath_context *ctx, int64_t x, hmath_value **out);
HMATH_CALL hmath_double_create(hmath_context *ctx, double x, hmath_value **out);
HMATH_CALL hmath_bool_get(const hmath_value *v, int *out);
HMATH_CALL hmath_int_get(const hmath_value *v, int64_t *out);
HMATH_CALL hmath_double_get(const hmath_value *v, double *out);

/** A string of `size` bytes, copied; a terminating zero is added behind them. */
HMATH_CALL hmath_string_create(hmath_context *ctx, const char *bytes, size_t size,
                               hmath_value **out);

/** The bytes of a string, borrowed, zero-terminated. */
HMATH_CALL hmath_string_get(const hmath_value *v, const char **bytes, size_t *size);

/*
 * Lists are packed: where every element is a Double, an Int or a Bool, they stand in one contiguous
 * buffer; a list of equally long lists of such numbers is one block of rows. What a list was made
 * from makes no difference to what it is.
 */

/** A list of n values, each retained. HMATH_BAD_ARGUMENT: an item is NULL, or items is and n is not 0. */
HMATH_CALL hmath_list_create(hmath_context *ctx, const hmath_value *const *items, size_t n,
                             hmath_value **out);

/** A tuple of n values, each retained. */
HMATH_CALL hmath_tuple_create(hmath_context *ctx, const hmath_value *const *items, size_t n,
                              hmath_value **out);

/* Lists of n plain numbers, copied. Bools: one byte each, true where not 0. */
HMATH_CALL hmath_list_from_doubles(hmath_context *ctx, const double *data, size_t n,
                                   hmath_value **out);
HMATH_CALL hmath_list_from_ints(hmath_context *ctx, const int64_t *data, size_t n,
                                hmath_value **out);
HMATH_CALL hmath_list_from_bools(hmath_context *ctx, const uint8_t *data, size_t n,
                                 hmath_value **out);
HMATH_CALL hmath_list_from_int8s(hmath_context *ctx, const int8_t *data, size_t n,
                                 hmath_value **out);

/* Lists of `rows` lists of `columns` plain numbers each, row-major, copied. */
HMATH_CALL hmath_rows_from_doubles(hmath_context *ctx, const double *data, size_t rows,
                                   size_t columns, hmath_value **out);
HMATH_CALL hmath_rows_from_ints(hmath_context *ctx, const int64_t *data, size_t rows,
                                size_t columns, hmath_value **out);
HMATH_CALL hmath_rows_from_bools(hmath_context *ctx, const uint8_t *data, size_t rows,
                                 size_t columns, hmath_value **out);

/** How many elements; -1 where v is no list (no tuple). */
HMATH_API int64_t hmath_list_length(const hmath_value *v);
HMATH_API int64_t hmath_tuple_length(const hmath_value *v);

/**
 * Element i as a new reference, to be released like any result. A row of a packed list is a view that
 * shares its block. HMATH_BAD_ARGUMENT: v is no list (no tuple); HMATH_CHECKED: IndexOutOfBounds.
 */
HMATH_CALL hmath_list_item(hmath_context *ctx, const hmath_value *v, size_t i, hmath_value **out);
HMATH_CALL hmath_tuple_item(hmath_context *ctx, const hmath_value *v, size_t i, hmath_value **out);

/*
 * The numbers of a packed list, borrowed: they live as long as v. HMATH_BAD_ARGUMENT where v is no list
 * of that element type. An empty list is a list of every element type.
 */
HMATH_CALL hmath_list_doubles(const hmath_value *v, const double **data, size_t *n);
HMATH_CALL hmath_list_ints(const hmath_value *v, const int64_t **data, size_t *n);
HMATH_CALL hmath_list_bools(const hmath_value *v, const uint8_t **data, size_t *n);
HMATH_CALL hmath_list_int8s(const hmath_value *v, const int8_t **data, size_t *n);
HMATH_CALL hmath_rows_doubles(const hmath_value *v, const double **data, size_t *rows,
                              size_t *columns);
HMATH_CALL hmath_rows_ints(const hmath_value *v, const int64_t **data, size_t *rows,
                           size_t *columns);
HMATH_CALL hmath_rows_bools(const hmath_value *v, const uint8_t **data, size_t *rows,
                            size_t *columns);

#if defined(__cplusplus) && !defined(HMATH_CDEF)
}
#endif

#endif
