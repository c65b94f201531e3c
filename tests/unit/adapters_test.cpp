// A model's adapters: which projections get one, how they begin, what merging them gives, the frozen weights as the
// reference policy, and gradients that depend on no division of the work.

#include "tests/support/alone.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"
#include "tests/support/updates.h"

#include <core/base/adapters.h>
#include <core/base/trainable.h>
#include <core/boundary/adapters.h>
#include <core/io/checkpoint.h>
#include <core/update/policy_gradient.h>
#include <core/update/reference_policy.h>
#include <core/update/update_batch.h>

#include <drift/error.h>

namespace drift::adapters_test {

using namespace testing;

const std::vector<std::string> kModules = {"layers.0.attention.q_proj", "layers.0.attention.v_proj",
                                           "layers.0.mlp.up_proj",      "layers.1.attention.q_proj",
                                           "layers.1.attention.v_proj", "layers.1.mlp.up_proj"};

TEST(Targets, AreNamesOrTheirLastWordsOrPatterns) {
  EXPECT_EQ(target_modules({"*"}, kModules), kModules);
  EXPECT_THAT(target_modules({"q_proj"}, kModules), ElementsAre(kModules[0], kModules[3]));
  EXPECT_THAT(target_modules({"mlp.up_proj", "layers.0.attention.v_proj"}, kModules),
              ElementsAre(kModules[1], kModules[2], kModules[5]));
  EXPECT_THAT(target_modules({"layers.1.*"}, kModules), ElementsAre(kModules[3], kModules[4], kModules[5]));
  EXPECT_THAT(target_modules({"*.attention.*"}, kModules).size(), 4u);
}

TEST(Rank, AboveTheSmallerSideOfSomeWeightsIsTold) {
  const auto told = [](std::int64_t rank) {
    return excess_rank({{"layers.0.q_proj.lora_A.weight", at::ones({rank, 32})},
                        {"layers.0.q_proj.lora_B.weight", at::ones({16, rank})},
                        {"layers.0.up_proj.lora_A.weight", at::ones({rank, 32})},
                        {"layers.0.up_proj.lora_B.weight", at::ones({64, rank})}});
  };
  EXPECT_EQ(told(16), "");
  EXPECT_THAT(told(17), HasSubstr("adapter.rank = 17 is more than q_proj can use: 16 is"));
  EXPECT_THAT(told(33), HasSubstr("adapter.rank = 33 is more than q_proj, up_proj can use: 16 is"));
}

TEST(Targets, OfAnotherNameAreRefusedWithTheNearest) {
  EXPECT_THAT(test::error_of([] {
                target_modules({"v_proj", "q_prj"}, kModules);
              }),
              AllOf(HasSubstr("adapter.targets: `q_prj` is none of the model's projections"),
                    HasSubstr("did you mean `q_proj`?")));
  EXPECT_THAT(test::error_of([] { target_modules({"layers.9.attention.q_proj"}, kModules); }),
              AllOf(HasSubstr("did you mean `layers.0.attention.q_proj`?"),
                    HasSubstr("projections of each layer: q_proj, v_proj, up_proj"), Not(HasSubstr(kModules[4]))))
      << "a large model has hundreds";
  EXPECT_THROW(target_modules({"proj"}, kModules), Error);  // a part of a word is no name
  EXPECT_THROW(target_modules({}, kModules), Error);
}

class AdaptedModel : public testing::TestWithParam<std::string> {
 protected:
  AdaptedModel() {
    description_.rank = 4;
    description_.alpha = 6;
    description_.dropout = 0.1;
    model_ = test::open_with_adapters(GetParam(), checkpoint(), description_);
    description_.modules = adapted_modules(adapter_parameters(*model_));
    initialize_adapters(adapter_parameters(*model_), RandomStream(3, "adapter"));
  }

  std::filesystem::path checkpoint() const {
    const std::string set = GetParam() == "sdar" ? "block" : "data";
    return test::source_dir() / "tests/golden" / set / "ckpt" / (GetParam() + "_a");
  }
  static at::Tensor tokens() { return (at::arange(40, at::kLong) * 37 + 11).remainder(140).view({2, 20}); }
  at::Tensor hidden(const Model& model) const {
    const at::NoGradGuard no_gradient;
    return model.forward({tokens(), {}, {}});
  }
  /// As after some training: B is no longer 0.
  void move_adapters() const {
    const at::NoGradGuard no_gradient;
    for (const auto& [name, tensor] : adapter_parameters(*model_)) {
      if (name.ends_with("lora_B.weight")) tensor.add_((at::arange(tensor.numel()) * 0.7).sin().view_as(tensor) * 0.03);
    }
  }

  AdapterDescription description_;
  std::unique_ptr<Model> model_;
};

TEST_P(AdaptedModel, TrainsItsAdaptersAlone) {
  const auto trained = trainable_parameters(*model_);
  const auto adapters = adapter_parameters(*model_);
  ASSERT_EQ(trained.size(), adapters.size());
  EXPECT_EQ(adapters.size(), 14u * static_cast<std::size_t>(model_->traits().layers));
  for (std::size_t i = 0; i < trained.size(); ++i) EXPECT_EQ(trained[i].name, adapters[i].name);
  EXPECT_EQ(base_parameters(*model_).size() + adapters.size(), model_->parameters().size());
}

TEST_P(AdaptedModel, BeginsAsTheModelWithoutThem) {
  const auto plain = test::open_checkpoint(GetParam(), checkpoint());
  EXPECT_TRUE(at::equal(hidden(*model_), hidden(*plain)));
  for (const auto& [name, tensor] : adapter_parameters(*model_)) {
    if (name.ends_with("lora_B.weight")) {
      EXPECT_TRUE(at::equal(tensor, at::zeros_like(tensor))) << name;
      continue;
    }
    const double bound = 1 / std::sqrt(static_cast<double>(tensor.size(1)));
    EXPECT_LE(tensor.abs().max().item<double>(), bound) << name;
    EXPECT_GT(tensor.abs().max().item<double>(), 0.95 * bound) << name;
  }
}

TEST_P(AdaptedModel, MergedGivesTheSameLogits) {
  move_adapters();
  const test::TemporaryFolder folder;
  const auto saved = folder.path() / "adapter", merged = folder.path() / "merged";
  std::filesystem::create_directory(saved);
  write_adapter_files(saved, description_, adapter_parameters(*model_));
  test::write_file(saved / "README.md", "of the adapter");
  merge_adapter(checkpoint(), saved, merged);
  EXPECT_THAT(test::read_file(merged / "README.md"), testing::EndsWith("by `drift model merge`.\n\nof the adapter"));
  const auto whole = test::open_checkpoint(GetParam(), merged);
  EXPECT_TRUE(at::allclose(hidden(*whole), hidden(*model_), 1e-4, 1e-5));
  EXPECT_FALSE(at::allclose(hidden(*whole), hidden(*test::open_checkpoint(GetParam(), checkpoint())), 1e-2, 1e-2));
  // The files are those of the checkpoint.
  EXPECT_EQ(summarize_checkpoint(merged).files, summarize_checkpoint(checkpoint()).files);
  EXPECT_THROW(merge_adapter(checkpoint(), saved, merged), Error) << "a folder that is full";
}

TEST_P(AdaptedModel, MergedSaysHowManyWeightsChangeAndWritesNoneThatIsNotFinite) {
  const test::TemporaryFolder folder;
  const auto adapters = adapter_parameters(*model_);
  const auto merged = [&] {
    write_adapter_files(folder.path(), description_, adapters);
    std::filesystem::remove_all(folder.path() / "merged");
    try {
      return std::to_string(merge_adapter(checkpoint(), folder.path(), folder.path() / "merged"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(merged(), "0") << "B is 0";
  const at::NoGradGuard no_gradient;
  adapters[1].tensor.fill_(0.01);  // the first module's B
  EXPECT_EQ(merged(), "1");
  adapters[1].tensor.fill_(1e30);
  adapters[0].tensor.fill_(1e30);
  EXPECT_THAT(merged(), HasSubstr("would not be finite: it exceeds its type"));
  adapters[0].tensor.view(-1)[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(merged(), HasSubstr("would not be finite: the adapter is not"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "merged"));
}

TEST_P(AdaptedModel, OfAnotherCheckpointIsNotMerged) {
  const test::TemporaryFolder folder;
  auto stranger = adapter_parameters(*model_);
  stranger.resize(2);
  stranger[0].name = "model.elsewhere.lora_A.weight";
  stranger[1].name = "model.elsewhere.lora_B.weight";
  write_adapter_files(folder.path(), description_, stranger);
  EXPECT_THAT(test::what_of([&] { merge_adapter(checkpoint(), folder.path(), folder.path() / "merged"); }),
              HasSubstr("missing: `model.elsewhere.weight`"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "merged"));
}

class Update : public AdaptedModel {
 protected:
  static constexpr std::int64_t kResponses = 4, kPrompt = 3, kLength = 8;

  Update() : trajectories_(test::make_trajectories(kResponses, 2, kPrompt, kLength, 60, 2)) {
    move_adapters();
    plan_ = test::views_of_steps(trajectories_, 2);
    batch_ = update_batch(trajectories_, at::arange(kResponses, at::kFloat) - 1.5, plan_, /*group_size=*/2);
  }

  at::Tensor scores(const Model& model, const RowAdapters& adapters = {}) const {
    return score_views(test::alone, model, trajectories_, plan_, all_views(plan_), false, adapters).logprob_FL;
  }

  Trajectories trajectories_;
  MaskPlan plan_;
  UpdateBatch batch_;
};

/// Coupled, so that a budget that is too small scores first.
class SquaredSum final : public LossEstimator {
 public:
  Coupling coupling() const override { return Coupling::kBatch; }
  void needs(LossNeeds&) const override {}
  Loss evaluate(const LossInput& input) const override {
    Loss loss;
    loss.value = (input.log_probs.current_FL.exp() * input.advantage_F1()).sum().square();
    return loss;
  }
};

TEST_P(Update, TheFrozenWeightsAreTheReferencePolicyWithoutACopy) {
  const ReferencePolicy reference(ReferenceSettings{}, *model_);
  EXPECT_EQ(&reference.model(), model_.get());
  ASSERT_TRUE(reference.is_without_adapters());
  const auto copy = test::open_checkpoint(GetParam(), checkpoint());
  const auto scored = scores(reference.model(), {.on = false});
  EXPECT_TRUE(at::equal(scored, scores(*copy)));
  EXPECT_FALSE(at::allclose(scored, scores(*model_), 1e-3, 1e-3)) << "the adapters do nothing";
}

TEST_P(Update, AReferenceThatMovesIsRefused) {
  ReferenceSettings moving;
  moving.kind = ReferenceKind::kMovingAverage;
  EXPECT_THROW(ReferencePolicy(moving, *model_), Error);
}

// Masks are drawn for a row by its tokens: passes, recomputation and a second forward find the same ones.
TEST_P(Update, DropoutIsTheSameForEveryMemoryBudget) {
  batch_.adapters.dropout = RandomStream(1, "adapter dropout");
  const SquaredSum loss;
  const auto whole = policy_gradient(test::alone, *model_, loss, batch_, std::int64_t{1} << 30);
  ASSERT_EQ(whole.gradients.size(), adapter_parameters(*model_).size());
  const auto tight = policy_gradient(test::alone, *model_, loss, batch_, 1);
  EXPECT_TRUE(tight.two_pass);
  EXPECT_TRUE(at::allclose(whole.current_FL, tight.current_FL, 1e-4, 1e-5));
  for (std::size_t p = 0; p < whole.gradients.size(); ++p) {
    const double size = whole.gradients[p].abs().max().item<double>();
    EXPECT_TRUE(at::allclose(whole.gradients[p], tight.gradients[p], 1e-3, 1e-4 * size)) << p;
  }
  batch_.adapters.dropout = RandomStream(2, "adapter dropout");
  EXPECT_FALSE(at::allclose(policy_gradient(test::alone, *model_, loss, batch_, std::int64_t{1} << 30).current_FL,
                            whole.current_FL));
}

TEST_P(Update, ScoringWithoutGradientsLeavesNothingOut) {
  batch_.adapters.dropout = RandomStream(1, "adapter dropout");
  const auto trained = policy_gradient(test::alone, *model_, SquaredSum(), batch_, std::int64_t{1} << 30).current_FL;
  EXPECT_FALSE(at::allclose(trained, scores(*model_), 1e-4, 1e-5));
  EXPECT_TRUE(at::equal(scores(*model_), scores(*model_)));
}

INSTANTIATE_TEST_SUITE_P(Families, AdaptedModel, testing::Values("llada", "dream", "sdar"));
INSTANTIATE_TEST_SUITE_P(Families, Update, testing::Values("llada", "dream", "sdar"));

class SavedAdapter : public testing::Test {
 protected:
  std::string message(const std::string& from, const std::string& to) const {
    const auto golden = test::source_dir() / "tests/golden/adapters/llada_all";
    std::string config = test::read_file(golden / "adapter_config.json");
    config.replace(config.find(from), from.size(), to);
    test::write_file(folder_.path() / "adapter_config.json", config);
    std::filesystem::copy_file(golden / "adapter_model.safetensors", folder_.path() / "adapter_model.safetensors",
                               std::filesystem::copy_options::overwrite_existing);
    return test::what_of([&] { read_adapter(folder_.path()); });
  }

  test::TemporaryFolder folder_;
};

TEST_F(SavedAdapter, OfAKindThatIsNotComputedIsRefusedByItsKey) {
  EXPECT_THAT(message("\"use_dora\": false", "\"use_dora\": true"), HasSubstr("use_dora is true"));
  EXPECT_THAT(message("\"peft_type\": \"LORA\"", "\"peft_type\": \"IA3\""), HasSubstr("peft_type is \"IA3\""));
  EXPECT_THAT(message("\"rank_pattern\": {}", "\"rank_pattern\": {\"q_proj\": 4}"), HasSubstr("rank_pattern is"));
  EXPECT_THAT(message("\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\""),
              HasSubstr("which changes the base weights"));
  EXPECT_THAT(message("\"r\": 2", "\"r\": 8"), HasSubstr("and the rank 8"));
}

TEST_F(SavedAdapter, WithAKeyThatNobodyKnowsIsRefusedUnlessItIsOff) {
  EXPECT_THAT(message("\"use_dora\": false", "\"use_sora\": true"), HasSubstr("`use_sora` = true is unknown"));
  EXPECT_EQ(message("\"use_dora\": false", "\"use_sora\": false, \"sora_config\": null"), "no error");
}

TEST_F(SavedAdapter, WhoseNumbersAreDamagedIsRefusedByTheKey) {
  EXPECT_THAT(message("\"r\": 2", "\"r\": 2.5"), HasSubstr("r is 2.5"));
  EXPECT_THAT(message("\"r\": 2", "\"r\": 1e30"), HasSubstr("r is 1e+30"));
  EXPECT_THAT(message("\"r\": 2", "\"r\": 0"), HasSubstr("r is 0"));
  EXPECT_THAT(message("\"r\": 2", "\"r\": \"2\""), HasSubstr("r is \"2\", no number"));
  EXPECT_THAT(message("\"r\": 2", "\"rank\": 2"), HasSubstr("r is missing"));
  EXPECT_THAT(message("\"lora_alpha\": ", "\"lora_alpha\": -"), HasSubstr("lora_alpha is -"));
  EXPECT_THAT(message("\"lora_alpha\": ", "\"lora_alpha\": true, \"x\": "), HasSubstr("lora_alpha is true, no number"));
}

TEST_F(SavedAdapter, OfARunIsLookedForInItsCheckpoints) {
  const auto last = folder_.path() / "checkpoints/last";
  std::filesystem::create_directories(last);
  std::filesystem::copy(test::source_dir() / "tests/golden/adapters/llada_all", last);
  EXPECT_THAT(test::error_of([&] { read_adapter(folder_.path()); }),
              HasSubstr("give its checkpoint: " + last.string()));
}

TEST_F(SavedAdapter, ThatIsNotThereIsSaidSo) {
  EXPECT_FALSE(holds_adapter(folder_.path()));
  EXPECT_THROW(read_adapter(folder_.path()), Error);
}

}  // namespace drift::adapters_test
