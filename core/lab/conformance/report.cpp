#include <core/lab/conformance/report.h>

#include <core/base/child_process.h>
#include <core/base/quote.h>
#include <core/config/nearest.h>
#include <core/io/json.h>
#include <core/lab/conformance/outcome_lines.h>
#include <core/lab/conformance/watches.h>
#include <core/report/text_table.h>

#include <nlohmann/json.hpp>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <sstream>

namespace drift {
namespace {

constexpr double kLook = 0.2;  // seconds between two looks at a child

struct Child {
  ChildWords words;
  ChildEnd end;
  std::string error;
  bool timed_out = false;
};

/// Runs until it ends, or says nothing new for `timeout` seconds.
Child run_child(const std::vector<std::string>& arguments, double timeout) {
  using Clock = std::chrono::steady_clock;
  const Descriptor output = memory_file(), error = memory_file();
  ChildCommand command{.arguments = arguments};
  command.descriptors = {{output.get(), STDOUT_FILENO}, {error.get(), STDERR_FILENO}};
  command.ends_with_parent = true;
  Child result;
  const ChildWatch watch;
  ChildProcess child(command);
  auto since = Clock::now();
  std::size_t said = 0;
  while (!child.end() && !result.timed_out) {
    watch.wait(kLook);
    const std::size_t length = contents_of(output).size();
    if (length != said) since = Clock::now();
    said = length;
    result.timed_out = std::chrono::duration<double>(Clock::now() - since).count() > timeout;
  }
  if (result.timed_out) child.send(SIGKILL);
  result.end = child.wait();
  result.words = read_lines(contents_of(output));
  result.error = contents_of(error);
  return result;
}

/// What the program's last words, or a sanitizer's, say of its end; without the name of the component.
std::string last_word(const std::string& error) {
  for (const std::string mark : {"ERROR: ", "error: "}) {
    const auto begin = error.rfind(mark);
    if (begin == error.npos || (begin > 0 && mark == "error: " && error[begin - 1] != '\n')) continue;
    std::string line = error.substr(begin + mark.size());
    line.erase(std::min(line.find('\n'), line.size()));
    if (const auto plugin = line.find("` of plugin `"); plugin != line.npos) {
      const auto call = line.find("`, ", plugin + 1);
      if (call != line.npos) line.erase(0, call + 3);
    }
    return line;
  }
  return {};
}

std::string end_text(const Child& child, double timeout) {
  if (child.timed_out) return "it did not end within " + duration_text(timeout) + " (--timeout)";
  if (const std::string said = last_word(child.error); !said.empty()) return said;
  if (child.end.signal != 0) return std::string("it ended the program by SIG") + sigabbrev_np(child.end.signal);
  return "it ended the program, with exit status " + std::to_string(child.end.code);
}

/// What a child said, and what its end says.
void add_outcomes(const Child& child, const std::string& component, double timeout, std::vector<Outcome>& outcomes) {
  outcomes.insert(outcomes.end(), child.words.outcomes.begin(), child.words.outcomes.end());
  const auto found = [](const Outcome& outcome) { return outcome.verdict == RuleVerdict::kFound; };
  const int expected = std::ranges::any_of(child.words.outcomes, found) ? 1 : 0;
  if (child.words.ended && !child.timed_out && child.end.signal == 0 && child.end.code == expected) return;
  if (child.words.ended && child.error.find("LeakSanitizer has encountered a fatal error") != std::string::npos) {
    outcomes.push_back(
        {component, "end", RuleVerdict::kNotChecked, "LeakSanitizer itself failed to look for leaks", 0});
    return;
  }
  const std::string rule = child.words.ended ? "end" : child.words.rule.empty() ? "start" : child.words.rule;
  outcomes.push_back({component, rule, RuleVerdict::kFound, end_text(child, timeout), 0});
  if (!child.words.ended) outcomes.push_back({component, "…", RuleVerdict::kNotChecked, "the rules after it", 0});
}

}  // namespace

std::size_t CheckReport::findings() const {
  return static_cast<std::size_t>(
      std::ranges::count(outcomes, RuleVerdict::kFound, [](const Outcome& outcome) { return outcome.verdict; }));
}

CheckReport check_plugin(const CheckRequest& request, const std::filesystem::path& program) {
  std::vector<std::string> arguments = {program.string(), "plugin", "check", request.file.string(), "--in-process"};
  CheckReport report;
  const Child file = run_child(arguments, request.timeout);
  report.plugin = file.words.summary;
  add_outcomes(file, "", request.timeout, report.outcomes);

  if (!request.model_config.empty())
    arguments.insert(arguments.end(), {"--model-config", request.model_config.string()});
  for (const std::string& assignment : request.set) arguments.insert(arguments.end(), {"--set", assignment});
  for (const std::string& reference : request.references) arguments.insert(arguments.end(), {"--reference", reference});
  for (const std::string& rule : request.rules) arguments.insert(arguments.end(), {"--rule", rule});
  std::set<std::string> rules = file.words.rules;
  bool known = request.component.empty();
  // That it can be made says nothing of what it does.
  const auto is_tried = [&](const Outcome& outcome) {
    return outcome.verdict == RuleVerdict::kFound ||
           (outcome.verdict != RuleVerdict::kNotChecked && (outcome.rule != "made" || request.rules.contains("made")));
  };
  for (const std::string& component : file.words.components) {
    if (!request.component.empty() && request.component != component) continue;
    known = true;
    std::vector<std::string> of_component = arguments;
    of_component.insert(of_component.end(), {"--component", component});
    const Child child = run_child(of_component, request.timeout);
    add_outcomes(child, component, request.timeout, report.outcomes);
    if (!child.words.outcomes.empty() && std::ranges::none_of(child.words.outcomes, is_tried))
      report.unexamined.push_back(component);
    rules.insert(child.words.rules.begin(), child.words.rules.end());
  }
  if (!known && !file.words.components.empty())
    throw Error("the plugin has no component `" + request.component + "`",
                name_hint(request.component, file.words.components, "components"));
  for (const std::string& rule : request.rules) {
    // A child that was ended has not told its rules.
    if (report.findings() == 0 && !rules.contains(rule))
      throw Error("there is no rule `" + rule + "` for what is checked here",
                  name_hint(rule, {rules.begin(), rules.end()}, "rules"));
  }
  return report;
}

void try_loading(const std::filesystem::path& file, const std::filesystem::path& program) {
  const double timeout = CheckRequest().timeout;
  const Child child =
      run_child({program.string(), "plugin", "check", file.string(), "--in-process", "--rule", "loads"}, timeout);
  std::vector<Outcome> outcomes;
  add_outcomes(child, "", timeout, outcomes);
  for (const Outcome& outcome : outcomes) {
    if (outcome.verdict != RuleVerdict::kFound) continue;
    if (child.words.ended && outcome.rule == "loads") throw Error(outcome.text);
    throw Error(
        "plugin file `" + file.filename().string() + "` cannot be loaded: " + outcome.text + "\n  --> " + file.string(),
        "build it or copy it again");
  }
}

std::string report_text(const CheckReport& report) {
  std::string text = report.plugin;
  const auto first_line = [](const std::string& lines) { return lines.substr(0, lines.find('\n')); };
  for (auto first = report.outcomes.begin(); first != report.outcomes.end();) {
    const auto last = std::find_if(first, report.outcomes.end(),
                                   [&](const Outcome& outcome) { return outcome.component != first->component; });
    TextTable table;
    for (auto outcome = first; outcome != last; ++outcome) {
      table.rows.push_back({outcome->rule, std::string(rule_verdict_name(outcome->verdict)),
                            duration_text(outcome->seconds), first_line(outcome->text)});
    }
    text += (text.empty() ? "" : "\n") + (first->component.empty() ? "file" : first->component) + "\n";
    std::istringstream rows(to_text(table, /*unicode=*/true, "  "));
    for (std::string row; std::getline(rows, row); ++first)
      text += row + replaced(first->text.substr(first_line(first->text).size()), "\n", "\n      ") + "\n";
  }
  return text;
}

std::string report_json(const CheckReport& report) {
  nlohmann::ordered_json json = {{"outcomes", nlohmann::ordered_json::array()},
                                 {"findings", report.findings()},
                                 {"unexamined", report.unexamined}};
  for (const Outcome& outcome : report.outcomes) json["outcomes"].push_back(outcome_json(outcome));
  return json_text(json);
}

}  // namespace drift
