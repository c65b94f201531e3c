#include <core/sweep/identity.h>

#include <core/io/checkpoint.h>
#include <core/io/checksum.h>

#include <algorithm>

namespace drift {
namespace {

namespace fs = std::filesystem;

bool counts(const ResolvedSection& section, const ResolvedValue& value, IdentityOf what) {
  const bool trains = section.name == TrainSettings::kSection || section.name == PretrainSettings::kSection;
  switch (what) {
    case IdentityOf::kRun: return value.effect.role != KeyRole::kBookkeeping;
    case IdentityOf::kTraining:
      // A run may be made longer, unless its learning rate falls towards its end.
      if (trains && value.name == "steps") return section.params.get<std::string>("schedule") != "constant";
      return value.effect.role == KeyRole::kTraining;
    default:
      if (value.is_path && (section.name == "model" || section.name == "task")) return false;
      return value.effect.on_responses;
  }
}

/// A checkpoint's checksum knows what of its folder matters; of another folder everything does.
std::string folder_checksum(const fs::path& folder) {
  if (fs::exists(folder / "config.json")) return checkpoint_checksum(folder);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string text;
  for (const fs::path& file : files)
    text += file.lexically_relative(folder).string() + " " + file_checksum(file) + "\n";
  return checksum(text);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> Identity::settings(const RunConfig& config, IdentityOf what) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const ResolvedSection& section : config.sections()) {
    for (const ResolvedValue& value : section.values) {
      if (counts(section, value, what)) settings.emplace_back(section.name + "." + value.name, text(value));
    }
  }
  return settings;
}

std::string Identity::key(const RunConfig& config, IdentityOf what) {
  std::string text;
  for (const auto& [key, value] : settings(config, what)) text += key + "=" + value + "\n";
  return checksum(text);
}

std::string Identity::text(const ResolvedValue& value) {
  if (!value.is_path) return to_toml(value.value);
  if (const auto* path = std::get_if<std::string>(&value.value)) return content(*path);
  std::string all;
  for (const std::string& path : std::get<std::vector<std::string>>(value.value))
    all += (all.empty() ? "" : ", ") + content(path);
  return "[" + all + "]";
}

/// Where there is nothing, the path itself.
std::string Identity::content(const fs::path& path) {
  if (const auto known = contents_.find(path); known != contents_.end()) return known->second;
  std::error_code failed;
  std::string text = to_toml(path.string());
  const fs::path file = file_of(path);
  if (fs::is_regular_file(file, failed))
    text = "content " + file_checksum(file) + path.string().substr(file.string().size());
  if (fs::is_directory(path, failed)) text = "content " + folder_checksum(path);
  return contents_[path] = text;
}

std::vector<Difference> differences(const std::map<std::string, std::string>& there,
                                    const std::map<std::string, std::string>& here) {
  auto keys = there;
  keys.insert(here.begin(), here.end());
  const auto shown = [](const std::map<std::string, std::string>& settings, const std::string& key) {
    const auto found = settings.find(key);
    return found == settings.end() ? "nothing" : found->second;
  };
  std::vector<Difference> found;
  for (const auto& [key, value] : keys) {
    if (shown(there, key) != shown(here, key)) found.push_back({key, shown(there, key), shown(here, key)});
  }
  std::ranges::stable_partition(found, [](const Difference& difference) { return difference.key.ends_with(".name"); });
  return found;
}

std::string listed(const std::vector<std::string>& lines) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kShown); ++i) text += "\n       " + lines[i];
  if (lines.size() > kShown) text += "\n       and " + std::to_string(lines.size() - kShown) + " more";
  return text;
}

std::string listed(const std::vector<Difference>& differences) {
  std::vector<std::string> lines;
  for (const Difference& difference : differences) lines.push_back(difference.text());
  return listed(lines);
}

}  // namespace drift
