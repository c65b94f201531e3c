#pragma once

#include <core/report/text_table.h>

#include <drift/params.h>

#include <string>

namespace drift {

/// type_name() of its values; "path" or "list of paths" where they are paths.
std::string declared_type(const Parameter& spec);

/// A row for each parameter: its name, type, default, range and meaning.
/// @param what  title of the first column: "key", "parameter"
TextTable parameter_table(const std::vector<Parameter>& specs, const std::string& what);

/// The same in Markdown, with names, defaults and ranges as code.
std::string parameter_markdown(const std::vector<Parameter>& specs, const std::string& what);

/// Plain text as Markdown shows it: `<answer>` is no tag.
std::string markdown_text(std::string text);

}  // namespace drift
