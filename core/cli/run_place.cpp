#include <core/cli/run_place.h>

#include <core/io/folder_lock.h>
#include <core/sweep/identity.h>

#include <drift/error.h>

#include <algorithm>

namespace drift {
namespace {

/// The run's name; behind it the algorithm, where the command line chose another than the file's and no name.
std::string folder_name(const ConfigOptions& options, const RunConfig& config) {
  const auto name = config.get<RunSettings>().name;
  const ResolvedValue* const algorithm = config.find("algorithm.name");
  const auto is_set = [&](const char* key) {
    return std::ranges::count(options.overrides, key, &ConfigOverride::key) > 0;
  };
  if (algorithm == nullptr || !is_set("algorithm.name") || is_set("run.name")) return name;
  std::string of_file;
  for (const ConfigLayer& layer : load_document(options.file, {}).layers) {
    if (const auto leaf = layer.leaves.find("algorithm.name"); leaf != layer.leaves.end())
      of_file = leaf->second.text();
  }
  return of_file == to_toml(algorithm->value) ? name : name + "-" + config.component("algorithm");
}

/// A checkpoint of a build that did not know the key was trained as the key's default trains.
bool is_new_key(const ResolvedValue* value, const std::map<std::string, std::string>& known, const std::string& key) {
  return value != nullptr && value->origin.kind == Origin::Kind::kDefault && !known.contains(key);
}

std::string advice(const std::vector<Difference>& refused) {
  std::string settings;
  for (const Difference& difference : refused) {
    if (!may_change_on_resume(difference.key)) {
      return "continue with the run's own config.toml, or start a new run in another folder with --out";
    }
    settings += " --set " + difference.key + "=" + difference.here;
  }
  return "to change them from here on, add" + settings + "; or continue with the run's own config.toml";
}

}  // namespace

fs::path run_path(const TrainingOptions& options, const RunConfig& config) {
  if (!options.out.empty()) return options.out;
  const fs::path folder = options.config.file.parent_path();
  // A run's own file continues that run.
  if (options.resume && options.config.file.filename() == "config.toml" && RunFolder::has_begun(folder)) return folder;
  const std::string name = ("runs" / fs::path(folder_name(options.config, config))).string();
  fs::path last = name;
  for (int number = 2;; ++number) {
    const fs::path next = name + "-" + std::to_string(number);
    if (options.resume ? !fs::exists(next) : !RunFolder::has_begun(last) && !FolderLock::holder(last)) return last;
    last = next;
  }
}

std::pair<fs::path, std::int64_t> free_space(const fs::path& folder) {
  fs::path existing = fs::absolute(folder);
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path()) existing = existing.parent_path();
  return {existing, static_cast<std::int64_t>(fs::space(existing).available)};
}

RunFolder new_folder(const TrainingOptions& options, const RunConfig& config, RunFolder::Existing existing) {
  for (fs::path failed;;) {
    const fs::path path = run_path(options, config);
    try {
      return RunFolder::create(path, existing);
    } catch (const Error&) {
      if (path == failed) throw;
      failed = path;
    }
  }
}

void check_continued(const RunConfig& config, const std::map<std::string, std::string>& settings,
                     const ResumePoint& point, const fs::path& file, const fs::path& folder) {
  std::error_code ignored;
  const bool own_file = fs::equivalent(file, folder / "config.toml", ignored);
  auto refused = differences(point.state.settings, settings);
  std::erase_if(refused, [&](const Difference& difference) {
    const ResolvedValue* value = config.find(difference.key);
    if (is_new_key(value, point.state.settings, difference.key)) return true;
    return value != nullptr && may_change_on_resume(difference.key) &&
           (own_file || value->origin.kind == Origin::Kind::kCommandLine);
  });
  if (refused.empty()) return;
  throw Error("checkpoint " + point.folder.string() + " was written with a different configuration:" + listed(refused),
              advice(refused));
}

}  // namespace drift
