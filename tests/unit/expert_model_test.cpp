// A backbone whose blocks differ, the first dense and the others with experts: training, adapters, 4 bits, streaming.

#include "tests/support/alone.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/base/adapters.h>
#include <core/base/trainable.h>
#include <core/boundary/adapters.h>
#include <core/boundary/made.h>
#include <core/boundary/streamed_model.h>
#include <core/io/checkpoint.h>
#include <core/io/safetensors.h>
#include <core/kernels/nf4.h>
#include <core/nn/block_weights.h>
#include <core/nn/packed_weights.h>

#include <drift/cached_forward.h>
#include <drift/error.h>

#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::expert_model_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::map<std::string, Parameter::Value> kSettings{{"block_size", std::int64_t{4}},
                                                        {"mask_id", std::int64_t{149}}};

std::filesystem::path checkpoint() { return test::source_dir() / "tests/golden/block/ckpt/llada2_moe_a"; }

std::unique_ptr<Model> open(at::ScalarType type = at::kFloat) {
  return test::open_checkpoint("llada2", checkpoint(), type, at::kCPU, kSettings);
}

Made<Model> create(const std::function<void(ModelConfig&)>& change) {
  const ComponentEntry* entry = test::load_plugin("llada2").find(ComponentKind::kModel, "llada2");
  ModelConfig config{read_config_json(checkpoint()), at::kFloat, at::kCPU};
  change(config);
  return make_from_plugin<Model>(test::host(), *entry, Parameters(entry->params, kSettings), &config);
}

at::Tensor some_tokens(std::int64_t sequences, std::int64_t length) {
  return (at::arange(sequences * length, at::kLong) * 37 + 11).remainder(140).view({sequences, length});
}

at::Tensor waves(const at::Tensor& like, double phase) {
  return (at::arange(like.numel(), like.options().requires_grad(false)) * 1.3 + phase).sin().view(like.sizes());
}

/// The gradient of a weighted sum of the last states along a direction, against the change of that sum.
void check_slopes(const Model& model, const std::vector<NamedTensor>& of, bool recompute) {
  const auto tokens = some_tokens(2, 11);
  const auto value = [&] {
    const auto hidden = model.forward({tokens, {}, {}, recompute});
    return (hidden * waves(hidden, 0.4)).sum();
  };
  std::vector<at::Tensor> leaves;
  for (const NamedTensor& one : of) leaves.push_back(one.tensor);
  const auto gradients = torch::autograd::grad({value()}, leaves, {}, std::nullopt, false, /*allow_unused=*/true);
  const at::NoGradGuard no_gradient;
  std::int64_t with_gradient = 0;
  for (std::size_t p = 0; p < of.size(); ++p) {
    constexpr double kStep = 1e-6;
    const auto direction = waves(leaves[p], static_cast<double>(p)), before = leaves[p].clone();
    leaves[p].add_(direction, kStep);
    const double above = value().item<double>();
    leaves[p].copy_(before).sub_(direction, kStep);
    const double below = value().item<double>();
    leaves[p].copy_(before);
    const double slope = (above - below) / (2 * kStep);
    double found = 0;
    if (gradients[p].defined()) found = (gradients[p].to_dense() * direction).sum().item<double>();
    with_gradient += std::abs(found) > 1e-3;
    EXPECT_NEAR(found, slope, 1e-6 * (1 + std::abs(slope))) << of[p].name;
  }
  EXPECT_GT(with_gradient, static_cast<std::int64_t>(of.size()) / 2);
}

TEST(ExpertModel, HasTheCheckpointsTensorsUnderTheirNames) {
  const auto model = open();
  const SafetensorsFile file(checkpoint() / "model.safetensors");
  std::int64_t with_gradient = 0;
  for (const auto& [name, tensor] : model->parameters()) {
    ASSERT_NE(file.find(name), nullptr) << name;
    EXPECT_TRUE(at::equal(tensor, file.tensor(name))) << name;
    EXPECT_EQ(tensor.requires_grad(), !name.ends_with("expert_bias")) << name;
    with_gradient += tensor.requires_grad();
  }
  EXPECT_EQ(model->parameters().size(), 82u);
  EXPECT_EQ(trainable_parameters(*model).size(), static_cast<std::size_t>(with_gradient));
}

TEST(ExpertModel, WeightsHaveTheGradientsOfFiniteDifferences) {
  const auto model = open(at::kDouble);
  auto trained = trainable_parameters(*model);
  std::erase_if(trained, [&](const NamedTensor& one) { return one.name == "lm_head.weight"; });  // behind the states
  check_slopes(*model, trained, /*recompute=*/false);
  check_slopes(*model, trained, /*recompute=*/true);
}

TEST(ExpertModel, AdaptersHaveTheGradientsOfFiniteDifferences) {
  AdapterDescription description{.rank = 3, .alpha = 6, .dropout = 0, .modules = {}, .base = {}};
  const auto model = create([&](ModelConfig& config) {
    config.adapter_json = adapter_json(description);
    config.dtype = at::kDouble;
  });
  load_parameters(checkpoint(), base_parameters(*model), {});
  const auto adapters = adapter_parameters(*model);
  initialize_adapters(adapters, RandomStream(3, "adapter"));
  EXPECT_TRUE(at::equal(model->forward({some_tokens(2, 11), {}, {}}),
                        open(at::kDouble)->forward({some_tokens(2, 11), {}, {}})));
  const at::NoGradGuard no_gradient;
  for (const auto& [name, tensor] : adapters) {
    if (name.ends_with("lora_B.weight")) tensor.copy_(waves(tensor, 2.0) * 0.05);
  }
  // Of a block: the one projection of queries, keys and values, that of the attention's output, those of 9 experts.
  EXPECT_EQ(adapters.size(), 2u * (5 + 2 * (2 + 3 * 9)));
  const at::AutoGradMode with_gradients(true);
  check_slopes(*model, adapters, false);
  check_slopes(*model, adapters, true);
}

TEST(ExpertModel, MergedAdaptersGiveTheSameStates) {
  AdapterDescription description{.rank = 3, .alpha = 6, .dropout = 0, .modules = {}, .base = {}};
  const auto model = create([&](ModelConfig& config) { config.adapter_json = adapter_json(description); });
  load_parameters(checkpoint(), base_parameters(*model), {});
  const at::NoGradGuard no_gradient;
  const auto adapters = adapter_parameters(*model);
  for (const auto& [name, tensor] : adapters) tensor.copy_(waves(tensor, 2.0) * 0.05);
  description.modules = adapted_modules(adapters);
  const test::TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "adapter");
  write_adapter_files(folder.path() / "adapter", description, adapters);
  merge_adapter(checkpoint(), folder.path() / "adapter", folder.path() / "merged");
  const auto merged = test::open_checkpoint("llada2", folder.path() / "merged", at::kFloat, at::kCPU, kSettings);
  const auto states = [&](const Model& one) { return one.forward({some_tokens(2, 11), {}, {}}); };
  EXPECT_TRUE(at::allclose(states(*merged), states(*model), 1e-4, 1e-4));
  EXPECT_FALSE(at::allclose(states(*merged), states(*open()), 1e-2, 1e-2));
}

TEST(ExpertModel, In4BitsComputesWhatTheWidenedValuesDo) {
  const auto packed = create([](ModelConfig& config) { config.quantization = "nf4"; });
  auto& weights = *capability<nn::PackedWeights>(*packed);
  load_parameters(checkpoint(), packed->parameters(),
                  [&](const std::string& name, const at::Tensor& weight) { weights.pack(name, weight); });
  const auto wide = open();
  const at::NoGradGuard no_gradient;
  const auto of_packed = packed->parameters(), of_wide = wide->parameters();
  std::int64_t values = 0, matrices = 0;
  for (std::size_t p = 0; p < of_wide.size(); ++p) {
    EXPECT_FALSE(of_packed[p].tensor.requires_grad()) << of_packed[p].name;
    EXPECT_EQ(of_packed[p].name, of_wide[p].name);
    if (!of_packed[p].tensor.is_meta()) continue;
    bool finite = false;
    auto rounded = at::empty_like(of_wide[p].tensor);
    kernels::nf4_widen(kernels::nf4_pack(of_wide[p].tensor.detach(), true, finite), rounded);
    of_wide[p].tensor.copy_(rounded);
    values += of_wide[p].tensor.numel();
    ++matrices;
  }
  EXPECT_EQ(matrices, 5 + 2 * (2 + 3 * 9)) << "not the routers";
  EXPECT_EQ(weights.packed_values(), values);
  EXPECT_LT(weights.packed_bytes(), values);
  EXPECT_TRUE(at::equal(packed->forward({some_tokens(3, 13), {}, {}}), wide->forward({some_tokens(3, 13), {}, {}})));
}

TEST(ExpertModel, StreamedComputesTheSameBits) {
  const std::vector<ConfigOverride> overrides{{"", "model.path", checkpoint().string(), /*literal=*/true},
                                              {"", "model.name", "llada2", /*literal=*/true},
                                              {"", "model.block_size", "4"},
                                              {"", "model.mask_id", "149"}};
  const Registry& registry = test::load_plugin("llada2");
  const auto config = resolve_config(load_document({}, overrides), registry, ConfigPurpose::kModelOnly);
  const ModelShapes shapes(test::host_of(registry), config, WhichAdapters::kAll);
  const auto held = open_initial_model(test::alone, shapes), streamed = open_streamed_model(shapes);
  const at::NoGradGuard no_gradient;
  for (int again = 0; again < 2; ++again) {
    EXPECT_TRUE(
        at::equal(streamed->forward({some_tokens(3, 13), {}, {}}), held->forward({some_tokens(3, 13), {}, {}})));
  }
  const auto& blocks = *capability<nn::BlockWeightsOnDemand>(*streamed);
  const std::int64_t dense = bytes_of(blocks.block_parameters(0)), mixed = bytes_of(blocks.block_parameters(1));
  EXPECT_LT(dense, mixed);
  const auto bytes = streamed_bytes(*streamed, /*on_cpu=*/true);
  EXPECT_EQ(bytes.held, mixed);
  EXPECT_EQ(bytes.blocks, dense + 2 * mixed);
  EXPECT_EQ(parameters_of_blocks(*streamed).value() * 4, bytes.blocks);
  EXPECT_EQ(blocks.block_parameters(0).front().tensor.const_data_ptr(),
            blocks.block_parameters(2).front().tensor.const_data_ptr());
}

TEST(ExpertModel, CountsTheActivationsOfATokensExperts) {
  const auto bytes = [](std::int64_t per_token) {
    const auto model = create([&](ModelConfig& config) {
      auto json = nlohmann::json::parse(config.config_json);
      json["num_experts_per_tok"] = per_token;
      config.config_json = json.dump();
    });
    return model->training_bytes_per_row(20);
  };
  // In two blocks 20 tokens keep for two more experts of 16 columns three times these, and what goes in and out.
  EXPECT_EQ(bytes(3) - bytes(1), 2 * 20 * 2 * 3 * (16 + 32) * 4);
}

// Nothing of the original is there to compare with; but experts that are all alike are the dense model.
TEST(SdarMoe, OfEqualExpertsIsTheDenseModel) {
  const auto folder = test::source_dir() / "tests/golden/block/ckpt/sdar_a";
  const auto dense = test::open_checkpoint("sdar", folder);
  const ComponentEntry* entry = test::load_plugin("sdar_moe").find(ComponentKind::kModel, "sdar_moe");
  auto json = nlohmann::json::parse(read_config_json(folder));
  json["model_type"] = "sdar_moe";
  json["moe_intermediate_size"] = json["intermediate_size"];
  json.update({{"num_experts", 4}, {"num_experts_per_tok", 2}, {"norm_topk_prob", true}, {"decoder_sparse_step", 1}});
  json.update({{"mlp_only_layers", nlohmann::json::array()}, {"router_aux_loss_coef", 0.001}});
  const ModelConfig config{json.dump(), at::kFloat, at::kCPU};
  const auto model = make_from_plugin<Model>(test::host(), *entry, Parameters(entry->params, {}), &config);
  model->initialize(RandomStream(3, "initialize"));
  std::map<std::string, at::Tensor> of_dense;
  for (const auto& [name, tensor] : dense->parameters()) of_dense[name] = tensor;
  const at::NoGradGuard no_gradient;
  std::int64_t routers = 0;
  for (const auto& [name, tensor] : model->parameters()) {
    std::string of = name;
    if (const auto expert = of.find("experts."); expert != of.npos) of.erase(expert, std::string("experts.0.").size());
    if (of_dense.contains(of)) tensor.copy_(of_dense.at(of));
    routers += !of_dense.contains(of);
  }
  EXPECT_EQ(routers, model->traits().layers);
  const auto tokens = some_tokens(2, 11);
  EXPECT_TRUE(at::allclose(model->forward({tokens, {}, {}}), dense->forward({tokens, {}, {}}), 1e-5, 1e-5));
}

TEST(ExpertModel, BeginsWithoutABiasOfTheChoice) {
  const auto model = create([](ModelConfig&) {});
  model->initialize(RandomStream(3, "initialize"));
  for (const auto& [name, tensor] : model->parameters()) {
    const double size = tensor.abs().max().item<double>();
    EXPECT_EQ(size == 0, name.ends_with("expert_bias")) << name;
    if (name.ends_with("norm.weight")) EXPECT_EQ(size, 1) << name;
  }
}

TEST(ExpertModel, RefusesAConfigThatItCannotCompute) {
  const auto refusal = [](const std::string& key, const nlohmann::json& value) {
    return test::error_of([&] {
      create([&](ModelConfig& config) {
        auto json = nlohmann::json::parse(config.config_json);
        json[key] = value;
        config.config_json = json.dump();
      });
    });
  };
  EXPECT_EQ(refusal("n_group", 2), "");
  EXPECT_THAT(refusal("n_group", 3), HasSubstr("`num_experts` is not a multiple of `n_group`"));
  EXPECT_THAT(refusal("topk_group", 5), HasSubstr("`topk_group` is more than `n_group`"));
  EXPECT_THAT(refusal("num_experts_per_tok", 5), HasSubstr("`num_experts_per_tok` is more than the experts"));
  EXPECT_THAT(refusal("num_experts", 30000), HasSubstr("more than 65536 `num_experts` in all"));
  EXPECT_THAT(refusal("n_group", 0), HasSubstr("`n_group` is 0"));
  EXPECT_THAT(refusal("score_function", "softmax"), HasSubstr("`score_function`"));
  EXPECT_THAT(refusal("expert_capacity", 2), HasSubstr("`expert_capacity` is unknown"));
  const std::string without =
      test::error_of([] { test::open_checkpoint("llada2", checkpoint(), at::kFloat, at::kCPU); });
  EXPECT_THAT(without, HasSubstr("model.block_size"));
  EXPECT_THAT(without, HasSubstr("model.mask_id"));
}

}  // namespace
}  // namespace drift::expert_model_test
