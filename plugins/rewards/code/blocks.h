#pragma once

#include "extraction.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift::code {

/// The text between two fences.
struct Block {
  std::string code;
  bool closed = false;
  bool labelled = true;  ///< its fence names Python; else it names nothing
  char tick = '`';       ///< of its fence
};

struct Blocks {
  std::optional<Block> continued;  ///< the prefix's, up to where it ends in the response
  std::vector<Block> own;
  bool fenced = false;    ///< whether there is a fence of any kind
  std::size_t first = 0;  ///< where the line of the first fence begins, or the end of the text
};

/// Reads a text once, line by line.
/// @param before  if it is open, the text begins in its block
Blocks find_blocks(std::string_view text, const PrefixCode& before, Fences fences);

/// Code without what may stand before each of its lines: the indentation of a list, the prompts of an interactive
/// Python (whose answers are left out).
std::string plain_code(const std::string& code);

}  // namespace drift::code
