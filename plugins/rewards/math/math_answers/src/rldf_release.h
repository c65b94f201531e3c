#pragma once

#include <optional>
#include <string_view>

namespace math_answers {

// The reward of rldf_release (commit 7abd99b), with its mistakes. Texts are UTF-8; bytes that are not count as U+FFFD,
// as where the original decodes them. Its tier that needs SymPy is left out: it raises in every environment that the
// original's own requirements allow, and the original catches that.

/// What stands in the last `\boxed{`, spaces kept, `\{` and `\}` counted as braces; nothing if it is never closed.
std::optional<std::string_view> rldf_release_boxed_answer(std::string_view response);

/// Whether the original pays for `prediction`: as numbers or texts after its normalisation; else, unless one of them
/// repeats itself, as texts after Minerva's.
bool rldf_release_equal(std::string_view prediction, std::string_view truth);

/// Whether the original gives up on a text because it repeats itself: over 128 characters, and the longest common
/// prefixes of neighbours in the suffix array sum to more than 0.2 of n(n+1)/2.
bool repeats_itself(std::u32string_view text);

/// What Python's float(text) gives, nothing where it raises: white space around the number, digits of any script,
/// underscores between digits, `inf`, `infinity` and `nan` in any case; no hexadecimal. Too large is infinite.
std::optional<double> python_float(std::u32string_view text);

/// Python's str.isdigit(): not empty, and every character is a decimal or another digit, such as a superscript.
bool python_is_digit(std::u32string_view text);

}  // namespace math_answers
