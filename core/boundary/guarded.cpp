#include <core/boundary/guarded.h>

#include <core/base/component_host.h>
#include <core/base/log.h>
#include <core/base/response_end.h>
#include <core/boundary/checks.h>
#include <core/boundary/guard.h>
#include <core/boundary/guarded_original.h>
#include <core/boundary/lent.h>
#include <core/text/utf8.h>

#include <atomic>

namespace drift {
namespace {

class GuardedLoss final : public Guard<LossEstimator> {
 public:
  GuardedLoss(std::unique_ptr<LossEstimator> plugin, const Callee& callee) : Guard(std::move(plugin), callee) {}

  Coupling coupling() const override {
    return call("coupling", [&] {
      const Coupling coupling = plugin_->coupling();
      if (coupling > Coupling::kBatch) throw Error("the coupling is unknown", "drift/loss_estimator.h lists them");
      return coupling;
    });
  }
  void needs(LossNeeds& needs) const override {
    call("needs", [&] { plugin_->needs(needs); });
  }
  Loss evaluate(const LossInput& input) const override {
    return call("evaluate", [&] {
      Lent lent(Lent::By::kContent);
      LossInput named = input;
      for (const LossTensor& field : tensors_of(named)) lent.add(field.name, *field.tensor);
      Loss loss = evaluate_or_explain(input);
      lent.check();
      check_loss(input, loss);
      return loss;
    });
  }

 private:
  Loss evaluate_or_explain(const LossInput& input) const {
    try {
      return plugin_->evaluate(input);
    } catch (const std::exception&) {
      const Error thrown = describe_exception();
      if (!thrown.hint().empty()) throw;
      throw with_tensors(thrown, *plugin_, input);
    }
  }
};

class GuardedMasking final : public Guard<MaskingStrategy> {
 public:
  GuardedMasking(std::unique_ptr<MaskingStrategy> plugin, const Callee& callee) : Guard(std::move(plugin), callee) {}

  PlanRefresh refresh() const override {
    return call("refresh", [&] {
      const PlanRefresh refresh = plugin_->refresh();
      if (refresh > PlanRefresh::kEachInnerIteration)
        throw Error("it is unknown how often it draws its plan", "drift/masking_strategy.h lists PlanRefresh");
      return refresh;
    });
  }
  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    call("plan", [&] {
      Lent lent(Lent::By::kContent);
      const Trajectories& responses = *input.trajectories;
      lent.add("trajectories->tokens_BL", responses.tokens_BL);
      lent.add("trajectories->valid_BL", responses.valid_BL);
      lent.add("trajectories->step_BL", responses.step_BL);
      lent.add("trajectories->commit_logprob_BL", responses.commit_logprob_BL);
      lent.add("trajectories->forwards_B", responses.forwards_B);
      lent.add("trajectories->prompts.tokens_BP", responses.prompts.tokens_BP);
      lent.add("trajectories->prompts.mask_BP", responses.prompts.mask_BP);
      lent.add("response_number_B", input.response_number_B);
      plugin_->plan(input, plan);
      lent.check();
      check_plan(input, plan);
    });
  }
};

class GuardedReward final : public Guard<Reward> {
 public:
  GuardedReward(std::unique_ptr<Reward> plugin, const Callee& callee) : Guard(std::move(plugin), callee) {}

  void score(const RewardRequest& request, RewardResult& result) const override {
    call("score", [&] {
      plugin_->score(request, result);
      check_verdict(result, *request.item);
    });
    if (is_valid_utf8(result.reason)) return;
    result.reason = valid_utf8(result.reason);
    if (!said_.exchange(true)) log_warning(callee().text + ", score: a reason is not UTF-8; its bytes are replaced");
  }

 private:
  mutable std::atomic<bool> said_ = false;
};

class GuardedRollout final : public Guard<Rollout>, public RolloutCostEstimate {
 public:
  enum class Of { kRun, kWholeResponses, kOriginal };

  GuardedRollout(std::unique_ptr<Rollout> plugin, const Callee& callee, Of of)
      : Guard(std::move(plugin), callee), of_(of) {}

  bool has_capability(const std::type_info& capability) const override {
    return capability == typeid(RolloutCostEstimate) && has<RolloutCostEstimate>();
  }
  std::int64_t response_length() const override {
    return call("response_length", [&] {
      const std::int64_t length = plugin_->response_length();
      if (length < 1) throw Error("the response length is " + std::to_string(length), "it must be at least 1");
      return length;
    });
  }
  void generate(const RolloutInput& input, Trajectories& trajectories) const override {
    const std::int64_t length = response_length();
    call("generate", [&] {
      Lent lent(Lent::By::kContent);
      lent.add("prompts.tokens_BP", input.prompts.tokens_BP);
      lent.add("prompts.mask_BP", input.prompts.mask_BP);
      lent.add("prompts.group_B", input.prompts.group_B);
      plugin_->generate(input, trajectories);
      lent.check();
      if (input.cancelled != nullptr && *input.cancelled) return;
      check_trajectories(input, length, trajectories);
      if (of_ != Of::kOriginal) check_written_ids(input.policy->traits(), trajectories);
      if (of_ == Of::kRun) drop_after_end(input.policy->traits(), trajectories);
    });
  }
  void estimate_cost(const Model& model, std::int64_t prompt_length, std::int64_t responses, bool on_cpu,
                     RolloutCost& cost) const override {
    call("estimate_cost", [&] {
      as<RolloutCostEstimate>().estimate_cost(model, prompt_length, responses, on_cpu, cost);
      if (cost.least_forwards < 0 || cost.most_forwards < cost.least_forwards || cost.bytes < 0)
        throw Error("the estimate holds negative numbers, or more least than most forwards");
    });
  }

 private:
  const Of of_;
};

class GuardedTask final : public Guard<Task>, public TrainingList {
 public:
  GuardedTask(std::unique_ptr<Task> plugin, const Callee& callee) : Guard(std::move(plugin), callee) {}

  bool has_capability(const std::type_info& capability) const override {
    return capability == typeid(TrainingList) && has<TrainingList>();
  }
  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override {
    fill("training_item", item, [&] { plugin_->training_item(index, random, item); });
  }
  std::int64_t held_out_size() const override {
    return call("held_out_size", [&] { return size(plugin_->held_out_size()); });
  }
  void held_out_item(std::int64_t index, TaskItem& item) const override {
    fill("held_out_item", item, [&] { plugin_->held_out_item(index, item); });
  }
  std::int64_t training_size() const override {
    return call("training_size", [&] { return size(as<TrainingList>().training_size()); });
  }
  void listed_item(std::int64_t index, TaskItem& item) const override {
    fill("listed_item", item, [&] { as<TrainingList>().listed_item(index, item); });
  }
  void keep(const std::vector<std::int64_t>& indices) override {
    call("keep", [&] {
      as<TrainingList>().keep(indices);
      if (as<TrainingList>().training_size() != static_cast<std::int64_t>(indices.size()))
        throw Error("it keeps another number of items than it was told");
    });
  }

 private:
  static std::int64_t size(std::int64_t count) {
    if (count < 0) throw Error("the number of items is " + std::to_string(count));
    return count;
  }
  template <class Body>
  void fill(const char* method, TaskItem& item, const Body& body) const {
    call(method, [&] {
      item = {};  // nothing of an item that was there before
      body();
      check_item(item);
    });
  }
};

}  // namespace

std::unique_ptr<LossEstimator> guarded(std::unique_ptr<LossEstimator> plugin, const Callee& callee) {
  return std::make_unique<GuardedLoss>(std::move(plugin), callee);
}
std::unique_ptr<MaskingStrategy> guarded(std::unique_ptr<MaskingStrategy> plugin, const Callee& callee) {
  return std::make_unique<GuardedMasking>(std::move(plugin), callee);
}
std::unique_ptr<Reward> guarded(std::unique_ptr<Reward> plugin, const Callee& callee) {
  return std::make_unique<GuardedReward>(std::move(plugin), callee);
}
std::unique_ptr<Rollout> guarded(std::unique_ptr<Rollout> plugin, const Callee& callee, bool drops_after_end) {
  using enum GuardedRollout::Of;
  return std::make_unique<GuardedRollout>(std::move(plugin), callee, drops_after_end ? kRun : kWholeResponses);
}
std::unique_ptr<Task> guarded(std::unique_ptr<Task> plugin, const Callee& callee) {
  return std::make_unique<GuardedTask>(std::move(plugin), callee);
}

namespace {

/// The plugin's own object.
template <class T>
std::unique_ptr<T> make_plugin(const ComponentEntry& entry, const Params& params, const ModelConfig* model_config) {
  return in_plugin(callee(entry), "constructor", [&] {
    auto made = make_component(entry, params, model_config);
    auto* typed = dynamic_cast<T*>(made.get());
    if (typed == nullptr) throw Error("the plugin created a component of another kind", "rebuild the plugin");
    made.release();
    return std::unique_ptr<T>(typed);
  });
}

}  // namespace

std::unique_ptr<Rollout> make_guarded_original(const ComponentEntry& entry, const Params& params) {
  return std::make_unique<GuardedRollout>(make_plugin<Rollout>(entry, params, nullptr), callee(entry),
                                          GuardedRollout::Of::kOriginal);
}

template <class T>
std::unique_ptr<T> make_guarded(const ComponentEntry& entry, const Params& params, const ModelConfig* model_config) {
  auto plugin = make_plugin<T>(entry, params, model_config);
  if constexpr (T::kKind == ComponentKind::kModel) {
    return guarded(std::move(plugin), callee(entry), *model_config);
  } else if constexpr (T::kKind == ComponentKind::kRollout) {
    return guarded(std::move(plugin), callee(entry), drops_after_end(params));
  } else {
    return guarded(std::move(plugin), callee(entry));
  }
}

template std::unique_ptr<LossEstimator> make_guarded(const ComponentEntry&, const Params&, const ModelConfig*);
template std::unique_ptr<MaskingStrategy> make_guarded(const ComponentEntry&, const Params&, const ModelConfig*);
template std::unique_ptr<Model> make_guarded(const ComponentEntry&, const Params&, const ModelConfig*);
template std::unique_ptr<Reward> make_guarded(const ComponentEntry&, const Params&, const ModelConfig*);
template std::unique_ptr<Rollout> make_guarded(const ComponentEntry&, const Params&, const ModelConfig*);
template std::unique_ptr<Task> make_guarded(const ComponentEntry&, const Params&, const ModelConfig*);

}  // namespace drift
