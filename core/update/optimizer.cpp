#include <core/update/optimizer.h>

#include <drift/error.h>

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/adamw.h>
#include <torch/optim/schedulers/lr_scheduler.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace drift {
namespace {

/// Linear warm-up, then constant, linear or cosine. Counts optimizer steps.
class Schedule final : public torch::optim::LRScheduler {
 public:
  Schedule(torch::optim::Optimizer& optimizer, const OptimizerSettings& settings)
      : torch::optim::LRScheduler(optimizer), settings_(settings) {
    set_updates(0);
  }

  std::int64_t updates() const { return step_count_; }
  double learning_rate() const { return get_current_lrs().front(); }

  void set_updates(std::int64_t updates) {
    // step() computes the rate of the count it is about to reach.
    step_count_ = static_cast<unsigned>(updates) - 1u;
    step();
  }

 private:
  std::vector<double> get_lrs() override {
    return std::vector<double>(get_current_lrs().size(), rate(static_cast<unsigned>(step_count_ + 1)));
  }

  double rate(std::int64_t update) const {
    if (update < settings_.warmup_steps) {
      return settings_.learning_rate * static_cast<double>(update + 1) / static_cast<double>(settings_.warmup_steps);
    }
    if (settings_.schedule == "constant") return settings_.learning_rate;
    const auto falling = std::max<std::int64_t>(1, settings_.total_steps - settings_.warmup_steps);
    const double progress =
        std::min(1.0, static_cast<double>(update - settings_.warmup_steps) / static_cast<double>(falling));
    const double height =
        settings_.schedule == "linear" ? 1.0 - progress : 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    return settings_.learning_rate * (settings_.final_fraction + (1.0 - settings_.final_fraction) * height);
  }

  OptimizerSettings settings_;
};

torch::optim::AdamWOptions options(const OptimizerSettings& settings) {
  return torch::optim::AdamWOptions(settings.learning_rate)
      .betas({settings.beta1, settings.beta2})
      .eps(settings.epsilon)
      .weight_decay(settings.weight_decay);
}

/// What AdamW moves: the parameters themselves, or float32 copies of those whose type is too narrow for small updates.
std::vector<at::Tensor> make_masters(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> masters;
  for (const auto& parameter : parameters) {
    const auto type = at::toOpMathType(parameter.tensor.scalar_type());
    const bool narrow = type != parameter.tensor.scalar_type();
    masters.push_back(narrow ? parameter.tensor.detach().to(type) : parameter.tensor);
  }
  return masters;
}

}  // namespace

struct Optimizer::Implementation {
  Implementation(std::vector<NamedTensor> named, const OptimizerSettings& given)
      : parameters(std::move(named)),
        masters(make_masters(parameters)),
        settings(given),
        adam(masters, options(given)),
        schedule(adam, given) {}

  bool has_master(std::size_t p) const { return !masters[p].is_same(parameters[p].tensor); }

  torch::optim::AdamWParamState* find_state(std::size_t p) {
    const auto found = adam.state().find(masters[p].unsafeGetTensorImpl());
    return found == adam.state().end() ? nullptr : static_cast<torch::optim::AdamWParamState*>(found->second.get());
  }

  std::vector<NamedTensor> parameters;
  std::vector<at::Tensor> masters;  // as many
  OptimizerSettings settings;
  torch::optim::AdamW adam;
  Schedule schedule;
};

OptimizerSettings OptimizerSettings::from(const Params& section, std::int64_t total_steps) {
  OptimizerSettings settings;
  settings.learning_rate = section.get<double>("learning_rate");
  settings.schedule = section.get<std::string>("schedule");
  settings.warmup_steps = section.get<std::int64_t>("warmup_steps");
  settings.total_steps = total_steps;
  settings.final_fraction = section.get<double>("final_fraction");
  settings.beta1 = section.get<double>("beta1");
  settings.beta2 = section.get<double>("beta2");
  settings.epsilon = section.get<double>("epsilon");
  settings.weight_decay = section.get<double>("weight_decay");
  settings.gradient_clip = section.get<double>("gradient_clip");
  return settings;
}

Optimizer::Optimizer(std::vector<NamedTensor> parameters, const OptimizerSettings& settings)
    : implementation_(std::make_unique<Implementation>(std::move(parameters), settings)) {}

Optimizer::~Optimizer() = default;

double Optimizer::step(std::vector<at::Tensor> gradients) {
  const at::NoGradGuard no_gradient;
  auto& self = *implementation_;
  double squares = 0;
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    gradients[p] = gradients[p].to(self.masters[p].scalar_type());
    const double norm = at::norm(gradients[p]).item<double>();
    squares += norm * norm;
  }
  const double norm = std::sqrt(squares);
  if (!std::isfinite(norm)) {
    throw Error("the gradient's norm is " + std::to_string(norm),
                "go back to an earlier checkpoint with a lower learning rate, or check the loss's ratios");
  }
  const double clip = self.settings.gradient_clip;
  const double scale = clip > 0 && norm > clip ? clip / norm : 1.0;
  for (std::size_t p = 0; p < gradients.size(); ++p) {
    self.masters[p].mutable_grad() = scale == 1.0 ? gradients[p] : gradients[p].mul_(scale);
  }
  self.adam.step();
  for (std::size_t p = 0; p < self.masters.size(); ++p) {
    self.masters[p].mutable_grad() = at::Tensor();
    const auto& [name, tensor] = self.parameters[p];
    if (self.has_master(p)) tensor.copy_(self.masters[p]);
    // Before anything is saved: a checkpoint of such weights would be useless.
    if (!std::isfinite(at::norm(tensor).item<double>())) {
      throw Error(
          "the optimizer step left `" + name + "` with a norm that is not finite",
          "the weights have diverged: continue from a checkpoint with a lower learning_rate (--resume --set …)");
    }
  }
  self.schedule.step();
  return norm;
}

void Optimizer::restart() {
  const at::NoGradGuard no_gradient;
  auto& self = *implementation_;
  self.adam.state().clear();
  for (std::size_t p = 0; p < self.masters.size(); ++p) {
    if (self.has_master(p)) self.masters[p].copy_(self.parameters[p].tensor);
  }
}

double Optimizer::learning_rate() const { return implementation_->schedule.learning_rate(); }

std::int64_t Optimizer::steps() const { return implementation_->schedule.updates(); }

std::vector<NamedTensor> Optimizer::state() const {
  auto& self = *implementation_;
  std::vector<NamedTensor> state{{"updates", at::full({1}, self.schedule.updates(), at::kLong)}};
  for (std::size_t p = 0; p < self.parameters.size(); ++p) {
    const auto& name = self.parameters[p].name;
    const auto& master = self.masters[p];
    const auto add = [&](const char* what, const at::Tensor& tensor) {
      state.push_back({what + name, tensor.detach().cpu().contiguous()});
    };
    const auto* moments = self.find_state(p);
    add("first_moment.", moments ? moments->exp_avg() : at::zeros_like(master));
    add("second_moment.", moments ? moments->exp_avg_sq() : at::zeros_like(master));
    if (self.has_master(p)) add("master.", master);
  }
  return state;
}

void Optimizer::load_state(const std::vector<NamedTensor>& state) {
  const at::NoGradGuard no_gradient;
  auto& self = *implementation_;
  std::map<std::string, at::Tensor> by_name;
  for (const auto& entry : state) by_name[entry.name] = entry.tensor;
  const auto get = [&](const std::string& name) {
    const auto found = by_name.find(name);
    if (found == by_name.end())
      throw Error("the optimizer state lacks `" + name + "`", "the checkpoint belongs to another model");
    return found->second;
  };
  const auto updates = get("updates").item<std::int64_t>();
  for (std::size_t p = 0; p < self.parameters.size(); ++p) {
    const auto& master = self.masters[p];
    const auto read = [&](const char* what) {
      const auto stored = get(what + self.parameters[p].name);
      if (stored.sizes() != master.sizes()) {
        throw Error("`" + (what + self.parameters[p].name) +
                    "` in the optimizer state has a different shape from the parameter");
      }
      return stored.to(at::TensorOptions(master.device()).dtype(master.dtype()), /*non_blocking=*/false, /*copy=*/true);
    };
    auto moments = std::make_unique<torch::optim::AdamWParamState>();
    moments->exp_avg(read("first_moment."));
    moments->exp_avg_sq(read("second_moment."));
    moments->step(updates);
    if (updates > 0) self.adam.state()[master.unsafeGetTensorImpl()] = std::move(moments);
    if (self.has_master(p)) master.copy_(read("master."));
  }
  self.schedule.set_updates(updates);
}

}  // namespace drift
