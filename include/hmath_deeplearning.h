#ifndef HMATH_DEEPLEARNING_H
#define HMATH_DEEPLEARNING_H

#include "hmath.h"
#include "hmath_autodiff.h"
#include "hmath_random.h"
#include "hmath_tensor.h"

#if defined(__cplusplus) && !defined(HMATH_CDEF)
extern "C" {
#endif

#if defined(__cplusplus) && !defined(HMATH_CDEF)
}
#endif

#endif
