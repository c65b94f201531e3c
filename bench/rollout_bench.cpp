// How much of a rollout's time the matrix products and attentions need: the quickstart's rollout (16 prompts x 8
// responses, prompt 21, length 20, block 5, threshold 0.9, temperature 1) against the bare sequence of the same
// products and attentions, on the same threads, in one process, in turn; then the rest, part by part.
//
//   build/release/bench/rollout_bench [--rounds 31] [--set run.threads=1] [--set model.path=DIR] [--config FILE]
//
// The bare sequence is recorded from the real rollout: the same forwards with as many sequences, tokens and wanted
// rows. "merged": the sequences that were computed, responses in the same state once. "all rows": each response by
// itself, as a plain loop has it. Numbers are medians with quartiles; a difference of medians is marked as such.

#include "bench/measure.h"
#include "bench/parts.h"
#include "bench/recipe.h"
#include "bench/recording_model.h"

#include <core/base/model_policy.h>

#include <drift/export.h>
#include <drift/sampling.h>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rand.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace drift::bench {
namespace {

/// Every response separately, on the same thread and in the same forward as in the rollout. A response's masked
/// positions are its requested rows and its draws.
Work all_rows(const Trajectories& trajectories, std::int64_t threads, std::int64_t block) {
  constexpr std::int64_t kTokensPerForward = 4096;  // of the block rollout: how many rows it computes together
  const std::int64_t responses = trajectories.tokens_BL.size(0), length = trajectories.tokens_BL.size(1);
  const std::int64_t sequence = trajectories.prompts.tokens_BP.size(1) + length;
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, kTokensPerForward / sequence);
  Work work(static_cast<std::size_t>(threads));
  for (std::int64_t thread = 0; thread < threads; ++thread) {
    const std::int64_t end = responses * (thread + 1) / threads;
    for (std::int64_t first = responses * thread / threads; first < end; first += rows_at_once) {
      std::vector<ForwardSize> forwards;
      for (std::int64_t b = first; b < std::min(end, first + rows_at_once); ++b) {
        const std::int32_t* step = trajectories.step_BL.const_data_ptr<std::int32_t>() + b * length;
        const auto count = static_cast<std::size_t>(trajectories.forwards_B.const_data_ptr<std::int64_t>()[b]);
        if (forwards.size() < count) forwards.resize(count, {0, sequence, 0});
        for (std::size_t f = 0; f < count; ++f) {
          const auto now = static_cast<std::int32_t>(f);
          const std::int64_t begin = (std::find(step, step + length, now) - step) / block * block;
          ++forwards[f].sequences;
          forwards[f].rows += std::count_if(step + begin, step + begin + block, [&](auto at) { return at >= now; });
        }
      }
      auto& list = work[static_cast<std::size_t>(thread)];
      list.insert(list.end(), forwards.begin(), forwards.end());
    }
  }
  return work;
}

struct Totals {
  std::int64_t forwards = 0, sequences = 0, rows = 0, largest = 0;
};

Totals totals(const Work& work) {
  Totals all;
  for (const auto& list : work) {
    for (const ForwardSize& size : list) {
      ++all.forwards;
      all.sequences += size.sequences;
      all.rows += size.rows;
      all.largest = std::max(all.largest, size.sequences * size.tokens);
    }
  }
  return all;
}

/// What sampling gets: logits of the recorded hidden rows, and the draws of all responses that share them.
struct Draws {
  at::Tensor logits_NV, row_M, uniform_M;
};

std::vector<std::vector<Draws>> draws_of(const Recording& recording, const Work& all, const at::Tensor& head_VH) {
  std::vector<std::vector<Draws>> draws(recording.size());
  for (std::size_t list = 0; list < recording.size(); ++list) {
    if (recording[list].size() != all[list].size())
      throw std::runtime_error("the rollout's forwards differ from those in its trajectories");
    for (std::size_t i = 0; i < recording[list].size(); ++i) {
      const auto logits = at::mm(recording[list][i].hidden_NH, head_VH.t());
      const std::int64_t count = all[list][i].rows;
      draws[list].push_back({logits, (at::arange(count, at::kLong) * logits.size(0)).floor_divide(count),
                             at::rand({count}, at::kDouble)});
    }
  }
  return draws;
}

void report(const Measurement& measured, const std::vector<std::string>& parts) {
  const auto median = [&](const char* name) { return measured.milliseconds(name).median; };
  const double whole = median("rollout");
  print_yardsticks(measured, "rollout",
                   {"bare, merged, scaled_dot_product_attention", "bare, merged, three calls",
                    "bare, all rows, scaled_dot_product_attention", "bare, all rows, three calls"});
  std::printf("\nwhere the rollout's time goes (each part run alone)\n");
  const double forward = print_shares(measured, {"forwards of the model"}, whole);
  const double forward_parts =
      print_shares(measured, {"  products of the layers"}, whole) + print_shares(measured, parts, whole);
  print_line("  rest of the forwards: views, allocation, dispatch", forward - forward_parts, whole);
  const double decoder = print_shares(measured, {"everything except the forwards"}, whole);
  const double decoder_parts = print_shares(measured, {"  LM head", "  sampling", "  random numbers"}, whole);
  print_line("  bookkeeping: states, indices, commits", decoder - decoder_parts, whole);
  print_line("remainder: caches, waiting for the slower thread", whole - forward - decoder, whole);
}

void run(int count, char** arguments) {
  Recipe recipe(count, arguments);
  const at::NoGradGuard no_gradient;
  const auto rollout = create_component<Rollout>(recipe.registry(), recipe.config(), "rollout");
  const RolloutInput input = recipe.rollout_input();
  RecordingModel recorder(recipe.model());
  RolloutInput recorded_input = input;
  const ModelPolicy recorded_policy(recorder);
  recorded_input.policy = &recorded_policy;
  Trajectories trajectories;
  rollout->generate(recorded_input, trajectories);
  const Recording recording = recorder.recording(input.prompts.tokens_BP);
  recorder.replay();

  const std::int64_t sequence = input.prompts.tokens_BP.size(1) + rollout->response_length();
  const std::int64_t block = recipe.config().section("rollout").get<std::int64_t>("block");
  const Work merged = work_of(recording);
  const Work all = all_rows(trajectories, static_cast<std::int64_t>(recording.size()), block);
  const auto head_VH = recipe.model().lm_head_VH();
  const auto draws = draws_of(recording, all, head_VH);
  const SamplingOptions sampling{recipe.config().section("rollout").get<double>("temperature"),
                                 Confidence::kProbability, recipe.model().traits().forbidden_output_ids};

  const Totals merged_totals = totals(merged), all_totals = totals(all);
  recipe.print_heading();
  std::printf("%lld responses of %lld + %lld tokens; %.2f forwards per response\n",
              static_cast<long long>(trajectories.tokens_BL.size(0)),
              static_cast<long long>(input.prompts.tokens_BP.size(1)),
              static_cast<long long>(rollout->response_length()),
              trajectories.forwards_B.to(at::kDouble).mean().item<double>());
  for (const auto& [name, one] : {std::pair{"merged", merged_totals}, {"all rows", all_totals}}) {
    std::printf("%-9s %lld forwards of %lld sequences, %lld scored rows\n", name, static_cast<long long>(one.forwards),
                static_cast<long long>(one.sequences), static_cast<long long>(one.rows));
  }

  std::fflush(stdout);

  const ModelShape shape = recipe.shape();
  const BareModel bare(shape, std::max(merged_totals.largest, all_totals.largest));
  const Parts parts(shape, sequence, merged_totals.largest);
  const auto bare_case = [&](const std::string& name, const Work& work, Attention attention) {
    return Case{name, [&, attention] {
                  for_each_forward(work, [&](const ForwardSize& size) { bare.forward(size, attention); });
                }};
  };
  const auto decoder_case = [&](const std::string& name, const std::function<void(std::size_t, std::size_t)>& body) {
    return Case{name, [&merged, body] { for_each_forward(merged, body); }};
  };
  Trajectories written;
  std::vector<Case> cases{
      {"rollout", [&] { rollout->generate(input, written); }},
      bare_case("bare, merged, scaled_dot_product_attention", merged, Attention::kScaledDotProduct),
      bare_case("bare, merged, three calls", merged, Attention::kThreeCalls),
      bare_case("bare, all rows, scaled_dot_product_attention", all, Attention::kScaledDotProduct),
      bare_case("bare, all rows, three calls", all, Attention::kThreeCalls),
      decoder_case("forwards of the model",
                   [&](std::size_t list, std::size_t i) { recipe.model().forward(recording[list][i].input); }),
      {"  products of the layers",
       [&] { for_each_forward(merged, [&](const ForwardSize& size) { bare.layers(size, Attention::kNone); }); }},
      {"everything except the forwards",
       [&] {
         recorder.replay();
         rollout->generate(recorded_input, written);
       }},
      decoder_case("  LM head",
                   [&](std::size_t list, std::size_t i) { at::mm(recording[list][i].hidden_NH, head_VH.t()); }),
      decoder_case("  sampling",
                   [&](std::size_t list, std::size_t i) {
                     const Draws& draw = draws[list][i];
                     sample_tokens(draw.logits_NV, draw.row_M, draw.uniform_M, sampling);
                   }),
      decoder_case("  random numbers", [&](std::size_t list, std::size_t i) {
        std::vector<double> uniforms;
        for (std::int64_t m = 0; m < all[list][i].rows; ++m)
          uniforms.push_back(input.random.uniform({0, m, 0, static_cast<std::int64_t>(i)}));
      })};
  const auto part_cases = parts.cases(merged);
  cases.insert(cases.end(), part_cases.begin(), part_cases.end());
  report(Measurement(cases, recipe.rounds()), names_of(part_cases));
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) { return drift::bench::guarded(drift::bench::run, count, arguments); }
