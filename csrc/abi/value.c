/* Values at the edge: counting, kinds, scalars. */
#include "abi/edge.h"
#include "runtime/runtime.h"
#include "runtime/scalar.h"

hmath_value *hmath_retain(const hmath_value *v) { return hm_retain(v); }

void hmath_release(hmath_value *v) { hm_release(v); }

int32_t hmath_kind(const hmath_value *v) { return hm_value_alive(v) ? v->class->kind : 0; }

int64_t hmath_live_values(void) { return hm_runtime_live_values(); }

const char *hmath_kind_name(int32_t kind)
{
    switch (kind) {
    case HMATH_KIND_BOOL: return "Bool";
    case HMATH_KIND_INT: return "Int";
    case HMATH_KIND_DOUBLE: return "Double";
    case HMATH_KIND_STRING: return "String";
    case HMATH_KIND_LIST: return "List";
    case HMATH_KIND_TUPLE: return "Tuple";
    case HMATH_KIND_MATH_ERROR: return "MathError";
    case HMATH_KIND_TENSOR_DOUBLE: return "Tensor Double";
    case HMATH_KIND_TENSOR_FLOAT: return "Tensor Float";
    case HMATH_KIND_GENERATOR: return "Generator";
    case HMATH_KIND_RNG: return "RNG";
    case HMATH_KIND_ACTIVATION: return "Activation";
    case HMATH_KIND_LOSS: return "Loss";
    case HMATH_KIND_REDUCTION: return "Reduction";
    case HMATH_KIND_TRAINING: return "Training";
    case HMATH_KIND_BATCH_NORM_STATE: return "BatchNormState";
    case HMATH_KIND_INITIALIZER: return "Initializer";
    case HMATH_KIND_CONV_OPTIONS: return "ConvOptions";
    case HMATH_KIND_POOL_MODE: return "PoolMode";
    case HMATH_KIND_KV_CACHE: return "KVCache";
    case HMATH_KIND_QUANTIZATION: return "Quantization";
    case HMATH_KIND_PRECISION: return "Precision";
    case HMATH_KIND_QUANTIZED_TENSOR: return "QuantizedTensor";
    case HMATH_KIND_LOSS_SCALER: return "LossScaler";
    case HMATH_KIND_AD_EXPR: return "ADExpr";
    case HMATH_KIND_AD_TENSOR: return "ADTensor";
    case HMATH_KIND_DUAL: return "Dual";
    case HMATH_KIND_CLASSIFICATION_METRICS: return "ClassificationMetrics";
    case HMATH_KIND_PROGRAM: return "Program";
    default: return NULL;
    }
}

hmath_status hmath_bool_create(hmath_context *ctx, int x, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "bool_create", out);
    return st != HMATH_OK ? st : hm_leave(ctx, hm_bool_create(ctx, x != 0, out));
}

hmath_status hmath_int_create(hmath_context *ctx, int64_t x, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "int_create", out);
    return st != HMATH_OK ? st : hm_leave(ctx, hm_int_create(ctx, x, out));
}

hmath_status hmath_double_create(hmath_context *ctx, double x, hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "double_create", out);
    return st != HMATH_OK ? st : hm_leave(ctx, hm_double_create(ctx, x, out));
}

hmath_status hmath_string_create(hmath_context *ctx, const char *bytes, size_t size,
                                 hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "string_create", out);
    if (st != HMATH_OK)
        return st;
    if (!bytes && size)
        return hm_leave(ctx, hm_fail_argument(ctx, "bytes", "is null"));
    return hm_leave(ctx, hm_string_create(ctx, bytes, size, out));
}

hmath_status hmath_bool_get(const hmath_value *v, int *out)
{
    bool x;
    if (!out || !hm_bool_get(v, &x))
        return HMATH_BAD_ARGUMENT;
    *out = x;
    return HMATH_OK;
}

hmath_status hmath_int_get(const hmath_value *v, int64_t *out)
{
    return out && hm_int_get(v, out) ? HMATH_OK : HMATH_BAD_ARGUMENT;
}

hmath_status hmath_double_get(const hmath_value *v, double *out)
{
    return out && hm_double_get(v, out) ? HMATH_OK : HMATH_BAD_ARGUMENT;
}

hmath_status hmath_string_get(const hmath_value *v, const char **bytes, size_t *size)
{
    return bytes && size && hm_string_get(v, bytes, size) ? HMATH_OK : HMATH_BAD_ARGUMENT;
}
