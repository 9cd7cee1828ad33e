/* Sorting doubles by their bits. */
#ifndef HM_METRICS_SORT_H
#define HM_METRICS_SORT_H

#include <stdint.h>
#include <string.h>

/* A key that orders as the finite number does; both zeros have one key. */
static inline uint64_t hm_sort_key(double x)
{
    uint64_t bits;
    x += 0.0;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (bits >> 63 ? UINT64_MAX : (uint64_t)1 << 63);
}

static inline double hm_sort_value(uint64_t key)
{
    const uint64_t bits = key ^ (key >> 63 ? (uint64_t)1 << 63 : UINT64_MAX);
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Ascending; `room` is another n keys. */
void hm_sort_keys(uint64_t *keys, uint64_t *room, int64_t n);

#endif
