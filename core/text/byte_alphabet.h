#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drift {

/// The alphabet in which byte-level vocabularies are written: each of the 256 bytes has one printable character.
/// Source: Radford et al., "Language models are unsupervised multitask learners" (GPT-2), its released encoder.

/// The character of a byte, as UTF-8: 'a' is "a", the newline is "Ċ", the space is "Ġ".
std::string byte_character(unsigned char byte);

/// The bytes that `piece` stands for; nothing if a character of it is not in the alphabet.
std::optional<std::string> bytes_of_piece(std::string_view piece);

/// `bytes` with every maximal invalid part replaced by U+FFFD, as the Unicode standard recommends.
std::string valid_utf8(std::string_view bytes);

/// Length in bytes of the well-formed UTF-8 character that `bytes` begins with; 0 if it begins with none.
std::size_t utf8_character_length(std::string_view bytes);

}  // namespace drift
