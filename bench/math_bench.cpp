// What the mathematics reward costs: judgements per second over truths in several spellings, right and wrong, on one
// thread; and the slowest judgement of every hostile answer, at most 64 KiB each, in either order. Times are those of
// the processor in this thread, which other programs on the machine hardly change.
//
//   math_bench [DATASET.json]
//
// The truths are `ground_truth_answer` of a data set's records, or else tests/golden/math_answers.txt.

#include <plugins/rewards/math/reward.h>
#include <tests/support/hostile_answers.h>

#include <drift/error.h>
#include <drift/export.h>

#include <boost/algorithm/string/replace.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "measure.h"

namespace {

using boost::algorithm::replace_all_copy;
using Values = std::map<std::string, drift::ParamValue>;

struct Judgement {
  drift::TaskItem item;
  std::string response;
};

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw drift::Error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> truths_of(const std::string& path) {
  std::vector<std::string> truths;
  for (const auto& record : nlohmann::json::parse(read(path))) truths.push_back(record.at("ground_truth_answer"));
  return truths;
}

std::vector<std::string> committed_truths() {
  std::istringstream lines(read(std::string(DRIFT_SOURCE) + "/tests/golden/math_answers.txt"));
  std::vector<std::string> truths;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("answer ")) truths.push_back(line.substr(7));
  }
  return truths;
}

/// Responses of the length that a model with 256 tokens writes, each answer in layouts that a text comparison does and
/// does not see through, and wrong: the truth of the next problem.
std::vector<Judgement> judgements_of(const std::vector<std::string>& truths) {
  std::string words;
  while (words.size() < 700) words += "We first note that \\frac{a}{b} \\le 1, so $x^2 + 1 = 5$ has two solutions. ";
  std::vector<Judgement> judgements;
  for (std::size_t i = 0; i < truths.size(); ++i) {
    if (truths[i].empty()) continue;
    drift::TaskItem item;
    item.reference = truths[i];
    for (const std::string& answer : {truths[i], replace_all_copy(truths[i], "\\frac", "\\dfrac"),
                                      "$ " + replace_all_copy(truths[i], " ", "  ") + " $",
                                      replace_all_copy(replace_all_copy(truths[i], "\\left", ""), "\\right", "") + ".",
                                      truths[(i + 1) % truths.size()]}) {
      judgements.push_back({item, words + "The answer is \\boxed{" + answer + "}."});
    }
  }
  return judgements;
}

double processor_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

math_reward::MathReward make_reward(const Values& values) {
  return math_reward::MathReward(drift::Params(math_reward::MathReward::parameters(), values));
}

void measure_speed(const std::string& name, const math_reward::MathReward& reward,
                   const std::vector<Judgement>& judgements) {
  constexpr int kRounds = 21;
  drift::RewardResult result;
  std::vector<double> per_second, each;
  std::size_t solved = 0;
  for (int round = -1; round < kRounds; ++round) {
    solved = 0;
    const double begin = processor_microseconds();
    for (const Judgement& judgement : judgements) {
      reward.score({judgement.response, &judgement.item}, result);
      solved += result.solved;
    }
    const double total = processor_microseconds() - begin;
    if (round >= 0) per_second.push_back(1e6 * static_cast<double>(judgements.size()) / total);
  }
  for (const Judgement& judgement : judgements) {
    const double begin = processor_microseconds();
    reward.score({judgement.response, &judgement.item}, result);
    each.push_back(processor_microseconds() - begin);
  }
  std::sort(each.begin(), each.end());
  const drift::bench::Spread spread = drift::bench::spread(per_second);
  std::printf(
      "%-14s %8.0f judgements per second (%.0f to %.0f); one: median %.1f us, 99 %% %.1f us, most %.0f us; %zu of %zu "
      "solved\n",
      name.c_str(), spread.median, spread.low, spread.high, each[each.size() / 2], each[each.size() * 99 / 100],
      each.back(), solved, each.size());
}

/// Milliseconds of the slowest of seven rounds.
double worst(const math_reward::MathReward& reward, const Judgement& judgement) {
  double most = 0;
  drift::RewardResult result;
  for (int round = 0; round < 7; ++round) {
    const double begin = processor_microseconds();
    reward.score({judgement.response, &judgement.item}, result);
    most = std::max(most, processor_microseconds() - begin);
  }
  return most / 1000;
}

void measure_hostile(const math_reward::MathReward& reward, const math_reward::MathReward& legacy) {
  std::printf("\n%-58s %10s %10s %10s\n", "hostile answer: the slowest of 7, in ms", "response", "truth", "legacy");
  double most = 0, most_legacy = 0;
  for (const auto& hostile : drift::test::hostile_answers()) {
    Judgement forward, backward;
    forward.item.reference = hostile.truth;
    forward.response = hostile.response;
    backward.item.reference = hostile.response;
    backward.response = "\\boxed{" + hostile.truth + "}";
    const auto answer = math_reward::extract_box(hostile.response, {true, false});
    if (!answer.answer.empty()) backward.item.reference = answer.answer;
    const double times[] = {worst(reward, forward), worst(reward, backward), worst(legacy, forward)};
    std::printf("%-58.58s %10.3f %10.3f %10.3f\n", hostile.name.c_str(), times[0], times[1], times[2]);
    most = std::max({most, times[0], times[1]});
    most_legacy = std::max(most_legacy, times[2]);
  }
  std::printf("%-58s %10.3f %21.3f\n", "most", most, most_legacy);
}

}  // namespace

DRIFT_API int main(int argc, char** argv) {
  try {
    if (argc > 2) throw drift::Error("usage: math_bench [DATASET.json]");
    const auto judgements = judgements_of(argc == 2 ? truths_of(argv[1]) : committed_truths());
    const auto reward = make_reward({{"unclosed", "lenient"}});
    const auto legacy = make_reward({{"legacy", "rldf_release"}});
    measure_speed("as mathematics", reward, judgements);
    measure_speed("legacy", legacy, judgements);
    measure_hostile(reward, legacy);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
