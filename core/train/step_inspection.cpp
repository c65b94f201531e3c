#include <core/train/step_inspection.h>

#include <core/base/unknown.h>
#include <core/rollout/response_text.h>
#include <core/update/policy_scores.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostViews = 32;  // of a response
constexpr int kDigits = 5;

/// With the digits that a page shows: such numbers are most of the file. Unknown numbers become null.
double shortened(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", kDigits, value);
  return std::strtod(text, nullptr);
}

template <class T>
T element(const at::Tensor& tensor_FL, std::int64_t row, std::int64_t column) {
  return tensor_FL.const_data_ptr<T>()[row * tensor_FL.size(1) + column];
}

/// Over the views that score a position.
struct TokenSums {
  std::int64_t views = 0, steps = 0, zero = 0, dropped = 0;
  double before = 0, after = 0, gradient = 0;
};

/// The marks of `drift plan`, from what the model sees to what is learned there.
char mark_of(const MaskPlan& plan, std::int64_t view, std::int64_t position) {
  const bool masked = element<bool>(plan.masked_FL, view, position);
  if (element<bool>(plan.target_FL, view, position)) {
    if (!masked) return '*';
    return !plan.committed_FL.defined() || element<bool>(plan.committed_FL, view, position) ? '#' : 'o';
  }
  if (plan.attended_FL.defined() && !element<bool>(plan.attended_FL, view, position)) return ' ';
  return masked ? '-' : '.';
}

Json part_json(const RewardResult& part, const std::string& label, double weight) {
  Json json = {
      {"name", label}, {"value", shortened(part.value)}, {"weight", weight}, {"status", status_name(part.status)}};
  if (!part.reason.empty()) json["reason"] = part.reason;
  return json;
}

std::string prompt_text(const Trajectories& made, std::int64_t response, const Tokenizer& tokenizer) {
  std::vector<std::int64_t> ids;
  for (std::int64_t p = 0; p < made.prompts.tokens_BP.size(1); ++p) {
    if (element<bool>(made.prompts.mask_BP, response, p))
      ids.push_back(element<std::int64_t>(made.prompts.tokens_BP, response, p));
  }
  return written_text(ids, tokenizer, /*skip_special=*/false);
}

}  // namespace

InspectionSettings InspectionSettings::from(const RunConfig& config) {
  const auto report = config.get<ReportSettings>();
  return {report.inspect_every, report.inspect_groups, config.get<TrainSettings>().steps};
}

bool InspectionSettings::is_due(std::int64_t step) const {
  return every > 0 && (step == 1 || step == last_step || step % every == 0);
}

// ---- What is measured ----

void StepInspection::before_update(Ranks& ranks, const Model& model, InspectedUpdate update) {
  update_ = std::move(update);
  const std::int64_t responses = std::min(update_.response_number_B.size(0), most_groups_ * group_size_);
  for (const MaskPlan& plan : update_.plans) {
    PlanScores scores;
    for (std::int64_t view = 0; view < plan.response_F.size(0); ++view) {
      if (plan.response_F.const_data_ptr<std::int64_t>()[view] < responses) scores.views.push_back(view);
    }
    const auto scored = score_views(ranks, model, update_.kept, plan, scores.views, /*want_entropy=*/false);
    scores.before_NL = scored.logprob_FL.to(at::kCPU, at::kFloat);
    scores_.push_back(std::move(scores));
  }
}

void StepInspection::after_update(Ranks& ranks, const Model& model, std::vector<LossTreatment> treatments) {
  treatments_ = std::move(treatments);
  for (std::size_t p = 0; p < scores_.size(); ++p) {
    const auto scored =
        score_views(ranks, model, update_.kept, update_.plans[p], scores_[p].views, /*want_entropy=*/false);
    scores_[p].after_NL = scored.logprob_FL.to(at::kCPU, at::kFloat);
  }
}

// ---- What is shown ----

std::vector<std::int64_t> StepInspection::kept_groups() const {
  std::vector<std::int64_t> groups;
  if (!update_.response_number_B.defined()) return groups;
  const auto* const number = update_.response_number_B.const_data_ptr<std::int64_t>();
  for (std::int64_t b = 0; b < update_.response_number_B.size(0); b += group_size_)
    groups.push_back(number[b] / group_size_);
  return groups;
}

/// Those that were trained on come first: they show more.
std::vector<std::int64_t> StepInspection::shown_groups(std::int64_t groups) const {
  std::set<std::int64_t> shown;
  const auto is_wanted = [&] { return static_cast<std::int64_t>(shown.size()) < most_groups_; };
  for (const std::int64_t group : kept_groups()) {
    if (is_wanted()) shown.insert(group);
  }
  for (std::int64_t group = 0; group < groups && is_wanted(); ++group) shown.insert(group);
  return {shown.begin(), shown.end()};
}

/// The response's number among those that were trained on; -1: none.
std::int64_t StepInspection::kept_number(std::int64_t response) const {
  const auto groups = kept_groups();
  const auto found = std::ranges::find(groups, response / group_size_);
  return found == groups.end() ? -1 : (found - groups.begin()) * group_size_ + response % group_size_;
}

/// Up to the last position that has a token or is scored: what fills the response's length up is left out.
std::size_t StepInspection::shown_tokens(const Trajectories& made, std::int64_t response) const {
  const std::int64_t length = made.tokens_BL.size(1), kept = kept_number(response);
  std::int64_t end = 1;
  for (std::int64_t i = 0; i < length; ++i) {
    if (element<bool>(made.valid_BL, response, i)) end = i + 1;
  }
  for (std::size_t p = 0; p < scores_.size() && kept >= 0; ++p) {
    for (const std::int64_t view : scores_[p].views) {
      if (update_.plans[p].response_F.const_data_ptr<std::int64_t>()[view] != kept) continue;
      for (std::int64_t i = end; i < length; ++i) {
        if (element<bool>(update_.plans[p].target_FL, view, i)) end = i + 1;
      }
    }
  }
  return static_cast<std::size_t>(end);
}

Json StepInspection::to_json(const InspectedRollout& rollout) const {
  const auto groups = static_cast<std::int64_t>(rollout.items.size());
  Json json = {{"step", step_},
               {"groups_of_step", groups},
               {"kept_groups", kept_groups().size()},
               {"group_size", group_size_},
               {"length", rollout.trajectories.tokens_BL.size(1)},
               {"groups", Json::array()}};
  for (const std::int64_t group : shown_groups(groups)) json["groups"].push_back(group_json(rollout, group));
  return json;
}

Json StepInspection::group_json(const InspectedRollout& rollout, std::int64_t group) const {
  const TaskItem& item = rollout.items[static_cast<std::size_t>(group)];
  Json json = {{"group", group},
               {"item", item.id},
               {"prompt", prompt_text(rollout.trajectories, group * group_size_, rollout.prompts.tokenizer())},
               {"reference", item.reference},
               {"kept", kept_number(group * group_size_) >= 0},
               {"responses", Json::array()}};
  for (std::int64_t b = group * group_size_; b < (group + 1) * group_size_; ++b)
    json["responses"].push_back(response_json(rollout, b));
  return json;
}

Json StepInspection::response_json(const InspectedRollout& rollout, std::int64_t response) const {
  const auto number = static_cast<std::size_t>(response);
  const Trajectories& made = rollout.trajectories;
  const Judgement& judgement = rollout.scored.judgements[number];
  Json json = {{"reward", shortened(rollout.scored.reward_B.const_data_ptr<double>()[response])},
               {"solved", rollout.scored.solved[number] != 0},
               {"reason", judgement.reason},
               {"parts", Json::array()}};
  for (std::size_t r = 0; r < judgement.parts.size(); ++r)
    json["parts"].push_back(part_json(judgement.parts[r], rollout.judge.labels()[r], rollout.judge.weights()[r]));

  const std::size_t shown = shown_tokens(made, response);
  std::vector<std::int64_t> ids, steps;
  std::vector<double> commit;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(shown); ++i) {
    ids.push_back(element<std::int64_t>(made.tokens_BL, response, i));
    steps.push_back(element<std::int32_t>(made.step_BL, response, i));
    commit.push_back(shortened(element<float>(made.commit_logprob_BL, response, i)));
  }
  json["tokens"] = display_pieces(ids, rollout.prompts.tokenizer());
  json["commit_step"] = steps;
  json["commit_logprob"] = commit;
  if (const std::int64_t kept = kept_number(response); kept >= 0) add_update(json, kept, shown);
  return json;
}

void StepInspection::add_update(Json& json, std::int64_t kept, std::size_t shown) const {
  std::vector<TokenSums> sums(shown);
  for (std::size_t p = 0; p < scores_.size(); ++p) {
    const LossTreatment& treatment = treatments_[p];
    for (std::size_t n = 0; n < scores_[p].views.size(); ++n) {
      const std::int64_t view = scores_[p].views[n], row = static_cast<std::int64_t>(n);
      if (update_.plans[p].response_F.const_data_ptr<std::int64_t>()[view] != kept) continue;
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(shown); ++i) {
        if (!element<bool>(update_.plans[p].target_FL, view, i)) continue;
        TokenSums& sum = sums[static_cast<std::size_t>(i)];
        const std::int64_t zero = element<std::int64_t>(treatment.zero_FL, view, i);
        const bool dropped = element<bool>(treatment.dropped_FL, view, i);
        ++sum.views;
        sum.steps += treatment.steps_F.const_data_ptr<std::int64_t>()[view];
        sum.zero += dropped ? 0 : zero;
        sum.dropped += dropped ? zero : 0;
        sum.before += element<float>(scores_[p].before_NL, row, i);
        sum.after += element<float>(scores_[p].after_NL, row, i);
        sum.gradient += element<float>(treatment.gradient_FL, view, i);
      }
    }
  }
  json["advantage"] = shortened(update_.advantage_B.to(at::kDouble)[kept].item<double>());
  const auto list = [&](const char* name, const auto& value) {
    Json& values = json[name] = Json::array();
    for (const TokenSums& sum : sums) values.push_back(value(sum));
  };
  const auto mean = [](double sum, const TokenSums& token) {
    return token.views == 0 ? kUnknown : shortened(sum / static_cast<double>(token.views));
  };
  list("before", [&](const TokenSums& token) { return mean(token.before, token); });
  list("after", [&](const TokenSums& token) { return mean(token.after, token); });
  list("gradient", [](const TokenSums& token) { return shortened(token.gradient); });
  list("scored", [](const TokenSums& token) { return token.steps; });
  list("clipped", [](const TokenSums& token) { return token.zero; });
  list("dropped", [](const TokenSums& token) { return token.dropped; });
  if (!update_.tokens.empty()) {
    const auto own_BL = update_.tokens.front().advantage_BL.to(at::kCPU, at::kDouble).expand_as(update_.kept.tokens_BL);
    Json& values = json["token_advantage"] = Json::array();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(shown); ++i)
      values.push_back(shortened(own_BL[kept][i].item<double>()));
  }
  json["views"] = views_json(kept, shown);
}

/// As many as a page can show; `count` says how many there are.
Json StepInspection::views_json(std::int64_t kept, std::size_t shown) const {
  Json list = Json::array();
  std::size_t count = 0;
  for (std::size_t p = 0; p < scores_.size(); ++p) {
    const MaskPlan& plan = update_.plans[p];
    for (const std::int64_t view : scores_[p].views) {
      if (plan.response_F.const_data_ptr<std::int64_t>()[view] != kept || ++count > kMostViews) continue;
      std::string marks;
      for (std::size_t i = 0; i < shown; ++i) marks += mark_of(plan, view, static_cast<std::int64_t>(i));
      Json one = {{"iteration", p}, {"forward", plan.term_F.const_data_ptr<std::int64_t>()[view]}};
      if (plan.weight_F.defined()) one["weight"] = shortened(plan.weight_F.const_data_ptr<float>()[view]);
      if (plan.prompt_masked_FP.defined())
        one["prompt_masked"] = plan.prompt_masked_FP[view].sum().item<std::int64_t>();
      one["marks"] = marks;
      list.push_back(std::move(one));
    }
  }
  return {{"count", count}, {"shown", std::move(list)}};
}

}  // namespace drift
