#pragma once

#include "channel.h"
#include "wire.h"

#include <drift/reward.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drift::code {

/// The result of a call.
struct Answer {
  drift::RewardStatus status = drift::RewardStatus::kOk;  ///< kOk: there is a message for the judge
  std::string message;                                    ///< to the judge: what the worker said, or X
  std::string reason;                                     ///< for people; empty for a value or a callback
};

/// The code of one response in its own sandbox. A process that hangs or dies is replaced by a new one that loads the
/// code again, for the calls that follow.
class Worker {
 public:
  /// `source`: what stands before the code, NUL, the code (worker.py); UTF-8. `cpu_seconds`: for loading and for each
  /// call.
  Worker(const Sandbox& sandbox, std::string source, const SandboxLimits& limits, double cpu_seconds);

  /// Loads the code. False if it cannot be loaded; fault() then says why.
  /// @throws InfrastructureError
  bool load();
  const Answer& fault() const { return fault_; }

  /// `request`: C or A, and its value. At most the processor time and the idle time left to this test and this
  /// response.
  /// @throws InfrastructureError
  Answer call(std::string_view request);
  /// Calls from now on belong to another test: the calls of one test also share a limit.
  void next_test() { test_ = {}; }

  /// After the last call. False if there is more from the process than was asked for: a forgery.
  bool finish();

 private:
  struct Spent {
    double cpu_seconds = 0;
    double idle_seconds = 0;  ///< neither running nor waiting for a processor
  };
  Answer request(char operation, std::string_view body, const Deadline& until, std::optional<Reply>& reply);
  Answer ended(ReadStatus status);
  std::string stamp();

  const Sandbox& sandbox_;
  const std::string source_;
  const SandboxLimits limits_;
  const double cpu_seconds_;
  std::optional<Channel> channel_;
  std::string received_;
  Answer fault_;
  int restarts_ = 0;
  Spent test_, response_;  ///< by the calls of this test, of all tests
  std::uint64_t sequence_ = 0;
};

}  // namespace drift::code
