#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace countdown {

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
/// @throws drift::Error naming the line that is not so, or that repeats a puzzle.
std::vector<Puzzle> read_puzzle_file(const std::filesystem::path& path);

}  // namespace countdown
