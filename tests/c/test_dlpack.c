/* Tensors lent by DLPack and taken from it: what is shared, what is copied, who releases what. */
#include "abi/dlpack.h"
#include "tensors.h"

/* ------------------------------------------------- a lender that counts */

typedef struct lender {
    DLManagedTensor old;
    DLManagedTensorVersioned new;
    int64_t shape[9], strides[9];
    int deleted;
} lender;

static void delete_old(DLManagedTensor *self) { ((lender *)self->manager_ctx)->deleted++; }

static void delete_new(DLManagedTensorVersioned *self) { ((lender *)self->manager_ctx)->deleted++; }

/*
 * Both structures over the same elements. strides NULL: row-major, and the structure says so by
 * NULL.
 */
static void lend(lender *l, void *data, uint8_t bits, int32_t rank, const int64_t *shape,
                 const int64_t *strides)
{
    *l = (lender){.deleted = 0};
    for (int32_t i = 0; i < rank; i++) {
        l->shape[i] = shape[i];
        l->strides[i] = strides ? strides[i] : 0;
    }
    const DLTensor dl = {.data = data,
                         .device = {.device_type = DL_CPU},
                         .ndim = rank,
                         .dtype = {.code = DL_FLOAT, .bits = bits, .lanes = 1},
                         .shape = l->shape,
                         .strides = strides ? l->strides : NULL};
    l->old = (DLManagedTensor){.dl_tensor = dl, .manager_ctx = l, .deleter = delete_old};
    l->new = (DLManagedTensorVersioned){
        .version = {1, 3}, .manager_ctx = l, .deleter = delete_new, .dl_tensor = dl};
}

static double numbers[24];
static float floats[24];

static void fill(void)
{
    for (int i = 0; i < 24; i++)
        floats[i] = (float)(numbers[i] = i + 1);
}

/* ------------------------------------------------- in */

static void test_row_major_is_adopted(void)
{
    lender l;
    hmath_value *v = NULL, *view = NULL;
    for (int versioned = 0; versioned < 2; versioned++)
        for (int kind = 0; kind < 2; kind++)
            for (int spelled = 0; spelled < 2; spelled++) {
                const int64_t shape[] = {2, 3, 4}, strides[] = {12, 4, 1};
                lend(&l, kind ? (void *)floats : (void *)numbers, kind ? 32 : 64, 3, shape,
                     spelled ? strides : NULL);
                CHECK_INT(versioned ? hmath_tensor_from_dlpack_versioned(ctx, &l.new, &v)
                                    : hmath_tensor_from_dlpack(ctx, &l.old, &v),
                          HMATH_OK);
                CHECK(has_shape(v, 3, shape));
                CHECK(kind ? hmath_tensor_float_data(v) == floats
                           : hmath_tensor_data(v) == numbers);
                CHECK_INT(hmath_tensor_reshape(ctx, v, 1, (int64_t[]){24}, &view), HMATH_OK);
                hmath_release(v);
                CHECK_INT(l.deleted, 0);
                hmath_release(view);
                CHECK_INT(l.deleted, 1);
            }
}

/* Strides of axes without a choice mean nothing, and an empty tensor has no order at all. */
static void test_strides_that_do_not_matter(void)
{
    lender l;
    hmath_value *v = NULL;
    lend(&l, numbers, 64, 3, (int64_t[]){1, 24, 1}, (int64_t[]){-7, 1, 99});
    CHECK_INT(hmath_tensor_from_dlpack_versioned(ctx, &l.new, &v), HMATH_OK);
    CHECK(hmath_tensor_data(v) == numbers);
    hmath_release(v);
    CHECK_INT(l.deleted, 1);
    lend(&l, NULL, 64, 2, (int64_t[]){0, 3}, (int64_t[]){5, 7});
    CHECK_INT(hmath_tensor_from_dlpack_versioned(ctx, &l.new, &v), HMATH_OK);
    CHECK_INT(hmath_tensor_size(v), 0);
    hmath_release(v);
    CHECK_INT(l.deleted, 1);
}

/* Transposed, reversed, repeated, every other one: copied, and given back at once. */
static void test_other_layouts_are_copied(void)
{
    const struct {
        int64_t first, rank, shape[2], strides[2];
    } cases[] = {
        {0, 2, {4, 6}, {1, 4}}, {23, 2, {4, 6}, {-6, -1}}, {0, 2, {4, 6}, {0, 1}},
        {0, 2, {3, 4}, {8, 2}}, {5, 1, {9}, {0}},          {22, 1, {11}, {-2}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int kind = 0; kind < 2; kind++) {
            lender l;
            hmath_value *v = NULL;
            lend(&l, kind ? (void *)(floats + cases[c].first) : (void *)(numbers + cases[c].first),
                 kind ? 32 : 64, (int32_t)cases[c].rank, cases[c].shape, cases[c].strides);
            CHECK_INT(hmath_tensor_from_dlpack(ctx, &l.old, &v), HMATH_OK);
            CHECK_INT(l.deleted, 1);
            int64_t position[RANKS] = {0};
            do {
                int64_t place = cases[c].first;
                for (int i = 0; i < cases[c].rank; i++)
                    place += position[i] * cases[c].strides[i];
                CHECK_BITS(value_at(v, place_of((int32_t)cases[c].rank, cases[c].shape, position)),
                           numbers[place]);
            } while (advance((int32_t)cases[c].rank, cases[c].shape, position));
            hmath_release(v);
            CHECK_INT(l.deleted, 1);
        }
}

/* Memory that begins between two elements; it was refused. */
static void test_misaligned_is_copied(void)
{
    const struct {
        int32_t rank;
        int64_t first, shape[3], strides[3];
    } cases[] = {{1, 0, {5}, {1}},
                 {2, 0, {2, 3}, {3, 1}},
                 {2, 0, {3, 2}, {1, 3}},
                 {2, 7, {2, 4}, {-4, -1}},
                 {3, 0, {2, 3, 2}, {6, 2, 1}},
                 {2, 0, {3, 2}, {0, 2}},
                 {3, 1, {2, 1, 3}, {3, 99, 1}},
                 {0, 3, {0}, {0}},
                 {1, 0, {0}, {1}}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int kind = 0; kind < 2; kind++)
            for (int spelled = 0; spelled < 2; spelled++) {
                const size_t size = kind ? sizeof *floats : sizeof *numbers;
                const int64_t start = spelled ? cases[c].first : 0;
                char memory[sizeof numbers + 1];
                lender l;
                hmath_value *v = NULL;
                memcpy(memory + 1, kind ? (void *)floats : (void *)numbers, 24 * size);
                lend(&l, memory, kind ? 32 : 64, cases[c].rank, cases[c].shape,
                     spelled ? cases[c].strides : NULL);
                l.old.dl_tensor.byte_offset = 1 + (uint64_t)start * size;
                CHECK_INT(hmath_tensor_from_dlpack(ctx, &l.old, &v), HMATH_OK);
                CHECK_INT(l.deleted, 1);
                int64_t position[RANKS] = {0}, size_of_all = hmath_tensor_size(v);
                CHECK(has_shape(v, cases[c].rank, cases[c].shape));
                for (int64_t i = 0; i < size_of_all; i++) {
                    int64_t place = start + (spelled ? 0 : i);
                    for (int axis = 0; spelled && axis < cases[c].rank; axis++)
                        place += position[axis] * cases[c].strides[axis];
                    CHECK_BITS(value_at(v, i), numbers[place]);
                    advance(cases[c].rank, cases[c].shape, position);
                }
                hmath_release(v);
                CHECK_INT(l.deleted, 1);
            }
}

static void test_byte_offset_and_no_deleter(void)
{
    lender l;
    hmath_value *v = NULL;
    lend(&l, numbers, 64, 1, (int64_t[]){4}, NULL);
    l.new.dl_tensor.byte_offset = 10 * sizeof(double);
    l.new.deleter = NULL;
    CHECK_INT(hmath_tensor_from_dlpack_versioned(ctx, &l.new, &v), HMATH_OK);
    CHECK_BITS(value_at(v, 0), 11);
    hmath_release(v);
    lend(&l, numbers, 64, 0, NULL, NULL);
    CHECK_INT(hmath_tensor_from_dlpack_versioned(ctx, &l.new, &v), HMATH_OK);
    CHECK_INT(hmath_tensor_rank(v), 0);
    hmath_release(v);
}

/* Whatever is refused stays the caller's. */
static void test_refused(void)
{
    lender l;
    const int64_t shape[] = {2, 3}, nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
#define REFUSED(change, constructor, argument, index) \
    do { \
        lend(&l, numbers, 64, 2, shape, NULL); \
        DLTensor *dl = &l.new.dl_tensor; \
        change; \
        CHECK_FAILS(hmath_tensor_from_dlpack_versioned(ctx, &l.new, &out), constructor, argument, \
                    index); \
        CHECK_INT(l.deleted, 0); \
    } while (0)
    REFUSED(dl->device.device_type = 2, HMATH_TYPE_MISMATCH, "managed", -1);
    REFUSED(dl->dtype.code = 0, HMATH_TYPE_MISMATCH, "managed", -1);
    REFUSED(dl->dtype.bits = 16, HMATH_TYPE_MISMATCH, "managed", -1);
    REFUSED(dl->dtype.lanes = 2, HMATH_TYPE_MISMATCH, "managed", -1);
    REFUSED(dl->shape[1] = -3, HMATH_DOMAIN_ERROR, "managed.shape", 1);
    REFUSED(dl->ndim = -1, HMATH_DIMENSION_MISMATCH, "managed.shape", -1);
    REFUSED((dl->ndim = 9, memcpy(dl->shape, nine, sizeof nine)), HMATH_DIMENSION_MISMATCH,
            "managed.shape", -1);
#undef REFUSED
#define BAD(change) \
    do { \
        lend(&l, numbers, 64, 2, shape, NULL); \
        DLTensor *dl = &l.new.dl_tensor; \
        (void)dl; \
        change; \
        CHECK_BAD(hmath_tensor_from_dlpack_versioned(ctx, &l.new, &out)); \
        CHECK_INT(l.deleted, 0); \
    } while (0)
    BAD(l.new.version.major = 2);
    BAD(dl->data = NULL);
    BAD(dl->shape = NULL);
#undef BAD
    CHECK_BAD(hmath_tensor_from_dlpack_versioned(ctx, NULL, &out));
    CHECK_BAD(hmath_tensor_from_dlpack(ctx, NULL, &out));
    CHECK_BAD(hmath_tensor_from_dlpack(NULL, &l.old, &out));
    hmath_value *huge = NULL;
    lend(&l, numbers, 64, 2, (int64_t[]){INT64_MAX, 2}, NULL);
    CHECK_INT(hmath_tensor_from_dlpack(ctx, &l.old, &huge), HMATH_NO_MEMORY);
    CHECK(huge == NULL && l.deleted == 0);
}

/* ------------------------------------------------- out */

static void test_lent_without_a_copy(void)
{
    const int64_t shape[] = {2, 3, 4};
    for (int kind = 0; kind < 2; kind++) {
        const int64_t before = hmath_live_values();
        hmath_value *v = kind ? counting_floats(3, shape) : counting(3, shape);
        const void *data =
            kind ? (const void *)hmath_tensor_float_data(v) : (const void *)hmath_tensor_data(v);
        struct DLManagedTensorVersioned *lent = NULL;
        CHECK_INT(hmath_tensor_to_dlpack_versioned(ctx, v, &lent), HMATH_OK);
        hmath_release(v); /* the structure keeps it */
        CHECK_INT(hmath_live_values(), before + 1);
        CHECK_INT(lent->version.major, 1);
        CHECK_INT((int64_t)(lent->flags & DL_READ_ONLY), DL_READ_ONLY);
        const DLTensor *dl = &lent->dl_tensor;
        CHECK(dl->data == data && dl->byte_offset == 0);
        CHECK_INT(dl->ndim, 3);
        CHECK(dl->device.device_type == DL_CPU && dl->dtype.code == DL_FLOAT &&
              dl->dtype.lanes == 1);
        CHECK_INT(dl->dtype.bits, kind ? 32 : 64);
        CHECK(memcmp(dl->shape, shape, sizeof shape) == 0);
        CHECK(dl->strides[0] == 12 && dl->strides[1] == 4 && dl->strides[2] == 1);
        lent->deleter(lent);
        CHECK_INT(hmath_live_values(), before);
    }
}

static void test_older_structure_holds_a_copy(void)
{
    const int64_t before = hmath_live_values();
    hmath_value *v = counting(1, (int64_t[]){3});
    struct DLManagedTensor *lent = NULL;
    CHECK_INT(hmath_tensor_to_dlpack(ctx, v, &lent), HMATH_OK);
    double *copy = lent->dl_tensor.data;
    CHECK(copy != hmath_tensor_data(v) && copy[2] == 3);
    copy[2] = 7;
    CHECK_BITS(value_at(v, 2), 3);
    hmath_release(v);
    lent->deleter(lent);
    CHECK_INT(hmath_live_values(), before);
}

/* Out and in again: the same memory, released by the last of the two. */
static void test_round_trip(void)
{
    const int64_t before = hmath_live_values();
    hmath_value *v = counting(2, (int64_t[]){3, 5}), *back = NULL;
    struct DLManagedTensorVersioned *lent = NULL;
    CHECK_INT(hmath_tensor_to_dlpack_versioned(ctx, v, &lent), HMATH_OK);
    CHECK_INT(hmath_tensor_from_dlpack_versioned(ctx, lent, &back), HMATH_OK);
    CHECK(hmath_tensor_data(back) == hmath_tensor_data(v));
    CHECK_INT(hmath_tensor_identical(back, v), 1);
    hmath_release(v);
    CHECK_BITS(value_at(back, 14), 15);
    hmath_release(back);
    CHECK_INT(hmath_live_values(), before);
}

static void test_lending_refused(void)
{
    hmath_value *number = NULL;
    struct DLManagedTensorVersioned *lent = NULL;
    struct DLManagedTensor *old = NULL;
    CHECK_INT(hmath_double_create(ctx, 1.0, &number), HMATH_OK);
    CHECK_INT(hmath_tensor_to_dlpack_versioned(ctx, number, &lent), HMATH_CHECKED);
    CHECK_INT(hmath_last_error(ctx)->constructor, HMATH_TYPE_MISMATCH);
    CHECK_INT(hmath_tensor_to_dlpack(ctx, NULL, &old), HMATH_BAD_ARGUMENT);
    CHECK_INT(hmath_tensor_to_dlpack(ctx, number, NULL), HMATH_BAD_ARGUMENT);
    CHECK(lent == NULL && old == NULL);
    hmath_release(number);
}

/* ------------------------------------------------- memory */

static lender taken;
static const int64_t *taken_strides;

static hmath_status take(hmath_value **out)
{
    lend(&taken, numbers, 64, 2, (int64_t[]){4, 6}, taken_strides);
    hmath_status st = hmath_tensor_from_dlpack_versioned(ctx, &taken.new, out);
    CHECK_INT(taken.deleted, st == HMATH_OK && taken_strides ? 1 : 0);
    return st;
}

static hmath_value *source;

static hmath_status lend_both(hmath_value **out)
{
    struct DLManagedTensorVersioned *lent = NULL;
    struct DLManagedTensor *old = NULL;
    hmath_status st;
    (void)out;
    if ((st = hmath_tensor_to_dlpack_versioned(ctx, source, &lent)) != HMATH_OK)
        return st;
    lent->deleter(lent);
    if ((st = hmath_tensor_to_dlpack(ctx, source, &old)) != HMATH_OK)
        return st;
    old->deleter(old);
    return HMATH_OK;
}

static void test_every_allocation_fails(void)
{
    const int64_t transposed[] = {1, 4};
    taken_strides = NULL;
    check_every_allocation(take);
    taken_strides = transposed;
    check_every_allocation(take);
    source = counting(1, (int64_t[]){5});
    check_every_allocation(lend_both);
    hmath_release(source);
}

int main(void)
{
    if (hmath_context_create(NULL, &ctx) != HMATH_OK)
        return 1;
    fill();
    RUN(test_row_major_is_adopted);
    RUN(test_strides_that_do_not_matter);
    RUN(test_other_layouts_are_copied);
    RUN(test_misaligned_is_copied);
    RUN(test_byte_offset_and_no_deleter);
    RUN(test_refused);
    RUN(test_lent_without_a_copy);
    RUN(test_older_structure_holds_a_copy);
    RUN(test_round_trip);
    RUN(test_lending_refused);
    RUN(test_every_allocation_fails);
    CHECK_INT(hmath_live_values(), 0);
    hmath_context_destroy(ctx);
    return check_report();
}
