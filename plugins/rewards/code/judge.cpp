#include "judge.h"

#include "programs.h"

#include <algorithm>
#include <chrono>

namespace drift::code {
namespace {

using drift::RewardStatus;

// For what the judge itself does. judge.py limits the tests' own work, of which most take some milliseconds.
constexpr double kCpuSeconds = 5;
// A response whose values have ended the judge this often is given up.
constexpr int kMostLost = 2;
constexpr auto kWall = std::chrono::seconds(17);
// For a copy to end. It may be stuck if a test has closed its descriptors: a new process starts sooner.
constexpr double kEndWallSeconds = 5;
constexpr double kLifetimeCpuSeconds = 1e6;
constexpr std::string_view kCopyEnded = "H";

// After the worker's answers to the calls of one test: why it failed. An exception that was raised before an assert
// failed is one that the test had expected.
void fill_verdict(Verdict& verdict, std::string_view outcome, const Answer& trouble) {
  if (outcome == "pass") {
    verdict.status = RewardStatus::kOk;
    verdict.reason.clear();
  } else if (!trouble.reason.empty() && (outcome != "fail" || trouble.status != RewardStatus::kOk)) {
    verdict.status = trouble.status == RewardStatus::kOk ? RewardStatus::kWrong : trouble.status;
    verdict.reason = trouble.reason;
  } else {
    verdict.status = RewardStatus::kWrong;
    verdict.reason = outcome == "fail" || outcome == "lost" ? "wrong"
                     : outcome.empty()                      ? "not reached"
                                                            : std::string(outcome) + " in the test";
  }
}

}  // namespace

void Judge::require_ready() {
  if (channel_ && !ready_ && !is_in_step()) channel_.reset();
  if (!channel_) {
    SandboxedProgram program{.text = kJudgeProgram, .forks = true, .limits = limits_};
    program.limits.cpu_seconds = kLifetimeCpuSeconds;
    channel_.emplace(sandbox_, program, "the judge did not start");
  }
  ready_ = used_ = true;
}

/// Whether the copy of the response before has ended and left nothing in the pipes: if a test ends it, or uses its
/// descriptors, an answer may be there that nobody has read.
bool Judge::is_in_step() {
  const Deadline until = channel_->process().deadline(kCpuSeconds, kEndWallSeconds);
  const std::string question = "S" + std::to_string(++questions_);
  std::string ended, echo;
  return channel_->send(question, until) && channel_->receive(ended, until) == ReadStatus::kData &&
         ended == kCopyEnded && channel_->receive(echo, until) == ReadStatus::kData && echo == question;
}

void Judge::renew() {
  lost_ = 0;
  if (!channel_ || !used_) return;
  used_ = ready_ = false;
  if (!channel_->send("E", channel_->process().deadline(kCpuSeconds))) channel_.reset();
}

std::vector<std::string> Judge::tested_names(const std::string& prefix, const std::string& setup,
                                             const std::vector<std::string>& tests) {
  require_ready();
  const Deadline job = channel_->process().deadline(kCpuSeconds);
  std::vector<std::string> texts = {prefix, setup};
  texts.insert(texts.end(), tests.begin(), tests.end());
  channel_->send("Q" + tuple_of_texts(texts), job);
  if (!message(job)) {
    channel_.reset();
    throw InfrastructureError{"the judge died"};
  }
  const std::string_view body = std::string_view(received_).substr(1);
  if (received_.front() == 'X') throw BadTests{std::string(body)};
  return read_texts(body).value_or(std::vector<std::string>{});
}

bool Judge::message(const Deadline& job) {
  const Deadline until{job.cpu_seconds, std::chrono::steady_clock::now() + kWall};
  return channel_->receive(received_, until) == ReadStatus::kData && !received_.empty() && received_ != kCopyEnded;
}

Answer Judge::ask(Worker& worker, std::string_view request) {
  try {
    Answer answer = worker.call(request);
    channel_->send(answer.message, channel_->process().deadline(kCpuSeconds));
    return answer;
  } catch (const InfrastructureError&) {
    channel_.reset();  // it waits for an answer
    throw;
  }
}

std::vector<Verdict> Judge::run(const TestText& text, Worker& worker) {
  require_ready();
  const Deadline job = channel_->process().deadline(kCpuSeconds);
  const auto flag = [](bool set) { return set ? "yes" : ""; };
  channel_->send("J" + tuple_of_texts({text.place, text.prefix, text.setup, text.tests, text.entry_point,
                                       flag(options_.constant_asserts), flag(options_.by_lines)}),
                 job);

  std::vector<Verdict> verdicts;
  Answer trouble;
  while (message(job)) {
    const std::string_view body = std::string_view(received_).substr(1);
    switch (received_.front()) {
      case 'X':
        if (verdicts.empty()) throw BadTests{std::string(body)};
        return lose(std::move(verdicts));
      case 'D':
        for (Verdict& verdict : verdicts) {
          if (!verdict.judged) fill_verdict(verdict, body, trouble);
        }
        return verdicts;
      case 'N':
        for (std::string& test : read_texts(body).value_or(std::vector<std::string>{})) {
          verdicts.push_back({.text = std::move(test)});
        }
        if (lost_ < kMostLost) break;
        for (Verdict& verdict : verdicts)
          verdict = {RewardStatus::kTimeout, "not run: tests before did not finish", verdict.text};
        channel_.reset();
        return verdicts;
      case 'C':
      case 'A': {
        Answer answer = ask(worker, received_);
        if (!answer.reason.empty()) trouble = std::move(answer);
        break;
      }
      case 'P': {
        const std::size_t number = body.size() < kSizeBytes ? verdicts.size() : size_at(body);
        if (number >= verdicts.size()) return lose(std::move(verdicts));
        Verdict& verdict = verdicts[number];
        // A test that is run several times must pass every time.
        if (!verdict.judged || verdict.status == RewardStatus::kOk) {
          fill_verdict(verdict, body.substr(kSizeBytes), trouble);
        }
        verdict.judged = true;
        trouble = {};
        worker.next_test();
        break;
      }
      default: return lose(std::move(verdicts));
    }
  }
  return lose(std::move(verdicts));
}

// Values can be chosen so that a test never ends, or needs more memory than there is. It fails, with those after it.
std::vector<Verdict> Judge::lose(std::vector<Verdict> verdicts) {
  channel_.reset();
  ++lost_;
  if (verdicts.empty()) throw InfrastructureError{"the judge died"};
  const auto unfinished = std::ranges::find(verdicts, false, &Verdict::judged);
  if (unfinished != verdicts.end()) {
    unfinished->status = RewardStatus::kTimeout;
    unfinished->reason = "the test does not finish with this value";
  }
  return verdicts;
}

}  // namespace drift::code
