#include <core/update/policy_gradient.h>

#include <drift/error.h>

#include <core/base/phase_timer.h>
#include <core/base/trainable.h>
#include <core/boundary/checked.h>
#include <core/boundary/divided_weights.h>
#include <core/boundary/plugin_call.h>
#include <core/update/gradient_sum.h>
#include <core/update/row_graph.h>
#include <core/update/step_loss.h>
#include <core/update/update_passes.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/any.h>
#include <ATen/ops/full.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace drift {
namespace {

class GradientComputation {
 public:
  GradientComputation(Ranks& ranks, const Model& model, const LossEstimator& loss, const UpdateBatch& batch,
                      const UpdateMemory& memory, Shard shard)
      : ranks_(ranks),
        model_(model),
        batch_(batch),
        memory_(memory),
        shard_(ranks.size() == 1 ? Shard::kNone : shard),
        head_VH_(model.lm_head_VH()),
        parameters_(trainable_parameters(model)),
        divides_gradients_(shard_ >= Shard::kGradients),
        workers_(divides_gradients_ ? 1 : scoring_workers(model, model.lm_head_VH().is_cpu())),
        exchanges_on_the_way_(divides_gradients_ || may_exchange_last_round()),
        gradients_(exchanges_on_the_way_ ? GradientSum(ranks, tensors(), exchange())
                                         : GradientSum(ranks, tensors(), workers_)),
        heads_(static_cast<std::size_t>(workers_), HeadWorker(head_VH_)),
        loss_(model, loss, batch, result_) {
    if (auto* divided = divided_weights(model))
      divided->in_backward([this](std::int64_t layer) { gradients_.blocks_done(layer); });
  }

  ~GradientComputation() {
    if (auto* divided = divided_weights(model_)) divided->in_backward({});
  }
  GradientComputation(const GradientComputation&) = delete;
  GradientComputation& operator=(const GradientComputation&) = delete;

  /// The graphs of all rows are alive together; the LM head runs on a few complete units at a time.
  void one_pass(const UpdatePass& pass, const ViewRows& rows, bool is_last) {
    result_.rows += rows.count();
    result_.backward_rows += rows.count();
    std::vector<std::unique_ptr<RowGraph>> graphs(heads_.size());
    timed(result_.seconds.forward, [&] {
      rows.for_each_worker(workers_, [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
        graphs[static_cast<std::size_t>(worker)] =
            std::make_unique<RowGraph>(model_, rows, begin, end, batch_.adapters, pass.recompute);
      });
      accompany(model_);
    });
    const auto each_graph = [&](double& seconds, const auto& body) {
      timed(seconds, [&] {
        rows.for_each_worker(workers_, [&](std::int64_t worker, std::int64_t, std::int64_t) {
          body(*graphs[static_cast<std::size_t>(worker)], worker);
        });
      });
    };
    for (const LogitChunk& chunk :
         chunk_units(pass.units, rows.targets(), rows.length(), memory_.logit_rows, ranks_.size())) {
      const Views views(rows.views().begin() + chunk.views.begin, rows.views().begin() + chunk.views.end);
      const Range flat{chunk.views.begin * rows.length(), chunk.views.end * rows.length()};
      const std::int64_t at_once = chunk.fits ? kKeepLogits : logit_rows();
      const PolicyScores scores(std::ssize(views), rows.length(), head_VH_, loss_.needs().entropy);
      each_graph(result_.seconds.head,
                 [&](RowGraph& graph, std::int64_t worker) { graph.score(head_of(worker), flat, at_once, scores); });
      timed(result_.seconds.head, [&] { scores.gather_from_ranks(ranks_); });
      const auto gradient = loss_.evaluate(views, scores);
      each_graph(result_.seconds.head, [&](RowGraph& graph, std::int64_t worker) {
        graph.backward(head_of(worker), flat, at_once, gradient);
      });
    }
    if (is_last) gradients_.last_round();
    each_graph(result_.seconds.backward, [&](const RowGraph& graph, std::int64_t worker) { backward(worker, graph); });
    timed(result_.seconds.backward, [&] { end_round(/*had_backward=*/rows.own_count() > 0); });
  }

  /// Log-probabilities first, then some rows after others with their graphs.
  /// @param sequence  tokens of the rows that the pass counts
  void two_pass(const UpdatePass& pass, const ViewRows& rows, std::int64_t sequence, bool is_last) {
    result_.two_pass = true;
    result_.rows += 2 * rows.count();
    result_.backward_rows += rows.count();
    PolicyScores scores;
    timed(result_.seconds.forward,
          [&] { scores = score_rows(ranks_, model_, rows, loss_.needs().entropy, batch_.adapters); });
    const auto gradient = loss_.evaluate(rows.views(), scores);
    const std::int64_t rows_at_once = pass.rows_at_once * sequence / std::max(sequence, rows.sequence());
    const std::int64_t at_once = std::max<std::int64_t>(1, rows_at_once / workers_);
    // The ranks that have fewer rows take part in the rounds of the others. The first one has the most.
    const std::int64_t most_rows = (rows.count() + ranks_.size() - 1) / ranks_.size();
    std::int64_t rounds = divides_gradients_ ? (most_rows + at_once - 1) / at_once : 0;
    timed(result_.seconds.backward, [&] {
      rows.for_each_batch(workers_, at_once, [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
        RowGraph graph(model_, rows, begin, end, batch_.adapters, pass.recompute);
        graph.backward(head_of(worker), rows.flat(), logit_rows(), gradient);
        if (is_last && end == rows.own_count()) gradients_.last_round();
        backward(worker, graph);
        if (!divides_gradients_) return;
        end_round(/*had_backward=*/true);
        --rounds;
      });
      for (; rounds > 0; --rounds) end_round(/*had_backward=*/false);
    });
  }

  PolicyGradient finish() {
    for (std::int64_t worker = 0; worker < workers_; ++worker) add_head(worker);
    heads_.clear();  // logits go before the gradients of tables come
    if (exchanges_on_the_way_) {
      if (head_is_made()) gradients_.end_round();  // it went backwards to its parameters just now
      result_.gradients = gradients_.take_sums();
    } else if (shard_ == Shard::kOptimizer) {
      result_.gradients = ranks_.reduce_scatter(gradients_.take_total());
    } else {
      result_.gradients = gradients_.take_total();
      ranks_.all_reduce(result_.gradients);
    }
    loss_.finish();
    // Without advantages there is nothing to miss.
    if (!result_.has_gradient) result_.has_gradient = !batch_.advantage_B.any().item<bool>();
    require_finite_ranks();
    return std::move(result_);
  }

 private:
  std::vector<at::Tensor> tensors() const {
    std::vector<at::Tensor> list;
    for (const NamedTensor& parameter : parameters_) list.push_back(parameter.tensor);
    return list;
  }

  /// The number of the parameter that is the head, if there is one: its gradient is added up on the way, not in the
  /// backward.
  std::vector<std::size_t> head_among_parameters() const {
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      if (parameters_[p].tensor.is_same(head_VH_)) return {p};
    }
    return {};
  }

  /// Whether the head is made from parameters: its gradient goes backwards to them when all rows have.
  bool head_is_made() const { return head_VH_.requires_grad() && head_among_parameters().empty(); }

  /// Of gradients that each rank keeps whole.
  bool may_exchange_last_round() const {
    return ranks_.size() > 1 && workers_ == 1 && (head_VH_.is_cpu() || ranks_.on_any_thread()) && !head_is_made();
  }

  GradientSum::Exchange exchange() const {
    return {.receivers = shard_ == Shard::kNone ? SumFor::kAll : SumFor::kShares,
            .every_round = divides_gradients_,
            .late = head_among_parameters(),
            .block = blocks_of_parameters()};
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
  std::vector<std::int64_t> blocks_of_parameters() const {
    std::vector<std::int64_t> blocks;
    const auto* divided = divided_weights(model_);
    if (divided == nullptr) return blocks;
    for (const NamedTensor& parameter : parameters_) {
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

  /// Of one worker.
  std::int64_t logit_rows() const { return std::max<std::int64_t>(1, memory_.logit_rows / workers_); }
  HeadWorker& head_of(std::int64_t worker) { return heads_[static_cast<std::size_t>(worker)]; }

  /// Of the backward that each rank has, or has not.
  void end_round(bool had_backward) {
    if (divided_weights(model_) != nullptr && had_backward) gradients_.blocks_done(-1);
    accompany(model_);
    gradients_.end_round();
  }

  void backward(std::int64_t worker, const RowGraph& graph) {
    in_plugin(model_, "backward", [&] { gradients_.backward(worker, {graph.hidden_NH()}, {graph.gradient_NH()}); });
  }

  /// The head's gradient goes to the parameter that it is, or through the graph that made it.
  void add_head(std::int64_t worker) {
    at::Tensor gradient_VH = std::exchange(head_of(worker).gradient_VH, at::Tensor());
    if (!gradient_VH.defined() || !head_VH_.requires_grad()) return;
    const auto head = head_among_parameters();
    if (!head.empty()) {
      gradients_.add(worker, head.front(), std::move(gradient_VH));
    } else {
      const auto head_VH = model_.lm_head_VH();
      in_plugin(model_, "backward",
                [&] { gradients_.backward(worker, {head_VH}, {gradient_VH.to(head_VH.scalar_type())}); });
    }
  }

  Ranks& ranks_;
  const Model& model_;
  const UpdateBatch& batch_;
  const UpdateMemory memory_;
  const Shard shard_;  // none, where the run has one rank
  const at::Tensor head_VH_;
  const std::vector<NamedTensor> parameters_;
  const bool divides_gradients_;
  const std::int64_t workers_;
  const bool exchanges_on_the_way_;  // while a backward goes on
  GradientSum gradients_;
  std::vector<HeadWorker> heads_;  // one for each worker
  PolicyGradient result_;
  StepLoss loss_;
};

}  // namespace

PolicyGradient policy_gradient(Ranks& ranks, const Model& model, const LossEstimator& loss, const UpdateBatch& batch,
                               std::int64_t memory_budget, Shard shard) {
  const std::int64_t sequence = row_tokens(model.traits(), batch.trajectories, batch.plan);
  const auto memory = divide_memory(model, sequence, batch.plan.target_FL.sum().item<std::int64_t>(), memory_budget);
  GradientComputation computation(ranks, model, loss, batch, memory, shard);
  const auto passes = plan_passes(batch.plan, checked_coupling(loss), memory, ranks.size());
  for (const UpdatePass& pass : passes) {
    // What dropout leaves out of a row is a function of the row, which must not be one of the pass.
    const std::int64_t most_tokens = batch.adapters.dropout ? 0 : pass.most_tokens(sequence);
    const std::int64_t packed_tokens = batch.adapters.dropout ? 0 : batch.packed_tokens;
    const ViewRows rows(ranks, model.traits(), batch.trajectories, batch.plan, pass.views(), most_tokens,
                        packed_tokens);
    const bool is_last = &pass == &passes.back();
    pass.scores_first ? computation.two_pass(pass, rows, sequence, is_last) : computation.one_pass(pass, rows, is_last);
  }
  return computation.finish();
}

}  // namespace drift
