/* What the Python package sees of the library: the public headers, read with -DHMATH_CDEF, and the
 * bridge. */
#include "hmath_deeplearning.h"

#include "_bridge.h"

/* Callbacks of custom graph nodes, defined in autodiff/_custom.py. `user` is a number that names a pair of
 * functions. The library calls the last one through bridge_custom_gone. */
extern "Python" {
hmath_status hmath_python_forward(hmath_context *ctx, void *user, const hmath_value *const *inputs,
                                  size_t n, hmath_value **out);
hmath_status hmath_python_reverse(hmath_context *ctx, void *user, const hmath_value *const *inputs,
                                  size_t n, const hmath_value *adjoint,
                                  hmath_value **cotangents_tuple);
}
extern "Python+C" {
void hmath_python_destroy(void *user);
}
