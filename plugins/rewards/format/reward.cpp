#include "originals.h"
#include "parts.h"

#include <drift/plugin.h>
#include <drift/reward.h>

#include <string>

namespace drift::format {
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

/// Judges how a response is written, not what it says. Needs no reference. First words that were given with the item
/// count as the response's.
class FormatReward final : public Reward {
 public:
  explicit FormatReward(Parameters& parameters)
      : part_(parameters("part", "boxed",
                         "what is looked at; names with rldf_release_ and d1_ repeat those projects' rewards",
                         one_of({"boxed", "answer_tags", "code_block", "not_truncated", "rldf_release_boxed",
                                 "d1_strict", "d1_soft", "d1_xml_count", "d1_integer", "d1_boxed_in_answer"}))),
        published_(parameters("style", "mended",
                              "d1_strict, d1_soft, d1_boxed_in_answer: with the mistakes of the published code or "
                              "without",
                              one_of({"mended", "published"})) == "published") {}

  void score(const RewardRequest& request, RewardResult& result) const override {
    const std::string given = request.item == nullptr ? "" : request.item->response_prefix;
    const std::string response = given + std::string(request.response);
    const Finding finding = look(part_, response, request.truncated, published_);
    result = {};
    result.value = finding.value;
    result.solved = finding.value == 1;
    result.status = result.solved ? RewardStatus::kOk : RewardStatus::kWrong;
    result.reason = finding.reason;
  }

 private:
  std::string part_;
  bool published_;
};

}  // namespace
}  // namespace drift::format

DRIFT_PLUGIN("format", "1.0.0", "Apache-2.0") {
  registry.add<drift::format::FormatReward>(
      "format", "Judges the form of a response; to be added to another reward with a weight.");
}
