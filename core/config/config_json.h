#pragma once

// What a configuration is made of, as programs read it.

#include <core/config/run_config.h>

#include <drift/params.h>

#include <nlohmann/json_fwd.hpp>

namespace drift {

/// A number that JSON does not have is a text: "inf".
nlohmann::ordered_json json_of(const Parameter::Value& value);

/// {"name", "type", "default", "meaning"}, and where they limit it "minimum", "maximum", "minimum_excluded",
/// "maximum_excluded", "choices"; "path": true for a path.
nlohmann::ordered_json json_of(const Parameter& spec);
nlohmann::ordered_json json_of(const std::vector<Parameter>& specs);

/// {"values": {"train": {"steps": {"value": 20, "origin": "--set train.steps=20"}}}, "notes": […]}
nlohmann::ordered_json json_of(const RunConfig& config);

}  // namespace drift
