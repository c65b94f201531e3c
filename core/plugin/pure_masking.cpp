#include <core/plugin/pure_component.h>

#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>

#include <ATen/ops/isin.h>

#include <deque>

namespace drift {
namespace {

/// The arrays that a strategy is lent, and the tensors that hold them.
class MaskingArrays {
 public:
  explicit MaskingArrays(const MaskingInput& in) {
    const Trajectories& from = *in.trajectories;
    input.size = sizeof input;
    input.responses = from.tokens_BL.size(0);
    input.length = from.tokens_BL.size(1);
    input.prompt_length = from.prompts.tokens_BP.size(1);
    input.step = in.step;
    input.inner_iteration = in.inner_iteration;
    input.end_id = in.end_id;
    input.pad_id = in.pad_id;
    input.random = handle_of(in.random);
    input.number_B = array<std::int64_t>(in.response_number_B, at::kLong);
    at::Tensor tokens_BL = from.tokens_BL;  // a strategy knows one end token: the others are given as it
    if (in.end_ids_E.defined()) tokens_BL = tokens_BL.masked_fill(at::isin(tokens_BL, in.end_ids_E), in.end_id);
    input.tokens_BL = array<std::int64_t>(tokens_BL, at::kLong);
    input.valid_BL = array<std::uint8_t>(from.valid_BL, at::kBool);
    input.step_BL = array<std::int32_t>(from.step_BL, at::kInt);
    input.commit_logprob_BL = array<double>(from.commit_logprob_BL, at::kDouble);
    input.forwards_B = array<std::int64_t>(from.forwards_B, at::kLong);
    input.prompt_tokens_BP = array<std::int64_t>(from.prompts.tokens_BP, at::kLong);
    input.prompt_mask_BP = array<std::uint8_t>(from.prompts.mask_BP, at::kBool);
    input.group_B = array<std::int64_t>(from.prompts.group_B, at::kLong);
  }

  DriftMaskingInput input{};

 private:
  template <class Element>
  const Element* array(const at::Tensor& tensor, at::ScalarType type) {
    if (!tensor.defined()) return nullptr;
    return static_cast<const Element*>(kept_.emplace_back(tensor.to(type).contiguous()).const_data_ptr());
  }

  std::deque<at::Tensor> kept_;
};

class PureMasking final : public MaskingStrategy {
 public:
  PureMasking(std::shared_ptr<const PureKind> kind, const ComponentContext& context,
              const DriftMaskingStrategy& functions)
      : object_(std::move(kind), context), functions_(functions) {}

  PlanRefresh refresh() const override {
    return functions_.refresh == nullptr ? PlanRefresh::kOncePerRollout
                                         : static_cast<PlanRefresh>(functions_.refresh(object_.self()));
  }

  void plan(const MaskingInput& in, MaskPlan& plan) const override {
    const MaskingArrays arrays(in);
    PlanBuilder builder(arrays.input.length, arrays.input.prompt_length);
    DriftPlanResult result{sizeof(DriftPlanResult), 0};
    HostCall call(object_.host());
    call.take_view = [&](const DriftView& view) { add(view, arrays.input, builder); };
    call.finish(functions_.plan(&call, object_.self(), &arrays.input, &result), "plan()");
    plan = builder.finish(result.terms);
  }

 private:
  static void add(const DriftView& view, const DriftMaskingInput& input, PlanBuilder& builder) {
    builder.begin_view(view.response, view.term);
    const std::uint8_t* target_L = view.target_L != nullptr ? view.target_L : view.masked_L;
    for (std::int64_t i = 0; i < input.length; ++i) {
      if (view.masked_L != nullptr && view.masked_L[i] != 0) builder.mask(i);
      if (view.attended_L != nullptr && view.attended_L[i] == 0) builder.leave_unattended(i);
      if (target_L != nullptr && target_L[i] != 0)
        builder.score(i, view.committed_L == nullptr || view.committed_L[i] != 0);
    }
    for (std::int64_t i = 0; view.prompt_masked_P != nullptr && i < input.prompt_length; ++i) {
      if (view.prompt_masked_P[i] != 0) builder.mask_prompt(i);
    }
    if (view.weight != nullptr) builder.weigh(*view.weight);
  }

  PureObject object_;
  DriftMaskingStrategy functions_;
};

}  // namespace

std::unique_ptr<Component> make_pure(std::shared_ptr<const PureKind> kind, const ComponentContext& context,
                                     const DriftMaskingStrategy& functions) {
  return std::make_unique<PureMasking>(std::move(kind), context, functions);
}

}  // namespace drift
