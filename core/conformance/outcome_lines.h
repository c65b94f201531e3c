#pragma once

// What a child tells its parent, one JSON object a line.

#include <core/conformance/examination.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

std::string begin_line(const std::string& component, const std::string& rule);
std::string outcome_line(const Outcome& outcome);
std::string summary_line(const std::string& summary);
std::string component_line(const std::string& id);
/// @param rules  the names of all rules, those that were not tried included
std::string end_line(const std::set<std::string>& rules);

/// What all lines so far say; half a line at the end is left out, and so is what follows a line that no child writes.
struct ChildWords {
  std::string summary;
  std::vector<std::string> components;
  std::vector<Outcome> outcomes;
  std::string component, rule;  ///< at work, and not yet done; empty: none
  std::set<std::string> rules;  ///< of the last line
  bool ended = false;
};
ChildWords read_lines(std::string_view text);

}  // namespace drift
