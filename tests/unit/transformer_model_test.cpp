// What every backbone of transformer blocks does beyond the golden cases: rows that are asked for, padding, windows
// against kept keys and values, and shapes without memory.

#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/base/component_host.h>
#include <core/io/checkpoint.h>
#include <core/update/view_rows.h>

#include "tests/support/plugins.h"

#include <drift/cached_forward.h>
#include <drift/error.h>

#include <ATen/record_function.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::transformer_model_test {

class Backbone : public testing::TestWithParam<std::string> {
 protected:
  std::filesystem::path folder() const { return test::source_dir() / "tests/golden/data/ckpt" / (GetParam() + "_a"); }
  std::unique_ptr<Model> open(const std::map<std::string, Parameter::Value>& settings = {}) const {
    return test::open_checkpoint(GetParam(), folder(), at::kFloat, at::kCPU, settings);
  }
  static at::Tensor some_tokens(std::int64_t sequences, std::int64_t length) {
    return (at::arange(sequences * length, at::kLong) * 37 + 11).remainder(200).view({sequences, length});
  }
  static bool near(const at::Tensor& a, const at::Tensor& b) { return at::allclose(a, b, 1e-5, 2e-5); }

  const at::NoGradGuard no_gradient_;
};

TEST_P(Backbone, OnlyWantedRowsGiveTheSameRows) {
  const auto model = open();
  const auto tokens = some_tokens(2, 29);
  const auto rows = at::arange(3, tokens.numel(), 4, at::kLong);
  EXPECT_TRUE(near(model->forward({tokens, {}, rows}), model->forward({tokens, {}, {}}).index_select(0, rows)));
}

TEST_P(Backbone, RecomputedBlocksGiveTheSameGradients) {
  const auto model = open();
  const at::AutoGradMode with_gradients(true);
  std::vector<at::Tensor> parameters;
  for (const auto& parameter : model->parameters()) parameters.push_back(parameter.tensor);
  const auto tokens = some_tokens(2, 29);
  const auto rows = at::arange(3, tokens.numel(), 4, at::kLong);
  const auto pads = at::full({2, 29}, true, at::kBool);
  pads[0][0] = false;
  const auto gradients = [&](const at::Tensor& rows_N, bool recompute) {
    const auto hidden = model->forward({tokens, pads, rows_N, recompute});
    const auto incoming = at::arange(hidden.numel(), hidden.options()).sin().view_as(hidden);
    return torch::autograd::grad({hidden}, parameters, {incoming}, std::nullopt, false, /*allow_unused=*/true);
  };
  for (const auto& rows_N : {at::Tensor(), rows}) {
    const auto kept = gradients(rows_N, false), again = gradients(rows_N, true);
    for (std::size_t p = 0; p < kept.size(); ++p) {
      ASSERT_EQ(kept[p].defined(), again[p].defined()) << model->parameters()[p].name;
      if (kept[p].defined()) {
        EXPECT_TRUE(at::allclose(kept[p].to_dense(), again[p].to_dense(), 1e-5, 1e-6)) << model->parameters()[p].name;
      }
    }
  }
}

TEST_P(Backbone, APaddedRowIsTheRowAlone) {
  const auto tokens = some_tokens(1, 20);
  const std::int64_t padding = 7;
  for (const std::string mode : {"masked", "attended"}) {
    const auto model = open({{"padding", mode}});
    const auto pads = at::full({1, padding}, model->traits().pad_id, at::kLong);
    const auto mask = at::cat({at::full({1, padding}, false, at::kBool), at::ones_like(tokens, at::kBool)}, 1);
    const auto padded = model->forward({at::cat({pads, tokens}, 1), mask, {}}).narrow(0, padding, 20);
    EXPECT_EQ(near(padded, model->forward({tokens, {}, {}})), mode == "masked") << mode;
  }
}

TEST_P(Backbone, AWindowOverEverythingIsTheForward) {
  const auto model = open();
  const auto& cached = *capability<CachedForward>(*model);
  const auto tokens = some_tokens(3, 24);
  const auto cache = cached.make_cache(3, 24);
  CacheWindow window{at::zeros({3}, at::kLong), {}, at::ones_like(tokens, at::kBool)};
  window.key_mask_BS[1].narrow(0, 0, 5).fill_(false);
  const auto rows = at::arange(5, 72, 6, at::kLong);
  EXPECT_TRUE(near(cached.forward_window({tokens, {}, rows}, window, *cache),
                   model->forward({tokens, window.key_mask_BS, rows})));
}

// Nothing changed since the cache was filled: computing a part again gives the same.
TEST_P(Backbone, AnUnchangedWindowGivesWhatTheForwardGave) {
  const auto model = open();
  const auto& cached = *capability<CachedForward>(*model);
  const auto tokens = some_tokens(2, 24);
  const auto cache = cached.make_cache(2, 24);
  const auto all = cached.forward_window({tokens, {}, {}}, {at::zeros({2}, at::kLong)}, *cache).view({2, 24, -1});
  const auto part = cached.forward_window({tokens.narrow(1, 8, 6), {}, {}}, {at::full({2}, 8, at::kLong)}, *cache);
  EXPECT_TRUE(near(part.view({2, 6, -1}), all.narrow(1, 8, 6)));
}

// Rows of a batch are where their own responses are: each its own window and its own horizon.
TEST_P(Backbone, RowsAtTheirOwnPlacesAreWhatTheyAreAlone) {
  const auto model = open();
  const auto& cached = *capability<CachedForward>(*model);
  const auto tokens = some_tokens(3, 24), changed = some_tokens(3, 6);
  const std::vector<std::int64_t> begin = {2, 8, 15}, attended = {24, 14, 21};
  const auto together = cached.make_cache(3, 24);
  cached.forward_window({tokens, {}, {}}, {at::zeros({3}, at::kLong)}, *together);
  const auto batch = cached.forward_window({changed, {}, {}}, {index_tensor(begin), index_tensor(attended)}, *together);
  for (std::int64_t b = 0; b < 3; ++b) {
    const auto alone = cached.make_cache(1, 24);
    cached.forward_window({tokens.narrow(0, b, 1), {}, {}}, {at::zeros({1}, at::kLong)}, *alone);
    const CacheWindow window{at::full({1}, begin[b], at::kLong), at::full({1}, attended[b], at::kLong)};
    const auto row = cached.forward_window({changed.narrow(0, b, 1), {}, {}}, window, *alone);
    EXPECT_TRUE(near(batch.view({3, 6, -1})[b], row)) << b;
  }
}

// Two rows are done; one of the others is taken twice.
TEST_P(Backbone, SelectedRowsKeepTheirKeysAndValues) {
  const auto model = open();
  const auto& cached = *capability<CachedForward>(*model);
  const auto tokens = some_tokens(4, 16), changed = some_tokens(4, 6);
  const auto all = cached.make_cache(4, 16);
  cached.forward_window({tokens, {}, {}}, {at::zeros({4}, at::kLong)}, *all);
  const auto kept_rows = index_tensor({3, 1, 3});
  const auto some = all->select(kept_rows);
  EXPECT_EQ(some->bytes() * 4, all->bytes() * 3);
  const auto from_all = cached.forward_window({changed, {}, {}}, {at::full({4}, 10, at::kLong)}, *all);
  const auto from_some =
      cached.forward_window({changed.index_select(0, kept_rows), {}, {}}, {at::full({3}, 10, at::kLong)}, *some);
  EXPECT_TRUE(near(from_some.view({3, 6, -1}), from_all.view({4, 6, -1}).index_select(0, kept_rows)));
}

// Attention by blocks: what follows a block does not change it, and positions may be given.
TEST_P(Backbone, ABlockSeesItselfAndWhatIsBeforeIt) {
  const auto model = open();
  ASSERT_NE(capability<BlockAttention>(*model), nullptr);
  const auto tokens = some_tokens(2, 12);
  ForwardInput blocks{tokens, {}, {}};
  blocks.block_BS = at::arange(12, at::kLong).floor_divide(4).expand({2, 12});
  const auto causal = model->forward(blocks).view({2, 12, -1});
  EXPECT_TRUE(near(causal.narrow(1, 0, 4), model->forward({tokens.narrow(1, 0, 4), {}, {}}).view({2, 4, -1})));
  EXPECT_TRUE(near(causal.narrow(1, 8, 4), model->forward({tokens, {}, {}}).view({2, 12, -1}).narrow(1, 8, 4)) ==
              (model->traits().layers == 1))
      << "the last block sees everything, but the blocks before it did not see it";

  ForwardInput placed{tokens, {}, {}};
  placed.positions_BS = at::arange(3, 15, at::kLong).expand({2, 12});
  EXPECT_TRUE(near(model->forward(placed), model->forward({tokens, {}, {}}))) << "only differences count";
  placed.positions_BS = at::arange(0, 24, 2, at::kLong).expand({2, 12});
  EXPECT_FALSE(near(model->forward(placed), model->forward({tokens, {}, {}})));
}

TEST_P(Backbone, AWindowOutsideTheCacheIsRefused) {
  const auto model = open();
  const auto& cached = *capability<CachedForward>(*model);
  const auto cache = cached.make_cache(1, 10);
  EXPECT_THROW(cached.forward_window({some_tokens(1, 5), {}, {}}, {at::full({1}, 6, at::kLong)}, *cache), Error);
}

std::set<std::string>& operators_called() {
  static std::set<std::string> names;
  return names;
}

TEST_P(Backbone, HasShapesWithoutMemory) {
  const ModelConfig config{read_config_json(folder()), at::kFloat, at::kMeta};
  const ComponentEntry* entry = test::load_plugin(GetParam()).find(ComponentKind::kModel, GetParam());
  const auto watch = at::addThreadLocalCallback(
      at::RecordFunctionCallback([](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
        operators_called().insert(function.name());
        return nullptr;
      }));
  const auto made = test::host().make(*entry, Parameters(entry->params), &config);
  at::removeCallback(watch);
  // All others of the meta device run in Python once a component in Python has imported torch.
  EXPECT_THAT(operators_called(), testing::IsSubsetOf({"aten::empty", "aten::detach"}));
  const auto& shapes_only = dynamic_cast<const Model&>(*made);
  const auto opened = open();
  const auto expected = opened->parameters();
  const auto parameters = shapes_only.parameters();
  ASSERT_EQ(parameters.size(), expected.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_TRUE(parameters[i].tensor.is_meta());
    EXPECT_EQ(parameters[i].tensor.sizes(), expected[i].tensor.sizes()) << parameters[i].name;
  }
}

TEST_P(Backbone, NamesEverySettingThatItCannotCompute) {
  auto text = read_config_json(folder());
  const std::string changed = R"({ "rope_scaling": {"type": "yarn"}, "attention_dropout": 0.1, "window_cut": 3,)";
  text.replace(text.find('{'), 1, changed);
  const ComponentEntry* entry = test::load_plugin(GetParam()).find(ComponentKind::kModel, GetParam());
  // The later of two equal keys wins in JSON; take the originals out.
  for (const std::string original : {"  \"attention_dropout\": 0.0,\n", "  \"rope_scaling\": null,\n"}) {
    if (const auto at = text.find(original); at != std::string::npos) text.erase(at, original.size());
  }
  const ModelConfig config{text, at::kFloat, at::kMeta};
  EXPECT_THAT(test::error_of([&] { test::host().make(*entry, Parameters(entry->params), &config); }),
              testing::AllOf(testing::HasSubstr("`rope_scaling` = {\"type\":\"yarn\"}"),
                             testing::HasSubstr("`attention_dropout` = 0.1"),
                             testing::HasSubstr("`window_cut` is unknown"), testing::HasSubstr("ignored_settings")));
}

TEST_P(Backbone, TakesTheUsersWordForAnUnknownSetting) {
  auto text = read_config_json(folder());
  text.replace(text.find('{'), 1, R"({ "window_cut": 3,)");
  const ComponentEntry* entry = test::load_plugin(GetParam()).find(ComponentKind::kModel, GetParam());
  const ModelConfig config{text, at::kFloat, at::kMeta};
  EXPECT_NO_THROW(test::host().make(
      *entry, Parameters(entry->params, {{"ignored_settings", std::vector<std::string>{"window_cut"}}}), &config));
}

/// The traits of a model with these changes to its config.json, or the error.
std::string made_of(const std::string& family, const nlohmann::json& changes, const std::string& generation = {}) {
  auto json = nlohmann::json::parse(read_config_json(test::source_dir() / "tests/golden/data/ckpt" / (family + "_a")));
  json.merge_patch(changes);
  const ComponentEntry* entry = test::load_plugin(family).find(ComponentKind::kModel, family);
  ModelConfig config{json.dump(), at::kFloat, at::kMeta};
  config.generation_config_json = generation;
  try {
    const auto made = test::host().make(*entry, Parameters(entry->params), &config);
    std::string ends = "ends:";
    for (const std::int64_t id : end_ids(dynamic_cast<const Model&>(*made).traits())) ends += " " + std::to_string(id);
    return ends;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_P(Backbone, TakesConfigurationsOfTodaysHubs) {
  const auto config = nlohmann::json::parse(read_config_json(folder()));
  const double theta = config["rope_theta"];
  const std::string end = std::to_string(config["eos_token_id"].get<int>());
  const nlohmann::json changes = {
      {"rope_theta", nullptr},         {"rope_parameters", {{"rope_theta", theta}, {"rope_type", "default"}}},
      {"torch_dtype", nullptr},        {"dtype", "bfloat16"},
      {"attn_implementation", "sdpa"}, {"_attn_implementation_autoset", true},
      {"flash_attn_varlen", true},     {"use_cache", true}};
  EXPECT_EQ(made_of(GetParam(), changes), "ends: " + end);
  EXPECT_EQ(made_of(GetParam(), {{"rope_parameters", {{"rope_theta", theta}, {"partial_rotary_factor", 1.0}}}}),
            "ends: " + end);
  const auto rope = [&](const nlohmann::json& parameters) {
    return made_of(GetParam(), {{"rope_parameters", parameters}});
  };
  EXPECT_THAT(rope({{"rope_theta", 5}}), testing::HasSubstr("`rope_theta` and `rope_parameters.rope_theta`"));
  EXPECT_THAT(rope({{"rope_type", "yarn"}, {"factor", 4.0}}),
              testing::AllOf(testing::HasSubstr("`rope_parameters.rope_type` = \"yarn\" is not supported"),
                             testing::HasSubstr("`rope_parameters.factor` = 4.0 is not supported")));
  EXPECT_THAT(rope("default"), testing::HasSubstr("`rope_parameters` = \"default\" is not supported"));
  const auto layers = [&](const char* last) {
    return made_of("dream", {{"layer_types", {"full_attention", "full_attention", last}}});
  };
  EXPECT_EQ(layers("full_attention"), "ends: 260");
  EXPECT_THAT(layers("sliding_attention"), testing::HasSubstr("`layer_types` = "));
}

TEST_P(Backbone, EndsWithAnyOfItsEndTokens) {
  const auto with = [&](const nlohmann::json& ids, const std::string& generation = {}) {
    return made_of(GetParam(), {{"eos_token_id", ids}}, generation);
  };
  EXPECT_EQ(with({7, 9, 7}), "ends: 7 9");
  EXPECT_EQ(with(7, R"({"eos_token_id": [9, 7, 11]})"), "ends: 7 9 11");
  EXPECT_EQ(with(7, R"({"eos_token_id": null, "temperature": 0.6})"), "ends: 7");
  EXPECT_EQ(with(nullptr, R"({"eos_token_id": 9})"), "ends: 9");
  EXPECT_EQ(with({7, 0}), "ends: 0 7");
  EXPECT_THAT(with(nullptr), testing::HasSubstr("`eos_token_id` is missing"));
  EXPECT_THAT(with(nlohmann::json::array()), testing::HasSubstr("`eos_token_id` is missing"));
  EXPECT_THAT(with({7, 9999}), testing::HasSubstr("`eos_token_id` is 9999, not an integer from 0 to"));
  EXPECT_THAT(with({7, "8"}), testing::HasSubstr("`eos_token_id` is \"8\", not an integer"));
  EXPECT_THAT(with(7, R"({"eos_token_id": -1})"), testing::HasSubstr("generation_config.json: `eos_token_id` is -1"));
  EXPECT_THAT(with({1, 2, 3, 4, 5, 6}), testing::HasSubstr("6 tokens are named as `eos_token_id`"));
}

INSTANTIATE_TEST_SUITE_P(Families, Backbone, testing::Values("llada", "dream"),
                         [](const auto& info) { return info.param; });

}  // namespace drift::transformer_model_test
