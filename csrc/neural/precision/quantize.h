/*
 * Calibration and coding (Jacob et al., "Quantization and Training of Neural Networks for Efficient
 * Integer-Arithmetic-Only Inference", CVPR 2018).
 *
 * Symmetric:   scale = max|x| / 127, zero = 0, codes in -127 ... 127.
 * Asymmetric:  lo = min(0, min x), hi = max(0, max x), scale = hi/255 - lo/255,
 *              zero = clamp(rne(-128 - lo/scale), -128, 127), codes in -128 ... 127.
 * All zeros:   scale 1, zero 0. A scale that would underflow to 0 is the smallest positive double.
 */
#ifndef HM_QUANTIZE_H
#define HM_QUANTIZE_H

#include "neural/precision/quantized_tensor.h"
#include "tensor/tensor.h"

/* `axis` NULL: one calibration for all. IndexOutOfBounds (axis), EmptyInput, NonFinite (input). */
hm_status hm_quantize(hm_context *ctx, hm_scheme scheme, const int64_t *axis,
                      const hm_tensor *input, hm_quantized **out);

/* scale * (q - zero). Overflow where that is not finite. */
hm_status hm_dequantize(hm_context *ctx, const hm_quantized *quantized, hm_tensor **out);

#endif
