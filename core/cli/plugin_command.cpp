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
  bool json = false;
};

void add_name(OptionList& list, NamedOptions& options) {
  list.argument("NAME", options.name).candidates = "names";
  add_config(list, options.config);
}

int print_list(const ListOptions& options) {
  const auto plugins = load_plugins(options.config, ForeignFiles::kTriedFirst);
  std::cout << (options.json ? json_text(plugin_list_json(plugins->registry, plugins->loader), 1) + "\n"
                             : printable(plugin_list(plugins->registry, plugins->loader)))
            << std::flush;
  for (const std::string& warning : refusals(plugins->loader)) std::cerr << "\nwarning: " << warning << "\n";
  return 0;
}

int print_info(const NamedOptions& options) {
  const auto document = load_document(options.config.file, options.config.overrides);
  const auto plugins = load_plugins(plugin_paths(document));
  std::cout << (options.json ? json_text(plugin_info_json(plugins->registry, options.name, document), 1) + "\n"
                             : printable(plugin_info(plugins->registry, plugins->loader, options.name, document)));
  return 0;
}

int print_page(const NamedOptions& options) {
  const auto document = load_document(options.config.file, options.config.overrides);
  const auto plugins = load_plugins(plugin_paths(document));
  std::cout << printable(plugin_page(plugins->registry, plugins->loader, options.name, document));
  return 0;
}

int print_presets(const NamedOptions& options) {
  std::cout << printable(preset_tables(load_plugins(options.config)->registry, options.name));
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
  return make_command<NamedOptions>({"plugin info", "one algorithm, component or plugin: its parameters and presets",
                                     "Prints what it is, its paper, and every parameter with type, range and default.\n"
                                     "--json: algorithms with presets and their settings, components with parameters.",
                                     "plugin info ALGORITHM"},
                                    print_info, [](OptionList& list, NamedOptions& options) {
                                      list.add_switch("json", "print JSON instead of text", options.json);
                                      add_name(list, options);
                                    });
}

Command plugin_docs_command() {
  return make_command<NamedOptions>(
      {"plugin docs", "a page about an algorithm, component or plugin",
       "Prints Markdown, made from what the plugin declares: what it is, how a run's TOML "
       "chooses it, every\n"
       "parameter, and the presets of an algorithm side by side.",
       "plugin docs ALGORITHM"},
      print_page, add_name);
}

Command plugin_presets_command() {
  return make_command<NamedOptions>({"plugin presets", "the presets of an algorithm, side by side",
                                     "Prints Markdown tables: what each preset is, where the presets differ, and what "
                                     "they share. The algorithm's page\n"
                                     "in docs/algorithms contains them.",
                                     "plugin presets ALGORITHM"},
                                    print_presets, add_name);
}

}  // namespace drift
