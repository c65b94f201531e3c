#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace drift {

/// The responses of samples.json, each laid out with the order in which it was denoised. Empty if there is none.
///
/// samples.json is an array of {"step", "prompt", "response", "tokens": [text of each token], "commit_step": [forward
/// that committed it, 0-based; -1 = never], "commit_probability": [at that moment], "reward", "solved", "reason"}.
/// @throws nlohmann::json::exception if it is something else.
std::string html_samples(const nlohmann::json& samples);

/// A heading with what the reward said of one of them, as far as it is there.
std::string html_verdict(const nlohmann::json& sample);

}  // namespace drift
