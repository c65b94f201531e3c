#include <core/text/json_file.h>
#include <core/text/patterns.h>
#include <core/text/tokenizer_file.h>

#include <utility>

namespace drift {
namespace {

class Reader {
 public:
  Reader(const JsonFile& json, TokenizerFileBuilder& builder) : json_(json), builder_(builder) {}

  void read() {
    const JsonValue root = json_.root();
    // `truncation` and `padding` are not read: whoever makes a batch pads it.
    if (const auto part = JsonFile::find(root, "normalizer")) read_normaliser(*part);
    builder_.file().model.byte_level = false;
    if (const auto part = JsonFile::find(root, "pre_tokenizer")) read_pre_tokeniser(*part);
    if (const auto part = JsonFile::find(root, "post_processor")) check_post_processor(*part);
    const auto decoder = JsonFile::find(root, "decoder");
    if (!decoder) builder_.unknown("decoder null");
    check_decoder(*decoder);
    const JsonValue model = json_.member(root, "model");
    read_settings(model);
    read_vocabulary(json_.member(model, "vocab"));
    if (const auto merges = JsonFile::find(model, "merges")) read_merges(*merges);
    if (const auto tokens = JsonFile::find(root, "added_tokens")) read_added_tokens(*tokens);
    read_unknown(model);
  }

 private:
  std::string kind(JsonValue part) const { return std::string(json_.text(part, "type")); }

  void read_normaliser(JsonValue part) {
    const std::string type = kind(part);
    if (type == "NFC") {
      builder_.file().nfc = true;
    } else if (type == "Sequence") {
      for (const JsonValue each : json_.list(json_.member(part, "normalizers"), "normalizers")) read_normaliser(each);
    } else {
      builder_.unknown("normalizer " + type);
    }
  }

  void read_pre_tokeniser(JsonValue part) {
    const std::string type = kind(part);
    if (type == "Sequence") {
      for (const JsonValue each : json_.list(json_.member(part, "pretokenizers"), "pretokenizers"))
        read_pre_tokeniser(each);
      return;
    }
    TokenizerFile& file = builder_.file();
    // What follows would see the byte alphabet instead of the text.
    if (file.model.byte_level) builder_.unknown("pre_tokenizer " + type + " after ByteLevel");
    if (type == "Split") {
      read_split(part);
    } else if (type == "ByteLevel") {
      if (json_.flag(part, "add_prefix_space", true)) builder_.unknown("pre_tokenizer ByteLevel with add_prefix_space");
      if (json_.flag(part, "use_regex", true)) file.patterns.emplace_back(kByteLevelPattern);
      file.model.byte_level = true;
    } else {
      builder_.unknown("pre_tokenizer " + type);
    }
  }

  void read_split(JsonValue part) {
    const auto pattern = JsonFile::find(json_.member(part, "pattern"), "Regex");
    if (!pattern) builder_.unknown("pre_tokenizer Split with a pattern other than Regex");
    const std::string_view behaviour = json_.text(part, "behavior");
    if (behaviour != "Isolated") builder_.unknown("pre_tokenizer Split with behavior " + std::string(behaviour));
    if (json_.flag(part, "invert", false)) builder_.unknown("pre_tokenizer Split with invert");
    builder_.file().patterns.emplace_back(json_.text(json_.member(part, "pattern"), "Regex"));
  }

  // Encoding adds nothing to a text, so a post-processor may not either. ByteLevel moves offsets only.
  void check_post_processor(JsonValue part) const {
    const std::string type = kind(part);
    if (type == "Sequence") {
      for (const JsonValue each : json_.list(json_.member(part, "processors"), "processors"))
        check_post_processor(each);
    } else if (type == "TemplateProcessing") {
      const auto items = json_.list(json_.member(part, "single"), "single");
      const bool adds = items.size() != 1 || !JsonFile::find(items.at(0).value(), "Sequence");
      if (adds) builder_.unknown("post_processor TemplateProcessing that adds tokens");
    } else if (type != "ByteLevel") {
      builder_.unknown("post_processor " + type);
    }
  }

  void check_decoder(JsonValue part) const {
    const std::string type = kind(part);
    if (type == "ByteLevel") return;
    if (type != "Sequence") builder_.unknown("decoder " + type);
    const auto decoders = json_.list(json_.member(part, "decoders"), "decoders");
    if (decoders.size() != 1) builder_.unknown("decoder Sequence of " + std::to_string(decoders.size()));
    check_decoder(decoders.at(0).value());
  }

  void read_settings(JsonValue model) {
    const std::string type = kind(model);
    if (type != "BPE") builder_.unknown("model " + type);
    BpeModel& bpe = builder_.file().model;
    bpe.byte_fallback = json_.flag(model, "byte_fallback", false);
    bpe.ignore_merges = json_.flag(model, "ignore_merges", false);
    bpe.fuse_unknown = json_.flag(model, "fuse_unk", false);
    double dropout = 0;
    if (const auto value = JsonFile::find(model, "dropout"); value && (value->get(dropout) != 0 || dropout != 0)) {
      builder_.unknown("model BPE with dropout");
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (JsonFile::find(model, key) && !json_.text(model, key).empty()) {
        builder_.unknown("model BPE with " + std::string(key));
      }
    }
  }

  void read_vocabulary(JsonValue value) {
    const auto vocabulary = json_.object(value, "model.vocab");
    builder_.file().model.vocabulary.reserve(vocabulary.size());
    for (const auto [piece, id] : vocabulary) builder_.add_piece(piece, json_.id(id, piece));
  }

  // "left right", or ["left", "right"] in newer files.
  void read_merges(JsonValue value) {
    const auto merges = json_.list(value, "model.merges");
    builder_.file().model.merges.reserve(merges.size());
    for (const JsonValue merge : merges) {
      std::string_view text;
      if (merge.get(text) == simdjson::SUCCESS) {
        builder_.add_merge(text);
        continue;
      }
      simdjson::dom::array pair;
      std::string_view left;
      std::string_view right;
      if (merge.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(left) != simdjson::SUCCESS ||
          pair.at(1).get(right) != simdjson::SUCCESS) {
        builder_.no_pair();
      }
      builder_.add_merge(left, right);
    }
  }

  void read_added_tokens(JsonValue value) {
    for (const JsonValue token : json_.list(value, "added_tokens")) {
      const std::string_view content = json_.text(token, "content");
      builder_.add_token(json_.added_token(token, content, json_.id(json_.member(token, "id"), content)));
    }
  }

  // A file may name an unknown token that it does not have: with all bytes in the vocabulary it is never needed.
  void read_unknown(JsonValue model) {
    BpeModel& bpe = builder_.file().model;
    if (JsonFile::find(model, "unk_token")) bpe.unknown = bpe.vocabulary.find(json_.text(model, "unk_token"));
  }

  const JsonFile& json_;
  TokenizerFileBuilder& builder_;
};

TokenizerFile read(const JsonFile& json, TokenizerFileBuilder& builder) {
  Reader(json, builder).read();
  return std::move(builder.file());
}

}  // namespace

TokenizerFile parse_tokenizer_json(std::string_view json, const std::string& name) {
  TokenizerFileBuilder builder(name);
  return read(JsonFile(json, builder), builder);
}

TokenizerFile read_tokenizer_json(const std::filesystem::path& path) {
  TokenizerFileBuilder builder(path.string());
  return read(JsonFile(path, builder), builder);
}

}  // namespace drift
