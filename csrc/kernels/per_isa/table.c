/* One table per instruction set; each family defines its own part. */
#include "kernels/kernels.h"
#include "kernels/per_isa/isa.h"
#include "hmath.h"

/* families, alphabetically: extern const hm_FAMILY_kernels HM_K(FAMILY); */
extern const hm_pool_kernels HM_K(pool);
extern const hm_quantize_kernels HM_K(quantize);
extern const hm_elementwise_kernels HM_K(elementwise);
extern const hm_ctc_kernels HM_K(ctc);
extern const hm_loss_kernels HM_K(loss);
extern const hm_norm_kernels HM_K(norm);
extern const hm_arrange_kernels HM_K(arrange);
extern const hm_int8_kernels HM_K(int8);
extern const hm_random_kernels HM_K(random);
extern const hm_reduce_kernels HM_K(reduce);
extern const hm_reduced_kernels HM_K(reduced);
extern const hm_softmax_kernels HM_K(softmax);
extern const hm_attention_kernels HM_K(attention);
extern const hm_arithmetic_kernels HM_K(arithmetic);
extern const hm_contract_kernels HM_K(contract);
extern const hm_conv_kernels HM_K(conv);

#define ISA_NUMBER_baseline HMATH_ISA_BASELINE
#define ISA_NUMBER_avx2 HMATH_ISA_AVX2
#define ISA_NUMBER_avx512 HMATH_ISA_AVX512
#define ISA_NUMBER_neon HMATH_ISA_NEON

extern const hm_kernels HM_TABLE;
const hm_kernels HM_TABLE = {
    .isa = HM_PASTE(ISA_NUMBER, HM_ISA),
    .name = HM_STRING(HM_ISA),
    .pool = &HM_K(pool),
    .quantize = &HM_K(quantize),
    .elementwise = &HM_K(elementwise),
    .ctc = &HM_K(ctc),
    .loss = &HM_K(loss),
    .norm = &HM_K(norm),
    .arrange = &HM_K(arrange),
    .int8 = &HM_K(int8),
    .random = &HM_K(random),
    .reduce = &HM_K(reduce),
    .reduced = &HM_K(reduced),
    .softmax = &HM_K(softmax),
    .attention = &HM_K(attention),
    .arithmetic = &HM_K(arithmetic),
    .contract = &HM_K(contract),
    .conv = &HM_K(conv),
};
