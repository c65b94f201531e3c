#pragma once

// Each kind of component of drift/pure.h as the core knows it: an object that turns tensors and texts into arrays,
// calls the plugin's function, and turns what it gave back into tensors and texts.

#include <core/plugin/host_call.h>

#include <drift/component.h>
#include <drift/params.h>
#include <drift/pure.h>
#include <drift/registry.h>

#include <memory>
#include <string>

namespace drift {

/// What a plugin registered under one name, but for the functions of its kind.
struct PureKind {
  std::string name;
  std::vector<Parameter> params;
  void* data = nullptr;
  decltype(DriftComponent::create) create = nullptr;
  decltype(DriftComponent::destroy) destroy = nullptr;
};

/// A component's own data, made by create() and freed by destroy().
class PureObject {
 public:
  /// @throws Error that create() reported.
  PureObject(std::shared_ptr<const PureKind> kind, const ComponentContext& context);
  PureObject(const PureObject&) = delete;
  PureObject& operator=(const PureObject&) = delete;
  ~PureObject();

  const void* self() const { return self_; }
  Host& host() const { return host_; }

 private:
  std::shared_ptr<const PureKind> kind_;
  Host& host_;
  void* self_ = nullptr;
};

std::unique_ptr<Component> make_pure(std::shared_ptr<const PureKind> kind, const ComponentContext& context,
                                     const DriftLoss& functions);
std::unique_ptr<Component> make_pure(std::shared_ptr<const PureKind> kind, const ComponentContext& context,
                                     const DriftMaskingStrategy& functions);
std::unique_ptr<Component> make_pure(std::shared_ptr<const PureKind> kind, const ComponentContext& context,
                                     const DriftReward& functions);
std::unique_ptr<Component> make_pure(std::shared_ptr<const PureKind> kind, const ComponentContext& context,
                                     const DriftTask& functions);

}  // namespace drift
