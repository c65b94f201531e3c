#pragma once

// What a child tells its parent, one JSON object a line: {"plugin": SUMMARY}, {"declares": COMPONENT}, {"begins":
// RULE}, the outcome of the rule, and at the end {"ended": RULES}, with those that were not tried.

#include <core/lab/conformance/examination.h>

#include <nlohmann/json_fwd.hpp>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// {"component", "rule", "verdict", "text", "seconds"}
nlohmann::ordered_json outcome_json(const Outcome& outcome);

/// What all lines so far say; half a line at the end is left out, and so is what follows a line that no child writes.
struct ChildWords {
  std::string summary;
  std::vector<std::string> components;
  std::vector<Outcome> outcomes;
  std::string rule;  ///< at work, and not yet done; empty: none
  std::set<std::string> rules;
  bool ended = false;
};
ChildWords read_lines(std::string_view text);

}  // namespace drift
