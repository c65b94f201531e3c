// Signs that are other ways to write those of ASCII.

#include <math_answers.h>
#include <unicode/utf8.h>

#include <utility>

namespace math_answers {
namespace {

// A NUL: it cannot be seen.
constexpr std::pair<char, std::u32string_view> kSigns[] = {
    {' ', U"\u00A0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u202F\u205F\u3000"},
    {'\0', U"\u200B\u2060\u2061\u2062\uFEFF"},
    {'-', U"\u2212\u2010\u2011\u2012\u2013\uFE63"},
    {'*', U"×·∗∙⋅✕"},
    {'/', U"÷⁄∕"},
    {'.', U"。"},
    {'(', U"⟨〈\u2329"},
    {')', U"⟩〉\u232A"},
    {'[', U"【"},
    {']', U"】"},
};

// The character itself where ASCII has no other for it. Of the full-width forms, which are in the order of ASCII, the
// comma and the semicolon stay: within a number they group no digits.
UChar32 ascii_of(UChar32 character) {
  if (character == U'，' || character == U'；') return character;
  constexpr UChar32 first = U'！', last = U'～';
  if (character >= first && character <= last) return character - first + '!';
  for (const auto& [ascii, signs] : kSigns) {
    if (signs.find(static_cast<char32_t>(character)) != std::u32string_view::npos) return ascii;
  }
  return character;
}

}  // namespace

std::string in_ascii(std::string_view text) {
  std::string written;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    UChar32 character = 0;
    U8_NEXT(text.data(), i, text.size(), character);
    const UChar32 ascii = character < 0x80 ? character : ascii_of(character);
    if (ascii == character) {
      written += text.substr(begin, i - begin);
    } else if (ascii != 0) {
      written += static_cast<char>(ascii);
    }
  }
  return written;
}

}  // namespace math_answers
