#include <core/text/vocabulary.h>

#include <bit>
#include <functional>

namespace drift {

void Vocabulary::reserve(std::size_t entries) {
  slots_.reserve(entries);
  grow(std::bit_ceil(2 * entries + 16));
}

void Vocabulary::grow(std::size_t capacity) {
  table_.assign(capacity, -1);
  const std::size_t mask = capacity - 1;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    std::size_t place = slots_[i].hash & mask;
    while (table_[place] >= 0) place = (place + 1) & mask;
    table_[place] = static_cast<std::int32_t>(i);
  }
}

// Where the text is, or the free place where it belongs.
std::size_t Vocabulary::place_of(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t place = hash & mask;
  for (; table_[place] >= 0; place = (place + 1) & mask) {
    const Slot& slot = slots_[static_cast<std::size_t>(table_[place])];
    if (slot.hash == hash && std::string_view(texts_).substr(slot.begin, slot.length) == text) break;
  }
  return place;
}

bool Vocabulary::add(std::string_view text, std::int32_t id) {
  if (2 * (slots_.size() + 1) > table_.size()) grow(std::bit_ceil(4 * slots_.size() + 16));
  const std::uint64_t hash = std::hash<std::string_view>()(text);
  const std::size_t place = place_of(text, hash);
  if (table_[place] >= 0) return false;
  table_[place] = static_cast<std::int32_t>(slots_.size());
  slots_.push_back({hash, static_cast<std::uint32_t>(texts_.size()), static_cast<std::uint32_t>(text.size()), id});
  texts_ += text;
  return true;
}

std::int32_t Vocabulary::find(std::string_view text) const {
  if (table_.empty()) return -1;
  const std::int32_t found = table_[place_of(text, std::hash<std::string_view>()(text))];
  return found < 0 ? -1 : slots_[static_cast<std::size_t>(found)].id;
}

Vocabulary::Entry Vocabulary::entry(std::size_t i) const {
  const Slot& slot = slots_[i];
  return {std::string_view(texts_).substr(slot.begin, slot.length), slot.id};
}

}  // namespace drift
