#pragma once

#include <drift/params.h>
#include <drift/pure.h>

#include <vector>

namespace drift {

/// What a component declares. @throws Error naming the parameter if its type is unknown.
std::vector<Parameter> declared_parameters(const DriftComponent& component);

/// The values of parameters in the order of their declaration, as a plugin reads them. They point into `params`.
class PureValues {
 public:
  PureValues(const std::vector<Parameter>& specs, const Parameters& params);
  const DriftValue* data() const { return values_.data(); }

 private:
  DriftValue value_of(const Parameter::Value& value);

  std::vector<std::vector<DriftText>> texts_;  ///< of lists
  std::vector<DriftValue> values_;
};

}  // namespace drift
