#pragma once

#include <string>

#include "grid.h"

namespace sudoku {

/// The prompt of the quickstart's small model: the grid between two special tokens, 21 tokens.
std::string raw_prompt(const Grid& clues);

/// The prompt of the RLDF paper's appendix, without a model's chat template. The paper is typeset and its bytes are not
/// published: where it has typographic signs this has ASCII, and ** for bold.
std::string paper_prompt(const Grid& clues);

}  // namespace sudoku
