#include <core/base/quote.h>
#include <core/cli/load_run.h>
#include <core/config/nearest.h>
#include <core/lab/conformance/report.h>
#include <core/plugin/plugin_report.h>

#include <algorithm>
#include <iostream>

namespace drift {
namespace {

struct CheckOptions {
  CheckRequest request;
  std::vector<std::string> rules;
  bool json = false;
  bool in_process = false;
};

/// A file that is no shared library declares a component of a plugin: that one is examined with it.
void examine_through_its_plugin(CheckRequest& request) {
  std::error_code ignored;
  if (request.file.extension() == ".so" || !std::filesystem::is_regular_file(file_of(request.file), ignored)) return;
  const auto plugins = load_plugins();
  const auto declared = components_named(plugins->registry, request.file.string(), {});
  if (declared.empty()) return;
  if (declared.size() > 1)
    throw Error(request.file.string() + " declares components of several kinds", "name one of them: FILE:NAME");
  const ComponentEntry& entry = declared.front();
  const auto path = std::ranges::find(entry.params, true, &Parameter::is_path);
  request.file = plugins->loader.find(entry.plugin)->path;
  request.component = component_id(entry);
  request.set.push_back(path->name + "=" + to_toml(path->default_value));
}

/// @param file  as the user named it
std::string result_line(const CheckReport& report, const std::filesystem::path& file) {
  if (report.passes()) return "ok: " + file.string();
  const std::size_t findings = report.findings();
  const std::string unexamined = joined(report.unexamined);
  return std::to_string(findings) + (findings == 1 ? " finding" : " findings") +
         (unexamined.empty() ? "" : "; not examined: " + unexamined);
}

int check(const CheckOptions& options) {
  CheckRequest request = options.request;
  request.rules = {options.rules.begin(), options.rules.end()};
  if (!options.in_process) examine_through_its_plugin(request);
  if (options.in_process) return examine_here(request) ? 0 : 1;
  const CheckReport report = check_plugin(request, program_path());
  if (options.json) {
    std::cout << report_json(report) << "\n";
  } else {
    std::cout << printable(report_text(report)) << "\n" << result_line(report, options.request.file) << "\n";
  }
  return report.passes() ? 0 : 1;
}

}  // namespace

Command plugin_check_command() {
  return make_command<CheckOptions>(
      {"plugin check", "try whether a plugin keeps the rules of the interfaces that it implements",
       "Reads the handshake, loads the file and checks what it declares. Then calls every component on made-up\n"
       "inputs, each in a process of its own: its results, gradients, determinism, threads, memory and more. A\n"
       "crash, a hang or an exit is a finding. docs/plugin_abi.md lists the rules. Exit status 1 if anything is\n"
       "found, or a component could not be examined. FILE is a plugin, or a file that declares a component:\n"
       "my_loss.py:MyLoss.",
       "plugin check build/release/lib/drift/plugins/libblock.so"},
      check, [](OptionList& list, CheckOptions& options) {
        list.argument("FILE", options.request.file);
        list.add("component", "KIND/NAME", "this one alone: loss/my_loss, masking/my_masks", options.request.component);
        list.add_custom("rule", "RULE", "this rule alone: gradient; repeatable",
                        [&options](const std::string& rule) { options.rules.push_back(rule); })
            .repeatable = true;
        list.add_custom("set", "PARAMETER=VALUE", "what a component cannot be made without: a path; repeatable",
                        [&options](const std::string& text) { options.request.set.push_back(text); })
            .repeatable = true;
        list.add("model-config", "FILE", "a config.json, for models", options.request.model_config);
        list.add_custom("reference", "TEXT", "a reference answer that the reward can read; repeatable",
                        [&options](const std::string& text) { options.request.references.push_back(text); })
            .repeatable = true;
        list.add("timeout", "SECONDS", "how long a rule may take", options.request.timeout);
        list.add_switch("json", "print JSON instead of text", options.json);
        list.add_switch("in-process",
                        "examine --component in this process, for a debugger; one line of JSON for each rule",
                        options.in_process);
      });
}

}  // namespace drift
