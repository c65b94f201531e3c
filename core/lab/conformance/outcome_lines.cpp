#include <core/lab/conformance/outcome_lines.h>

#include <core/io/json.h>

#include <nlohmann/json.hpp>

#include <exception>

namespace drift {
namespace {

RuleVerdict verdict_of(const std::string& name) {
  for (const RuleVerdict verdict : {RuleVerdict::kOk, RuleVerdict::kFound, RuleVerdict::kNote}) {
    if (rule_verdict_name(verdict) == name) return verdict;
  }
  return RuleVerdict::kNotChecked;
}

/// @throws Error, or the library's exception, if it is none that a child writes.
void read_line(std::string_view text, ChildWords& words) {
  const nlohmann::json line = parse_json_object(text, "a line of the examination");
  if (line.contains("plugin")) {
    words.summary = line.at("plugin");
  } else if (line.contains("declares")) {
    words.components.push_back(line.at("declares"));
  } else if (line.contains("begins")) {
    words.rule = line.at("begins");
  } else if (line.contains("verdict")) {
    words.outcomes.push_back(
        {line.at("component"), line.at("rule"), verdict_of(line.at("verdict")), line.at("text"), line.at("seconds")});
    words.rule.clear();
  } else {
    words.rules = line.at("ended").get<std::set<std::string>>();
    words.ended = true;
  }
}

}  // namespace

nlohmann::ordered_json outcome_json(const Outcome& outcome) {
  return {{"component", outcome.component},
          {"rule", outcome.rule},
          {"verdict", rule_verdict_name(outcome.verdict)},
          {"text", outcome.text},
          {"seconds", outcome.seconds}};
}

ChildWords read_lines(std::string_view text) {
  ChildWords words;
  try {
    for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1))
      read_line(text.substr(0, end), words);
  } catch (const std::exception&) {
    words.ended = false;
  }
  return words;
}

}  // namespace drift
