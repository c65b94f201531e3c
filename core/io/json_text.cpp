#include <core/io/json_text.h>

#include <core/io/atomic.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace drift {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kLongest = 16'000'000;

// Where tokens of a JSON text end.

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
}

// `at` is the opening quote.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

bool is_too_deep(std::string_view text) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      at = skip_string(text, at) - 1;
    } else if (text[at] == '{' || text[at] == '[') {
      if (++depth > kDeepest) return true;
    } else if (text[at] == '}' || text[at] == ']') {
      --depth;
    }
  }
  return false;
}

std::size_t skip_value(std::string_view text, std::size_t at) {
  for (int depth = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
    } else if (c == '{' || c == '[') {
      ++depth, ++at;
    } else if (c == '}' || c == ']') {
      --depth, ++at;
    } else if (depth == 0) {
      return std::min(text.find_first_of(",]} \t\r\n", at), text.size());
    } else {
      ++at;
    }
    if (depth == 0) return at;
  }
  return at;
}

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;  ///< 0: there is none
};

// The value of a key of the object that begins at `at`; the last one if the key occurs twice, as parsers take it.
Span find_value(std::string_view text, std::size_t at, std::string_view key) {
  Span found;
  at = skip_blanks(text, at + 1);
  while (at < text.size() && text[at] == '"') {
    const std::size_t key_end = skip_string(text, at);
    const bool is_wanted = text.substr(at + 1, key_end - at - 2) == key;
    const std::size_t begin = skip_blanks(text, skip_blanks(text, key_end) + 1);
    const std::size_t end = skip_value(text, begin);
    if (is_wanted) found = {begin, end};
    at = skip_blanks(text, skip_blanks(text, end) + 1);
  }
  return found;
}

}  // namespace

nlohmann::json parse_json_object(std::string_view text, const std::string& file) {
  const std::string hint = "the file is damaged: fetch or write it again";
  // Counted in the text: the library's own means, a callback, searches an object's or list's members at the end of each
  // of them, which takes minutes for a list of many.
  if (is_too_deep(text)) throw Error(file + " is nested deeper than " + std::to_string(kDeepest) + " levels", hint);
  // Without exceptions: what is not JSON gives a discarded value.
  nlohmann::json json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_object()) throw Error(file + " is not a JSON object", hint);
  return json;
}

std::string read_json_text(const std::filesystem::path& path) { return read_whole_file(path, kLongest); }

std::string replace_json_value(std::string_view text, const std::vector<std::string_view>& keys,
                               std::string_view value) {
  Span span{skip_blanks(text, 0), text.size()};
  for (const std::string_view key : keys) {
    if (text[span.begin] != '{') return std::string(text);
    span = find_value(text, span.begin, key);
    if (span.end == 0) return std::string(text);
  }
  return std::string(text).replace(span.begin, span.end - span.begin, value);
}

}  // namespace drift
