#include <core/eval/trace_check.h>

#include <core/io/safetensors.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>

#include <cmath>
#include <string>

namespace drift {
namespace {

class TraceReader {
 public:
  TraceReader(const std::filesystem::path& file, const ModelTraits& traits) : file_(file), traits_(traits) {}

  ReferenceTrace read(bool takes_mask) const {
    ReferenceTrace trace;
    trace.prompts.tokens_BP = ids("prompt_ids");
    const std::int64_t rows = trace.prompts.tokens_BP.size(0), width = trace.prompts.tokens_BP.size(1);
    trace.prompts.mask_BP = mask(trace.prompts.tokens_BP, takes_mask);
    trace.prompts.group_B = at::arange(rows, at::kLong);
    const at::Tensor tokens = ids("tokens");
    if (tokens.size(0) != rows || tokens.size(1) <= width ||
        !at::equal(tokens.narrow(1, 0, width), trace.prompts.tokens_BP))
      fail("`tokens` is not `prompt_ids` with responses behind them");
    trace.tokens_BL = tokens.narrow(1, width, tokens.size(1) - width).contiguous();
    const auto shape = trace.tokens_BL.sizes();
    trace.step_BL = of_shape("commit_step", shape).to(at::kLong).contiguous();
    trace.probability_BL = of_shape("commit_prob", shape).to(at::kDouble).contiguous();
    return trace;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_.path().string() + ": " + what,
                "a trace has `prompt_ids` [B, P], `tokens` [B, P + L], `commit_step` [B, L], `commit_prob` [B, L] and, "
                "for padded rows, `attention_mask` or `prompt_mask` [B, P]");
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
    if (smallest < 0 || largest >= traits_.vocabulary_size) {
      fail(std::string("`") + name + "` holds " + std::to_string(smallest < 0 ? smallest : largest) +
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
                                    std::optional<std::int64_t> forwards, double tolerance) {
  const std::int64_t rows = reference.tokens_BL.size(0), length = reference.tokens_BL.size(1);
  const auto* tokens = made.tokens_BL.const_data_ptr<std::int64_t>();
  const auto* steps = made.step_BL.const_data_ptr<std::int32_t>();
  const auto* logprobs = made.commit_logprob_BL.const_data_ptr<float>();
  const auto* wanted_tokens = reference.tokens_BL.const_data_ptr<std::int64_t>();
  const auto* wanted_steps = reference.step_BL.const_data_ptr<std::int64_t>();
  const auto* wanted = reference.probability_BL.const_data_ptr<double>();
  std::vector<TraceRow> found(static_cast<std::size_t>(rows));
  for (std::int64_t b = 0; b < rows; ++b) {
    TraceRow& row = found[static_cast<std::size_t>(b)];
    for (std::int64_t i = b * length; i < (b + 1) * length; ++i) {
      if (row.first_difference < 0 && (tokens[i] != wanted_tokens[i] || steps[i] != wanted_steps[i])) {
        row.first_difference = i - b * length;
        row.token = tokens[i], row.reference_token = wanted_tokens[i];
        row.step = steps[i], row.reference_step = wanted_steps[i];
      }
      if (steps[i] < 0 || wanted_steps[i] < 0 || tokens[i] != wanted_tokens[i]) continue;
      const double difference = std::abs(std::exp(static_cast<double>(logprobs[i])) - wanted[i]);
      // What is not a number is as far away as can be.
      if (!(difference <= row.largest_difference))
        row.largest_difference = std::isnan(difference) ? INFINITY : difference;
    }
    row.forwards = made.forwards_B.const_data_ptr<std::int64_t>()[b];
    row.is_equal = row.first_difference < 0 && row.largest_difference <= tolerance &&
                   row.forwards == forwards.value_or(row.forwards);
  }
  return found;
}

}  // namespace drift
