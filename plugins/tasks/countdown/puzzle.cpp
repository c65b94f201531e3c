#include "puzzle.h"

#include "drawn_items.h"

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace drift::countdown {
namespace {

constexpr std::int64_t kLargest = 1'000'000'000;  // what the reward reads in an expression

std::optional<std::int64_t> parse_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kLargest) return std::nullopt;
  return value;
}

std::optional<Puzzle> parse_line(const std::string& line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const auto text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>() : "";
  };
  Puzzle puzzle;
  const std::string input = text("input");
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = input.find(',', begin);
    const auto number = parse_number(std::string_view(input).substr(begin, end - begin));
    if (!number) return std::nullopt;
    puzzle.numbers.push_back(*number);
  }
  const auto target = parse_number(text("output"));
  if (!target) return std::nullopt;
  puzzle.target = *target;
  return puzzle;
}

}  // namespace

std::string joined(const std::vector<std::int64_t>& numbers, const char* separator) {
  std::string text;
  for (const std::int64_t number : numbers) {
    if (!text.empty()) text += separator;
    text += std::to_string(number);
  }
  return text;
}

std::string name_of(const Puzzle& puzzle) { return joined(puzzle.numbers, ",") + "=" + std::to_string(puzzle.target); }

std::string key_of(Puzzle puzzle) {
  std::sort(puzzle.numbers.begin(), puzzle.numbers.end());
  return name_of(puzzle);
}

std::vector<Puzzle> read_puzzle_file(const std::filesystem::path& path) {
  const auto parse = [](const std::string& line, int) {
    auto puzzle = parse_line(line);
    if (puzzle) return puzzle;
    throw Error("this is not a puzzle of positive numbers and their target",
                R"(a line reads {"input": "30,100,93", "output": "23"})");
  };
  auto puzzles =
      tasks::read_puzzles<Puzzle>(path, parse, key_of, "each puzzle may stand once, in whatever order its numbers are");
  if (puzzles.empty()) throw Error("the puzzle file " + path.string() + " is empty");
  return puzzles;
}

}  // namespace drift::countdown
