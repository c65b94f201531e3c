#include <core/update/policy_gradient.h>

#include <drift/error.h>
#include <drift/parallel.h>

#include <core/base/phase_timer.h>
#include <core/base/trainable.h>
#include <core/boundary/checked.h>
#include <core/boundary/divided_weights.h>
#include <core/boundary/plugin_call.h>
#include <core/update/gradient_sum.h>
#include <core/update/row_graph.h>
#include <core/update/update_passes.h>

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/any.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace drift {
namespace {

at::Tensor select(const at::Tensor& tensor, const at::Tensor& index, at::Device device) {
  return tensor.defined() ? tensor.index_select(0, index.to(tensor.device())).to(device) : tensor;
}

class GradientComputation {
 public:
  GradientComputation(Ranks& ranks, const Model& model, const LossEstimator& loss, const UpdateBatch& batch,
                      const UpdateMemory& memory, Shard shard)
      : ranks_(ranks),
        model_(model),
        loss_(loss),
        batch_(batch),
        memory_(memory),
        shard_(ranks.size() == 1 ? Shard::kNone : shard),
        head_VH_(model.lm_head_VH()),
        divides_gradients_(shard_ >= Shard::kGradients),
        workers_(divides_gradients_ ? 1 : scoring_workers(model, model.lm_head_VH().is_cpu())),
        length_(batch.trajectories->tokens_BL.size(1)),
        exchanges_on_the_way_(divides_gradients_ || may_exchange_last_round()),
        gradients_(exchanges_on_the_way_ ? GradientSum(ranks, tensors(model), exchange())
                                         : GradientSum(ranks, tensors(model), workers_)),
        heads_(static_cast<std::size_t>(workers_), HeadWorker(head_VH_)) {
    needs_ = checked_needs(loss);
    if (auto* divided = divided_weights(model))
      divided->in_backward([this](std::int64_t layer) { gradients_.blocks_done(layer); });
    result_.current_FL = at::zeros({batch.plan->response_F.size(0), length_}, score_options());
    result_.gradient_FL = at::zeros_like(result_.current_FL);
  }

  ~GradientComputation() {
    if (auto* divided = divided_weights(model_)) divided->in_backward({});
  }
  GradientComputation(const GradientComputation&) = delete;
  GradientComputation& operator=(const GradientComputation&) = delete;

  /// The graphs of all rows are alive together; the LM head runs on a few complete units at a time.
  void one_pass(const UpdatePass& pass, bool is_last) {
    const Views views = pass.views();
    auto rows = distinct_view_rows(model_.traits(), *batch_.trajectories, *batch_.plan, views);
    result_.rows += static_cast<std::int64_t>(rows.size());
    result_.backward_rows += static_cast<std::int64_t>(rows.size());
    const auto chunks = chunk_units(pass.units, rows, length_, memory_.logit_rows, ranks_.size());
    rows = rows_of_this_rank(ranks_, std::move(rows));
    std::vector<std::unique_ptr<RowGraph>> shards(heads_.size());
    timed(result_.seconds.forward, [&] {
      for_shards(rows, [&](std::size_t worker, std::int64_t begin, std::int64_t end) {
        shards[worker] =
            std::make_unique<RowGraph>(model_, *batch_.trajectories, rows, begin, end, pass.recompute, batch_.adapters);
      });
      accompany(model_);
    });
    const auto each_head = [&](const auto& body) {
      timed(result_.seconds.head, [&] {
        for_shards(rows,
                   [&](std::size_t worker, std::int64_t, std::int64_t) { body(*shards[worker], heads_[worker]); });
      });
    };
    for (const LogitChunk& chunk : chunks) {
      const Views some(views.begin() + chunk.views.begin, views.begin() + chunk.views.end);
      const Range flat{chunk.views.begin * length_, chunk.views.end * length_};
      const auto scores = empty_scores(some);
      if (chunk.fits) {
        each_head([&](RowGraph& shard, HeadWorker& head) { shard.score(head, flat, scores); });
        const auto gradient = evaluate_together(some, scores);
        each_head([&](RowGraph& shard, HeadWorker& head) { shard.backward(head, gradient); });
      } else {
        each_head([&](RowGraph& shard, HeadWorker& head) { shard.score_in_parts(head, flat, logit_rows(), scores); });
        const auto gradient = evaluate_together(some, scores);
        each_head(
            [&](RowGraph& shard, HeadWorker& head) { shard.backward_in_parts(head, flat, logit_rows(), gradient); });
      }
    }
    timed(result_.seconds.backward, [&] {
      if (is_last) gradients_.last_round();
      for_shards(rows, [&](std::size_t worker, std::int64_t, std::int64_t) { backward(worker, *shards[worker]); });
      end_round(/*had_backward=*/!rows.empty());
    });
  }

  /// Log-probabilities first, then each part again with its graph.
  void two_pass(const UpdatePass& pass, bool is_last) {
    const Views views = pass.views();
    PolicyScores scores;
    timed(result_.seconds.forward, [&] {
      scores = score_views(ranks_, model_, *batch_.trajectories, *batch_.plan, views, needs_.entropy, batch_.adapters);
    });
    const auto gradient = evaluate(views, scores);
    auto rows = distinct_view_rows(model_.traits(), *batch_.trajectories, *batch_.plan, views);
    result_.two_pass = true;
    result_.rows += 2 * static_cast<std::int64_t>(rows.size());
    result_.backward_rows += static_cast<std::int64_t>(rows.size());
    const Range flat{0, static_cast<std::int64_t>(views.size()) * length_};
    const std::int64_t rows_at_once = std::max<std::int64_t>(1, pass.rows_at_once / workers_);
    // The ranks that have fewer parts take part in the rounds of the others. The first one has the most.
    const std::int64_t most_rows = (static_cast<std::int64_t>(rows.size()) + ranks_.size() - 1) / ranks_.size();
    std::int64_t rounds = divides_gradients_ ? (most_rows + rows_at_once - 1) / rows_at_once : 0;
    rows = rows_of_this_rank(ranks_, std::move(rows));
    timed(result_.seconds.backward, [&] {
      for_shards(rows, [&](std::size_t worker, std::int64_t begin, std::int64_t end) {
        for (std::int64_t first = begin; first < end; first += rows_at_once) {
          RowGraph part(model_, *batch_.trajectories, rows, first, std::min(end, first + rows_at_once), pass.recompute,
                        batch_.adapters);
          part.backward_in_parts(heads_[worker], flat, logit_rows(), gradient);
          if (is_last && first + rows_at_once >= end) gradients_.last_round();
          backward(worker, part);
          if (divides_gradients_) {
            end_round(/*had_backward=*/true);
            --rounds;
          }
        }
      });
      for (; rounds > 0; --rounds) end_round(/*had_backward=*/false);
    });
  }

  PolicyGradient finish() {
    for (std::size_t worker = 0; worker < heads_.size(); ++worker) add_head(worker);
    heads_.clear();  // logits go before the gradients of tables come
    // Without advantages there is nothing to miss.
    if (!result_.has_gradient) result_.has_gradient = !batch_.advantage_B.any().item<bool>();
    if (exchanges_on_the_way_) {
      if (head_is_made()) gradients_.end_round();  // it went backwards to its parameters just now
      result_.gradients = gradients_.take_sums();
    } else if (shard_ == Shard::kOptimizer) {
      result_.gradients = ranks_.reduce_scatter(gradients_.take_total());
    } else {
      result_.gradients = gradients_.take_total();
      ranks_.all_reduce(result_.gradients);
    }
    require_finite_ranks();
    return std::move(result_);
  }

 private:
  static std::vector<at::Tensor> tensors(const Model& model) {
    std::vector<at::Tensor> list;
    for (const auto& parameter : trainable_parameters(model)) list.push_back(parameter.tensor);
    return list;
  }

  /// The number of the parameter that is the head, if there is one: its gradient is added up on the way, not in the
  /// backward.
  static std::vector<std::size_t> head_among(const std::vector<at::Tensor>& parameters, const at::Tensor& head_VH) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (parameters[p].is_same(head_VH)) return {p};
    }
    return {};
  }

  /// Whether the head is made from parameters: its gradient goes backwards to them when all rows have.
  bool head_is_made() const { return head_VH_.requires_grad() && head_among(tensors(model_), head_VH_).empty(); }

  /// Of gradients that each rank keeps whole.
  bool may_exchange_last_round() const {
    return ranks_.size() > 1 && workers_ == 1 && (head_VH_.is_cpu() || ranks_.on_any_thread()) && !head_is_made();
  }

  GradientSum::Exchange exchange() const {
    return {.receivers = shard_ == Shard::kNone ? SumFor::kAll : SumFor::kShares,
            .every_round = divides_gradients_,
            .late = head_among(tensors(model_), head_VH_),
            .block = blocks_of(model_)};
  }

  /// @throws Error, on every rank, that names the ranks whose rows gave numbers that are not finite
  void require_finite_ranks() const {
    if (ranks_.size() == 1) return;  // the optimizer looks at the norm
    const auto is_finite_R = ranks_.all_gather(at::full({1}, gradients_.is_finite(), at::kLong));
    std::string names;
    for (std::int64_t r = 0; r < ranks_.size(); ++r) {
      if (is_finite_R[r].item<std::int64_t>() == 0) names += (names.empty() ? "" : ", ") + ranks_.name(r);
    }
    if (names.empty()) return;
    throw Error(
        "the gradient of " + names + " is not finite",
        "go back to an earlier checkpoint with a lower learning rate, or check the loss's ratios; a rank that is "
        "alone in this several times may have a faulty machine");
  }

  /// Of each trained parameter the block that it is in, or -1; nothing, where the weights are not divided.
  static std::vector<std::int64_t> blocks_of(const Model& model) {
    std::vector<std::int64_t> blocks;
    const auto* divided = divided_weights(model);
    if (divided == nullptr) return blocks;
    for (const auto& parameter : trainable_parameters(model)) {
      const auto found = divided->blocks().find(parameter.name);
      blocks.push_back(found == divided->blocks().end() ? -1 : found->second);
    }
    return blocks;
  }

  template <class Body>
  static void timed(double& seconds, const Body& body) {
    const PhaseTimer timer;
    body();
    seconds += timer.seconds();
  }

  at::TensorOptions score_options() const {
    return at::TensorOptions(at::toOpMathType(head_VH_.scalar_type())).device(head_VH_.device());
  }
  PolicyScores empty_scores(const Views& views) const {
    return {static_cast<std::int64_t>(views.size()), length_, score_options(), needs_.entropy};
  }
  /// Of one worker.
  std::int64_t logit_rows() const { return std::max<std::int64_t>(1, memory_.logit_rows / workers_); }

  template <class Body>
  void for_shards(const std::vector<ViewRow>& rows, const Body& body) const {
    parallel_rows(workers_, static_cast<std::int64_t>(rows.size()),
                  [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
                    if (begin < end) body(static_cast<std::size_t>(worker), begin, end);
                  });
  }

  LossInput loss_input(const Views& views, const PolicyScores& current) const {
    const auto device = head_VH_.device();
    const auto index = index_tensor(views);
    LossInput input;
    input.plan = select_views(*batch_.plan, views, device);
    input.log_probs.current_FL = current.logprob_FL.clone().set_requires_grad(true);
    const auto& old = batch_.old_policy.logprob_FL;
    if (needs_.old) input.log_probs.old_FL = old.defined() ? select(old, index, device) : current.logprob_FL;
    const bool old_is_reference = batch_.reference_is_old_policy;
    input.log_probs.reference_FL = !old_is_reference ? select(batch_.reference.logprob_FL, index, device)
                                   : old.defined()   ? select(old, index, device)
                                                     : current.logprob_FL;
    input.log_probs.reference_entropy_FL =
        select(old_is_reference ? batch_.old_policy.entropy_FL : batch_.reference.entropy_FL, index, device);
    if (needs_.entropy) input.log_probs.entropy_FL = current.entropy_FL.clone().set_requires_grad(true);
    input.advantage_B = batch_.advantage_B.to(score_options());
    const at::Tensor& advantage_BL = batch_.tokens.advantage_BL;
    if (advantage_BL.defined()) input.advantage_BL = advantage_BL.to(score_options());
    input.valid_BL = batch_.trajectories->valid_BL.to(device);
    input.totals = batch_.totals;
    input.scored_B = batch_.scored_B.to(device);
    return input;
  }

  /// The loss of these views, of which each rank has scored its own rows. Every rank computes all of it: it is small.
  ScoreGradient evaluate_together(const Views& views, const PolicyScores& current) {
    timed(result_.seconds.head, [&] { current.gather_from_ranks(ranks_); });
    return evaluate(views, current);
  }

  /// The loss of these views, and what it needs of their scores.
  ScoreGradient evaluate(const Views& views, const PolicyScores& current) {
    const PhaseTimer timer;
    result_.current_FL.index_copy_(0, index_tensor(views, head_VH_.device()), current.logprob_FL);
    const LossInput input = loss_input(views, current);
    Loss loss = checked_loss(loss_, input);
    if (batch_.share != 1) loss.value = loss.value / batch_.share;
    const double value = loss.value.item<double>();
    // A loss whose log-probabilities are finite has been found to be finite.
    if (!std::isfinite(value)) {
      in_plugin(model_, "forward", [&] {
        throw Error(
            "log-probabilities are not finite, and the loss is " + std::to_string(value),
            "the weights have diverged: continue from a checkpoint with a lower learning_rate (--resume --set …)");
      });
    }
    result_.loss += value;
    for (const LossMetric& metric : loss.metrics) {
      result_.metrics[metric.name].sum += metric.sum.item<double>();
      result_.metrics[metric.name].count += metric.count.item<double>();
    }
    const auto gradients = gradients_of(loss.value, input);
    result_.gradient_FL.index_copy_(0, index_tensor(views, head_VH_.device()), gradients[0]);
    result_.seconds.loss += timer.seconds();
    return {gradients[0], needs_.entropy ? gradients[1] : at::Tensor()};
  }

  /// d loss / d log-prob and, where the loss needs entropies, d loss / d entropy.
  std::vector<at::Tensor> gradients_of(const at::Tensor& value, const LossInput& input) {
    std::vector<at::Tensor> leaves{input.log_probs.current_FL};
    if (needs_.entropy) leaves.push_back(input.log_probs.entropy_FL);
    std::vector<at::Tensor> gradients(leaves.size());
    if (value.requires_grad()) {
      in_plugin(loss_, "gradient", [&] {
        gradients = torch::autograd::grad({value}, leaves, {}, std::nullopt, false, /*allow_unused=*/true);
        if (std::ranges::none_of(gradients, [](const at::Tensor& one) { return one.defined(); }))
          throw Error("the loss has a gradient, but not by the log-probabilities",
                      "compute it from log_probs.current_FL, without detach() on the way");
      });
    }
    double size = 0;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = gradients[i].defined() ? gradients[i].detach() : at::zeros_like(leaves[i]).detach();
      size += gradients[i].abs().sum().item<double>();
    }
    if (!std::isfinite(size)) {
      in_plugin(loss_, "gradient", [&] {
        throw Error("the gradient of the loss is not finite, and the loss is",
                    "the gradient of exp(), log() or a quotient passes through at::where(): bound what goes in");
      });
    }
    result_.has_gradient = result_.has_gradient || size > 0;
    return gradients;
  }

  /// Of the backward that each rank has, or has not.
  void end_round(bool had_backward) {
    if (divided_weights(model_) != nullptr && had_backward) gradients_.blocks_done(-1);
    accompany(model_);
    gradients_.end_round();
  }

  void backward(std::size_t worker, const RowGraph& rows) {
    in_plugin(model_, "backward", [&] {
      gradients_.backward(static_cast<std::int64_t>(worker), {rows.hidden_NH()}, {rows.gradient_NH()});
    });
  }

  /// The head's gradient goes to the parameter that it is, or through the graph that made it.
  void add_head(std::size_t worker) {
    at::Tensor gradient_VH = std::exchange(heads_[worker].gradient_VH, at::Tensor());
    if (!gradient_VH.defined() || !head_VH_.requires_grad()) return;
    const auto found = head_among(gradients_.parameters(), head_VH_);
    const auto share = static_cast<std::int64_t>(worker);
    if (!found.empty()) {
      gradients_.add(share, found.front(), std::move(gradient_VH));
    } else {
      const auto head_VH = model_.lm_head_VH();
      in_plugin(model_, "backward",
                [&] { gradients_.backward(share, {head_VH}, {gradient_VH.to(head_VH.scalar_type())}); });
    }
  }

  Ranks& ranks_;
  const Model& model_;
  const LossEstimator& loss_;
  const UpdateBatch& batch_;
  const UpdateMemory memory_;
  const Shard shard_;  // none, where the run has one rank
  const at::Tensor head_VH_;
  const bool divides_gradients_;
  const std::int64_t workers_;
  const std::int64_t length_;
  const bool exchanges_on_the_way_;  // while a backward goes on
  LossNeeds needs_;
  GradientSum gradients_;
  std::vector<HeadWorker> heads_;  // one for each worker
  PolicyGradient result_;
};

}  // namespace

MaskPlan select_views(const MaskPlan& plan, const Views& views, at::Device device) {
  const auto index = index_tensor(views);
  MaskPlan selected;
  selected.response_F = select(plan.response_F, index, device);
  selected.term_F = select(plan.term_F, index, device);
  selected.masked_FL = select(plan.masked_FL, index, device);
  selected.target_FL = select(plan.target_FL, index, device);
  selected.committed_FL = select(plan.committed_FL, index, device);
  selected.weight_F = select(plan.weight_F, index, device);
  selected.prompt_masked_FP = select(plan.prompt_masked_FP, index, device);
  selected.attended_FL = select(plan.attended_FL, index, device);
  selected.terms = plan.terms;
  return selected;
}

PolicyGradient policy_gradient(Ranks& ranks, const Model& model, const LossEstimator& loss, const UpdateBatch& batch,
                               std::int64_t memory_budget, Shard shard) {
  const std::int64_t sequence = batch.trajectories->prompts.tokens_BP.size(1) + batch.trajectories->tokens_BL.size(1);
  const auto memory = divide_memory(model, sequence, batch.plan->target_FL.sum().item<std::int64_t>(), memory_budget);
  GradientComputation computation(ranks, model, loss, batch, memory, shard);
  const auto passes = plan_passes(*batch.plan, checked_coupling(loss), memory, ranks.size());
  for (const UpdatePass& pass : passes) {
    const bool is_last = &pass == &passes.back();
    pass.scores_first ? computation.two_pass(pass, is_last) : computation.one_pass(pass, is_last);
  }
  return computation.finish();
}

}  // namespace drift
