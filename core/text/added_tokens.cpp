#include <core/text/added_tokens.h>
#include <core/text/utf8.h>

#include <unicode/uchar.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace drift {
namespace {

bool is_space(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0; }

// Letters, marks, decimal digits, connectors and joiners (Unicode technical standard 18, annex C).
bool is_word(char32_t c) {
  const auto code_point = static_cast<UChar32>(c);
  constexpr std::uint32_t kKinds = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK;
  return (U_GET_GC_MASK(code_point) & kKinds) != 0 || u_hasBinaryProperty(code_point, UCHAR_ALPHABETIC) != 0 ||
         u_hasBinaryProperty(code_point, UCHAR_JOIN_CONTROL) != 0;
}

std::size_t length_of_last(std::string_view text) { return text.size() - begin_of_character(text, text.size() - 1); }

bool begins_with_word(std::string_view text) {
  return !text.empty() && is_word(code_point_of(text.substr(0, utf8_character_length(text))));
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && is_word(code_point_of(text.substr(text.size() - length_of_last(text))));
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::ranges::stable_sort(tokens_, {}, &AddedToken::text);
  const auto same_text = [](const AddedToken& a, const AddedToken& b) { return a.text == b.text; };
  tokens_.erase(std::unique(tokens_.begin(), tokens_.end(), same_text), tokens_.end());  // normalisation may join two
  std::size_t next = 0;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    first_[byte] = next;
    while (next < tokens_.size() && static_cast<unsigned char>(tokens_[next].text[0]) == byte) ++next;
  }
  first_[256] = next;
}

// Narrows the sorted range of tokens byte by byte.
const AddedToken* AddedTokens::longest_at(std::string_view text) const {
  const auto byte = static_cast<unsigned char>(text[0]);
  auto begin = tokens_.begin() + static_cast<std::ptrdiff_t>(first_[byte]);
  auto end = tokens_.begin() + static_cast<std::ptrdiff_t>(first_[byte + 1]);
  const AddedToken* longest = nullptr;
  for (std::size_t length = 1; begin != end; ++length) {
    if (begin->text.size() == length) longest = &*begin++;
    if (length == text.size()) break;
    const auto next = static_cast<unsigned char>(text[length]);
    const auto byte_of = [&](const AddedToken& token) { return static_cast<unsigned char>(token.text[length]); };
    begin = std::partition_point(begin, end, [&](const AddedToken& token) { return byte_of(token) < next; });
    end = std::partition_point(begin, end, [&](const AddedToken& token) { return byte_of(token) <= next; });
  }
  return longest;
}

void AddedTokens::split(std::string_view text, bool with_special, std::vector<Part>& parts) const {
  std::size_t cut = 0;  // where the next part begins
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const AddedToken* token = first_[byte] == first_[byte + 1] ? nullptr : longest_at(text.substr(at));
    if (token == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at;
    std::size_t end = at + token->text.size();
    at = end;
    if (token->special && !with_special) continue;
    if (token->single_word && (ends_with_word(text.substr(0, begin)) || begins_with_word(text.substr(end)))) continue;
    if (token->lstrip) begin = std::max(begin - length_at_end(text.substr(0, begin), is_space), cut);
    if (token->rstrip) end += length_at_begin(text.substr(end), is_space);
    if (cut < begin) parts.push_back({text.substr(cut, begin - cut), -1});
    parts.push_back({text.substr(begin, end - begin), token->id});
    cut = end;
  }
  if (cut < text.size()) parts.push_back({text.substr(cut), -1});
}

}  // namespace drift
