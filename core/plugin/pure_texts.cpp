#include <core/plugin/pure_component.h>

#include <drift/reward.h>
#include <drift/task.h>

namespace drift {
namespace {

DriftItem item_of(const TaskItem& item) {
  return {sizeof(DriftItem),           text_of(item.id),
          text_of(item.prompt),        text_of(item.reference),
          text_of(item.demonstration), text_of(item.response_prefix)};
}

class PureReward final : public Reward {
 public:
  PureReward(std::shared_ptr<const PureKind> kind, const ComponentContext& context, const DriftReward& functions)
      : object_(std::move(kind), context), functions_(functions) {}

  void score(const RewardRequest& request, RewardResult& result) const override {
    const DriftItem item = item_of(*request.item);
    const DriftRewardRequest lent{sizeof lent, text_of(request.response), &item, request.truncated ? 1U : 0U, 0};
    HostCall call(object_.host());
    bool is_given = false;
    call.take_verdict = [&](const DriftVerdict& verdict) {
      result.value = verdict.value;
      result.solved = verdict.solved != 0;
      result.status = static_cast<RewardStatus>(verdict.status);
      result.reason = view_of(verdict.reason);
      is_given = true;
    };
    call.finish(functions_.score(&call, object_.self(), &lent), "score()");
    if (!is_given) throw Error("score() gave no verdict", "call give_verdict() of the host");
  }

 private:
  PureObject object_;
  DriftReward functions_;
};

class PureTask final : public Task {
 public:
  PureTask(std::shared_ptr<const PureKind> kind, const ComponentContext& context, const DriftTask& functions)
      : object_(std::move(kind), context), functions_(functions) {}

  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override {
    fill(item, "training_item()", [&](const DriftHost* host) {
      return functions_.training_item(host, object_.self(), index, handle_of(random));
    });
  }
  std::int64_t held_out_size() const override { return functions_.held_out_size(object_.self()); }
  void held_out_item(std::int64_t index, TaskItem& item) const override {
    fill(item, "held_out_item()",
         [&](const DriftHost* host) { return functions_.held_out_item(host, object_.self(), index); });
  }

 private:
  template <class Body>
  void fill(TaskItem& item, const char* function, const Body& body) const {
    HostCall call(object_.host());
    bool is_given = false;
    call.take_item = [&](const DriftItem& given) {
      item.id = view_of(given.id);
      item.prompt = view_of(given.prompt);
      item.reference = view_of(given.reference);
      item.demonstration = view_of(given.demonstration);
      item.response_prefix = view_of(given.response_prefix);
      is_given = true;
    };
    call.finish(body(&call), function);
    if (!is_given) throw Error(std::string(function) + " gave no item", "call give_item() of the host");
  }

  PureObject object_;
  DriftTask functions_;
};

}  // namespace

std::unique_ptr<Component> make_pure(std::shared_ptr<const PureKind> kind, const ComponentContext& context,
                                     const DriftReward& functions) {
  return std::make_unique<PureReward>(std::move(kind), context, functions);
}
std::unique_ptr<Component> make_pure(std::shared_ptr<const PureKind> kind, const ComponentContext& context,
                                     const DriftTask& functions) {
  return std::make_unique<PureTask>(std::move(kind), context, functions);
}

}  // namespace drift
