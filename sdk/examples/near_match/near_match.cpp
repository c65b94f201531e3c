// Partial credit: how near a response comes to the reference, letter by letter.
#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/reward.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

namespace {

/// Insertions, deletions and replacements of bytes that turn one text into the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// 1 for the reference itself, and less for every byte that differs. An all-or-nothing reward teaches nothing while no
/// response of a group is right.
class NearMatch final : public drift::Reward {
 public:
  explicit NearMatch(drift::Parameters& parameters)
      : floor_(parameters("floor", 0.5, "similarity from which a response earns something",
                          {.minimum = 0, .maximum = 1, .maximum_excluded = true})),
        ignore_spaces_(parameters("ignore_spaces", true, "white space does not count")),
        truncated_earns_(parameters("truncated_earns", true, "a response without an end may earn something")) {}

  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override {
    const std::string reference = counted(request.item->reference);
    if (reference.empty()) {
      throw drift::Error("item `" + request.item->id + "` has no reference to compare with",
                         "give every record an answer, or leave it out");
    }
    const std::string response = counted(request.response);
    if (response.empty()) return judge(result, 0, drift::RewardStatus::kNoAnswer, "the response is empty");
    if (request.truncated && !truncated_earns_)
      return judge(result, 0, drift::RewardStatus::kWrong, "the response has no end");

    // What is much longer or shorter cannot be similar. This also bounds the time for a response of any length.
    const std::size_t longest = std::max(response.size(), reference.size());
    const std::size_t shortest = std::min(response.size(), reference.size());
    const double best = static_cast<double>(shortest) / static_cast<double>(longest);
    if (best < floor_) return judge(result, 0, drift::RewardStatus::kWrong, "the length is far from the reference's");

    const std::size_t distance = edit_distance(response, reference);
    if (distance == 0) return judge(result, 1, drift::RewardStatus::kOk, "equals the reference");
    const double similarity = 1 - static_cast<double>(distance) / static_cast<double>(longest);
    judge(result, std::max(0.0, (similarity - floor_) / (1 - floor_)), drift::RewardStatus::kWrong,
          std::to_string(distance) + " of " + std::to_string(longest) + " bytes differ");
  }

 private:
  /// The bytes that are compared.
  std::string counted(std::string_view text) const {
    std::string kept(text);
    if (ignore_spaces_) std::erase_if(kept, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
    return kept;
  }

  /// `solved` is what accuracy counts: partial credit is not a right answer.
  static void judge(drift::RewardResult& result, double value, drift::RewardStatus status, std::string reason) {
    result.value = value;
    result.solved = status == drift::RewardStatus::kOk;
    result.status = status;
    result.reason = std::move(reason);
  }

  double floor_;
  bool ignore_spaces_, truncated_earns_;
};

}  // namespace

DRIFT_PLUGIN("near_match", "1.0.0", "Apache-2.0") {
  registry.add<NearMatch>("near_match", "Partial credit for a response that is similar to the reference.");
}
