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
};

struct Blocks {
  std::optional<Block> continued;  ///< the prefix's, up to where it ends in the response
  std::vector<Block> own;
  bool fenced = false;  ///< whether there is a fence of any kind
};

/// Reads a text once, line by line.
/// @param open  the text begins in a block
Blocks find_blocks(std::string_view text, bool open, Fences fences);

}  // namespace drift::code
