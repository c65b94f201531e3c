#pragma once

#include <string>
#include <string_view>

namespace drift {

/// A name that came out of a file, fit for a message: in backticks, control characters escaped, very long names cut.
std::string quoted_name(std::string_view name);

/// A text from outside (files, models, plugins), fit for a terminal and a log: control characters but line breaks and
/// tabs become \\x1b and the like, so that none of them can move the cursor, colour or hide what follows.
std::string printable(std::string_view text);

/// The same on one line: line breaks and tabs become spaces. For what must not end a line that it stands in, as a
/// comment.
std::string on_one_line(std::string_view text);

/// With the end of each line that is longer than a page cut off: a name in a message may have megabytes.
std::string without_long_lines(std::string_view text);

/// With `by` in every place of `what`, which is not empty.
std::string replaced(std::string text, std::string_view what, std::string_view by);

}  // namespace drift
