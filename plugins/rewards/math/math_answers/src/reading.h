#pragma once

#include "lexer.h"
#include "tree.h"

#include <string>
#include <string_view>

namespace math_answers {

/// Whether letters that may be units (5 m) are read as units or as variables.
enum class ShortUnits { kDrop, kKeep };

/// An answer as a tree, or the reason why there is none.
struct Reading {
  Place root = kNone;
  bool short_unit = false;  ///< a letter was taken for a unit
  const char* reason = "";

  bool parsed() const { return root != kNone; }
};

/// Read one answer into `tree`, whose nodes refer to `text` and `tokens`.
Reading read_answer(std::string_view text, ShortUnits short_units, Tokens& tokens, Tree& tree);

/// What is left of an answer when spaces, $ and \left, \right are taken away: for answers that cannot be read.
std::string squeezed(std::string_view text);

/// The words of an answer, in small letters, without commands around them, a full stop at the end, or needless spaces.
std::string words(std::string_view text);

}  // namespace math_answers
