#include <core/lab/conformance/examination.h>

#include <core/boundary/plugin_call.h>

#include <chrono>
#include <utility>

namespace drift {

std::string_view rule_verdict_name(RuleVerdict verdict) {
  switch (verdict) {
    case RuleVerdict::kOk: return "ok";
    case RuleVerdict::kFound: return "found";
    case RuleVerdict::kNote: return "note";
    case RuleVerdict::kNotChecked: break;
  }
  return "not checked";
}

Examination::Examination(std::string component, std::string callee, std::set<std::string> only, Listener listener)
    : component_(std::move(component)),
      callee_(std::move(callee)),
      only_(std::move(only)),
      listener_(std::move(listener)) {}

void Examination::rule(const char* name, const std::function<std::string()>& body) { try_rule(name, body); }

void Examination::basic_rule(const char* name, const std::function<std::string()>& body) {
  const RuleVerdict verdict = try_rule(name, body);
  if (broken_.empty() && (verdict == RuleVerdict::kFound || verdict == RuleVerdict::kNotChecked)) broken_ = name;
}

RuleVerdict Examination::try_rule(const char* name, const std::function<std::string()>& body) {
  names_.insert(name);
  if (!only_.empty() && !only_.contains(name)) return RuleVerdict::kOk;
  Outcome outcome{component_, name, RuleVerdict::kOk, "", 0};
  if (!broken_.empty()) {
    outcome.verdict = RuleVerdict::kNotChecked;
    outcome.text = "see `" + broken_ + "`";
    listener_.ends(outcome);
    return outcome.verdict;
  }
  listener_.begins(name);
  const auto start = std::chrono::steady_clock::now();
  const auto conclude = [&](RuleVerdict verdict, const Error& error) {
    outcome.verdict = verdict;
    outcome.text = error.what();
    if (const auto at = outcome.text.find(callee_ + ", "); at != std::string::npos && !callee_.empty())
      outcome.text.erase(at, callee_.size() + 2);
    const bool several = outcome.text.find('\n') != std::string::npos;
    if (!error.hint().empty()) outcome.text += several ? "\n= " + error.hint() : " (" + error.hint() + ")";
  };
  try {
    outcome.text = body();
  } catch (const RuleNote& note) {
    conclude(RuleVerdict::kNote, note);
  } catch (const RuleNotChecked& why) {
    conclude(RuleVerdict::kNotChecked, why);
  } catch (...) {
    conclude(RuleVerdict::kFound, describe_exception());
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  listener_.ends(outcome);
  return outcome.verdict;
}

}  // namespace drift
