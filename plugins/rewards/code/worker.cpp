#include "worker.h"

#include "programs.h"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>

namespace drift::code {
namespace {

using drift::RewardStatus;

constexpr int kMaxRestarts = 3;
// A test that calls a hundred times in a loop gets this many times the limit of one call.
constexpr double kTestLimits = 5;
// And all calls of a response this many times.
constexpr double kResponseLimits = 30;
// Wall clock beside processor time, for calls that sleep: 17 s a test and half a minute a response, where a call gets 1
// s of processor time.
double idle_of_test(double cpu_seconds) { return kTestLimits * 3 * cpu_seconds + 2; }
double idle_of_response(double cpu_seconds) { return 6 * (3 * cpu_seconds + 2); }
constexpr double kEndCpuSeconds = 0.1;
constexpr std::size_t kMaxTypeName = 64;

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kMaxTypeName)) result += c >= ' ' && c <= '~' ? c : '?';
  return result;
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : std::string("SIG") + name;
}

Answer no_answer(RewardStatus status, std::string reason) { return {status, "X", std::move(reason)}; }

}  // namespace

Worker::Worker(const Sandbox& sandbox, std::string source, const SandboxLimits& limits, double cpu_seconds)
    : sandbox_(sandbox), source_(std::move(source)), limits_(limits), cpu_seconds_(cpu_seconds) {}

bool Worker::load() {
  const SandboxedProgram program{.text = kWorkerProgram, .compiled = true, .limits = limits_};
  channel_.emplace(sandbox_, program, "the sandboxed interpreter did not start");
  std::optional<Reply> reply;
  fault_ = request('L', source_, channel_->process().deadline(cpu_seconds_), reply);
  if (!reply) {
    fault_.reason += " while loading";
    return false;
  }
  if (reply->kind == 'L') return true;
  const std::string error(reply->body);
  const bool syntax = error == "SyntaxError" || error == "IndentationError" || error == "TabError";
  const auto status = error == "MemoryError" ? RewardStatus::kResource
                      : syntax               ? RewardStatus::kParseError
                                             : RewardStatus::kCrashed;
  fault_ = no_answer(status, error + " while loading");
  channel_.reset();
  return false;
}

Answer Worker::call(std::string_view request_message) {
  if (fault_.status == RewardStatus::kForged) return fault_;
  if (!channel_) {
    if (restarts_ == kMaxRestarts) return no_answer(RewardStatus::kCrashed, "not run: too many calls died before");
    ++restarts_;
    if (!load()) return fault_;
  }
  const double cpu_left = std::min({cpu_seconds_, kTestLimits * cpu_seconds_ - test_.cpu_seconds,
                                    kResponseLimits * cpu_seconds_ - response_.cpu_seconds});
  const double idle_left = std::min(idle_of_test(cpu_seconds_) - test_.idle_seconds,
                                    idle_of_response(cpu_seconds_) - response_.idle_seconds);
  if (cpu_left <= 0 || idle_left <= 0) return no_answer(RewardStatus::kTimeout, "timeout");
  SandboxedProcess& process = channel_->process();
  const Deadline begin = process.deadline(0, 0);
  const auto begin_here = std::chrono::steady_clock::now();
  const double wall_left = std::min(3 * cpu_left + 2, cpu_left + idle_left);
  std::optional<Reply> reply;
  Answer answer =
      request(request_message.front(), request_message.substr(1), process.deadline(cpu_left, wall_left), reply);
  // Without a reply the process is gone, and all of its time is spent.
  const Deadline end =
      reply ? process.deadline(0, 0)
            : Deadline{begin.cpu_seconds + cpu_left, begin.wall + (std::chrono::steady_clock::now() - begin_here)};
  const double cpu = end.cpu_seconds - begin.cpu_seconds;
  const double idle = std::max(0.0, std::chrono::duration<double>(end.wall - begin.wall).count() - cpu);
  for (Spent* spent : {&test_, &response_}) spent->cpu_seconds += cpu, spent->idle_seconds += idle;
  if (!reply) return answer;
  std::string message = reply->kind + std::string(reply->body);
  if (reply->kind == 'U') {
    return {RewardStatus::kWrong, "U", "returns " + printable(reply->body)};
  }
  if (reply->kind != 'R') return {RewardStatus::kOk, std::move(message), {}};
  const std::string error(reply->body.substr(0, reply->body.find('\0')));
  const auto status = error == "MemoryError" ? RewardStatus::kResource : RewardStatus::kOk;
  return {status, std::move(message), "raises " + error};
}

bool Worker::finish() {
  if (fault_.status == RewardStatus::kForged) return false;
  if (!channel_) return true;
  std::optional<Reply> reply;
  const bool forged =
      request('F', {}, channel_->process().deadline(cpu_seconds_), reply).status == RewardStatus::kForged;
  channel_.reset();
  return !forged;
}

// One question, one answer. Without a reply the process is gone.
Answer Worker::request(char operation, std::string_view body, const Deadline& until, std::optional<Reply>& reply) {
  const std::string expected = stamp();
  std::string message(1, operation);
  message.append(expected).append(body);
  channel_->send(message, until);  // if it fails, receiving reports why
  const ReadStatus status = channel_->receive(received_, until);
  if (status == ReadStatus::kData) {
    reply = parse_reply(received_, operation, expected);
    if (reply) return {};
  }
  return ended(status);
}

Answer Worker::ended(ReadStatus status) {
  // Its descriptors close shortly before it has ended.
  if (status == ReadStatus::kClosed) channel_->process().wait(channel_->process().deadline(kEndCpuSeconds));
  const ProcessEnd end = channel_->process().stop();
  channel_.reset();
  switch (status) {
    case ReadStatus::kData:
    case ReadStatus::kTooLong: return fault_ = no_answer(RewardStatus::kForged, "a forged reply");
    case ReadStatus::kCpuLimit:
    case ReadStatus::kWallLimit: return no_answer(RewardStatus::kTimeout, "timeout");
    case ReadStatus::kClosed: break;
  }
  if (end.signal == SIGXCPU) return no_answer(RewardStatus::kTimeout, "timeout");
  if (end.signal == SIGKILL && !end.stopped)
    return no_answer(RewardStatus::kResource, "killed for using too many resources");
  const bool killed = end.signal != 0 && !end.stopped;
  return no_answer(RewardStatus::kCrashed, killed ? "crashed (" + signal_name(end.signal) + ")" : "the process ended");
}

// The nonce says that a reply was written after its request was read; there is nothing else to keep secret.
std::string Worker::stamp() {
  std::string bytes(kStampBytes, '\0');
  ++sequence_;
  std::memcpy(bytes.data(), &sequence_, sizeof sequence_);
  if (::getentropy(bytes.data() + sizeof sequence_, kStampBytes - sizeof sequence_) != 0) {
    throw InfrastructureError{"no random bytes"};
  }
  return bytes;
}

}  // namespace drift::code
