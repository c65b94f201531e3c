#pragma once

#include <core/ranks/ranks.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <exception>
#include <vector>

namespace drift {

/// Gradients from several workers, added up in a fixed order: the same bits in every run with the same number of
/// workers. Sums are float32 for parameters of a narrower type, whose own type would drop what a later pass adds.
///
/// A backward's gradient of a parameter is added as soon as it is known, and freed: besides the sum, a few of them are
/// in memory at a time, not one for each parameter. For that the sum takes every gradient that reaches its parameters
/// while it lives; so a parameter is in one sum at a time.
///
/// The ranks of a run may add up theirs while a backward goes on. Parameters go in buckets, those that a backward
/// reaches first in the first one. A bucket that is complete goes on its way while the backward makes the next one, and
/// has arrived before that one leaves: besides what the ranks keep, two buckets and what came out of order are in
/// memory. The backwards of the ranks, one of each, make a round, in which they exchange the same buckets in the same
/// order, whether they have something for them or not.
class GradientSum {
 public:
  /// What the ranks exchange, and when.
  struct Exchange {
    SumFor receivers = SumFor::kShares;
    /// Each round's gradients: nobody keeps those of a parameter that have left. Else those of the last one, of which
    /// last_round() tells: they have what the rounds before it have added.
    bool every_round = true;
    /// These, by number, are not exchanged before take_sums().
    std::vector<std::size_t> late;
    /// Of each parameter the block of the model that it is in, or -1. Where it is given, all ranks make other exchanges
    /// between the blocks of a backward: who has none says by blocks_done() where the others are, and what is in no
    /// block leaves when the round ends. Empty: any bucket leaves when it is complete.
    std::vector<std::int64_t> block;
    /// The least that a bucket has.
    std::int64_t bucket_elements = 4 << 20;
  };

  GradientSum(Ranks& ranks, std::vector<at::Tensor> parameters, std::int64_t workers);
  /// For one worker.
  GradientSum(Ranks& ranks, std::vector<at::Tensor> parameters, Exchange exchange);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;
  GradientSum& operator=(const GradientSum&) = delete;

  /// Take `gradient_E` backwards through the graph of `output_E` and add to this worker's sum. Workers may call at the
  /// same time.
  void backward(std::int64_t worker, const std::vector<at::Tensor>& outputs,
                const std::vector<at::Tensor>& output_gradients);

  /// Add the gradient of one parameter, dense or sparse, to this worker's sum. The tensor may become the sum.
  void add(std::int64_t worker, std::size_t parameter, at::Tensor gradient);

  /// Collective: in this round the blocks from the last one down to that after `layer` have been passed; -1: all.
  void blocks_done(std::int64_t layer);
  /// This rank's next backward is its last one.
  void last_round() { exchanges_now_ = true; }
  /// Where every round's gradients are exchanged, collective: the end of one, which has one backward or, on some ranks,
  /// none.
  /// @throws Error what an exchange within the backward threw
  void end_round();

  /// One gradient for each parameter; zeros where nothing was added. Resets the sum.
  std::vector<at::Tensor> take_total();
  /// Collective, where ranks exchange: the sum of each parameter's over the ranks, or this rank's share of it, flat.
  std::vector<at::Tensor> take_sums();

  /// Of a run of several ranks: whether all that this one has added was finite, up to what has been taken or exchanged.
  bool is_finite() const;

 private:
  /// Of one worker and parameter. A table as large as a vocabulary gets few rows at a time: they are kept as they are,
  /// and the table is not made before the end.
  struct WorkerSum {
    at::Tensor sum;  ///< undefined if nothing was added
    std::vector<at::Tensor> rows;
  };

  /// What the ranks exchange together.
  struct Bucket {
    std::vector<std::size_t> parameters;  ///< their numbers
    std::int64_t block = -1;              ///< the lowest that they are in
    std::int64_t elements = 0;
  };

  struct Hook;
  void add_hooks();
  void fill_buckets(bool in_blocks);
  void arrived(std::size_t parameter);
  bool is_complete(const Bucket& bucket) const;
  at::Tensor take(std::size_t parameter);
  void send(const Bucket& bucket);
  void receive();

  Ranks& ranks_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::vector<WorkerSum>> workers_;
  at::Tensor is_finite_;  // 0-d, where the gradients are: read when the sum is complete. Undefined: nothing was added

  Exchange exchange_;
  std::vector<Bucket> buckets_;  // empty: nothing is exchanged
  Bucket late_;
  bool exchanges_now_ = false;          // in this round
  std::size_t next_bucket_ = 0;         // of this round
  std::vector<bool> has_arrived_;       // in this round
  const Bucket* on_its_way_ = nullptr;  // to the other ranks
  std::vector<at::Tensor> received_;    // of each parameter
  std::exception_ptr failed_exchange_;  // within a backward
};

}  // namespace drift
