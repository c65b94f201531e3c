// Programs judged per second, and how long one takes: the code reward on many short programs. Every verdict is checked.

#include "reward.h"

#include <core/base/plain_threads.h>

#include <drift/error.h>
#include <drift/export.h>

#include <sys/resource.h>
#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace drift::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  std::int64_t programs = 10'000;
  std::int64_t workers = 2;
  double time_limit = 1;  // processor seconds of a call
};

struct Judged {
  double milliseconds = 0;
  bool as_expected = false;
};

struct Problem {
  const char* name;
  const char* right;
  const char* wrong;  // fails all the tests
  std::array<const char*, 3> tests;
};

// The size of what models write for short exercises.
constexpr std::array<Problem, 8> kProblems = {{
    {"vowels",
     "def vowels(text):\n    return sum(letter in 'aeiou' for letter in text.lower())",
     "def vowels(text):\n    return -len(text)",
     {"assert vowels('reward') == 2", "assert vowels('AEIOU') == 5", "assert vowels('xyz') == 0"}},
    {"primes",
     "def primes(n):\n    sieve = [True] * (n + 1)\n    for i in range(2, n + 1):\n        if sieve[i]:\n"
     "            for j in range(i * i, n + 1, i):\n                sieve[j] = False\n"
     "    return [i for i in range(2, n + 1) if sieve[i]]",
     "def primes(n):\n    return [1] + list(range(2, n + 1))",
     {"assert primes(10) == [2, 3, 5, 7]", "assert len(primes(10000)) == 1229", "assert primes(1) == []"}},
    {"merge",
     "import heapq\ndef merge(a, b):\n    return list(heapq.merge(sorted(a), sorted(b)))",
     "def merge(a, b):\n    return a",
     {"assert merge([3, 1], [2]) == [1, 2, 3]", "assert merge([], [1]) == [1]", "assert merge([5], [4]) == [4, 5]"}},
    {"count",
     "from collections import Counter\ndef count(words):\n    return dict(Counter(words).most_common())",
     "def count(words):\n    raise KeyError(words)",
     {"assert count(['a', 'b', 'a']) == {'a': 2, 'b': 1}", "assert count([]) == {}",
      "assert count(['x']) == {'x': 1}"}},
    {"palindrome",
     "import re\ndef palindrome(s):\n    s = re.sub('[^a-z]', '', s.lower())\n    return s == s[::-1]",
     "def palindrome(s):\n    return None",
     {"assert palindrome('Never odd or even') == True", "assert palindrome('drift') == False",
      "assert palindrome('') == True"}},
    {"power",
     "def power(base, exponent, modulus):\n    return pow(base, exponent, modulus)",
     "def power(base, exponent, modulus):\n    return base ^ exponent",
     {"assert power(2, 10, 1000) == 24", "assert power(3, 200, 50) == 1", "assert power(7, 1, 5) == 2"}},
    {"matrix",
     "def transpose(rows):\n    return [list(column) for column in zip(*rows)]",
     "def transpose(rows):\n    return rows + rows",
     {"assert transpose([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]", "assert transpose([[1, 2, 3]]) == [[1], [2], [3]]",
      "assert transpose([[7]]) == [[7]]"}},
    {"change",
     "def change(coins, total):\n    ways = [1] + [0] * total\n    for coin in coins:\n"
     "        for value in range(coin, total + 1):\n            ways[value] += ways[value - coin]\n    return "
     "ways[total]",
     "def change(coins, total):\n    return 0.5",
     {"assert change([1, 2, 5], 5) == 4", "assert change([1, 2, 5, 10, 20, 50], 100) == 4562",
      "assert change([2], 3) == 0"}},
}};

/// Program `index` of an endless list, of which two in three are right, judged.
Judged judge(const Reward& reward, std::int64_t index, double time_limit) {
  const auto number = static_cast<std::size_t>(index);
  const Problem& problem = kProblems[number % kProblems.size()];
  const bool right = number / kProblems.size() % 3 != 2;
  TaskItem item;
  item.id = std::to_string(index);
  item.reference = nlohmann::json{{"test_list", problem.tests}, {"test_time_limit", time_limit}}.dump();
  const std::string response = std::string("```python\n") + (right ? problem.right : problem.wrong) + "\n```\n";
  RewardResult result;
  const auto start = Clock::now();
  reward.score({.response = response, .item = &item}, result);
  const std::chrono::duration<double, std::milli> time = Clock::now() - start;
  const double value = right ? 1 : 0;
  const bool as_expected = result.value == value && result.status != RewardStatus::kInfrastructure;
  if (!as_expected) {
    std::fprintf(stderr, "program %lld (%s): %.3f instead of %.3f: %s\n", static_cast<long long>(index), problem.name,
                 result.value, value, result.reason.c_str());
  }
  return {time.count(), as_expected};
}

std::vector<Judged> judge_all(const Reward& reward, const Settings& settings) {
  std::vector<Judged> judged(static_cast<std::size_t>(settings.programs));
  const auto judge_one = [&](std::size_t at) {
    judged[at] = judge(reward, static_cast<std::int64_t>(at), settings.time_limit);
  };
  for_each_at_once(judged.size(), judge_one, static_cast<std::size_t>(settings.workers));
  return judged;
}

void print_times(const std::vector<Judged>& judged) {
  std::vector<double> times;
  std::size_t as_expected = 0;
  for (const Judged& one : judged) {
    times.push_back(one.milliseconds);
    as_expected += one.as_expected ? 1 : 0;
  }
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double share) {
    return times[std::min(times.size() - 1, static_cast<std::size_t>(share * static_cast<double>(times.size())))];
  };
  std::printf("%zu of %zu verdicts as expected; median %.1f ms, 99 of 100 within %.1f, worst %.1f\n", as_expected,
              times.size(), quantile(0.5), quantile(0.99), times.back());
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void run(const Settings& settings) {
  auto reward =
      std::make_unique<code::CodeReward>(Parameters(code::CodeReward::parameters(), {{"workers", settings.workers}}));
  const auto start = Clock::now();
  const std::vector<Judged> judged = judge_all(*reward, settings);
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  reward.reset();  // so that its processes have ended
  rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);
  std::printf("%.1f programs per second: %zu in %.1f s, %lld at a time; processor time of the sandboxes %.1f s\n",
              static_cast<double>(judged.size()) / wall, judged.size(), wall, static_cast<long long>(settings.workers),
              seconds(children.ru_utime) + seconds(children.ru_stime));
  if (!judged.empty()) print_times(judged);
}

Settings read_settings(int argc, char** argv) {
  namespace po = boost::program_options;
  Settings settings;
  po::options_description options("code_bench [options]");
  auto add = options.add_options();
  add("programs", po::value(&settings.programs), "how many");
  add("workers", po::value(&settings.workers), "programs at a time");
  add("time-limit", po::value(&settings.time_limit), "processor seconds per call");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  return settings;
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int argc, char** argv) {
  try {
    drift::bench::run(drift::bench::read_settings(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
