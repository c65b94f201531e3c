#include <core/cli/python/module.h>

#include <drift/export.h>

#include <exception>

namespace drift::python {
namespace {

constexpr const char* kFunction = "drift_rl.function";
constexpr const char* kHeld = "drift_rl.held";

/// (true, result), or (false, what, hint): _core.py raises it, so that the class is that of the package `drift`.
PyObject* call_function(PyObject* self, PyObject* arguments) {
  try {
    const auto* function = static_cast<const ModuleFunction*>(api.PyCapsule_GetPointer(self, kFunction));
    return tuple({boolean(true), function->call(Object::shared(arguments))}).release();
  } catch (const std::exception&) {
    const Error error = describe_exception();
    return tuple({boolean(false), text(error.what()), text(error.hint())}).release();
  }
}

void drop_held(PyObject* capsule) {
  const auto* object = static_cast<std::shared_ptr<void>*>(api.PyCapsule_GetPointer(capsule, kHeld));
  delete object;
}

Parameter::Value value_in(const std::string& type, const Object& value) {
  if (type == "bool") return value.boolean();
  if (type == "int") return value.integer();
  if (type == "float") return value.number();
  if (type == "str") return value.text();
  const auto list = [&](auto element) {
    std::vector<decltype(element(value))> values;
    for (const Object& item : value.items()) values.push_back(element(item));
    return Parameter::Value(std::move(values));
  };
  if (type == "list of int") return list([](const Object& item) { return item.integer(); });
  if (type == "list of float") return list([](const Object& item) { return item.number(); });
  return list([](const Object& item) { return item.text(); });
}

}  // namespace

Object held(std::shared_ptr<void> object) {
  auto* kept = new std::shared_ptr<void>(std::move(object));
  return Object::made(api.PyCapsule_New(kept, kHeld, drop_held));
}

void* holding(const Object& object) {
  void* kept = api.PyCapsule_GetPointer(object.get(), kHeld);
  if (kept == nullptr) throw_raised();
  return static_cast<std::shared_ptr<void>*>(kept)->get();
}

Installed& installed() {
  static Installed all;
  return all;
}

std::map<std::string, Parameter::Value> values_in(const Object& items) {
  std::map<std::string, Parameter::Value> values;
  for (const Object& item : items.items()) values[item[0].text()] = value_in(item[1].text(), item[2]);
  return values;
}

std::vector<ConfigOverride> overrides_in(const Object& items) {
  std::vector<ConfigOverride> overrides;
  for (const auto& [key, value] : values_in(items))
    overrides.push_back({key + "=" + to_toml(value), key, to_toml(value)});
  return overrides;
}

void require_declared(const std::map<std::string, Parameter::Value>& values, const std::vector<Parameter>& declared,
                      const std::string& owner) {
  std::vector<std::string> names;
  for (const Parameter& parameter : declared) names.push_back(parameter.name);
  for (const auto& [name, value] : values) require_known(owner + " has no parameter", name, names, "parameters");
}

ComponentEntry entry_of(ComponentKind kind, const std::string& name,
                        const std::map<std::string, Parameter::Value>& values) {
  const std::string kind_text(kind_name(kind));
  const Registry& registry = installed().plugins->registry;
  ComponentEntry entry = with_declaration(known_component(registry, kind, name, kind_text + " components"), values);
  require_declared(values, entry.params, kind_text + " `" + name + "`");
  return entry;
}

}  // namespace drift::python

/// A dictionary of the functions, for the interpreter of this process, whose lock the caller holds.
extern "C" DRIFT_API drift::python::PyObject* drift_python_functions() {
  using namespace drift::python;
  static MethodDefinition definition = {"call", call_function, kVariableArguments, nullptr};
  static const std::vector<ModuleFunction> functions = [] {
    std::vector<ModuleFunction> all;
    for (const auto& part : {estimator_functions(), checkpoint_functions(), rollout_functions(), reward_functions()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  try {
    load_c_api({});
    std::vector<std::pair<const char*, Object>> made;
    for (const ModuleFunction& function : functions) {
      const Object self = Object::made(api.PyCapsule_New(const_cast<ModuleFunction*>(&function), kFunction, nullptr));
      made.emplace_back(function.name, Object::made(api.PyCFunction_NewEx(&definition, self.get(), nullptr)));
    }
    return dictionary(made).release();
  } catch (const std::exception&) {
    return nullptr;  // Python has no API that this knows
  }
}
