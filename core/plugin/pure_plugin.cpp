#include <core/plugin/pure_plugin.h>

#include <core/plugin/pure_component.h>
#include <core/plugin/pure_parameters.h>

#include <exception>
#include <initializer_list>
#include <utility>

namespace drift {
namespace {

/// The registry that a plugin sees while it registers.
struct Registration final : DriftRegistry {
  explicit Registration(Registry& registry);
  void fail(Error error) {
    if (!failure) failure = std::move(error);
  }

  Registry& registry;
  std::optional<Error> failure;
};

void require(bool is_there, const std::string& component, const char* function) {
  if (!is_there)
    throw Error("`" + component + "` has no function `" + function + "`", "drift/pure.h says which a component needs");
}

void require_functions(const std::string& name, const DriftLoss& loss) {
  require(loss.coupling != nullptr, name, "coupling");
  require(loss.evaluate != nullptr, name, "evaluate");
}
void require_functions(const std::string& name, const DriftMaskingStrategy& strategy) {
  require(strategy.plan != nullptr, name, "plan");
}
void require_functions(const std::string& name, const DriftReward& reward) {
  require(reward.score != nullptr, name, "score");
}
void require_functions(const std::string& name, const DriftTask& task) {
  require(task.training_item != nullptr, name, "training_item");
  require(task.held_out_size != nullptr, name, "held_out_size");
  require(task.held_out_item != nullptr, name, "held_out_item");
}

template <class Functions>
void add_kind(Registry& registry, ComponentKind number, const char* what, const DriftComponent& component,
              const Functions* given) {
  if (given == nullptr) return;
  auto kind = std::make_shared<PureKind>(PureKind{std::string(view_of(component.name)), declared_parameters(component),
                                                  component.data, component.create, component.destroy});
  const Functions functions = as_known(given, what);
  require_functions(kind->name, functions);
  registry.add(number, kind->name, view_of(component.doc), kind->params,
               [kind, functions](const ComponentContext& context) { return make_pure(kind, context, functions); });
}

void add_component(Registry& registry, const DriftComponent& component) {
  int kinds = 0;
  for (const bool is_set : {component.loss != nullptr, component.masking_strategy != nullptr,
                            component.reward != nullptr, component.task != nullptr})
    kinds += is_set ? 1 : 0;
  if (kinds != 1)
    throw Error("component `" + std::string(view_of(component.name)) + "` is of " + std::to_string(kinds) + " kinds",
                "set one of loss, masking_strategy, reward and task");
  add_kind(registry, ComponentKind::kLossEstimator, "DriftLoss", component, component.loss);
  add_kind(registry, ComponentKind::kMaskingStrategy, "DriftMaskingStrategy", component, component.masking_strategy);
  add_kind(registry, ComponentKind::kReward, "DriftReward", component, component.reward);
  add_kind(registry, ComponentKind::kTask, "DriftTask", component, component.task);
}

/// body(registration) for a function that C code has called.
template <class Body>
void for_registering(const DriftRegistry* registry, const Body& body) noexcept {
  auto& registration = *static_cast<Registration*>(const_cast<DriftRegistry*>(registry));
  try {
    body(registration);
  } catch (const Error& error) {
    registration.fail(error);
  } catch (const std::exception& error) {
    registration.fail(Error(error.what()));
  }
}

Registration::Registration(Registry& registry)
    : DriftRegistry{sizeof(DriftRegistry),
                    [](const DriftRegistry* self, DriftText what, DriftText hint) {
                      for_registering(self, [&](Registration& registration) {
                        registration.fail(Error(std::string(view_of(what)), std::string(view_of(hint))));
                      });
                    },
                    [](const DriftRegistry* self, const DriftComponent* component) {
                      for_registering(self, [&](Registration& registration) {
                        add_component(registration.registry, as_known(component, "DriftComponent"));
                      });
                    }},
      registry(registry) {}

}  // namespace

PureObject::PureObject(std::shared_ptr<const PureKind> kind, const ComponentContext& context)
    : kind_(std::move(kind)), host_(*context.host) {
  self_ = kind_->data;
  if (kind_->create == nullptr) return;
  const PureValues values(kind_->params, *context.params);
  HostCall call(host_);
  void* made = nullptr;
  const DriftStatus status = kind_->create(&call, kind_->data, values.data(), &made);
  call.finish(status, "create()");
  self_ = made;
}

PureObject::~PureObject() {
  if (kind_->destroy != nullptr) kind_->destroy(self_);
}

void register_pure(Registry& registry, void (*register_components)(const DriftRegistry* registry)) {
  Registration registration(registry);
  register_components(&registration);
  if (registration.failure) throw *registration.failure;
}

}  // namespace drift
