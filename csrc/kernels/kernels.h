/*
 * The kernel table: every inner loop of the library, once per instruction set.
 *
 * A kernel sees pointers and counts only. It never allocates, never fails, never asks which instruction
 * set it is on and touches no global state. Each family has a header of its own that states each slot's
 * contract (aliasing, alignment, n = 0, NaN); per_isa/FAMILY.c defines the family's struct under the
 * name HM_K(FAMILY), and per_isa/table.c gathers the families. All tables give the same bits.
 */
#ifndef HM_KERNELS_H
#define HM_KERNELS_H

#include <stdint.h>

/* families, alphabetically: one include and one member each */
#include "kernels/attention.h"
#include "kernels/arithmetic.h"
#include "kernels/contract.h"
#include "kernels/elementwise.h"
#include "kernels/int8.h"
#include "kernels/ctc.h"
#include "kernels/loss.h"
#include "kernels/norm.h"
#include "kernels/pool.h"
#include "kernels/quantize.h"
#include "kernels/arrange.h"
#include "kernels/conv.h"
#include "kernels/random.h"
#include "kernels/reduce.h"
#include "kernels/reduced.h"
#include "kernels/softmax.h"

/*
 * To be read into the caches before it is overwritten costs a result as much as to be written. One of so many
 * elements goes past them, where a kernel can be told to: with what it is made from it fills a third-level cache
 * of 32 MB, and whoever reads it finds little of it there (1.6M elements, Zen 3, a pass: 1.6 to 1.8 ms, past the
 * caches 1.0 to 1.2; with one that reads the result behind it 2.3 to 2.7 and 2.0 to 2.2. Of 1M elements the two
 * together take as long, of fewer longer).
 */
enum { HM_LASTING = 3 << 19 };

typedef struct hm_kernels {
    int32_t isa; /* HMATH_ISA_... */
    const char *name;
    const hm_attention_kernels *attention;
    const hm_arithmetic_kernels *arithmetic;
    const hm_contract_kernels *contract;
    const hm_elementwise_kernels *elementwise;
    const hm_int8_kernels *int8;
    const hm_int8_kernels *int8_matrix; /* in matrix registers, where they are granted, or NULL */
    const hm_ctc_kernels *ctc;
    const hm_loss_kernels *loss;
    const hm_norm_kernels *norm;
    const hm_pool_kernels *pool;
    const hm_quantize_kernels *quantize;
    const hm_arrange_kernels *arrange;
    const hm_conv_kernels *conv;
    const hm_random_kernels *random;
    const hm_reduce_kernels *reduce;
    const hm_reduced_kernels *reduced;
    const hm_reduced_kernels *reduced_pairs; /* for moderate operands in BF16, or NULL */
    const hm_softmax_kernels *softmax;
} hm_kernels;

/* The table for HMATH_ISA_..., or NULL where this processor or this build does not have it. */
const hm_kernels *hm_kernels_for(int32_t isa);

/* The best table this processor can run, capped by HMATH_ISA=baseline|avx2|avx512|neon. */
const hm_kernels *hm_kernels_default(void);

#endif
