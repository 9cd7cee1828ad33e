#include "kernels/cpu.h"

#if defined(__x86_64__)

#include <cpuid.h>

/* __builtin_cpu_supports checks the processor's bit and that the system saves the registers. */
bool hm_cpu_has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

bool hm_cpu_has_avx512(void)
{
    return hm_cpu_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

bool hm_cpu_has_avx512_vnni(void)
{
    return hm_cpu_has_avx512() && __builtin_cpu_supports("avx512vnni");
}

/* AVX512-BF16 (leaf 7, subleaf 1, EAX bit 5), likewise AVX-VNNI below: no names in all compilers. */
bool hm_cpu_has_avx512_bf16(void)
{
    unsigned a, b, c, d;
    return hm_cpu_has_avx512_vnni() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
}

/* AVX-VNNI (leaf 7, subleaf 1, EAX bit 4) has no name in GCC 12's __builtin_cpu_supports. */
bool hm_cpu_has_avx_vnni(void)
{
    unsigned a, b, c, d;
    return hm_cpu_has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}

#else

bool hm_cpu_has_avx2(void) { return false; }

bool hm_cpu_has_avx512(void) { return false; }

bool hm_cpu_has_avx512_vnni(void) { return false; }

bool hm_cpu_has_avx512_bf16(void) { return false; }

bool hm_cpu_has_avx_vnni(void) { return false; }

#endif
