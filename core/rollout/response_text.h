#pragma once

#include <drift/trajectories.h>

#include <core/text/tokenizer.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace drift {

/// What a model wrote, as text. An id without a token becomes U+FFFD: a model's head may have more rows than the
/// vocabulary, and what it writes must not end a run.
std::string written_text(std::span<const std::int64_t> ids, const Tokenizer& tokenizer, bool skip_special);

/// The text of each single token, for display.
std::vector<std::string> display_pieces(const std::vector<std::int64_t>& ids, const Tokenizer& tokenizer);

/// The text of response b: its valid tokens, special ones dropped.
std::string response_text(const Trajectories& trajectories, std::int64_t b, const Tokenizer& tokenizer);

}  // namespace drift
