#include <core/conformance/outcome_lines.h>

#include <core/io/json.h>

#include <nlohmann/json.hpp>

#include <exception>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

Verdict verdict_of(const std::string& name) {
  for (const Verdict verdict : {Verdict::kOk, Verdict::kFound, Verdict::kNote}) {
    if (verdict_name(verdict) == name) return verdict;
  }
  return Verdict::kNotChecked;
}

/// @throws Error, or the library's exception, if it is none that a child writes.
void read_line(std::string_view text, ChildWords& words) {
  const nlohmann::json line = parse_json_object(text, "a line of the examination");
  if (line.contains("begins")) {
    words.component = line.at("begins").at("component");
    words.rule = line.at("begins").at("rule");
  } else if (line.contains("outcome")) {
    const auto& outcome = line.at("outcome");
    words.outcomes.push_back({outcome.at("component"), outcome.at("rule"), verdict_of(outcome.at("verdict")),
                              outcome.at("text"), outcome.at("seconds")});
    words.rule.clear();
  } else if (line.contains("plugin")) {
    words.summary = line.at("plugin");
  } else if (line.contains("component")) {
    words.components.push_back(line.at("component"));
  } else {
    words.rules = line.at("ended").get<std::set<std::string>>();
    words.ended = true;
  }
}

}  // namespace

std::string begin_line(const std::string& component, const std::string& rule) {
  return json_text(Json{{"begins", {{"component", component}, {"rule", rule}}}});
}
std::string outcome_line(const Outcome& outcome) {
  return json_text(Json{{"outcome",
                         {{"component", outcome.component},
                          {"rule", outcome.rule},
                          {"verdict", verdict_name(outcome.verdict)},
                          {"text", outcome.text},
                          {"seconds", outcome.seconds}}}});
}
std::string summary_line(const std::string& summary) { return json_text(Json{{"plugin", summary}}); }
std::string component_line(const std::string& id) { return json_text(Json{{"component", id}}); }
std::string end_line(const std::set<std::string>& rules) { return json_text(Json{{"ended", rules}}); }

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
