#include <core/base/question_key.h>

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include <cstdint>
#include <new>
#include <optional>

namespace drift {
namespace {

bool is_invisible(UChar32 c) {
  return u_isUWhiteSpace(c) || u_iscntrl(c) || u_hasBinaryProperty(c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
}

void append(std::string& text, UChar32 c) {
  char bytes[U8_MAX_LENGTH];
  std::int32_t size = 0;
  U8_APPEND_UNSAFE(bytes, size, c);
  text.append(bytes, static_cast<std::size_t>(size));
}

constexpr char kDash = '-', kQuote = '\'';

// The key of a text that is ASCII, as most are; nothing for others.
std::optional<std::string> ascii_key(std::string_view text) {
  std::string key;
  key.reserve(text.size());
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return std::nullopt;
    if (c <= ' ' || c == 0x7f) continue;
    key += c == '"' ? kQuote : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return key;
}

// What can be seen, with one dash and one quotation mark.
std::string visible(std::string_view text) {
  // ICU sorts the marks on a letter in time that grows with the square of their number.
  constexpr int kMostMarks = 30;
  std::string kept;
  const auto size = static_cast<std::int32_t>(text.size());
  int marks = 0;
  for (std::int32_t at = 0; at < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(text.data(), at, size, c);
    if (is_invisible(c)) continue;
    marks = u_getCombiningClass(c) == 0 ? 0 : marks + 1;
    if (marks > kMostMarks) continue;
    if (u_hasBinaryProperty(c, UCHAR_DASH)) c = kDash;
    if (u_hasBinaryProperty(c, UCHAR_QUOTATION_MARK)) c = kQuote;
    append(kept, c);
  }
  return kept;
}

}  // namespace

std::string question_key(std::string_view question) {
  if (auto key = ascii_key(question)) return *std::move(key);
  const std::string text = visible(question);
  UErrorCode error = U_ZERO_ERROR;
  std::string key;
  icu::StringByteSink<std::string> sink(&key);
  const icu::Normalizer2* normalizer = icu::Normalizer2::getNFKCCasefoldInstance(error);
  if (U_SUCCESS(error)) normalizer->normalizeUTF8(0, text, sink, nullptr, error);
  if (U_FAILURE(error)) throw std::bad_alloc();
  return key;
}

}  // namespace drift
