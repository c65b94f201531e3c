#pragma once

#include <optional>
#include <string_view>

namespace math_reward {

/// The reward of rldf_release (commit 7abd99b), with its mistakes: docs/spec/rewards_data_eval.md 1.2.1
/// to 1.2.3. Texts are UTF-8; bytes that are not count as U+FFFD, as where the original decodes them. Its tier that
/// needs SymPy is left out: it raises in every environment that the original's own requirements allow, and the original
/// catches that.

/// What stands in the last `\boxed{`, spaces kept, `\{` and `\}` counted as braces; nothing if it is never closed.
std::optional<std::string_view> rldf_release_boxed_answer(std::string_view response);

/// Whether the original pays for `prediction`: as numbers or texts after its normalisation; else, unless one of them
/// repeats itself, as texts after Minerva's.
bool rldf_release_equal(std::string_view prediction, std::string_view truth);

}  // namespace math_reward
