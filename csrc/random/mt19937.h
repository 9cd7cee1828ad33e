/* The key-array seeding of MT19937, which its published test output starts from. */
#ifndef HM_MT19937_H
#define HM_MT19937_H

#include "random/bitgen.h"

void hm_mt19937_seed_by_array(hm_bit_state *s, const uint32_t *keys,
                              size_t length); /* length >= 1 */

#endif
