#include <core/cli/load_run.h>
#include <core/plugin/plugin_report.h>
#include <core/plugin/preset_table.h>

#include <iostream>

namespace drift {
namespace {

struct NamedOptions {
  std::string name;
  ConfigOptions config;
};

void add_name(OptionList& list, NamedOptions& options) {
  list.argument("NAME", options.name);
  add_config(list, options.config);
}

int print_list(const ConfigOptions& options) {
  const auto plugins = load_plugins(options, ForeignFiles::kTriedFirst);
  std::cout << plugin_list(plugins->registry, plugins->loader) << std::flush;
  for (const RefusedPlugin& refused : plugins->loader.refused()) std::cerr << "\nwarning: " << refused.message << "\n";
  return 0;
}

int print_info(const NamedOptions& options) {
  const auto plugins = load_plugins(options.config);
  std::cout << plugin_info(plugins->registry, plugins->loader, options.name);
  return 0;
}

int print_presets(const NamedOptions& options) {
  std::cout << preset_tables(load_plugins(options.config)->registry, options.name);
  return 0;
}

}  // namespace

Command plugin_list_command() {
  return make_command<ConfigOptions>(
      {"plugin list", "everything that plugins provide",
       "Lists kind, name, version, tier and file. Plugins are searched for in the file's [plugins] paths, in\n"
       "DRIFT_PLUGIN_PATH, beside the program, and in the installed folder.",
       "plugin list"},
      print_list, [](OptionList& list, ConfigOptions& options) {
        list.argument("CONFIG.toml", options.file, /*required=*/false);
        add_settings(list, options);
      });
}

Command plugin_info_command() {
  return make_command<NamedOptions>(
      {"plugin info", "one algorithm, component or plugin: its parameters and presets",
       "Prints what it is, its paper, and every parameter with type, range and default.", "plugin info ALGORITHM"},
      print_info, add_name);
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
