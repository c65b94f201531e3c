#pragma once

// One component in the hands of the rules of its kind: each rule is tried, timed, and told as an outcome.

#include <drift/error.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace drift {

enum class RuleVerdict {
  kOk,
  kFound,       ///< the component breaks the rule
  kNote,        ///< worth a look, and allowed
  kNotChecked,  ///< the rule could not be tried here
};

struct Outcome {
  std::string component;  ///< "loss/soft_clip"; empty: of the plugin
  std::string rule;
  RuleVerdict verdict = RuleVerdict::kOk;
  std::string text;  ///< what was found, or what was tried: "14 settings"
  double seconds = 0;
};

/// "ok", "found", "note", "not checked"
std::string_view rule_verdict_name(RuleVerdict verdict);

/// What the body of a rule throws if it has nothing to find.
struct RuleNote : Error {
  using Error::Error;
};
struct RuleNotChecked : Error {
  using Error::Error;
};

class Examination {
 public:
  struct Listener {
    std::function<void(const std::string& rule)> begins;
    std::function<void(const Outcome& outcome)> ends;
  };

  /// @param callee  what errors call the component: left out of their messages
  /// @param only    the rules to try; empty: all
  Examination(std::string component, std::string callee, std::set<std::string> only, Listener listener);

  /// @param body  returns what it tried; what it throws is the finding, but for RuleNote and RuleNotChecked
  void rule(const char* name, const std::function<std::string()>& body);
  /// A rule without which the ones after it say nothing: they are not checked if it is not kept.
  void basic_rule(const char* name, const std::function<std::string()>& body);

  /// The names of all rules so far, those that are not tried included.
  const std::set<std::string>& names() const { return names_; }

 private:
  RuleVerdict try_rule(const char* name, const std::function<std::string()>& body);

  std::string component_, callee_, broken_;
  std::set<std::string> only_, names_;
  Listener listener_;
};

}  // namespace drift
