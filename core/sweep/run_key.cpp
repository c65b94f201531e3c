#include <core/sweep/run_key.h>

#include <core/io/checksum.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;

bool counts(std::string_view section, std::string_view name) {
  constexpr std::array<std::string_view, 4> kBookkeeping = {"run.name", "plugins.paths", "train.checkpoint_every",
                                                            "train.keep_checkpoints"};
  return std::ranges::count(kBookkeeping, std::string(section) + "." + std::string(name)) == 0;
}

/// What a model or a tokenizer is made of; notes that lie beside them change nothing.
bool is_checkpoint_file(const fs::path& path) {
  constexpr std::array<std::string_view, 3> kExtensions = {".json", ".safetensors", ".txt"};
  return std::ranges::count(kExtensions, path.extension().string()) > 0;
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
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file(failed) && is_checkpoint_file(entry.path())) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::string text;
  for (const fs::path& file : files) text += file.filename().string() + " " + file_checksum(file) + "\n";
  return known->second = "content " + checksum(text);
}

}  // namespace drift
