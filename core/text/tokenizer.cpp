#include <core/text/byte_alphabet.h>
#include <core/text/tokenizer.h>
#include <drift/error.h>

#include <algorithm>
#include <cstdio>

namespace drift {
namespace {

// A byte in words, with the character that it belongs to where that can be shown.
std::string describe_byte(std::string_view text, std::size_t offset) {
  char hexadecimal[8];
  std::snprintf(hexadecimal, sizeof hexadecimal, "0x%02X", static_cast<unsigned char>(text[offset]));
  std::size_t begin = offset;
  while (begin > 0 && offset - begin < 3 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  const std::size_t length = utf8_character_length(text.substr(begin));
  const bool shown = begin + length > offset && static_cast<unsigned char>(text[begin]) > ' ' && text[begin] != 0x7F;
  const std::string byte = "byte " + std::string(hexadecimal);
  return shown ? "`" + std::string(text.substr(begin, length)) + "` (" + byte + ")" : byte;
}

}  // namespace

Tokenizer Tokenizer::open(const std::filesystem::path& folder) {
  return Tokenizer(read_tokenizer_file(folder / "tokenizer.json"));
}

Tokenizer::Tokenizer(TokenizerFile file) : file_(std::move(file)) {
  for (std::size_t id = 0; id < file_.pieces.size(); ++id) {
    const TokenizerFile::Piece& piece = file_.pieces[id];
    id_of_text_.emplace(piece.bytes, id);
    if (piece.added) {
      id_of_text_[piece.bytes] = static_cast<std::int64_t>(id);
      added_by_first_byte_[static_cast<unsigned char>(piece.bytes[0])].push_back(static_cast<std::int64_t>(id));
    }
  }
  for (auto& ids : added_by_first_byte_) {
    const auto longer = [&](std::int64_t a, std::int64_t b) { return piece(a).size() > piece(b).size(); };
    std::stable_sort(ids.begin(), ids.end(), longer);
  }
  for (std::size_t rank = 0; rank < file_.merges.size(); ++rank) {
    rank_of_pair_.emplace(std::pair(file_.merges[rank].left, file_.merges[rank].right), rank);
  }
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text) const {
  std::vector<std::int64_t> ids;
  std::size_t segment = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    if (const std::int64_t* added = added_token_at(text.substr(at))) {
      encode_segment(text, segment, at, ids);
      ids.push_back(*added);
      at += piece(*added).size();
      segment = at;
    } else {
      ++at;
    }
  }
  encode_segment(text, segment, text.size(), ids);
  return ids;
}

const std::int64_t* Tokenizer::added_token_at(std::string_view text) const {
  for (const std::int64_t& id : added_by_first_byte_[static_cast<unsigned char>(text[0])]) {
    if (text.starts_with(piece(id))) return &id;
  }
  return nullptr;
}

void Tokenizer::encode_segment(std::string_view text, std::size_t begin, std::size_t end,
                               std::vector<std::int64_t>& ids) const {
  std::vector<std::int64_t> symbols;
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t id = file_.byte_id[static_cast<unsigned char>(text[i])];
    if (id < 0) {
      throw Error("the vocabulary has no token for " + describe_byte(text, i) + " at byte " + std::to_string(i) +
                      " of the text",
                  "write the text in the characters that this checkpoint's tokenizer.json knows");
    }
    symbols.push_back(id);
  }
  merge(symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

// Until no pair of neighbours is left to merge: the pair of lowest rank, everywhere it occurs, from left to right.
void Tokenizer::merge(std::vector<std::int64_t>& symbols) const {
  if (file_.merges.empty()) return;
  for (;;) {
    std::size_t best = file_.merges.size();
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = rank_of_pair_.find({symbols[i], symbols[i + 1]});
      if (found != rank_of_pair_.end()) best = std::min(best, found->second);
    }
    if (best == file_.merges.size()) return;
    const TokenizerFile::Merge& merge = file_.merges[best];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < symbols.size(); ++i, ++kept) {
      const bool pair = symbols[i] == merge.left && i + 1 < symbols.size() && symbols[i + 1] == merge.right;
      symbols[kept] = pair ? merge.result : symbols[i];
      if (pair) ++i;
    }
    symbols.resize(kept);
  }
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids, bool skip_special) const {
  std::string bytes;
  for (const std::int64_t id : ids) {
    const std::string& text = piece(id);
    if (!(skip_special && file_.pieces[static_cast<std::size_t>(id)].special)) bytes += text;
  }
  return valid_utf8(bytes);
}

const std::string& Tokenizer::piece(std::int64_t id) const {
  if (id < 0 || id >= vocabulary_size()) {
    throw Error("the token id " + std::to_string(id) + " is outside the vocabulary of " +
                    std::to_string(vocabulary_size()) + " tokens",
                "use the tokenizer.json of the checkpoint that the ids come from");
  }
  return file_.pieces[static_cast<std::size_t>(id)].bytes;
}

std::optional<std::int64_t> Tokenizer::token_id(std::string_view text) const {
  const auto found = id_of_text_.find(std::string(text));
  if (found == id_of_text_.end()) return std::nullopt;
  return found->second;
}

}  // namespace drift
