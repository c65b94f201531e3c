#include <core/io/json.h>

#include <core/base/characters.h>
#include <core/base/limits.h>
#include <core/base/unknown.h>
#include <core/io/atomic.h>
#include <core/io/file_error.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fstream>

namespace drift {
namespace {

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
      if (++depth > kDeepestNesting) return true;
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

// What a text means that stands between quotes in JSON.
std::string unescaped(std::string_view quoted) {
  const std::string_view plain = quoted.substr(1, quoted.size() - 2);
  return plain.find('\\') == plain.npos ? std::string(plain) : nlohmann::json::parse(quoted).get<std::string>();
}

// The value of a key of the object that begins at `at`; the last one if the key occurs twice, as parsers take it.
Span find_value(std::string_view text, std::size_t at, std::string_view key) {
  Span found;
  at = skip_blanks(text, at + 1);
  while (at < text.size() && text[at] == '"') {
    const std::size_t key_end = skip_string(text, at);
    const bool is_wanted = unescaped(text.substr(at, key_end - at)) == key;
    const std::size_t begin = skip_blanks(text, skip_blanks(text, key_end) + 1);
    const std::size_t end = skip_value(text, begin);
    if (is_wanted) found = {begin, end};
    at = skip_blanks(text, skip_blanks(text, end) + 1);
  }
  return found;
}

/// @param kind  what the text should be: "valid JSON"
template <class JsonType>
JsonType parsed(std::string_view text, const std::string& where, const char* kind, const std::string& hint) {
  // Counted in the text: the library's own means, a callback, searches an object's or list's members at the end of each
  // of them, which takes minutes for a list of many.
  if (is_too_deep(text))
    throw Error(where + " is nested deeper than " + std::to_string(kDeepestNesting) + " levels", hint);
  try {
    return JsonType::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(where + " is not " + kind + ": " + json_problem(error), hint);
  } catch (const nlohmann::json::out_of_range& error) {  // "number overflow parsing 'NUMBER'"
    throw Error(where + " is not usable: " + json_problem(error), hint);
  }
}

/// The library escapes control characters below U+0020; the others that act on a terminal are escaped here.
std::string without_terminal_codes(std::string text) {
  const auto may_act = [](char c) { return c == '\x7f' || c == '\xc2' || c == '\xd8' || c == '\xe2'; };
  if (std::ranges::none_of(text, may_act)) return text;
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::int32_t c, std::string_view character) {
    if (acts_on_terminals(c) && c != '\n') {
      std::array<char, 16> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      out += code.data();
    } else {
      out += character;
    }
  });
  return out;
}

template <class JsonType>
double number_of(const JsonType& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->template get<double>() : kUnknown;
}

}  // namespace

std::string json_problem(const std::exception& error) {
  const std::string what = error.what();
  const auto line = what.find("line "), bracket = what.find("] ");
  if (dynamic_cast<const nlohmann::json::parse_error*>(&error) != nullptr && line != std::string::npos)
    return what.substr(line, what.find("; last read") - line);  // what was read may be long
  return bracket == std::string::npos ? what : what.substr(bracket + 2);
}

template <class JsonType>
JsonType parse_json(std::string_view text, const std::string& where, const std::string& hint) {
  return parsed<JsonType>(text, where, "valid JSON", hint);
}

template nlohmann::json parse_json(std::string_view, const std::string&, const std::string&);
template nlohmann::ordered_json parse_json(std::string_view, const std::string&, const std::string&);

nlohmann::json parse_json_object(std::string_view text, const std::string& where, const std::string& hint) {
  nlohmann::json json = parsed<nlohmann::json>(text, where, "a JSON object", hint);
  if (!json.is_object()) throw Error(where + " is not a JSON object", hint);
  return json;
}

std::string read_json_text(const std::filesystem::path& path) { return read_whole_file(path, kLongest); }

nlohmann::json read_json_object(const std::filesystem::path& path) {
  return parse_json_object(read_json_text(path), path.string());
}

void for_each_json_line(const std::filesystem::path& path, const std::string& hint,
                        const std::function<void(const nlohmann::json&, std::string_view)>& use) {
  require_regular_file(path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path.string(), hint);
  std::int64_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (skip_blanks(line, 0) == line.size()) continue;
    try {
      use(parse_json_object(line, "the line", hint), line);
    } catch (const Error& error) {
      throw Error(path.string() + ":" + std::to_string(number) + ": " + error.what(),
                  error.hint().empty() ? hint : error.hint());
    }
  }
  if (file.bad()) throw Error("cannot read " + path.string());
}

std::string json_text(const nlohmann::json& value, int indent) {
  return without_terminal_codes(value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return without_terminal_codes(value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

std::string_view json_source(std::string_view text, std::string_view key) {
  const Span span = find_value(text, skip_blanks(text, 0), key);
  return text.substr(span.begin, span.end - span.begin);
}

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

double json_number(const nlohmann::json& object, const char* name) { return number_of(object, name); }

double json_number(const nlohmann::ordered_json& object, const char* name) { return number_of(object, name); }

}  // namespace drift
