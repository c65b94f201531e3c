#include <core/cli/command.h>
#include <core/cli/printing.h>
#include <core/text/tokenizer.h>
#include <core/text/utf8.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace drift {
namespace {
using Ids = std::vector<std::int64_t>;

struct TokenizeOptions {
  std::filesystem::path tokenizer;
  std::optional<std::string> text;
  std::filesystem::path in;
  bool decode = false;
  Ids ids;  ///< of --decode
  bool keep_special = false;
  bool json = false;
};

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
  Printer(const Tokenizer& tokenizer, const TokenizeOptions& options) : tokenizer_(tokenizer), options_(options) {}

  void encode(const std::string& text) {
    const Ids ids = tokenizer_.encode(text);
    if (options_.json) {
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
    std::string text = tokenizer_.decode(ids, !options_.keep_special);
    if (options_.json) text = json_text(Json{{"text", text}});
    std::cout << (is_terminal_ ? printable(text) : text) << "\n";
  }

 private:
  const Tokenizer& tokenizer_;
  const TokenizeOptions& options_;
  const bool is_terminal_ = detect_terminal(1).is_terminal;
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

int tokenize(const TokenizeOptions& options) {
  if ((options.text ? 1 : 0) + (options.in.empty() ? 0 : 1) + (options.ids.empty() ? 0 : 1) > 1)
    throw UsageError("`drift tokenize` expects one of --text, --in and the ids of --decode", "leave out the others");
  if (options.decode && options.text) throw UsageError("--decode does not take --text", "give ids: --decode 2,17,5");
  if (options.decode && options.ids.empty() && options.in.empty())
    throw UsageError("--decode expects token ids, or a file of them", "for example: --decode 2,17,5");
  const Tokenizer tokenizer = Tokenizer::open(options.tokenizer);
  Printer print(tokenizer, options);
  if (!options.in.empty() && options.decode) {
    for_each_json_line(options.in, kRecordHint,
                       [&](const nlohmann::json& object, std::string_view) { print.decode(ids_of(object)); });
  } else if (!options.in.empty()) {
    for_each_json_line(options.in, kRecordHint,
                       [&](const nlohmann::json& object, std::string_view) { print.encode(text_of(object)); });
  } else if (options.decode) {
    print.decode(options.ids);
  } else {
    print.encode(options.text ? *options.text : std::string(std::istreambuf_iterator<char>(std::cin), {}));
  }
  return 0;
}

}  // namespace

Command tokenize_command() {
  return make_command<TokenizeOptions>(
      {"tokenize", "text to token ids and back, as a checkpoint's tokenizer has them",
       "PATH is a checkpoint folder or a tokenizer.json.", "tokenize runs/quickstart/checkpoints/last --text 1234"},
      tokenize, [](OptionList& list, TokenizeOptions& options) {
        list.argument("PATH", options.tokenizer);
        list.add("text", "TEXT", "the text; default: standard input", options.text);
        Option& decode =
            list.add("decode", "1,2,3", "turn token ids into text; without ids, those of --in", options.ids);
        decode.value_is_optional = true;
        decode.take = [&options, take_ids = decode.take](const std::string& ids) {
          options.decode = true;
          take_ids(ids);
        };
        list.add_switch("keep-special", "with --decode: keep special tokens in the text", options.keep_special);
        list.add("in", "FILE", "JSON Lines: a record with `text`, or with --decode with `ids`, on each line",
                 options.in);
        list.add_switch("json", "print JSON instead of text", options.json);
      });
}

}  // namespace drift
