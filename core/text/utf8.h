#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace drift {

/// What some bytes begin with (Unicode standard, table 3-7, "Well-formed UTF-8 byte sequences").
struct Utf8Prefix {
  std::size_t length = 0;  ///< bytes read, at least 1
  bool complete = false;   ///< they are one well-formed character
  /// They are not, but bytes that follow could make them one: the text was cut off inside a character.
  bool truncated = false;
};

/// @param bytes  not empty
Utf8Prefix read_utf8(std::string_view bytes);

/// @param character  one well-formed character, as read_utf8 found it
char32_t code_point_of(std::string_view character);

bool is_valid_utf8(std::string_view bytes);

/// `bytes` with every maximal invalid part replaced by U+FFFD, as the Unicode standard recommends.
std::string valid_utf8(std::string_view bytes);

/// Length in bytes of the well-formed UTF-8 character that `bytes` begins with; 0 if it begins with none.
std::size_t utf8_character_length(std::string_view bytes);

}  // namespace drift
