#include "program_runs.h"

#include "programs.h"

#include <boost/algorithm/string/split.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <boost/lexical_cast/try_lexical_convert.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <sstream>

namespace drift::code {
namespace {

using drift::RewardStatus;

constexpr std::size_t kMaxOutputBytes = 1 << 20;
constexpr std::size_t kPieceBytes = 1 << 16;
// A program that hangs this often is not run again: as often as a function is loaded again.
constexpr int kMaxTimeouts = 4;
// All runs together may be idle as long as this many that hang, and compute as long as this many at their limit.
constexpr double kIdleRuns = 6;
constexpr double kLimitsOfAllRuns = 30;

std::vector<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

std::vector<std::string> trimmed_lines(std::string_view text) {
  std::vector<std::string> lines;
  const std::string kept = boost::trim_right_copy(std::string(text));
  boost::split(lines, kept, [](char c) { return c == '\n'; });
  for (std::string& line : lines) boost::trim_right(line);
  return lines;
}

bool same_word(const std::string& printed, const std::string& expected, double tolerance) {
  if (printed == expected) return true;
  if (tolerance == 0 || expected.find_first_of(".eE") == std::string::npos) return false;  // integers are exact
  using boost::conversion::try_lexical_convert;
  double given = 0, wanted = 0;
  return try_lexical_convert(printed, given) && try_lexical_convert(expected, wanted) &&
         std::abs(given - wanted) <= tolerance * std::max(1.0, std::abs(wanted));
}

Verdict failed(RewardStatus status, std::string reason) { return {status, std::move(reason), {}}; }

Verdict run_once(Channel& channel, const std::string& source, double cpu_seconds, std::string& output) {
  SandboxedProcess& process = channel.process();
  const Deadline until = process.deadline(cpu_seconds);
  channel.send(source, until);
  process.close_send();
  auto status = ReadStatus::kData;
  while (status == ReadStatus::kData) {
    status = process.read_output(output, kPieceBytes, until);
    if (output.size() > kMaxOutputBytes) return failed(RewardStatus::kResource, "prints more than 1 MiB");
  }
  if (status == ReadStatus::kClosed) status = process.wait(until);
  if (status != ReadStatus::kClosed) return failed(RewardStatus::kTimeout, "timeout");
  const ProcessEnd end = process.stop();
  if (end.signal == SIGXCPU) return failed(RewardStatus::kTimeout, "timeout");
  if (end.signal == SIGKILL) return failed(RewardStatus::kResource, "killed for using too many resources");
  if (end.signal != 0) return failed(RewardStatus::kCrashed, "killed by signal " + std::to_string(end.signal));
  if (end.code != 0) return failed(RewardStatus::kCrashed, "exit status " + std::to_string(end.code));
  return {RewardStatus::kOk, {}, {}};
}

}  // namespace

bool same_output(std::string_view printed, std::string_view expected, OutputComparison comparison, double tolerance) {
  if (comparison == OutputComparison::kCollapsed) {
    return std::ranges::equal(words(printed), words(expected),
                              [&](const std::string& a, const std::string& b) { return same_word(a, b, tolerance); });
  }
  return trimmed_lines(printed) == trimmed_lines(expected);
}

std::vector<Verdict> run_program(const Sandbox& sandbox, const SandboxLimits& limits, const std::string& source,
                                 const Item& item, double cpu_seconds, OutputComparison comparison, double tolerance) {
  std::vector<Verdict> verdicts;
  int timeouts = 0;
  double idle_left = kIdleRuns * (3 * cpu_seconds + 2);
  double cpu_left = kLimitsOfAllRuns * cpu_seconds;
  for (std::size_t i = 0; i < item.inputs.size(); ++i) {
    if (timeouts == kMaxTimeouts) {
      verdicts.push_back(failed(RewardStatus::kTimeout, "not run: too many timeouts before"));
      continue;
    }
    if (idle_left <= 0 || cpu_left <= 0) {
      verdicts.push_back(failed(RewardStatus::kTimeout, "not run: the runs before took too long"));
      continue;
    }
    std::string output;
    const SandboxedProgram program{.text = kWholeProgram,
                                   .compiled = true,
                                   .standard_input = item.inputs[i],
                                   .capture_output = true,
                                   .limits = limits};
    Channel channel(sandbox, program, "the sandboxed interpreter did not start");
    const auto begin = channel.process().deadline(0, 0).wall;
    Verdict verdict = run_once(channel, source, cpu_seconds, output);
    const double elapsed = std::chrono::duration<double>(channel.process().deadline(0, 0).wall - begin).count();
    const double computed = channel.process().stop().cpu_seconds;
    cpu_left -= computed;
    // A little, and as much again as it computed, may be the machine's.
    idle_left -= std::max(0.0, elapsed - 2 * computed - 0.3);
    if (verdict.status == RewardStatus::kOk && !same_output(output, item.outputs[i], comparison, tolerance)) {
      verdict = failed(RewardStatus::kWrong, "wrong output");
    }
    timeouts += verdict.status == RewardStatus::kTimeout ? 1 : 0;
    verdicts.push_back(std::move(verdict));
  }
  return verdicts;
}

}  // namespace drift::code
