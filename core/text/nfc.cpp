#include <core/text/nfc.h>

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>

#include <cstdint>
#include <new>

namespace drift {

std::string_view to_nfc(std::string_view text, std::string& storage) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* nfc = icu::Normalizer2::getNFCInstance(status);
  const icu::StringPiece piece(text.data(), static_cast<std::int32_t>(text.size()));
  if (U_SUCCESS(status) && nfc->isNormalizedUTF8(piece, status)) return text;
  storage.clear();
  icu::StringByteSink<std::string> sink(&storage);
  if (U_SUCCESS(status)) nfc->normalizeUTF8(0, piece, sink, nullptr, status);
  if (U_FAILURE(status)) throw std::bad_alloc();  // the text is valid, so nothing else can fail
  return storage;
}

}  // namespace drift
