/* Size arithmetic that notices overflow. Each returns false where the exact result does not fit. */
#ifndef HM_CHECKED_H
#define HM_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool hm_add_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool hm_multiply_size(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool hm_add_int(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool hm_subtract_int(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}

static inline bool hm_multiply_int(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Bytes of `count` elements of `size` bytes behind a header of `header` bytes. */
static inline bool hm_bytes(size_t header, size_t count, size_t size, size_t *out)
{
    return hm_multiply_size(count, size, out) && hm_add_size(header, *out, out) &&
           *out <= (size_t)PTRDIFF_MAX;
}

#endif
