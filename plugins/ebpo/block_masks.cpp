// The rule of EBPO's masks, for given random numbers.

#include "ebpo.h"

#include <algorithm>
#include <cmath>

namespace drift::ebpo {

std::vector<std::vector<std::vector<std::int64_t>>> tokens_of_blocks(const Responses& responses,
                                                                     std::int64_t block_size, BlockOrigin origin) {
  std::vector<std::vector<std::vector<std::int64_t>>> all(static_cast<std::size_t>(responses.size()));
  for (std::int64_t b = 0; b < responses.size(); ++b) {
    const auto block = block_size > 0 ? responses.blocks(b, origin) : std::vector<std::int64_t>();
    auto& tokens = all[static_cast<std::size_t>(b)];
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < responses.length(); ++i) {
      if (!responses[b].valid[i]) continue;
      const std::int64_t own = block.empty() ? 0 : block[static_cast<std::size_t>(i)];
      if (own != last) tokens.emplace_back();
      last = own;
      tokens.back().push_back(i);
    }
  }
  return all;
}

double level_of_block(double offset, std::int64_t i, std::int64_t blocks) {
  return std::fmod(offset + static_cast<double>(i) / static_cast<double>(blocks), 1.0);
}

std::int64_t masks_of_block(double level, std::int64_t tokens) {
  return std::min(static_cast<std::int64_t>(std::floor(level * static_cast<double>(tokens))) + 1, tokens);
}

}  // namespace drift::ebpo
