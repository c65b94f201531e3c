// What holds for every decoder, whatever its settings: settings are drawn at random, on both backbones, in float64.

#include <drift/rollout.h>

#include <core/boundary/model_policy.h>

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <ATen/Parallel.h>
#include <ATen/ops/cos.h>

#include <atomic>

namespace drift::rollout_laws_test {

using Settings = std::map<std::string, Parameter::Value>;

constexpr std::int64_t kGroups = 2, kGroupSize = 3, kPrompt = 7, kResponses = kGroups * kGroupSize;

template <class T>
const T& any_of(const std::vector<T>& choices, const RandomStream& random, std::int64_t key) {
  return choices[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(choices.size()), {0, key, 0, 0}))];
}

Settings block_settings(const RandomStream& random) {
  using Texts = std::vector<std::string>;
  using Integers = std::vector<std::int64_t>;
  using Numbers = std::vector<double>;
  const auto cache = any_of(Texts{"none", "prefix", "prefix", "dual"}, random, 9);
  const auto remasking = any_of(Texts{"low_confidence", "margin", "negative_entropy", "random"}, random, 7);
  const auto confidence_of = any_of(Texts{"logits", "draw"}, random, 13);
  const bool may_be_unsure = remasking == "low_confidence" && confidence_of == "logits";
  const auto block = any_of(Integers{1, 3, 4, 8}, random, 1);
  const auto length = block * any_of(Integers{1, 2, 3}, random, 2);
  return {{"length", length},
          {"block", block},
          {"schedule", any_of(Texts{"dynamic", "static", "factor"}, random, 3)},
          {"threshold", any_of(Numbers{0.02, 0.3, 0.9}, random, 4)},
          {"factor", any_of(Numbers{0.5, 2.0}, random, 5)},
          {"steps", any_of(Integers{0, 1, 5, length}, random, 6)},
          {"remasking", remasking},
          {"temperature", any_of(Numbers{0.0, 1.0, 1.3}, random, 8)},
          {"top_p", any_of(Numbers{1.0, 0.9}, random, 12)},
          {"top_k", any_of(Integers{0, 0, 20}, random, 14)},
          {"order_temperature", any_of(Numbers{0.0, 0.5}, random, 19)},
          {"confidence_of", confidence_of},
          {"cache", cache},
          {"guidance", cache == "none" ? any_of(Numbers{0, 0.7}, random, 15) : 0.0},
          {"forbidden_ids", any_of(std::vector<Integers>{{}, {}, {3, 78}}, random, 16)},
          {"unsure_ids", may_be_unsure ? any_of(std::vector<Integers>{{}, {5, 120}}, random, 17) : Integers{}},
          {"pad_penalty", any_of(Numbers{1.0, 3.0}, random, 18)},
          {"horizon", any_of(Integers{-1, 0, 2, 5}, random, 10)},
          {"early_stop", any_of(std::vector<int>{0, 1}, random, 11) == 1}};
}

Settings diffusion_settings(const RandomStream& random) {
  using Texts = std::vector<std::string>;
  const auto length = any_of(std::vector<std::int64_t>{1, 7, 16}, random, 1);
  return {{"length", length},
          {"steps", any_of(std::vector<std::int64_t>{1, 5, length}, random, 2)},
          {"order", any_of(Texts{"maskgit_plus", "topk_margin", "entropy", "origin"}, random, 3)},
          {"order_temperature", any_of(std::vector<double>{0, 0.5}, random, 4)},
          {"temperature", any_of(std::vector<double>{0, 1, 1.3}, random, 5)},
          {"top_p", any_of(std::vector<double>{1, 0.9}, random, 6)},
          {"top_k", any_of(std::vector<std::int64_t>{0, 20}, random, 7)},
          {"eps", any_of(std::vector<double>{1e-3, 0.2}, random, 9)},
          {"guidance", any_of(std::vector<double>{0, 0, 0.7}, random, 10)},
          {"forbidden_ids", any_of(std::vector<std::vector<std::int64_t>>{{}, {}, {3, 78}}, random, 11)},
          {"early_stop", any_of(std::vector<int>{0, 1}, random, 8) == 1}};
}

/// Another policy's logits, and what is done to a forward.
class ChangedPolicy : public Policy {
 public:
  explicit ChangedPolicy(const Policy& like) : like_(like) {}

  const ModelTraits& traits() const override { return like_.traits(); }
  at::Device device() const override { return like_.device(); }
  at::Tensor logits(const ForwardInput& input, const ForwardCache& cache) const override {
    return changed(like_.logits(input, cache));
  }
  SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                       const at::Tensor& uniform_M, const SamplingOptions& options) const override {
    return sample_tokens(logits(input, cache), row_M, uniform_M, options);
  }
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t rows, std::int64_t positions) const override {
    return like_.make_cache(rows, positions);
  }

 private:
  virtual at::Tensor changed(const at::Tensor& logits_NV) const = 0;
  const Policy& like_;
};

/// Logits that are off by some 1e-4, in a way that `phase` decides.
class InexactPolicy final : public ChangedPolicy {
 public:
  InexactPolicy(const Policy& like, double phase) : ChangedPolicy(like), phase_(phase) {}

 private:
  at::Tensor changed(const at::Tensor& logits_NV) const override {
    const auto place_NV = at::arange(logits_NV.numel(), logits_NV.options()).view(logits_NV.sizes());
    return logits_NV + 1e-4 * at::cos(place_NV * phase_);
  }
  double phase_;
};

/// Cancels the rollout in its forward number `last`.
class CancellingPolicy final : public ChangedPolicy {
 public:
  CancellingPolicy(const Policy& like, int last) : ChangedPolicy(like), left_(last) {}
  mutable std::atomic<bool> cancelled{false};

 private:
  at::Tensor changed(const at::Tensor& logits_NV) const override {
    if (--left_ <= 0) cancelled = true;
    return logits_NV;
  }
  mutable std::atomic<int> left_;
};

struct Decoder {
  const char* rollout;
  const char* family;
  Settings (*settings)(const RandomStream&);
};

void PrintTo(const Decoder& decoder, std::ostream* out) { *out << decoder.rollout << " on " << decoder.family; }

struct RolloutLaws : ::testing::TestWithParam<Decoder> {
  RolloutLaws() : model(test::open_checkpoint(GetParam().family, checkpoint(), at::kDouble)) {
    const auto group_B = at::arange(kResponses, at::kLong).floor_divide(kGroupSize);
    const auto place_P = at::arange(kPrompt, at::kLong);
    prompts = {(group_B.unsqueeze(1) * 31 + place_P * 17 + 5).remainder(200),
               at::ones({kResponses, kPrompt}, at::kBool), group_B};
  }

  static std::filesystem::path checkpoint() {
    return test::source_dir() / "tests/golden/data/ckpt" / (GetParam().family + std::string("_a"));
  }

  Trajectories generate(const Settings& settings, const Prompts& given, std::int64_t first_response = 0) const {
    return test::roll_out(GetParam().rollout, settings, *model, given, first_response);
  }

  Prompts only(std::int64_t b) const {
    return {prompts.tokens_BP.narrow(0, b, 1), prompts.mask_BP.narrow(0, b, 1), prompts.group_B.narrow(0, b, 1)};
  }

  /// `law(settings)` for many settings, which are named where it fails.
  template <class Law>
  void for_settings(std::uint64_t count, const Law& law) const {
    for (std::uint64_t seed = 0; seed < count; ++seed) {
      const Settings settings = GetParam().settings(RandomStream(seed, "settings"));
      std::ostringstream text;
      for (const auto& [key, value] : settings) text << key << " = " << to_toml(value) << "\n";
      SCOPED_TRACE(text.str());
      law(settings);
      if (HasFailure()) return;
    }
  }

  std::unique_ptr<Model> model;
  Prompts prompts;
};

TEST_P(RolloutLaws, EveryPositionIsCommittedOnceByAForwardThatCommitsSomething) {
  for_settings(40, [&](const Settings& settings) {
    const auto made = generate(settings, prompts);
    for (std::int64_t b = 0; b < kResponses; ++b) {
      std::set<int> steps;
      for (std::int64_t i = 0; i < made.step_BL.size(1); ++i) {
        const auto token = made.tokens_BL[b][i].item<std::int64_t>();
        const int step = made.step_BL[b][i].item<int>();
        if (step >= 0) steps.insert(step);
        if (step < 0) {
          EXPECT_TRUE(std::get<bool>(settings.at("early_stop"))) << "position " << i << " was left";
          EXPECT_EQ(token, model->traits().pad_id);
          EXPECT_EQ(made.commit_logprob_BL[b][i].item<float>(), 0);
        }
        for (const auto& [begin, end] : model->traits().forbidden_output_ids) {
          EXPECT_FALSE(begin <= token && token < end) << "illegal id " << token;
        }
        const auto& forbidden = std::get<std::vector<std::int64_t>>(settings.at("forbidden_ids"));
        EXPECT_EQ(std::ranges::count(forbidden, token), 0) << token;
      }
      ASSERT_FALSE(steps.empty());
      EXPECT_EQ(*steps.rbegin() + 1, static_cast<int>(steps.size())) << "a forward that commits nothing";
      EXPECT_EQ(made.forwards_B[b].item<std::int64_t>(), static_cast<std::int64_t>(steps.size()));
    }
  });
}

TEST_P(RolloutLaws, NoForwardCommitsOutsideItsBlock) {
  for_settings(40, [&](const Settings& settings) {
    if (!settings.contains("block")) return;
    const auto made = generate(settings, prompts);
    const auto block = std::get<std::int64_t>(settings.at("block"));
    for (std::int64_t b = 0; b < kResponses; ++b) {
      int last = -1;
      for (std::int64_t begin = 0; begin < made.step_BL.size(1); begin += block) {
        const auto step = made.step_BL[b].narrow(0, begin, block);
        if (step.max().item<int>() < 0) break;
        EXPECT_GT(step.min().item<int>(), last);
        last = step.max().item<int>();
      }
    }
  });
}

TEST_P(RolloutLaws, ARowIsTheSameAloneAndInABatch) {
  for_settings(40, [&](const Settings& settings) {
    const auto whole = generate(settings, prompts);
    for (const std::int64_t b : {0, 4})
      EXPECT_TRUE(test::same_response(generate(settings, only(b), b), 0, whole, b)) << "row " << b;
  });
}

TEST_P(RolloutLaws, TheOrderOfPromptsDoesNotMatter) {
  for_settings(20, [&](Settings settings) {
    settings["temperature"] = 0.0;  // draws depend on a response's number
    if (settings.contains("remasking")) settings["remasking"] = "low_confidence";
    if (settings.contains("order")) settings["order"] = "entropy";
    settings["order_temperature"] = 0.0;
    const auto whole = generate(settings, prompts);
    const Prompts reversed = {prompts.tokens_BP.flip(0), prompts.mask_BP, prompts.group_B.flip(0)};
    const auto other = generate(settings, reversed);
    for (std::int64_t b = 0; b < kResponses; ++b)
      EXPECT_TRUE(test::same_response(whole, b, other, kResponses - 1 - b)) << b;
  });
}

TEST_P(RolloutLaws, PaddingOnTheLeftChangesNothing) {
  for_settings(40, [&](const Settings& settings) {
    const auto padded_by = [&](std::int64_t padding) {
      const auto pad = at::full({kResponses, padding}, model->traits().pad_id, at::kLong);
      return Prompts{at::cat({pad, prompts.tokens_BP}, 1),
                     at::cat({at::zeros({kResponses, padding}, at::kBool), prompts.mask_BP}, 1), prompts.group_B};
    };
    EXPECT_TRUE(test::same_responses(generate(settings, padded_by(4)), generate(settings, prompts)));
  });
}

TEST_P(RolloutLaws, ThreadsDoNotMatter) {
  const int threads = at::get_num_threads();
  for_settings(20, [&](const Settings& settings) {
    at::set_num_threads(2);
    const auto two = generate(settings, prompts);
    at::set_num_threads(1);
    EXPECT_TRUE(test::same_responses(generate(settings, prompts), two));
  });
  at::set_num_threads(threads);
}

// In float32 a forward of other rows rounds otherwise, which may turn a decision that is a near tie.
TEST_P(RolloutLaws, InFloat32TheSameHoldsWhereNoDecisionLiesWithinRounding) {
  const auto rounded = test::open_checkpoint(GetParam().family, checkpoint(), at::kFloat);
  const ModelPolicy exact_policy(*model), rounded_policy(*rounded);
  std::int64_t compared = 0, all = 0;
  for_settings(20, [&](const Settings& settings) {
    const auto roll_out = [&](const Policy& policy, const Prompts& given, std::int64_t first_response) {
      return test::roll_out(GetParam().rollout, settings, policy, given, first_response);
    };
    const auto whole = roll_out(rounded_policy, prompts, 0);
    std::vector<Trajectories> inexact;
    for (const double phase : {0.9, 2.3, 7.7})
      inexact.push_back(roll_out(InexactPolicy(exact_policy, phase), prompts, 0));
    for (std::int64_t b = 0; b < kResponses; ++b, ++all) {
      const auto alike = [&](const Trajectories& other) { return test::same_response(other, b, inexact[0], b); };
      if (!std::ranges::all_of(inexact, alike)) continue;
      ++compared;
      EXPECT_TRUE(alike(whole)) << "row " << b << " in float64";
      EXPECT_TRUE(test::same_response(roll_out(rounded_policy, only(b), b), 0, whole, b)) << "row " << b << " alone";
    }
  });
  EXPECT_GT(2 * compared, all);
}

TEST_P(RolloutLaws, ResponsesOfAGroupDiffer) {
  for_settings(20, [&](Settings settings) {
    settings["temperature"] = 1.0;
    settings["length"] = std::int64_t{24};
    settings.erase("steps");
    const auto made = generate(settings, prompts);
    for (std::int64_t group = 0; group < kGroups; ++group) {
      const auto rows = made.tokens_BL.narrow(0, group * kGroupSize, kGroupSize);
      EXPECT_FALSE(at::equal(rows[0], rows[1]) && at::equal(rows[1], rows[2]));
    }
  });
}

TEST_P(RolloutLaws, ACancelledRolloutEndsWithWholeTensors) {
  const std::atomic<bool> cancelled{true};
  const auto rollout = test::create<Rollout>(GetParam().rollout, GetParam().rollout, {});
  const ModelPolicy policy(*model);
  RolloutInput input;
  input.policy = &policy;
  input.prompts = prompts;
  input.cancelled = &cancelled;
  Trajectories made;
  const at::NoGradGuard no_gradient;
  rollout->generate(input, made);
  EXPECT_TRUE((made.step_BL == -1).all().item<bool>());
  EXPECT_TRUE((made.commit_logprob_BL == 0).all().item<bool>());
  EXPECT_TRUE((made.forwards_B == 0).all().item<bool>());
  EXPECT_TRUE((made.tokens_BL == model->traits().mask_id).all().item<bool>());
}

TEST_P(RolloutLaws, WhatACancelledRolloutHasCommittedIsWhatTheWholeOneCommits) {
  const ModelPolicy policy(*model);
  for_settings(20, [&](const Settings& settings) {
    const auto whole = generate(settings, prompts);
    for (const int last : {1, 2, 5}) {
      const CancellingPolicy cancelling(policy, last);
      const auto made = test::roll_out(GetParam().rollout, settings, cancelling, prompts, 0, &cancelling.cancelled);
      const auto is_committed_BL = made.step_BL >= 0;
      const auto is_mask_BL = made.tokens_BL == model->traits().mask_id;
      EXPECT_TRUE((is_mask_BL <= is_committed_BL.logical_not()).all().item<bool>());
      EXPECT_TRUE((made.commit_logprob_BL.masked_select(is_committed_BL.logical_not()) == 0).all().item<bool>());
      const auto differs_BL = (made.tokens_BL != whole.tokens_BL) | (made.step_BL != whole.step_BL);
      EXPECT_FALSE((is_committed_BL & differs_BL).any().item<bool>()) << "after " << last << " forwards";
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Decoders, RolloutLaws,
                         testing::Values(Decoder{"block", "llada", block_settings},
                                         Decoder{"block", "dream", block_settings},
                                         Decoder{"diffusion", "llada", diffusion_settings},
                                         Decoder{"diffusion", "dream", diffusion_settings}),
                         [](const auto& info) { return std::string(info.param.rollout) + "_" + info.param.family; });

}  // namespace drift::rollout_laws_test
