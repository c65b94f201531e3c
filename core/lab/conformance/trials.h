#pragma once

// What the rules of all kinds of component have in common.

#include <core/base/plain_threads.h>
#include <core/lab/conformance/rules.h>
#include <core/lab/conformance/settings.h>
#include <core/lab/conformance/watches.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// One component, made with each of its settings.
template <class T>
class Trials {
 public:
  using Make = std::function<Made<T>(const Setting&)>;

  Trials(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination, Make make = {})
      : entry_(entry),
        settings_(edge_settings(entry.params, with.values)),
        examination_(examination),
        make_(std::move(make)) {
    if (!make_)
      make_ = [this, &host = with.host](const Setting& setting) {
        return make_examined<T>(host, entry_, setting.values);
      };
  }

  const std::vector<Setting>& settings() const { return settings_; }
  Made<T> make(const Setting& setting) const { return make_(setting); }
  /// With its defaults.
  Made<T> usual() const { return make(settings_.front()); }
  /// body() with each setting. @return "14 settings"
  std::string each(const std::function<void(T&)>& body) const {
    return for_each_setting(settings_, [&](const Setting& setting) { body(*make(setting)); });
  }

  /// That body() does not throw, with any setting.
  void rule(const char* name, const std::function<void(T&)>& body) const {
    examination_.rule(name, [&] { return each(body); });
  }
  /// Without these two the other rules say nothing: that it can be made with each setting, and that what core/boundary
  /// checks in every run holds in the calls of body().
  void made(
      const std::function<void(T&)>& body = [](T&) {}, const ModelConfig* model_config = nullptr) const {
    examination_.basic_rule("made", [&] {
      return or_not_checked(
          entry_, [&] { return each(body); }, model_config);
    });
  }
  void results(const std::function<void(T&)>& body) const {
    examination_.basic_rule("results", [&] { return each(body); });
  }

  /// That call(component) gives the same whenever it is called, and draws from no generator that all share.
  /// @param require_same  throws if two results differ, in a text that ends with its last argument
  /// @param between       other calls
  template <class Call, class RequireSame>
  void repeats(const Call& call, const RequireSame& require_same, const std::function<void(T&)>& between = {}) const {
    examination_.rule("deterministic", [&] {
      return for_each_setting(settings_, [&](const Setting& setting) {
        const Made<T> component = make(setting);
        const auto first = call(*component);
        require_same(call(*component), first, "the second time");
        if (between) between(*component);
        if (between) require_same(call(*component), first, "after other inputs");
        require_same(call(*make(setting)), first, "from another object");
      });
    });
    examination_.rule("random numbers", [&] {
      return for_each_setting(settings_,
                              [&](const Setting& setting) { without_global_random([&] { call(*make(setting)); }); });
    });
  }
  /// The same of several threads at once.
  template <class Call, class RequireSame>
  void threads(const Call& call, const RequireSame& require_same) const {
    constexpr std::size_t kThreads = 4;
    examination_.rule("threads", [&] {
      const Made<T> component = usual();
      const auto expected = call(*component);
      for_each_at_once(
          2 * kThreads, [&](std::size_t) { require_same(call(*component), expected, "from several threads"); },
          kThreads);
      return std::to_string(kThreads) + " threads";
    });
  }
  /// That nothing grows with the calls.
  void leak(const std::function<void(T&)>& call) const {
    examination_.rule("leak", [&] {
      const Made<T> component = usual();
      return without_leak([&] { call(*component); });
    });
  }

 private:
  const ComponentEntry& entry_;
  const std::vector<Setting> settings_;
  Examination& examination_;
  Make make_;
};

}  // namespace drift
