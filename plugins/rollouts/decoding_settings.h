#pragma once

#include <drift/model.h>
#include <drift/params.h>
#include <drift/sampling.h>

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift::rollouts {

/// What published decoders do otherwise (docs/spec/models_rollout.md 3.6, 3.7). Each is the name of a switch of
/// `rollout.quirks`; which program has which: tests/golden/data/originals.json.
struct Quirks {
  bool counts_batch = false;        ///< steps and forwards are those of the batch, whose rows wait for each other
  bool second_forward = false;      ///< at least two forwards a block, even if the first one finished it
  bool all_forwards = false;        ///< always all forwards that the schedule gives a block
  bool goes_back = false;           ///< what earlier blocks left masked may be committed
  bool attends_padding = false;     ///< padding is attended to, and shifts the positions
  bool writes_any_id = false;       ///< also the mask id, which leaves its position masked
  bool ends_on_schedule = false;    ///< a block's last scheduled forward ends it, whatever is still masked
  bool highest_entropy = false;     ///< negative_entropy with the wrong sign
  bool first_position = false;      ///< a block's first forward commits its first position only
  bool time_grid = false;           ///< as many positions at a step as Dream's times give, in float32
  bool last_rank = false;           ///< factor: if only the last rank fails, it is committed as well
  bool padding_ends_batch = false;  ///< a block of padding in every row ends them all
  bool stores_last_block = false;   ///< the keys of the last block are computed, too, for which nobody asks
  bool fills_last_block = false;    ///< the last block is decoded to its end, beyond the response
  bool drops_remainder = false;     ///< block / steps positions at each forward, without the division's remainder

  bool operator==(const Quirks&) const = default;
  bool any() const { return *this != Quirks(); }
};

/// Declares `quirks`. @param names  of the switches that the rollout has; empty: all
Quirks read_quirks(Parameters& parameters, std::vector<std::string> names = {});

/// What all rollouts here are told.
struct DecodingSettings {
  std::int64_t length = 0;       ///< L
  std::int64_t steps = 0;        ///< scheduled forwards for the whole response
  double order_temperature = 0;  ///< positions are drawn by softmax(score / this); 0 = the surest
  double temperature = 0, top_p = 1, guidance = 0;
  std::int64_t top_k = 0;
  bool early_stop = false;
  std::vector<std::int64_t> forbidden_ids;
  std::vector<std::int64_t> stop_ids;  ///< instead of the model's end tokens and padding
  Quirks quirks;

  bool stops() const { return early_stop || !stop_ids.empty(); }
};

/// Whether a response that stops does so at this token.
bool stops_at(const DecodingSettings& settings, std::int64_t token, const ModelTraits& traits);
/// The same for each of `tokens`: bool, of their shape.
at::Tensor stops_at(const DecodingSettings& settings, const at::Tensor& tokens, const ModelTraits& traits);

/// @throws Error, that rows end early and originals are imitated
void require_no_quirks_of_early_stop(const DecodingSettings& settings);

SamplingOptions sampling_options(const DecodingSettings& settings, Confidence confidence, ConfidenceOf confidence_of,
                                 const ModelTraits& traits);

}  // namespace drift::rollouts
