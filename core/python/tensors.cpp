#include "tensors.h"

#include <drift/abi.h>
#include <drift/error.h>

#include <dlfcn.h>

namespace drift::python {
namespace {

using Wrap = PyObject* (*)(const at::TensorBase&);

/// THPVariable_Wrap of the torch that Python has imported.
Wrap find_wrap() {
  void* library = ::dlopen("libtorch_python.so", RTLD_NOW | RTLD_NOLOAD);
  void* found = library == nullptr ? nullptr : ::dlsym(library, "_Z16THPVariable_WrapRKN2at10TensorBaseE");
  if (found == nullptr)
    throw Error("the package torch of Python has no function to share tensors",
                "install it again: torch==" TORCH_VERSION);
  return reinterpret_cast<Wrap>(found);
}

}  // namespace

Object wrapped(const at::Tensor& tensor) {
  if (!tensor.defined()) return none();
  static const Wrap wrap = find_wrap();
  return Object::made(wrap(tensor));
}

at::Tensor unwrapped(const Object& object) {
  if (object.is_none()) return {};
  void* pointer = api.PyLong_AsVoidPtr(object.attribute("_cdata").get());
  if (pointer == nullptr) throw_raised();
  return at::Tensor(
      c10::intrusive_ptr<at::TensorImpl, at::UndefinedTensorImpl>::reclaim_copy(static_cast<at::TensorImpl*>(pointer)));
}

}  // namespace drift::python
