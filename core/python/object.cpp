#include "object.h"

#include "interpreter.h"

#include <drift/error.h>

#include <stdexcept>

namespace drift::python {

Gil::Gil() {
  start_interpreter();
  state_ = api.PyGILState_Ensure();
}

Object Object::made(PyObject* reference) {
  if (reference == nullptr) throw_raised();
  Object object;
  object.pointer_ = reference;
  return object;
}

Object Object::shared(PyObject* borrowed) {
  Object object;
  object.pointer_ = borrowed;
  if (borrowed != nullptr) api.Py_IncRef(borrowed);
  return object;
}

Object Object::attribute(const char* name) const { return made(api.PyObject_GetAttrString(pointer_, name)); }

std::int64_t Object::size() const {
  const auto size = api.PySequence_Size(pointer_);
  if (size < 0) throw_raised();
  return size;
}

Object Object::operator[](std::int64_t item) const { return made(api.PySequence_GetItem(pointer_, item)); }

std::vector<Object> Object::items() const {
  std::vector<Object> items;
  for (std::int64_t i = 0; i < size(); ++i) items.push_back((*this)[i]);
  return items;
}

bool Object::boolean() const {
  const int value = api.PyObject_IsTrue(pointer_);
  if (value < 0) throw_raised();
  return value != 0;
}

std::int64_t Object::integer() const {
  const auto value = api.PyLong_AsLongLong(pointer_);
  if (value == -1 && api.PyErr_Occurred() != nullptr) throw_raised();
  return value;
}

double Object::number() const {
  const double value = api.PyFloat_AsDouble(pointer_);
  if (value == -1 && api.PyErr_Occurred() != nullptr) throw_raised();
  return value;
}

std::string Object::text() const {
  const Object encoded = made(api.PyUnicode_AsUTF8String(pointer_));
  char* bytes = nullptr;
  std::ptrdiff_t size = 0;
  if (api.PyBytes_AsStringAndSize(encoded.get(), &bytes, &size) != 0) throw_raised();
  return {bytes, static_cast<std::size_t>(size)};
}

Object none() { return Object::shared(api.none); }
Object boolean(bool value) { return Object::made(api.PyBool_FromLong(value ? 1 : 0)); }
Object integer(std::int64_t value) { return Object::made(api.PyLong_FromLongLong(value)); }
Object bits(std::uint64_t value) { return Object::made(api.PyLong_FromUnsignedLongLong(value)); }
Object number(double value) { return Object::made(api.PyFloat_FromDouble(value)); }

Object text(std::string_view value) {
  return Object::made(api.PyUnicode_DecodeUTF8(value.data(), static_cast<std::ptrdiff_t>(value.size()), "replace"));
}

Object tuple(std::vector<Object> items) {
  Object made = Object::made(api.PyTuple_New(static_cast<std::ptrdiff_t>(items.size())));
  for (std::size_t i = 0; i < items.size(); ++i)
    api.PyTuple_SetItem(made.get(), static_cast<std::ptrdiff_t>(i), items[i].release());
  return made;
}

Object dictionary(const std::vector<std::pair<const char*, Object>>& items) {
  Object made = Object::made(api.PyDict_New());
  for (const auto& [name, value] : items) {
    if (api.PyDict_SetItemString(made.get(), name, value.get()) != 0) throw_raised();
  }
  return made;
}

Object call(const char* function, std::vector<Object> arguments) {
  const Object host = Object::made(api.PyImport_ImportModule("drift._host"));
  const Object callee = host.attribute(function), all = tuple(std::move(arguments));
  return Object::made(api.PyObject_CallObject(callee.get(), all.get()));
}

void throw_raised() {
  static thread_local bool describing = false;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  api.PyErr_Fetch(&type, &value, &traceback);
  api.PyErr_NormalizeException(&type, &value, &traceback);
  if (value != nullptr && traceback != nullptr) api.PyException_SetTraceback(value, traceback);
  const Object raised = Object::shared(value);
  for (PyObject* reference : {type, value, traceback}) {
    if (reference != nullptr) api.Py_DecRef(reference);
  }
  if (describing || raised.get() == nullptr)
    throw Error("Python raised an error that it cannot describe",
                "is the folder share/drift/sdk/python of Drift complete?");
  describing = true;
  std::string what, hint;
  bool is_for_user = true;
  try {
    const Object said = call("describe", {raised});
    what = said[0].text();
    hint = said[1].text();
    is_for_user = said[2].boolean();
  } catch (...) {
    describing = false;
    throw;
  }
  describing = false;
  if (!is_for_user) throw std::runtime_error(what);
  throw Error(what, hint);
}

}  // namespace drift::python
