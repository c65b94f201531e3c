#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

namespace drift {

/// The responses of samples.json, each laid out with the order in which it was denoised. Empty if there is none.
///
/// samples.json is an array of {"step", "prompt", "response", "tokens": [text of each token], "commit_step": [forward
/// that committed it, 0-based; -1 = never], "commit_probability": [at that moment], "reward", "solved", "reason"}.
/// @throws nlohmann::json::exception if it is something else.
std::string html_samples(const nlohmann::json& samples);

/// A complete page that replays how responses were written: play, pause, scrub; a token under the pointer says its
/// step, its probability and what came next to it. Without scripts it shows the finished responses.
///
/// @param responses  an array of objects as in samples.json, where "step", "reward", "solved" and "reason" may be
///                   missing and each may have a "name" and "runners_up" (html_tokens.h)
/// @throws nlohmann::json::exception if it is something else.
std::string html_replay(std::string_view title, std::string_view subtitle, const nlohmann::json& responses);

}  // namespace drift
