#include "reward.h"

#include <map>

#include "originals.h"
#include "parts.h"

namespace format {
namespace {

Finding find_end(bool truncated) {
  return truncated ? Finding{0, "the response is cut off"} : Finding{1, "the response ends with an end token"};
}

Finding look(const std::string& part, std::string_view response, bool truncated, bool published) {
  if (part == "boxed") return find_box(response);
  if (part == "answer_tags") return find_answer_tags(response);
  if (part == "code_block") return find_code_block(response);
  if (part == "not_truncated") return find_end(truncated);
  const double value = part == "rldf_release_boxed" ? rldf_release_boxed(response)
                       : part == "d1_strict"        ? d1_strict(response, published)
                       : part == "d1_soft"          ? d1_soft(response, published)
                       : part == "d1_xml_count"     ? d1_xml_count(response)
                       : part == "d1_integer"       ? d1_integer(response)
                                                    : d1_boxed_in_answer(response, published);
  return {value, value == 1   ? "the format matches"
                 : value == 0 ? "the format does not match"
                              : "the format matches in part"};
}

}  // namespace

drift::ParamSpecs FormatReward::parameters() {
  return {
      {"part", "boxed", "what is checked; names with rldf_release_ and d1_ are those projects' rewards",
       drift::one_of({"boxed", "answer_tags", "code_block", "not_truncated", "rldf_release_boxed", "d1_strict",
                      "d1_soft", "d1_xml_count", "d1_integer", "d1_boxed_in_answer"})},
      {"style", "mended", "d1_strict, d1_soft, d1_boxed_in_answer: with the mistakes of the published code or without",
       drift::one_of({"mended", "published"})}};
}

FormatReward::FormatReward(const drift::Params& params)
    : part_(params.get<std::string>("part")), published_(params.get<std::string>("style") == "published") {}

void FormatReward::score(const drift::RewardRequest& request, drift::RewardResult& result) const {
  const std::string given = request.item == nullptr ? "" : request.item->response_prefix;
  const std::string response = given + std::string(request.response);
  const Finding finding = look(part_, response, request.truncated, published_);
  result = {};
  result.value = finding.value;
  result.solved = finding.value == 1;
  result.status = result.solved ? drift::RewardStatus::kOk : drift::RewardStatus::kWrong;
  result.reason = finding.reason;
}

}  // namespace format
