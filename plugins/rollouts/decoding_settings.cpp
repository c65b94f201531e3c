#include "decoding_settings.h"

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <array>
#include <utility>

namespace drift::rollouts {
namespace {

constexpr std::array<std::pair<const char*, bool Quirks::*>, 15> kSwitches{{
    {"counts_batch", &Quirks::counts_batch},
    {"second_forward", &Quirks::second_forward},
    {"all_forwards", &Quirks::all_forwards},
    {"goes_back", &Quirks::goes_back},
    {"attends_padding", &Quirks::attends_padding},
    {"writes_any_id", &Quirks::writes_any_id},
    {"ends_on_schedule", &Quirks::ends_on_schedule},
    {"highest_entropy", &Quirks::highest_entropy},
    {"first_position", &Quirks::first_position},
    {"time_grid", &Quirks::time_grid},
    {"last_rank", &Quirks::last_rank},
    {"padding_ends_batch", &Quirks::padding_ends_batch},
    {"stores_last_block", &Quirks::stores_last_block},
    {"fills_last_block", &Quirks::fills_last_block},
    {"drops_remainder", &Quirks::drops_remainder},
}};

}  // namespace

Quirks read_quirks(Parameters& parameters, std::vector<std::string> names) {
  if (names.empty()) {
    for (const auto& [name, unused] : kSwitches) names.emplace_back(name);
  }
  const auto given =
      parameters("quirks", std::vector<std::string>{},
                 "defects of published decoders to reproduce, for comparisons with their traces", one_of(names));
  Quirks quirks;
  for (const auto& [name, member] : kSwitches) quirks.*member = std::ranges::count(given, name) > 0;
  return quirks;
}

bool stops_at(const DecodingSettings& settings, std::int64_t token, const ModelTraits& traits) {
  if (settings.stop_ids.empty()) return ends_response(token, traits);
  return std::ranges::count(settings.stop_ids, token) > 0;
}

at::Tensor stops_at(const DecodingSettings& settings, const at::Tensor& tokens, const ModelTraits& traits) {
  if (settings.stop_ids.empty()) return ends_response(tokens, traits);
  auto stops = at::zeros_like(tokens, at::kBool);
  for (const std::int64_t id : settings.stop_ids) stops.logical_or_(tokens == id);
  return stops;
}

void require_no_quirks_of_early_stop(const DecodingSettings& settings) {
  if (!settings.early_stop || !settings.quirks.any()) return;
  throw Error("rollout.early_stop does not go with rollout.quirks: the originals end no row early",
              "leave out one of the two");
}

SamplingOptions sampling_options(const DecodingSettings& settings, Confidence confidence, ConfidenceOf confidence_of,
                                 const ModelTraits& traits) {
  SamplingOptions options;
  options.temperature = settings.temperature;
  options.top_k = settings.top_k;
  options.top_p = settings.top_p;
  options.top_k_first = traits.block_size > 0 ? 1 : 0;  // as their decoders do it
  options.confidence = confidence;
  options.confidence_of = confidence_of;
  if (!settings.quirks.writes_any_id) options.forbidden_ids = traits.forbidden_output_ids;
  for (const std::int64_t id : settings.forbidden_ids) options.forbidden_ids.emplace_back(id, id + 1);
  return options;
}

}  // namespace drift::rollouts
