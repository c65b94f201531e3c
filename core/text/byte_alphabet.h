#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drift {

/// The alphabet in which byte-level vocabularies are written: each of the 256 bytes has one printable character.
/// Source: Radford et al., "Language models are unsupervised multitask learners" (GPT-2), its released encoder.

/// The character of a byte, as UTF-8: 'a' is "a", the newline is "Ċ", the space is "Ġ".
const std::string& byte_character(unsigned char byte);

/// The bytes that `piece` represents; nothing if a character of it is not in the alphabet.
std::optional<std::string> bytes_of_piece(std::string_view piece);

}  // namespace drift
