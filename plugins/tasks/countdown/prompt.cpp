#include "puzzle.h"

#include <boost/algorithm/string/replace.hpp>

#include <map>

namespace drift::countdown {
namespace {

constexpr const char* kPaper = R"(Please solve the following Countdown puzzle.

You are given {count} numbers: {numbers}. Your goal is to use these numbers with basic arithmetic operations (+, -, *, /) to reach the target number {target}.

Rules:
- You must use each number at most once.
- You can use +, -, *, / and parentheses.
- Intermediate results must be positive integers (no fractions, no negative numbers).
- You do not need to use all the numbers.

Show your step-by-step reasoning, then output the full expression that equals the target number inside \boxed{}.

For example, if the numbers are 5, 3, 2 and the target is 11, your answer would be \boxed{5 + 3 * 2}.

Now solve this puzzle:
Numbers: {numbers}
Target: {target})";

constexpr const char* kTags = R"(
Respond in the following format:
<reasoning>
...
</reasoning>
<answer>
...
</answer>

Using only the numbers [{numbers}], create an arithmetic expression that evaluates to exactly {target}. You must use all numbers from the list, and each number must be used exactly once. You may use the operations +, -, *, and / as needed. After reasoning, provide only your final expression inside <answer></answer> tags without including an equals sign or the target number. For example, if the numbers are [2, 3, 4] and the target is 5, a valid answer is: <answer>
2*4-3
</answer>)";

constexpr const char* kD1Evaluation =
    R"(Using only the provided numbers, create an arithmetic expression that evaluates to exactly the provided target number. You may use the operations +, -, *, and / as needed, but each number must be used exactly once. Think step-by-step. After reasoning, provide only your final expression inside \boxed{} tags without including an equals sign or the target number. For example: \boxed{a + b * c}Respond in the following format:
<reasoning>
Your reasoning here
</reasoning>
<answer>
\boxed{...}
</answer>

Numbers: [{numbers}]
Target: {target})";

const std::map<std::string, std::string>& prompts() {
  static const std::map<std::string, std::string> prompts = {{"raw", "<|startoftext|>{name}<|sep|>"},
                                                             {"paper", kPaper},
                                                             {"d1", kTags},
                                                             {"d1_eval", kD1Evaluation},
                                                             {"espo", kTags}};
  return prompts;
}

}  // namespace

std::vector<std::string> prompt_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : prompts()) names.push_back(name);
  return names;
}

std::string prompt_of(const Puzzle& puzzle, const std::string& name) {
  std::string text = prompts().at(name);
  boost::replace_all(text, "{name}", name_of(puzzle));
  boost::replace_all(text, "{numbers}", joined(puzzle.numbers, ", "));
  boost::replace_all(text, "{target}", std::to_string(puzzle.target));
  boost::replace_all(text, "{count}", std::to_string(puzzle.numbers.size()));
  return text;
}

}  // namespace drift::countdown
