#pragma once

#include <string>
#include <vector>

#include "grid.h"

namespace sudoku {

/// The names of the prompts: what [task] prompt may be.
std::vector<std::string> prompt_names();

/// The question that a model reads, without the words and turns of [prompt]. `name` is one of prompt_names():
/// raw: for the quickstart's small model, the grid between two special tokens, 21 tokens;
/// paper: the RLDF paper's appendix, whose bytes are not published: where it has typographic signs this has ASCII, and
/// ** for bold;
/// d1: its training and evaluation; espo, espo_eval: ESPO's training and evaluation.
std::string prompt_of(const Grid& clues, const std::string& name);

}  // namespace sudoku
