#pragma once

// A component of a Python file.

#include <drift/registry.h>

#include <core/python/object.h>

#include <cstdint>
#include <vector>

namespace drift::python {

/// The parameter `file`, which every component of the plugin has.
std::vector<Parameter> file_parameter();

/// What the class that `file` names declares. @throws Error
ComponentDeclaration read_declaration(ComponentKind kind, const Parameters& params);

/// The object of that class, made with the run's values.
class Script {
 public:
  /// @throws Error
  Script(ComponentKind kind, const ComponentContext& context);
  ~Script();
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  /// Shared; the caller holds a Gil.
  Object object() const { return object_; }
  /// What the class declares besides its parameters, as numbers: `_facts` of drift/_host.py.
  const std::vector<std::int64_t>& facts() const { return facts_; }

 private:
  Object object_;
  std::vector<std::int64_t> facts_;
};

}  // namespace drift::python
