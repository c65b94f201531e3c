#include "answer.h"

#include <boost/algorithm/string/find.hpp>

#include <algorithm>
#include <vector>

namespace countdown {
namespace {

using drift::RewardResult;

constexpr std::string_view kSpaces = " \t\r\n\v\f";

std::nullopt_t none(RewardResult& result, const char* reason) {
  result.status = drift::RewardStatus::kNoAnswer;
  result.reason = reason;
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  return text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

std::optional<std::string_view> find_tagged(std::string_view response, RewardResult& result) {
  const auto open = boost::algorithm::ifind_last(response, "<answer>");
  if (open.empty()) return none(result, "the response has no <answer>");
  const std::string_view block(open.end(), response.end());
  const auto close = boost::algorithm::ifind_first(block, "</answer>");
  if (close.empty()) return none(result, "the last <answer> is not closed");
  return std::string_view(block.begin(), close.begin());
}

// The box that is closed last is the last one or, of nested ones, the outermost.
std::optional<std::string_view> find_boxed(std::string_view response, bool lenient, RewardResult& result) {
  struct Brace {
    bool is_box;
    std::size_t content;
  };
  std::vector<Brace> open;
  std::optional<std::string_view> found;
  for (std::size_t i = 0; i < response.size(); ++i) {
    if (response[i] == '\\') {
      ++i;  // a brace behind it is a sign
    } else if (response[i] == '{') {
      std::string_view before = response.substr(0, i);
      before = before.substr(0, before.find_last_not_of(kSpaces) + 1);
      open.push_back({before.ends_with("\\boxed") || before.ends_with("\\fbox"), i + 1});
    } else if (response[i] == '}' && !open.empty()) {
      if (open.back().is_box) found = response.substr(open.back().content, i - open.back().content);
      open.pop_back();
    }
  }
  const auto is_later = [&](const Brace& brace) {
    return brace.is_box && (!found || brace.content > static_cast<std::size_t>(found->data() - response.data()));
  };
  const bool cut_off = std::any_of(open.begin(), open.end(), is_later);
  if (cut_off && (!found || !lenient)) return none(result, "the last \\boxed{} is not closed");
  if (!found) return none(result, "the response has no \\boxed{}");
  std::string_view answer = trimmed(*found);
  if (answer.ends_with('.')) answer.remove_suffix(1);
  return answer;
}

}  // namespace

std::optional<std::string_view> find_answer(std::string_view response, AnswerForm form, bool lenient,
                                            RewardResult& result) {
  if (response.empty()) return none(result, "the response is empty");
  switch (form) {
    case AnswerForm::kTags: return find_tagged(response, result);
    case AnswerForm::kBoxed: return find_boxed(response, lenient, result);
    default: return response;
  }
}

}  // namespace countdown
