#pragma once

#include <core/text/tokenizer_file.h>

#include <simdjson.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace drift {

using JsonValue = simdjson::dom::element;

/// One JSON file of a tokenizer, parsed and checked completely (at most 1024 levels deep), and its values with errors
/// in the builder's words.
class JsonFile {
 public:
  /// @throws Error if the file cannot be read, is not valid JSON, or is not an object
  JsonFile(const std::filesystem::path& path, const TokenizerFileBuilder& builder);
  JsonFile(std::string_view json, const TokenizerFileBuilder& builder);

  JsonValue root() const { return root_; }

  /// The value of a key; nothing if it is missing or null, or if `object` is not an object.
  static std::optional<JsonValue> find(JsonValue object, std::string_view key);
  JsonValue member(JsonValue object, std::string_view key) const;
  /// @param name  what the message calls a value that is not an object
  simdjson::dom::object object(JsonValue value, const std::string& name) const;
  simdjson::dom::array list(JsonValue value, const std::string& name) const;
  /// The text of a key.
  std::string_view text(JsonValue object, std::string_view key) const;
  /// A flag; `otherwise` if it is missing.
  bool flag(JsonValue object, std::string_view key, bool otherwise) const;
  /// A token id. @param piece  whose id it is, for the message
  std::int32_t id(JsonValue value, std::string_view piece) const;
  /// An added token with the flags that `object` has.
  AddedToken added_token(JsonValue object, std::string_view text, std::int32_t id) const;

 private:
  void take(const simdjson::padded_string& json);

  const TokenizerFileBuilder* builder_;
  simdjson::dom::parser parser_;
  JsonValue root_;
};

/// @param path  a tokenizer.json
TokenizerFile read_tokenizer_json(const std::filesystem::path& path);

}  // namespace drift
