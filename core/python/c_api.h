#pragma once

// The functions of CPython that Drift calls, found at run time: nothing is linked with Python, nor needs its headers.
// All belong to the stable ABI of CPython 3.9.

#include <cstddef>
#include <string>

namespace drift::python {

struct PyObject;  // CPython's: only its address is used

using CFunction = PyObject* (*)(PyObject* self, PyObject* arguments);

/// As in CPython's methodobject.h.
struct MethodDefinition {
  const char* name;
  CFunction function;
  int flags;
  const char* doc;
};
inline constexpr int kVariableArguments = 1;  // METH_VARARGS

/// result, name, arguments
#define DRIFT_PYTHON_FUNCTIONS(FUNCTION)                                                \
  FUNCTION(void, Py_SetProgramName, (const wchar_t*))                                   \
  FUNCTION(void, Py_InitializeEx, (int))                                                \
  FUNCTION(void*, PyEval_SaveThread, ())                                                \
  FUNCTION(void, PyEval_RestoreThread, (void*))                                         \
  FUNCTION(int, PyGILState_Ensure, ())                                                  \
  FUNCTION(void, PyGILState_Release, (int))                                             \
  FUNCTION(void, Py_IncRef, (PyObject*))                                                \
  FUNCTION(void, Py_DecRef, (PyObject*))                                                \
  FUNCTION(PyObject*, PyErr_Occurred, ())                                               \
  FUNCTION(void, PyErr_Fetch, (PyObject**, PyObject**, PyObject**))                     \
  FUNCTION(void, PyErr_NormalizeException, (PyObject**, PyObject**, PyObject**))        \
  FUNCTION(void, PyErr_SetString, (PyObject*, const char*))                             \
  FUNCTION(int, PyException_SetTraceback, (PyObject*, PyObject*))                       \
  FUNCTION(PyObject*, PyImport_ImportModule, (const char*))                             \
  FUNCTION(PyObject*, PySys_GetObject, (const char*))                                   \
  FUNCTION(PyObject*, PyObject_GetAttrString, (PyObject*, const char*))                 \
  FUNCTION(PyObject*, PyObject_CallObject, (PyObject*, PyObject*))                      \
  FUNCTION(int, PyObject_IsTrue, (PyObject*))                                           \
  FUNCTION(PyObject*, PySequence_GetItem, (PyObject*, std::ptrdiff_t))                  \
  FUNCTION(std::ptrdiff_t, PySequence_Size, (PyObject*))                                \
  FUNCTION(int, PyList_Insert, (PyObject*, std::ptrdiff_t, PyObject*))                  \
  FUNCTION(PyObject*, PyTuple_New, (std::ptrdiff_t))                                    \
  FUNCTION(int, PyTuple_SetItem, (PyObject*, std::ptrdiff_t, PyObject*))                \
  FUNCTION(PyObject*, PyDict_New, ())                                                   \
  FUNCTION(int, PyDict_SetItemString, (PyObject*, const char*, PyObject*))              \
  FUNCTION(PyObject*, PyBool_FromLong, (long))                                          \
  FUNCTION(PyObject*, PyLong_FromLongLong, (long long))                                 \
  FUNCTION(PyObject*, PyLong_FromUnsignedLongLong, (unsigned long long))                \
  FUNCTION(long long, PyLong_AsLongLong, (PyObject*))                                   \
  FUNCTION(void*, PyLong_AsVoidPtr, (PyObject*))                                        \
  FUNCTION(PyObject*, PyFloat_FromDouble, (double))                                     \
  FUNCTION(double, PyFloat_AsDouble, (PyObject*))                                       \
  FUNCTION(PyObject*, PyUnicode_DecodeUTF8, (const char*, std::ptrdiff_t, const char*)) \
  FUNCTION(PyObject*, PyUnicode_AsUTF8String, (PyObject*))                              \
  FUNCTION(int, PyBytes_AsStringAndSize, (PyObject*, char**, std::ptrdiff_t*))          \
  FUNCTION(PyObject*, PyCapsule_New, (void*, const char*, void (*)(PyObject*)))         \
  FUNCTION(void*, PyCapsule_GetPointer, (PyObject*, const char*))                       \
  FUNCTION(PyObject*, PyCFunction_NewEx, (MethodDefinition*, PyObject*, PyObject*))

struct CApi {
#define DRIFT_MEMBER(result, name, arguments) result(*name) arguments = nullptr;
  DRIFT_PYTHON_FUNCTIONS(DRIFT_MEMBER)
#undef DRIFT_MEMBER
  PyObject* none = nullptr;
  PyObject** value_error = nullptr;
  int (*is_finalizing)() = nullptr;
};

/// Filled before anything of Python is used.
extern CApi api;

/// Load libpython, for the extension modules too that will look for its functions, and fill `api`.
/// @param library  empty: this process has a Python already
/// @throws Error
void load_c_api(const std::string& library);

/// For a thread that does not hold the lock of an interpreter which is ending: it sleeps until the process is over.
/// CPython before 3.14 would end it where it asks for the lock, through frames of C++ that cannot be left so.
void sleep_if_finalizing();

}  // namespace drift::python
