#include <core/cli/continued_run.h>

#include <core/grid/identity.h>

#include <drift/error.h>

#include <algorithm>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;

/// A checkpoint of a build that did not know the key was trained as the key's default trains.
bool is_new_key(const ResolvedValue* value, const std::map<std::string, std::string>& known, const std::string& key) {
  return value != nullptr && value->origin.kind == Origin::Kind::kDefault && !known.contains(key);
}

bool may_change(const ResolvedValue* value) {
  return value != nullptr && (value->role == KeyRole::kOptimization || value->role == KeyRole::kLength);
}

std::string advice(const std::vector<Difference>& refused, const RunConfig& config) {
  std::string settings;
  for (const Difference& difference : refused) {
    if (!may_change(config.find(difference.key))) {
      return "continue with the run's own config.toml, or start a new run in another folder with --out";
    }
    settings += " --set " + difference.key + "=" + difference.here;
  }
  return "to change them from here on, add" + settings + "; or continue with the run's own config.toml";
}

}  // namespace

void check_continued(const RunConfig& config, const std::map<std::string, std::string>& settings,
                     const ResumePoint& point, const fs::path& file, const fs::path& folder) {
  std::error_code ignored;
  const bool own_file = fs::equivalent(file, folder / "config.toml", ignored);
  auto refused = differences(point.state.settings, settings);
  std::erase_if(refused, [&](const Difference& difference) {
    const ResolvedValue* value = config.find(difference.key);
    if (is_new_key(value, point.state.settings, difference.key)) return true;
    return may_change(value) && (own_file || value->origin.kind == Origin::Kind::kCommandLine);
  });
  if (refused.empty()) return;
  throw Error("checkpoint " + point.folder.string() + " was written with a different configuration:" + listed(refused),
              advice(refused, config));
}

}  // namespace drift
