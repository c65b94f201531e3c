#include <core/boundary/checked.h>
#include <core/lab/conformance/inputs.h>
#include <core/lab/conformance/trials.h>

namespace drift {
namespace {

MaskPlan draw(const MaskingStrategy& strategy, Responded responded, std::uint64_t seed = 1) {
  const Trajectories responses = made_up_trajectories(responded);
  return checked_plan(strategy, made_up_masking_input(responses, seed));
}

void require_same_plan(const MaskPlan& a, const MaskPlan& b, const char* when) {
  bool same = a.terms == b.terms;
  for (const auto field : {&MaskPlan::response_F, &MaskPlan::term_F, &MaskPlan::masked_FL, &MaskPlan::target_FL,
                           &MaskPlan::committed_FL, &MaskPlan::weight_F, &MaskPlan::token_weight_FL,
                           &MaskPlan::target_step_FL, &MaskPlan::prompt_masked_FP, &MaskPlan::attended_FL})
    same = same && same_bits(a.*field, b.*field);
  if (!same)
    throw Error(std::string("the same responses and random numbers give another plan ") + when,
                "draw from MaskingInput::random alone, at RandomPoint{step, response_number_B[b], position, draw}, and "
                "keep no state");
}

}  // namespace

void check_masking_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const Trials<MaskingStrategy> trials(entry, with, examination);
  const auto usual = [](const MaskingStrategy& strategy) { return draw(strategy, Responded::kUsual); };
  trials.made();
  trials.results([](const MaskingStrategy& strategy) {
    checked_refresh(strategy);
    for (const std::uint64_t seed : {1, 2, 3}) draw(strategy, Responded::kUsual, seed);
  });
  trials.rule("empty responses", [](const MaskingStrategy& strategy) {
    for (const Responded responded : {Responded::kEmpty, Responded::kAllEmpty, Responded::kUnfinished})
      draw(strategy, responded);
  });
  trials.repeats(usual, require_same_plan,
                 [](const MaskingStrategy& strategy) { draw(strategy, Responded::kEmpty, /*seed=*/2); });
  trials.leak([&](const MaskingStrategy& strategy) { usual(strategy); });
}

}  // namespace drift
