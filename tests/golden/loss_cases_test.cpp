// The golden values of every loss: tests/golden/losses/*.json, the format of `drift loss` (docs/algorithms.md).

#include <core/lab/loss_case.h>
#include <core/update/update_batch.h>

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <numeric>

namespace drift::loss_cases_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

struct Case {
  std::string file;
  LossCase loss_case;
  std::shared_ptr<const LossEstimator> loss;

  std::string name() const { return file + ", " + loss_case.variant; }
};

/// Every case and variant of every file. A plugin has the loss of the same name.
const std::vector<Case>& all_cases() {
  static const auto cases = [] {
    std::vector<Case> read;
    std::vector<std::filesystem::path> files;
    for (const auto& file : std::filesystem::directory_iterator(test::source_dir() / "tests/golden/losses"))
      files.push_back(file.path());
    for (const char* name : {"dipo", "dipo_as_d1", "ebpo", "tracerl_block"})
      files.push_back(test::source_dir() / "tests/golden/block/losses" / (std::string(name) + ".json"));
    for (const auto& file : files) {
      const std::string name = nlohmann::json::parse(test::read_file(file)).at("loss");
      const ComponentEntry* entry = test::load_plugin(name).find(ComponentKind::kLossEstimator, name);
      if (entry == nullptr) throw std::runtime_error("no loss " + name);
      for (LossCase& one : read_loss_cases(file, *entry)) {
        auto loss = test::create<LossEstimator>(name, name, one.parameters);
        read.push_back({file.filename().string(), std::move(one), std::move(loss)});
      }
    }
    return read;
  }();
  return cases;
}

TEST(LossCases, EveryLossThatShipsHasGoldenValues) {
  std::set<std::string> losses;
  for (const Case& one : all_cases()) losses.insert(one.loss_case.loss);
  for (const ComponentEntry& entry : test::all_plugins().components()) {
    if (entry.kind != ComponentKind::kLossEstimator || entry.declaration) continue;  // or a file says what it computes
    EXPECT_TRUE(losses.contains(entry.name)) << entry.name;
  }
}

TEST(LossCases, ValueMetricsAndGradientAreTheGoldenOnes) {
  for (const Case& one : all_cases()) {
    SCOPED_TRACE(one.name());
    const LossExpectation& expected = one.loss_case.expected;
    EXPECT_TRUE(expected.loss || !expected.metrics.empty() || !expected.gradient_FL.empty()) << "expects nothing";
    EXPECT_THAT(differences(evaluate_case(*one.loss, one.loss_case.input), expected), IsEmpty());
  }
}

// ---- laws ----

struct Tried {
  std::string name;
  std::shared_ptr<const LossEstimator> loss;
  LossInput input;
};

/// A loss, the plugin and the name of the masks that it gets, and its settings to try.
struct Settings {
  std::string loss, plugin, masking;
  Values masks;
  std::vector<Values> settings;
};

std::vector<Values> settings_of_rldf() {
  return {{},
          {{"norm", "token"}},
          {{"keep_decoded", false}},
          {{"kl", "k1"}, {"beta", 0.3}},
          {{"kl", "k2"}, {"beta", 0.3}},
          {{"kl", "k3"}, {"beta", 0.3}},
          {{"form", "ppo"}},
          {{"form", "reinforce"}},
          {{"eps_low", 0.1}, {"eps_high", 0.4}, {"norm", "token"}},
          {{"filter_on", "old"}},
          {{"filter_on", "current"}},
          {{"logratio_clamp", 0.5}},
          {{"entropy_coefficient", 0.1}}};
}

std::vector<Values> settings_of_tracerl() {
  std::vector<Values> all;
  for (const char* norm : {"targets", "length"})
    for (const char* kl_norm : {"sum", "targets", "length"})
      for (const char* weighting : {"rows", "response"})
        for (const bool confidence : {false, true})
          all.push_back({{"norm", norm},
                         {"kl_norm", kl_norm},
                         {"weighting", weighting},
                         {"confidence_weights", confidence},
                         {"beta", 0.3}});
  return all;
}

std::vector<Values> settings_of_spg() {
  std::vector<Values> all;
  for (const char* negative : {"mix", "eubo", "elbo", "zero"})
    for (const std::int64_t micro_batch : {0, 2})
      all.push_back({{"negative", negative}, {"micro_batch", micro_batch}, {"beta_u", 1.3}});
  return all;
}

std::vector<Values> settings_of_wd1() {
  std::vector<Values> all;
  for (const bool positive_only : {false, true})
    for (const std::int64_t micro_batch : {0, 3, 8, 100})
      all.push_back({{"positive_only", positive_only}, {"micro_batch", micro_batch}});
  return all;
}

std::vector<Settings> every_setting() {
  const std::vector<Values> by_norm = {
      {{"norm", "token"}}, {{"norm", "sample"}}, {{"norm", "length"}}, {{"kl", "k1"}}, {{"kl", "k2"}}};
  const std::vector<Values> of_ratios = {
      {}, {{"kl", "k3"}, {"beta", 0.1}}, {{"beta", 0.0}, {"eps_low", 0.01}, {"eps_high", 0.02}}};
  std::vector<Values> of_elbos = of_ratios;
  of_elbos.push_back({{"timestep_weights", std::vector<double>{0.7, 0.2}}, {"kl", "k1"}, {"beta", 0.1}});
  std::vector<Values> of_espo = of_ratios;  // without k1, whose gradient is not that of its value
  of_espo.push_back({{"length", "valid"}});
  return {{"rldf", "rldf", "rldf", {{"k", std::int64_t{3}}}, settings_of_rldf()},
          {"rldf", "rldf", "rldf", {{"k", std::int64_t{3}}, {"step_weighting", "softmax"}}, settings_of_rldf()},
          {"d1", "d1", "d1", {}, by_norm},
          {"tracerl", "tracerl", "tracerl", {{"shrink", std::int64_t{2}}}, settings_of_tracerl()},
          {"wd1", "rldf", "all_masking", {}, settings_of_wd1()},
          {"spg", "spg", "spg", {{"block", std::int64_t{4}}}, settings_of_spg()},
          {"coupled_grpo", "coupled_grpo", "coupled_grpo", {{"pairs", std::int64_t{2}}}, by_norm},
          {"espo", "espo", "espo", {{"num_mc", std::int64_t{2}}}, of_espo},
          {"gdpo", "gdpo", "gdpo", {}, of_ratios},
          {"agrpo", "agrpo", "agrpo", {{"mc_samples", std::int64_t{3}}}, of_ratios},
          {"dipo", "dipo", "dipo", {}, {{}, {{"mode", "grpo_rows"}, {"beta", 0.1}}, {{"mode", "dapo"}, {"kl", "k1"}}}},
          {"d1", "dipo", "dipo", {{"token_weights", "transition"}}, {{{"norm", "sum"}}, {{"norm", "token"}}}},
          {"tracerl", "dipo", "dipo", {{"token_weights", "transition"}}, {{}, {{"norm", "length"}}}},
          {"ebpo", "ebpo", "ebpo", {{"num_mc", std::int64_t{2}}}, of_elbos},
          {"gdpo", "ebpo", "ebpo", {{"num_mc", std::int64_t{2}}}, {{}}},
          {"bgpo", "ebpo", "ebpo", {{"num_mc", std::int64_t{2}}}, {{}}},
          {"vrpo", "ebpo", "ebpo", {{"num_mc", std::int64_t{2}}}, {{}}},
          {"bgpo", "rldf", "random_masking", {}, {{}, {{"divide_by_length", true}, {"clip", 0.2}}}},
          {"vrpo", "vrpo", "vrpo", {}, {{}, {{"beta", 0.7}}}}};
}

/// Eight responses, one of them without a view, and random policies.
LossInput random_input(const MaskingStrategy& masking, std::int64_t optimizer_steps) {
  const auto trajectories = test::random_trajectories(8, 8, 4);
  LossInput input = test::random_loss_input(test::draw_plan(masking, trajectories), 8);
  input.log_probs.entropy_FL = -test::random_log_probs(input.plan.target_FL, 4);
  input.log_probs.reference_entropy_FL = -test::random_log_probs(input.plan.target_FL, 5);
  input.valid_BL = trajectories.valid_BL;
  test::fill_totals(input, /*group_size=*/4, optimizer_steps);
  return input;
}

void add_random_batches(std::vector<Tried>& all) {
  for (const auto& [name, plugin, masking, masks, settings] : every_setting()) {
    const auto strategy = test::create<MaskingStrategy>(plugin, masking, masks);
    // With one step per rollout RLDF has no ratio.
    const auto all_steps = name == "rldf" ? std::vector<std::int64_t>{1, 2} : std::vector<std::int64_t>{2};
    for (std::size_t s = 0; s < settings.size(); ++s) {
      for (const std::int64_t optimizer_steps : all_steps) {
        const std::string what = name + ", settings " + std::to_string(s) + ", " + std::to_string(optimizer_steps);
        all.push_back(
            {what, test::create<LossEstimator>(name, name, settings[s]), random_input(*strategy, optimizer_steps)});
      }
    }
  }
}

template <class Law>
void for_all(Law law) {
  std::vector<Tried> all;
  for (const Case& one : all_cases()) all.push_back({one.name(), one.loss, one.loss_case.input});
  add_random_batches(all);
  for (const Tried& one : all) {
    SCOPED_TRACE(one.name);
    law(*one.loss, one.input, one.name);
  }
}

TEST(LossLaws, GradientsAgreeWithFiniteDifferences) {
  for_all([](const LossEstimator& loss, const LossInput& input, const std::string& name) {
    // On the very bound of a clip the left and the right derivative differ.
    if (name.find("on the upper bound") != std::string::npos) return;
    EXPECT_THAT(test::numbers(evaluate_case(loss, input).gradient_FL),
                Pointwise(DoubleNear(1e-7), test::finite_difference_gradient(loss, input)));
  });
}

/// The views that a loss of this coupling may be given apart from the others.
std::vector<std::vector<std::int64_t>> units(const LossInput& input, Coupling coupling) {
  std::map<std::int64_t, std::vector<std::int64_t>> by_key;
  for (std::int64_t v = 0; v < input.plan.response_F.size(0); ++v) {
    const std::int64_t response = input.plan.response_F[v].item<std::int64_t>();
    by_key[coupling == Coupling::kView ? v : coupling == Coupling::kResponse ? response : 0].push_back(v);
  }
  std::vector<std::vector<std::int64_t>> units;
  for (auto& [key, views] : by_key) units.push_back(std::move(views));
  return units;
}

TEST(LossLaws, UncoupledPartsAddUpToTheFullLoss) {
  for_all([](const LossEstimator& loss, const LossInput& input, const std::string&) {
    const auto whole = evaluate_case(loss, input);
    double sum = 0;
    std::map<std::string, test::MetricTotal> metrics;
    for (const auto& views : units(input, loss.coupling())) {
      const LossInput part = test::select_views(input, views);
      const auto result = evaluate_case(loss, part);
      sum += result.loss;
      const Loss evaluated = loss.evaluate(part);
      for (const LossMetric& metric : evaluated.metrics) metrics[metric.name].add(evaluated, metric.name);
      for (std::size_t v = 0; v < views.size(); ++v) {
        EXPECT_THAT(test::numbers(result.gradient_FL, static_cast<std::int64_t>(v)),
                    Pointwise(DoubleNear(1e-14), test::numbers(whole.gradient_FL, views[v])));
      }
    }
    EXPECT_NEAR(sum, whole.loss, 1e-13);
    for (const auto& [name, total] : metrics) {
      if (total.count > 0) {
        EXPECT_NEAR(total.value(), whole.metrics.at(name), 1e-9) << name;
      }
    }
  });
}

TEST(LossLaws, ViewsInAnotherOrderGiveTheSameLoss) {
  for_all([](const LossEstimator& loss, const LossInput& input, const std::string&) {
    std::vector<std::int64_t> reversed(static_cast<std::size_t>(input.plan.response_F.size(0)));
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    EXPECT_NEAR(loss.evaluate(test::select_views(input, reversed)).value.item<double>(),
                loss.evaluate(input).value.item<double>(), 1e-13);
  });
}

TEST(LossLaws, VeryUnlikelyTokensGiveFiniteLossesAndGradients) {
  for_all([](const LossEstimator& loss, LossInput input, const std::string&) {
    for (auto* log_probs : {&input.log_probs.current_FL, &input.log_probs.old_FL, &input.log_probs.reference_FL})
      if (log_probs->defined()) *log_probs = log_probs->to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    input.log_probs.current_FL.select(1, 0).fill_(-1e4);
    if (input.log_probs.old_FL.defined())
      input.log_probs.old_FL.select(1, std::min<std::int64_t>(1, input.log_probs.old_FL.size(1) - 1)).fill_(-1e4);
    EXPECT_TRUE(std::isfinite(loss.evaluate(input).value.item<double>()));
    for (const double g : test::gradient(loss, input)) ASSERT_TRUE(std::isfinite(g));
  });
}

TEST(LossLaws, ViewsAreCoupledWhereALossAddsThemUpFirst) {
  const auto coupling = [](const char* name, const Values& values) {
    return test::create<LossEstimator>(name, name, values)->coupling();
  };
  EXPECT_EQ(coupling("rldf", {}), Coupling::kView);
  EXPECT_EQ(coupling("rldf", {{"norm", "token"}}), Coupling::kBatch);
  EXPECT_EQ(coupling("d1", {}), Coupling::kView);
  EXPECT_EQ(coupling("tracerl", {}), Coupling::kView);
  EXPECT_EQ(coupling("tracerl", {{"weighting", "response"}}), Coupling::kResponse);
  EXPECT_EQ(coupling("coupled_grpo", {}), Coupling::kResponse);
  EXPECT_EQ(coupling("espo", {}), Coupling::kResponse);
  EXPECT_EQ(coupling("ebpo", {}), Coupling::kResponse);
  EXPECT_EQ(coupling("dipo", {}), Coupling::kView);
  EXPECT_EQ(coupling("dipo", {{"mode", "dapo"}}), Coupling::kBatch);
}

TEST(LossLaws, AReferenceIsAskedForOnlyWhereTheKlCounts) {
  for (const char* name : {"rldf", "d1", "tracerl", "coupled_grpo", "espo", "gdpo", "agrpo", "dipo", "ebpo"}) {
    for (const double beta : {0.0, 0.01}) {
      LossNeeds needs;
      test::create<LossEstimator>(name, name, {{"beta", beta}})->needs(needs);
      EXPECT_EQ(needs.reference, beta > 0) << name;
    }
  }
}

}  // namespace drift::loss_cases_test
