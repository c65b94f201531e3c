// Bytes per position, at least (and here): 5 (read the score, write the choice).

#include <core/kernels/cuda/target.h>

namespace drift::kernels::DRIFT_TARGET {

/// One block per row. The rank of a position is the number of scores before its own: larger ones, and equal ones of
/// earlier positions.
__global__ void choose_positions(cuda::CommitCall call) {
  const std::int64_t row = blockIdx.x, positions = call.positions;
  const auto score = dynamic_shared<float>(positions);
  std::int64_t passing = 0;
  int failed = 0;
  for (std::int64_t k = threadIdx.x; k < positions; k += blockDim.x) {
    score[k] = call.score[row * positions + k];
    passing += score[k] >= call.threshold ? 1 : 0;
    failed |= score[k] != score[k] ? 1 : 0;
  }
  passing = block_reduce(passing, Sum(), std::int64_t{0});  // also: all scores are there
  if (failed != 0) *call.failed = true;
  const auto rank_of = [&](std::int64_t k) {
    std::int64_t rank = 0;
    for (std::int64_t other = 0; other < positions; ++other) {
      rank += score[other] > score[k] || (score[other] == score[k] && other < k) ? 1 : 0;
    }
    return rank;
  };
  std::int64_t count = passing > 1 ? passing : 1;
  if (call.count != nullptr) {
    count = call.count[row];
  } else if (call.by_factor) {
    // Ranks pass up to the first that does not; rank 0 always does.
    count = positions;
    for (std::int64_t k = threadIdx.x; k < positions; k += blockDim.x) {
      const std::int64_t rank = rank_of(k);
      const bool passes = rank == 0 || score[k] >= 1 - call.factor / static_cast<double>(rank + 2);
      if (!passes && rank < count) count = rank;
    }
    count = block_reduce(count, Smallest(), positions);
  }
  for (std::int64_t k = threadIdx.x; k < positions; k += blockDim.x) {
    call.chosen[row * positions + k] = score[k] > kLowest && rank_of(k) < count;
  }
}

Status choose_commits(const cuda::CommitCall& call, Stream stream) {
  return launch(
      choose_positions,
      {call.rows, threads_for(call.positions, 256), call.positions * static_cast<std::int64_t>(sizeof(float))}, stream,
      call);
}

}  // namespace drift::kernels::DRIFT_TARGET
