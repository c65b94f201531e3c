#include <core/cli/load_run.h>
#include <core/plugin/plugin_report.h>
#include <core/plugin/preset_table.h>

#include <iostream>

namespace drift {
namespace {

std::unique_ptr<Plugins> plugins_of(const CommandLine& line) {
  return load_plugins(plugin_paths(load_document(line.config, line.overrides)));
}

}  // namespace

int run_plugin_list(const CommandLine& line) {
  const auto plugins = plugins_of(line);
  std::cout << plugin_list(plugins->registry, plugins->loader);
  return 0;
}

int run_plugin_info(const CommandLine& line) {
  const auto plugins = plugins_of(line);
  std::cout << plugin_info(plugins->registry, plugins->loader, line.name);
  return 0;
}

int run_plugin_check(const CommandLine& line) {
  std::cout << plugin_check(line.name);
  return 0;
}

int run_plugin_presets(const CommandLine& line) {
  const auto plugins = plugins_of(line);
  std::cout << preset_tables(plugins->registry, line.name);
  return 0;
}

}  // namespace drift
