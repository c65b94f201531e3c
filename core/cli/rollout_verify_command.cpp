#include <core/base/share_folder.h>
#include <core/boundary/checked.h>
#include <core/boundary/components.h>
#include <core/boundary/made.h>
#include <core/boundary/model_policy.h>
#include <core/boundary/plugin_call.h>
#include <core/cli/data_source.h>
#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/config/diagnostic.h>
#include <core/eval/trace_check.h>
#include <core/rollout/originals.h>

#include <ATen/core/grad_mode.h>

#include <algorithm>

namespace drift {
namespace {

struct TraceOptions {
  CheckpointOptions checkpoint;
  std::filesystem::path reference;
  std::string original;
  std::filesystem::path originals;
  std::filesystem::path settings;
  double tolerance = 1e-4;
  bool json = false;
};

/// Those of --originals, or those that ship with Drift.
Original original_of(const TraceOptions& options) {
  const auto shipped = [] { return share_folder() / "tests/golden/data/originals.json"; };
  return Original(options.originals.empty() ? shipped() : options.originals, options.original);
}

/// What --settings names. Of a file with `cases`, the one whose `file` is the trace.
nlohmann::json given_settings(const TraceOptions& options) {
  const auto given = read_json_object(options.settings);
  if (!given.contains("cases")) return given;
  for (const auto& one : given["cases"]) {
    if (one.is_object() && std::filesystem::path(one.value("file", "")).filename() == options.reference.filename())
      return one;
  }
  throw Error(options.settings.string() + ": no case has the file " + options.reference.filename().string());
}

/// The checkpoint in float32 with the original's decoder. A run that made the checkpoint has no say in it.
LoadedRun run_of(const TraceOptions& options, const OriginalSettings& original) {
  ConfigOptions config = options.checkpoint.run();
  config.file.clear();
  const std::string where = "--settings " + options.settings.string() + ": ";
  const auto set = [&](const std::string& key, const Parameter::Value& value) {
    config.overrides.push_back({where + key + "=" + to_toml(value), key, to_toml(value)});
  };
  set("model.dtype", "float32");
  set("rollout.name", original.rollout);
  for (const auto& [key, value] : original.settings) set("rollout." + key, value);
  return load_run(config, ConfigPurpose::kGenerate);
}

void check_ids(const OriginalSettings& original, const ModelTraits& traits, const std::string& where) {
  const auto check = [&](const char* name, std::optional<std::int64_t> id, std::int64_t of_model) {
    if (!id || *id == of_model) return;
    throw Error(
        where + ": `" + name + "` is " + std::to_string(*id) + ", but that of the model is " + std::to_string(of_model),
        "these settings belong to another checkpoint, or config.json is not its own");
  };
  check("mask_id", original.mask_id, traits.mask_id);
  check("pad_id", original.pad_id, traits.pad_id);
}

/// [rollout] as a run's file would have it: what the original's settings say, in the order of the declaration.
std::string section_text(const RunConfig& config, const OriginalSettings& original) {
  std::string text = "[rollout]\nname = " + to_toml(original.rollout) + "\n";
  for (const auto& section : config.sections()) {
    if (section.name != "rollout") continue;
    for (const auto& value : section.values) {
      if (original.settings.contains(value.name)) text += value.name + " = " + to_toml(value.value) + "\n";
    }
  }
  return text;
}

std::string text_of(const TraceRow& row) {
  if (row.first_difference < 0) return "none";
  const auto pair = [](const char* what, std::int64_t got, std::int64_t expected) {
    return std::string(what) + std::to_string(got) + (got == expected ? "" : " instead of " + std::to_string(expected));
  };
  return "position " + std::to_string(row.first_difference) + pair(": token ", row.token, row.reference_token) +
         pair(", step ", row.step, row.reference_step);
}

void print_rows(const std::vector<TraceRow>& rows, std::optional<std::int64_t> forwards) {
  TextTable table{{"row", "first difference", "largest difference of a probability", "forwards"},
                  {true, false, true, true}};
  if (forwards) table.titles.push_back("of the original"), table.is_number.push_back(true);
  for (std::size_t b = 0; b < rows.size(); ++b) {
    table.rows.push_back({std::to_string(b), text_of(rows[b]), print_text("%.2g", rows[b].largest_difference),
                          std::to_string(rows[b].forwards)});
    if (forwards) table.rows.back().push_back(std::to_string(*forwards));
  }
  const auto equal = std::ranges::count_if(rows, &TraceRow::is_equal);
  std::cout << to_text(table) << "\n"
            << "equal to the original: " << equal << " of " << count_of(rows.size(), "row") << "\n\n";
}

Json json_of(const TraceRow& row, std::size_t number) {
  Json json = {{"row", number}, {"equal", row.is_equal}, {"first_difference", nullptr}};
  if (row.first_difference >= 0) {
    json["first_difference"] = {{"position", row.first_difference},
                                {"token", row.token},
                                {"reference_token", row.reference_token},
                                {"step", row.step},
                                {"reference_step", row.reference_step}};
  }
  json["largest_probability_difference"] = row.largest_difference;
  json["forwards"] = row.forwards;
  return json;
}

int compare(const TraceOptions& options) {
  const std::string where = options.settings.string();
  const OriginalSettings original = original_of(options).translate(given_settings(options), where);
  const LoadedRun run = run_of(options, original);
  prepare_device(run.config);
  const ModelShapes shapes(run.host(), run.config, WhichAdapters::kSaved);
  const ModelTraits& traits = shapes.traits();
  check_ids(original, traits, where);
  const ReferenceTrace reference = read_reference_trace(options.reference, traits, original.takes_mask);
  const ComponentEntry* entry = run.registry().find(ComponentKind::kRollout, original.rollout);
  const auto rollout = make_original(run.host(), *entry, run.config.section("rollout"));
  require_comparable(reference, checked_response_length(*rollout), traits);
  const auto model = open_model(shapes);

  const ModelPolicy policy(*model);
  RolloutInput input;
  input.policy = &policy;
  input.prompts = reference.prompts;
  input.random = RandomStream(run.seed(), "generate");
  const at::NoGradGuard no_gradient;
  const Trajectories made = checked_trajectories(*rollout, input);
  const auto rows = compare_trace(made, reference, original.forwards, options.tolerance);
  const bool passed = std::ranges::all_of(rows, &TraceRow::is_equal);
  const std::string section = section_text(run.config, original);
  if (!options.json) {
    print_rows(rows, original.forwards);
    std::cout << section;
    return passed ? 0 : 1;
  }
  Json json = {{"passed", passed}, {"original", options.original}, {"tolerance", options.tolerance}};
  json["nfe"] = original.forwards ? Json(*original.forwards) : Json(nullptr);
  json["rows"] = Json::array();
  for (std::size_t b = 0; b < rows.size(); ++b) json["rows"].push_back(json_of(rows[b], b));
  json["rollout"] = section;
  std::cout << json_text(json, 1) << "\n";
  return passed ? 0 : 1;
}

/// Status 1 says that a row differs, and nothing else.
int verify_trace(const TraceOptions& options) {
  try {
    return compare(options);
  } catch (const ConfigError&) {
    throw;
  } catch (const std::exception&) {
    const Error error = describe_exception();
    throw UsageError(error.what(), error.hint());
  }
}

}  // namespace

Command rollout_verify_command() {
  return make_command<TraceOptions>(
      {"rollout verify", "compare a decoder with a trace of the original that it follows",
       "Decodes the trace's prompts in float32 with the settings of FILE, which are the original's own, by its own\n"
       "names. Prints for each row the first position whose token or step differs, the largest difference of a\n"
       "probability and the number of forwards; then the [rollout] section that the settings mean here.\n"
       "Exit status 0: all is equal. 1: something differs. 2: nothing was compared.",
       "rollout verify tests/golden/data/ckpt/MODEL_a --original drift_MODEL --settings "
       "tests/golden/data/manifest.json --reference tests/golden/data/decode/drift_MODEL_dyn_prefix_b1.safetensors"},
      verify_trace, [](OptionList& list, TraceOptions& options) {
        list.add("reference", "FILE",
                 "safetensors with prompt_ids, tokens, commit_step, commit_prob, perhaps attention_mask or prompt_mask",
                 options.reference)
            .required = true;
        list.add("original", "NAME", "whose settings they are; a name that is not known lists all", options.original)
            .required = true;
        list.add("originals", "FILE", "JSON that says what their settings mean here; without it, the file that ships",
                 options.originals);
        list.add("settings", "FILE",
                 "JSON object of the original's options, perhaps with mask_id, pad_id and nfe; or a list of `cases` "
                 "that "
                 "hold them as `settings`, each beside its `nfe` and `file`",
                 options.settings)
            .required = true;
        list.add("tolerance", "X", "largest difference of a probability that counts as equal", options.tolerance);
        list.add_switch("json", "print JSON instead of text", options.json);
        list.argument("CHECKPOINT_DIR", options.checkpoint.folder);
        add_settings(list, options.checkpoint.config, {"device"});
      });
}

}  // namespace drift
