#include <core/record/step_record.h>

#include <core/io/json.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

struct NamedNumber {
  const char* name;
  double StepRecord::*number;
};
constexpr NamedNumber kNumbers[] = {
    {"loss", &StepRecord::loss},
    {"reward", &StepRecord::reward},
    {"solved", &StepRecord::solved},
    {"grad_norm", &StepRecord::grad_norm},
    {"learning_rate", &StepRecord::learning_rate},
    {"response_length", &StepRecord::response_length},
    {"forwards_per_response", &StepRecord::forwards_per_response},
    {"tokens_per_second", &StepRecord::tokens_per_second},
    {"update_forwards_per_response", &StepRecord::update_forwards_per_response},
    {"update_backwards_per_response", &StepRecord::update_backwards_per_response},
    {"token_surprisal", &StepRecord::token_surprisal},
    {"same_responses", &StepRecord::same_responses},
    {"rollout_gap", &StepRecord::rollout_gap},
    {"rollout_gap_max", &StepRecord::rollout_gap_max},
    {"rollout_weight", &StepRecord::rollout_weight},
    {"rollout_capped", &StepRecord::rollout_capped},
    {"value_loss", &StepRecord::value_loss},
    {"value_explained_variance", &StepRecord::value_explained_variance},
    {"rank_idle", &StepRecord::rank_idle},
    {"rank_idle_max", &StepRecord::rank_idle_max},
};

struct NamedPhase {
  const char* name;
  double StepSeconds::*seconds;
};
constexpr NamedPhase kPhases[] = {
    {"rollout", &StepSeconds::rollout},     {"reward", &StepSeconds::reward}, {"old", &StepSeconds::old},
    {"reference", &StepSeconds::reference}, {"value", &StepSeconds::value},   {"update", &StepSeconds::update},
};

constexpr std::string_view kRewardPart = "reward.";
constexpr std::string_view kLossMetric = "loss/";

double known_or_zero(double value) { return std::isnan(value) ? 0 : value; }

double found_in(const std::map<std::string, double, std::less<>>& numbers, std::string_view name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? kUnknown : found->second;
}

double found_in(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? kUnknown : found->get<double>();
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json count(const std::optional<std::int64_t>& value) { return value ? Json(*value) : Json(nullptr); }

Json json_of(const StepSeconds& seconds) {
  Json json;
  for (const NamedPhase& phase : kPhases) {
    if (!std::isnan(seconds.*phase.seconds)) json[phase.name] = number(seconds.*phase.seconds);
  }
  json["other"] = number(seconds.other());
  json["total"] = number(seconds.total);
  return json;
}

Json json_of(const HeldOutResult& result) {
  Json json = {{"accuracy", result.accuracy},
               {"standard_error", result.standard_error},
               {"items", result.items},
               {"forwards_per_response", result.forwards_per_response},
               {"seconds", result.seconds}};
  if (!std::isnan(result.validation)) json["validation"] = result.validation;
  return json;
}

StepSeconds parse_seconds(const Json& json) {
  StepSeconds seconds;
  for (const NamedPhase& phase : kPhases)
    seconds.*phase.seconds = json.is_object() ? found_in(json, phase.name) : kUnknown;
  seconds.total = json.is_object() ? found_in(json, "total") : json.get<double>();
  return seconds;
}

HeldOutResult parse_held_out(const Json& json) {
  return {
      json.at("accuracy").get<double>(),       found_in(json, "standard_error"), json.value("items", std::int64_t{0}),
      found_in(json, "forwards_per_response"), found_in(json, "seconds"),        found_in(json, "validation")};
}

void take_number(StepRecord& record, const std::string& name, const Json& value) {
  const auto known = std::ranges::find(kNumbers, name, &NamedNumber::name);
  if (known != std::end(kNumbers)) {
    record.*known->number = value.get<double>();
  } else if (name == "groups") {
    record.groups = value.get<std::int64_t>();
  } else if (name == "live_groups") {
    record.live_groups = value.get<std::int64_t>();
  } else if (name == "kept_groups") {
    record.kept_groups = value.get<std::int64_t>();
  } else if (name.starts_with(kRewardPart)) {
    record.reward_parts[name.substr(kRewardPart.size())] = value.get<double>();
  } else if (name.starts_with(kLossMetric)) {
    record.loss_metrics[name.substr(kLossMetric.size())] = value.get<double>();
  } else if (name.find('/') != std::string::npos) {
    record.plugin_metrics[name] = value.get<double>();
  } else if (name != "step" && name != "seconds") {
    record.loss_metrics[name] = value.get<double>();
  }
}

StepRecord parse_object(const Json& object) {
  StepRecord record;
  record.step = object.at("step").get<std::int64_t>();
  for (const auto& [name, value] : object.items()) {
    if (value.is_number()) take_number(record, name, value);
  }
  record.two_pass = object.value("two_pass", false);
  record.skipped = object.value("skipped", false);
  if (const auto seconds = object.find("seconds"); seconds != object.end() && !seconds->is_null())
    record.seconds = parse_seconds(*seconds);
  if (const auto held_out = object.find("held_out"); held_out != object.end() && !held_out->is_null())
    record.held_out = parse_held_out(*held_out);
  return record;
}

}  // namespace

double StepSeconds::other() const {
  double rest = total;
  for (const NamedPhase& phase : kPhases) rest -= known_or_zero(this->*phase.seconds);
  return rest;
}

std::vector<PhaseSeconds> StepSeconds::phases() const {
  std::vector<PhaseSeconds> phases;
  for (const NamedPhase& phase : kPhases) {
    if (!std::isnan(this->*phase.seconds)) phases.push_back({phase.name, this->*phase.seconds});
  }
  if (!phases.empty()) phases.push_back({"other", other()});
  return phases;
}

double StepRecord::value(std::string_view name) const {
  const auto known = std::ranges::find(kNumbers, name, &NamedNumber::name);
  if (known != std::end(kNumbers)) return this->*known->number;
  if (name == "groups") return static_cast<double>(groups);
  if (name == "live_groups") return live_groups ? static_cast<double>(*live_groups) : kUnknown;
  if (name == "kept_groups") return kept_groups ? static_cast<double>(*kept_groups) : kUnknown;
  if (name == "seconds") return seconds ? seconds->total : kUnknown;
  if (name == "held_out") return held_out ? held_out->accuracy : kUnknown;
  if (name.starts_with(kRewardPart)) return found_in(reward_parts, name.substr(kRewardPart.size()));
  if (name.starts_with(kLossMetric)) return found_in(loss_metrics, name.substr(kLossMetric.size()));
  return found_in(plugin_metrics, name);
}

std::string to_json_line(const StepRecord& record) {
  Json line;
  line["step"] = record.step;
  for (const char* name : {"loss", "reward", "solved", "grad_norm"}) line[name] = number(record.value(name));
  line["live_groups"] = count(record.live_groups);
  line["kept_groups"] = count(record.kept_groups);
  line["groups"] = record.groups;
  for (const char* name : {"response_length", "forwards_per_response", "tokens_per_second", "learning_rate",
                           "update_forwards_per_response", "update_backwards_per_response"})
    line[name] = number(record.value(name));
  for (const char* name : {"token_surprisal", "same_responses", "rollout_gap", "rollout_gap_max", "rollout_weight",
                           "rollout_capped", "value_loss", "value_explained_variance", "rank_idle", "rank_idle_max"}) {
    if (!std::isnan(record.value(name))) line[name] = number(record.value(name));
  }
  line["two_pass"] = record.two_pass;
  line["skipped"] = record.skipped;
  for (const auto& [label, value] : record.reward_parts) line[std::string(kRewardPart) + label] = number(value);
  for (const auto& [name, value] : record.loss_metrics) line[std::string(kLossMetric) + name] = number(value);
  for (const auto& [name, value] : record.plugin_metrics) line[name] = number(value);
  if (record.seconds) line["seconds"] = json_of(*record.seconds);
  if (record.held_out) line["held_out"] = json_of(*record.held_out);
  return json_text(line);
}

StepRecord parse_step(std::string_view line) {
  try {
    return parse_object(parse_json_object(line, "the line"));
  } catch (const nlohmann::json::exception& error) {
    throw Error("not the metrics of a step: " + json_problem(error));
  }
}

}  // namespace drift
