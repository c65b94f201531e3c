#include <core/lab/loss_case.h>

#include <core/base/unknown.h>
#include <core/boundary/checked.h>
#include <core/config/nearest.h>
#include <core/io/json.h>
#include <core/lab/loss_slope.h>
#include <core/update/update_batch.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <cstdio>

namespace drift {
namespace {

/// A JSON value and how to get there, for messages.
class Place {
 public:
  Place(const nlohmann::json& value, std::string path) : value_(value), path_(std::move(path)) {}

  bool has(const char* key) const { return value_.contains(key) && !value_[key].is_null(); }
  Place operator[](const char* key) const {
    if (!has(key)) throw wrong("`" + std::string(key) + "` is missing");
    return {value_[key], path_ + (path_.ends_with(": ") ? "" : ".") + key};
  }
  Place at(std::size_t index) const { return {value_[index], path_ + "[" + std::to_string(index) + "]"}; }
  std::size_t size() const { return value_.size(); }
  const nlohmann::json& json() const { return value_; }

  const Place& array(std::size_t length) const {
    if (!value_.is_array()) throw wrong("must be a list");
    if (value_.size() != length)
      throw wrong("has " + std::to_string(value_.size()) + " entries where " + std::to_string(length) + " belong");
    return *this;
  }
  double number() const {
    if (!value_.is_number()) throw wrong("must be a number");
    return value_.get<double>();
  }
  std::int64_t integer() const {
    if (!value_.is_number_integer()) throw wrong("must be an integer");
    return value_.get<std::int64_t>();
  }
  std::string text() const {
    if (!value_.is_string()) throw wrong("must be a text");
    return value_.get<std::string>();
  }
  /// "1101": one digit a position.
  std::vector<bool> bits(std::size_t length) const {
    const std::string digits = text();
    if (digits.size() != length || digits.find_first_not_of("01") != std::string::npos)
      throw wrong("must be " + std::to_string(length) + " digits, each 0 or 1");
    std::vector<bool> bits;
    for (const char digit : digits) bits.push_back(digit == '1');
    return bits;
  }
  Error wrong(const std::string& what) const {
    return Error(path_ + (path_.ends_with(": ") ? "" : ": ") + what, "docs/algorithms.md describes the format");
  }

 private:
  const nlohmann::json& value_;
  std::string path_;
};

const std::initializer_list<const char*> kCaseKeys = {
    "source",          "loss",      "parameters", "values",   "advantage", "valid",     "group_size",
    "optimizer_steps", "responses", "views",      "forwards", "expected",  "tolerance", "variants"};
const std::initializer_list<const char*> kViewKeys = {
    "response",          "forward",       "weight", "masked",         "scored",
    "committed",         "current",       "old",    "reference",      "entropy",
    "reference_entropy", "token_weights", "level",  "token_advantage"};
const std::initializer_list<const char*> kExpectedKeys = {"loss", "metrics", "gradient"};

void refuse_unknown_keys(const Place& place, std::initializer_list<const char*> known) {
  for (const auto& [key, value] : place.json().items()) {
    const std::vector<std::string> names(known.begin(), known.end());
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const std::string nearest = nearest_name(key, names);
    throw place.wrong("unknown key `" + key + "`" + (nearest.empty() ? "" : ", did you mean `" + nearest + "`?"));
  }
}

Parameter::Value parameter(const Place& place, const std::string& key, const ComponentEntry& entry) {
  std::vector<std::string> names;
  for (const Parameter& spec : entry.params) {
    names.push_back(spec.name);
    if (spec.name != key) continue;
    const Place value = place[key.c_str()];
    Parameter::Value typed = spec.default_value;
    if (std::holds_alternative<bool>(typed) && value.json().is_boolean()) return value.json().get<bool>();
    if (std::holds_alternative<double>(typed) && value.json().is_number()) return value.number();
    if (std::holds_alternative<std::int64_t>(typed) && value.json().is_number_integer()) return value.integer();
    if (std::holds_alternative<std::string>(typed) && value.json().is_string()) return value.text();
    if (std::holds_alternative<std::vector<double>>(typed) && value.json().is_array()) {
      std::vector<double> numbers;
      for (std::size_t i = 0; i < value.size(); ++i) numbers.push_back(value.at(i).number());
      return numbers;
    }
    throw value.wrong("must be of type " + type_name(spec.default_value));
  }
  const std::string nearest = nearest_name(key, names);
  throw place.wrong("loss `" + entry.name + "` has no parameter `" + key + "`" +
                    (nearest.empty() ? "" : ", did you mean `" + nearest + "`?"));
}

/// Collects the views of a case row by row.
struct CaseRows {
  std::size_t length, responses;
  bool probabilities;
  std::vector<std::int64_t> of_response, forward;
  std::vector<double> weight, token_weight, current, old, reference, entropy, reference_entropy, token_advantage;
  std::vector<bool> masked, scored, committed;

  void add(const Place& view, const std::vector<std::vector<bool>>& valid) {
    refuse_unknown_keys(view, kViewKeys);
    const std::int64_t response = view["response"].integer();
    if (response < 0 || response >= static_cast<std::int64_t>(responses)) {
      throw view["response"].wrong("there are " + std::to_string(responses) + " responses, counted from 0");
    }
    of_response.push_back(response);
    forward.push_back(view.has("forward") ? view["forward"].integer() : 0);
    if (forward.back() < 0) throw view["forward"].wrong("must be at least 0");
    weight.push_back(view.has("weight") ? view["weight"].number() : 1);
    const auto mask = view["masked"].bits(length);
    std::vector<bool> score = view.has("scored") ? view["scored"].bits(length) : mask;
    if (!view.has("scored")) {
      for (std::size_t i = 0; i < length; ++i) score[i] = score[i] && valid[static_cast<std::size_t>(response)][i];
    }
    append(masked, mask);
    append(committed, view.has("committed") ? view["committed"].bits(length) : score);
    add_values(view, "current", score, current);
    add_values(view, view.has("old") ? "old" : "current", score, old);
    add_optional(view, "reference", score, reference);
    add_optional(view, "entropy", score, entropy);
    add_optional(view, "reference_entropy", score, reference_entropy);
    add_optional(view, "token_advantage", score, token_advantage);
    append(scored, score);
    if (view.has("level")) {
      // Of each position the masked share of its block: its log-probability counts 1 / level.
      std::vector<double> level;
      add_values(view, "level", score, level);
      for (std::size_t i = 0; i < length; ++i) {
        if (score[i] && !(level[i] > 0)) throw view["level"].at(i).wrong("must be above 0");
        token_weight.push_back(score[i] ? 1 / level[i] : 1);
      }
    } else {
      add_optional(view, "token_weights", score, token_weight);
    }
  }

  static void append(std::vector<bool>& to, const std::vector<bool>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }
  void add_optional(const Place& view, const char* key, const std::vector<bool>& score, std::vector<double>& to) {
    if (view.has(key)) add_values(view, key, score, to);
  }
  void add_values(const Place& view, const char* key, const std::vector<bool>& score, std::vector<double>& to) {
    const Place values = view[key];
    values.array(length);
    const bool logarithm = probabilities && (key == std::string_view("current") || key == std::string_view("old") ||
                                             key == std::string_view("reference"));
    for (std::size_t i = 0; i < length; ++i) {
      if (!score[i]) {
        to.push_back(0);
        continue;
      }
      const double value = values.at(i).number();
      if (logarithm && !(value > 0 && value <= 1)) throw values.at(i).wrong("must be a probability, in (0, 1]");
      to.push_back(logarithm ? std::log(value) : value);
    }
  }
};

at::Tensor floats(const std::vector<double>& values, at::IntArrayRef shape) {
  return at::tensor(at::ArrayRef<double>(values)).view(shape);
}

at::Tensor bools(const std::vector<bool>& values, at::IntArrayRef shape) {
  return floats({values.begin(), values.end()}, shape) != 0;
}

at::Tensor integers(const std::vector<std::int64_t>& values) { return at::tensor(at::ArrayRef<std::int64_t>(values)); }

/// [B, L] of what the views say of the tokens that they score.
at::Tensor of_tokens(const LossInput& input, const at::Tensor& advantage_FL, const Place& views) {
  const std::int64_t length = advantage_FL.size(1);
  const auto unknown_BL = at::full({input.advantage_B.size(0), length}, kUnknown, at::kDouble);
  for (std::int64_t place = 0; place < advantage_FL.numel(); ++place) {
    if (!input.plan.target_FL.const_data_ptr<bool>()[place]) continue;
    const std::int64_t b = input.plan.response_F.const_data_ptr<std::int64_t>()[place / length];
    double& known = unknown_BL.data_ptr<double>()[b * length + place % length];
    const double own = advantage_FL.const_data_ptr<double>()[place];
    if (!std::isnan(known) && known != own)
      throw views.wrong("`token_advantage` of position " + std::to_string(place % length) + " of response " +
                        std::to_string(b) + " differs between views");
    known = own;
  }
  return unknown_BL.nan_to_num(0);
}

LossInput read_input(const Place& place) {
  const auto responses = place["advantage"].size();
  place["advantage"].array(responses);
  if (responses == 0) throw place["advantage"].wrong("has no response");
  const Place views = place["views"];
  if (!views.json().is_array() || views.size() == 0) throw views.wrong("must be a list of at least one view");
  const std::size_t length = views.at(0)["masked"].text().size();
  if (length == 0) throw views.at(0)["masked"].wrong("has no position");

  std::vector<std::vector<bool>> valid(responses, std::vector<bool>(length, true));
  if (place.has("valid")) {
    const Place rows = place["valid"];
    rows.array(responses);
    for (std::size_t b = 0; b < responses; ++b) valid[b] = rows.at(b).bits(length);
  }
  const std::string values = place.has("values") ? place["values"].text() : "log-probabilities";
  if (values != "probabilities" && values != "log-probabilities")
    throw place["values"].wrong("must be \"probabilities\" or \"log-probabilities\"");

  CaseRows rows{length, responses, values == "probabilities", {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  for (std::size_t v = 0; v < views.size(); ++v) rows.add(views.at(v), valid);
  const auto F = static_cast<std::int64_t>(views.size()), L = static_cast<std::int64_t>(length),
             B = static_cast<std::int64_t>(responses);
  const auto optional = [&](const std::vector<double>& numbers, const char* key) {
    if (numbers.empty()) return at::Tensor();
    if (numbers.size() != static_cast<std::size_t>(F * L))
      throw views.wrong("`" + std::string(key) + "` is in some views, but not in all");
    return floats(numbers, {F, L});
  };

  LossInput input;
  input.plan.response_F = integers(rows.of_response);
  input.plan.term_F = integers(rows.forward);
  input.plan.masked_FL = bools(rows.masked, {F, L});
  input.plan.target_FL = bools(rows.scored, {F, L});
  input.plan.committed_FL = bools(rows.committed, {F, L});
  input.plan.weight_F = floats(rows.weight, {F});
  input.plan.token_weight_FL = optional(rows.token_weight, "token_weights");
  input.plan.terms = place.has("forwards") ? place["forwards"].integer()
                                           : *std::max_element(rows.forward.begin(), rows.forward.end()) + 1;
  input.log_probs.current_FL = floats(rows.current, {F, L});
  input.log_probs.old_FL = floats(rows.old, {F, L});
  input.log_probs.reference_FL = optional(rows.reference, "reference");
  input.log_probs.entropy_FL = optional(rows.entropy, "entropy");
  input.log_probs.reference_entropy_FL = optional(rows.reference_entropy, "reference_entropy");
  std::vector<double> advantage;
  for (std::size_t b = 0; b < responses; ++b) advantage.push_back(place["advantage"].at(b).number());
  input.advantage_B = floats(advantage, {B});
  if (const auto own_FL = optional(rows.token_advantage, "token_advantage"); own_FL.defined())
    input.advantage_BL = of_tokens(input, own_FL, views);
  std::vector<bool> all_valid;
  for (const auto& row : valid) CaseRows::append(all_valid, row);
  input.valid_BL = bools(all_valid, {B, L});
  const auto whole = [&](const char* key, std::int64_t fallback) {
    return place.has(key) ? place[key].integer() : fallback;
  };
  input.totals = batch_totals(input.plan, whole("responses", B), whole("group_size", B), whole("optimizer_steps", 1));
  input.scored_B = scored_positions(input.plan, B);
  return input;
}

LossExpectation read_expectation(const Place& place) {
  LossExpectation expected;
  if (place.has("tolerance")) expected.tolerance = place["tolerance"].number();
  if (!place.has("expected")) return expected;
  const Place values = place["expected"];
  refuse_unknown_keys(values, kExpectedKeys);
  if (values.has("loss")) expected.loss = values["loss"].number();
  if (values.has("metrics")) {
    for (const auto& [name, value] : values["metrics"].json().items()) {
      if (!value.is_null()) expected.metrics[name] = values["metrics"][name.c_str()].number();
    }
  }
  if (values.has("gradient")) {
    const Place gradient = values["gradient"];
    gradient.array(place["views"].size());
    for (std::size_t v = 0; v < gradient.size(); ++v) {
      const Place row = gradient.at(v);
      row.array(place["views"].at(v)["masked"].text().size());
      std::vector<double> numbers;
      for (std::size_t i = 0; i < row.size(); ++i)
        numbers.push_back(row.at(i).json().is_null() ? kUnknown : row.at(i).number());
      expected.gradient_FL.push_back(std::move(numbers));
    }
  }
  return expected;
}

LossCase read_case(const nlohmann::json& json, const std::string& where, const std::string& variant,
                   const ComponentEntry& entry) {
  const Place place(json, where + (variant.empty() ? "" : ", variant `" + variant + "`") + ": ");
  refuse_unknown_keys(place, kCaseKeys);
  LossCase read;
  read.variant = variant;
  if (place.has("loss")) read.loss = place["loss"].text();
  read.input = read_input(place);
  if (!read.loss.empty() && read.loss != entry.name) return read;
  if (place.has("parameters")) {
    for (const auto& [key, value] : place["parameters"].json().items()) {
      if (!value.is_null()) read.parameters[key] = parameter(place["parameters"], key, entry);
    }
  }
  read.expected = read_expectation(place);
  return read;
}

}  // namespace

std::vector<LossCase> read_loss_cases(const std::filesystem::path& file, const ComponentEntry& entry) {
  const nlohmann::json json = read_json_object(file);
  nlohmann::json base = json;
  base.erase("variants");
  const bool has_variants = json.contains("variants") && json["variants"].is_object() && !json["variants"].empty();
  std::vector<LossCase> cases;
  if (!has_variants || base.contains("expected")) cases.push_back(read_case(base, file.string(), "", entry));
  if (has_variants) {
    for (const auto& [name, patch] : json["variants"].items()) {
      nlohmann::json merged = base;
      merged.merge_patch(patch);
      cases.push_back(read_case(merged, file.string(), name, entry));
    }
  }
  return cases;
}

std::vector<std::string> missing_fields(const LossEstimator& loss, const LossInput& input) {
  const LossNeeds needs = checked_needs(loss);
  std::vector<std::string> missing;
  const auto look = [&](bool needed, const at::Tensor& tensor, const char* field) {
    if (needed && !tensor.defined()) missing.emplace_back(field);
  };
  look(needs.reference, input.log_probs.reference_FL, "reference");
  look(needs.entropy, input.log_probs.entropy_FL, "entropy");
  look(needs.reference && needs.entropy, input.log_probs.reference_entropy_FL, "reference_entropy");
  return missing;
}

LossCaseResult evaluate_case(const LossEstimator& loss, const LossInput& input) {
  const DifferentiatedLoss found = differentiate(loss, input);
  LossCaseResult result;
  result.loss = found.loss.value.item<double>();
  for (const LossMetric& metric : found.loss.metrics) {
    const double count = metric.count.item<double>();
    result.metrics[metric.name] = count > 0 ? metric.sum.item<double>() / count : kUnknown;
  }
  result.gradient_FL = found.gradients.front();
  return result;
}

std::vector<std::string> differences(const LossCaseResult& result, const LossExpectation& expected) {
  std::vector<std::string> found;
  const auto compare = [&](const std::string& what, double got, double want) {
    if (std::abs(got - want) <= expected.tolerance) return;
    char text[96];
    std::snprintf(text, sizeof text, " is %.10g, but %.10g was expected", got, want);
    found.push_back(what + text);
  };
  if (expected.loss) compare("the loss", result.loss, *expected.loss);
  for (const auto& [name, want] : expected.metrics) {
    const auto metric = result.metrics.find(name);
    if (metric == result.metrics.end()) {
      found.push_back("the loss reports no metric `" + name + "`");
    } else {
      compare("`" + name + "`", metric->second, want);
    }
  }
  const auto gradient_FL = result.gradient_FL.contiguous();
  const auto length = gradient_FL.size(1);
  for (std::size_t v = 0; v < expected.gradient_FL.size(); ++v) {
    for (std::size_t i = 0; i < expected.gradient_FL[v].size(); ++i) {
      if (std::isnan(expected.gradient_FL[v][i])) continue;
      compare("the gradient of view " + std::to_string(v) + " at position " + std::to_string(i),
              gradient_FL.const_data_ptr<double>()[v * static_cast<std::size_t>(length) + i],
              expected.gradient_FL[v][i]);
    }
  }
  return found;
}

}  // namespace drift
