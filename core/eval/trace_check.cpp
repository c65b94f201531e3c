#include <core/eval/trace_check.h>

#include <core/io/safetensors.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace drift {
namespace {

class TraceReader {
 public:
  TraceReader(const std::filesystem::path& file, const ModelTraits& traits) : file_(file), traits_(traits) {}

  ReferenceTrace read(bool takes_mask) const {
    ReferenceTrace trace;
    const auto filled = [&](const at::Tensor& ids) { return at::where(ids < 0, traits_.pad_id, ids); };
    trace.prompts.tokens_BP = filled(ids("prompt_ids"));
    const std::int64_t rows = trace.prompts.tokens_BP.size(0), width = trace.prompts.tokens_BP.size(1);
    trace.prompts.mask_BP = mask(trace.prompts.tokens_BP, takes_mask);
    trace.prompts.group_B = at::arange(rows, at::kLong);
    const at::Tensor tokens = ids("tokens");
    const auto prompt_part = [&] { return filled(tokens.narrow(1, 0, width)).masked_select(trace.prompts.mask_BP); };
    if (tokens.size(0) != rows || tokens.size(1) <= width ||
        !at::equal(prompt_part(), trace.prompts.tokens_BP.masked_select(trace.prompts.mask_BP)))
      fail("`tokens` is not `prompt_ids` with responses behind them");
    trace.tokens_BL = tokens.narrow(1, width, tokens.size(1) - width).contiguous();
    const auto shape = trace.tokens_BL.sizes();
    trace.step_BL = steps(shape);
    if (has("commit_prob")) trace.probability_BL = of_shape("commit_prob", shape).to(at::kDouble).contiguous();
    if (has("draw_tokens")) trace.draws.token_FK = tensor("draw_tokens").to(at::kLong);
    if (has("calls")) trace.calls_F4 = tensor("calls").to(at::kLong);
    if (has("window_ends")) trace.window_end_F = tensor("window_ends").to(at::kLong);
    return trace;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(
        file_.path().string() + ": " + what,
        "a trace has `prompt_ids` [B, P], `tokens` [B, P + L], `commit_step` [B, L] and, perhaps, `commit_prob` "
        "[B, L] and, for padded rows, `attention_mask` or `prompt_mask` [B, P]");
  }

  bool has(const char* name) const { return file_.find(name) != nullptr; }

  /// Of the forwards that drew a token.
  at::Tensor steps(at::IntArrayRef shape) const {
    auto step_BL = of_shape("commit_step", shape).to(at::kLong).contiguous();
    if (has("first_unmask_times")) {
      const auto from_one_BL = of_shape("first_unmask_times", shape).to(at::kLong);
      if (!at::equal(from_one_BL - 1, step_BL) && !at::equal(at::where(step_BL < 0, step_BL, from_one_BL - 1), step_BL))
        fail("`first_unmask_times` is not `commit_step` + 1");
    }
    if ((step_BL >= -1).all().item<bool>()) return step_BL;
    // Storing forwards draw, too, and the prompt's if the first token is from it.
    step_BL = of_shape("commit_call", shape).to(at::kLong).contiguous();
    const bool counts_first = (step_BL == 0).any().item<bool>();
    const bool is_prefill = tensor("calls")[0][2].item<std::int64_t>() != 0;
    return is_prefill && !counts_first ? at::where(step_BL < 0, step_BL, step_BL - 1) : step_BL;
  }

  at::Tensor tensor(const char* name) const {
    if (file_.find(name) == nullptr) fail(std::string("there is no tensor `") + name + "`");
    return file_.tensor(name);
  }

  at::Tensor of_shape(const char* name, at::IntArrayRef sizes) const {
    const at::Tensor found = tensor(name);
    if (found.sizes() != sizes)
      fail(std::string("`") + name + "` has the shape " + shape_text(found.sizes()) + ", expected " +
           shape_text(sizes));
    return found;
  }

  at::Tensor ids(const char* name) const {
    const at::Tensor found = tensor(name);
    if (found.dim() != 2 || found.numel() == 0 || at::isFloatingType(found.scalar_type()))
      fail(std::string("`") + name + "` holds no rows of integers");
    const auto as_long = found.to(at::kLong).contiguous();
    const std::int64_t smallest = as_long.min().item<std::int64_t>(), largest = as_long.max().item<std::int64_t>();
    if (smallest < -1 || largest >= traits_.vocabulary_size) {
      fail(std::string("`") + name + "` holds " + std::to_string(smallest < -1 ? smallest : largest) +
           ", which is outside the model's vocabulary of " + std::to_string(traits_.vocabulary_size));
    }
    return as_long;
  }

  at::Tensor mask(const at::Tensor& tokens_BP, bool takes_mask) const {
    for (const char* name : {"attention_mask", "prompt_mask"}) {
      if (file_.find(name) == nullptr || (takes_mask && name == std::string("prompt_mask"))) continue;
      return of_shape(name, tokens_BP.sizes()).ne(0);
    }
    return at::ones_like(tokens_BP, at::kBool);
  }

  SafetensorsFile file_;
  const ModelTraits& traits_;
};

}  // namespace

ReferenceTrace read_reference_trace(const std::filesystem::path& file, const ModelTraits& traits, bool takes_mask) {
  return TraceReader(file, traits).read(takes_mask);
}

std::int64_t trace_length(const std::filesystem::path& file) {
  const SafetensorsFile tensors(file);
  for (const char* name : {"tokens", "prompt_ids"}) {
    if (tensors.find(name) == nullptr || tensors.tensor(name).dim() != 2)
      throw Error(file.string() + ": there are no rows `" + name + "`");
  }
  return tensors.tensor("tokens").size(1) - tensors.tensor("prompt_ids").size(1);
}

void lengthen(ReferenceTrace& trace, std::int64_t length) {
  const std::int64_t rows = trace.tokens_BL.size(0), more = length - trace.tokens_BL.size(1);
  if (more <= 0) return;
  const auto filled = [&](const at::Tensor& tensor, double with) {
    return at::cat({tensor, at::full({rows, more}, with, tensor.options())}, 1);
  };
  trace.tokens_BL = filled(trace.tokens_BL, -1);
  trace.step_BL = filled(trace.step_BL, -1);
  if (trace.probability_BL.defined()) trace.probability_BL = filled(trace.probability_BL, 0);
}

TraceForwards counted(const std::vector<TracePolicy::Call>& calls, std::int64_t prompt) {
  TraceForwards made{};
  for (std::size_t c = 0; c < calls.size(); ++c) {
    const auto& [begin, end, keeps, masks] = calls[c];
    const bool is_prefill = c == 0 && keeps != 0 && end <= prompt;
    ++made[keeps == 0 ? 1 : is_prefill ? 0 : 2];
  }
  return made;
}

std::int64_t first_other_call(const std::vector<TracePolicy::Call>& calls, const ReferenceTrace& reference) {
  std::vector<std::int64_t> got, wanted;
  std::int64_t width = 0;
  const auto take = [&](const at::Tensor& tensor) {
    const auto flat = tensor.contiguous();
    wanted.assign(flat.const_data_ptr<std::int64_t>(), flat.const_data_ptr<std::int64_t>() + flat.numel());
  };
  if (reference.calls_F4.defined()) {
    width = 4;
    take(reference.calls_F4);
    for (const auto& call : calls) got.insert(got.end(), call.begin(), call.end());
  } else if (reference.window_end_F.defined()) {
    width = 1;
    take(reference.window_end_F);
    for (const auto& call : calls) {
      if (call[2] == 0) got.push_back(call[1]);
    }
  }
  const auto [other, unused] = std::ranges::mismatch(got, wanted);
  return got == wanted ? -1 : (other - got.begin()) / width;
}

void require_comparable(const ReferenceTrace& reference, std::int64_t length, const ModelTraits& traits) {
  const std::int64_t in_trace = reference.tokens_BL.size(1), prompt = reference.prompts.tokens_BP.size(1);
  if (length != in_trace) {
    throw Error("the settings ask for responses of " + std::to_string(length) + " tokens, and the trace has " +
                std::to_string(in_trace));
  }
  if (prompt + length > traits.context_length) {
    throw Error("prompt and response have " + std::to_string(prompt + length) +
                    " tokens, which exceeds the model's context of " + std::to_string(traits.context_length),
                "the trace belongs to another checkpoint, or config.json is not its own");
  }
}

std::vector<TraceRow> compare_trace(const Trajectories& made, const ReferenceTrace& reference,
                                    const ModelTraits& traits, double tolerance) {
  const std::int64_t rows = reference.tokens_BL.size(0), length = reference.tokens_BL.size(1);
  const auto* tokens = made.tokens_BL.const_data_ptr<std::int64_t>();
  const auto* steps = made.step_BL.const_data_ptr<std::int32_t>();
  const auto* logprobs = made.commit_logprob_BL.const_data_ptr<float>();
  const auto* wanted_tokens = reference.tokens_BL.const_data_ptr<std::int64_t>();
  const auto* wanted_steps = reference.step_BL.const_data_ptr<std::int64_t>();
  const bool knows = reference.probability_BL.defined();
  const auto* wanted = knows ? reference.probability_BL.const_data_ptr<double>() : nullptr;
  std::vector<TraceRow> found(static_cast<std::size_t>(rows));
  for (std::int64_t b = 0; b < rows; ++b) {
    TraceRow& row = found[static_cast<std::size_t>(b)];
    if (knows) row.largest_difference = 0;
    for (std::int64_t i = b * length; i < (b + 1) * length; ++i) {
      if (wanted_tokens[i] < 0) continue;
      const bool never = steps[i] < 0 && wanted_steps[i] < 0 && wanted_tokens[i] == traits.mask_id;
      if (row.first_difference < 0 && !never && (tokens[i] != wanted_tokens[i] || steps[i] != wanted_steps[i])) {
        row.first_difference = i - b * length;
        row.token = tokens[i], row.reference_token = wanted_tokens[i];
        row.step = steps[i], row.reference_step = wanted_steps[i];
      }
      if (!knows || steps[i] < 0 || wanted_steps[i] < 0 || tokens[i] != wanted_tokens[i]) continue;
      const double difference = std::abs(std::exp(static_cast<double>(logprobs[i])) - wanted[i]);
      // What is not a number is as far away as can be.
      if (!(difference <= row.largest_difference))
        row.largest_difference = std::isnan(difference) ? INFINITY : difference;
    }
    row.forwards = made.forwards_B.const_data_ptr<std::int64_t>()[b];
    row.is_equal = row.first_difference < 0 && row.largest_difference.value_or(0) <= tolerance;
  }
  return found;
}

}  // namespace drift
