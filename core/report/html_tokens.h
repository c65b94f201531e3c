#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace drift {

/// A token that was not chosen.
struct RunnerUp {
  std::string text;
  double probability;
};

struct ShownToken {
  std::string text;
  int step;                               ///< forward that committed it, 0-based; -1: never
  double probability;                     ///< at that moment
  std::vector<RunnerUp> runners_up = {};  ///< at that moment, the most likely first; empty: not known
};

/// A response with the order in which it was written.
struct ShownResponse {
  std::vector<ShownToken> tokens;
  int last_step = 0;
};

/// Of an object of samples.json (html_replay.h), which may also have "runners_up": for each token a list of {"token",
/// "probability"}. @throws nlohmann::json::exception if it is something else.
ShownResponse parse_response(const nlohmann::json& sample);

/// "<|endoftext|>"
bool is_special_token(const std::string& text);

/// Of many equal special tokens in a row.
enum class TokenRuns { kOnce, kEach };

/// Each token as a tile in the shade of its step, with what is known of it as its title. With kEach a tile has its step
/// as `data-step`.
std::string html_tokens(const ShownResponse& response, TokenRuns runs);

/// What shades, numbers and lines mean.
std::string html_tokens_legend();

}  // namespace drift
