#include <core/update/optimizer.h>

#include <core/kernels/adamw.h>
#include <core/kernels/cuda/library.h>
#include <core/kernels/side_stream.h>
#include <core/ranks/ranks.h>

#include <drift/error.h>
#include <drift/random.h>

#include <ATen/OpMathType.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>

namespace drift {
namespace {

using kernels::AdamWStep;
using kernels::AdamWTensors;

/// Of the learning rate: linear warm-up, then constant, linear or cosine.
double rate_of(const OptimizerSettings& settings, std::int64_t update) {
  if (update < settings.warmup_steps) {
    return settings.learning_rate * static_cast<double>(update + 1) / static_cast<double>(settings.warmup_steps);
  }
  if (settings.schedule == "constant") return settings.learning_rate;
  const auto falling = std::max<std::int64_t>(1, settings.total_steps - settings.warmup_steps);
  const double progress =
      std::min(1.0, static_cast<double>(update - settings.warmup_steps) / static_cast<double>(falling));
  const double height =
      settings.schedule == "linear" ? 1.0 - progress : 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
  return settings.learning_rate * (settings.final_fraction + (1.0 - settings.final_fraction) * height);
}

/// What AdamW moves: the parameter itself; or a float32 copy, if its type is too narrow for small updates or it is to
/// be moved in host memory.
at::Tensor make_master(const at::Tensor& parameter, bool offload) {
  const auto type = at::toOpMathType(parameter.scalar_type());
  const bool away = offload && !parameter.is_cpu();
  if (type == parameter.scalar_type() && !away) return parameter.detach();
  const auto master = parameter.detach().to(type);
  return away ? master.cpu() : master;
}

/// Of all of them together, after one wait for their device.
double sum_of_squares(const std::vector<at::Tensor>& gradients) {
  std::vector<at::Tensor> norms;
  for (const at::Tensor& gradient : gradients) norms.push_back(at::norm(gradient));
  const auto norm_P = norms.empty() ? at::zeros({0}, at::kDouble) : at::stack(norms).cpu().to(at::kDouble);
  double squares = 0;
  for (std::int64_t p = 0; p < norm_P.size(0); ++p) {
    const double norm = norm_P.const_data_ptr<double>()[p];
    squares += norm * norm;
  }
  return squares;
}

/// This rank's share of a contiguous tensor, flat; it shares its memory.
at::Tensor share_of(const Ranks& ranks, const at::Tensor& tensor) {
  const auto [begin, end] = ranks.share(tensor.numel());
  return tensor.view({-1}).narrow(0, begin, end - begin);
}

void require_finite(bool finite, const std::string& name) {
  // Before anything is saved: a checkpoint of such weights would be useless.
  if (finite) return;
  throw Error("the optimizer step left `" + name + "` with values that are not finite or beyond 1e18",
              "the weights have diverged: continue from a checkpoint with a lower learning_rate (--resume --set …)");
}

}  // namespace

/// A parameter and what AdamW keeps of it, or of this rank's share of it.
struct Optimizer::Moved {
  Moved(const Ranks& ranks, NamedTensor given, const at::Tensor& share, const OptimizerSettings& settings, bool divided)
      : name(std::move(given.name)),
        parameter(given.tensor.detach()),
        is_whole(!share.defined()),
        own(!is_whole ? share
            : divided ? share_of(ranks, parameter)
                      : parameter),
        begin(divided ? ranks.share(parameter.numel()).first : 0),
        master(make_master(own, settings.offload)) {
    const auto options = settings.narrow_moments ? master.options().dtype(at::kBFloat16) : master.options();
    first = at::zeros(master.sizes(), options);
    second = at::zeros(master.sizes(), options);
  }

  bool has_master() const { return !master.is_alias_of(own); }
  AdamWTensors tensors(const at::Tensor& gradient) const {
    return {master, first, second, gradient.contiguous(), has_master() ? own : at::Tensor(), begin};
  }

  /// What a checkpoint has of it besides the parameter: use(name, tensor).
  template <class Use>
  void for_each_kept(const Use& use) const {
    use("first_moment." + name, first);
    use("second_moment." + name, second);
    if (has_master()) use("master." + name, master);
  }

  std::string name;
  at::Tensor parameter;  ///< all of it, or its shape alone
  bool is_whole;         ///< this rank has all of it
  at::Tensor own;        ///< what this rank moves
  std::int64_t begin;    ///< number of its first element
  at::Tensor master, first, second;
};

/// Parameters of a device whose masters and moments are in host memory, in slices: while one is updated here, the next
/// one's gradients come and the last one's weights go.
class Optimizer::HostUpdate {
 public:
  explicit HostUpdate(const at::Tensor& example) : down_(example.device()), up_(example.device()) {
    for (Buffer& buffer : buffers_) {
      buffer.gradient = down_.host_buffer({kSlice}, at::toOpMathType(example.scalar_type()));
      buffer.rounded = up_.host_buffer({kSlice}, example.scalar_type());
    }
  }

  /// @param step_of  of the parameter with this number
  template <class StepOf>
  void run(const std::vector<Moved>& moved, std::vector<at::Tensor> gradients, const StepOf& step_of) {
    const auto slices = divide(moved);
    for (at::Tensor& gradient : gradients) gradient = gradient.contiguous();
    const auto ready = down_.computed();
    const auto fetch = [&](std::size_t k) {
      const auto& [p, first, count] = slices[k];
      Buffer& buffer = buffers_[k % 2];
      const auto from = gradients[p].view({-1}).narrow(0, first, count);
      buffer.came = down_.copy(buffer.gradient.narrow(0, 0, count), from, ready);
    };
    fetch(0);
    for (std::size_t k = 0; k < slices.size(); ++k) {
      if (k + 1 < slices.size()) fetch(k + 1);
      const auto& [p, first, count] = slices[k];
      const Moved& one = moved[p];
      Buffer& buffer = buffers_[k % 2];
      kernels::wait_for(buffer.came);
      kernels::wait_for(buffer.gone);
      const auto slice = AdamWTensors{one.master, one.first, one.second, {}, {}, one.begin}.part(first, count);
      const auto rounded = buffer.rounded.narrow(0, 0, count);
      require_finite(kernels::adamw({slice.weight, slice.first, slice.second, buffer.gradient.narrow(0, 0, count),
                                     rounded, slice.begin},
                                    step_of(p)),
                     one.name);
      buffer.gone = up_.copy(one.own.view({-1}).narrow(0, first, count), rounded);
      up_.before_computing(buffer.gone);
    }
  }

 private:
  static constexpr std::int64_t kSlice = 1 << 23;

  struct Slice {
    std::size_t parameter;
    std::int64_t first, count;
  };
  struct Buffer {
    at::Tensor gradient, rounded;
    kernels::SideStream::Mark came, gone;
  };

  static std::vector<Slice> divide(const std::vector<Moved>& moved) {
    std::vector<Slice> slices;
    for (std::size_t p = 0; p < moved.size(); ++p) {
      const std::int64_t count = moved[p].master.numel();
      for (std::int64_t first = 0; first < count; first += kSlice)
        slices.push_back({p, first, std::min(kSlice, count - first)});
    }
    return slices;
  }

  kernels::SideStream down_, up_;
  std::array<Buffer, 2> buffers_;
};

Optimizer::Optimizer(Ranks& ranks, std::vector<NamedTensor> parameters, const OptimizerSettings& settings,
                     const std::map<std::string, at::Tensor>& shares)
    : ranks_(ranks), settings_(settings), divided_(settings.divided && ranks.size() > 1) {
  for (NamedTensor& parameter : parameters) {
    const auto share = shares.find(parameter.name);
    moved_.emplace_back(ranks, std::move(parameter), share == shares.end() ? at::Tensor() : share->second, settings,
                        divided_);
  }
  if (!moved_.empty() && moved_.front().master.device() != moved_.front().parameter.device())
    host_ = std::make_unique<HostUpdate>(moved_.front().parameter);
}

Optimizer::~Optimizer() = default;

double Optimizer::step(std::vector<at::Tensor> gradients) {
  const at::NoGradGuard no_gradient;
  for (std::size_t p = 0; p < gradients.size(); ++p) gradients[p] = gradients[p].to(moved_[p].master.scalar_type());
  const auto squares = at::full({1}, sum_of_squares(gradients), at::kDouble);
  if (divided_) ranks_.all_reduce({squares});
  const double norm = std::sqrt(squares.item<double>());
  if (!std::isfinite(norm)) {
    throw Error("the gradient's norm is " + std::to_string(norm),
                "go back to an earlier checkpoint with a lower learning rate, or check the loss's ratios");
  }
  const double clip = settings_.gradient_clip;
  AdamWStep step{learning_rate(), settings_.beta1, settings_.beta2, settings_.epsilon, settings_.weight_decay};
  step.update = updates_ - first_update_ + 1;
  step.gradient_scale = clip > 0 && norm > clip ? clip / norm : 1.0;
  const RandomStream rounding(settings_.seed, "moments");
  const auto step_of = [&](std::size_t p) {
    step.rounding_key = rounding.bits({updates_, static_cast<std::int64_t>(p), 0, 0});
    return step;
  };
  std::size_t diverged = moved_.size();
  if (host_) {
    host_->run(moved_, gradients, step_of);
  } else if (!update_on_device(gradients, step_of, diverged)) {
    for (std::size_t p = 0; p < moved_.size(); ++p) {
      if (!kernels::adamw(moved_[p].tensors(gradients[p]), step_of(p))) diverged = std::min(diverged, p);
      gradients[p] = at::Tensor();
      if (!divided_) require_finite(diverged != p, moved_[p].name);
    }
  }
  if (divided_) {
    require_finite_everywhere(diverged);
    std::vector<at::Tensor> parameters;
    for (const Moved& one : moved_) {
      if (one.is_whole) parameters.push_back(one.parameter);
    }
    ranks_.gather_shares(parameters);
  }
  ++updates_;
  return norm;
}

/// Collective. @param diverged  the first parameter of which this rank's share is not finite
void Optimizer::require_finite_everywhere(std::size_t diverged) const {
  const auto first_R = ranks_.all_gather(at::full({1}, static_cast<std::int64_t>(diverged), at::kLong));
  const auto first = static_cast<std::size_t>(first_R.min().item<std::int64_t>());
  if (first < moved_.size()) require_finite(false, moved_[first].name);
}

template <class StepOf>
bool Optimizer::update_on_device(const std::vector<at::Tensor>& gradients, const StepOf& step_of,
                                 std::size_t& diverged) {
  const auto* kernels = moved_.empty() ? nullptr : kernels::cuda::kernels_for(moved_.front().master);
  if (kernels == nullptr) return false;
  std::vector<AdamWTensors> all;
  std::vector<std::uint64_t> rounding_keys;
  for (std::size_t p = 0; p < moved_.size(); ++p) {
    all.push_back(moved_[p].tensors(gradients[p]));
    rounding_keys.push_back(step_of(p).rounding_key);
    if (!kernels::fits_device(all.back())) return false;
  }
  diverged = kernels::adamw_on_device(*kernels, all, step_of(0), rounding_keys).value_or(moved_.size());
  if (!divided_ && diverged < moved_.size()) require_finite(false, moved_[diverged].name);
  return true;
}

void Optimizer::restart() {
  const at::NoGradGuard no_gradient;
  first_update_ = updates_;
  for (Moved& one : moved_) {
    one.first.zero_();
    one.second.zero_();
    if (one.has_master()) one.master.copy_(one.own);
  }
}

double Optimizer::learning_rate() const { return rate_of(settings_, updates_); }

std::int64_t Optimizer::steps() const { return updates_; }

std::vector<NamedTensor> Optimizer::state() const {
  std::vector<NamedTensor> state{{"updates", at::full({1}, updates_, at::kLong)}};
  for (const Moved& one : moved_) {
    one.for_each_kept([&](const std::string& name, const at::Tensor& kept) {
      const auto whole = kept.options().device(at::kMeta);
      state.push_back({name, divided_ ? at::empty(one.parameter.sizes(), whole) : kept.cpu().contiguous()});
    });
  }
  return state;
}

std::vector<TensorPart> Optimizer::state_parts() const {
  std::vector<TensorPart> parts;
  if (!divided_) return parts;
  for (const Moved& one : moved_) {
    one.for_each_kept([&](const std::string& name, const at::Tensor& kept) {
      parts.push_back({name, one.begin, kept.cpu()});
    });
  }
  return parts;
}

void Optimizer::load_state(const std::vector<NamedTensor>& state) {
  const at::NoGradGuard no_gradient;
  std::map<std::string, at::Tensor> by_name;
  for (const auto& entry : state) by_name[entry.name] = entry.tensor;
  const auto get = [&](const std::string& name) {
    const auto found = by_name.find(name);
    if (found == by_name.end())
      throw Error("the optimizer state lacks `" + name + "`", "the checkpoint belongs to another model");
    return found->second;
  };
  updates_ = get("updates").item<std::int64_t>();
  first_update_ = 0;
  for (Moved& one : moved_) {
    const auto read = [&](const std::string& name, at::Tensor into) {
      const auto stored = get(name);
      if (stored.sizes() != one.parameter.sizes())
        throw Error("`" + name + "` in the optimizer state has a different shape from the parameter");
      into.copy_(divided_ ? share_of(ranks_, stored) : stored);
    };
    read("first_moment." + one.name, one.first);
    read("second_moment." + one.name, one.second);
    if (!one.has_master()) continue;
    // A float32 parameter on the CPU, or on a device without offload, was saved without a master: it is one.
    const bool is_own = one.master.scalar_type() == one.parameter.scalar_type();
    if (is_own && !by_name.contains("master." + one.name)) {
      one.master.copy_(one.own);
    } else {
      read("master." + one.name, one.master);
    }
  }
}

}  // namespace drift
