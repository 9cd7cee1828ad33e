/* What all generators share: the roll-call and copying. */
#include "random/bitgen.h"

#include <string.h>

static const hm_bitgen_kind *const kinds[] = {
    &hm_pcg32, &hm_pcg64, &hm_xoshiro256starstar, &hm_splitmix64, &hm_philox4x32, &hm_mt19937,
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

const hm_bitgen_kind *hm_bitgen_kind_by_number(int32_t number)
{
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i]->number == number)
            return kinds[i];
    return NULL;
}

const hm_bitgen_kind *hm_bitgen_kind_by_name(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
    return NULL;
}

void hm_bitgen_copy(hm_bitgen *to, const hm_bitgen *from)
{
    to->kind = from->kind;
    memcpy(to->state.words, from->state.words, (size_t)from->kind->words * sizeof(uint64_t));
}
