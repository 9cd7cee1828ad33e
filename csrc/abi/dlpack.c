/* Tensors lent to other libraries and taken from them, by DLPack. */
#include "abi/dlpack.h"

#include <string.h>

#include "abi/edge.h"
#include "hmath_tensor.h"
#include "runtime/alloc.h"
#include "tensor/arrange.h"

/* ------------------------------------------------- out */

/* What is lent: the structure, and what it points to. */
typedef struct lent {
    DLManagedTensor managed;
    const hm_tensor *tensor;
    int64_t shape[HM_MAX_RANK], strides[HM_MAX_RANK];
} lent;

typedef struct lent_versioned {
    DLManagedTensorVersioned managed;
    const hm_tensor *tensor;
    int64_t shape[HM_MAX_RANK], strides[HM_MAX_RANK];
} lent_versioned;

static void delete_lent(DLManagedTensor *self)
{
    hm_release(((lent *)self)->tensor);
    hm_free(self);
}

static void delete_lent_versioned(DLManagedTensorVersioned *self)
{
    hm_release(((lent_versioned *)self)->tensor);
    hm_free(self);
}

static DLTensor describe(const hm_tensor *tensor, int64_t *shape, int64_t *strides)
{
    memcpy(shape, tensor->shape.extent, sizeof tensor->shape.extent);
    hm_shape_strides(&tensor->shape, strides);
    return (DLTensor){
        .data = hm_tensor_elements(tensor),
        .device = {.device_type = DL_CPU},
        .ndim = tensor->shape.rank,
        .dtype = {.code = DL_FLOAT,
                  .bits = (uint8_t)(8 * hm_tensor_element_size(tensor)),
                  .lanes = 1},
        .shape = shape,
        .strides = strides,
    };
}

static hm_status lend_versioned(hm_context *ctx, const hm_tensor *tensor,
                                DLManagedTensorVersioned **out)
{
    lent_versioned *l = hm_alloc_zeroed(sizeof *l);
    if (!l)
        return hm_fail_memory(ctx);
    l->tensor = hm_retain(tensor);
    l->managed = (DLManagedTensorVersioned){
        .version = {DLPACK_MAJOR, DLPACK_MINOR},
        .deleter = delete_lent_versioned,
        .flags = DL_READ_ONLY,
        .dl_tensor = describe(tensor, l->shape, l->strides),
    };
    *out = &l->managed;
    return HMATH_OK;
}

static hm_status lend_copy(hm_context *ctx, const hm_tensor *tensor, DLManagedTensor **out)
{
    lent *l = hm_alloc_zeroed(sizeof *l);
    if (!l)
        return hm_fail_memory(ctx);
    hm_tensor *copy = NULL;
    hm_status st = hm_tensor_of_kind(ctx, tensor, &tensor->shape, &copy);
    if (st != HMATH_OK) {
        hm_free(l);
        return st;
    }
    memcpy(hm_tensor_elements(copy), hm_tensor_elements(tensor),
           (size_t)tensor->size * hm_tensor_element_size(tensor));
    l->tensor = copy;
    l->managed = (DLManagedTensor){
        .dl_tensor = describe(copy, l->shape, l->strides),
        .deleter = delete_lent,
    };
    *out = &l->managed;
    return HMATH_OK;
}

hmath_status hmath_tensor_to_dlpack_versioned(hmath_context *ctx, const hmath_value *input,
                                              struct DLManagedTensorVersioned **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.to_dlpack", (hm_value **)out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *tensor;
    if ((st = hm_arg_either_tensor(ctx, "input", input, &tensor)) == HMATH_OK)
        st = lend_versioned(ctx, tensor, out);
    return hm_leave(ctx, st);
}

hmath_status hmath_tensor_to_dlpack(hmath_context *ctx, const hmath_value *input,
                                    struct DLManagedTensor **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.to_dlpack", (hm_value **)out);
    if (st != HMATH_OK)
        return st;
    const hm_tensor *tensor;
    if ((st = hm_arg_either_tensor(ctx, "input", input, &tensor)) == HMATH_OK)
        st = lend_copy(ctx, tensor, out);
    return hm_leave(ctx, st);
}

/* ------------------------------------------------- in */

/* What stands in a TypeMismatch for a thing that is no Value. */
static hm_status fail_kind(hm_context *ctx, const char *expected, const char *actual)
{
    return hm_fail_type_text(ctx, "managed", expected, actual);
}

static hm_status check_elements(hm_context *ctx, const DLTensor *dl)
{
    if (dl->device.device_type != DL_CPU)
        return fail_kind(ctx, "tensor in CPU memory", "tensor on another device");
    if (dl->dtype.code != DL_FLOAT || (dl->dtype.bits != 64 && dl->dtype.bits != 32) ||
        dl->dtype.lanes != 1)
        return fail_kind(ctx, "tensor of float64 or float32", "tensor of other elements");
    return HMATH_OK;
}

static bool is_row_major(const DLTensor *dl, const hm_shape *shape, int64_t size)
{
    int64_t stride[HM_MAX_RANK];
    if (!dl->strides || size == 0)
        return true;
    hm_shape_strides(shape, stride);
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->extent[i] != 1 && dl->strides[i] != stride[i])
            return false;
    return true;
}

/* A tensor of its own with the elements that lie at `data` in strides. */
static hm_status copy_strided(hm_context *ctx, const DLTensor *dl, const hm_shape *shape,
                              const char *data, hm_tensor **out)
{
    const size_t element = dl->dtype.bits / 8u;
    hm_status st = element == sizeof(double) ? hm_tensor_create(ctx, shape, out)
                                             : hm_tensor_float_create(ctx, shape, out);
    if (st != HMATH_OK)
        return st;
    hm_move move = {.axes = shape->rank};
    memcpy(move.extent, shape->extent, sizeof move.extent);
    hm_shape_strides(shape, move.to);
    if (dl->strides)
        memcpy(move.from, dl->strides, (size_t)shape->rank * sizeof *move.from);
    else
        hm_shape_strides(shape, move.from);
    hm_move_run(ctx, &move, element, data, hm_tensor_elements(*out));
    return HMATH_OK;
}

/* The same where `data` lies between two elements, so that no pointer to one may point there. */
static hm_status copy_bytes(hm_context *ctx, const DLTensor *dl, const hm_shape *shape,
                            const char *data, hm_tensor **out)
{
    const int64_t element = dl->dtype.bits / 8;
    hm_status st = element == sizeof(double) ? hm_tensor_create(ctx, shape, out)
                                             : hm_tensor_float_create(ctx, shape, out);
    if (st != HMATH_OK)
        return st;
    char *to = hm_tensor_elements(*out);
    int64_t stride[HM_MAX_RANK], position[HM_MAX_RANK] = {0}, from = 0;
    hm_shape_strides(shape, stride);
    if (dl->strides)
        memcpy(stride, dl->strides, (size_t)shape->rank * sizeof *stride);
    for (int64_t i = 0; i < (*out)->size; i++) {
        memcpy(to + i * element, data + from * element, (size_t)element);
        for (int32_t axis = shape->rank - 1; axis >= 0; axis--) { /* the next: count up */
            from += stride[axis];
            if (++position[axis] < shape->extent[axis])
                break;
            from -= stride[axis] * shape->extent[axis];
            position[axis] = 0;
        }
    }
    return HMATH_OK;
}

/*
 * A tensor over, or of a copy of, what is lent. *adopted tells which: an adopted one calls
 * release(user) in the end.
 */
static hm_status take(hm_context *ctx, const DLTensor *dl, void (*release)(void *), void *user,
                      bool *adopted, hm_tensor **out)
{
    hm_shape shape;
    int64_t size;
    hm_status st = check_elements(ctx, dl);
    if (st != HMATH_OK)
        return st;
    if (dl->ndim > 0 && !dl->shape)
        return hm_fail_argument(ctx, "managed", "has no shape");
    if ((st = hm_shape_from_extents(ctx, "managed.shape", dl->ndim, dl->shape, &shape)) != HMATH_OK)
        return st;
    if (!hm_shape_size(&shape, &size))
        return hm_fail_memory(ctx);
    if (size > 0 && !dl->data)
        return hm_fail_argument(ctx, "managed", "has no data");

    char *data = dl->data ? (char *)dl->data + dl->byte_offset : NULL;
    const size_t element = dl->dtype.bits / 8u;
    const bool aligned = (uintptr_t)data % element == 0;
    *adopted = aligned && is_row_major(dl, &shape, size);
    if (!aligned)
        return copy_bytes(ctx, dl, &shape, data, out);
    if (!*adopted)
        return copy_strided(ctx, dl, &shape, data, out);
    return element == sizeof(double)
               ? hm_tensor_adopt(ctx, &shape, (double *)(void *)data, release, user, out)
               : hm_tensor_float_adopt(ctx, &shape, (float *)(void *)data, release, user, out);
}

static void release_managed(void *user)
{
    DLManagedTensor *managed = user;
    if (managed->deleter)
        managed->deleter(managed);
}

static void release_managed_versioned(void *user)
{
    DLManagedTensorVersioned *managed = user;
    if (managed->deleter)
        managed->deleter(managed);
}

hmath_status hmath_tensor_from_dlpack_versioned(hmath_context *ctx,
                                                struct DLManagedTensorVersioned *managed,
                                                hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.from_dlpack", out);
    if (st != HMATH_OK)
        return st;
    if (!managed)
        return hm_leave(ctx, hm_fail_argument(ctx, "managed", "is null"));
    if (managed->version.major != DLPACK_MAJOR)
        return hm_leave(ctx,
                        hm_fail_argument(ctx, "managed", "is of another major version of DLPack"));
    hm_tensor *tensor = NULL;
    bool adopted = false;
    st = take(ctx, &managed->dl_tensor, release_managed_versioned, managed, &adopted, &tensor);
    if (st == HMATH_OK) {
        if (!adopted)
            release_managed_versioned(managed);
        *out = &tensor->base;
    }
    return hm_leave(ctx, st);
}

hmath_status hmath_tensor_from_dlpack(hmath_context *ctx, struct DLManagedTensor *managed,
                                      hmath_value **out)
{
    hm_status st = hm_edge_enter(ctx, "tensor.from_dlpack", out);
    if (st != HMATH_OK)
        return st;
    if (!managed)
        return hm_leave(ctx, hm_fail_argument(ctx, "managed", "is null"));
    hm_tensor *tensor = NULL;
    bool adopted = false;
    st = take(ctx, &managed->dl_tensor, release_managed, managed, &adopted, &tensor);
    if (st == HMATH_OK) {
        if (!adopted)
            release_managed(managed);
        *out = &tensor->base;
    }
    return hm_leave(ctx, st);
}
