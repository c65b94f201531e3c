#include <core/boundary/checked.h>

#include <core/base/component_host.h>
#include <core/base/response_end.h>
#include <core/boundary/checks.h>
#include <core/boundary/lent.h>
#include <core/boundary/plugin_call.h>
#include <core/text/utf8.h>

#include <ATen/core/grad_mode.h>

namespace drift {
namespace {

/// What call() gives, after check() of it; of a component of the core, call() alone.
template <class Call, class Check>
auto checked(const Component& component, const char* method, const Call& call, const Check& check) {
  const Callee* plugin = callee_of(component);
  if (plugin == nullptr) return call();
  return in_plugin(*plugin, method, [&] {
    auto result = call();
    check(result);
    return result;
  });
}

Loss evaluate_or_explain(const LossEstimator& loss, const LossInput& input) {
  try {
    return loss.evaluate(input);
  } catch (const std::exception&) {
    const Error thrown = describe_exception();
    if (!thrown.hint().empty()) throw;
    throw with_tensors(thrown, loss, input);
  }
}

void lend(const Trajectories& responses, Lent& lent) {
  lent.add("trajectories->tokens_BL", responses.tokens_BL);
  lent.add("trajectories->valid_BL", responses.valid_BL);
  lent.add("trajectories->step_BL", responses.step_BL);
  lent.add("trajectories->commit_logprob_BL", responses.commit_logprob_BL);
  lent.add("trajectories->forwards_B", responses.forwards_B);
  lent.add("trajectories->prompts.tokens_BP", responses.prompts.tokens_BP);
  lent.add("trajectories->prompts.mask_BP", responses.prompts.mask_BP);
}

void warn_of_bytes(const Reward& reward) {
  const Callee* plugin = callee_of(reward);
  if (plugin != nullptr && plugin->host != nullptr)
    plugin->host->warn_once(plugin->text + ", score: a reason is not UTF-8; its bytes are replaced");
}

void check_size(std::int64_t count) {
  if (count < 0) throw Error("the number of items is " + std::to_string(count));
}

template <class Fill>
TaskItem item_of(const Task& task, const char* method, const Fill& fill) {
  return checked(
      task, method,
      [&] {
        TaskItem item;
        fill(item);
        return item;
      },
      check_item);
}

TrainingList& list_of(Task& task) { return *capability<TrainingList>(task); }
const TrainingList& list_of(const Task& task) { return *capability<TrainingList>(task); }

/// Hidden states of a forward of any kind.
template <class Compute>
at::Tensor states_of(const Model& model, const char* method, const ForwardInput& input, const Compute& compute) {
  return checked(
      model, method,
      [&] {
        Lent lent;
        lent.add("tokens_BS", input.tokens_BS);
        lent.add("key_mask_BS", input.key_mask_BS);
        lent.add("rows_N", input.rows_N);
        at::Tensor hidden_NH = compute();
        lent.check();
        return hidden_NH;
      },
      [&](const at::Tensor& hidden_NH) {
        check_hidden(hidden_NH, input.rows_N.defined() ? input.rows_N.size(0) : input.tokens_BS.numel(), model);
      });
}

}  // namespace

Coupling checked_coupling(const LossEstimator& loss) {
  return checked(
      loss, "coupling", [&] { return loss.coupling(); },
      [](Coupling coupling) {
        if (coupling > Coupling::kBatch) throw Error("the coupling is unknown", "drift/loss_estimator.h lists them");
      });
}

LossNeeds checked_needs(const LossEstimator& loss) {
  LossNeeds needs;
  in_plugin(loss, "needs", [&] { loss.needs(needs); });
  return needs;
}

Loss checked_loss(const LossEstimator& loss, const LossInput& input) {
  if (input.plan.token_weight_FL.defined() && !checked_needs(loss).token_weights) {
    const Callee* plugin = callee_of(loss);
    throw Error((plugin == nullptr ? "the loss" : plugin->text) +
                    " does not count the weights of tokens that the masking strategy's plan has",
                "choose a loss that does (LossNeeds::token_weights), or a strategy or an option without such weights");
  }
  return checked(
      loss, "evaluate",
      [&] {
        Lent lent;
        LossInput named = input;
        for (const LossTensor& field : tensors_of(named)) lent.add(field.name, *field.tensor);
        Loss evaluated = evaluate_or_explain(loss, input);
        lent.check();
        return evaluated;
      },
      [&](const Loss& evaluated) { check_loss(input, evaluated); });
}

PlanRefresh checked_refresh(const MaskingStrategy& strategy) {
  return checked(
      strategy, "refresh", [&] { return strategy.refresh(); },
      [](PlanRefresh refresh) {
        if (refresh > PlanRefresh::kEachInnerIteration)
          throw Error("it is unknown how often it draws its plan", "drift/masking_strategy.h lists PlanRefresh");
      });
}

MaskPlan checked_plan(const MaskingStrategy& strategy, const MaskingInput& input) {
  return checked(
      strategy, "plan",
      [&] {
        Lent lent;
        lend(*input.trajectories, lent);
        lent.add("response_number_B", input.response_number_B);
        MaskPlan plan;
        strategy.plan(input, plan);
        lent.check();
        return plan;
      },
      [&](MaskPlan& plan) { check_plan(input, plan); });
}

RewardResult checked_verdict(const Reward& reward, const RewardRequest& request) {
  auto verdict = checked(
      reward, "score",
      [&] {
        RewardResult result;
        reward.score(request, result);
        return result;
      },
      [&](const RewardResult& result) { check_verdict(result, *request.item); });
  if (!is_valid_utf8(verdict.reason)) {
    verdict.reason = valid_utf8(verdict.reason);
    warn_of_bytes(reward);
  }
  return verdict;
}

std::int64_t checked_response_length(const Rollout& rollout) {
  return checked(
      rollout, "response_length", [&] { return rollout.response_length(); },
      [](std::int64_t length) {
        if (length < 1) throw Error("the response length is " + std::to_string(length), "it must be at least 1");
      });
}

Trajectories checked_trajectories(const Rollout& rollout, const RolloutInput& input) {
  const std::int64_t length = checked_response_length(rollout);
  const Callee* plugin = callee_of(rollout);
  return checked(
      rollout, "generate",
      [&] {
        Lent lent;
        lent.add("prompts.tokens_BP", input.prompts.tokens_BP);
        lent.add("prompts.mask_BP", input.prompts.mask_BP);
        lent.add("prompts.group_B", input.prompts.group_B);
        Trajectories made;
        rollout.generate(input, made);
        lent.check();
        return made;
      },
      [&](Trajectories& made) {
        if (input.cancelled != nullptr && *input.cancelled) return;
        check_trajectories(input, length, made);
        if (plugin->taken != Taken::kOriginal) check_written_ids(input.policy->traits(), made);
        if (plugin->taken == Taken::kUntilEnd) drop_after_end(input.policy->traits(), made);
      });
}

std::optional<RolloutCost> checked_cost(const Rollout& rollout, const Model& model, std::int64_t prompt_length,
                                        std::int64_t responses, bool on_cpu) {
  const auto* estimate = capability<RolloutCostEstimate>(rollout);
  if (estimate == nullptr) return std::nullopt;
  return checked(
      rollout, "estimate_cost",
      [&] {
        RolloutCost cost;
        estimate->estimate_cost(model, prompt_length, responses, on_cpu, cost);
        return cost;
      },
      [](const RolloutCost& cost) {
        if (cost.least_forwards < 0 || cost.most_forwards < cost.least_forwards || cost.bytes < 0)
          throw Error("the estimate holds negative numbers, or more least than most forwards");
      });
}

TaskItem checked_training_item(const Task& task, std::int64_t index, const RandomStream& random) {
  return item_of(task, "training_item", [&](TaskItem& item) { task.training_item(index, random, item); });
}

std::int64_t checked_held_out_size(const Task& task) {
  return checked(
      task, "held_out_size", [&] { return task.held_out_size(); }, check_size);
}

TaskItem checked_held_out_item(const Task& task, std::int64_t index) {
  return item_of(task, "held_out_item", [&](TaskItem& item) { task.held_out_item(index, item); });
}

std::optional<std::int64_t> checked_training_size(const Task& task) {
  const auto* list = capability<TrainingList>(task);
  if (list == nullptr) return std::nullopt;
  return checked(
      task, "training_size", [&] { return list->training_size(); }, check_size);
}

TaskItem checked_listed_item(const Task& task, std::int64_t index) {
  return item_of(task, "listed_item", [&](TaskItem& item) { list_of(task).listed_item(index, item); });
}

void checked_keep(Task& task, const std::vector<std::int64_t>& indices) {
  in_plugin(task, "keep", [&] {
    list_of(task).keep(indices);
    if (list_of(task).training_size() != static_cast<std::int64_t>(indices.size()))
      throw Error("it keeps another number of items than it was told");
  });
}

at::Tensor checked_forward(const Model& model, const ForwardInput& input) {
  return states_of(model, "forward", input, [&] { return model.forward(input); });
}

void checked_initialize(Model& model, const RandomStream& random) {
  if (callee_of(model) == nullptr) return model.initialize(random);
  in_plugin(model, "initialize", [&] {
    const at::NoGradGuard no_gradient;
    spoil_parameters(model);
    model.initialize(random);
    check_initialized(model);
  });
}

std::int64_t checked_bytes_per_row(const Model& model, std::int64_t sequence) {
  return checked(
      model, "training_bytes_per_row", [&] { return model.training_bytes_per_row(sequence); },
      [&](std::int64_t bytes) {
        if (bytes < 1) throw Error("a row of " + std::to_string(sequence) + " tokens takes no memory");
      });
}

std::unique_ptr<KeyValueCache> checked_cache(const Model& model, std::int64_t rows, std::int64_t positions) {
  const auto* cached = capability<CachedForward>(model);
  if (cached == nullptr) return nullptr;
  return in_plugin(model, "make_cache", [&] {
    auto cache = cached->make_cache(rows, positions);
    if (!cache) throw Error("it made no cache");
    return cache;
  });
}

at::Tensor checked_window(const Model& model, const ForwardInput& input, const CacheWindow& window,
                          KeyValueCache& cache) {
  return states_of(model, "forward_window", input,
                   [&] { return capability<CachedForward>(model)->forward_window(input, window, cache); });
}

}  // namespace drift
