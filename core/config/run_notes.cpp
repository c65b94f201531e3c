#include <core/config/resolve.h>

#include <core/base/quote.h>

#include <algorithm>

namespace drift {
namespace {

using About = RunNote::About;

About about(const Origin& origin, const std::string& file) {
  if (origin.kind == Origin::Kind::kCommandLine) return About::kCommandLine;
  return origin.kind == Origin::Kind::kFile && origin.where == file ? About::kFile : About::kShared;
}

void add_preset_notes(const Preset& preset, const RunConfig& config, std::vector<RunNote>& notes) {
  for (const auto& [key, text] : preset.notes) {
    const ResolvedValue* value = config.find(key);
    if (value == nullptr || value->origin.kind != Origin::Kind::kPreset) continue;
    notes.push_back({key + " = " + to_toml(value->value) + " (" + value->origin.text() + ") was " + text});
  }
}

bool is_zero(const std::optional<Parameter::Value>& value) {
  return value && (*value == Parameter::Value(std::int64_t{0}) || *value == Parameter::Value(0.0));
}

/// The accuracy of greedy responses and that of sampled ones do not compare.
bool ends_greedy_evaluation(const SetAside& lost, const MergedConfig& merged, const RunConfig& config) {
  static const std::string kEvaluation = "evaluation.rollout.temperature";
  const bool decided = lost.key == kEvaluation || (lost.key == "rollout.temperature" && !merged.find(kEvaluation));
  const ResolvedValue* now = config.find(kEvaluation);
  return decided && is_zero(lost.leaf.value) && config.has("evaluation.rollout") &&
         !(now != nullptr && is_zero(now->value));
}

/// What follows from other settings of the run than the one that the key names.
void add_loss_notes(const RunConfig& config, std::vector<RunNote>& notes) {
  const ResolvedValue* part = config.find("algorithm.loss.micro_batch");
  if (part != nullptr && part->origin.kind == Origin::Kind::kDerived)
    notes.push_back({"algorithm.loss.micro_batch = " + to_toml(part->value) + ": " + part->origin.text()});
  // A strategy that goes through something in the course of so many inner iterations.
  const ResolvedValue* planned = config.find("algorithm.masking.iterations");
  const ResolvedValue* made = config.find("train.inner_iterations");
  if (planned != nullptr && made != nullptr && planned->value.index() == made->value.index() &&
      planned->value > made->value) {
    notes.push_back({"algorithm.masking.iterations = " + to_toml(planned->value) + ", and train.inner_iterations = " +
                     to_toml(made->value) + ": the plans of later iterations are never drawn; set both to one number"});
  }
}

/// Keys of [adapter] that do nothing here, though somebody set them. Presets and shared files may say what an adapter
/// would be; a run's own file says everything.
void add_adapter_notes(const RunConfig& config, const std::string& file, std::vector<RunNote>& notes) {
  constexpr const char* kKeys[] = {"adapter.rank", "adapter.alpha", "adapter.targets"};
  const ResolvedValue* path = config.find("adapter.path");
  if (path == nullptr) return;
  const auto set_by = [&](const char* key) {
    const ResolvedValue* value = config.find(key);
    const bool is_set = value != nullptr && value->origin.kind != Origin::Kind::kDefault;
    return is_set ? about(value->origin, file) : About::kShared;
  };
  const bool is_saved = path->value != Parameter::Value(std::string());
  const ResolvedValue* offload = config.find("reference.offload");
  if ((is_saved || config.find("adapter.kind")->value != Parameter::Value(std::string("none"))) && offload != nullptr &&
      offload->value == Parameter::Value(true))
    notes.push_back({"reference.offload has no effect: with adapters the frozen weights are the reference policy",
                     set_by("reference.offload")});
  if (is_saved) {
    for (const char* key : kKeys) {
      if (set_by(key) == About::kCommandLine)
        notes.push_back({std::string(key) + " has no effect: the saved adapter has its own", About::kCommandLine});
    }
    return;
  }
  const auto is_set = [&](const char* key) { return set_by(key) != About::kShared; };
  if (std::ranges::any_of(kKeys, is_set) && config.find("adapter.kind")->origin.kind == Origin::Kind::kDefault)
    notes.push_back(
        {"[adapter] is set, but not its kind: all weights are trained; for an adapter: kind = \"lora\"", About::kFile});
}

/// Where nothing is right in a group, an added reward alone decides its advantages.
void add_reward_notes(const RunConfig& config, std::vector<RunNote>& notes) {
  std::string added;
  for (const ResolvedSection& section : config.sections()) {
    if (section.name.starts_with("reward.added.")) added += (added.empty() ? "" : ", ") + section.name;
  }
  if (added.empty() || !config.has("filter")) return;
  const Parameters& filter = config.section("filter");
  if (filter.get<bool>("require_variance") && filter.get<double>("success_low") == 0 &&
      config.section("advantage").get<std::string>("std") != "none")
    notes.push_back({added +
                     ": the rewards of a group in which nothing is right may differ, and its advantages are then "
                     "as large as any; filter.success_low = 0.01 leaves such groups out"});
}

}  // namespace

ResolvedValue* unequal_parts(ResolvedSection& loss, std::int64_t group_size) {
  const auto part = std::ranges::find(loss.values, "micro_batch", &ResolvedValue::name);
  const auto norm = std::ranges::find(loss.values, "norm", &ResolvedValue::name);
  if (part == loss.values.end()) return nullptr;
  // Means over a response, or by its length, have no parts.
  if (norm != loss.values.end() && norm->value != Parameter::Value(std::string("token"))) return nullptr;
  const auto* size = std::get_if<std::int64_t>(&part->value);
  return size == nullptr || *size <= 0 || group_size % *size == 0 ? nullptr : &*part;
}

void make_equal(ResolvedValue& part, std::int64_t group_size) {
  std::int64_t size = std::min(std::get<std::int64_t>(part.value), group_size);
  while (group_size % size != 0) --size;
  const std::string where = "the largest divisor of train.group_size = " + std::to_string(group_size) + " up to " +
                            to_toml(part.value) + ", the value of " + part.origin.text();
  part.origin = {Origin::Kind::kDerived, where, {}, {}};
  part.value = size;
}

std::string divisors_of(std::int64_t group_size) {
  std::string sizes;
  for (std::int64_t size = 1; size <= group_size; ++size) {
    if (group_size % size == 0) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  }
  return sizes;
}

std::vector<RunNote> run_notes(const MergedConfig& merged, const RunConfig& config, const std::string& file) {
  std::vector<RunNote> notes;
  for (const SetAside& lost : merged.set_aside) {
    notes.push_back({lost.text(), about(lost.leaf.origin, file)});
    if (ends_greedy_evaluation(lost, merged, config))
      notes.push_back({"evaluation may no longer be greedy, and its accuracy does not compare with a greedy one"});
  }
  if (merged.preset) add_preset_notes(*merged.preset, config, notes);
  add_loss_notes(config, notes);
  add_adapter_notes(config, file, notes);
  add_reward_notes(config, notes);
  // They are also comments of the resolved file.
  for (RunNote& note : notes) note.text = on_one_line(note.text);
  return notes;
}

}  // namespace drift
