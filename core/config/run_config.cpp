#include <core/config/run_config.h>

#include <drift/error.h>

#include <algorithm>
#include <cstddef>

namespace drift {
namespace {

const ResolvedSection* section_named(const std::vector<ResolvedSection>& sections, std::string_view name) {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const ResolvedSection& s) { return s.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

bool RunConfig::has(std::string_view section) const { return section_named(sections_, section) != nullptr; }

const Params& RunConfig::section(std::string_view name) const {
  const ResolvedSection* found = section_named(sections_, name);
  if (found == nullptr) throw Error("this command reads section [" + std::string(name) + "] without declaring it");
  return found->params;
}

const ResolvedValue* RunConfig::find(std::string_view key) const {
  const ResolvedSection* section = section_named(sections_, section_of(key));
  if (section == nullptr) return nullptr;
  const auto found = std::ranges::find(section->values, name_of(key), &ResolvedValue::name);
  return found == section->values.end() ? nullptr : &*found;
}

std::string RunConfig::component(std::string_view name) const { return section(name).get<std::string>("name"); }

std::string RunConfig::resolved_toml() const {
  constexpr std::size_t kWidestColumn = 40;  // a longer value pushes its own comment aside, not everybody's
  std::size_t key_width = 0, value_width = 0;
  for (const ResolvedSection& section : sections_) {
    for (const ResolvedValue& value : section.values) {
      key_width = std::max(key_width, value.name.size());
      const std::size_t width = to_toml(value.value).size();
      if (width <= kWidestColumn) value_width = std::max(value_width, width);
    }
  }
  std::string out = "# Every value of this run and where it came from. This file alone repeats the run.\n";
  for (const ResolvedSection& section : sections_) {
    out += "\n[" + section.name + "]\n";
    for (const ResolvedValue& value : section.values) {
      out += padded(value.name, key_width) + " = " + padded(to_toml(value.value), value_width) + "  # " +
             value.origin.text() + "\n";
    }
  }
  if (!set_aside_.empty()) out += "\n# Set aside, because it was written for another component:\n";
  for (const std::string& line : set_aside_) out += "#   " + line + "\n";
  return out;
}

std::vector<std::filesystem::path> plugin_paths(const ConfigDocument& document) {
  for (auto layer = document.layers.rbegin(); layer != document.layers.rend(); ++layer) {
    const auto found = layer->leaves.find("plugins.paths");
    if (found == layer->leaves.end()) continue;
    const ConfigLeaf& leaf = found->second;
    const auto* list = leaf.value ? std::get_if<std::vector<std::string>>(&*leaf.value) : nullptr;
    if (list == nullptr) {
      Diagnostic wrong = document.at(leaf.origin, leaf.origin.value, "`plugins.paths` must be a list of texts");
      wrong.notes = {"for example: paths = [\"build/libmy_loss.so\"]"};
      throw ConfigError({wrong});
    }
    std::vector<std::filesystem::path> paths;
    for (const std::string& path : *list)
      paths.push_back(std::filesystem::absolute(leaf.folder / path).lexically_normal());
    return paths;
  }
  return {};
}

}  // namespace drift
