#pragma once

#include <drift/export.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace drift {

/// How bytes get from one process of a run to the others. It is implemented in a shared library of its own, which is
/// loaded only where a launcher has started several processes (launch.h). Collective: every process makes the call,
/// in the same order; on the first one a call throws RankFailure if another process has called tell_first().
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;  ///< of this process: 0, …, size() - 1
  virtual int size() const = 0;

  /// Collective. Process r gives bytes[r] bytes; each gets those of all, in the order of the ranks. `mine` is outside
  /// of `all`.
  virtual void all_gather(const void* mine, void* all, std::span<const std::int64_t> bytes) = 0;

  /// Collective. Process r gets piece r of `mine`, of sent[r] bytes; from process r come received[r] bytes.
  virtual void all_to_all(const void* mine, std::span<const std::int64_t> sent, void* theirs,
                          std::span<const std::int64_t> received) = 0;

  /// Tell the first process why this one ends, and give it the time to end the run.
  virtual void tell_first(std::string_view text) = 0;

  /// Collective: the end of all communication.
  virtual void leave() = 0;

  /// End all processes at once.
  [[noreturn]] virtual void abort(int status) = 0;
};

/// What the library of a transport exports, and under which names.
using JoinTransport = Transport* (*)();
using DescribeTransport = const char* (*)();
inline constexpr const char* kJoinTransport = "drift_join_transport";
inline constexpr const char* kDescribeTransport = "drift_describe_transport";

/// Thrown by the transport's library; a rank number and what that rank told.
struct DRIFT_API RankFailure {
  int rank = 0;
  std::string text;
};

}  // namespace drift
