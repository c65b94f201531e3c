#include <core/text/nfc.h>
#include <core/text/utf8.h>

#include <utf8proc.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace drift {
namespace {

constexpr char32_t kFirstUnstable = 0x300;  // below it every text is in form C

// Whether a character may change, or join or change places with its neighbours. Cautious: it may say so of one that
// does not.
bool may_change(char32_t code_point) {
  const bool hangul_vowel_or_final = code_point >= 0x1161 && code_point <= 0x11FF;
  const utf8proc_property_t& property = *utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point));
  const bool joins_its_predecessor = property.comb_index != UINT16_MAX && property.comb_index >= 0x8000;
  return hangul_vowel_or_final || joins_its_predecessor || property.combining_class != 0 ||
         property.decomp_seqindex != UINT16_MAX;
}

bool is_surely_nfc(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0xCC) {  // below U+0300
      i += byte < 0x80 ? 1 : 2;
      continue;
    }
    const std::size_t length = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    const char32_t code_point = code_point_of(text.substr(i, length));
    if (code_point >= kFirstUnstable && may_change(code_point)) return false;
    i += length;
  }
  return true;
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& storage) {
  if (is_surely_nfc(text)) return text;
  utf8proc_uint8_t* raw = nullptr;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const utf8proc_ssize_t length = utf8proc_map(bytes, static_cast<utf8proc_ssize_t>(text.size()), &raw,
                                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> result(raw, &std::free);
  if (length < 0) throw std::bad_alloc();  // the text is valid, so nothing else can fail
  storage.assign(reinterpret_cast<const char*>(raw), static_cast<std::size_t>(length));
  return storage;
}

}  // namespace drift
