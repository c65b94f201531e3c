#pragma once

#include <drift/commits.h>

namespace drift {

/// choose_commits() in tensor operations: what runs without a kernel.
at::Tensor choose_commits_with_operators(const at::Tensor& score_RK, const CommitRule& rule, const at::Tensor& failed);

}  // namespace drift
