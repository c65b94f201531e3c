// Answers of any bytes: the first line is the truth, the rest the response, judged by every way there is; and both
// compared directly, in either order.

#include <math_answers.h>
#include <plugins/rewards/math/math_answers/src/comparison.h>
#include <tests/fuzz/fuzz.h>

#include <algorithm>
#include <ctime>

namespace drift::math_fuzzer {
namespace {

using drift::fuzz::require;
using math_answers::Options;
using math_answers::Status;
using math_answers::Verdict;
using math_answers::Where;

// Far more than a judgement may cost, since the sanitizers slow it down. A replay is not timed.
constexpr double kSeconds = 0.5;

template <class Action>
auto timed(Action action) {
  const std::clock_t begin = std::clock();
  const auto result = action();
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  require(LLVMFuzzerMutate == nullptr || seconds < kSeconds);
  require(!result.reason.empty() && result.reason.find('\n') == std::string::npos);
  return result;
}

void compare(const std::string& truth, const std::string& prediction, const Options& options) {
  const auto found = timed([&] { return math_answers::compare_answers(truth, prediction, options); });
  // Whatever can be read equals itself.
  require(truth != prediction || !found.truth_parsed || found.equal);
}

}  // namespace

DRIFT_FUZZ_TARGET(math) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string truth = text.substr(0, line);
  const std::string response = text.substr(std::min(line + 1, text.size()));
  const Options strict{.lenient_boxes = true, .join_boxes = true, .lenient_percent = false, .decimal_places = -1};
  const Options lenient{.where = Where::kTags, .interval_from_inequality = true, .vector_as_tuple = true};
  for (const Options& options : {Options{}, strict, lenient, Options{.where = Where::kWholeResponse}}) {
    timed([&] { return math_answers::judge(response, truth, options); });
  }
  require(timed([&] { return math_answers::judge_as_rldf_release(response, truth); }).status != Status::kUnreadable);
  // The same request, the same result.
  const std::string boxed = "\\boxed{" + response + "}";
  const Verdict first = math_answers::judge(boxed, truth), second = math_answers::judge(boxed, truth);
  require(first.status == second.status && first.reason == second.reason);
  const Options all{
      .lenient_percent = false, .decimal_places = -1, .interval_from_inequality = true, .vector_as_tuple = true};
  for (const Options& options : {Options{}, all}) {
    compare(truth, response, options);
    compare(response, truth, options);
    compare(truth, truth, options);
  }
  return 0;
}

}  // namespace drift::math_fuzzer
