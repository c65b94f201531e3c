#pragma once

#include <core/config/run_config.h>

#include <drift/registry.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// A preset's setting `note.KEY` is no value. It is a text on the value that the preset gives to KEY: what somebody
/// should know who takes it over.
constexpr std::string_view kNotePrefix = "note.";

bool is_note(std::string_view key);

/// What the algorithm's preset has to say on values that the run takes from it, one line each. A value from a file or
/// from the command line is the user's own, and a note on it is not given.
std::vector<std::string> preset_notes(const RunConfig& config, const Registry& registry);

}  // namespace drift
