#pragma once

#include <drift/error.h>
#include <drift/export.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// Part of one line: columns count characters from 1; length 0 = nowhere.
struct TextSpan {
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 0;
};

/// Of a file, in bytes; a longer one helps nobody.
inline constexpr std::size_t kLongestShownLine = 500;

/// One mistake, where it is, and what to do about it.
struct Diagnostic {
  std::string message;
  std::string file;         ///< as the user wrote it; or the flag, where the mistake is on the command line
  TextSpan span;            ///< line 0: not in a file (`column` then counts within `file`, the flag)
  std::string source_line;  ///< shown unless it is too long
  std::string label;        ///< beside the caret
  std::vector<std::string> notes;
};

/// error: unknown key `stpes` in [train]
///   --> run.toml:14:1
///    |
/// 14 | stpes = 4
///    | ^^^^^ did you mean `steps`?
///    = keys of [train]: …
std::string render(const Diagnostic& diagnostic, bool colour);

/// Every mistake that was found in the configuration. The program ends with status 2.
class DRIFT_API ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<Diagnostic> diagnostics);
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  /// All of them, as the user sees them.
  std::string text(bool colour) const;

 private:
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace drift
