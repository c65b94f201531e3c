#pragma once

#include "extraction.h"
#include "item.h"
#include "judge.h"
#include "program_runs.h"

#include <drift/reward.h>

#include <boost/asio/thread_pool.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace drift::code {

/// Runs the code of a response against the item's tests.
class CodeReward final : public drift::Reward {
 public:
  static std::vector<drift::Parameter> parameters();
  /// @throws drift::Error if programs cannot be kept in a sandbox here and `unsafe` is not set.
  explicit CodeReward(const drift::Parameters& params);

  /// Waits for one of the threads.
  /// @throws drift::Error if the item's reference cannot be read. Any response is judged.
  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override;

 private:
  struct Outcome;
  Judge* take_judge() const;
  Outcome judge(const Item& item, std::string_view response, const std::string& id) const;
  Outcome judge_once(Judge& judge, const Item& item, std::string_view response, const std::string& id) const;
  void run_tests(Judge& judge, const Item& item, const std::string& before, const std::string& source,
                 const std::string& id, Outcome& outcome) const;
  void weigh(const Outcome& outcome, const drift::RewardRequest& request, drift::RewardResult& result) const;

  const double time_limit_;
  const ExtractionRules extraction_;
  const bool hidden_only_;
  const bool all_;
  const OutputComparison comparison_;
  const double output_tolerance_;
  SandboxLimits limits_;
  std::unique_ptr<Sandbox> sandbox_;
  /// A sandboxed process dies with the thread that started it: all are started in these.
  mutable boost::asio::thread_pool threads_;
  std::vector<std::unique_ptr<Judge>> judges_;  ///< as many as threads
  mutable std::mutex mutex_;
  mutable std::vector<Judge*> free_judges_;  ///< those that no thread uses
};

}  // namespace drift::code
