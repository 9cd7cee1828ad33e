/* Names of what is compiled once per instruction set: HM_K(reduce) is hm_k_reduce_avx2 in the AVX2 build. */
#ifndef HM_ISA_H
#define HM_ISA_H

#ifndef HM_ISA
#error "compiled once per instruction set, with -DHM_ISA=baseline, avx2, avx512 or neon"
#endif

#define HM_PASTE_(a, b) a##_##b
#define HM_PASTE(a, b) HM_PASTE_(a, b)
#define HM_K(name) HM_PASTE(hm_k_##name, HM_ISA)
#define HM_TABLE HM_PASTE(hm_kernels, HM_ISA)
#define HM_STRING_(x) #x
#define HM_STRING(x) HM_STRING_(x)

#endif
