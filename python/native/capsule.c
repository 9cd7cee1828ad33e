/* DLPack's structures travel between Python libraries in capsules, whose name says what is inside. */
#include "native.h"

#include "abi/dlpack.h"

static const char *capsule_name(int versioned)
{
    return versioned ? "dltensor_versioned" : "dltensor";
}

static const char *used_capsule_name(int versioned)
{
    return versioned ? "used_dltensor_versioned" : "used_dltensor";
}

static void delete (void *managed, int versioned)
{
    if (versioned)
        ((DLManagedTensorVersioned *)managed)->deleter(managed);
    else
        ((DLManagedTensor *)managed)->deleter(managed);
}

/* A capsule that nobody took still owns its structure. */
static void destroy_capsule(PyObject *capsule)
{
    for (int versioned = 0; versioned < 2; versioned++)
        if (PyCapsule_IsValid(capsule, capsule_name(versioned)))
            delete (PyCapsule_GetPointer(capsule, capsule_name(versioned)), versioned);
}

/* capsule(address, versioned): a capsule that owns the structure there. */
PyObject *native_capsule(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    void *managed = count == 2 ? PyLong_AsVoidPtr(arguments[0]) : NULL;
    if (!managed)
        return PyErr_Occurred() ? NULL
                                : PyErr_Format(PyExc_TypeError, "capsule(address, versioned)");
    const int versioned = arguments[1] == Py_True;
    PyObject *capsule = PyCapsule_New(managed, capsule_name(versioned), destroy_capsule);
    if (!capsule)
        delete (managed, versioned);
    return capsule;
}

/*
 * take(capsule, versioned): the address of the structure, which is no longer the capsule's; 0 where it is none of
 * that version or was taken. Several threads may have the capsule: the first that comes takes the structure, and
 * it comes under the GIL.
 */
PyObject *native_take(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "take(capsule, versioned)");
    const int versioned = arguments[1] == Py_True;
    const char *name = capsule_name(versioned);
    void *managed =
        PyCapsule_IsValid(arguments[0], name) ? PyCapsule_GetPointer(arguments[0], name) : NULL;
    if (managed && PyCapsule_SetName(arguments[0], used_capsule_name(versioned)) != 0)
        return NULL;
    return PyLong_FromVoidPtr(managed);
}

/* give_back(capsule, versioned): what was taken is the capsule's again. */
PyObject *native_give_back(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    (void)module;
    const int versioned = count == 2 && arguments[1] == Py_True;
    if (count != 2 || !PyCapsule_IsValid(arguments[0], used_capsule_name(versioned)))
        return PyErr_Format(PyExc_TypeError, "give_back(capsule, versioned)");
    if (PyCapsule_SetName(arguments[0], capsule_name(versioned)) != 0)
        return NULL;
    Py_RETURN_NONE;
}
