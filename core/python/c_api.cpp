#include "c_api.h"

#include <drift/error.h>

#include <dlfcn.h>
#include <unistd.h>

namespace drift::python {

CApi api;

namespace {

void* symbol(void* library, const char* name, const std::string& file) {
  void* found = ::dlsym(library, name);
  if (found == nullptr)
    throw Error(file + " has no function " + name, "CPython 3.9 to 3.14 have it: name another one by DRIFT_PYTHON");
  return found;
}

}  // namespace

void load_c_api(const std::string& file) {
  void* library = ::dlopen(file.empty() ? nullptr : file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr)
    throw Error(file + " cannot be loaded: " + ::dlerror(), "name another Python by DRIFT_PYTHON");
#define DRIFT_FIND(result, name, arguments) \
  api.name = reinterpret_cast<decltype(api.name)>(symbol(library, #name, file));
  DRIFT_PYTHON_FUNCTIONS(DRIFT_FIND)
#undef DRIFT_FIND
  api.none = static_cast<PyObject*>(symbol(library, "_Py_NoneStruct", file));
  api.value_error = static_cast<PyObject**>(symbol(library, "PyExc_ValueError", file));
  void* is_finalizing = ::dlsym(library, "Py_IsFinalizing");  // from 3.13 on
  if (is_finalizing == nullptr) is_finalizing = symbol(library, "_Py_IsFinalizing", file);
  api.is_finalizing = reinterpret_cast<int (*)()>(is_finalizing);
}

void sleep_if_finalizing() {
  while (api.is_finalizing() != 0) ::pause();
}

}  // namespace drift::python
