/*
 * Failures are written into room that the context already has: reporting one allocates nothing, and
 * running out of memory can always be told.
 */
#include "runtime/failure.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/context.h"
#include "runtime/value.h"

/* The host may have set a locale, whose decimal point may even have several bytes. */
static void put_point(char *text)
{
    char *comma = text + strspn(text, "-0123456789");
    const size_t bytes = strcspn(comma, "0123456789e");
    if (!bytes)
        return;
    *comma = '.';
    memmove(comma + 1, comma + bytes, strlen(comma + bytes) + 1);
}

const char *hm_number_text(double x, char text[HM_NUMBER])
{
    if (isnan(x))
        return "nan";
    if (isinf(x))
        return x > 0 ? "inf" : "-inf";
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, HM_NUMBER, "%.*g", digits, x);
        if (strtod(text, NULL) == x && !(fabs(x) < 1e16 && strstr(text, "e+")))
            break; /* an exponent is for what has no better form: 1500, not 1.5e+03 */
    }
    put_point(text);
    return text;
}

/* The same, always with a point or an exponent: 0.5, 3.0, 1e-05. */
static const char *number_text(double x, char text[HM_NUMBER])
{
    const char *plain = hm_number_text(x, text);
    if (plain == text && !strpbrk(text, ".e"))
        strcat(text, ".0");
    return plain;
}

/* "argument" or "argument[index]". */
static const char *place_text(const char *argument, int64_t index, char text[HM_TEXT])
{
    if (index == HM_SCALAR)
        snprintf(text, HM_TEXT, "%s", argument);
    else
        snprintf(text, HM_TEXT, "%s[%lld]", argument, (long long)index);
    return text;
}

static hm_failure *begin(hm_context *ctx, int32_t constructor, const char *argument, int64_t index)
{
    hm_failure *failure = hm_context_failure(ctx);
    failure->error = (hmath_error){
        .struct_size = sizeof(hmath_error),
        .constructor = constructor,
        .index = index,
        .operation = hm_context_operation(ctx),
        .argument = argument,
        .message = failure->message,
    };
    return failure;
}

/* "operation: " and the rest. */
__attribute__((format(printf, 2, 3))) static void say(hm_failure *failure, const char *format, ...)
{
    int n = snprintf(failure->message, HM_MESSAGE, "%s: ", failure->error.operation);
    if (n < 0 || n >= HM_MESSAGE)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->message + n, (size_t)(HM_MESSAGE - n), format, arguments);
    va_end(arguments);
}

hm_status hm_fail_domain(hm_context *ctx, const char *argument, int64_t index, double value,
                         const char *requirement)
{
    return hm_fail_domain_because(ctx, argument, index, value, "", requirement);
}

hm_status hm_fail_domain_int(hm_context *ctx, const char *argument, int64_t index, int64_t value,
                             const char *requirement)
{
    hm_failure *failure = begin(ctx, HMATH_DOMAIN_ERROR, argument, index);
    failure->error.value = (double)value;
    failure->error.integer = value;
    failure->error.requirement = requirement;
    char place[HM_TEXT];
    say(failure, "%s = %lld; required %s", place_text(argument, index, place), (long long)value,
        requirement);
    return HMATH_CHECKED;
}

hm_status hm_fail_domain_because(hm_context *ctx, const char *argument, int64_t index, double value,
                                 const char *reason, const char *requirement)
{
    hm_failure *failure = begin(ctx, HMATH_DOMAIN_ERROR, argument, index);
    failure->error.value = value;
    failure->error.requirement = requirement;
    char place[HM_TEXT], number[HM_NUMBER];
    say(failure, "%s = %s%s%s; required %s", place_text(argument, index, place),
        number_text(value, number), *reason ? " " : "", reason, requirement);
    return HMATH_CHECKED;
}

hm_status hm_fail_requirement(hm_context *ctx, const char *argument, int64_t index,
                              const char *found, const char *requirement)
{
    hm_failure *failure = begin(ctx, HMATH_DOMAIN_ERROR, argument, index);
    failure->error.value = NAN; /* there is no number to blame */
    failure->error.requirement = requirement;
    char place[HM_TEXT];
    say(failure, "%s %s; required %s", place_text(argument, index, place), found, requirement);
    return HMATH_CHECKED;
}

hm_status hm_fail_nonfinite(hm_context *ctx, const char *argument, int64_t index, double value)
{
    hm_failure *failure = begin(ctx, HMATH_NON_FINITE, argument, index);
    failure->error.value = value;
    char place[HM_TEXT], number[HM_NUMBER];
    say(failure, "%s = %s is not finite", place_text(argument, index, place),
        number_text(value, number));
    return HMATH_CHECKED;
}

hm_status hm_fail_dimension(hm_context *ctx, const char *argument, int64_t expected, int64_t actual)
{
    char expected_text[HM_NUMBER], actual_text[HM_NUMBER];
    snprintf(expected_text, HM_NUMBER, "%lld", (long long)expected);
    snprintf(actual_text, HM_NUMBER, "%lld", (long long)actual);
    return hm_fail_shape(ctx, argument, expected_text, actual_text);
}

hm_status hm_fail_shape(hm_context *ctx, const char *argument, const char *expected,
                        const char *actual)
{
    hm_failure *failure = begin(ctx, HMATH_DIMENSION_MISMATCH, argument, HM_SCALAR);
    snprintf(failure->expected, HM_TEXT, "%s", expected);
    snprintf(failure->actual, HM_TEXT, "%s", actual);
    failure->error.expected = failure->expected;
    failure->error.actual = failure->actual;
    say(failure, "%s has dimension %s; required %s", argument, failure->actual, failure->expected);
    return HMATH_CHECKED;
}

hm_status hm_fail_empty(hm_context *ctx, const char *argument)
{
    hm_failure *failure = begin(ctx, HMATH_EMPTY_INPUT, argument, HM_SCALAR);
    say(failure, "%s is empty; required at least one element", argument);
    return HMATH_CHECKED;
}

hm_status hm_fail_index(hm_context *ctx, const char *argument, int64_t index, int64_t value,
                        int64_t bound)
{
    hm_failure *failure = begin(ctx, HMATH_INDEX_OUT_OF_BOUNDS, argument, index);
    failure->error.value = (double)value;
    failure->error.integer = value;
    failure->error.bound = bound;
    char place[HM_TEXT];
    say(failure, "%s = %lld is out of bounds; required >= 0 and < %lld",
        place_text(argument, index, place), (long long)value, (long long)bound);
    return HMATH_CHECKED;
}

hm_status hm_fail_overflow(hm_context *ctx)
{
    hm_failure *failure = begin(ctx, HMATH_OVERFLOW, NULL, HM_SCALAR);
    say(failure, "the result is not representable");
    return HMATH_CHECKED;
}

hm_status hm_fail_type(hm_context *ctx, const char *argument, const char *expected,
                       const hm_value *actual)
{
    char text[HM_TEXT];
    hm_value_describe(actual, text, HM_TEXT);
    return hm_fail_type_text(ctx, argument, expected, text);
}

hm_status hm_fail_type_text(hm_context *ctx, const char *argument, const char *expected,
                            const char *actual)
{
    hm_failure *failure = begin(ctx, HMATH_TYPE_MISMATCH, argument, HM_SCALAR);
    snprintf(failure->expected, HM_TEXT, "%s", expected);
    snprintf(failure->actual, HM_TEXT, "%s", actual);
    failure->error.expected = failure->expected;
    failure->error.actual = failure->actual;
    /* Of the names of kinds, by their sound: an Int, an RNG. */
    const char *article = strchr("AIR", actual[0]) != NULL ? "an" : "a";
    say(failure, "%s is %s %s; required %s", argument, article, failure->actual, failure->expected);
    return HMATH_CHECKED;
}

void hm_fail_where(hm_context *ctx, const char *relation, const char *where)
{
    char *message = hm_context_failure(ctx)->message;
    const size_t length = strlen(message);
    if (length + strlen("; ") + strlen(relation) + strlen(" ") + strlen(where) < HM_MESSAGE)
        snprintf(message + length, HM_MESSAGE - length, "; %s %s", relation, where);
}

hm_status hm_fail_memory(hm_context *ctx)
{
    hm_failure *failure = begin(ctx, 0, NULL, HM_SCALAR);
    say(failure, "out of memory");
    return HMATH_NO_MEMORY;
}

hm_status hm_fail_argument(hm_context *ctx, const char *argument, const char *problem)
{
    hm_failure *failure = begin(ctx, 0, argument, HM_SCALAR);
    say(failure, "%s %s", argument, problem);
    return HMATH_BAD_ARGUMENT;
}

hm_status hm_fail_callback(hm_context *ctx, const char *argument)
{
    hm_failure *failure = begin(ctx, 0, argument, HM_SCALAR);
    say(failure, "the callback %s reported failure", argument);
    return HMATH_CALLBACK;
}

void hm_failure_copy(hm_failure *to, const hm_failure *from)
{
    if (to == from)
        return;
    *to = *from;
    to->error.message = to->message;
    if (from->error.expected)
        to->error.expected = to->expected;
    if (from->error.actual)
        to->error.actual = to->actual;
}

typedef struct math_error {
    hm_value base;
    hm_failure failure;
} math_error;

static const hm_class math_error_class = {.kind = HMATH_KIND_MATH_ERROR, .name = "MathError"};

hm_status hm_math_error_create(const hm_failure *failure, hm_value **out)
{
    hm_value *created = hm_value_alloc(&math_error_class, sizeof(math_error));
    if (!created) /* hm_fail_memory would overwrite the very failure that is being taken */
        return HMATH_NO_MEMORY;
    hm_failure_copy(&((math_error *)created)->failure, failure);
    *out = created;
    return HMATH_OK;
}

const hm_failure *hm_math_error_failure(const hm_value *v)
{
    return hm_value_is(v, HMATH_KIND_MATH_ERROR) ? &((const math_error *)v)->failure : NULL;
}
