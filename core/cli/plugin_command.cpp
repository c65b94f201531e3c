#include <core/base/quote.h>
#include <core/cli/load_run.h>
#include <core/io/json.h>
#include <core/plugin/plugin_json.h>
#include <core/plugin/plugin_page.h>
#include <core/plugin/plugin_report.h>
#include <core/plugin/preset_table.h>

#include <nlohmann/json.hpp>

#include <iostream>

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

}  // namespace drift
