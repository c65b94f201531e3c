// Decoding by the `block` rollout against the originals' loops, transcribed to plain LibTorch (plain_decode.cpp): all
// logits, softmax in float64, rows that wait for each other. Two random LLaDAs; greedy; every row has its own prompt.
//
//   build/release/bench/decode_bench [--shape head_heavy balanced] [--dtype float32 bfloat16] [--batch 1 8]
//                                    [--decoder NAME…] [--rounds 1] [--threads 2] [--device cpu] [--drift-only]
//
// Each side is a separate process; they take turns. Share: of the rate of a square matrix product of the same type,
// counted on the products that are needed at all: blocks at the positions that a forward of the record computed, with
// attention, and the LM head at the masked positions of the block. Memory: most held during the first decoding, above
// what was held before it; on a GPU by tensors. Same: tokens that both sides wrote alike; rounding decides between
// equals.
//
// --decoder uneven --drift-only: rows end between a tenth of the length and all of it. If rows that are done cost
// nothing, its share is that of the decoder `llada`.

#include "bench/counterpart.h"
#include "bench/measure.h"
#include "bench/plain_decode.h"
#include "bench/recipe.h"
#include "bench/update_case.h"

#include <core/base/component_host.h>
#include <core/base/device.h>
#include <core/base/model_policy.h>
#include <core/base/phase_timer.h>
#include <core/base/threads.h>

#include <drift/export.h>
#include <drift/rollout.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>

#include <malloc.h>

namespace drift::bench {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kPrompt = 128, kLength = 128;

/// Rows end at very different times. The originals have no early stop: --drift-only.
constexpr const char* kUneven = "uneven";

const std::vector<DecodeCase>& decode_cases() {
  static const std::vector<DecodeCase> all{{"llada", "none", 0, 64},
                                           {"fast_prefix_threshold", "prefix", 0.9},
                                           {"fast_dual", "dual", 0, 64},
                                           {"fast_dual_threshold", "dual", 0.9},
                                           {"rldf_release_dynamic", "prefix", 0.9, 0, 32, 32},
                                           {kUneven, "none", 0, 64, 8}};
  return all;
}

struct Settings {
  std::vector<std::string> shapes, types, decoders;
  std::vector<std::int64_t> batches;
  int rounds = 0, threads = 0;
  bool drift_only = false;
  std::string device;
  std::string serve;  ///< of a child: which side it is
};

Settings settings_from(int count, char** arguments) {
  namespace options = boost::program_options;
  Settings settings;
  std::vector<std::string> names;
  for (const auto& decoder : decode_cases()) {
    if (decoder.name != kUneven) names.push_back(decoder.name);
  }
  options::options_description known;
  auto add = known.add_options();
  const auto list = [](std::vector<std::string>& values, const std::vector<std::string>& all) {
    return options::value(&values)->multitoken()->default_value(all, "all");
  };
  add("shape", list(settings.shapes, {"head_heavy", "balanced"}));
  add("dtype", list(settings.types, {"float32", "bfloat16"}));
  add("decoder", list(settings.decoders, names));
  add("batch", options::value(&settings.batches)->multitoken()->default_value({1, 8}, "1 8"));
  add("rounds", options::value(&settings.rounds)->default_value(1));
  add("threads", options::value(&settings.threads)->default_value(2));
  add("device", options::value(&settings.device)->default_value("cpu"));
  add("drift-only", options::bool_switch(&settings.drift_only));
  add("serve", options::value(&settings.serve));
  options::variables_map values;
  options::store(options::parse_command_line(count, arguments, known), values);
  options::notify(values);
  return settings;
}

/// Writes the end token from a place of each response on, between a tenth of its length and all of it.
class EndingPolicy final : public Policy {
 public:
  EndingPolicy(const Policy& policy, const at::Tensor& prompts_BP) : policy_(policy), prompts_BP_(prompts_BP) {}

  const ModelTraits& traits() const override { return policy_.traits(); }
  at::Device device() const override { return policy_.device(); }
  at::Tensor logits(const ForwardInput& input, const ForwardCache& cache) const override {
    return policy_.logits(input, cache);
  }
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return policy_.make_cache(rows, positions);
  }
  SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                       const at::Tensor& uniform_M, const SamplingOptions& options) const override {
    auto sampled = policy_.sample(input, cache, row_M, uniform_M, options);
    const std::int64_t sequence = input.tokens_BS.size(1), batch = prompts_BP_.size(0);
    for (std::int64_t m = 0; m < row_M.size(0); ++m) {
      const auto place = input.rows_N[row_M[m].item<std::int64_t>()].item<std::int64_t>();
      // A row is known by the first token of its prompt.
      const auto first = input.tokens_BS[place / sequence][0];
      const auto row = (prompts_BP_.select(1, 0) == first).nonzero()[0].item<std::int64_t>();
      const double share = batch == 1 ? 1 : 0.1 + 0.9 * static_cast<double>(row) / static_cast<double>(batch - 1);
      if (static_cast<double>(place % sequence - kPrompt) >= share * kLength) sampled.token_M[m] = traits().end_id;
    }
    return sampled;
  }

 private:
  const Policy& policy_;
  const at::Tensor prompts_BP_;
};

/// What one side does when it is asked for a decoder.
class Side {
 public:
  Side(const std::string& name, const UpdateShape& shape, at::ScalarType type, at::Device device)
      : plain_(name == "plain"), shape_(shape), type_(type), device_(device), cases_(shape, type, device) {
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
    json["rate"] = product_rate(type_, device_).wall;
    ::malloc_trim(0);
    const MemoryPeak memory(device_);
    const at::NoGradGuard no_gradient;
    const PhaseTimer timer;
    auto tokens_BL = plain_ ? plain_decode(PlainLlada(cases_.model(), shape_), *decoder, prompts(batch).to(device_),
                                           kLength, cases_.model().traits().mask_id)
                            : drift_decode(*decoder, batch, json);
    tokens_BL = tokens_BL.cpu().contiguous();  // which waits for the device
    json["seconds"] = timer.seconds();
    json["memory"] = memory.bytes();
    const auto* tokens = tokens_BL.const_data_ptr<std::int64_t>();
    json["tokens"] = std::vector<std::int64_t>(tokens, tokens + batch * kLength);
    return json;
  }

 private:
  static constexpr double kSharpness = 24;

  at::Tensor prompts(std::int64_t batch) const {
    return (at::arange(batch * kPrompt, at::kLong) * 7919 + 11)
        .remainder(shape_.vocabulary - 10)
        .view({batch, kPrompt});
  }

  at::Tensor drift_decode(const DecodeCase& decoder, std::int64_t batch, Json& json) {
    const auto rollout = cases_.rollout("block", {{"length", kLength},
                                                  {"block", decoder.block},
                                                  {"schedule", decoder.threshold == 0 ? "static" : "dynamic"},
                                                  {"steps", decoder.steps},
                                                  {"threshold", decoder.threshold},
                                                  {"cache", decoder.cache},
                                                  {"horizon", decoder.horizon},
                                                  {"early_stop", decoder.name == kUneven},
                                                  {"temperature", 0.0}});
    const ModelPolicy policy(cases_.model());
    const EndingPolicy ending(policy, prompts(batch));
    RolloutInput input;
    input.policy = &policy;
    if (decoder.name == kUneven) input.policy = &ending;
    input.prompts = {prompts(batch), at::ones({batch, kPrompt}, at::kBool), at::arange(batch, at::kLong)};
    Trajectories made;
    rollout->generate(input, made);
    json["operations"] = operations(made, decoder.block);
    json["forwards"] = made.forwards_B.sum().item<std::int64_t>();
    return made.tokens_BL;
  }

  double operations(const Trajectories& made, std::int64_t block) const {
    const auto hidden = static_cast<double>(shape_.hidden), inner = static_cast<double>(shape_.inner);
    const double layers = static_cast<double>(shape_.layers),
                 weights = layers * (4 * hidden * hidden + 3 * hidden * inner);
    double sum = 0;
    for (std::int64_t b = 0; b < made.tokens_BL.size(0); ++b) {
      const std::int32_t* step = made.step_BL.const_data_ptr<std::int32_t>() + b * kLength;
      for (std::int64_t k = 0; k < made.forwards_B[b].item<std::int64_t>(); ++k) {
        double computed = kPrompt + kLength, attended = kPrompt + kLength;
        if (made.attended_BK.defined() && made.computed_begin_BK[b][k].item<int>() >= 0) {
          computed = made.computed_end_BK[b][k].item<int>() - made.computed_begin_BK[b][k].item<int>();
          attended = kPrompt + made.attended_BK[b][k].item<int>();
        }
        const std::int64_t first = (std::find(step, step + kLength, k) - step) / block * block;
        const auto masked = std::count_if(step + first, step + first + block, [&](auto at) { return at >= k; });
        sum += 2 * computed * (weights + layers * 2 * attended * hidden);
        sum += 2 * static_cast<double>(masked) * hidden * static_cast<double>(shape_.vocabulary);
      }
    }
    return sum;
  }

  const bool plain_;
  const UpdateShape shape_;
  const at::ScalarType type_;
  const at::Device device_;
  UpdateCases cases_;
};

double of(const Json& json, const char* name) { return json[name].get<double>(); }

void measure(const Settings& settings, const std::string& decoder, std::int64_t batch, Counterpart& drift,
             Counterpart* plain) {
  const std::string line = decoder + " " + std::to_string(batch);
  std::vector<double> seconds, plain_seconds, ratios, shares;
  Json ours, theirs;
  for (int round = -1; round < settings.rounds; ++round) {
    if (plain != nullptr && (round >= 0 || settings.rounds == 0)) theirs = ask(*plain, line);
    const Json now = ask(drift, line);
    if (round < 0) ours = now;  // memory: of the first
    if (round < 0) continue;
    seconds.push_back(of(now, "seconds"));
    shares.push_back(100 * of(now, "operations") / of(now, "seconds") / of(now, "rate"));
    if (plain == nullptr) continue;
    plain_seconds.push_back(of(theirs, "seconds"));
    ratios.push_back(of(theirs, "seconds") / of(now, "seconds"));
  }
  std::printf("  %-22s %5lld %9.0f %9.2f %8.1f %% %9.2f", decoder.c_str(), static_cast<long long>(batch),
              of(ours, "forwards"), spread(seconds).median, spread(shares).median, of(ours, "memory") / 1e9);
  if (plain != nullptr) {
    double same = 0;
    const auto& a = ours["tokens"];
    const auto& b = theirs["tokens"];
    for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
    std::printf(" %10.2f %9.2f %9.2f %9.1f %%", spread(plain_seconds).median, spread(ratios).median,
                of(theirs, "memory") / of(ours, "memory"), 100 * same / static_cast<double>(a.size()));
  }
  std::printf("\n");
  std::fflush(stdout);
}

void run(int count, char** arguments) {
  const Settings settings = settings_from(count, arguments);
  use_threads(settings.threads);
  const at::Device device = run_device(settings.device);
  if (!settings.serve.empty()) {
    Side side(settings.serve, update_shape(settings.shapes.front()),
              settings.types.front() == "float32" ? at::kFloat : at::kBFloat16, device);
    return serve_lines([&](const std::string& line) { return side.answer(line); });
  }
  std::printf("prompt %lld, response %lld, block 32, %s, %d threads, %d rounds; medians\n",
              static_cast<long long>(kPrompt), static_cast<long long>(kLength), settings.device.c_str(),
              settings.threads, settings.rounds);
  for (const auto& shape : settings.shapes) {
    for (const auto& type : settings.types) {
      const auto child = [&](const char* side) {
        return std::make_unique<Counterpart>(std::vector<std::string>{"--serve", side, "--shape", shape, "--dtype",
                                                                      type, "--device", settings.device, "--threads",
                                                                      std::to_string(settings.threads)});
      };
      const auto drift = child("drift"), plain = settings.drift_only ? nullptr : child("plain");
      std::printf("\n%s, %s\n  %-22s %5s %9s %9s %10s %9s %10s %9s %9s %11s\n", shape.c_str(), type.c_str(), "decoder",
                  "batch", "forwards", "seconds", "share", "GB", "original", "time x", "memory x", "same");
      for (const auto& decoder : settings.decoders) {
        for (const std::int64_t batch : settings.batches) measure(settings, decoder, batch, *drift, plain.get());
      }
    }
  }
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) { return drift::bench::guarded(drift::bench::run, count, arguments); }
