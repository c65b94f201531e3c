#include <core/eval/logit_check.h>

#include <core/boundary/checked.h>
#include <core/eval/block_forwards.h>

#include <drift/error.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <limits>
#include <string>

namespace drift {
namespace {

constexpr std::int64_t kRowsAtOnce = 256;  // number of rows whose logits are in memory, in float64

class ReferenceReader {
 public:
  ReferenceReader(const SafetensorsFile& file, const ModelTraits& traits) : file_(file), traits_(traits) {}

  ReferenceLogits read() const {
    ReferenceLogits reference;
    reference.input_ids_BS = require("input_ids", {});
    if (reference.input_ids_BS.dim() != 2 || reference.input_ids_BS.numel() == 0) {
      fail("`input_ids` has the shape " + shape_text(reference.input_ids_BS.sizes()) + ", not [sequences, tokens]");
    }
    if (at::isFloatingType(reference.input_ids_BS.scalar_type())) fail("`input_ids` are not integers");
    reference.input_ids_BS = reference.input_ids_BS.to(at::kLong);
    const std::int64_t smallest = reference.input_ids_BS.min().item<std::int64_t>();
    const std::int64_t largest = reference.input_ids_BS.max().item<std::int64_t>();
    if (smallest < 0 || largest >= traits_.vocabulary_size) {
      fail("`input_ids` holds " + std::to_string(smallest < 0 ? smallest : largest) +
           ", which is outside the model's vocabulary of " + std::to_string(traits_.vocabulary_size));
    }
    const auto rows = reference.input_ids_BS.sizes();
    reference.attention_mask_BS = mask("attention_mask", rows);
    reference.compare_mask_BS = mask("compare_mask", rows);
    if (!reference.compare_mask_BS.defined()) reference.compare_mask_BS = reference.attention_mask_BS;
    std::int64_t positions = rows[1];
    if (file_.find("rows") != nullptr) {
      reference.rows_R = require("rows", {}).to(at::kLong).view({-1});
      positions = reference.rows_R.size(0);
      if (reference.rows_R.lt(0).any().item<bool>() || reference.rows_R.ge(rows[1]).any().item<bool>())
        fail("`rows` has positions outside [0, " + std::to_string(rows[1]) + ")");
      if (auto& mask_BS = reference.compare_mask_BS; mask_BS.defined())
        mask_BS = mask_BS.index_select(1, reference.rows_R);
    }
    reference.logits_BSV = require("logits", {rows[0], positions, traits_.vocabulary_size});
    if (!at::isFloatingType(reference.logits_BSV.scalar_type())) fail("`logits` are not floating-point numbers");
    return reference;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_.path().string() + ": " + what,
                "a reference has `input_ids` [B, S], `logits` [B, S, V] and, for padded rows, `attention_mask` [B, S]");
  }

  at::Tensor require(const char* name, at::IntArrayRef sizes) const {
    if (file_.find(name) == nullptr) fail(std::string("there is no tensor `") + name + "`");
    auto tensor = file_.tensor(name);
    if (!sizes.empty() && tensor.sizes() != sizes) {
      fail(std::string("`") + name + "` has the shape " + shape_text(tensor.sizes()) + ", expected " +
           shape_text(sizes));
    }
    return tensor;
  }

  at::Tensor mask(const char* name, at::IntArrayRef sizes) const {
    return file_.find(name) == nullptr ? at::Tensor() : require(name, sizes).ne(0);
  }

  const SafetensorsFile& file_;
  const ModelTraits& traits_;
};

/// Gathers the comparison over parts of the logits.
class Comparer {
 public:
  Comparer(const ReferenceLogits& reference, double relative_tolerance)
      : reference_(reference), relative_tolerance_(relative_tolerance) {}

  /// Positions [first, first + N) of one sequence.
  void add(const at::Tensor& logits_NV, std::int64_t sequence, std::int64_t first) {
    const std::int64_t count = logits_NV.size(0);
    auto index_M = at::arange(count, at::kLong);
    if (reference_.compare_mask_BS.defined()) {
      index_M = reference_.compare_mask_BS[sequence].narrow(0, first, count).nonzero().view({-1});
    }
    if (index_M.numel() == 0) return;
    const auto got_MV = logits_NV.cpu().to(at::kDouble).index_select(0, index_M);
    const auto expected_MV =
        reference_.logits_BSV[sequence].narrow(0, first, count).to(at::kDouble).index_select(0, index_M);
    auto difference_MV = at::abs(got_MV - expected_MV);
    difference_MV = at::where(at::isfinite(difference_MV), difference_MV, std::numeric_limits<double>::infinity());
    result_.rows += index_M.numel();
    equal_ += (got_MV.argmax(-1) == expected_MV.argmax(-1)).sum().item<std::int64_t>();
    sum_ += difference_MV.sum().item<double>();
    elements_ += difference_MV.numel();
    const auto excess = (difference_MV - relative_tolerance_ * expected_MV.abs()).max().item<double>();
    result_.largest_excess = std::max(result_.largest_excess, excess);
    const std::int64_t worst = difference_MV.argmax().item<std::int64_t>();
    const std::int64_t row = worst / difference_MV.size(1), token = worst % difference_MV.size(1);
    const double largest = difference_MV[row][token].item<double>();
    if (largest <= result_.largest_difference && result_.rows > index_M.numel()) return;
    result_.largest_difference = largest;
    result_.worst_sequence = sequence;
    result_.worst_position = first + index_M[row].item<std::int64_t>();
    result_.worst_token = token;
    result_.worst_value = got_MV[row][token].item<double>();
    result_.worst_reference = expected_MV[row][token].item<double>();
  }

  LogitComparison result() const {
    LogitComparison result = result_;
    if (result.rows == 0) throw Error("the reference has no row to compare");
    result.mean_difference = sum_ / static_cast<double>(elements_);
    result.equal_argmax = static_cast<double>(equal_) / static_cast<double>(result.rows);
    return result;
  }

 private:
  const ReferenceLogits& reference_;
  double relative_tolerance_;
  LogitComparison result_;
  std::int64_t equal_ = 0, elements_ = 0;
  double sum_ = 0;
};

/// ForwardInput::block_BS of one sequence.
at::Tensor blocks_of(const ReferenceLogits& reference, std::int64_t sequence, std::int64_t size) {
  auto position_BS = at::arange(reference.input_ids_BS.size(1), at::kLong).unsqueeze(0);
  if (reference.attention_mask_BS.defined()) {
    const auto tokens_BS = reference.attention_mask_BS.narrow(0, sequence, 1).to(at::kLong).cumsum(1);
    position_BS = (tokens_BS - 1).clamp_min(0);
  }
  return position_BS.floor_divide(size);
}

/// Of the logits of both.
LogitComparison together(const LogitComparison& a, const LogitComparison& b) {
  const auto mean = [&](double of_a, double of_b) {
    const auto rows_a = static_cast<double>(a.rows), rows_b = static_cast<double>(b.rows);
    return (of_a * rows_a + of_b * rows_b) / (rows_a + rows_b);
  };
  LogitComparison both = a.largest_difference >= b.largest_difference ? a : b;
  both.rows = a.rows + b.rows;
  both.mean_difference = mean(a.mean_difference, b.mean_difference);
  both.equal_argmax = mean(a.equal_argmax, b.equal_argmax);
  both.largest_excess = std::max(a.largest_excess, b.largest_excess);
  return both;
}

}  // namespace

ReferenceLogits read_reference_logits(const SafetensorsFile& file, const ModelTraits& traits) {
  return ReferenceReader(file, traits).read();
}

LogitComparison compare_logits(const at::Tensor& got_BSV, const ReferenceLogits& reference, double relative_tolerance) {
  Comparer comparer(reference, relative_tolerance);
  for (std::int64_t sequence = 0; sequence < got_BSV.size(0); ++sequence) comparer.add(got_BSV[sequence], sequence, 0);
  return comparer.result();
}

LogitComparison check_logits(const Model& model, const ReferenceLogits& reference, double relative_tolerance,
                             std::int64_t block) {
  const at::NoGradGuard no_gradient;
  const auto head_VH = model.lm_head_VH();
  const auto device = head_VH.device();
  const std::int64_t positions = reference.logits_BSV.size(1);
  Comparer comparer(reference, relative_tolerance);
  for (std::int64_t sequence = 0; sequence < reference.input_ids_BS.size(0); ++sequence) {
    ForwardInput input;
    input.tokens_BS = reference.input_ids_BS.narrow(0, sequence, 1).to(device);
    if (reference.attention_mask_BS.defined()) {
      input.key_mask_BS = reference.attention_mask_BS.narrow(0, sequence, 1).to(device);
    }
    if (block > 0) input.block_BS = blocks_of(reference, sequence, block);
    if (reference.rows_R.defined()) input.rows_N = reference.rows_R.to(device);
    const auto hidden_SH = checked_forward(model, input);
    for (std::int64_t first = 0; first < positions; first += kRowsAtOnce) {
      const std::int64_t count = std::min(kRowsAtOnce, positions - first);
      comparer.add(at::mm(hidden_SH.narrow(0, first, count), head_VH.t()), sequence, first);
    }
  }
  LogitComparison found = comparer.result();
  if (reference.rows_R.defined()) found.worst_position = reference.rows_R[found.worst_position].item<std::int64_t>();
  return found;
}

LogitComparison check_forward(const Model& model, const SafetensorsFile& file, const std::string& mode,
                              std::int64_t block, double relative_tolerance) {
  if (block < 0) throw Error("a block of " + std::to_string(block) + " tokens", "--block N takes a number from 1 on");
  const bool has_own_logits = mode.starts_with("two_copy_") || mode.starts_with("cache_");
  const bool is_causal = mode == "block_causal" || mode == "leftpad_block_causal";
  const std::int64_t size = block > 0 ? block : model.traits().block_size;
  if (size == 0 && (has_own_logits || is_causal)) {
    throw Error("the model has no blocks, which the mode `" + mode + "` needs",
                "--block N says how many tokens are a block");
  }
  if (!has_own_logits) {
    const auto reference = read_reference_logits(file, model.traits());
    return check_logits(model, reference, relative_tolerance, is_causal || block > 0 ? size : 0);
  }
  LogitComparison all;
  for (const LogitPair& pair : block_forwards(model, file, mode, size)) {
    ReferenceLogits reference;
    reference.logits_BSV = pair.expected_BSV;
    auto one = compare_logits(pair.got_BSV, reference, relative_tolerance);
    one.worst_tensor = pair.name;
    all = all.rows == 0 ? one : together(all, one);
  }
  return all;
}

}  // namespace drift
