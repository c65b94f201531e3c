#pragma once

// ICU's macros for UTF-8 and its normaliser, in the few forms that texts are worked on here.

#include <cstddef>
#include <string>
#include <string_view>

namespace drift {

bool is_valid_utf8(std::string_view bytes);

/// `bytes` with every maximal invalid part replaced by U+FFFD, as the Unicode standard recommends.
std::string valid_utf8(std::string_view bytes);

/// Length in bytes of the well-formed UTF-8 character that `bytes` begins with; 0 if it begins with none.
std::size_t utf8_character_length(std::string_view bytes);

/// How many bytes stand before a character at the end of `bytes` that was begun and not completed.
std::size_t complete_utf8_length(std::string_view bytes);

/// Unicode normalisation form C, by ICU.
/// @param text     valid UTF-8, less than 2 GiB
/// @param storage  holds the result if it differs from `text`
/// @return `text` itself if it is already in the form, else `storage`
std::string_view to_nfc(std::string_view text, std::string& storage);

/// @param character  begins with a well-formed character
char32_t code_point_of(std::string_view character);

/// Where the character begins that the byte at `offset` belongs to; at most three bytes before it.
std::size_t begin_of_character(std::string_view bytes, std::size_t offset);

/// How many bytes at the begin, or the end, are characters of a kind.
std::size_t length_at_begin(std::string_view text, bool (*is_of_kind)(char32_t));
std::size_t length_at_end(std::string_view text, bool (*is_of_kind)(char32_t));

}  // namespace drift
