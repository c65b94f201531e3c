#pragma once

#include <drift/model.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace drift {

/// Which response positions are masked: bit i stands for position i. 0 is a finished response.
using Pattern = std::uint32_t;

constexpr bool is_masked(Pattern pattern, std::int64_t position) { return (pattern >> position & 1U) != 0; }

/// Every response to one prompt, and every state between the masked response and these: small enough to enumerate.
///
/// A is the number of tokens that a response may have. The states of a pattern are numbered by their committed tokens,
/// the first position counting most, so that N = A^committed; responses are the states of pattern 0.
class ResponseSpace {
 public:
  /// States that are enumerated at most.
  static constexpr std::int64_t kMostStates = std::int64_t{1} << 20;

  /// @throws Error if there are more states, with their number
  ResponseSpace(const ModelTraits& traits, std::vector<std::int64_t> prompt, std::int64_t length);

  const ModelTraits& traits() const { return traits_; }
  const std::vector<std::int64_t>& prompt() const { return prompt_; }
  std::int64_t length() const { return length_; }                      ///< L
  const std::vector<std::int64_t>& tokens() const { return tokens_; }  ///< the A ids, ascending
  std::int64_t choices() const { return static_cast<std::int64_t>(tokens_.size()); }

  Pattern all_masked() const { return (Pattern{1} << length_) - 1; }
  std::vector<std::int64_t> masked_positions(Pattern pattern) const;
  /// Of these the first, from which a decoder commits: all; in a model with blocks those of the first block with any,
  /// and where it predicts a position from the row before, the block's first alone, which the block before predicts.
  std::vector<std::int64_t> open_positions(Pattern pattern) const;
  /// Forwards of a response that draw nothing: in a model with blocks those that keep the prompt's and each block's
  /// keys.
  std::int64_t further_forwards() const;
  std::int64_t states(Pattern pattern) const;  ///< N
  std::int64_t states() const;                 ///< of all patterns, finished responses included
  std::int64_t responses() const { return states(0); }

  /// The tokens of the states of a pattern, the mask token where nothing is committed: int64 [N, L].
  at::Tensor tokens_NL(Pattern pattern) const;

  /// The numbers of finished responses: int64 [B].
  at::Tensor number_B(const at::Tensor& tokens_BL) const;

  /// For a value of each state of the pattern: A at committed positions, 1 at masked ones, so that values of different
  /// patterns broadcast against each other.
  std::vector<std::int64_t> shape(Pattern pattern) const;

 private:
  ModelTraits traits_;
  std::vector<std::int64_t> prompt_, tokens_;
  std::int64_t length_;
};

}  // namespace drift
