#include <core/text/bpe.h>
#include <core/text/byte_alphabet.h>
#include <core/text/utf8.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <functional>
#include <utility>

namespace drift {
namespace {

std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
}

// A heap with the lowest rank on top, of equal ranks the leftmost.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
};

}  // namespace

std::size_t MergeTable::place_of(std::uint64_t pair) const {
  const std::size_t mask = table_.size() - 1;
  std::size_t place = (pair * 0x9E3779B97F4A7C15u >> 20) & mask;
  while (table_[place].pair != pair && table_[place].pair != kFree) place = (place + 1) & mask;
  return place;
}

void MergeTable::reserve(std::size_t merges) {
  std::vector<Slot> old(std::bit_ceil(merges + merges / 2 + 16));
  old.swap(table_);
  for (const Slot& slot : old) {
    if (slot.pair != kFree) table_[place_of(slot.pair)] = slot;
  }
}

void MergeTable::set(std::int32_t left, std::int32_t right, Merge merge) {
  if (size_ + size_ / 2 + 16 > table_.size()) reserve(2 * size_ + 16);
  Slot& slot = table_[place_of(pair_of(left, right))];
  if (slot.pair == kFree) ++size_;
  slot = {pair_of(left, right), merge};
}

MergeTable::Merge MergeTable::find(std::int32_t left, std::int32_t right) const {
  if (table_.empty()) return {};
  return table_[place_of(pair_of(left, right))].merge;
}

Bpe::Scratch::Scratch(std::size_t bytes) : spelt_(std::bit_ceil(std::clamp<std::size_t>(bytes / 8, 16, 1 << 15))) {}

Bpe::Bpe(BpeModel model) : model_(std::move(model)) {
  for (std::size_t byte = 0; byte < 256; ++byte) {
    start_of_byte_[byte] = start_of(byte_character(static_cast<unsigned char>(byte)));
  }
}

// A character is its piece; or the pieces of its bytes, if all are there; or unknown.
Bpe::Start Bpe::start_of(std::string_view character) const {
  Start start;
  const std::int32_t id = model_.vocabulary.find(character);
  if (id >= 0) {
    start.ids[0] = id;
    start.count = 1;
    return start;
  }
  for (std::size_t i = 0; model_.byte_fallback && i < character.size(); ++i) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned char>(character[i]));
    start.ids[i] = model_.vocabulary.find(name);
    if (start.ids[i] < 0) break;
    ++start.count;
  }
  start.bytes = true;
  start.unknown = static_cast<std::size_t>(start.count) < character.size();
  if (start.unknown) start.count = 0;
  return start;
}

std::size_t Bpe::encode(std::string_view word, Scratch& scratch, std::vector<std::int64_t>& ids) const {
  const std::uint64_t hash = std::hash<std::string_view>()(word);
  Scratch::Spelt& spelt = scratch.spelt_[hash & (scratch.spelt_.size() - 1)];
  const std::size_t begin = ids.size();
  if (spelt.hash == hash && spelt.word == word) {
    ids.resize(begin + spelt.count);
    std::copy_n(ids.begin() + static_cast<std::ptrdiff_t>(spelt.begin), spelt.count,
                ids.begin() + static_cast<std::ptrdiff_t>(begin));
    return kSpelt;
  }
  const std::size_t failed = spell(word, scratch);
  if (failed != kSpelt) return failed;
  merge(scratch);
  for (std::int32_t i = scratch.symbols_.empty() ? -1 : 0; i >= 0;) {
    const Scratch::Symbol& symbol = scratch.symbols_[static_cast<std::size_t>(i)];
    ids.push_back(symbol.id);
    i = symbol.next;
  }
  spelt = {hash, word, begin, ids.size() - begin};
  return kSpelt;
}

// The word in its smallest tokens.
std::size_t Bpe::spell(std::string_view word, Scratch& scratch) const {
  Symbols& symbols = scratch.symbols_;
  symbols.clear();
  const auto add = [&](std::int32_t id) {
    const auto position = static_cast<std::int32_t>(symbols.size());
    symbols.push_back({id, position - 1, position + 1});
  };
  if (model_.ignore_merges) {
    scratch.piece_.clear();
    for (const char byte : word) {
      if (model_.byte_level) scratch.piece_ += byte_character(static_cast<unsigned char>(byte));
    }
    const std::int32_t whole = model_.vocabulary.find(model_.byte_level ? std::string_view(scratch.piece_) : word);
    if (whole >= 0) {
      symbols.push_back({whole, -1, -1});
      return kSpelt;
    }
  }
  bool unknown_waits = false;  // neighbours may join it
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t length = model_.byte_level ? 1 : utf8_character_length(word.substr(at));
    const Start start =
        model_.byte_level ? start_of_byte_[static_cast<unsigned char>(word[at])] : start_of(word.substr(at, length));
    if (start.unknown) {
      if (model_.unknown < 0) return at;
      if (unknown_waits && !model_.fuse_unknown) add(model_.unknown);
      unknown_waits = true;
    } else {
      // Pieces of bytes do not end a run of unknown characters: the order in which the reference library has it.
      if (unknown_waits && !start.bytes) {
        add(model_.unknown);
        unknown_waits = false;
      }
      for (int i = 0; i < start.count; ++i) add(start.ids[static_cast<std::size_t>(i)]);
    }
    at += length;
  }
  if (unknown_waits) add(model_.unknown);
  if (!symbols.empty()) symbols.back().next = -1;
  return kSpelt;
}

void Bpe::propose(Scratch& scratch, std::int32_t position) const {
  const Scratch::Symbol& left = scratch.symbols_[static_cast<std::size_t>(position)];
  if (left.next < 0) return;
  const MergeTable::Merge merge = model_.merges.find(left.id, scratch.symbols_[static_cast<std::size_t>(left.next)].id);
  if (merge.rank < 0) return;
  scratch.heap_.push_back({merge.rank, position, merge.result});
  std::push_heap(scratch.heap_.begin(), scratch.heap_.end(), kLater);
}

void Bpe::merge(Scratch& scratch) const {
  Symbols& symbols = scratch.symbols_;
  auto& heap = scratch.heap_;
  heap.clear();
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) propose(scratch, static_cast<std::int32_t>(i));
  while (!heap.empty()) {
    const Scratch::Candidate candidate = heap.front();
    std::pop_heap(heap.begin(), heap.end(), kLater);
    heap.pop_back();
    Scratch::Symbol& left = symbols[static_cast<std::size_t>(candidate.position)];
    if (left.id < 0 || left.next < 0) continue;
    Scratch::Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    // The neighbours may have merged meanwhile; what still gives the same token may go ahead.
    if (model_.merges.find(left.id, right.id).result != candidate.result) continue;
    left.id = candidate.result;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = candidate.position;
    if (left.previous >= 0) propose(scratch, left.previous);
    propose(scratch, candidate.position);
  }
}

}  // namespace drift
