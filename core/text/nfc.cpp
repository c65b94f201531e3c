#include <core/text/nfc.h>
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

// Every run of combining marks in the order of its classes, which is the same text. ICU puts the marks in order one by
// one, each by a search back through the run: a run of 100,000 would take it ten seconds.
std::string with_marks_in_order(std::string_view text) {
  struct Mark {
    std::uint8_t combining_class;
    std::string_view character;
  };
  std::string ordered;
  ordered.reserve(text.size());
  std::vector<Mark> run;
  const auto end_run = [&] {
    std::ranges::stable_sort(run, {}, &Mark::combining_class);
    for (const Mark& mark : run) ordered += mark.character;
    run.clear();
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, utf8_character_length(text.substr(at)));
    const std::uint8_t combining_class = u_getCombiningClass(static_cast<UChar32>(code_point_of(character)));
    at += character.size();
    if (combining_class != 0) {
      run.push_back({combining_class, character});
      continue;
    }
    end_run();
    ordered += character;
  }
  end_run();
  return ordered;
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
  const auto below_all_marks = [](char c) { return static_cast<unsigned char>(c) < 0xCC; };  // U+0300 begins so
  if (std::ranges::all_of(text, below_all_marks)) return text;
  const std::string ordered = with_marks_in_order(text);
  const icu::StringPiece piece(ordered.data(), static_cast<std::int32_t>(ordered.size()));
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  storage.clear();
  if (U_SUCCESS(status) && nfc->isNormalizedUTF8(piece, status)) {
    storage = ordered;
  } else if (U_SUCCESS(status)) {
    icu::StringByteSink<std::string> sink(&storage);
    nfc->normalizeUTF8(0, piece, sink, nullptr, status);
  }
  if (U_FAILURE(status)) throw std::bad_alloc();  // the text is valid, so nothing else can fail
  return storage == text ? text : storage;
}

}  // namespace drift
