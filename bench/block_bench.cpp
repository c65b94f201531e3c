// A block-diffusion model against its originals' loops, transcribed to plain LibTorch (plain_sdar.cpp): SDAR's
// generate.py and TraceRL's update in its layout. Greedy; one token a forward; every row has its own prompt.
//
//   build/release/bin/drift model random assets/shapes/sdar-1.7b-4l --out runs/sdar-1.7b-4l
//   build/release/bench/block_bench --shape runs/sdar-1.7b-4l [--dtype float32 bfloat16] [--case NAME…]
//                                   [--length 64] [--rounds 1] [--threads 2] [--device cpu] [--drift-only]
//                                   [--set KEY=VALUE…] [--json FILE]
//
// decode_1, decode_8: batch 1 and 8, prompt 128. update: two responses, prompt 128, response 128, each
// block in one to four steps; all weights, no reference policy. cache: 256 tokens in blocks of 8, with the block cache
// against a forward of the whole text for each step, both Drift's.
// Each side is a separate process; they take turns. Same: tokens that both sides wrote alike; rounding decides between
// equals.

#include "bench/counterpart.h"
#include "bench/measure.h"
#include "bench/plain_sdar.h"
#include "bench/recipe.h"

#include <core/base/component_host.h>
#include <core/base/device.h>
#include <core/base/memory.h>
#include <core/base/phase_timer.h>
#include <core/base/threads.h>
#include <core/boundary/components.h>
#include <core/boundary/model_policy.h>
#include <core/io/checkpoint.h>
#include <core/plugin/plugin_loader.h>
#include <core/ranks/ranks.h>
#include <core/train/memory_plan.h>
#include <core/update/policy_gradient.h>
#include <core/update/policy_update.h>

#include <drift/export.h>
#include <drift/rollout.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cstdio>
#include <filesystem>
#include <sstream>

#include <malloc.h>

namespace drift::bench {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t kPrompt = 128, kResponse = 128, kResponses = 2, kCacheBlock = 8, kCacheLength = 256;

struct Settings : Comparison {
  std::vector<std::string> cases;
  std::int64_t length = 0;
};

Settings settings_from(int count, char** arguments) {
  namespace options = boost::program_options;
  Settings settings;
  options::options_description known;
  settings.add_to(known);
  auto add = known.add_options();
  add("case", list_option(settings.cases, {"decode_1", "decode_8", "update", "cache"}));
  add("length", options::value(&settings.length)->default_value(64));
  options::variables_map values;
  options::store(options::parse_command_line(count, arguments, known), values);
  options::notify(values);
  return settings;
}

SdarShape shape_of(const std::string& folder, std::int64_t block) {
  const auto json = Json::parse(read_config_json(folder));
  return {json["num_hidden_layers"], json["num_attention_heads"], json["num_key_value_heads"], json["head_dim"], block,
          json["rms_norm_eps"],      json["rope_theta"]};
}

/// Random texts, each block written in one to four steps, its tokens in any order.
Trajectories made_up_trajectories(const ModelTraits& traits) {
  const RandomStream random(7, "block bench");
  Trajectories made;
  const std::int64_t tokens = traits.mask_id - 1;
  const auto drawn = [&](std::int64_t width, std::int64_t draw) {
    auto ids = at::zeros({kResponses, width}, at::kLong);
    for (std::int64_t i = 0; i < ids.numel(); ++i)
      ids.data_ptr<std::int64_t>()[i] = random.below(tokens, {0, 0, i, draw});
    return ids;
  };
  made.prompts = {drawn(kPrompt, 0)[0].expand({kResponses, kPrompt}).contiguous(),
                  at::ones({kResponses, kPrompt}, at::kBool), at::zeros({kResponses}, at::kLong)};
  made.tokens_BL = drawn(kResponse, 1);
  made.tokens_BL.masked_fill_(made.tokens_BL == traits.pad_id, 0);
  made.step_BL = at::zeros({kResponses, kResponse}, at::kInt);
  std::int32_t* const step = made.step_BL.data_ptr<std::int32_t>();
  for (std::int64_t i = 0; i < made.step_BL.numel(); ++i) {
    const std::int64_t block = i % kResponse / traits.block_size;
    step[i] = static_cast<std::int32_t>(block * traits.block_size + random.below(traits.block_size, {0, 0, i, 2}));
  }
  made.valid_BL = at::ones({kResponses, kResponse}, at::kBool);
  made.commit_logprob_BL = at::full({kResponses, kResponse}, -1.0, at::kFloat);
  made.forwards_B = at::full({kResponses}, kResponse, at::kLong);
  return made;
}

/// What one side does when it is asked for a case.
class Side {
 public:
  Side(const Settings& settings, at::Device device)
      : settings_(settings), plain_(settings.serve == "plain"), device_(device) {
    for (const SearchPath& folder : plugin_search_paths({}, std::filesystem::read_symlink("/proc/self/exe")))
      loader_.load_folder(folder);
  }

  Json answer(const std::string& line) {
    open(line == "cache" ? kCacheBlock : 4);
    ::malloc_trim(0);
    Json json;
    const MemoryPeak memory(device_);
    const PhaseTimer timer;
    if (line == "update") {
      const auto gradients = update();
      wait_for(device_);
      json["seconds"] = timer.seconds();
      json["norm"] = gradients.back().to(at::kDouble).norm().item<double>();
    } else {
      const at::NoGradGuard no_gradient;
      const auto tokens = decode(line).cpu().contiguous();
      json["seconds"] = timer.seconds();
      json["tokens"] = std::vector<std::int64_t>(tokens.const_data_ptr<std::int64_t>(),
                                                 tokens.const_data_ptr<std::int64_t>() + tokens.numel());
    }
    json["memory"] = memory.bytes();
    return json;
  }

 private:
  RunConfig config(std::vector<std::string> assignments) const {
    assignments.insert(assignments.end(),
                       {"run.device=" + settings_.device, "model.path=" + settings_.shapes.front(),
                        "model.block_size=" + std::to_string(block_), "model.dtype=" + settings_.types.front()});
    assignments.insert(assignments.end(), settings_.assignments.begin(), settings_.assignments.end());
    std::vector<ConfigOverride> list;
    for (const std::string& one : assignments) list.push_back(ConfigOverride::from_set(one));
    return resolve_config(load_document(source_file("bench/block_bench.toml"), list), registry_, ConfigPurpose::kTrain);
  }

  void open(std::int64_t block) {
    if (block == block_) return;
    model_ = {};
    block_ = block;
    Ranks alone;
    model_ = open_initial_model(alone, {host_, config({}), WhichAdapters::kAll});
    plain_model_.emplace(shape_of(settings_.shapes.front(), block), *model_);
  }

  at::Tensor prompts(std::int64_t rows) const {
    return (at::arange(rows * kPrompt, at::kLong) * 7919 + 11)
        .remainder(model_->traits().mask_id - 1)
        .view({rows, kPrompt});
  }

  at::Tensor decode(const std::string& name) {
    const bool is_cache = name == "cache";
    const std::int64_t rows = name == "decode_8" ? 8 : 1, length = is_cache ? kCacheLength : settings_.length;
    if (!plain_) return drift_decode(rows, length);
    if (is_cache) return uncached_decode(length);
    return plain_block_decode(*plain_model_, prompts(rows).to(device_), length, model_->traits().mask_id);
  }

  at::Tensor drift_decode(std::int64_t rows, std::int64_t length) {
    const auto settings =
        config({"rollout.length=" + std::to_string(length), "rollout.block=" + std::to_string(block_)});
    const auto rollout = create_component<Rollout>(host_, settings, "rollout");
    const ModelPolicy policy(*model_);
    RolloutInput input;
    input.policy = &policy;
    input.prompts = {prompts(rows), at::ones({rows, kPrompt}, at::kBool), at::arange(rows, at::kLong)};
    Trajectories made;
    rollout->generate(input, made);
    return made.tokens_BL;
  }

  /// What the block cache saves: each step computes the text up to the end of its block.
  at::Tensor uncached_decode(std::int64_t length) const {
    const ModelPolicy policy(*model_);
    const ModelTraits& traits = model_->traits();
    auto x_1S = at::cat({prompts(1), at::full({1, length}, traits.mask_id, at::kLong)}, 1).to(device_);
    for (std::int64_t begin = kPrompt; begin < x_1S.size(1); begin += block_) {
      const auto x_1W = x_1S.narrow(1, begin, block_);
      while (true) {
        const auto open_N = (x_1W[0] == traits.mask_id).nonzero().squeeze(1);
        if (open_N.numel() == 0) break;
        ForwardInput forward;
        forward.tokens_BS = x_1S.narrow(1, 0, begin + block_);
        forward.rows_N = open_N + begin;
        const auto [best_N, token_N] = at::softmax(policy.logits(forward, {}).to(at::kFloat), -1).max(-1);
        const auto surest = best_N.argmax();
        x_1W[0].index_put_({open_N[surest]}, token_N[surest]);
      }
    }
    return x_1S.narrow(1, kPrompt, length);
  }

  std::vector<at::Tensor> update() {
    Ranks alone;
    const auto settings = config({});
    const auto loss = create_component<LossEstimator>(host_, settings, "algorithm.loss");
    const auto masking = create_component<MaskingStrategy>(host_, settings, "algorithm.masking");
    const auto trajectories = made_up_trajectories(model_->traits());
    const auto plan = draw_plan(*masking, trajectories, model_->traits(), {RandomStream(1, "masking"), 1});
    const auto advantage_B = at::tensor({1.5f, -0.5f});
    const UpdateBatch batch = update_batch(trajectories, advantage_B, plan, kResponses);
    if (plain_) {
      LossInput input{plan, {}, advantage_B, trajectories.valid_BL, batch.totals, batch.scored_B, {}};
      return plain_trace_update(*plain_model_, *model_, *loss, input, trajectories.prompts.tokens_BP,
                                trajectories.tokens_BL);
    }
    const TrainedSizes sizes(*model_);
    const auto budget = default_memory_budget(
        *total_memory(device_), weight_bytes(*model_) + sizes.masters + 3 * sizes.wide_bytes, device_.is_cpu());
    return policy_gradient(alone, *model_, *loss, batch, budget).gradients;
  }

  const Settings& settings_;
  const bool plain_;
  const at::Device device_;
  Registry registry_;
  PluginLoader loader_{registry_};
  mutable RunHost host_{registry_};
  std::int64_t block_ = 0;
  Loaded<Model> model_;
  std::optional<PlainSdar> plain_model_;
};

void measure(const Settings& settings, const std::string& name, Json result, Counterpart& drift, Counterpart* plain) {
  std::vector<double> seconds, plain_seconds, ratios;
  Json ours, theirs;
  for (int round = -1; round < settings.rounds; ++round) {  // the first one only warms up
    if (plain != nullptr) theirs = ask(*plain, name);
    ours = ask(drift, name);
    if (round < 0) continue;
    seconds.push_back(ours["seconds"]);
    if (plain == nullptr) continue;
    plain_seconds.push_back(theirs["seconds"]);
    ratios.push_back(plain_seconds.back() / seconds.back());
  }
  result.update({{"case", name}, {"seconds", spread(seconds).median}});
  std::printf("  %-10s %9.2f", name.c_str(), spread(seconds).median);
  if (plain != nullptr) {
    std::string same;
    if (ours.contains("tokens")) {
      double equal = 0;
      for (std::size_t i = 0; i < ours["tokens"].size(); ++i) equal += ours["tokens"][i] == theirs["tokens"][i] ? 1 : 0;
      result["same"] = equal / static_cast<double>(ours["tokens"].size());
      same = std::to_string(static_cast<int>(100 * result["same"].get<double>())) + " % same";
    } else {
      result["norms"] = {ours["norm"], theirs["norm"]};
      same = "gradient of the head: norms " + ours["norm"].dump() + ", " + theirs["norm"].dump();
    }
    std::printf(" %9.2f %7.2f    %s", spread(plain_seconds).median, spread(ratios).median, same.c_str());
    result.update({{"original_seconds", spread(plain_seconds).median}, {"ratio", spread(ratios).median}});
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
  for (const std::string& type : settings.types) {
    const auto& shape = settings.shapes.front();
    std::printf("%s, %s, %s, %d threads, %d rounds; seconds of Drift and the original, medians\n", shape.c_str(),
                type.c_str(), settings.device.c_str(), settings.threads, settings.rounds);
    const auto side = [&](const std::string& name) {
      return settings.side(name, shape, type, {"--length", std::to_string(settings.length)});
    };
    const auto drift = side("drift");
    const auto plain = settings.drift_only ? nullptr : side("plain");
    for (const std::string& name : settings.cases)
      measure(settings, name, {{"shape", shape}, {"dtype", type}}, *drift, plain.get());
  }
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) { return drift::bench::guarded(drift::bench::run, count, arguments); }
