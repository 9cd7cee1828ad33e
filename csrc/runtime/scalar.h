/* Values of kinds Bool, Int, Double and String. Readers return false where v is of another kind. */
#ifndef HM_SCALAR_H
#define HM_SCALAR_H

#include "runtime/value.h"

hm_status hm_bool_create(hm_context *ctx, bool x, hm_value **out);
hm_status hm_int_create(hm_context *ctx, int64_t x, hm_value **out);
hm_status hm_double_create(hm_context *ctx, double x, hm_value **out);
hm_status hm_string_create(hm_context *ctx, const char *bytes, size_t size, hm_value **out);

bool hm_bool_get(const hm_value *v, bool *out);
bool hm_int_get(const hm_value *v, int64_t *out);
bool hm_double_get(const hm_value *v, double *out);
bool hm_string_get(const hm_value *v, const char **bytes, size_t *size);

#endif
