#include <core/text/byte_alphabet.h>
#include <core/text/tokenizer.h>
#include <core/text/utf8.h>
#include <drift/error.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <utility>

namespace drift {
namespace {

// A byte in words, with its character if that can be shown.
std::string describe_byte(std::string_view text, std::size_t offset) {
  char hexadecimal[8];
  std::snprintf(hexadecimal, sizeof hexadecimal, "0x%02X", static_cast<unsigned char>(text[offset]));
  const std::size_t begin = begin_of_character(text, offset);
  const std::size_t length = utf8_character_length(text.substr(begin));
  const bool shown = begin + length > offset && static_cast<unsigned char>(text[begin]) > ' ' && text[begin] != 0x7F;
  const std::string byte = "byte " + std::string(hexadecimal);
  return shown ? "`" + std::string(text.substr(begin, length)) + "` (" + byte + ")" : byte;
}

std::vector<AddedToken> tokens_where(const TokenizerFile& file, bool normalized) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : file.added) {
    if (token.normalized != normalized) continue;
    tokens.push_back(token);
    std::string storage;
    if (normalized && file.nfc) tokens.back().text = std::string(to_nfc(token.text, storage));
  }
  return tokens;
}

}  // namespace

Tokenizer Tokenizer::open(const std::filesystem::path& path) { return Tokenizer(read_tokenizer_files(path)); }

Tokenizer Tokenizer::parse(std::string_view json, const std::string& name) {
  return Tokenizer(parse_tokenizer_json(json, name));
}

Tokenizer::Tokenizer(TokenizerFile file)
    : bpe_(std::move(file.model)),
      nfc_(file.nfc),
      plain_tokens_(tokens_where(file, /*normalized=*/false)),
      normalized_tokens_(tokens_where(file, /*normalized=*/true)),
      patterns_(file.patterns.begin(), file.patterns.end()) {
  const Vocabulary& vocabulary = bpe_.model().vocabulary;
  const auto at = [&](std::int32_t id) -> Piece& {
    if (static_cast<std::size_t>(id) >= pieces_.size()) pieces_.resize(static_cast<std::size_t>(id) + 1);
    return pieces_[static_cast<std::size_t>(id)];
  };
  pieces_.resize(vocabulary.size());
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const auto [text, id] = vocabulary.entry(i);
    at(id) = {bytes_of_piece(text).value_or(std::string(text)), true, false};
  }
  for (const AddedToken& token : file.added) at(token.id) = {token.text, true, token.special};
}

const Tokenizer::Piece& Tokenizer::entry(std::int64_t id) const {
  if (has_token(id)) return pieces_[static_cast<std::size_t>(id)];
  const bool inside = id >= 0 && id < vocabulary_size();
  throw Error("the token id " + std::to_string(id) +
                  (inside ? " has no token in the vocabulary"
                          : " is outside the vocabulary of " + std::to_string(vocabulary_size()) + " tokens"),
              "use the tokenizer of the checkpoint that made the ids");
}

/// One call of encode(): the ids so far, and memory that is used from part to part.
class Tokenizer::Encoder {
 public:
  Encoder(const Tokenizer& tokenizer, std::string_view text, SpecialTokens special)
      : tokenizer_(tokenizer),
        text_(text),
        with_special_(special == SpecialTokens::kRecognised),
        scratch_(text.size()) {}

  std::vector<std::int64_t> encode() {
    ids_.reserve(text_.size() / 3);
    std::vector<AddedTokens::Part> parts;
    tokenizer_.plain_tokens_.split(text_, with_special_, parts);
    std::vector<AddedTokens::Part> inner;
    for (const AddedTokens::Part& part : parts) {
      if (part.id >= 0) {
        ids_.push_back(part.id);
        continue;
      }
      inner.clear();
      tokenizer_.normalized_tokens_.split(normalized(part.text), with_special_, inner);
      for (const AddedTokens::Part& each : inner) {
        if (each.id >= 0) {
          ids_.push_back(each.id);
        } else {
          encode_text(each.text);
        }
      }
    }
    return std::move(ids_);
  }

 private:
  // The output of BPE stays in place until the end: the scratch memory refers to words by their place.
  std::string_view normalized(std::string_view text) {
    if (!tokenizer_.nfc_) return text;
    std::string storage;
    const std::string_view result = to_nfc(text, storage);
    if (result.data() == text.data()) return text;
    return normalized_.emplace_back(std::move(storage));
  }

  void encode_text(std::string_view text) {
    words_.assign(1, text);
    for (const SplitPattern& pattern : tokenizer_.patterns_) {
      cut_.clear();
      pattern.split(words_, cut_);
      words_.swap(cut_);
    }
    for (const std::string_view word : words_) {
      const std::size_t failed = tokenizer_.bpe_.encode(word, scratch_, ids_);
      if (failed != Bpe::kSpelt) cannot_spell(word, failed);
    }
  }

  [[noreturn]] void cannot_spell(std::string_view word, std::size_t offset) const {
    const bool in_text = normalized_.empty();  // else the place would be one in another text
    const std::size_t place = static_cast<std::size_t>(word.data() - text_.data()) + offset;
    throw Error("the vocabulary has no token for " + describe_byte(word, offset) +
                    (in_text ? " at byte " + std::to_string(place) + " of the text" : ""),
                "use only characters that this checkpoint's tokenizer can represent");
  }

  const Tokenizer& tokenizer_;
  std::string_view text_;
  bool with_special_;
  Bpe::Scratch scratch_;
  std::vector<std::int64_t> ids_;
  std::deque<std::string> normalized_;
  std::vector<std::string_view> words_;
  std::vector<std::string_view> cut_;
};

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, SpecialTokens special) const {
  constexpr std::size_t kLongest = std::size_t{1} << 30;
  if (text.size() > kLongest) throw Error("a text of more than 1 GiB cannot be encoded", "encode it in parts");
  if (is_valid_utf8(text)) return Encoder(*this, text, special).encode();
  const std::string valid = valid_utf8(text);
  return Encoder(*this, valid, special).encode();
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids, bool skip_special) const {
  std::string bytes;
  for (const std::int64_t id : ids) {
    const Piece& piece = entry(id);
    if (!(skip_special && piece.special)) bytes += piece.bytes;
  }
  return valid_utf8(bytes);
}

std::string StreamDecoder::push(std::int64_t id) {
  if (skip_special_ && tokenizer_->is_special(id)) return {};
  waiting_ += tokenizer_->piece(id);
  const std::size_t complete = complete_utf8_length(waiting_);
  std::string text = valid_utf8(std::string_view(waiting_).substr(0, complete));
  waiting_.erase(0, complete);
  return text;
}

std::string StreamDecoder::flush() { return valid_utf8(std::exchange(waiting_, {})); }

}  // namespace drift
