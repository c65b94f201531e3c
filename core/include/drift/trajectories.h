#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace drift {

/// B prompts of P tokens, one per response: the G responses of a group have equal prompts and stand together.
struct Prompts {
  at::Tensor tokens_BP;  ///< int64, padded on the left
  at::Tensor mask_BP;    ///< bool, true = real token
  at::Tensor group_B;    ///< int64, 0-based number of the response's group
};

/// All that rollout knows about B responses of L positions (docs/spec/algorithms.md 1.1, 1.2).
struct Trajectories {
  Prompts prompts;
  at::Tensor tokens_BL;  ///< int64, the final tokens, always L of them
  at::Tensor valid_BL;   ///< bool, neither pad nor mask token
  at::Tensor step_BL;    ///< int32, forward (0-based, counted per response) that committed the position; -1 = never.
                         ///< Defined for padding too: it was masked until that step.
  at::Tensor commit_logprob_BL;  ///< float32, log-probability at commit time, temperature 1; 0 where never committed
  at::Tensor forwards_B;         ///< int64, forward evaluations that the response took part in
};

}  // namespace drift
