// Decoding by the `block` rollout against the originals' loops, transcribed to plain LibTorch (plain_decode.cpp): all
// logits, softmax in float64, rows that wait for each other. Two random LLaDAs; greedy; every row has its own prompt.
//
//   build/release/bench/decode_bench [--shape head_heavy balanced] [--dtype float32 bfloat16] [--batch 1 8]
//                                    [--decoder NAME…] [--length 128] [--rounds 1] [--threads 2] [--device cpu]
//                                    [--drift-only] [--set KEY=VALUE…] [--json FILE]
//
// Each side is a separate process; they take turns. Memory: most held during the first decoding, above what was held
// before it; on a GPU by tensors. Same: tokens that both sides wrote alike; rounding decides between equals.

#include "bench/counterpart.h"
#include "bench/measure.h"
#include "bench/plain_decode.h"
#include "bench/recipe.h"
#include "bench/update_case.h"

#include <core/base/component_host.h>
#include <core/base/device.h>
#include <core/base/phase_timer.h>
#include <core/base/threads.h>
#include <core/boundary/model_policy.h>

#include <drift/export.h>
#include <drift/rollout.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include <malloc.h>

namespace drift::bench {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kPrompt = 128;

const std::vector<DecodeCase>& decode_cases() {
  static const std::vector<DecodeCase> all{{"llada", "none", 0, 64},
                                           {"fast_prefix", "prefix", 0, 64},
                                           {"fast_prefix_threshold", "prefix", 0.9},
                                           {"fast_dual", "dual", 0, 64},
                                           {"fast_dual_threshold", "dual", 0.9},
                                           {"rldf_release_dynamic", "prefix", 0.9, 0, 32, 32}};
  return all;
}

struct Settings : Comparison {
  std::vector<std::string> decoders;
  std::vector<std::int64_t> batches;
  std::int64_t length = 0;
};

Settings settings_from(int count, char** arguments) {
  namespace options = boost::program_options;
  Settings settings;
  std::vector<std::string> names;
  for (const auto& decoder : decode_cases()) names.push_back(decoder.name);
  options::options_description known;
  settings.add_to(known);
  auto add = known.add_options();
  add("decoder", list_option(settings.decoders, names));
  add("batch", options::value(&settings.batches)->multitoken()->default_value({1, 8}, "1 8"));
  add("length", options::value(&settings.length)->default_value(128));
  options::variables_map values;
  options::store(options::parse_command_line(count, arguments, known), values);
  options::notify(values);
  return settings;
}

/// What one side does when it is asked for a decoder.
class Side {
 public:
  Side(const Settings& settings, at::Device device)
      : plain_(settings.serve == "plain"),
        length_(settings.length),
        device_(device),
        cases_(update_shape(settings.shapes.front()), settings.type(), device, settings.assignments) {
    const at::NoGradGuard no_gradient;
    // Random logits are nearly flat; a threshold then commits one token a forward, which no trained model does.
    for (const auto& parameter : cases_.model().parameters()) {
      if (parameter.name.ends_with("transformer.ff_out.weight")) parameter.tensor.mul_(kSharpness);
    }
  }

  /// "DECODER BATCH": decode once.
  Json answer(const std::string& line) {
    std::istringstream words(line);
    std::string name;
    std::int64_t batch = 0;
    words >> name >> batch;
    const auto& all = decode_cases();
    const auto decoder = std::ranges::find(all, name, &DecodeCase::name);
    if (decoder == all.end()) throw std::invalid_argument("there is no decoder `" + name + "`");
    Json json;
    ::malloc_trim(0);
    const MemoryPeak memory(device_);
    const at::NoGradGuard no_gradient;
    const PhaseTimer timer;
    auto tokens_BL = plain_ ? plain_decode(PlainLlada(cases_), *decoder, prompts(batch).to(device_), length_,
                                           cases_.model().traits().mask_id)
                            : drift_decode(*decoder, batch, json);
    tokens_BL = tokens_BL.cpu().contiguous();  // which waits for the device
    json["seconds"] = timer.seconds();
    json["memory"] = memory.bytes();
    const auto* tokens = tokens_BL.const_data_ptr<std::int64_t>();
    json["tokens"] = std::vector<std::int64_t>(tokens, tokens + batch * length_);
    return json;
  }

 private:
  static constexpr double kSharpness = 24;

  at::Tensor prompts(std::int64_t batch) const {
    return (at::arange(batch * kPrompt, at::kLong) * 7919 + 11)
        .remainder(cases_.shape().vocabulary - 10)
        .view({batch, kPrompt});
  }

  at::Tensor drift_decode(const DecodeCase& decoder, std::int64_t batch, Json& json) {
    const auto rollout = cases_.rollout("block", {{"length", length_},
                                                  {"block", decoder.block},
                                                  {"schedule", decoder.threshold == 0 ? "static" : "dynamic"},
                                                  {"steps", decoder.steps},
                                                  {"threshold", decoder.threshold},
                                                  {"cache", decoder.cache},
                                                  {"horizon", decoder.horizon},
                                                  {"early_stop", false},
                                                  {"temperature", 0.0}});
    const ModelPolicy policy(cases_.model());
    RolloutInput input;
    input.policy = &policy;
    input.prompts = {prompts(batch), at::ones({batch, kPrompt}, at::kBool), at::arange(batch, at::kLong)};
    Trajectories made;
    rollout->generate(input, made);
    json["forwards"] = made.forwards_B.sum().item<std::int64_t>();
    return made.tokens_BL;
  }

  const bool plain_;
  const std::int64_t length_;
  const at::Device device_;
  UpdateCases cases_;
};

double of(const Json& json, const char* name) { return json[name].get<double>(); }

void measure(const Settings& settings, const std::string& decoder, std::int64_t batch, Json result, Counterpart& drift,
             Counterpart* plain) {
  const std::string line = decoder + " " + std::to_string(batch);
  std::vector<double> seconds, plain_seconds, ratios;
  Json ours, theirs;
  for (int round = -1; round < settings.rounds; ++round) {
    if (plain != nullptr && (round >= 0 || settings.rounds == 0)) theirs = ask(*plain, line);
    const Json now = ask(drift, line);
    if (round < 0) ours = now;  // memory: of the first
    if (round < 0) continue;
    seconds.push_back(of(now, "seconds"));
    if (plain == nullptr) continue;
    plain_seconds.push_back(of(theirs, "seconds"));
    ratios.push_back(of(theirs, "seconds") / of(now, "seconds"));
  }
  std::printf("  %-22s %5lld %9.0f %9.2f %9.2f", decoder.c_str(), static_cast<long long>(batch), of(ours, "forwards"),
              spread(seconds).median, of(ours, "memory") / 1e9);
  result.update(
      {{"decoder", decoder}, {"batch", batch}, {"forwards", ours["forwards"]}, {"seconds", spread(seconds).median}});
  if (plain != nullptr) {
    double same = 0;
    const auto& a = ours["tokens"];
    const auto& b = theirs["tokens"];
    for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
    std::printf(" %10.2f %9.2f %9.2f %9.1f %%", spread(plain_seconds).median, spread(ratios).median,
                of(theirs, "memory") / of(ours, "memory"), 100 * same / static_cast<double>(a.size()));
    result.update({{"original_seconds", spread(plain_seconds).median},
                   {"ratio", spread(ratios).median},
                   {"same", same / static_cast<double>(a.size())}});
  }
  settings.write(result);
  std::printf("\n");
  std::fflush(stdout);
}

void run(int count, char** arguments) {
  const Settings settings = settings_from(count, arguments);
  use_threads(settings.threads);
  const at::Device device = run_device(settings.device);
  if (!settings.serve.empty()) {
    Side side(settings, device);
    return serve_lines([&](const std::string& line) { return side.answer(line); });
  }
  std::printf("prompt %lld, response %lld, block 32, %s, %d threads, %d rounds; medians\n",
              static_cast<long long>(kPrompt), static_cast<long long>(settings.length), settings.device.c_str(),
              settings.threads, settings.rounds);
  for (const auto& shape : settings.shapes) {
    for (const auto& type : settings.types) {
      const auto child = [&](const char* side) {
        auto list = settings.arguments(side, shape, type);
        list.insert(list.end(), {"--length", std::to_string(settings.length)});
        return std::make_unique<Counterpart>(list);
      };
      const auto drift = child("drift"), plain = settings.drift_only ? nullptr : child("plain");
      std::printf("\n%s, %s\n  %-22s %5s %9s %9s %9s %10s %9s %9s %11s\n", shape.c_str(), type.c_str(), "decoder",
                  "batch", "forwards", "seconds", "GB", "original", "time x", "memory x", "same");
      for (const auto& decoder : settings.decoders) {
        for (const std::int64_t batch : settings.batches) {
          measure(settings, decoder, batch, {{"shape", shape}, {"dtype", type}, {"set", settings.assignments}}, *drift,
                  plain.get());
        }
      }
    }
  }
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) { return drift::bench::guarded(drift::bench::run, count, arguments); }
