// Answers of any bytes: the first line is the truth, the rest the response, judged by every way the reward has; and
// both compared directly, in either order.

#include <plugins/rewards/math/equivalence.h>
#include <plugins/rewards/math/reward.h>
#include <tests/fuzz/fuzz.h>

#include <drift/error.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <string>

namespace {

using drift::fuzz::require;
using math_reward::MathReward;

// Far more than a judgement may cost, since the sanitizers slow it down. A replay is not timed.
constexpr double kSeconds = 0.5;

template <class Action>
auto timed(Action action) {
  const std::clock_t begin = std::clock();
  const auto result = action();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  require(LLVMFuzzerMutate == nullptr || seconds < kSeconds);
  return result;
}

drift::RewardResult judge(const MathReward& reward, const drift::TaskItem& item, const std::string& response) {
  const auto score = [&] {
    drift::RewardResult result;
    reward.score({response, &item}, result);
    return result;
  };
  const drift::RewardResult result = timed(score);
  require(result.value == (result.solved ? 1 : 0));
  require(result.solved == (result.status == drift::RewardStatus::kOk));
  require(!result.reason.empty() && result.reason.find('\n') == std::string::npos);
  return result;
}

void compare(const std::string& truth, const std::string& prediction, const math_reward::EquivalenceOptions& options) {
  const auto found = timed([&] { return math_reward::compare_answers(truth, prediction, options); });
  require(!found.reason.empty());
  // Whatever can be read equals itself.
  require(truth != prediction || !found.truth_parsed || found.equal);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto made = [](const std::map<std::string, drift::ParamValue>& values) {
    return MathReward(drift::Params(MathReward::parameters(), values));
  };
  static const MathReward rewards[] = {
      made({}),
      made(
          {{"unclosed", "lenient"}, {"join_boxes", true}, {"percent", "strict"}, {"decimal_places", std::int64_t{-1}}}),
      made({{"extraction", "tags"}, {"interval_from_inequality", true}, {"vector_as_tuple", true}}),
      made({{"extraction", "raw"}}), made({{"legacy", "rldf_release"}})};
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string truth = text.substr(0, line);
  const std::string response = text.substr(std::min(line + 1, text.size()));
  drift::TaskItem item;
  item.reference = truth;
  try {
    for (const MathReward& reward : rewards) judge(reward, item, response);
    // The same request, the same result.
    const std::string boxed = "\\boxed{" + response + "}";
    const drift::RewardResult first = judge(rewards[0], item, boxed);
    const drift::RewardResult second = judge(rewards[0], item, boxed);
    require(first.status == second.status && first.reason == second.reason);
  } catch (const drift::Error&) {
    // The truth is empty.
  }
  for (const math_reward::EquivalenceOptions& options :
       {math_reward::EquivalenceOptions{}, math_reward::EquivalenceOptions{false, -1, true, true}}) {
    compare(truth, response, options);
    compare(response, truth, options);
    compare(truth, truth, options);
  }
  return 0;
}
