#include <core/conformance/inputs.h>
#include <core/conformance/rules.h>
#include <core/conformance/watches.h>

namespace drift {
namespace {

using MaskingPointer = std::unique_ptr<MaskingStrategy>;

MaskPlan draw(const MaskingStrategy& strategy, const Trajectories& responses, std::uint64_t seed = 1) {
  MaskPlan plan;
  strategy.plan(made_up_masking_input(responses, seed), plan);
  return plan;
}

void require_same(const MaskPlan& a, const MaskPlan& b, const char* when) {
  const bool same = a.forwards == b.forwards && same_bits(a.response_F, b.response_F) &&
                    same_bits(a.forward_F, b.forward_F) && same_bits(a.masked_FL, b.masked_FL) &&
                    same_bits(a.target_FL, b.target_FL) && same_bits(a.committed_FL, b.committed_FL) &&
                    same_bits(a.weight_F, b.weight_F) && same_bits(a.prompt_masked_FP, b.prompt_masked_FP) &&
                    same_bits(a.attended_FL, b.attended_FL);
  if (!same)
    throw Error(std::string("the same responses and random numbers give another plan ") + when,
                "draw from MaskingInput::random alone, at RandomPoint{step, response_number_B[b], position, draw}, and "
                "keep no state");
}

}  // namespace

void check_masking_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const auto settings = edge_settings(entry.params, with.values);
  const auto make = [&](const Setting& setting) { return make_examined<MaskingStrategy>(entry, setting.values); };
  const auto each = [&](const std::function<void(const MaskingStrategy&)>& body) {
    return for_each_setting(settings, [&](const Setting& setting) { body(*make(setting)); });
  };
  const Trajectories usual = made_up_trajectories(Responded::kUsual);

  examination.basic_rule("made",
                         [&] { return or_not_checked(entry, [&] { return each([](const MaskingStrategy&) {}); }); });
  // Shapes, types, finite weights and unchanged trajectories are what the guards of core/boundary check in every call.
  examination.basic_rule("results", [&] {
    return each([&](const MaskingStrategy& strategy) {
      strategy.refresh();
      for (const std::uint64_t seed : {1, 2, 3}) draw(strategy, usual, seed);
    });
  });
  examination.rule("empty responses", [&] {
    return each([](const MaskingStrategy& strategy) {
      for (const Responded responded : {Responded::kEmpty, Responded::kAllEmpty, Responded::kUnfinished})
        draw(strategy, made_up_trajectories(responded));
    });
  });
  examination.rule("deterministic", [&] {
    return for_each_setting(settings, [&](const Setting& setting) {
      const MaskingPointer strategy = make(setting);
      const MaskPlan first = draw(*strategy, usual);
      require_same(draw(*strategy, usual), first, "the second time");
      draw(*strategy, made_up_trajectories(Responded::kEmpty), /*seed=*/2);
      require_same(draw(*strategy, usual), first, "after other responses");
      require_same(draw(*make(setting), usual), first, "from another object");
    });
  });
  examination.rule("random numbers", [&] {
    return each([&](const MaskingStrategy& strategy) { without_global_random([&] { draw(strategy, usual); }); });
  });
  examination.rule("leak", [&] {
    const MaskingPointer strategy = make(settings.front());
    return without_leak([&] { draw(*strategy, usual); });
  });
}

}  // namespace drift
