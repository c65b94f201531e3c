#include <core/config/run_config.h>

#include <drift/error.h>

#include <algorithm>
#include <cstddef>

namespace drift {
namespace {

namespace fs = std::filesystem;

const ResolvedSection* section_named(const std::vector<ResolvedSection>& sections, std::string_view name) {
  const auto found =
      std::find_if(sections.begin(), sections.end(), [&](const ResolvedSection& s) { return s.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

/// An absolute path as a file in `folder` writes it: see resolved_toml.
std::string path_from(const fs::path& folder, const std::string& path) {
  if (folder.empty() || path.empty()) return path;
  const fs::path here = fs::current_path(), from = fs::absolute(folder).lexically_normal();
  const auto is_below = [&](const fs::path& place) {
    const fs::path relative = place.lexically_relative(here);
    return !relative.empty() && *relative.begin() != "..";
  };
  if (here == here.root_path() || !is_below(from) || !is_below(path)) return path;
  return fs::path(path).lexically_relative(from).string();
}

std::string value_text(const ResolvedValue& value, const fs::path& folder) {
  Parameter::Value written = value.value;
  if (auto* path = std::get_if<std::string>(&written); path != nullptr && value.is_path)
    *path = path_from(folder, *path);
  if (auto* paths = std::get_if<std::vector<std::string>>(&written); paths != nullptr && value.is_path)
    for (std::string& path : *paths) path = path_from(folder, path);
  return to_toml(written);
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

bool RunConfig::has(std::string_view section) const { return section_named(sections_, section) != nullptr; }

const Parameters& RunConfig::section(std::string_view name) const {
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

void RunConfig::settle(std::string_view key, const Parameter::Value& value, const std::string& why) {
  const auto section = std::ranges::find(sections_, section_of(key), &ResolvedSection::name);
  std::vector<Parameter> declared;
  for (ResolvedValue& one : section->values) {
    if (one.name == name_of(key)) one.value = value, one.origin = {Origin::Kind::kDerived, why, {}, {}};
    declared.emplace_back(one.name, false, "").default_value = one.value;
  }
  section->params = Parameters(declared);
}

std::string RunConfig::component(std::string_view name) const { return section(name).get<std::string>("name"); }

std::vector<std::string> RunConfig::warnings(bool file_is_known) const {
  std::vector<std::string> texts;
  int shared = 0;
  for (const RunNote& note : notes_) {
    shared += note.about == RunNote::About::kShared ? 1 : 0;
    if (note.about <= (file_is_known ? RunNote::About::kCommandLine : RunNote::About::kFile))
      texts.push_back(note.text);
  }
  if (shared > 0 && !file_is_known)
    texts.push_back("settings of the preset or of extended files that have no effect here: " + std::to_string(shared) +
                    "    (drift config show names them)");
  return texts;
}

std::string RunConfig::resolved_toml(const fs::path& folder) const {
  constexpr std::size_t kWidestColumn = 40;  // a longer value pushes its own comment aside, not everybody's
  std::size_t key_width = 0, value_width = 0;
  for (const ResolvedSection& section : sections_) {
    for (const ResolvedValue& value : section.values) {
      key_width = std::max(key_width, value.name.size());
      const std::size_t width = value_text(value, folder).size();
      if (width <= kWidestColumn) value_width = std::max(value_width, width);
    }
  }
  std::string out = "# Every value of this run and where it came from. This file alone repeats the run.\n";
  if (!folder.empty()) {
    out += "paths_from = " + to_toml(fs::absolute(folder).lexically_normal().string()) +
           "  # for relative paths that lead nowhere from this file's folder\n";
  }
  for (const ResolvedSection& section : sections_) {
    out += "\n[" + section.name + "]\n";
    for (const ResolvedValue& value : section.values) {
      out += padded(value.name, key_width) + " = " + padded(value_text(value, folder), value_width) + "  # " +
             value.origin.text() + "\n";
    }
  }
  if (!notes_.empty()) out += "\n# Notes:\n";
  for (const RunNote& note : notes_) out += "#   " + note.text + "\n";
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
    for (const std::string& path : *list) paths.push_back(fs::absolute(leaf.place_of(path)));
    return paths;
  }
  return {};
}

}  // namespace drift
