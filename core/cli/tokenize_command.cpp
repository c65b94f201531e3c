#include <core/cli/command.h>
#include <core/io/json.h>
#include <core/report/text_table.h>
#include <core/text/tokenizer.h>
#include <core/text/utf8.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <iterator>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;
using Ids = std::vector<std::int64_t>;

// A token between quotes; what cannot be shown is escaped, byte by byte.
std::string shown(std::string_view bytes) {
  std::string text = "\"";
  while (!bytes.empty()) {
    const auto byte = static_cast<unsigned char>(bytes[0]);
    const std::size_t character = byte >= ' ' && byte != 0x7F ? utf8_character_length(bytes) : 0;
    const bool visible = character > 0;
    const std::size_t length = visible ? character : 1;
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\x%02X", static_cast<unsigned>(byte));
    switch (bytes[0]) {
      case '\n': text += "\\n"; break;
      case '\r': text += "\\r"; break;
      case '\t': text += "\\t"; break;
      case '"':
      case '\\': text += {'\\', bytes[0]}; break;
      default: text += visible ? bytes.substr(0, length) : std::string_view(escaped);
    }
    bytes.remove_prefix(length);
  }
  return text + "\"";
}

class Printer {
 public:
  Printer(const Tokenizer& tokenizer, const CommandLine& line) : tokenizer_(tokenizer), line_(line) {}

  void encode(const std::string& text) {
    const Ids ids = tokenizer_.encode(text);
    if (line_.json) {
      Json object = {{"ids", ids}, {"pieces", Json::array()}};
      for (const std::int64_t id : ids) object["pieces"].push_back(valid_utf8(tokenizer_.piece(id)));
      std::cout << json_text(object) << "\n";
      return;
    }
    TextTable table{{"id", "piece", ""}, {true}};
    for (const std::int64_t id : ids)
      table.rows.push_back(
          {std::to_string(id), shown(tokenizer_.piece(id)), tokenizer_.is_special(id) ? "special" : ""});
    std::cout << (count_++ > 0 ? "\n" : "") << to_text(table);
  }

  void decode(const Ids& ids) {
    std::string text = tokenizer_.decode(ids, !line_.keep_special);
    if (line_.clean_up) text = clean_up_spaces(text);
    std::cout << (line_.json ? json_text(Json{{"text", text}}) : text) << "\n";
  }

 private:
  const Tokenizer& tokenizer_;
  const CommandLine& line_;
  std::int64_t count_ = 0;
};

std::string text_of(const nlohmann::json& object) {
  if (!object.contains("text")) throw Error("`text` is missing");
  if (!object["text"].is_string()) throw Error("`text` is not a text");
  return object["text"].get<std::string>();
}

Ids ids_of(const nlohmann::json& object) {
  if (!object.contains("ids")) throw Error("`ids` is missing");
  const auto is_id = [](const nlohmann::json& id) { return id.is_number_unsigned() && id <= kTokenIdLimit; };
  if (!object["ids"].is_array() || !std::ranges::all_of(object["ids"], is_id)) {
    throw Error("`ids` is not a list of token ids");
  }
  return object["ids"].get<Ids>();
}

const char* const kRecordHint = "every line is one JSON object: {\"text\": …}, with --decode {\"ids\": [ … ]}";

}  // namespace

int run_tokenize(const CommandLine& line) {
  const Tokenizer tokenizer = Tokenizer::open(line.name);
  Printer print(tokenizer, line);
  if (!line.in.empty() && line.decode) {
    for_each_json_line(line.in, kRecordHint, [&](const nlohmann::json& object) { print.decode(ids_of(object)); });
  } else if (!line.in.empty()) {
    for_each_json_line(line.in, kRecordHint, [&](const nlohmann::json& object) { print.encode(text_of(object)); });
  } else if (line.decode) {
    print.decode(line.token_ids);
  } else {
    print.encode(line.text ? *line.text : std::string(std::istreambuf_iterator<char>(std::cin), {}));
  }
  return 0;
}

}  // namespace drift
