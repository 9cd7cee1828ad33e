#ifndef HMATH_AUTODIFF_H
#define HMATH_AUTODIFF_H

#include "hmath_tensor.h"

#if defined(__cplusplus) && !defined(HMATH_CDEF)
extern "C" {
#endif

#if defined(__cplusplus) && !defined(HMATH_CDEF)
}
#endif

#endif
