#include "bench/recording_model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>

#include <algorithm>
#include <stdexcept>

namespace drift::bench {

at::Tensor RecordingModel::forward(const ForwardInput& input) const {
  Thread* thread = nullptr;
  {
    const std::lock_guard lock(mutex_);
    thread = &threads_[std::this_thread::get_id()];
  }
  if (replays_) {
    if (thread->next == thread->forwards.size()) throw std::runtime_error("more forwards than recorded");
    const RecordedForward& recorded = thread->forwards[thread->next++];
    if (recorded.input.tokens_BS.sizes() != input.tokens_BS.sizes())
      throw std::runtime_error("the rollout differs from the recorded one");
    return recorded.hidden_NH;
  }
  auto hidden_NH = model_.forward(input);
  thread->forwards.push_back({input, hidden_NH.detach()});
  return hidden_NH;
}

void RecordingModel::replay() {
  replays_ = true;
  for (auto& [id, thread] : threads_) thread.next = 0;
}

Recording RecordingModel::recording(const at::Tensor& prompts_BP) const {
  const auto place = [&](const std::vector<RecordedForward>& forwards) {
    const auto first = forwards.front().input.tokens_BS[0].narrow(0, 0, prompts_BP.size(1));
    std::int64_t b = 0;
    while (b < prompts_BP.size(0) && !at::equal(prompts_BP[b], first)) ++b;
    return b;
  };
  Recording recording;
  for (const auto& [id, thread] : threads_) recording.push_back(thread.forwards);
  std::sort(recording.begin(), recording.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return recording;
}

Work work_of(const Recording& recording) {
  Work work;
  for (const auto& forwards : recording) {
    work.emplace_back();
    for (const RecordedForward& forward : forwards) {
      work.back().push_back({.sequences = forward.input.tokens_BS.size(0),
                             .tokens = forward.input.tokens_BS.size(1),
                             .rows = forward.input.rows_N.size(0)});
    }
  }
  return work;
}

}  // namespace drift::bench
