#pragma once

#include <drift/export.h>
#include <drift/random.h>

#include <cstdint>
#include <string_view>

namespace drift {

enum class LogLevel : std::uint32_t {
  kInfo = 0,     ///< log.txt
  kWarning = 1,  ///< log.txt and the terminal
};

/// The program that runs a component, as the component sees it. Each component has its own, which outlives it. A
/// component that needs its host takes it in its constructor:
///
///     MyReward(const drift::Parameters& params, drift::Host& host) : host_(host) {}
///     …
///     host_.warn_once("the reference answer is empty: scored 0");
///     host_.metric("cache_hits", hits, requests);  // metrics.jsonl: "my_reward/cache_hits": hits / requests
/// Safe to use from several threads concurrently. Only the host implements it: later versions add functions at the end.
class DRIFT_API Host {
 public:
  /// Log a line that begins with the component's kind and name.
  virtual void log(LogLevel level, std::string_view text) = 0;

  /// Log a warning, the first time that this component gives this text.
  virtual void warn_once(std::string_view text) = 0;

  /// Report a number for metrics.jsonl, as `COMPONENT/name`: sum / count, each added up over the training step.
  /// @param name   of letters, digits and `_`
  virtual void metric(std::string_view name, double sum, double count = 1) = 0;

  /// A stream that depends on the run's seed, the component's kind and name, and `name`.
  virtual RandomStream random(std::string_view name) const = 0;

 protected:
  Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() = default;
};

}  // namespace drift
