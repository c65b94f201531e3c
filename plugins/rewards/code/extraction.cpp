#include "extraction.h"

#include "blocks.h"

#include <algorithm>
#include <cctype>

namespace drift::code {
namespace {

bool part_of_name(char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; }

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
  const bool assigns = (line.starts_with('=') && !line.starts_with("==")) ||
                       (line.starts_with(':') && line.find('=') != line.npos);  // f: Type = …
  return assigns ? word : std::string_view();
}

using Tested = std::optional<std::vector<std::string>>;

bool defines_tested(std::string_view code, const Tested& tested) {
  if (!tested) return true;
  for (std::size_t at = 0; at < code.size();) {
    const std::size_t end = std::min(code.find('\n', at), code.size());
    if (std::ranges::count(*tested, defined_name(code.substr(at, end - at))) > 0) return true;
    at = end + 1;
  }
  return false;
}

/// Whether a response without any fence is code from its first line on.
bool begins_as_code(std::string_view response) {
  static constexpr std::string_view kBegins[] = {"import ", "from ",  "def ", "class ", "async ", "@",
                                                 "#",       "print(", "for ", "while ", "if ",    "try:"};
  response.remove_prefix(std::min(response.find_first_not_of("\n\r"), response.size()));
  const std::string_view line = response.substr(0, response.find('\n'));
  return !defined_name(line).empty() || line.find(" = ") != line.npos ||
         std::ranges::any_of(kBegins, [&](std::string_view begin) { return line.starts_with(begin); });
}

Extraction code(std::string text, const char* rule) { return {true, std::move(text), rule}; }
Extraction none(const char* rule) { return {false, {}, rule}; }

Extraction continued(const PrefixCode& before, const Block& block, Unclosed unclosed) {
  const std::string whole = std::string(before.code) + block.code;
  if (block.closed) return code(whole, "continues the prefix");
  if (unclosed == Unclosed::kStrict) return none("the prefix's block is not closed");
  return code(whole, "continues the prefix, not closed");
}

}  // namespace

PrefixCode code_of_prefix(std::string_view prefix) {
  const auto blocks = find_blocks(prefix, false, Fences::kStrict).own;
  if (blocks.empty() || blocks.back().closed) return {};
  return {true, prefix.substr(prefix.size() - blocks.back().code.size())};
}

Extraction extract_code(std::string_view response, std::string_view prefix, const Tested& tested,
                        const ExtractionRules& rules) {
  const PrefixCode before = code_of_prefix(prefix);
  const Blocks blocks = find_blocks(response, before.open, rules.fences);
  // A fence without a language may enclose anything: it counts where no other does.
  const bool labelled = std::ranges::any_of(blocks.own, &Block::labelled);
  const Block* last = nullptr;
  const Block* defining = nullptr;
  for (const Block& block : blocks.own) {
    if (!block.closed || block.labelled != labelled) continue;
    last = &block;
    if (defines_tested(block.code, tested)) defining = &block;
  }
  if (before.open) {
    if (defining != nullptr) return code(defining->code, "its own block");
    return continued(before, blocks.continued.value_or(Block{}), rules.unclosed);
  }
  if (defining != nullptr && tested) return code(defining->code, "the last block that defines what is tested");
  if (last != nullptr) return code(last->code, "the last block");
  if (!blocks.own.empty()) {
    if (rules.unclosed == Unclosed::kStrict) return none("the code block is not closed");
    return code(blocks.own.back().code, "the last block, not closed");
  }
  const bool whole = rules.fences == Fences::kLenient && !blocks.fenced &&
                     (tested ? defines_tested(response, tested) : begins_as_code(response));
  return whole ? code(std::string(response), "the whole response") : none("no code block");
}

}  // namespace drift::code
