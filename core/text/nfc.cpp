#include <core/text/utf8.h>

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <vector>

namespace drift {
namespace {

struct Character {
  std::string_view bytes;
  std::uint8_t combining_class = 0;
};

// The first character of `text`.
Character first_character(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text[0]);
  if (byte < 0xCC) return {text.substr(0, 1 + U8_COUNT_TRAIL_BYTES(byte))};  // below U+0300, where the marks begin
  const std::string_view bytes = text.substr(0, 1 + U8_COUNT_TRAIL_BYTES(byte));
  return {bytes, u_getCombiningClass(static_cast<UChar32>(code_point_of(bytes)))};
}

bool marks_are_in_order(std::string_view text) {
  std::uint8_t previous = 0;
  while (!text.empty()) {
    const Character character = first_character(text);
    if (character.combining_class != 0 && character.combining_class < previous) return false;
    previous = character.combining_class;
    text.remove_prefix(character.bytes.size());
  }
  return true;
}

// Every run of combining marks in the order of its classes, which is the same text. ICU puts the marks in order one by
// one, each by a search back through the run: a run of 100,000 would take it ten seconds.
std::string with_marks_in_order(std::string_view text) {
  std::string ordered;
  std::vector<Character> run;
  const auto end_run = [&] {
    std::ranges::stable_sort(run, {}, &Character::combining_class);
    for (const Character& mark : run) ordered += mark.bytes;
    run.clear();
  };
  while (!text.empty()) {
    const Character character = first_character(text);
    text.remove_prefix(character.bytes.size());
    if (character.combining_class != 0) {
      run.push_back(character);
      continue;
    }
    end_run();
    ordered += character.bytes;
  }
  end_run();
  return ordered;
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
  if (!marks_are_in_order(text)) {
    const std::string ordered = with_marks_in_order(text);
    std::string composed;
    storage = to_nfc(ordered, composed);
    return storage;
  }
  const icu::StringPiece piece(text.data(), static_cast<std::int32_t>(text.size()));
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  if (U_SUCCESS(status) && nfc->isNormalizedUTF8(piece, status)) return text;
  storage.clear();
  icu::StringByteSink<std::string> sink(&storage);
  if (U_SUCCESS(status)) nfc->normalizeUTF8(0, piece, sink, nullptr, status);
  if (U_FAILURE(status)) throw std::bad_alloc();  // the text is valid, so nothing else can fail
  return storage;
}

}  // namespace drift
