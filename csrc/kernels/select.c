/* The one place where an instruction set is chosen. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "hmath.h"
#include "kernels/cpu.h"
#include "kernels/kernels.h"

#if defined(__x86_64__)
extern const hm_kernels hm_kernels_baseline, hm_kernels_avx2, hm_kernels_avx512;
extern const hm_int8_kernels hm_k_int8_avx2vnni, hm_k_int8_avx512vnni;
#if defined(HM_AMX)
extern const hm_int8_kernels hm_k_int8_amx;
#endif
extern const hm_reduced_kernels hm_k_reduced_avx512bf16;
#elif defined(__aarch64__)
extern const hm_kernels hm_kernels_neon;
#else
extern const hm_kernels hm_kernels_baseline;
#endif

#if defined(__x86_64__)
/* The tables with the products in 8 and 16 bits, and the blocking, that this very processor does best. */
static hm_kernels avx2, avx512;
static hm_contract_kernels avx2_contract, wide_contract;
static pthread_once_t refined = PTHREAD_ONCE_INIT;

/* The products with as much of a left operand in place as half of L2 holds. */
static const hm_contract_kernels *placed(hm_contract_kernels *to, const hm_contract_kernels *from)
{
    *to = *from;
    to->left_in_place = hm_cpu_own_caches().second / 2 / (int64_t)sizeof(double);
    return to;
}

static void refine(void)
{
    avx2 = hm_kernels_avx2;
    avx512 = hm_kernels_avx512;
    avx2.contract = placed(&avx2_contract, hm_kernels_avx2.contract);
    if (hm_cpu_has_two_wide_fma())
        avx512.contract = placed(&wide_contract, hm_kernels_avx512.contract);
    if (hm_cpu_has_avx_vnni())
        avx2.int8 = &hm_k_int8_avx2vnni;
    if (hm_cpu_has_avx512_vnni())
        avx512.int8 = &hm_k_int8_avx512vnni;
#if defined(HM_AMX) /* the compiler knows it */
    if (hm_cpu_has_amx_int8())
        avx512.int8_matrix = &hm_k_int8_amx;
#endif
    if (hm_cpu_has_quick_bf16() && hm_k_reduced_avx512bf16.proved())
        avx512.reduced_pairs = &hm_k_reduced_avx512bf16;
}

static const hm_kernels *refined_table(const hm_kernels *table)
{
    pthread_once(&refined, refine);
    return table;
}
#endif

const hm_kernels *hm_kernels_for(int32_t isa)
{
    switch (isa) {
    case HMATH_ISA_DEFAULT: return hm_kernels_default();
#if defined(__x86_64__)
    case HMATH_ISA_BASELINE: return &hm_kernels_baseline;
    case HMATH_ISA_AVX2: return hm_cpu_has_avx2() ? refined_table(&avx2) : NULL;
    case HMATH_ISA_AVX512: return hm_cpu_has_avx512() ? refined_table(&avx512) : NULL;
#elif defined(__aarch64__)
    case HMATH_ISA_BASELINE: /* NEON is part of every AArch64 */
    case HMATH_ISA_NEON: return &hm_kernels_neon;
#else
    case HMATH_ISA_BASELINE: return &hm_kernels_baseline;
#endif
    default: return NULL;
    }
}

/* From best to plainest. HMATH_ISA caps the choice; a name that is none caps nothing. */
static const struct {
    const char *name;
    int32_t isa;
} preference[] = {
    {"avx512", HMATH_ISA_AVX512},
    {"avx2", HMATH_ISA_AVX2},
    {"neon", HMATH_ISA_NEON},
    {"baseline", HMATH_ISA_BASELINE},
};

enum { PREFERENCES = sizeof preference / sizeof preference[0] };

const hm_kernels *hm_kernels_default(void)
{
    const char *cap = getenv("HMATH_ISA");
    size_t first = 0;
    for (size_t i = 0; cap && i < PREFERENCES; i++)
        if (strcmp(cap, preference[i].name) == 0)
            first = i;
    for (size_t i = first; i < PREFERENCES; i++) {
        const hm_kernels *table = hm_kernels_for(preference[i].isa);
        if (table)
            return table;
    }
    return hm_kernels_for(HMATH_ISA_BASELINE);
}
