/* What the Python package sees of the library: the public headers, read with -DHMATH_CDEF, and the
 * bridge. */
#include "hmath_deeplearning.h"

#include "_bridge.h"
