#include "equivalence.h"

#include <algorithm>

namespace math_reward {
namespace {

std::string without_spaces(std::string_view text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), [](char c) { return c != ' ' && c != '\n'; });
  return kept;
}

}  // namespace

Comparison compare_answers(std::string_view truth, std::string_view prediction, const EquivalenceOptions&) {
  const std::string wanted = without_spaces(truth);
  const bool equal = !wanted.empty() && wanted == without_spaces(prediction);
  return {equal, equal ? "written the same" : "not written the same", false, false};
}

}  // namespace math_reward
