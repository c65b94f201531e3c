#include "script.h"

#include <drift/error.h>

#include <exception>
#include <type_traits>
#include <variant>

namespace drift::python {
namespace {

// ---- declaration ----

template <class T>
std::vector<T> list_of(const Object& list, T (Object::*value)() const) {
  std::vector<T> values;
  for (const Object& item : list.items()) values.push_back((item.*value)());
  return values;
}

AllowedValues range_of(const Object& interval, const Object& choices) {
  AllowedValues range;
  range.minimum = interval[0].number();
  range.maximum = interval[1].number();
  range.minimum_excluded = interval[2].boolean();
  range.maximum_excluded = interval[3].boolean();
  range.allow_infinite = interval[4].boolean();
  range.choices = list_of(choices, &Object::text);
  return range;
}

/// @param declared  as declare() of drift/_host.py gives it
Parameter spec_of(const Object& declared) {
  const std::string name = declared[0].text(), type = declared[1].text(), doc = declared[3].text();
  const Object value = declared[2];
  const AllowedValues range = range_of(declared[4], declared[5]);
  if (type == "bool") return Parameter(name, value.boolean(), doc);
  if (type == "int") return Parameter(name, value.integer(), doc, range);
  if (type == "float") return Parameter(name, value.number(), doc, range);
  if (type == "list of int") return Parameter(name, list_of(value, &Object::integer), doc, range);
  if (type == "list of float") return Parameter(name, list_of(value, &Object::number), doc, range);
  Parameter spec = type == "str" ? Parameter(name, value.text().c_str(), doc, range)
                                 : Parameter(name, list_of(value, &Object::text), doc, range);
  spec.is_path = declared[6].boolean();
  return spec;
}

std::string file_of(const Parameters& params) {
  std::string file = params.get<std::string>("file");
  if (!file.empty()) return file;
  throw Error(call("python_state", {}).text() + "; `file` is not set",
              "file = \"my_file.py:MyClass\"    (docs/sdk.md)");
}

// ---- values ----

Object object_of(bool value) { return boolean(value); }
Object object_of(std::int64_t value) { return integer(value); }
Object object_of(double value) { return number(value); }
Object object_of(const std::string& value) { return text(value); }
template <class T>
Object object_of(const std::vector<T>& values) {
  std::vector<Object> items;
  for (const T& value : values) items.push_back(object_of(value));
  return tuple(std::move(items));
}

Object values_of(const Parameters& params) {
  std::vector<std::pair<const char*, Object>> values;
  for (const auto& [name, value] : params.values()) {
    if (name != "file")
      values.emplace_back(name.c_str(), std::visit([](const auto& typed) { return object_of(typed); }, value));
  }
  return dictionary(values);
}

// ---- what a component may ask of its host ----

constexpr const char* kHost = "drift.host";

Host& host_of(PyObject* self) { return *static_cast<Host*>(api.PyCapsule_GetPointer(self, kHost)); }

/// body(host, arguments); what C++ throws is raised in Python.
template <class Body>
PyObject* answer(PyObject* self, PyObject* arguments, const Body& body) {
  try {
    const Object given = Object::shared(arguments);
    return body(host_of(self), given).release();
  } catch (const std::exception& error) {
    api.PyErr_SetString(*api.value_error, error.what());
    return nullptr;
  }
}

PyObject* log(PyObject* self, PyObject* arguments) {
  return answer(self, arguments, [](Host& host, const Object& given) {
    host.log(LogLevel::kInfo, given[0].text());
    return none();
  });
}

PyObject* warn_once(PyObject* self, PyObject* arguments) {
  return answer(self, arguments, [](Host& host, const Object& given) {
    host.warn_once(given[0].text());
    return none();
  });
}

PyObject* metric(PyObject* self, PyObject* arguments) {
  return answer(self, arguments, [](Host& host, const Object& given) {
    host.metric(given[0].text(), given[1].number(), given[2].number());
    return none();
  });
}

PyObject* random_key(PyObject* self, PyObject* arguments) {
  return answer(self, arguments,
                [](Host& host, const Object& given) { return bits(host.random(given[0].text()).key()); });
}

Object functions_of(Host& host) {
  static MethodDefinition methods[] = {{"log", log, kVariableArguments, nullptr},
                                       {"warn_once", warn_once, kVariableArguments, nullptr},
                                       {"metric", metric, kVariableArguments, nullptr},
                                       {"random_key", random_key, kVariableArguments, nullptr}};
  const Object self = Object::made(api.PyCapsule_New(&host, kHost, nullptr));
  std::vector<Object> functions;
  for (MethodDefinition& method : methods)
    functions.push_back(Object::made(api.PyCFunction_NewEx(&method, self.get(), nullptr)));
  return tuple(std::move(functions));
}

}  // namespace

std::vector<Parameter> file_parameter() {
  return {path("file", "", "the Python file and its class, as in \"my_file.py:MyClass\"")};
}

ComponentDeclaration read_declaration(ComponentKind kind, const Parameters& params) {
  const Gil gil;
  try {
    const Object declared = call("declare", {text(kind_name(kind)), text(file_of(params))});
    ComponentDeclaration declaration;
    declaration.doc = declared[0].text();
    for (const Object& parameter : declared[1].items()) declaration.params.push_back(spec_of(parameter));
    return declaration;
  } catch (const Error&) {
    throw;
  } catch (const std::exception& raised) {  // by the file, whose mistakes are those of the setting that names it
    throw Error(raised.what());
  }
}

Script::Script(ComponentKind kind, const ComponentContext& context) {
  const Gil gil;
  const Object made = call("create", {text(kind_name(kind)), text(file_of(*context.params)), values_of(*context.params),
                                      functions_of(*context.host)});
  facts_ = list_of(made[1], &Object::integer);
  object_ = made[0];  // last: if anything throws, nothing is left to drop without the lock
}

Script::~Script() {
  const Gil gil;
  object_ = Object();
}

}  // namespace drift::python
