#include "kernels/cpu.h"

#include <pthread.h>
#include <unistd.h>

/* Asked for once: an old sysconf asks the processor, which a virtual machine answers slowly. */
static hm_cpu_caches caches;
static pthread_once_t caches_known = PTHREAD_ONCE_INIT;

static int64_t size_of(int name)
{
    const long bytes = sysconf(name);
    return bytes > 0 ? bytes : 0;
}

static void ask_for_caches(void)
{
    caches.first = size_of(_SC_LEVEL1_DCACHE_SIZE);
    caches.second = size_of(_SC_LEVEL2_CACHE_SIZE);
}

hm_cpu_caches hm_cpu_own_caches(void)
{
    pthread_once(&caches_known, ask_for_caches);
    return caches;
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <sys/syscall.h>

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

/*
 * vdpbf16ps of 512 bits makes 32 multiply-adds, vfmadd231ps 16. AMD's processors issue one of either in a cycle;
 * Intel's two of the latter, and one of the former in two cycles.
 */
bool hm_cpu_has_quick_bf16(void) { return hm_cpu_has_avx512_bf16() && !__builtin_cpu_is("intel"); }

/* AVX-VNNI (leaf 7, subleaf 1, EAX bit 4) has no name in GCC 12's __builtin_cpu_supports. */
bool hm_cpu_has_avx_vnni(void)
{
    unsigned a, b, c, d;
    return hm_cpu_has_avx2() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 4 & 1);
}

bool hm_cpu_has_two_wide_fma(void) { return hm_cpu_has_avx512() && __builtin_cpu_is("intel"); }

/* Registers whose contents the system saves, a bit each, as XGETBV tells where OSXSAVE says that it may. */
static unsigned saved_registers(void)
{
    enum { OSXSAVE = 1 << 27 };
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE))
        return 0;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return a;
}

/* AMX-TILE and AMX-INT8: leaf 7, EDX bits 24 and 25. Their registers are 17 (shapes) and 18 (data). */
bool hm_cpu_has_amx_int8(void)
{
    enum { TILES = 3 << 24, STATE = 3 << 17 };
    unsigned a, b, c, d;
    return hm_cpu_has_avx512_vnni() && __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
           (d & TILES) == TILES && (saved_registers() & STATE) == STATE;
}

/*
 * Linux gives the 8 KiB of tile data to processes that ask. It refuses where a thread has an alternate
 * signal stack too small for them; afterwards it refuses such stacks. So nobody asks who has no use for it.
 */
static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool granted;

static void ask(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    granted = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

bool hm_cpu_grants_tiles(void)
{
    pthread_once(&asked, ask);
    return granted;
}

#else

bool hm_cpu_has_amx_int8(void) { return false; }

bool hm_cpu_grants_tiles(void) { return false; }

bool hm_cpu_has_avx2(void) { return false; }

bool hm_cpu_has_avx512(void) { return false; }

bool hm_cpu_has_avx512_vnni(void) { return false; }

bool hm_cpu_has_avx512_bf16(void) { return false; }

bool hm_cpu_has_quick_bf16(void) { return false; }

bool hm_cpu_has_avx_vnni(void) { return false; }

bool hm_cpu_has_two_wide_fma(void) { return false; }

#endif
