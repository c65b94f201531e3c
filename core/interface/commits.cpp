#include <core/interface/commit_operators.h>
#include <core/interface/sampling_kernels.h>
#include <core/kernels/cuda/library.h>

#include <drift/commits.h>
#include <drift/error.h>

#include <string>

namespace drift {

at::Tensor choose_commits(const at::Tensor& score_RK, const CommitRule& rule, const at::Tensor& failed) {
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw Error("choose_commits(): " + what, "drift/commits.h says what it takes");
  };
  require(score_RK.defined() && score_RK.dim() == 2 && score_RK.size(1) > 0 && score_RK.scalar_type() == at::kFloat,
          "`score_RK` must be float32 [R, K]");
  require(failed.defined() && failed.dim() == 0 && failed.scalar_type() == at::kBool &&
              failed.device() == score_RK.device(),
          "`failed` must be bool, 0-d, on the device of the scores");
  require(rule.by != CommitBy::kCount ||
              (rule.count_R.defined() && rule.count_R.dim() == 1 && rule.count_R.size(0) == score_RK.size(0) &&
               rule.count_R.scalar_type() == at::kLong && rule.count_R.device() == score_RK.device()),
          "`count_R` must be int64 [R]");
  const auto* kernels = kernels::cuda::kernels_for(score_RK);
  return kernels != nullptr && score_RK.size(1) <= kernels::cuda::CommitCall::kMostPositions
             ? choose_commits_with_kernels(*kernels, score_RK, rule, failed)
             : choose_commits_with_operators(score_RK, rule, failed);
}

}  // namespace drift
