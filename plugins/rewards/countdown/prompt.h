#pragma once

#include <string>
#include <vector>

#include "puzzle.h"

namespace countdown {

/// The names of the prompts: what [task] prompt may be.
std::vector<std::string> prompt_names();

/// The question that a model reads, without the words and turns of [prompt]. `name` is one of prompt_names():
/// raw: for small models, the puzzle between two special tokens;
/// paper: the RLDF paper's appendix;
/// d1, espo: both projects' training; d1_eval: d1's evaluation, which asks for the answer in a box.
std::string prompt_of(const Puzzle& puzzle, const std::string& name);

}  // namespace countdown
