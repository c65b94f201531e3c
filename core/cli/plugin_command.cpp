#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/lab/conformance/report.h>
#include <core/plugin/plugin_json.h>
#include <core/plugin/plugin_page.h>
#include <core/plugin/plugin_report.h>
#include <core/plugin/preset_table.h>

#include <algorithm>

namespace drift {
namespace {

struct ListOptions {
  ConfigOptions config;
  bool json = false;
};

struct NamedOptions {
  std::string name;
  ConfigOptions config;
  bool json = false, markdown = false, presets = false;
};

int print_list(const ListOptions& options) {
  const auto plugins = load_plugins(options.config, ForeignFiles::kTriedFirst);
  std::cout << (options.json ? json_text(plugin_list_json(plugins->registry, plugins->loader), 1) + "\n"
                             : printable(plugin_list(plugins->registry, plugins->loader)))
            << std::flush;
  for (const std::string& warning : refusals(plugins->loader)) std::cerr << "\nwarning: " << warning << "\n";
  return 0;
}

int print_named(const NamedOptions& options) {
  if (options.json + options.markdown + options.presets > 1)
    throw UsageError("--json, --markdown and --presets exclude each other", "drift plugin info --help");
  const auto document = load_document(options.config.file, options.config.overrides);
  const auto plugins = load_plugins(plugin_paths(document));
  const Registry& registry = plugins->registry;
  if (options.json) {
    std::cout << json_text(plugin_info_json(registry, options.name, document), 1) << "\n";
  } else if (options.markdown) {
    std::cout << printable(plugin_page(registry, plugins->loader, options.name, document));
  } else if (options.presets) {
    std::cout << printable(preset_tables(registry, options.name));
  } else {
    std::cout << printable(plugin_info(registry, plugins->loader, options.name, document));
  }
  return 0;
}

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
  const std::string unexamined = joined(report.unexamined);
  return count_of(report.findings(), "finding") + (unexamined.empty() ? "" : "; not examined: " + unexamined);
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

Command plugin_list_command() {
  return make_command<ListOptions>(
      {"plugin list", "everything that plugins provide",
       "Lists kind, name, version, tier and file. Plugins are searched for in the file's [plugins] paths, in\n"
       "DRIFT_PLUGIN_PATH, beside the program, and in the installed folder.\n"
       "--json: plugins, algorithms, components, and the files that were refused.",
       "plugin list"},
      print_list, [](OptionList& list, ListOptions& options) {
        list.argument("CONFIG.toml", options.config.file, /*required=*/false);
        list.add_switch("json", "print JSON instead of text", options.json);
        add_settings(list, options.config);
      });
}

Command plugin_info_command() {
  return make_command<NamedOptions>(
      {"plugin info", "one algorithm, component or plugin: its parameters and presets",
       "Prints what it is, its paper, and every parameter with type, range and default.\n"
       "--json: algorithms with presets and their settings, components with parameters.\n"
       "--markdown: the same as a page, with an excerpt of a run's TOML that chooses it.\n"
       "--presets: Markdown tables of an algorithm's presets: what each is, where they differ, what they share.",
       "plugin info ALGORITHM"},
      print_named, [](OptionList& list, NamedOptions& options) {
        list.argument("NAME", options.name).candidates = "names";
        list.add_switch("json", "print JSON instead of text", options.json);
        list.add_switch("markdown", "print a page instead of text", options.markdown);
        list.add_switch("presets", "print the presets of an algorithm side by side", options.presets);
        add_config(list, options.config);
      });
}

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
        list.add_repeatable("rule", "RULE", "this rule alone: gradient; repeatable", options.rules);
        list.add_repeatable("set", "PARAMETER=VALUE", "what a component cannot be made without: a path; repeatable",
                            options.request.set);
        list.add("model-config", "FILE", "a config.json, for models", options.request.model_config);
        list.add_repeatable("reference", "TEXT", "a reference answer that the reward can read; repeatable",
                            options.request.references);
        list.add("timeout", "SECONDS", "how long a rule may take", options.request.timeout);
        list.add_switch("json", "print JSON instead of text", options.json);
        list.add_switch("in-process",
                        "examine --component in this process, for a debugger; one line of JSON for each rule",
                        options.in_process);
      });
}

}  // namespace drift
