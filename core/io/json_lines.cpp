#include <core/io/json_lines.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <fstream>

namespace drift {

void for_each_json_line(const std::filesystem::path& path, const std::string& hint,
                        const std::function<void(const nlohmann::json&)>& use) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path.string(), hint);
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      const auto object = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
      if (object.is_discarded()) throw Error("the line is not valid JSON");
      if (!object.is_object()) throw Error("the line is not a JSON object");
      use(object);
    } catch (const Error& error) {
      throw Error(path.string() + ":" + std::to_string(number) + ": " + error.what(),
                  error.hint().empty() ? hint : error.hint());
    }
  }
  if (file.bad()) throw Error("cannot read " + path.string());
}

}  // namespace drift
