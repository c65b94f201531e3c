#pragma once

#include <core/lab/claims/claim_batch.h>
#include <core/lab/claims/claim_result.h>
#include <core/text/tokenizer.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace drift {

/// The quantities of a claim on tokens, by name, and what they are.
const std::map<std::string, std::string>& token_quantities();

/// Statistics of the committed tokens, batch by batch. Tokens are valid ones: neither padding nor masks.
class TokenStatistics {
 public:
  void add(const ClaimBatch& batch);

  /// Fill in `measured`, charts and the table of tokens.
  void fill(ClaimResult& result, const Tokenizer& tokenizer) const;

 private:
  struct Token {
    std::int64_t id;
    double probability, entropy;
    double place;  ///< of its forward in the response: 0 the first, 1 the last; unknown where there is only one
  };
  std::vector<std::map<std::string, double>> batches_;  ///< quantity -> value
  std::vector<Token> tokens_;
};

}  // namespace drift
