#include <core/base/quote.h>
#include <core/io/file_error.h>
#include <core/text/json_file.h>
#include <core/text/tokenizer_file.h>
#include <drift/error.h>

#include <utility>

namespace drift {
namespace {

constexpr std::int32_t kFree = -1;

}  // namespace

void TokenizerFileBuilder::fail(const std::string& what, const std::string& hint) const {
  throw Error("cannot use the tokenizer " + name_ + ": " + what, hint);
}

void TokenizerFileBuilder::damaged(const std::string& what) const {
  fail(what, "the file is damaged; copy it again from the source of the checkpoint");
}

void TokenizerFileBuilder::unknown(const std::string& what) const {
  fail(what + " is not supported",
       "byte-level BPE with NFC and split patterns is; use the tokenizer.json of a checkpoint with these");
}

std::string_view TokenizerFileBuilder::text_of_owner(std::int32_t owner) const {
  if (owner >= 0) return file_.model.vocabulary.entry(static_cast<std::size_t>(owner)).text;
  return file_.added[static_cast<std::size_t>(-2 - owner)].text;
}

void TokenizerFileBuilder::claim(std::int32_t id, std::string_view text, std::int32_t owner) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= owner_.size()) owner_.resize(index + 1, kFree);
  if (owner_[index] == kFree) owner_[index] = owner;
  const std::string_view other = text_of_owner(owner_[index]);
  if (other != text) {
    damaged("the id " + std::to_string(id) + " belongs to " + quoted_name(other) + " and to " + quoted_name(text));
  }
}

void TokenizerFileBuilder::add_piece(std::string_view piece, std::int32_t id) {
  Vocabulary& vocabulary = file_.model.vocabulary;
  if (!vocabulary.add(piece, id)) {
    const std::int32_t known = vocabulary.find(piece);
    if (known == id) return;
    damaged(quoted_name(piece) + " has the ids " + std::to_string(known) + " and " + std::to_string(id));
  }
  claim(id, piece, static_cast<std::int32_t>(vocabulary.size() - 1));
}

void TokenizerFileBuilder::add_token(AddedToken token) {
  const std::int32_t known = find(token.text);
  if (known >= 0 && known != token.id) {
    damaged(quoted_name(token.text) + " has the ids " + std::to_string(known) + " and " + std::to_string(token.id));
  }
  if (!added_.add(token.text, token.id)) return;
  file_.added.push_back(std::move(token));
  claim(file_.added.back().id, file_.added.back().text, -1 - static_cast<std::int32_t>(file_.added.size()));
}

std::int32_t TokenizerFileBuilder::find(std::string_view text) const {
  const std::int32_t piece = file_.model.vocabulary.find(text);
  return piece >= 0 ? piece : added_.find(text);
}

void TokenizerFileBuilder::no_pair() const { damaged("merge " + std::to_string(merges_) + " is not a pair"); }

void TokenizerFileBuilder::add_merge(std::string_view pair) {
  const std::size_t space = pair.find(' ');
  if (space == std::string_view::npos || pair.find(' ', space + 1) != std::string_view::npos) no_pair();
  add_merge(pair.substr(0, space), pair.substr(space + 1));
}

std::int32_t TokenizerFileBuilder::merged_piece(std::string_view piece) const {
  const std::int32_t id = file_.model.vocabulary.find(piece);
  if (id < 0)
    damaged("merge " + std::to_string(merges_) + " needs " + quoted_name(piece) + ", which the vocabulary lacks");
  return id;
}

void TokenizerFileBuilder::add_merge(std::string_view left, std::string_view right) {
  joined_.assign(left) += right;
  const std::int32_t left_id = merged_piece(left);
  const std::int32_t right_id = merged_piece(right);
  file_.model.merges.set(left_id, right_id, {merges_, merged_piece(joined_)});
  ++merges_;
}

TokenizerFile read_tokenizer_files(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) return read_tokenizer_json(path);
  if (!is_there(path / "tokenizer.json") && is_there(path / "vocab.json")) return read_vocabulary_files(path);
  return read_tokenizer_json(path / "tokenizer.json");
}

}  // namespace drift
