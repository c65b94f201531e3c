#include <core/record/step_record.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }
Json count(std::int64_t value) { return value >= 0 ? Json(value) : Json(nullptr); }
Json per_response(std::int64_t rows, std::int64_t responses) {
  return rows >= 0 && responses > 0 ? Json(static_cast<double>(rows) / static_cast<double>(responses)) : Json(nullptr);
}

}  // namespace

double StepRecord::loss_metric(const std::string& name) const {
  const auto found = loss_metrics.find(name);
  return found == loss_metrics.end() ? kUnknown : found->second;
}

std::string StepRecord::to_json() const {
  Json line;
  line["step"] = step;
  line["loss"] = number(loss);
  line["reward"] = number(reward);
  line["solved"] = number(solved);
  line["kl"] = number(loss_metric("kl"));
  line["grad_norm"] = number(grad_norm);
  line["token_utility"] = number(loss_metric("token_utility"));
  line["live_groups"] = count(live_groups);
  line["kept_groups"] = count(kept_groups);
  line["groups"] = groups;
  line["response_length"] = number(response_length);
  line["forwards_per_response"] = number(forwards_per_response);
  line["tokens_per_second"] = number(tokens_per_second);
  line["learning_rate"] = number(learning_rate);
  line["update_forwards_per_response"] = per_response(forward_rows, update_responses);
  line["update_backwards_per_response"] = per_response(backward_rows, update_responses);
  line["two_pass"] = two_pass;
  line["skipped"] = skipped;
  for (const auto& [label, value] : reward_parts) line["reward." + label] = number(value);
  for (const auto& [name, value] : loss_metrics) line[name] = number(value);
  if (step > 0) {
    line["seconds"] = {{"rollout", seconds.rollout},     {"reward", seconds.reward}, {"old", seconds.old},
                       {"reference", seconds.reference}, {"update", seconds.update}, {"other", seconds.other()},
                       {"total", seconds.total}};
  }
  if (held_out) {
    line["held_out"] = {{"accuracy", held_out->accuracy},
                        {"standard_error", held_out->standard_error},
                        {"items", held_out->items},
                        {"forwards_per_response", held_out->forwards_per_response},
                        {"seconds", held_out->seconds}};
  }
  return line.dump();
}

}  // namespace drift
