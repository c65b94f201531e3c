#include <core/base/quote.h>
#include <core/io/file_error.h>
#include <core/text/json_file.h>

#include <new>

namespace drift {

JsonFile::JsonFile(const std::filesystem::path& path, const TokenizerFileBuilder& builder) : builder_(&builder) {
  require_regular_file(path);
  simdjson::padded_string json;
  if (simdjson::padded_string::load(path.string()).get(json) != simdjson::SUCCESS) {
    builder.fail("the file cannot be opened",
                 "a checkpoint folder needs a tokenizer.json, or a vocab.json and a merges.txt");
  }
  take(json);
}

JsonFile::JsonFile(std::string_view json, const TokenizerFileBuilder& builder) : builder_(&builder) {
  take(simdjson::padded_string(json));
}

void JsonFile::take(const simdjson::padded_string& json) {
  const auto error = parser_.parse(json).get(root_);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error != simdjson::SUCCESS) {
    builder_->damaged(std::string("it is not valid JSON: ") + simdjson::error_message(error));
  }
  if (!root_.is_object()) builder_->damaged("it is not a JSON object");
}

std::optional<JsonValue> JsonFile::find(JsonValue object, std::string_view key) {
  JsonValue value;
  if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return value;
}

JsonValue JsonFile::member(JsonValue object, std::string_view key) const {
  const auto value = find(object, key);
  if (!value) builder_->damaged("the key " + quoted_name(key) + " is missing");
  return *value;
}

simdjson::dom::object JsonFile::object(JsonValue value, const std::string& name) const {
  simdjson::dom::object object;
  if (value.get(object) != simdjson::SUCCESS) builder_->damaged(name + " is not an object");
  return object;
}

simdjson::dom::array JsonFile::list(JsonValue value, const std::string& name) const {
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) builder_->damaged(name + " is not a list");
  return list;
}

std::string_view JsonFile::text(JsonValue object, std::string_view key) const {
  std::string_view text;
  if (member(object, key).get(text) != simdjson::SUCCESS) builder_->damaged(quoted_name(key) + " is not a text");
  return text;
}

bool JsonFile::flag(JsonValue object, std::string_view key, bool otherwise) const {
  const auto value = find(object, key);
  bool flag = otherwise;
  if (value && value->get(flag) != simdjson::SUCCESS)
    builder_->damaged(quoted_name(key) + " is neither true nor false");
  return flag;
}

std::int32_t JsonFile::id(JsonValue value, std::string_view piece) const {
  std::uint64_t id = 0;
  if (value.get(id) != simdjson::SUCCESS || id >= static_cast<std::uint64_t>(kTokenIdLimit)) {
    builder_->damaged("the id of " + quoted_name(piece) + " is not a number between 0 and " +
                      std::to_string(kTokenIdLimit - 1));
  }
  return static_cast<std::int32_t>(id);
}

AddedToken JsonFile::added_token(JsonValue object, std::string_view text, std::int32_t id) const {
  if (text.empty()) builder_->damaged("an added token has no text");
  AddedToken token;
  token.id = id;
  token.text = text;
  token.special = flag(object, "special", false);
  token.single_word = flag(object, "single_word", false);
  token.lstrip = flag(object, "lstrip", false);
  token.rstrip = flag(object, "rstrip", false);
  token.normalized = flag(object, "normalized", false);
  return token;
}

}  // namespace drift
