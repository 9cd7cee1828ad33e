/* What this processor can run. */
#ifndef HM_CPU_H
#define HM_CPU_H

#include <stdbool.h>
#include <stdint.h>

bool hm_cpu_has_avx2(void);        /* AVX2 and FMA, with the system saving the registers */
bool hm_cpu_has_avx512(void);      /* AVX-512 F, DQ, BW, VL */
bool hm_cpu_has_avx512_vnni(void); /* the above and VNNI */
bool hm_cpu_has_avx512_bf16(void); /* the above and BF16 */
bool hm_cpu_has_quick_bf16(void);  /* the above, quicker than multiply-adds in binary32 */
bool hm_cpu_has_avx_vnni(void);    /* AVX2 with the VEX form of VNNI */
bool hm_cpu_has_amx_int8(void);    /* AVX512-VNNI and AMX with products of bytes */

/* Does the system let this process use the registers of AMX? It is asked at the first call. */
bool hm_cpu_grants_tiles(void);

/* Bytes of the data caches that a core has to itself; 0 where the system does not say. */
typedef struct hm_cpu_caches {
    int64_t first, second;
} hm_cpu_caches;

hm_cpu_caches hm_cpu_own_caches(void);

/* Two units of 512-bit multiply-adds. No bit of CPUID says so; servers of Intel have them. */
bool hm_cpu_has_two_wide_fma(void);

#endif
