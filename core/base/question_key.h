#pragma once

#include <string>
#include <string_view>

namespace drift {

/// What makes two questions the same one: equal for texts that differ in white space, in characters that cannot be
/// seen, in case, in the width or other compatibility forms of characters, or in the sort of dashes and quotation
/// marks.
std::string question_key(std::string_view question);

}  // namespace drift
