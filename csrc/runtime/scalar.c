#include "runtime/scalar.h"

#include <string.h>

#include "runtime/checked.h"

typedef struct scalar {
    hm_value base;
    union {
        bool truth;
        int64_t integer;
        double number;
    } as;
} scalar;

typedef struct string {
    hm_value base;
    size_t size;
    char bytes[];
} string;

static const hm_class bool_class = {.kind = HMATH_KIND_BOOL, .name = "Bool"};
static const hm_class int_class = {.kind = HMATH_KIND_INT, .name = "Int"};
static const hm_class double_class = {.kind = HMATH_KIND_DOUBLE, .name = "Double"};
static const hm_class string_class = {.kind = HMATH_KIND_STRING, .name = "String"};

hm_status hm_bool_create(hm_context *ctx, bool x, hm_value **out)
{
    scalar *created;
    hm_status st = hm_value_create(ctx, &bool_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    created->as.truth = x;
    *out = &created->base;
    return HMATH_OK;
}

hm_status hm_int_create(hm_context *ctx, int64_t x, hm_value **out)
{
    scalar *created;
    hm_status st = hm_value_create(ctx, &int_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    created->as.integer = x;
    *out = &created->base;
    return HMATH_OK;
}

hm_status hm_double_create(hm_context *ctx, double x, hm_value **out)
{
    scalar *created;
    hm_status st = hm_value_create(ctx, &double_class, sizeof *created, &created);
    if (st != HMATH_OK)
        return st;
    created->as.number = x;
    *out = &created->base;
    return HMATH_OK;
}

hm_status hm_string_create(hm_context *ctx, const char *bytes, size_t size, hm_value **out)
{
    size_t total;
    if (!hm_bytes(sizeof(string) + 1, size, 1, &total))
        return hm_fail_memory(ctx);
    string *created;
    hm_status st = hm_value_create(ctx, &string_class, total, &created);
    if (st != HMATH_OK)
        return st;
    if (size)
        memcpy(created->bytes, bytes, size);
    created->size = size;
    *out = &created->base;
    return HMATH_OK;
}

bool hm_bool_get(const hm_value *v, bool *out)
{
    if (!hm_value_is(v, HMATH_KIND_BOOL))
        return false;
    *out = ((const scalar *)v)->as.truth;
    return true;
}

bool hm_int_get(const hm_value *v, int64_t *out)
{
    if (!hm_value_is(v, HMATH_KIND_INT))
        return false;
    *out = ((const scalar *)v)->as.integer;
    return true;
}

bool hm_double_get(const hm_value *v, double *out)
{
    if (!hm_value_is(v, HMATH_KIND_DOUBLE))
        return false;
    *out = ((const scalar *)v)->as.number;
    return true;
}

bool hm_string_get(const hm_value *v, const char **bytes, size_t *size)
{
    if (!hm_value_is(v, HMATH_KIND_STRING))
        return false;
    *bytes = ((const string *)v)->bytes;
    *size = ((const string *)v)->size;
    return true;
}
