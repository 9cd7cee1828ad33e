/* Arithmetic of extents and counts; nothing here overflows where its operands are extents in
 * memory. */
#ifndef HM_EXTENT_H
#define HM_EXTENT_H

#include <stdint.h>

static inline int64_t hm_least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t hm_most(int64_t a, int64_t b) { return a > b ? a : b; }

static inline int64_t hm_ceiling(int64_t n, int64_t divisor) { return (n + divisor - 1) / divisor; }

static inline int64_t hm_round_up(int64_t n, int64_t multiple)
{
    return hm_ceiling(n, multiple) * multiple;
}

#endif
