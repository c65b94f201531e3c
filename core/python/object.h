#pragma once

// Python objects, calls and errors. All of it needs the interpreter's lock: a Gil in the same or an outer scope.

#include "c_api.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drift::python {

/// The interpreter's lock while it lives, on any thread. Starts the interpreter if need be. @throws Error
class Gil {
 public:
  Gil();
  ~Gil() { api.PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  int state_;
};

/// A counted reference.
class Object {
 public:
  Object() = default;
  /// Takes over a new reference. @throws Error with what Python raised, if there is none
  static Object made(PyObject* reference);
  static Object shared(PyObject* borrowed);
  Object(const Object& other) : Object(shared(other.pointer_)) {}
  Object(Object&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Object() {
    if (pointer_ != nullptr) api.Py_DecRef(pointer_);
  }

  PyObject* get() const { return pointer_; }
  PyObject* release() { return std::exchange(pointer_, nullptr); }
  bool is_none() const { return pointer_ == api.none; }

  Object attribute(const char* name) const;
  std::int64_t size() const;
  Object operator[](std::int64_t item) const;
  std::vector<Object> items() const;

  bool boolean() const;
  std::int64_t integer() const;
  double number() const;
  std::string text() const;

 private:
  PyObject* pointer_ = nullptr;
};

Object none();
Object boolean(bool value);
Object integer(std::int64_t value);
/// Of 64 bits without a sign.
Object bits(std::uint64_t value);
Object number(double value);
/// Bytes that are not UTF-8 become U+FFFD.
Object text(std::string_view value);
Object tuple(std::vector<Object> items);
Object dictionary(const std::vector<std::pair<const char*, Object>>& items);

/// A function of the module `drift._host`. @throws Error with what Python raised, its traceback, file and line
Object call(const char* function, std::vector<Object> arguments);

/// Throw what Python raised. @throws Error for a drift.Error, which says what a user can do; else std::runtime_error
[[noreturn]] void throw_raised();

}  // namespace drift::python
