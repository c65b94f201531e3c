#pragma once

#include "channel.h"
#include "worker.h"

#include <drift/reward.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift::code {

/// A text of tests, all of it the data set's.
struct TestText {
  std::string place;   ///< what `random` is seeded with
  std::string prefix;  ///< code that stands before the solution, or empty
  std::string setup;   ///< run before the tests
  std::string tests;
  std::string entry_point;  ///< the name that is tested, or empty
};

/// One test's verdict.
struct Verdict {
  drift::RewardStatus status = drift::RewardStatus::kWrong;  ///< kOk: passed
  std::string reason = "not reached";                        ///< for people; empty if it passed
  std::string text;                                          ///< the test's lines
  bool judged = false;
};

/// The test text cannot be read: a mistake of the data set.
struct BadTests {
  std::string reason;
};

struct JudgeOptions {
  bool constant_asserts = false;  ///< count asserts of a constant
  bool by_lines = false;          ///< tests as Drift splits them; constants count
};

/// Runs an item's test texts in a sandboxed process. It never sees code under test, only the plain values that come
/// back from it. Every response has a fresh copy of that process, with which ends what its tests change in Python
/// itself: the precision of decimal, say. It cannot start processes, and one that breaks its connection is replaced.
class Judge {
 public:
  Judge(const Sandbox& sandbox, const SandboxLimits& limits, const JudgeOptions& options)
      : sandbox_(sandbox), limits_(limits), options_(options) {}

  /// The names that the tests leave free for a solution to define. @throws InfrastructureError, BadTests
  std::vector<std::string> tested_names(const std::string& prefix, const std::string& setup,
                                        const std::vector<std::string>& tests);

  /// One verdict for each test, in the order of the text.
  /// @throws InfrastructureError, BadTests
  std::vector<Verdict> run(const TestText& text, Worker& worker);

  /// After a response.
  void renew();

 private:
  void require_ready();
  bool is_in_step();
  std::vector<Verdict> lose(std::vector<Verdict> verdicts);
  bool message(const Deadline& job);
  Answer ask(Worker& worker, std::string_view request);

  const Sandbox& sandbox_;
  const SandboxLimits limits_;
  const JudgeOptions options_;
  std::optional<Channel> channel_;
  bool ready_ = false;  ///< the channel's process
  bool used_ = false;   ///< for this response
  std::uint64_t questions_ = 0;
  int lost_ = 0;  ///< how often a process of this response had to be ended
  std::string received_;
};

}  // namespace drift::code
