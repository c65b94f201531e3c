// How much of an update's time the matrix products and attentions need: the gradient of one update of the quickstart
// (16 groups x 8 responses, k = 4, every group live) by policy_gradient() against the bare products and attentions of
// its forward and backward, on the same threads, in one process, in turn; then the rest, part by part.
//
//   build/release/bench/gradient_bench [--rounds 31] [--set run.threads=1] [--set model.path=DIR] [--config FILE]
//
// The bare sequence is recorded from the real update. "merged": the contexts that were computed, equal ones once. "all
// views": each view separately, as in a plain loop. Numbers are medians with quartiles; a difference of medians is
// marked as such.

#include "bench/measure.h"
#include "bench/parts.h"
#include "bench/recipe.h"
#include "bench/recording_model.h"

#include <core/update/batch_totals.h>
#include <core/update/optimizer.h>
#include <core/update/policy_gradient.h>
#include <core/update/row_graph.h>
#include <core/update/view_rows.h>

#include <drift/export.h>
#include <drift/masking_strategy.h>
#include <drift/parallel.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdio>

namespace drift::bench {
namespace {

/// Each view separately, as evenly divided among the threads as the update's rows.
Work all_views_work(const MaskPlan& plan, std::int64_t sequence, std::int64_t threads) {
  const auto targets_F = plan.target_FL.sum(1);
  const std::int64_t views = targets_F.size(0);
  Work work(static_cast<std::size_t>(threads));
  for (std::int64_t thread = 0; thread < threads; ++thread) {
    const std::int64_t begin = views * thread / threads, end = views * (thread + 1) / threads;
    work[static_cast<std::size_t>(thread)].push_back(
        {end - begin, sequence, targets_F.narrow(0, begin, end - begin).sum().item<std::int64_t>()});
  }
  return work;
}

std::int64_t largest(const Work& work) {
  std::int64_t tokens = 0;
  for (const auto& list : work) {
    for (const ForwardSize& size : list) tokens = std::max(tokens, size.sequences * size.tokens);
  }
  return tokens;
}

void print_work(const char* name, const Work& work) {
  std::int64_t sequences = 0, rows = 0;
  for (const auto& list : work) {
    for (const ForwardSize& size : list) {
      sequences += size.sequences;
      rows += size.rows;
    }
  }
  std::printf("%-9s %lld sequences, %lld scored rows\n", name, static_cast<long long>(sequences),
              static_cast<long long>(rows));
}

/// A rollout, its plan, and advantages of either sign in every group.
struct Update {
  Trajectories trajectories;
  MaskPlan plan;
  UpdateBatch batch;
  std::int64_t memory_budget = 0;
};

void prepare(const Recipe& recipe, Update& update) {
  const at::NoGradGuard no_gradient;
  const auto rollout = create_component<Rollout>(recipe.registry(), recipe.config(), "rollout");
  const auto masking = create_component<MaskingStrategy>(recipe.registry(), recipe.config(), "algorithm.masking");
  rollout->generate(recipe.rollout_input(), update.trajectories);
  const std::int64_t responses = update.trajectories.tokens_BL.size(0);
  MaskingInput input;
  input.trajectories = &update.trajectories;
  input.random = RandomStream(1, "masking");
  input.response_number_B = at::arange(responses, at::kLong);
  masking->plan(input, update.plan);

  const auto& train = recipe.config().section("train");
  update.batch.trajectories = &update.trajectories;
  update.batch.plan = &update.plan;
  update.batch.advantage_B = (at::arange(responses, at::kLong).remainder(2) * 2 - 1).to(at::kFloat);
  update.batch.totals = batch_totals(update.plan, responses, train.get<std::int64_t>("group_size"), 1);
  update.batch.scored_B = scored_positions(update.plan, responses);
  update.memory_budget = train.get<std::int64_t>("memory_budget_mib") << 20;
}

LossInput loss_input(const Update& update, const at::Tensor& current_FL) {
  LossInput input;
  input.plan = update.plan;
  input.log_probs.current_FL = current_FL.clone().set_requires_grad(true);
  input.log_probs.old_FL = current_FL;
  input.advantage_B = update.batch.advantage_B;
  input.valid_BL = update.trajectories.valid_BL;
  input.totals = update.batch.totals;
  input.scored_B = update.batch.scored_B;
  return input;
}

/// Scores of some rows with their graph; with `backward` also their gradients.
void score_and_backward(const Model& model, const Trajectories& trajectories, const std::vector<ViewRow>& rows,
                        std::int64_t views, std::int64_t workers, bool backward) {
  std::vector<at::Tensor> parameters;
  for (const auto& parameter : model.parameters()) parameters.push_back(parameter.tensor);
  const std::int64_t length = trajectories.tokens_BL.size(1);
  const PolicyScores scores(views, length, at::kFloat, /*want_entropy=*/false);
  const ScoreGradient gradient{at::ones_like(scores.logprob_FL), {}};
  parallel_rows(workers, static_cast<std::int64_t>(rows.size()), [&](std::int64_t, auto begin, auto end) {
    HeadWorker head(model.lm_head_VH());
    RowGraph graph(model, trajectories, rows, begin, end, /*recompute=*/false);
    graph.score(head, {0, views * length}, scores);
    if (!backward) return;
    graph.backward(head, gradient);
    torch::autograd::grad({graph.hidden_NH()}, parameters, {graph.gradient_NH()}, std::nullopt, false, true);
  });
}

void report(const Measurement& measured, const std::vector<std::string>& parts) {
  const auto median = [&](const char* name) { return measured.milliseconds(name).median; };
  const double whole = median("policy_gradient");
  print_yardsticks(measured, "policy_gradient",
                   {"bare, merged, scaled_dot_product_attention", "bare, merged, three calls",
                    "bare, all views, scaled_dot_product_attention", "bare, all views, three calls"});
  std::printf("\nwhere the update's time goes (each part run alone; forward and backward)\n");
  const double scored = print_shares(measured, {"scores with their graph, and the backward"}, whole);
  print_shares(measured, {"  of which the scores"}, whole);
  const double known =
      print_shares(measured, {"  products", "  rows as a batch"}, whole) + print_shares(measured, parts, whole);
  print_line("  rest: log-sum, gathering, graph, allocation, dispatch", scored - known, whole);
  const double outside = print_shares(measured, {"distinct contexts of the views", "loss and its gradient"}, whole);
  print_line("remainder: sums of gradients, metrics, waiting for the slower thread", whole - scored - outside, whole);
  std::printf("\nin the same phase, besides policy_gradient\n");
  print_line("optimizer step", measured.milliseconds("optimizer step"));
}

void run(int count, char** arguments) {
  Recipe recipe(count, arguments);
  Update update;
  prepare(recipe, update);
  Model& model = recipe.model();
  const auto loss = create_component<LossEstimator>(recipe.registry(), recipe.config(), "algorithm.loss");
  RecordingModel recorder(model);
  const PolicyGradient once = policy_gradient(recorder, *loss, update.batch, update.memory_budget);
  const Recording recording = recorder.recording(update.trajectories.prompts.tokens_BP);
  const Work merged = work_of(recording);
  const std::int64_t sequence = merged.front().front().tokens;
  const auto workers = static_cast<std::int64_t>(merged.size());
  const Work all = all_views_work(update.plan, sequence, workers);

  recipe.print_heading();
  std::printf("%lld responses, %lld views, %lld scored positions; %s\n",
              static_cast<long long>(update.batch.totals.responses),
              static_cast<long long>(update.plan.response_F.size(0)),
              static_cast<long long>(update.batch.totals.targets), once.two_pass ? "TWO PASSES" : "one pass");
  print_work("merged", merged);
  print_work("all views", all);

  std::fflush(stdout);

  const ModelShape shape = recipe.shape();
  const BareModel bare(shape, std::max(largest(merged), largest(all)));
  const Parts parts(shape, sequence, largest(merged));
  const auto views = all_views(update.plan);
  const auto view_count = static_cast<std::int64_t>(views.size());
  const auto rows = distinct_view_rows(model.traits(), update.trajectories, update.plan, views);
  // The step of a run, with a rate that leaves the weights as they are.
  auto settings = OptimizerSettings::from(recipe.config().section("train"), 1, 0);
  settings.learning_rate = 0;
  Optimizer optimizer(model.parameters(), settings);

  const auto bare_case = [&](const std::string& name, const Work& work, Attention attention) {
    return Case{name, [&, attention] {
                  const at::NoGradGuard no_gradient;
                  for_each_forward(work, [&](const ForwardSize& size) { bare.forward_backward(size, attention); });
                }};
  };
  std::vector<Case> cases{
      {"policy_gradient", [&] { policy_gradient(model, *loss, update.batch, update.memory_budget); }},
      bare_case("bare, merged, scaled_dot_product_attention", merged, Attention::kScaledDotProduct),
      bare_case("bare, merged, three calls", merged, Attention::kThreeCalls),
      bare_case("bare, all views, scaled_dot_product_attention", all, Attention::kScaledDotProduct),
      bare_case("bare, all views, three calls", all, Attention::kThreeCalls),
      {"scores with their graph, and the backward",
       [&] { score_and_backward(model, update.trajectories, rows, view_count, workers, true); }},
      {"  of which the scores",
       [&] { score_and_backward(model, update.trajectories, rows, view_count, workers, false); }},
      bare_case("  products", merged, Attention::kNone),
      {"  rows as a batch",
       [&] {
         parallel_rows(workers, static_cast<std::int64_t>(rows.size()), [&](std::int64_t, auto begin, auto end) {
           make_row_batch(model, update.trajectories, rows, begin, end, at::kCPU);
         });
       }},
      {"distinct contexts of the views",
       [&] { distinct_view_rows(model.traits(), update.trajectories, update.plan, views); }},
      {"loss and its gradient",
       [&] {
         const LossInput input = loss_input(update, once.current_FL);
         torch::autograd::grad({loss->evaluate(input).value}, {input.log_probs.current_FL});
       }},
      {"optimizer step", [&] { optimizer.step(once.gradients); }}};
  const auto part_cases = parts.cases(merged);
  cases.insert(cases.end(), part_cases.begin(), part_cases.end());
  report(Measurement(cases, recipe.rounds()), names_of(part_cases));
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) { return drift::bench::guarded(drift::bench::run, count, arguments); }
