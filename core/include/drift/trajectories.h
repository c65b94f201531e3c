#pragma once

// A response of four positions that was written in three denoising steps, the second of which committed two tokens:
//
//     tokens_BL          17   4  23   0     0: padding
//     valid_BL            1   1   1   0
//     step_BL             0   1   1   2
//     commit_logprob_BL  -.1 -.3 -.2  0.
//     forwards_B          3

#include <drift/reserved.h>

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace drift {

/// B prompts of P tokens, one per response: the G responses of a group have equal prompts and are adjacent.
struct Prompts {
  at::Tensor tokens_BP;  ///< int64, padded on the left
  at::Tensor mask_BP;    ///< bool, true = real token
  at::Tensor group_B;    ///< int64, 0-based number of the response's group
  Reserved<at::Tensor, 2> reserved_tensors = {};
};

/// What a rollout records of B responses of L positions (docs/spec/algorithms.md 1.1, 1.2).
struct Trajectories {
  Prompts prompts;
  at::Tensor tokens_BL;  ///< int64, the final tokens, always L of them
  at::Tensor valid_BL;   ///< bool, neither pad nor mask token, nor behind the first end token unless after_end = "kept"
  at::Tensor step_BL;    ///< int32, forward (0-based, counted per response) that committed the position; -1 = never.
                         ///< Defined for padding too: it was masked until that step.
  at::Tensor commit_logprob_BL;  ///< float32, log-probability at commit time, temperature 1; 0 if never committed
  at::Tensor forwards_B;         ///< int64, forward evaluations that the response took part in
  Reserved<at::Tensor, 6> reserved_tensors = {};
  Reserved<std::int64_t, 4> reserved_numbers = {};
};

}  // namespace drift
