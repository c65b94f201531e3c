#include <core/conformance/outcome_lines.h>

#include <core/io/json.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

Verdict verdict_of(const std::string& name) {
  for (const Verdict verdict : {Verdict::kOk, Verdict::kFound, Verdict::kNote}) {
    if (verdict_name(verdict) == name) return verdict;
  }
  return Verdict::kNotChecked;
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
std::string end_line() { return json_text(Json{{"ended", true}}); }

ChildWords read_lines(std::string_view text) {
  ChildWords words;
  for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    const nlohmann::json line = parse_json_object(text.substr(0, end), "a line of the examination");
    if (line.contains("begins")) {
      words.component = line["begins"]["component"];
      words.rule = line["begins"]["rule"];
    } else if (line.contains("outcome")) {
      const auto& outcome = line["outcome"];
      words.outcomes.push_back(
          {outcome["component"], outcome["rule"], verdict_of(outcome["verdict"]), outcome["text"], outcome["seconds"]});
      words.rule.clear();
    } else if (line.contains("plugin")) {
      words.summary = line["plugin"];
    } else if (line.contains("component")) {
      words.components.push_back(line["component"]);
    } else {
      words.ended = true;
    }
  }
  return words;
}

}  // namespace drift
