#include <core/io/json_text.h>

#include <core/io/atomic.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kLongest = 64'000'000;

}  // namespace

nlohmann::json parse_json_object(std::string_view text, const std::string& file) {
  const std::string hint = "the file is damaged: fetch or write it again";
  const auto within_depth = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDeepest) throw Error(file + " is nested deeper than " + std::to_string(kDeepest) + " levels", hint);
    return true;
  };
  // Without exceptions: what is not JSON gives a discarded value.
  nlohmann::json json = nlohmann::json::parse(text.begin(), text.end(), within_depth, false);
  if (!json.is_object()) throw Error(file + " is not a JSON object", hint);
  return json;
}

std::string read_json_text(const std::filesystem::path& path) { return read_whole_file(path, kLongest); }

}  // namespace drift
