#pragma once

#include <cstddef>
#include <string_view>

namespace drift::code {

/// Tells code from comments and texts in Python, one character after the other.
class PythonScanner {
 public:
  enum class Part { kCode, kComment, kText };

  /// What text[at] belongs to. To be called for every character, with at least two behind it where there are any.
  Part next(std::string_view text, std::size_t at);

  /// Whether what follows is in a text of three quotes.
  bool in_long_text() const { return quote_ != 0 && long_; }

 private:
  Part next_in_text(std::string_view text, std::size_t at);

  char quote_ = 0;  ///< that the text began with; 0 outside of one
  bool long_ = false;
  bool comment_ = false;
  int skipped_ = 0;  ///< characters that are known to belong to the text
};

}  // namespace drift::code
