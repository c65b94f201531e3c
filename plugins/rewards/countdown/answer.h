#pragma once

#include <drift/reward.h>

#include <optional>
#include <string_view>

namespace countdown {

/// Where a response holds its expression.
enum class AnswerForm {
  kRaw,    ///< it is the expression
  kTags,   ///< in the last <answer> block
  kBoxed,  ///< in the last \boxed{} or \fbox{}; of nested ones in the outermost
};

/// The expression in `response`; nothing, with status and reason in `result`, if there is none. A last box that is not
/// closed hides the closed ones before it unless `lenient`. Linear in the response.
std::optional<std::string_view> find_answer(std::string_view response, AnswerForm form, bool lenient,
                                            drift::RewardResult& result);

}  // namespace countdown
