#pragma once

// drift/pure.h in C++17: components are classes, parameters are declared next to the members that they set, and errors
// are exceptions. Header only: a plugin needs neither LibTorch nor libdrift.
//
//     class SoftClip final : public drift::pure::Loss {
//      public:
//       explicit SoftClip(drift::pure::Parameters& parameters)
//           : width_(parameters.number("width", 4.0, "curvature of the weight", drift::pure::at_least(0))) {}
//       std::uint32_t coupling() const noexcept override { return DRIFT_COUPLING_VIEW; }
//       void evaluate(const drift::pure::Host&, const DriftLossInput& in, DriftLossResult& result) const override;
//     };
//
//     DRIFT_PURE_PLUGIN("soft_clip", "1.0.0", "Apache-2.0") {
//       drift::pure::add<SoftClip>(registry, "soft_clip", "PPO with a smooth clip.");
//     }

#include <drift/error.h>
#include <drift/pure.h>

#include <cstdint>
#include <deque>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace drift::pure {

inline DriftText text(std::string_view given) { return {given.data(), given.size()}; }
inline std::string_view view(DriftText given) { return {given.data, given.size}; }

// ---- what a component is given ----

/// A stream of random numbers of one call.
class Random {
 public:
  Random(const DriftHost& host, DriftStream stream) : host_(host), stream_(stream) {}
  Random child(std::string_view name) const { return {host_, host_.child(&host_, stream_, text(name))}; }
  std::uint64_t bits(DriftPoint point) const { return host_.bits(&host_, stream_, point); }
  double uniform(DriftPoint point) const { return host_.uniform(&host_, stream_, point); }
  std::int64_t below(std::int64_t bound, DriftPoint point) const { return host_.below(&host_, stream_, bound, point); }

 private:
  const DriftHost& host_;
  DriftStream stream_;
};

/// The program during one call; DriftHost says what each function does.
class Host {
 public:
  explicit Host(const DriftHost& host) : host_(host) {}
  void log(std::string_view line) const { host_.log(&host_, DRIFT_LOG_INFO, text(line)); }
  void warn_once(std::string_view line) const { host_.warn_once(&host_, text(line)); }
  void metric(std::string_view name, double sum, double count = 1) const {
    host_.metric(&host_, text(name), sum, count);
  }
  Random random(DriftStream stream) const { return {host_, stream}; }
  Random random(std::string_view name) const { return {host_, host_.stream(&host_, text(name))}; }
  Random seeded(std::uint64_t seed, std::string_view name) const {
    return {host_, host_.seeded_stream(&host_, seed, text(name))};
  }

  void loss_metric(std::string_view name, double sum, double count = 1) const {
    host_.loss_metric(&host_, text(name), sum, count);
  }
  void add_view(const DriftView& view) const { host_.add_view(&host_, &view); }
  void give_verdict(double value, bool solved, std::uint32_t status, std::string_view reason) const {
    const DriftVerdict verdict{sizeof verdict, value, solved ? 1U : 0U, status, text(reason)};
    host_.give_verdict(&host_, &verdict);
  }
  void give_item(const DriftItem& item) const { host_.give_item(&host_, &item); }

 private:
  const DriftHost& host_;
};

// ---- parameters ----

/// Which numbers a parameter takes.
struct Range {
  std::uint32_t flags = 0;
  double minimum = 0, maximum = 0;
};
inline Range at_least(double minimum) { return {DRIFT_HAS_MINIMUM, minimum, 0}; }
inline Range above(double minimum) { return {DRIFT_HAS_MINIMUM | DRIFT_MINIMUM_EXCLUDED, minimum, 0}; }
inline Range between(double minimum, double maximum) {
  return {DRIFT_HAS_MINIMUM | DRIFT_HAS_MAXIMUM, minimum, maximum};
}

/// A component's constructor declares and reads its parameters with it in one go. At registration a first object is
/// made to collect the declarations, with the defaults.
class Parameters {
 public:
  Parameters() = default;
  /// Gives values.
  explicit Parameters(const DriftValue* values) : values_(values) {}
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  bool truth(std::string_view name, bool default_value, std::string_view doc) {
    DriftValue value = of_type(DRIFT_TRUTH);
    value.truth = default_value ? 1 : 0;
    return take(value, name, doc).truth != 0;
  }
  std::int64_t integer(std::string_view name, std::int64_t default_value, std::string_view doc, Range range = {}) {
    DriftValue value = of_type(DRIFT_INTEGER);
    value.integer = default_value;
    return take(value, name, doc, range).integer;
  }
  double number(std::string_view name, double default_value, std::string_view doc, Range range = {}) {
    DriftValue value = of_type(DRIFT_NUMBER);
    value.number = default_value;
    return take(value, name, doc, range).number;
  }
  /// @param choices  what it may be; empty: anything
  std::string string(std::string_view name, std::string_view default_value, std::string_view doc,
                     const std::vector<std::string_view>& choices = {}) {
    return take_string(name, default_value, doc, 0, choices);
  }
  /// A file or folder: in a TOML file relative to that file, absolute here.
  std::string path(std::string_view name, std::string_view default_value, std::string_view doc) {
    return take_string(name, default_value, doc, DRIFT_IS_PATH, {});
  }

  const std::vector<DriftParam>& declared() const { return declared_; }

 private:
  static DriftValue of_type(std::uint32_t type) {
    DriftValue value = {};
    value.type = type;
    return value;
  }
  DriftText kept(std::string_view given) { return text(texts_.emplace_back(given)); }

  std::string take_string(std::string_view name, std::string_view default_value, std::string_view doc,
                          std::uint32_t flags, const std::vector<std::string_view>& choices) {
    DriftValue value = of_type(DRIFT_STRING);
    value.string = kept(default_value);
    auto& kept_choices = choices_.emplace_back();
    for (const std::string_view choice : choices) kept_choices.push_back(kept(choice));
    return std::string(view(take(value, name, doc, {flags, 0, 0}, kept_choices).string));
  }

  DriftValue take(const DriftValue& default_value, std::string_view name, std::string_view doc, Range range = {},
                  const std::vector<DriftText>& choices = {}) {
    if (values_ != nullptr) return *values_++;  // in the order of the declarations
    DriftParam param = {};
    param.size = sizeof param;
    param.name = kept(name);
    param.doc = kept(doc);
    param.default_value = default_value;
    param.flags = range.flags;
    param.minimum = range.minimum;
    param.maximum = range.maximum;
    param.choices = choices.data();
    param.choice_count = choices.size();
    declared_.push_back(param);
    return default_value;
  }

  const DriftValue* values_ = nullptr;
  std::vector<DriftParam> declared_;
  // What the declarations point to.
  std::deque<std::string> texts_;
  std::deque<std::vector<DriftText>> choices_;
};

// ---- components ----

/// DriftLoss. An exception of a function without a host ends the program.
class Loss {
 public:
  virtual ~Loss() = default;
  virtual std::uint32_t coupling() const noexcept = 0;
  virtual std::uint32_t needs() const noexcept { return DRIFT_NEEDS_OLD; }
  virtual void evaluate(const Host& host, const DriftLossInput& input, DriftLossResult& result) const = 0;
};

/// DriftMaskingStrategy.
class MaskingStrategy {
 public:
  virtual ~MaskingStrategy() = default;
  virtual std::uint32_t refresh() const noexcept { return DRIFT_ONCE_PER_ROLLOUT; }
  virtual void plan(const Host& host, const DriftMaskingInput& input, DriftPlanResult& result) const = 0;
};

/// DriftReward.
class Reward {
 public:
  virtual ~Reward() = default;
  virtual void score(const Host& host, const DriftRewardRequest& request) const = 0;
};

/// DriftTask.
class Task {
 public:
  virtual ~Task() = default;
  virtual void training_item(const Host& host, std::int64_t index, const Random& random) const = 0;
  virtual std::int64_t held_out_size() const noexcept = 0;
  virtual void held_out_item(const Host& host, std::int64_t index) const = 0;
};

// ---- registration ----

namespace detail {

/// body(), with what it throws said to `receiver`, a DriftHost or a DriftRegistry.
template <class Receiver, class Body>
DriftStatus guarded(const Receiver* receiver, const Body& body) noexcept {
  try {
    body();
    return DRIFT_OK;
  } catch (const Error& error) {
    receiver->error(receiver, text(error.what()), text(error.hint()));
  } catch (const std::exception& error) {
    receiver->error(receiver, text(error.what()), {});
  } catch (...) {
    receiver->error(receiver, text("it threw something that is not a std::exception"), {});
  }
  return DRIFT_FAILED;
}

template <class Interface>
const Interface& object(const void* self) {
  return *static_cast<const Interface*>(self);
}

inline const DriftLoss kLoss = {
    sizeof(DriftLoss), [](const void* self) { return object<Loss>(self).coupling(); },
    [](const void* self) { return object<Loss>(self).needs(); },
    [](const DriftHost* host, const void* self, const DriftLossInput* input, DriftLossResult* result) {
      return guarded(host, [&] { object<Loss>(self).evaluate(Host(*host), *input, *result); });
    }};

inline const DriftMaskingStrategy kMaskingStrategy = {
    sizeof(DriftMaskingStrategy), [](const void* self) { return object<MaskingStrategy>(self).refresh(); },
    [](const DriftHost* host, const void* self, const DriftMaskingInput* input, DriftPlanResult* result) {
      return guarded(host, [&] { object<MaskingStrategy>(self).plan(Host(*host), *input, *result); });
    }};

inline const DriftReward kReward = {sizeof(DriftReward),
                                    [](const DriftHost* host, const void* self, const DriftRewardRequest* request) {
                                      return guarded(host, [&] { object<Reward>(self).score(Host(*host), *request); });
                                    }};

inline const DriftTask kTask = {
    sizeof(DriftTask),
    [](const DriftHost* host, const void* self, std::int64_t index, DriftStream random) {
      return guarded(host, [&] { object<Task>(self).training_item(Host(*host), index, Random(*host, random)); });
    },
    [](const void* self) { return object<Task>(self).held_out_size(); },
    [](const DriftHost* host, const void* self, std::int64_t index) {
      return guarded(host, [&] { object<Task>(self).held_out_item(Host(*host), index); });
    }};

template <class T, class Interface>
void describe(DriftComponent& component) {
  // As the interface and not as T: the functions above take it so.
  component.create = [](const DriftHost* host, void*, const DriftValue* values, void** self) {
    return guarded(host, [&] {
      Parameters parameters(values);
      *self = static_cast<Interface*>(new T(parameters));
    });
  };
  component.destroy = [](void* self) { delete static_cast<Interface*>(self); };
}

}  // namespace detail

/// Registers class T, which derives from Loss, MaskingStrategy, Reward or Task; its constructor takes (Parameters&).
/// @param doc  one sentence
template <class T>
void add(const DriftRegistry* registry, std::string_view name, std::string_view doc) {
  detail::guarded(registry, [&] {
    Parameters parameters;
    T declaration(parameters);
    DriftComponent component = {};
    component.size = sizeof component;
    component.name = text(name);
    component.doc = text(doc);
    component.params = parameters.declared().data();
    component.param_count = parameters.declared().size();
    if constexpr (std::is_base_of_v<Loss, T>) {
      detail::describe<T, Loss>(component);
      component.loss = &detail::kLoss;
    } else if constexpr (std::is_base_of_v<MaskingStrategy, T>) {
      detail::describe<T, MaskingStrategy>(component);
      component.masking_strategy = &detail::kMaskingStrategy;
    } else if constexpr (std::is_base_of_v<Reward, T>) {
      detail::describe<T, Reward>(component);
      component.reward = &detail::kReward;
    } else {
      detail::describe<T, Task>(component);
      component.task = &detail::kTask;
    }
    registry->add(registry, &component);
  });
}

}  // namespace drift::pure
