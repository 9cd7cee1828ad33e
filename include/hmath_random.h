#ifndef HMATH_RANDOM_H
#define HMATH_RANDOM_H

#include "hmath.h"

#if defined(__cplusplus) && !defined(HMATH_CDEF)
extern "C" {
#endif

#if defined(__cplusplus) && !defined(HMATH_CDEF)
}
#endif

#endif
