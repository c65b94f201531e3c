#include <core/eval/cell.h>

#include <core/io/atomic.h>
#include <core/io/json_text.h>

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
  write_file_atomically(file, json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

CellSettings read_settings(const std::filesystem::path& file) {
  const nlohmann::json json = parse_json_object(read_json_text(file), file.string());
  try {
    return {json.at("checkpoint"), json.at("checkpoint_checksum"), json.at("responses"), json.at("settings")};
  } catch (const nlohmann::json::exception& error) {
    throw Error(file.string() + " does not say what its cell was made with: " + error.what(),
                "the file was changed by something else; choose another folder by --out");
  }
}

}  // namespace drift
