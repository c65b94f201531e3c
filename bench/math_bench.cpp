// What the mathematics reward costs: judgements a second over truths in several spellings, right and wrong, on one
// thread; and the dearest judgement of every hostile answer, at most 64 KiB each, in either order.
//
//   math_bench [DATASET.json]
//
// The truths are `ground_truth_answer` of a data set's records, or else tests/golden/math_answers.txt.

#include <plugins/rewards/math/reward.h>
#include <tests/support/hostile_answers.h>

#include <drift/error.h>

#include <boost/algorithm/string/replace.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
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

double microseconds(const math_reward::MathReward& reward, const Judgement& judgement, drift::RewardResult& result) {
  const auto begin = std::chrono::steady_clock::now();
  reward.score({judgement.response, &judgement.item}, result);
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
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
    each.clear();
    solved = 0;
    for (const Judgement& judgement : judgements) {
      each.push_back(microseconds(reward, judgement, result));
      solved += result.solved;
    }
    double total = 0;
    for (const double time : each) total += time;
    if (round >= 0) per_second.push_back(1e6 * static_cast<double>(judgements.size()) / total);
  }
  std::sort(each.begin(), each.end());
  const drift::bench::Spread spread = drift::bench::spread(per_second);
  std::printf(
      "%-8s %9.0f judgements a second (%.0f to %.0f); one: median %.1f us, 99 %% %.1f us, most %.0f us; %zu of %zu "
      "solved\n",
      name.c_str(), spread.median, spread.low, spread.high, each[each.size() / 2], each[each.size() * 99 / 100],
      each.back(), solved, each.size());
}

/// The dearest of seven rounds: what disturbs the machine counts against us.
double worst(const math_reward::MathReward& reward, const Judgement& judgement) {
  double most = 0;
  drift::RewardResult result;
  for (int round = 0; round < 7; ++round) most = std::max(most, microseconds(reward, judgement, result));
  return most / 1000;
}

void measure_hostile(const math_reward::MathReward& reward, const math_reward::MathReward& legacy) {
  std::printf("\n%-58s %10s %10s %10s\n", "hostile answer: the dearest of 7, in ms", "response", "truth", "legacy");
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

int main(int argc, char** argv) {
  try {
    if (argc > 2) throw drift::Error("usage: math_bench [DATASET.json]");
    const auto judgements = judgements_of(argc == 2 ? truths_of(argv[1]) : committed_truths());
    const auto reward = make_reward({{"unclosed", "lenient"}});
    const auto legacy = make_reward({{"legacy", "drift"}});
    measure_speed("none", reward, judgements);
    measure_speed("legacy", legacy, judgements);
    measure_hostile(reward, legacy);
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
