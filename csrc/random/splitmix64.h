/* The output function of splitmix64, which also fills the state of xoshiro256**. */
#ifndef HM_SPLITMIX64_H
#define HM_SPLITMIX64_H

#include <stdint.h>

#define HM_SPLITMIX64_GAMMA \
    UINT64_C(0x9e3779b97f4a7c15) /* the odd integer next to 2^64 / golden ratio */

static inline uint64_t hm_splitmix64_mix(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint64_t hm_splitmix64_next(uint64_t *state)
{
    return hm_splitmix64_mix(*state += HM_SPLITMIX64_GAMMA);
}

#endif
