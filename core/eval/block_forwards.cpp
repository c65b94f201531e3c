#include <core/eval/block_forwards.h>

#include <core/boundary/checked.h>

#include <drift/cached_forward.h>
#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <memory>

namespace drift {
namespace {

at::Tensor require(const SafetensorsFile& file, const std::string& name) {
  if (file.find(name) == nullptr) {
    throw Error(file.path().string() + ": there is no tensor `" + name + "`",
                "tests/golden/block/README.md lists the tensors of each mode; --mode names another");
  }
  return file.tensor(name);
}

/// Numbers [B, S] of the file.
at::Tensor numbers(const SafetensorsFile& file, const std::string& name) {
  const auto values_BS = require(file, name);
  if (values_BS.dim() != 2 || values_BS.numel() == 0 || at::isFloatingType(values_BS.scalar_type()))
    throw Error(file.path().string() + ": `" + name + "` is not a table of integers [sequences, tokens]");
  return values_BS.to(at::kLong);
}

at::Tensor tokens(const SafetensorsFile& file, const std::string& name, const Model& model) {
  const auto tokens_BS = numbers(file, name);
  if (tokens_BS.lt(0).any().item<bool>() || tokens_BS.ge(model.traits().vocabulary_size).any().item<bool>()) {
    throw Error(file.path().string() + ": `" + name + "` holds ids outside the model's vocabulary of " +
                std::to_string(model.traits().vocabulary_size));
  }
  return tokens_BS;
}

at::Tensor blocks(const at::Tensor& positions, std::int64_t size) { return positions.floor_divide(size); }

at::Tensor logits(const at::Tensor& hidden_NH, const Model& model, std::int64_t rows) {
  return at::mm(hidden_NH, model.lm_head_VH().t()).view({rows, -1, model.traits().vocabulary_size});
}

/// The logits that a file has of `got_BSV`.
LogitPair compared(const SafetensorsFile& file, const std::string& name, const at::Tensor& got_BSV) {
  LogitPair pair{name, got_BSV, require(file, name)};
  if (pair.expected_BSV.sizes() != got_BSV.sizes()) {
    throw Error(file.path().string() + ": `" + name + "` has the shape " + shape_text(pair.expected_BSV.sizes()) +
                ", expected " + shape_text(got_BSV.sizes()));
  }
  return pair;
}

/// [clean | noisy], both in full. Of several texts each begins at position 0.
TwoCopies whole_copies(const SafetensorsFile& file, bool is_packed, std::int64_t block, const Model& model) {
  const auto clean = tokens(file, "input_ids", model), masked = numbers(file, "masked");
  const std::int64_t rows = clean.size(0), length = clean.size(1);
  const auto position =
      is_packed ? numbers(file, "position_ids") : at::arange(length, at::kLong).expand({rows, length});
  const auto twice = [](const at::Tensor& one) { return at::cat({one, one}, 1); };
  TwoCopies made{{}, 0, length, length};
  made.input.tokens_BS = at::cat({clean, at::where(masked.ne(0), model.traits().mask_id, clean)}, 1);
  made.input.positions_BS = twice(position);
  made.input.block_BS = twice(blocks(position, block));
  made.input.copy_BS = at::cat({at::zeros_like(clean), at::zeros_like(clean) + 1}, 1);
  if (is_packed) made.input.text_BS = twice(position.eq(0).to(at::kLong).cumsum(1));
  return made;
}

/// [prompt | clean response | noisy response]: blocks of the response count from its start, those of the prompt from
/// its end. Padding before the prompt is nothing, and that of the response like any token.
TwoCopies response_copies(const SafetensorsFile& file, std::int64_t block, const Model& model) {
  const auto prompt = tokens(file, "prompt_ids", model), clean = tokens(file, "response_ids", model);
  const auto masked = numbers(file, "masked");
  const std::int64_t rows = prompt.size(0), of_prompt = prompt.size(1), length = clean.size(1);
  const auto text = at::cat({prompt, clean}, 1);
  const auto is_prompt = prompt.ne(model.traits().pad_id).to(at::kLong).cumsum(1).ne(0);
  const auto is_token = at::cat({is_prompt, clean.ge(0)}, 1);
  const auto position = at::where(is_token, is_token.to(at::kLong).cumsum(1) - 1, 1);
  const auto block_of = blocks(at::arange(-of_prompt, length, at::kLong), block).expand({rows, of_prompt + length});
  const auto with_copy = [&](const at::Tensor& one) { return at::cat({one, one.narrow(1, of_prompt, length)}, 1); };
  TwoCopies made{{}, of_prompt, of_prompt + length, length};
  made.input.tokens_BS = at::cat({text, at::where(masked.ne(0), model.traits().mask_id, clean)}, 1);
  made.input.positions_BS = with_copy(position);
  made.input.block_BS = with_copy(block_of);
  made.input.copy_BS = at::cat({at::zeros_like(text), at::zeros_like(clean) + 1}, 1);
  made.input.text_BS = at::cat({is_prompt.to(at::kLong) - 1, at::zeros_like(clean), at::zeros_like(clean)}, 1);
  return made;
}

/// Forwards against one cache.
class CachedBlocks {
 public:
  CachedBlocks(const Model& model, const SafetensorsFile& file, std::int64_t positions, std::int64_t rows)
      : model_(model), file_(file), rows_(rows), cache_(checked_cache(model, rows, positions)) {
    if (!cache_) throw Error("the model family " + model.traits().family + " computes without a cache");
  }

  /// The positions [first, end) of `tokens_BS`, which see nothing from `attended` on.
  LogitPair window(const std::string& name, const at::Tensor& tokens_BS, std::int64_t first, std::int64_t end,
                   std::int64_t attended) const {
    ForwardInput input;
    input.tokens_BS = tokens_BS.narrow(1, first, end - first).to(model_.device());
    CacheWindow window{at::full({rows_}, first, at::kLong), at::full({rows_}, attended, at::kLong)};
    return compared(file_, name, logits(checked_window(model_, input, window, *cache_), model_, rows_));
  }

 private:
  const Model& model_;
  const SafetensorsFile& file_;
  std::int64_t rows_;
  std::unique_ptr<KeyValueCache> cache_;
};

std::vector<LogitPair> cached_forwards(const Model& model, const SafetensorsFile& file, bool is_small,
                                       std::int64_t block) {
  if (block != model.traits().block_size) {
    throw Error("a cache has blocks of " + std::to_string(model.traits().block_size) +
                    " tokens, as the model, not of " + std::to_string(block),
                "leave --block out");
  }
  const auto clean = tokens(file, "clean_ids", model), noisy = tokens(file, "noisy_ids", model);
  const std::int64_t start = require(file, "logits_prefill").size(1), end = start + block;
  const CachedBlocks cached(model, file, clean.size(1), clean.size(0));
  std::vector<LogitPair> pairs{cached.window("logits_prefill", clean, 0, start, start),
                               cached.window("logits_denoise", noisy, start, end, end)};
  if (is_small) {
    const std::int64_t first = end - require(file, "logits_small").size(1);
    pairs.push_back(cached.window("logits_small", tokens(file, "noisy_ids_later", model), first, end, end));
  } else {
    pairs.push_back(cached.window("logits_store", clean, start, end, end));
    pairs.push_back(cached.window("logits_next", noisy, end, end + block, end + block));
  }
  return pairs;
}

}  // namespace

const std::vector<std::string>& forward_modes() {
  static const std::vector<std::string> modes{
      "plain",           "block_causal",      "leftpad_block_causal", "leftpad_keymask",   "two_copy_global",
      "two_copy_packed", "two_copy_response", "cache_blocks",         "cache_blocks_small"};
  return modes;
}

std::string forward_mode_of(const SafetensorsFile& file) {
  const auto has = [&](const char* name) { return file.find(name) != nullptr; };
  if (has("clean_ids")) return has("logits_small") ? "cache_blocks_small" : "cache_blocks";
  if (!has("masked")) return "plain";
  if (has("response_ids")) return "two_copy_response";
  return has("position_ids") ? "two_copy_packed" : "two_copy_global";
}

TwoCopies two_copies(const SafetensorsFile& file, const std::string& mode, std::int64_t block, const Model& model) {
  TwoCopies made = mode == "two_copy_response" ? response_copies(file, block, model)
                                               : whole_copies(file, mode == "two_copy_packed", block, model);
  made.input.tokens_BS = made.input.tokens_BS.to(model.device());
  return made;
}

std::vector<LogitPair> block_forwards(const Model& model, const SafetensorsFile& file, const std::string& mode,
                                      std::int64_t block) {
  const at::NoGradGuard no_gradient;
  if (mode.starts_with("cache_")) return cached_forwards(model, file, mode == "cache_blocks_small", block);
  const TwoCopies row = two_copies(file, mode, block, model);
  const auto got_BSV = logits(checked_forward(model, row.input), model, row.input.tokens_BS.size(0));
  std::vector<LogitPair> pairs{compared(file, "noisy_logits", got_BSV.narrow(1, row.noisy_first, row.length))};
  if (file.find("clean_logits") != nullptr)
    pairs.push_back(compared(file, "clean_logits", got_BSV.narrow(1, row.clean_first, row.length)));
  return pairs;
}

}  // namespace drift
