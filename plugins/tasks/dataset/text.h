#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drift::dataset {

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);

/// The first 60 characters on one line, for messages.
std::string first_words(std::string_view text);

/// Code points of valid UTF-8.
std::int64_t count_characters(std::string_view text);

/// What follows the last `marker`, trimmed; empty if there is none.
std::string_view after_last(std::string_view text, std::string_view marker);

/// The lines of a Python program up to its first function's `def` line, that line included; empty if it has none.
std::string_view signature(std::string_view program);

}  // namespace drift::dataset
