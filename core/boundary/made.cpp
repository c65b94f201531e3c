#include <core/boundary/made.h>

#include <core/base/component_host.h>
#include <core/base/response_end.h>
#include <core/boundary/checks.h>

namespace drift {

void EndOfComponent::operator()(const Component* component) const {
  const Callee* plugin = callee_of(*component);
  if (plugin == nullptr) {
    delete component;
    return;
  }
  const Callee name = *plugin;
  forget_component(*component);
  in_plugin(name, "destructor", [&] { delete component; });
}

template <class T>
Made<T> adopt(std::unique_ptr<Component> component, const Callee& callee, const ModelConfig* model_config) {
  return in_plugin(callee, "constructor", [&] {
    auto* typed = dynamic_cast<T*>(component.get());
    if (typed == nullptr) throw Error("the plugin created a component of another kind", "rebuild the plugin");
    if constexpr (T::kKind == ComponentKind::kModel) check_model(*typed, *model_config);
    name_component(*typed, callee);
    component.release();
    return Made<T>(typed);
  });
}

template <class T>
Made<T> make_from_plugin(RunHost& host, const ComponentEntry& entry, const Parameters& params,
                         const ModelConfig* model_config) {
  Callee maker = callee(entry, &host);
  if (T::kKind == ComponentKind::kRollout && !drops_after_end(params)) maker.taken = Taken::kWhole;
  auto component = in_plugin(maker, "constructor", [&] { return host.make(entry, params, model_config); });
  return adopt<T>(std::move(component), maker, model_config);
}

Made<Rollout> make_original(RunHost& host, const ComponentEntry& entry, const Parameters& params) {
  auto made = make_from_plugin<Rollout>(host, entry, params);
  name_component(*made, {callee(entry).text, Taken::kOriginal, &host});
  return made;
}

template Made<LossEstimator> adopt(std::unique_ptr<Component>, const Callee&, const ModelConfig*);
template Made<MaskingStrategy> adopt(std::unique_ptr<Component>, const Callee&, const ModelConfig*);
template Made<Model> adopt(std::unique_ptr<Component>, const Callee&, const ModelConfig*);
template Made<Reward> adopt(std::unique_ptr<Component>, const Callee&, const ModelConfig*);
template Made<Rollout> adopt(std::unique_ptr<Component>, const Callee&, const ModelConfig*);
template Made<Task> adopt(std::unique_ptr<Component>, const Callee&, const ModelConfig*);
template Made<LossEstimator> make_from_plugin(RunHost&, const ComponentEntry&, const Parameters&, const ModelConfig*);
template Made<MaskingStrategy> make_from_plugin(RunHost&, const ComponentEntry&, const Parameters&, const ModelConfig*);
template Made<Model> make_from_plugin(RunHost&, const ComponentEntry&, const Parameters&, const ModelConfig*);
template Made<Reward> make_from_plugin(RunHost&, const ComponentEntry&, const Parameters&, const ModelConfig*);
template Made<Rollout> make_from_plugin(RunHost&, const ComponentEntry&, const Parameters&, const ModelConfig*);
template Made<Task> make_from_plugin(RunHost&, const ComponentEntry&, const Parameters&, const ModelConfig*);

}  // namespace drift
