// What judging costs: judgements a second over truths in several spellings, right and wrong, on one thread; and the
// dearest judgement of every hostile answer, at most 64 KiB each, in either order. Times are those of the processor in
// this thread, which other programs on the machine hardly change.
//
//   math_bench [DATASET.json]
//
// The truths are `ground_truth_answer` of a data set's records, or else tests/answers.txt.

#include "extraction.h"
#include "files.h"
#include "hostile_answers.h"

#include <boost/algorithm/string/replace.hpp>
#include <math_answers.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using boost::algorithm::replace_all_copy;
using math_answers::test::read_file;

struct Judgement {
  std::string truth, response;
};

/// A way to judge.
using Judge = bool (*)(const Judgement&);

bool as_mathematics(const Judgement& judgement) {
  static const math_answers::Options options{.lenient_boxes = true};
  return math_answers::judge(judgement.response, judgement.truth, options).equal();
}

bool as_rldf_release(const Judgement& judgement) {
  return math_answers::judge_as_rldf_release(judgement.response, judgement.truth).equal();
}

std::vector<std::string> truths_of(const std::string& path) {
  std::vector<std::string> truths;
  for (const auto& record : nlohmann::json::parse(read_file(path))) truths.push_back(record.at("ground_truth_answer"));
  return truths;
}

std::vector<std::string> committed_truths() {
  std::vector<std::string> truths;
  for (auto& answer : math_answers::test::read_answers("answers.txt")) truths.push_back(std::move(answer.truth));
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
    for (const std::string& answer : {truths[i], replace_all_copy(truths[i], "\\frac", "\\dfrac"),
                                      "$ " + replace_all_copy(truths[i], " ", "  ") + " $",
                                      replace_all_copy(replace_all_copy(truths[i], "\\left", ""), "\\right", "") + ".",
                                      truths[(i + 1) % truths.size()]}) {
      judgements.push_back({truths[i], words + "The answer is \\boxed{" + answer + "}."});
    }
  }
  return judgements;
}

double processor_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

/// The value that `share` of the sorted values do not exceed.
double quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void measure_speed(const char* name, Judge judge, const std::vector<Judgement>& judgements) {
  constexpr int kRounds = 21;
  std::vector<double> per_second, each;
  std::size_t solved = 0;
  for (int round = -1; round < kRounds; ++round) {
    solved = 0;
    const double begin = processor_microseconds();
    for (const Judgement& judgement : judgements) solved += judge(judgement);
    const double total = processor_microseconds() - begin;
    if (round >= 0) per_second.push_back(1e6 * static_cast<double>(judgements.size()) / total);
  }
  for (const Judgement& judgement : judgements) {
    const double begin = processor_microseconds();
    judge(judgement);
    each.push_back(processor_microseconds() - begin);
  }
  std::sort(per_second.begin(), per_second.end());
  std::sort(each.begin(), each.end());
  std::printf(
      "%-14s %8.0f judgements per second (%.0f to %.0f); one: median %.1f us, 99 %% %.1f us, most %.0f us; %zu of %zu "
      "solved\n",
      name, quantile(per_second, 0.5), quantile(per_second, 0.25), quantile(per_second, 0.75), quantile(each, 0.5),
      quantile(each, 0.99), each.back(), solved, each.size());
}

/// Milliseconds of the dearest of seven rounds.
double worst(Judge judge, const Judgement& judgement) {
  double most = 0;
  for (int round = 0; round < 7; ++round) {
    const double begin = processor_microseconds();
    judge(judgement);
    most = std::max(most, processor_microseconds() - begin);
  }
  return most / 1000;
}

void measure_hostile() {
  std::printf("\n%-58s %10s %10s %10s\n", "hostile answer: the slowest of 7, in ms", "response", "truth", "release");
  double most = 0, most_release = 0;
  for (const auto& hostile : math_answers::test::hostile_answers()) {
    const Judgement forward{hostile.truth, hostile.response};
    Judgement backward{hostile.response, "\\boxed{" + hostile.truth + "}"};
    const auto extracted = math_answers::extract(hostile.response, {.lenient_boxes = true});
    if (!extracted.answer.empty()) backward.truth = extracted.answer;
    const double times[] = {worst(as_mathematics, forward), worst(as_mathematics, backward),
                            worst(as_rldf_release, forward)};
    std::printf("%-58.58s %10.3f %10.3f %10.3f\n", hostile.name.c_str(), times[0], times[1], times[2]);
    most = std::max({most, times[0], times[1]});
    most_release = std::max(most_release, times[2]);
  }
  std::printf("%-58s %10.3f %21.3f\n", "most", most, most_release);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 2) throw std::runtime_error("usage: math_bench [DATASET.json]");
    const auto judgements = judgements_of(argc == 2 ? truths_of(argv[1]) : committed_truths());
    measure_speed("as mathematics", as_mathematics, judgements);
    measure_speed("rldf_release", as_rldf_release, judgements);
    measure_hostile();
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
