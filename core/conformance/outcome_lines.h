#pragma once

// What a child tells its parent, one JSON object a line.

#include <core/conformance/examination.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

std::string begin_line(const std::string& component, const std::string& rule);
std::string outcome_line(const Outcome& outcome);
std::string summary_line(const std::string& summary);
std::string component_line(const std::string& id);
std::string end_line();

/// What all lines so far say; half a line at the end is left out.
struct ChildWords {
  std::string summary;
  std::vector<std::string> components;
  std::vector<Outcome> outcomes;
  std::string component, rule;  ///< at work, and not yet done; empty: none
  bool ended = false;
};
ChildWords read_lines(std::string_view text);

}  // namespace drift
