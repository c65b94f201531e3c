#include "extraction.h"

#include "blocks.h"
#include "definitions.h"

#include <algorithm>
#include <compare>
#include <optional>

namespace drift::code {
namespace {

using Tested = std::optional<std::vector<std::string>>;

/// How much of what is tested a text defines; what it imports counts where nothing defines any.
struct Share {
  std::ptrdiff_t made = 0;
  std::ptrdiff_t imported = 0;
  auto operator<=>(const Share&) const = default;
};

Share share_of_tested(std::string_view code, const Tested& tested) {
  const Definitions found = definitions_of(code);
  const auto count = [&](const std::vector<std::string>& names) {
    return std::ranges::count_if(*tested, [&](const auto& name) { return std::ranges::count(names, name) > 0; });
  };
  return {count(found.made), count(found.imported)};
}

/// Whether a text is code from its first line on.
bool begins_as_code(std::string_view text) {
  static constexpr std::string_view kBegins[] = {"import ", "from ", "def ",   "class ", "async ",
                                                 "@",       "#",     "print(", "for ",   "if ",
                                                 "while ",  "with ", "try:",   "\"\"\"", "'''"};
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const std::string_view line = text.substr(0, text.find('\n'));
  return !definitions_of(line).made.empty() ||
         std::ranges::any_of(kBegins, [&](std::string_view begin) { return line.starts_with(begin); });
}

Extraction code(std::string text, const char* rule, bool continues = false) {
  return {true, std::move(text), continues, rule};
}
Extraction none(const char* rule) { return {.rule = rule}; }

Extraction continued(const PrefixCode& before, const Block& block, const ExtractionRules& rules) {
  std::string whole = before.code + block.code;
  if (rules.fences == Fences::kLenient) whole = plain_code(whole);
  if (block.closed) return code(std::move(whole), "continues the prefix", true);
  if (rules.unclosed == Unclosed::kStrict) return none("the prefix's block is not closed");
  return code(std::move(whole), "continues the prefix, not closed", true);
}

/// The best of blocks: which is chosen before which.
struct Candidate {
  Share share;
  bool labelled = false;  ///< a fence without a language may enclose anything
  bool closed = false;
  auto operator<=>(const Candidate&) const = default;
};

/// The last of those that are best, and whether it defines anything that is tested.
struct Choice {
  const Block* block = nullptr;
  Candidate candidate;
  bool defines() const { return block != nullptr && candidate.share > Share{}; }
};

Choice best_block(const std::vector<Block>& blocks, const Tested& tested, Unclosed unclosed) {
  Choice best;
  for (const Block& block : blocks) {
    if (!block.closed && unclosed == Unclosed::kStrict) continue;
    const Candidate candidate{tested ? share_of_tested(block.code, tested) : Share{}, block.labelled, block.closed};
    if (best.block == nullptr || candidate >= best.candidate) best = {&block, candidate};
  }
  return best;
}

/// Code that stands before the first fence, if there is any.
std::optional<Extraction> before_fences(std::string_view response, const Blocks& blocks, const Tested& tested) {
  const std::string head = plain_code(std::string(response.substr(0, blocks.first)));
  const bool code_there = tested ? share_of_tested(head, tested) > Share{} : true;
  if (!code_there || (!(tested && !blocks.fenced) && !begins_as_code(head))) return std::nullopt;
  return code(head, blocks.fenced ? "the response up to a fence" : "the whole response");
}

Extraction of_own_blocks(const Choice& best, const Tested& tested, const std::vector<Block>& blocks) {
  if (best.block == nullptr) return none(blocks.empty() ? "no code block" : "the code block is not closed");
  if (!best.block->closed) return code(best.block->code, "the last block, not closed");
  return code(best.block->code,
              tested && best.defines() ? "the last block that defines what is tested" : "the last block");
}

}  // namespace

PrefixCode code_of_prefix(std::string_view prefix, Fences fences) {
  auto blocks = find_blocks(prefix, {}, fences).own;
  if (blocks.empty() || blocks.back().closed) return {};
  return {true, std::move(blocks.back().code), blocks.back().tick};
}

Extraction extract_code(std::string_view response, std::string_view prefix, const Tested& tested,
                        const ExtractionRules& rules) {
  const bool lenient = rules.fences == Fences::kLenient;
  const PrefixCode before = code_of_prefix(prefix, rules.fences);
  if (lenient && before.open && before.code.empty() && !prefix.ends_with('\n')) {
    // The response continues the line of the fence.
    const std::string_view line = prefix.substr(prefix.rfind('\n') + 1);
    return extract_code(std::string(line) + std::string(response), "", tested, rules);
  }
  Blocks blocks = find_blocks(response, before, rules.fences);
  if (lenient) {
    for (Block& block : blocks.own) block.code = plain_code(block.code);
    std::erase_if(blocks.own,
                  [](const Block& block) { return block.code.find_first_not_of(" \t\r\n") == std::string::npos; });
  }
  const Choice best = best_block(blocks.own, tested, rules.unclosed);
  if (before.open) {
    const bool replaces = best.block != nullptr && best.block->closed && (best.defines() || !tested);
    if (replaces) return code(best.block->code, "its own block");
    return continued(before, blocks.continued.value_or(Block{}), rules);
  }
  const bool any_closed = best.block != nullptr && best.block->closed;
  if (lenient && !best.defines() && (tested || !any_closed)) {
    if (auto head = before_fences(response, blocks, tested)) return *head;
  }
  return of_own_blocks(best, tested, blocks.own);
}

}  // namespace drift::code
