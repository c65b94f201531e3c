#include "reward.h"

#include "interpreter.h"

#include <drift/error.h>

#include <core/base/plain_threads.h>

#include <boost/asio/packaged_task.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cctype>
#include <future>
#include <map>
#include <tuple>

namespace drift::code {
namespace {

using drift::RewardResult;
using drift::RewardStatus;

constexpr std::size_t kMaxSourceBytes = 64 << 10;
// A backstop for the limits of the calls.
constexpr double kProcessCpuSeconds = 3600;

// Attacks on the sandbox take a second: once per process and interpreter.
void require_sandbox(const SandboxOptions& options) {
  static std::mutex mutex;
  static std::map<std::tuple<std::string, bool, std::vector<std::string>>, SandboxAvailability> found;
  const std::lock_guard lock(mutex);
  const auto key = std::tuple(options.python, options.threads, options.packages);
  if (found.count(key) == 0) found[key] = probe_sandbox(options);
  const SandboxAvailability& here = found[key];
  if (here.works) return;
  throw drift::Error("reward `code` does not run model-written programs without a sandbox: " + here.why,
                     here.hint + "; or set unsafe = true in [reward]: programs can then do everything that you can");
}

std::size_t workers(const drift::Parameters& params) {
  const auto chosen = static_cast<std::size_t>(params.get<std::int64_t>("workers"));
  return chosen == 0 ? drift::processor_cores() : chosen;
}

std::string without_space(std::string_view text) {
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result),
               [](unsigned char c) { return std::isspace(c) == 0; });
  return result;
}

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

// How many of `verdicts` passed, as text: "2 of 3 tests passed".
std::string count_text(std::size_t passed, std::size_t all, const char* which) {
  return std::to_string(passed) + " of " + std::to_string(all) + which + (all == 1 ? " test passed" : " tests passed");
}

}  // namespace

struct CodeReward::Outcome {
  std::vector<Verdict> verdicts;
  /// Why there are no verdicts, or why they do not count.
  RewardStatus status = RewardStatus::kOk;
  std::string reason;
  std::string rule;  ///< where the code was found
};

std::vector<drift::Parameter> CodeReward::parameters() {
  using drift::at_least;
  using drift::between;
  using drift::one_of;
  return {
      {"unsafe", false, "run programs without a sandbox: they can do everything that you can"},
      {"python", "", "the interpreter; empty: /usr/bin/python3, else the first python3 in PATH"},
      {"workers", 0, "programs that run at a time; 0: the number of processors", between(0, 1024)},
      {"memory_mib", 512, "memory of a program", between(64, 1 << 20)},
      {"threads", false, "programs may start threads"},
      {"packages", std::vector<std::string>{}, "site packages that programs and tests may import, such as [\"numpy\"]"},
      {"time_limit", 0.0, "processor seconds for a call or a program; 0: the item's value", between(0, 600)},
      {"extraction", "lenient",
       "lenient: code in fences of any shape, or without any; strict: between lines of ```python and ```",
       one_of({"lenient", "strict"})},
      {"unclosed", "lenient", "a code block that is never closed: lenient: counts to the end; strict: does not count",
       one_of({"lenient", "strict"})},
      {"constant_asserts", false, "count asserts of a constant, which every program passes"},
      {"split", "syntax",
       "tests of a text: syntax: its asserts; lines: as rldf_release splits it, to compare with its figures",
       one_of({"syntax", "lines"})},
      {"hidden_only", false, "count only tests that the prompt does not show, if there are any"},
      {"output", "collapsed", "programs' output: white space collapsed, or the same lines",
       one_of({"collapsed", "exact_lines"})},
      {"output_tolerance", 1e-6,
       "with collapsed: how far a number may be from an expected decimal, absolutely or relatively; 0: the same text",
       between(0, 1)},
      {"score", "share", "share: of passed tests; all: 1 if all passed, else 0", one_of({"share", "all"})}};
}

CodeReward::CodeReward(const drift::Parameters& params)
    : time_limit_(params.get<double>("time_limit")),
      extraction_{params.get<std::string>("unclosed") == "strict" ? Unclosed::kStrict : Unclosed::kLenient,
                  params.get<std::string>("extraction") == "strict" ? Fences::kStrict : Fences::kLenient},
      hidden_only_(params.get<bool>("hidden_only")),
      all_(params.get<std::string>("score") == "all"),
      comparison_(params.get<std::string>("output") == "collapsed" ? OutputComparison::kCollapsed
                                                                   : OutputComparison::kExactLines),
      output_tolerance_(params.get<double>("output_tolerance")),
      threads_(workers(params)) {
  const SandboxOptions options{.python = params.get<std::string>("python"),
                               .unsafe = params.get<bool>("unsafe"),
                               .threads = params.get<bool>("threads"),
                               .packages = params.get<std::vector<std::string>>("packages")};
  if (!options.packages.empty())
    find_interpreter(options.python, options.packages);  // a missing one is its own mistake
  if (!options.unsafe) require_sandbox(options);
  sandbox_ = std::make_unique<Sandbox>(options);
  limits_.cpu_seconds = kProcessCpuSeconds;
  limits_.memory_bytes = params.get<std::int64_t>("memory_mib") << 20;
  const JudgeOptions judging{.constant_asserts = params.get<bool>("constant_asserts"),
                             .by_lines = params.get<std::string>("split") == "lines"};
  for (std::size_t i = 0; i < workers(params); ++i) {
    judges_.push_back(std::make_unique<Judge>(*sandbox_, limits_, judging));
    free_judges_.push_back(judges_.back().get());
  }
}

void CodeReward::score(const drift::RewardRequest& request, RewardResult& result) const {
  const Item item = read_item(request.item);
  result = {};
  const Outcome outcome = judge(item, request.response, request.item->id);
  weigh(outcome, request, result);
  if (!outcome.rule.empty()) result.reason += " (" + outcome.rule + ")";
}

CodeReward::Outcome CodeReward::judge(const Item& item, std::string_view response, const std::string& id) const {
  const auto give_back = [this](Judge* used) {
    used->renew();
    const std::lock_guard lock(mutex_);
    free_judges_.push_back(used);
  };
  std::packaged_task<Outcome()> job([&] {
    const std::unique_ptr<Judge, decltype(give_back)> judge(take_judge(), give_back);
    Outcome outcome;
    constexpr int kTries = 2;
    for (int i = 0; i < kTries; ++i) {
      try {
        return judge_once(*judge, item, response, id);
      } catch (const InfrastructureError& error) {
        outcome = {{}, RewardStatus::kInfrastructure, error.reason, {}};
      } catch (const BadTests& bad) {
        throw drift::Error("reward `code` cannot read the tests of item " + id + ": " + bad.reason,
                           "tests are Python: lines of assert, or a function check(candidate) that contains them");
      }
    }
    return outcome;
  });
  return boost::asio::post(threads_, std::move(job)).get();
}

Judge* CodeReward::take_judge() const {
  const std::lock_guard lock(mutex_);
  Judge* const judge = free_judges_.back();
  free_judges_.pop_back();
  return judge;
}

CodeReward::Outcome CodeReward::judge_once(Judge& judge, const Item& item, std::string_view response,
                                           const std::string& id) const {
  std::string before = code_of_prefix(item.prefix, extraction_.fences).code;
  const bool prefix_is_code = !is_blank(before);
  if (!prefix_is_code) before = item.prompt;
  if (is_blank(response)) {  // the item's tests are run all the same: so a data set is checked
    Outcome none;
    if (item.kind == Item::Kind::kFunction) run_tests(judge, item, before, "", id, none);
    return {{}, RewardStatus::kNoAnswer, "the response is empty", {}};
  }
  std::optional<std::vector<std::string>> tested;
  if (!item.entry_point.empty()) {
    tested = {item.entry_point};
  } else if (item.kind == Item::Kind::kFunction) {
    tested = judge.tested_names(before, item.setup, item.tests);
  }
  const Extraction code = extract_code(response, item.prefix, tested, extraction_);
  if (!code.found) return {{}, RewardStatus::kNoAnswer, code.rule, {}};
  if (code.code.size() > kMaxSourceBytes) return {{}, RewardStatus::kParseError, "more than 64 KiB of code", {}};
  if (code.code.find('\0') != std::string::npos) return {{}, RewardStatus::kParseError, "code with a NUL byte", {}};
  Outcome outcome{{}, RewardStatus::kOk, {}, code.rule};
  const std::string source = (code.continues && prefix_is_code ? "" : before) + '\0' + code.code;
  if (item.kind == Item::Kind::kProgram) {
    const double seconds = time_limit_ > 0 ? time_limit_ : item.time_limit;
    outcome.verdicts = run_program(*sandbox_, limits_, source, item, seconds, comparison_, output_tolerance_);
  } else {
    run_tests(judge, item, before, source, id, outcome);
  }
  return outcome;
}

void CodeReward::run_tests(Judge& judge, const Item& item, const std::string& before, const std::string& source,
                           const std::string& id, Outcome& outcome) const {
  const auto end = [&](RewardStatus status, const std::string& reason) {
    outcome.verdicts.clear();
    outcome.status = status;
    outcome.reason = reason;
  };
  Worker worker(*sandbox_, source, limits_, time_limit_ > 0 ? time_limit_ : item.time_limit);
  if (!worker.load()) return end(worker.fault().status, worker.fault().reason);
  for (std::size_t i = 0; i < item.tests.size(); ++i) {
    auto verdicts =
        judge.run({id + "/" + std::to_string(i), before, item.setup, item.tests[i], item.entry_point}, worker);
    std::move(verdicts.begin(), verdicts.end(), std::back_inserter(outcome.verdicts));
  }
  if (outcome.verdicts.empty()) {
    throw drift::Error("item " + id + " has no test that calls anything", "remove it, or set constant_asserts = true");
  }
  if (!worker.finish()) end(RewardStatus::kForged, "a forged reply");
}

void CodeReward::weigh(const Outcome& outcome, const drift::RewardRequest& request, RewardResult& result) const {
  result.status = outcome.status;
  result.reason = outcome.reason;
  if (outcome.status != RewardStatus::kOk) return;

  const std::string prompt = hidden_only_ ? without_space(request.item->prompt) : "";
  std::size_t passed = 0;
  std::size_t hidden = 0;
  std::size_t hidden_passed = 0;
  const Verdict* failed = nullptr;
  for (const Verdict& verdict : outcome.verdicts) {
    const bool pass = verdict.status == RewardStatus::kOk;
    passed += pass ? 1 : 0;
    if (!pass && failed == nullptr) failed = &verdict;
    if (!hidden_only_ || prompt.find(without_space(verdict.text)) != std::string::npos) continue;
    ++hidden;
    hidden_passed += pass ? 1 : 0;
  }
  const std::size_t all = outcome.verdicts.size();
  const double share = hidden > 0 ? static_cast<double>(hidden_passed) / static_cast<double>(hidden)
                                  : static_cast<double>(passed) / static_cast<double>(all);
  result.solved = failed == nullptr;
  result.value = all_ ? (share == 1 ? 1 : 0) : share;
  result.reason = count_text(passed, all, "");
  if (hidden > 0) result.reason += ", " + count_text(hidden_passed, hidden, " hidden");
  if (failed == nullptr) return;
  result.status = failed->status;
  result.reason += "; test " + std::to_string(failed - outcome.verdicts.data() + 1) + ": " + failed->reason;
}

}  // namespace drift::code
