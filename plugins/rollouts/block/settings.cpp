#include "settings.h"

#include <drift/error.h>

#include <algorithm>
#include <string>

namespace drift::block {
namespace {

void refuse(bool given, const std::string& what, const std::string& reason, const std::string& hint) {
  if (given) throw Error("rollout." + what + " " + reason, hint);
}

/// Of a model whose tokens see all others.
void check_text(const BlockSettings& settings) {
  settings.check_length();
  const auto needs_blocks = [](bool given, const char* what) {
    refuse(given, what, "is for models with block attention", "leave it out");
  };
  needs_blocks(settings.schedule == Schedule::kEntropyBounded, "schedule = \"entropy_bounded\"");
  needs_blocks(settings.stops() && settings.stop_at_once, "stop_at_once");
  needs_blocks(settings.small_block > 0, "small_block");
  const Quirks& quirks = settings.quirks;
  needs_blocks(quirks.stores_last_block || quirks.fills_last_block || quirks.drops_remainder,
               "quirks: stores_last_block, fills_last_block or drops_remainder");
  refuse(settings.append && settings.cache != Cache::kNone, "cache", "keeps keys of what rollout.append makes anew",
         "set rollout.cache = \"none\"");
  refuse(settings.stops() && quirks.any(), "stop_ids",
         "does not go with rollout.quirks: the originals end no row early", "leave out one of the two");
}

/// Of a model with block attention.
void check_blocks(const BlockSettings& settings, std::int64_t block) {
  if (settings.block != 0 && settings.block != block) {
    throw Error("rollout.block = " + std::to_string(settings.block) + ", but the model's blocks have " +
                    std::to_string(block) + " tokens",
                "set rollout.block = 0, which means the model's, or model.block_size");
  }
  refuse(settings.cache != Cache::kNone, "cache",
         "is for models without blocks: with them the exact keys are always kept", "leave rollout.cache out");
  refuse(settings.append, "append", "is for models without blocks: with them nothing behind a block is ever seen",
         "leave it out");
  refuse(settings.steps > 0, "steps", "divides a response, whose blocks on this model begin in its prompt",
         "set rollout.steps = 0, and rollout.block_steps if a forward is to commit several positions");
  refuse(settings.guidance > 0, "guidance", "computes entire sequences, and the model single blocks", "set it to 0");
  refuse(!settings.unsure_ids.empty(), "unsure_ids", "is for models without blocks", "leave it out");
  refuse(settings.small_block > 0 && block % settings.small_block != 0, "small_block",
         "does not divide the model's block of " + std::to_string(block), "choose one that does");
  refuse(settings.small_block_cache && settings.small_block == 0, "small_block_cache", "needs rollout.small_block",
         "set both");
  Quirks others = settings.quirks;
  others.writes_any_id = others.ends_on_schedule = others.stores_last_block = others.fills_last_block =
      others.drops_remainder = false;
  refuse(others.any(), "quirks", "names a defect of decoders of models without blocks",
         "of models with blocks: writes_any_id, ends_on_schedule, stores_last_block, fills_last_block, "
         "drops_remainder");
}

}  // namespace

void BlockSettings::check_length() const {
  if (length % block == 0) return;
  throw Error(
      "rollout.length = " + std::to_string(length) + " is not a multiple of rollout.block = " + std::to_string(block),
      "choose a block that divides the length, or leave rollout.block out if the model has blocks of its own");
}

BlockSettings BlockSettings::on(const ModelTraits& traits) const {
  BlockSettings made = *this;
  if (traits.block_size > 0) {
    check_blocks(made, traits.block_size);
    made.block = traits.block_size;
    if (made.block_steps == 0) made.block_steps = made.block;
    return made;
  }
  constexpr std::int64_t kBlock = 32;
  if (made.block == 0) made.block = std::min(kBlock, made.length);
  if (made.steps == 0) made.steps = made.length;
  check_text(made);
  return made;
}

}  // namespace drift::block
