#pragma once

#include "bench/bare_model.h"

#include <drift/model.h>

#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace drift::bench {

/// A requested forward and its result.
struct RecordedForward {
  ForwardInput input;
  at::Tensor hidden_NH;
};
/// What each thread ran, in order.
using Recording = std::vector<std::vector<RecordedForward>>;

/// A model that remembers its forwards, or answers from memory without computing anything.
class RecordingModel final : public Model {
 public:
  explicit RecordingModel(const Model& model) : model_(model) {}

  at::Device device() const override { return model_.lm_head_VH().device(); }
  at::ScalarType dtype() const override { return model_.lm_head_VH().scalar_type(); }
  const ModelTraits& traits() const override { return model_.traits(); }
  at::Tensor forward(const ForwardInput& input) const override;
  at::Tensor lm_head_VH() const override { return model_.lm_head_VH(); }
  std::vector<NamedTensor> parameters() const override { return model_.parameters(); }
  void initialize(const RandomStream&) override {}
  std::int64_t training_bytes_per_row(std::int64_t sequence) const override {
    return model_.training_bytes_per_row(sequence);
  }

  /// From now on: the recorded answers again, on the same threads and in the same order.
  void replay();
  /// Threads in the order of their first sequences in `prompts_BP`.
  Recording recording(const at::Tensor& prompts_BP) const;

 private:
  struct Thread {
    std::vector<RecordedForward> forwards;
    std::size_t next = 0;
  };

  const Model& model_;
  bool replays_ = false;
  mutable std::mutex mutex_;
  mutable std::map<std::thread::id, Thread> threads_;
};

/// The sizes alone.
Work work_of(const Recording& recording);

}  // namespace drift::bench
