/*
 * A graph that is alive when the interpreter ends goes after Python functions can be called: its
 * custom nodes then have nobody to tell, and nothing is left to free.
 */
#include <Python.h>

#include "hmath_deeplearning.h"

#include "_bridge.h"

void hmath_python_destroy(void *user); /* autodiff/_custom.py */

void bridge_custom_gone(void *user)
{
    if (Py_IsInitialized())
        hmath_python_destroy(user);
}
