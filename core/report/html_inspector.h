#pragma once

#include <filesystem>
#include <string>

namespace drift {

/// The part of a report in which the groups of some training steps are clicked through, token by token.
struct HtmlInspector {
  std::string body;  ///< HTML; empty: the run has inspected no step
  std::string note;  ///< which steps
};

/// Of the files `step-NNNNNN.json` in a run's folder `inspect` (docs/runs.md). A page holds some megabytes of them at
/// most: of more steps, some evenly between the first and the last.
/// @throws Error that names a file that is no JSON
HtmlInspector html_inspector(const std::filesystem::path& folder);

}  // namespace drift
