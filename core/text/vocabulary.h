#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// Ids are below this: far above any real vocabulary, and low enough that a table by id stays small.
inline constexpr std::int64_t kTokenIdLimit = std::int64_t{1} << 20;

/// Texts with their token ids, made for opening fast: all texts in one string, one flat table.
class Vocabulary {
 public:
  struct Entry {
    std::string_view text;
    std::int32_t id = -1;
  };

  void reserve(std::size_t entries);

  /// @param id  in [0, kTokenIdLimit)
  /// @return whether the text was new; a known text keeps its id
  bool add(std::string_view text, std::int32_t id);

  /// The id of a text; -1 if it is not in the vocabulary.
  std::int32_t find(std::string_view text) const;

  std::size_t size() const { return slots_.size(); }
  /// In the order in which they were added; i < size(). The text is valid until the next add().
  Entry entry(std::size_t i) const;

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t begin = 0;
    std::uint32_t length = 0;
    std::int32_t id = -1;
  };
  std::size_t place_of(std::string_view text, std::uint64_t hash) const;
  void grow(std::size_t capacity);

  std::string texts_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> table_;  // index into slots_, -1: free; a power of two
};

}  // namespace drift
