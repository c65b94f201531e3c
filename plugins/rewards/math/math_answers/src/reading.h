#pragma once

#include "lexer.h"
#include "measures.h"
#include "tree.h"

#include <string>
#include <string_view>
#include <vector>

namespace math_answers {

/// Whether letters that may be units (5 m) are read as units or as variables.
enum class ShortUnits { kDrop, kKeep };

/// An answer as a tree, or the reason why there is none.
struct Reading {
  Place root = kNone;
  bool short_unit = false;        ///< a letter was taken for a unit
  std::vector<Measure> measures;  ///< the units in it, with percent, degrees and currencies
  const char* reason = "";

  bool parsed() const { return root != kNone; }
};

/// Read one answer into `tree`, whose nodes refer to `text` and `tokens`.
Reading read_answer(std::string_view text, ShortUnits short_units, Tokens& tokens, Tree& tree);

/// Rewrite other notations as the usual ones: ]2, 5[ as (2, 5), (1, 2) U (3, 4), systems of equations as lists.
void rewrite_notations(Tokens& tokens);

/// `text` with each two backslashes as one where all are doubled, as in JSON that was never read: \\frac{1}{2}.
std::string undoubled(std::string_view text);

/// `text` without what only changes its look: \textcolor{red}, \hspace{2mm}.
std::string undecorated(std::string_view text);

/// An answer that names one of the choices given, and repeats what it says: \textbf{(B)}\ 12.
struct Choice {
  std::string_view letter;  ///< empty if it is no such answer
  std::string_view content;
};

Choice choice(std::string_view text);

/// What is left of an answer when spaces, $ and \left, \right are taken away: for answers that cannot be read.
std::string squeezed(std::string_view text);

/// The words of an answer, in small letters, without commands around them, a full stop at the end, or needless spaces.
std::string words(std::string_view text);

}  // namespace math_answers
