#pragma once

#include <core/ranks/devices.h>
#include <core/ranks/transport.h>

#include <drift/error.h>

#include <ATen/core/Tensor.h>
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// Who gets a sum over the ranks: each rank all of it, or its share.
enum class SumFor { kAll, kShares };

/// The processes of one run (ranks), as this one sees them. Where there is one process, every call returns at once.
/// Collective calls are made by every rank, in the same order and with tensors of the same types, also by a rank that
/// has nothing to give. Who takes a Ranks&, as an argument or when it is made, makes such calls.
class Ranks {
 public:
  /// Shows an error that ends the run while the program is at work elsewhere, so on a thread of its own.
  using Report = std::function<void(const Error&)>;

  Ranks() = default;  ///< this process alone
  /// Collective.
  Ranks(std::unique_ptr<Transport> transport, Report report);

  std::int64_t rank() const { return transport_ ? transport_->rank() : 0; }
  std::int64_t size() const { return transport_ ? transport_->size() : 1; }
  bool is_first() const { return rank() == 0; }
  /// Of this process: "node17".
  static std::string host();
  /// How many of the ranks, this one included, are on this host.
  std::int64_t on_host() const;
  /// Its number among the ranks of its host.
  std::int64_t rank_on_host() const;
  /// "rank 2 (node17)"
  std::string name(std::int64_t rank) const;

  /// This rank's part of `count` pieces of work, [begin, end); it may be empty.
  std::pair<std::int64_t, std::int64_t> share(std::int64_t count) const { return share(count, rank()); }
  std::pair<std::int64_t, std::int64_t> share(std::int64_t count, std::int64_t rank) const {
    return share_of_rank(count, rank, size());
  }

  /// Collective: the sum over the ranks, in place; it has the same bits on each of them. That of tensors on the CPU is
  /// made in the order of the ranks. What is on GPUs stays there where each rank has a GPU of its own.
  void all_reduce(const std::vector<at::Tensor>& tensors);
  /// Collective: of each tensor's sum, this rank's share() of its elements, flat. It has the bits of all_reduce(). The
  /// tensors are let go of on the way.
  std::vector<at::Tensor> reduce_scatter(std::vector<at::Tensor> tensors);
  /// Collective: begins a sum which goes on while the caller computes: on the CPU on a thread of its own, on GPUs on a
  /// stream of its own. The tensors are not touched until finish_sum() has returned; other collective calls may come
  /// between, but no other sum of this kind.
  void begin_sum(std::vector<at::Tensor> tensors, SumFor receivers);
  /// Collective. @return what all_reduce() or reduce_scatter() makes of the tensors, with the same bits
  std::vector<at::Tensor> finish_sum();
  /// Collective: of these contiguous tensors each rank has its share() of the elements; then all have all of them.
  void gather_shares(const std::vector<at::Tensor>& tensors);
  /// Collective: begins to gather contiguous tensors, of which each rank has its share() of the elements, flat. The
  /// shares stay as they are, and the tensors are not touched, until finish_gather() has returned; other collective
  /// calls may come between.
  void begin_gather(const std::vector<at::Tensor>& shares, const std::vector<at::Tensor>& tensors);
  /// Collective.
  void finish_gather();
  /// Collective: the ranks' tensors one after another, on the CPU. They may differ in their first dimension only.
  at::Tensor all_gather(const at::Tensor& mine);
  std::vector<std::string> all_gather(const std::string& mine);
  /// Every number keeps its bits, every text its bytes.
  std::vector<nlohmann::json> gather_json(const nlohmann::json& mine);
  /// Collective: work(i) for each i in [0, count), on one rank; a rank that has finished one takes the next.
  /// @return those of each rank, in the order in which it did them, one rank after another
  std::vector<std::int64_t> take_turns(std::int64_t count, const std::function<void(std::int64_t)>& work);
  /// Collective: the first rank's.
  std::string broadcast(const std::string& text) { return size() == 1 ? text : all_gather(text).front(); }

  /// Ranks are waited for so long. One that is lost ends the run: with an error of the collective call that the first
  /// rank is in, or by the report.
  void watch(const WatchLimits& limits);

  /// Seconds that this rank has spent in collective calls.
  double waited() const { return waited_; }
  /// Bytes that this rank has sent. Between GPUs the least that an exchange needs: NCCL does not tell.
  std::int64_t sent() const { return sent_; }

  /// Whether collective calls may be made on any thread, one at a time. The backward on a GPU has a thread of its own.
  bool on_any_thread() const { return size() == 1 || transport_->has_aside(); }
  /// From now on floating-point tensors on the CPU are exchanged as those on GPUs are, by this: for tests.
  void exchange_by(std::unique_ptr<DeviceExchange> exchange);

  /// For the first rank to report; returns when it has had the time to.
  void tell_first(const std::string& what, const std::string& hint);
  /// Collective: the end of all communication.
  void leave();
  /// End every process of the run. Returns where there is but one.
  void abort(int status);

 private:
  /// The same ranks, for another thread.
  Ranks(std::shared_ptr<Transport> transport, std::vector<std::string> hosts);

  void exchange(std::int64_t bytes, const std::function<void()>& body);
  Error error_of(const RankFailure& failure) const;
  void gather(const void* mine, void* all, const std::vector<std::int64_t>& bytes);
  at::Tensor sum_of_parts(const at::Tensor& parts_E, const std::vector<std::int64_t>& elements);
  void reduce_bucket(at::Tensor& bucket_E);

  /// Collective: how these are exchanged, where they are on GPUs; null: through the hosts.
  Devices* devices_of(const std::vector<at::Tensor>& tensors);
  /// Collective: begins sums between GPUs. What it returns ends them.
  std::function<std::vector<at::Tensor>()> begin_on_devices(Devices& devices, std::vector<at::Tensor> tensors,
                                                            SumFor receivers);
  /// Between GPUs: the other ranks' shares of these tensors, so many times.
  void count_sent(const std::vector<at::Tensor>& tensors, std::int64_t times);

  Report report_;
  std::vector<std::string> hosts_;
  std::shared_ptr<Transport> transport_;
  Way way_ = Way::kMain;
  std::unique_ptr<Devices> devices_;
  bool has_asked_for_devices_ = false, exchanges_cpu_by_devices_ = false;
  Devices::Mark gathered_;
  double waited_ = 0;
  std::int64_t sent_ = 0;
  std::unique_ptr<Ranks> aside_;                   // what the thread of a sum calls
  std::future<std::vector<at::Tensor>> going_on_;  // on that thread, or deferred
};

}  // namespace drift
