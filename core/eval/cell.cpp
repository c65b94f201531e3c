#include <core/eval/cell.h>

#include <core/io/atomic.h>
#include <core/io/json.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

namespace drift {
std::string EvaluationCell::name() const {
  return task + "-" + std::to_string(length) + (schedule.empty() ? "" : "-" + schedule);
}

void write_settings(const std::filesystem::path& file, const CellSettings& settings) {
  const nlohmann::ordered_json json = {{"checkpoint", settings.checkpoint},
                                       {"checkpoint_checksum", settings.checkpoint_checksum},
                                       {"responses", settings.responses},
                                       {"settings", settings.values}};
  write_file_atomically(file, json_text(json, 1) + "\n");
}

CellSettings read_settings(const std::filesystem::path& file) {
  const nlohmann::json json = read_json_object(file);
  try {
    return {json.at("checkpoint"), json.at("checkpoint_checksum"), json.at("responses"), json.at("settings")};
  } catch (const nlohmann::json::exception& error) {
    throw Error(file.string() + " does not say how its cell was made: " + json_problem(error),
                "the file was changed by another program; choose another folder with --out");
  }
}

}  // namespace drift
