#include "extraction.h"

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

namespace drift::code {
namespace {

constexpr std::string_view kFence = "```";

enum class LineKind { kText, kOpen, kClose };

LineKind kind_of(std::string_view line) {
  const std::string text = boost::trim_right_copy(std::string(line));
  if (boost::trim_left_copy(text) == kFence) return LineKind::kClose;
  if (!text.starts_with(kFence)) return LineKind::kText;
  const std::string language = boost::to_lower_copy(text.substr(kFence.size()));
  return language == "python" || language == "py" || language == "python3" ? LineKind::kOpen : LineKind::kText;
}

struct Block {
  std::string_view code;
  bool closed = false;
};

struct Blocks {
  std::optional<Block> continued;  ///< the prefix's, up to where it ends in the response
  std::vector<Block> own;
};

Blocks find_blocks(std::string_view response, bool open) {
  Blocks blocks;
  constexpr auto kNone = std::string_view::npos;
  std::size_t begin = kNone;
  if (open) blocks.continued = Block{response, false};
  bool continuing = open;
  const auto end_at = [&](std::size_t at) {
    if (continuing) blocks.continued = Block{response.substr(0, at), true};
    continuing = false;
  };
  for (std::size_t at = 0; at < response.size();) {
    const std::size_t end = std::min(response.find('\n', at), response.size());
    const std::size_t next = std::min(end + 1, response.size());
    switch (kind_of(response.substr(at, end - at))) {
      case LineKind::kOpen:
        end_at(at);
        begin = next;
        break;
      case LineKind::kClose:
        end_at(at);
        if (begin != kNone) blocks.own.push_back({response.substr(begin, at - begin), true});
        begin = kNone;
        break;
      case LineKind::kText: break;
    }
    at = next;
  }
  if (begin != kNone) blocks.own.push_back({response.substr(begin), false});
  return blocks;
}

bool part_of_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_word_in(std::string_view word, std::string_view text) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !part_of_name(text[at - 1])) && (end == text.size() || !part_of_name(text[end]))) return true;
  }
  return false;
}

// The name that a line defines at its left edge: by def, class or an assignment. Empty if it defines none.
std::string_view defined_name(std::string_view line) {
  const auto take_word = [&] {
    const auto end = std::find_if_not(line.begin(), line.end(), part_of_name);
    const std::string_view word(line.begin(), end);
    line.remove_prefix(word.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    return word;
  };
  std::string_view word = take_word();
  if (word == "async") word = take_word();
  if (word == "def" || word == "class") return take_word();
  return line.starts_with('=') && !line.starts_with("==") ? word : std::string_view();
}

bool defines_tested(std::string_view code, std::string_view tests) {
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = std::min(code.find('\n', at), code.size());
    const auto name = defined_name(code.substr(at, end - at));
    if (!name.empty() && (tests.empty() || is_word_in(name, tests))) return true;
    at = end + 1;
  }
  return false;
}

}  // namespace

PrefixCode code_of_prefix(std::string_view prefix) {
  const auto blocks = find_blocks(prefix, false).own;
  if (blocks.empty() || blocks.back().closed) return {};
  return {true, blocks.back().code};
}

Extraction extract_code(std::string_view response, std::string_view prefix, std::string_view tests, Unclosed unclosed) {
  const PrefixCode before = code_of_prefix(prefix);
  const Blocks blocks = find_blocks(response, before.open);
  const Block* last = nullptr;
  const Block* defining = nullptr;
  for (const Block& block : blocks.own) {
    if (!block.closed) continue;
    last = &block;
    if (defines_tested(block.code, tests)) defining = &block;
  }
  const auto code = [](std::string_view text, const char* rule) { return Extraction{true, std::string(text), rule}; };
  const auto none = [](const char* rule) { return Extraction{false, {}, rule}; };
  if (before.open) {
    if (defining != nullptr) return code(defining->code, "its own block");
    const std::string whole = std::string(before.code) + std::string(blocks.continued->code);
    if (blocks.continued->closed) return code(whole, "continues the prefix");
    if (unclosed == Unclosed::kStrict) return none("the prefix's block is not closed");
    return code(whole, "continues the prefix, not closed");
  }
  if (defining != nullptr) return code(defining->code, "the last block that defines what is tested");
  if (last != nullptr) return code(last->code, "the last block");
  if (blocks.own.empty()) return none("no code block");
  if (unclosed == Unclosed::kStrict) return none("the code block is not closed");
  return code(blocks.own.back().code, "the last block, not closed");
}

}  // namespace drift::code
