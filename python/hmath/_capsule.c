/*
 * DLPack's structures travel between Python libraries in capsules. cffi knows no Python objects, so
 * that they come here as addresses, id(object), which the caller keeps alive. These functions are
 * called without the GIL and take it.
 */
#include <Python.h>

#include "abi/dlpack.h"
#include "hmath_deeplearning.h"

#include "_bridge.h"

static const char *capsule_name(int versioned)
{
    return versioned ? "dltensor_versioned" : "dltensor";
}

/* A capsule that nobody took still owns its structure. */
static void destroy_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        managed->deleter(managed);
    } else if (PyCapsule_IsValid(capsule, "dltensor")) {
        DLManagedTensor *managed = PyCapsule_GetPointer(capsule, "dltensor");
        managed->deleter(managed);
    }
}

int bridge_capsule_append(uintptr_t list, void *managed, int versioned)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *capsule = PyCapsule_New(managed, capsule_name(versioned), destroy_capsule);
    const int failed = !capsule || PyList_Append((PyObject *)list, capsule) != 0;
    if (!capsule)
        versioned ? ((DLManagedTensorVersioned *)managed)->deleter(managed)
                  : ((DLManagedTensor *)managed)->deleter(managed);
    Py_XDECREF(capsule);
    if (failed)
        PyErr_Clear(); /* the caller raises MemoryError */
    PyGILState_Release(state);
    return failed;
}

void *bridge_capsule_pointer(uintptr_t capsule, int versioned)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    void *managed = PyCapsule_IsValid((PyObject *)capsule, capsule_name(versioned))
                        ? PyCapsule_GetPointer((PyObject *)capsule, capsule_name(versioned))
                        : NULL;
    PyGILState_Release(state);
    return managed;
}

void bridge_capsule_taken(uintptr_t capsule, int versioned)
{
    const PyGILState_STATE state = PyGILState_Ensure();
    if (PyCapsule_SetName((PyObject *)capsule,
                          versioned ? "used_dltensor_versioned" : "used_dltensor") != 0)
        PyErr_Clear(); /* only an object that is no capsule fails, and this one was one */
    PyGILState_Release(state);
}
