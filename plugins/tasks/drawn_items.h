#pragma once

// What tasks share whose items are drawn at random.

#include <drift/error.h>
#include <drift/params.h>
#include <drift/random.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace drift::tasks {

/// The parameters that the constructor Settings(Parameters&) declares, and their values.
template <class Settings>
std::vector<Parameter> declared() {
  std::vector<Parameter> specs;
  Parameters collecting = Parameters::collecting(specs);
  Settings{collecting};
  return specs;
}
template <class Settings>
Settings given(const Parameters& params) {
  Parameters values = params;
  return Settings{values};
}

/// The held-out items are the same in every run, whatever its seed.
constexpr std::uint64_t kHeldOutSeed = 60;

/// More draws for one item than any usable settings need.
constexpr std::int64_t kMostDraws = 100'000;

inline RandomPoint point_of_item(std::int64_t index) {
  return {.step = index & 0xFFFFFFFF, .response = index >> 32};  // a field holds 32 bits
}

inline RandomPoint at(RandomPoint point, std::int64_t position) {
  point.position = position;
  return point;
}

/// @throws Error if `what`_low is more than `what`_high
inline void require_range(const std::string& what, std::int64_t low, std::int64_t high,
                          const std::string& smaller = "number") {
  if (low <= high) return;
  throw Error(what + "_low = " + std::to_string(low) + " is more than " + what + "_high = " + std::to_string(high),
              "set both, the smaller " + smaller + " as " + what + "_low");
}

/// `size` different items of the indices from 0 to `most` - 1: `draw(index)`, an optional, where it has a value.
/// @throws Error if there are fewer: "`source` only 7 different `items`, not 10", and the hint
template <class Item, class Draw, class Key>
std::vector<Item> draw_different(std::int64_t size, std::int64_t most, const Draw& draw, const Key& key_of,
                                 const std::string& source, const std::string& items_name, const std::string& hint) {
  std::vector<Item> items;
  std::set<decltype(key_of(std::declval<Item>()))> seen;
  for (std::int64_t index = 0; std::ssize(items) < size && index < most; ++index) {
    std::optional<Item> item = draw(index);
    if (item && seen.insert(key_of(*item)).second) items.push_back(std::move(*item));
  }
  if (std::ssize(items) == size) return items;
  throw Error(
      source + " only " + std::to_string(items.size()) + " different " + items_name + ", not " + std::to_string(size),
      hint);
}

/// @throws Error if there is no such item
template <class Item>
const Item& held_out_at(const std::vector<Item>& items, std::int64_t index) {
  if (index >= 0 && index < std::ssize(items)) return items[static_cast<std::size_t>(index)];
  throw Error("there is no held-out item " + std::to_string(index) + ", only " + std::to_string(items.size()) +
              " from 0 on");
}

/// Puzzles of a text file. `parse(line, number)` returns an optional, empty for a line without a puzzle, or throws an
/// Error, to which FILE:NUMBER is added. `once` is the hint for a puzzle whose key an earlier line has.
template <class Puzzle, class Parse, class Key>
std::vector<Puzzle> read_puzzles(const std::filesystem::path& path, const Parse& parse, const Key& key_of,
                                 const char* once) {
  std::error_code ignored;
  std::ifstream file;
  if (std::filesystem::is_regular_file(path, ignored)) file.open(path, std::ios::binary);
  if (!file.is_open())
    throw Error("cannot open the puzzle file " + path.string(),
                "scripts/fetch_data brings the published puzzles into data/ (docs/data.md); or set held_out_file");
  std::vector<Puzzle> puzzles;
  std::map<decltype(key_of(std::declval<Puzzle>())), int> line_of;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    try {
      std::optional<Puzzle> puzzle = parse(line, number);
      if (!puzzle) continue;
      const auto [first, is_new] = line_of.emplace(key_of(*puzzle), number);
      if (!is_new) throw Error("the puzzle of line " + std::to_string(first->second) + " again", once);
      puzzles.push_back(std::move(*puzzle));
    } catch (const Error& error) {
      throw Error(path.string() + ":" + std::to_string(number) + ": " + error.what(), error.hint());
    }
  }
  return puzzles;
}

}  // namespace drift::tasks
