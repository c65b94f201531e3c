#include <core/config/schema.h>

#include <core/config/document.h>
#include <core/config/run_settings.h>
#include <core/config/training_settings.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace drift {
namespace {

constexpr KeyEffect kTraining{KeyRole::kTraining}, kResult{KeyRole::kTraining, /*on_responses=*/true},
    kMeasurement{KeyRole::kMeasurement}, kResponses{KeyRole::kMeasurement, /*on_responses=*/true},
    kBookkeeping{KeyRole::kBookkeeping};

using Effects = std::map<std::string, KeyEffect, std::less<>>;

/// @param exceptions  the keys whose effect is not the section's
SectionSchema section(std::string name, std::string doc, KeyEffect effect, std::vector<Parameter> keys,
                      Effects exceptions, std::optional<ComponentKind> component,
                      std::vector<ConfigPurpose> needed_for) {
  for ([[maybe_unused]] const auto& [key, other] : exceptions) assert(std::ranges::count(keys, key, &Parameter::name));
  return {std::move(name), std::move(doc),       effect, std::move(keys), std::move(exceptions),
          component,       std::move(needed_for)};
}

/// A section whose keys a struct of run_settings.h or training_settings.h declares.
template <class Settings>
SectionSchema section(std::string doc, KeyEffect effect, Effects exceptions, std::vector<ConfigPurpose> needed_for,
                      std::optional<ComponentKind> component = std::nullopt) {
  return section(Settings::kSection, std::move(doc), effect, declared_keys<Settings>(), std::move(exceptions),
                 component, std::move(needed_for));
}

std::vector<SectionSchema> make_sections() {
  using enum ConfigPurpose;
  using enum ComponentKind;
  const std::vector<ConfigPurpose> with_model = {kTrain, kPretrain, kEval, kGenerate, kModelOnly};
  const std::vector<ConfigPurpose> all = {kTrain, kPretrain, kEval, kGenerate, kModelOnly, kJudge, kData};
  const Effects of_training = {{"checkpoint_every", kBookkeeping},
                               {"keep_checkpoints", kBookkeeping},
                               {"keep_best", kBookkeeping},
                               {"memory_budget_mib", kMeasurement},
                               {"offload", kMeasurement}};
  Effects of_policy_training = of_training;
  of_policy_training["gap_responses"] = kMeasurement;
  std::vector<SectionSchema> sections = {
      section<RunSettings>("the run itself", kMeasurement,
                           {{"name", kBookkeeping}, {"seed", kResult}, {"memory_gib", kBookkeeping}}, all),
      section("plugins", "where plugins are looked for first", kBookkeeping,
              {paths("paths", "plugin files, or folders that hold them")}, {}, std::nullopt, all),
      section<ModelSettings>("the backbone and its checkpoint", kResult, {{"initialize", kTraining}}, with_model,
                             kModel),
      section<AdapterSettings>("low-rank adapters (LoRA): they alone are trained, the model's weights are frozen",
                               kTraining, {{"path", kResult}}, with_model),
      section<TaskSettings>("the problems", kResult, {{"max_prompt_tokens", kTraining}},
                            {kTrain, kPretrain, kEval, kData}, kTask),
      section<PromptSettings>("the text around a question", kResult, {}, {kTrain, kPretrain, kEval, kGenerate, kData}),
      section<RewardSettings>("what judges a response", kResult,
                              {{"truncation_is_wrong", kTraining}, {"truncation_margin", kTraining}},
                              {kTrain, kEval, kJudge}, kReward),
      section("reward.added", "a further reward; accuracy does not count it", kResult,
              declared_keys<AddedRewardSettings>(), {}, kReward, {}),
      section<RolloutSettings>("how responses are written", kTraining, {}, {kTrain, kEval, kGenerate}, kRollout),
      section<EvaluationSettings>("accuracy on held-out items", kMeasurement,
                                  {{"samples", kResponses}, {"trajectories", kBookkeeping}},
                                  {kTrain, kPretrain, kEval}),
      section("evaluation.rollout", "how responses are written in evaluation, if not as in [rollout]", kResponses,
              declared_keys<RolloutSettings>(), {}, kRollout, {kTrain, kEval}),
      section<AlgorithmSettings>("the algorithm: masking strategy, loss and the settings of its paper", kTraining, {},
                                 {kTrain}),
      section("algorithm.masking", "which masked contexts are scored", kTraining,
              {{"name", "", "which masking strategy; default: the algorithm's"}}, {}, kMaskingStrategy, {kTrain}),
      section("algorithm.loss", "what is minimised", kTraining, {{"name", "", "which loss; default: the algorithm's"}},
              {}, kLossEstimator, {kTrain}),
      section<AdvantageSettings>("from the rewards of a group to its advantages", kTraining, {}, {kTrain}),
      section<GroupFilterSettings>("which groups are trained on", kTraining, {}, {kTrain}),
      section<ReferenceSettings>("the policy that the KL compares with, where the loss has one", kTraining,
                                 {{"offload", kMeasurement}}, {kTrain}),
      section<ValueModelSettings>("a value model (critic): tokens get generalised advantages    (docs/algorithms.md)",
                                  kTraining, {}, {kTrain}),
      section<TrainSettings>("the optimisation", kTraining, of_policy_training, {kTrain}),
      section<PretrainSettings>("masked-diffusion likelihood training on a task's demonstrations", kTraining,
                                of_training, {kPretrain}),
      section<AlarmLimits>("when a run warns that it goes wrong; a limit of 0 turns its alarm off    (docs/runs.md)",
                           kBookkeeping, {}, {kTrain, kPretrain}),
      section<ReportSettings>(
          "what a run keeps for its report, and writes for programs that watch runs    (docs/runs.md)", kBookkeeping,
          {}, {kTrain, kPretrain}),
      section<DistributedSettings>("a run of several processes    (docs/distributed.md)", kBookkeeping,
                                   {{"shard", kMeasurement}}, {kTrain, kPretrain})};
  std::ranges::find(sections, "reward.added", &SectionSchema::name)->is_family = true;
  return sections;
}

}  // namespace

bool SectionSchema::needed(ConfigPurpose purpose) const {
  return std::find(needed_for.begin(), needed_for.end(), purpose) != needed_for.end();
}

KeyEffect SectionSchema::effect_of(std::string_view key) const {
  const auto found = effects.find(key);
  return found == effects.end() ? effect : found->second;
}

const std::vector<SectionSchema>& config_sections() {
  static const std::vector<SectionSchema> sections = make_sections();
  return sections;
}

const SectionSchema* find_section(std::string_view name) {
  const auto& sections = config_sections();
  const auto found = std::find_if(sections.begin(), sections.end(), [&](const SectionSchema& s) {
    return s.is_family ? name.starts_with(s.name + ".") && name.find('.', s.name.size() + 1) == name.npos
                       : s.name == name;
  });
  return found == sections.end() ? nullptr : &*found;
}

bool may_change_on_resume(std::string_view key) {
  static const std::vector<Parameter> of_adamw = declared_keys<AdamwSettings>();
  const std::string_view section = section_of(key), name = name_of(key);
  return (section == TrainSettings::kSection || section == PretrainSettings::kSection ||
          section == ValueModelSettings::kSection) &&
         (name == "steps" || std::ranges::count(of_adamw, name, &Parameter::name) > 0);
}

}  // namespace drift
