#pragma once

// A reward judges a text:
//
//     void Contains::score(const drift::RewardRequest& request, drift::RewardResult& result) const {
//       result.solved = request.response.find(request.item->reference) != std::string_view::npos;
//       result.value = result.solved ? 1 : 0;
//       result.status = result.solved ? drift::RewardStatus::kOk : drift::RewardStatus::kWrong;
//       result.reason = result.solved ? "has the answer" : "lacks the answer";
//     }

#include <drift/component.h>
#include <drift/params.h>
#include <drift/reserved.h>
#include <drift/task.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace drift {

/// How a verdict came about. The numbers are part of the ABI.
enum class RewardStatus : std::uint32_t {
  kOk = 0,
  kNoAnswer = 1,
  kParseError = 2,
  kWrong = 3,
  kTimeout = 4,
  kCrashed = 5,
  kResource = 6,
  kForged = 7,
  kInfrastructure = 8,  ///< could not be judged; never counts as 0: the group is dropped
};

struct RewardRequest {
  std::string_view response;  ///< decoded without clean-up, without special tokens
  const TaskItem* item = nullptr;
  bool truncated = false;  ///< the response ran out of positions before an end token
  Reserved<const void*, 4> reserved_pointers = {};
  Reserved<std::int64_t, 4> reserved_numbers = {};
};

struct RewardResult {
  double value = 0;     ///< in [0, 1]
  bool solved = false;  ///< what accuracy counts, independent of the value
  RewardStatus status = RewardStatus::kOk;
  std::string reason;  ///< one line for the user
  Reserved<std::string, 2> reserved_texts = {};
  Reserved<std::int64_t, 4> reserved_numbers = {};
};

/// Judges a response. Constructors: registry.h.
class DRIFT_API Reward : public Component {
 public:
  static constexpr ComponentKind kKind = ComponentKind::kReward;

  /// Deterministic: the same request gives the same result, whatever the load. Safe to call from several threads
  /// concurrently.
  virtual void score(const RewardRequest& request, RewardResult& result) const = 0;
};

}  // namespace drift
