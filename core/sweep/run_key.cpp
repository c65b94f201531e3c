#include <core/sweep/run_key.h>

#include <core/io/checkpoint.h>
#include <core/io/checksum.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace drift {
namespace {

namespace fs = std::filesystem;

bool counts(std::string_view section, std::string_view name) {
  constexpr std::array<std::string_view, 4> kBookkeeping = {"run.name", "plugins.paths", "train.checkpoint_every",
                                                            "train.keep_checkpoints"};
  return std::ranges::count(kBookkeeping, std::string(section) + "." + std::string(name)) == 0;
}

}  // namespace

std::string RunKeys::key(const RunConfig& config) {
  std::string text;
  for (const ResolvedSection& section : config.sections()) {
    for (const ResolvedValue& value : section.values) {
      if (!counts(section.name, value.name)) continue;
      const auto* path = std::get_if<std::string>(&value.value);
      const std::string found = path != nullptr && path->starts_with('/') ? content(*path) : "";
      text += section.name + "." + value.name + "=" + (found.empty() ? to_toml(value.value) : found) + "\n";
    }
  }
  return checksum(text);
}

/// Empty where there is nothing at `path`.
std::string RunKeys::content(const fs::path& path) {
  std::error_code failed;
  const bool is_file = fs::is_regular_file(path, failed);
  if (!is_file && !fs::is_directory(path, failed)) return {};
  const auto [known, is_new] = contents_.emplace(path, "");
  if (!is_new) return known->second;
  if (is_file) return known->second = "content " + file_checksum(path);
  return known->second = "content " + checkpoint_checksum(path);
}

}  // namespace drift
