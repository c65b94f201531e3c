#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace drift::countdown {

struct Puzzle {
  std::vector<std::int64_t> numbers;
  std::int64_t target = 0;
};

std::string joined(const std::vector<std::int64_t>& numbers, const char* separator);

/// "12,7,3=48"
std::string name_of(const Puzzle& puzzle);

/// The name with the numbers in increasing order: the same for puzzles that differ only in their order.
std::string key_of(Puzzle puzzle);

/// Puzzles of a file of JSON Lines as d1 and ESPO publish them: {"input": "30,100,93", "output": "23"}.
/// @throws Error naming the line that is not so, or that repeats a puzzle.
std::vector<Puzzle> read_puzzle_file(const std::filesystem::path& path);

/// The names of the prompts: what [task] prompt may be.
std::vector<std::string> prompt_names();

/// The question that a model reads, without the words and turns of [prompt]. `name` is one of prompt_names():
/// raw: for small models, the puzzle between two special tokens;
/// paper: the RLDF paper's appendix;
/// d1, espo: both projects' training; d1_eval: d1's evaluation, which asks for the answer in a box.
std::string prompt_of(const Puzzle& puzzle, const std::string& name);

}  // namespace drift::countdown
