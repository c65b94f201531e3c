#include <core/io/training_state.h>

#include <core/io/atomic.h>
#include <core/io/checksum.h>
#include <core/io/file_error.h>
#include <core/io/json.h>
#include <core/io/safetensors.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <system_error>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFormat = 2;
constexpr const char* kStateFile = "training_state.json";
constexpr const char* kStateTensors = "training_state.safetensors";

nlohmann::json checksums_of(const fs::path& folder) {
  nlohmann::json files = nlohmann::json::object();
  for (const fs::path& entry : entries_of(folder)) {
    std::error_code failed;
    const auto bytes = fs::file_size(entry, failed);
    if (failed) throw_file_error("read", entry, failed.value());
    files[entry.filename().string()] = {{"bytes", bytes}, {"xxh3", file_checksum(entry)}};
  }
  return files;
}

// The text of a state without its checksum: keys are sorted, so it is always the same.
std::string text_without_checksum(nlohmann::json json) {
  json.erase("checksum");
  return json.dump();
}

// Empty if the file is what was written.
std::string difference(const fs::path& path, const nlohmann::json& expected) {
  std::error_code failed;
  const auto size = fs::file_size(path, failed);
  if (failed) return "is missing";
  if (size != expected.at("bytes").get<std::uintmax_t>()) {
    return "has " + std::to_string(size) + " bytes, written were " + expected.at("bytes").dump();
  }
  const std::string found = file_checksum(path);
  const std::string written = expected.at("xxh3").get<std::string>();
  return found == written ? "" : "has the checksum " + found + ", but " + written + " was written";
}

void compare_files(const fs::path& folder, const nlohmann::json& files) {
  std::string problems;
  for (const auto& [name, expected] : files.items()) {
    const std::string problem = difference(folder / name, expected);
    if (!problem.empty()) problems += "\n  " + name + " " + problem;
  }
  if (!problems.empty()) throw Error("checkpoint " + folder.string() + " is damaged:" + problems);
}

nlohmann::json read_state_json(const fs::path& folder) {
  const fs::path path = folder / kStateFile;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) throw Error("there is no checkpoint folder " + folder.string());
  if (!fs::exists(path, ignored)) {
    throw Error("checkpoint " + folder.string() + " has no training state (" + kStateFile + ")",
                "weights alone can start a new run, but cannot continue one");
  }
  const nlohmann::json json = read_json_object(path);
  if (!json.contains("format"))
    throw Error("checkpoint " + folder.string() + " is damaged: " + kStateFile + " has no format");
  if (json["format"] != kFormat) {
    throw Error("checkpoint " + folder.string() + " has a training state of format " + json["format"].dump() +
                    "; this program reads format " + std::to_string(kFormat),
                "continue with the version of Drift that wrote it");
  }
  if (!json.contains("checksum") || json["checksum"] != checksum(text_without_checksum(json))) {
    throw Error("checkpoint " + folder.string() + " is damaged: " + kStateFile + " differs from what was written");
  }
  return json;
}

}  // namespace

void write_training_state(const fs::path& folder, const TrainingState& state) {
  write_safetensors(folder / kStateTensors, state.tensors, kPlainMetadata, {}, state.complete);
  nlohmann::json json = {{"format", kFormat},          {"step", state.step},     {"seed", state.seed},
                         {"settings", state.settings}, {"values", state.values}, {"files", checksums_of(folder)}};
  json["checksum"] = checksum(text_without_checksum(json));
  write_file_atomically(folder / kStateFile, json_text(json, 2) + "\n");
}

void verify_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / kStateFile, ignored)) return;
  const nlohmann::json json = read_state_json(folder);
  if (json.contains("files")) compare_files(folder, json["files"]);
}

TrainingState read_training_state(const fs::path& folder) {
  const nlohmann::json json = read_state_json(folder);
  TrainingState state;
  try {
    compare_files(folder, json.at("files"));
    json.at("step").get_to(state.step);
    json.at("seed").get_to(state.seed);
    json.at("settings").get_to(state.settings);
    json.at("values").get_to(state.values);
  } catch (const nlohmann::json::exception&) {  // the checksum is right, the fields are not: another program wrote it
    throw Error("checkpoint " + folder.string() + " is damaged: " + kStateFile + " lacks a field");
  }
  const SafetensorsFile file(folder / kStateTensors);
  for (const SafetensorsEntry& entry : file.entries()) state.tensors.push_back({entry.name, file.tensor(entry.name)});
  return state;
}

}  // namespace drift
