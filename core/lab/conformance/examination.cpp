#include <core/lab/conformance/examination.h>

#include <core/boundary/plugin_call.h>

#include <chrono>
#include <utility>

namespace drift {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk: return "ok";
    case Verdict::kFound: return "found";
    case Verdict::kNote: return "note";
    case Verdict::kNotChecked: break;
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
  const Verdict verdict = try_rule(name, body);
  if (broken_.empty() && (verdict == Verdict::kFound || verdict == Verdict::kNotChecked)) broken_ = name;
}

Verdict Examination::try_rule(const char* name, const std::function<std::string()>& body) {
  names_.insert(name);
  if (!only_.empty() && !only_.contains(name)) return Verdict::kOk;
  Outcome outcome{component_, name, Verdict::kOk, "", 0};
  if (!broken_.empty()) {
    outcome.verdict = Verdict::kNotChecked;
    outcome.text = "see `" + broken_ + "`";
    listener_.ends(outcome);
    return outcome.verdict;
  }
  listener_.begins(name);
  const auto start = std::chrono::steady_clock::now();
  const auto conclude = [&](Verdict verdict, const Error& error) {
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
    conclude(Verdict::kNote, note);
  } catch (const RuleNotChecked& why) {
    conclude(Verdict::kNotChecked, why);
  } catch (...) {
    conclude(Verdict::kFound, describe_exception());
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  listener_.ends(outcome);
  return outcome.verdict;
}

}  // namespace drift
