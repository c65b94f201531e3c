#pragma once

#include <drift/random.h>
#include <drift/trajectories.h>

#include <core/lab/fidelity/response_space.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// In which order a decoder commits positions.
enum class CommitOrder {
  kRandom,           ///< uniform, whatever was drawn
  kConfidence,       ///< the largest probability of the drawn token first
  kMargin,           ///< the largest difference of the two largest probabilities first
  kNegativeEntropy,  ///< the smallest entropy first
};

/// A decoder at temperature 1 whose law is known: in every state it draws a token at each open position, and commits
/// one of them or, with a threshold, all whose confidence reaches it and else the surest. Of equal ones the first
/// position comes first. Confidences are of the raw logits, draws of the tokens that a response may have
/// (docs/spec/models_rollout.md 3.0).
struct Decoder {
  CommitOrder order = CommitOrder::kRandom;
  std::optional<double> threshold = {};

  /// "random", "confidence", "margin", "entropy", or "threshold=0.5".
  /// @throws Error with the nearest name
  static Decoder named(const std::string& text);
  std::string name() const;
};

/// Log-probabilities of the whole vocabulary in every state: for each pattern (0 is left out) float64 [N, m, V] of its
/// m masked positions. Whatever gradient they have is kept.
using StateScores = std::vector<at::Tensor>;

/// The probability of every response under the decoder: the sum over all paths of states that lead to it. [responses],
/// float64.
///
/// Differentiable by the scores. Which of two confidences is the larger is a step function of them, whose derivative is
/// 0 wherever it has one: this is the gradient of the probability everywhere but where two confidences are equal.
at::Tensor response_probabilities(const ResponseSpace& space, const Decoder& decoder, const StateScores& scores);

/// Writes responses by the law of response_probabilities(), from the same scores.
class TableDecoder {
 public:
  TableDecoder(const ResponseSpace& space, const Decoder& decoder, const StateScores& scores);

  /// `count` responses of one group. Response b draws at RandomPoint{step, b, position, forward}.
  Trajectories write(std::int64_t count, const RandomStream& random, std::int64_t step) const;

 private:
  struct Table {
    at::Tensor draw_NmA;        // float64, probabilities of what is drawn
    at::Tensor logprob_NmA;     // float64, of the raw logits
    at::Tensor confidence_NmA;  // float32
  };
  struct Row;
  void advance(Row& row, const RandomStream& random, std::int64_t step) const;

  const ResponseSpace& space_;
  Decoder decoder_;
  std::vector<Table> tables_;  // by pattern
};

}  // namespace drift
