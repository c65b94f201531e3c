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

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros.h>

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
  for (const auto& [key, value] : original.model) set("model." + key, value);
  for (const auto& [key, value] : original.settings) set("rollout." + key, value);
  if (!original.settings.contains("length")) set("rollout.length", trace_length(options.reference));
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

std::string text_of(const TraceForwards& forwards) {
  const auto& [prefill, denoise, store] = forwards;
  return std::to_string(prefill) + " + " + std::to_string(denoise) + " + " + std::to_string(store);
}

/// What a row was to have.
struct ExpectedForwards {
  std::optional<std::int64_t> number;
  std::optional<TraceForwards> by_kind;
};

ExpectedForwards expected_of(const OriginalSettings& original, std::size_t row) {
  const auto& by_kind = original.forwards_by_kind;
  if (!by_kind.empty()) return {{}, by_kind[std::min(row, by_kind.size() - 1)]};
  return {original.forwards, {}};
}

std::string text_of(const ExpectedForwards& expected) {
  return expected.by_kind ? text_of(*expected.by_kind) : expected.number ? std::to_string(*expected.number) : "";
}

/// Decodes each row alone, without padding, to observe its forwards. @param row  of the only response, already observed
void observe(const Rollout& rollout, const RolloutInput& whole, const Policy& model, const ReferenceTrace& reference,
             const OriginalSettings& original, std::vector<TraceRow>& rows, const TracePolicy& watched) {
  for (std::size_t b = 0; b < rows.size(); ++b) {
    std::vector<TracePolicy::Call> calls = watched.calls();
    const auto mask_P = whole.prompts.mask_BP[static_cast<std::int64_t>(b)];
    const std::int64_t prompt = mask_P.sum().item<std::int64_t>();
    if (rows.size() > 1) {
      const TracePolicy alone(model, reference.draws);
      RolloutInput input = whole;
      input.policy = &alone;
      const auto tokens_1P = whole.prompts.tokens_BP[static_cast<std::int64_t>(b)].masked_select(mask_P).unsqueeze(0);
      input.prompts = {tokens_1P, at::ones_like(tokens_1P, at::kBool), at::zeros({1}, at::kLong), {}};
      checked_trajectories(rollout, input);
      calls = alone.calls();
    }
    TraceRow& row = rows[b];
    const auto expected = expected_of(original, b);
    row.parts = counted(calls, prompt);
    row.first_other_call = rows.size() > 1 ? -1 : first_other_call(calls, reference);
    const std::int64_t denoise = (*row.parts)[1];
    const auto sum = [](const TraceForwards& kinds) { return kinds[0] + kinds[1] + kinds[2]; };
    const bool as_many =
        expected.by_kind ? *expected.by_kind == *row.parts && row.forwards == sum(*expected.by_kind)
                         : !expected.number || *expected.number == (original.counts_denoising ? denoise : row.forwards);
    row.is_equal = row.is_equal && row.first_other_call < 0 && as_many;
  }
}

void print_rows(const std::vector<TraceRow>& rows, const OriginalSettings& original) {
  TextTable table{{"row", "first difference", "largest difference of a probability", "forwards"},
                  {true, false, true, true}};
  const bool known = !text_of(expected_of(original, 0)).empty();
  if (known) table.titles.push_back("of the original"), table.is_number.push_back(true);
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const TraceRow& row = rows[b];
    const std::string other = row.first_other_call < 0 ? "" : ", forward " + std::to_string(row.first_other_call);
    const auto& largest = row.largest_difference;
    table.rows.push_back({std::to_string(b), text_of(row) + other, largest ? print_text("%.2g", *largest) : "not known",
                          row.parts ? text_of(*row.parts) : std::to_string(row.forwards)});
    if (known) table.rows.back().push_back(text_of(expected_of(original, b)));
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
  json["largest_probability_difference"] = row.largest_difference ? Json(*row.largest_difference) : Json();
  json["forwards"] = row.forwards;
  if (row.parts) json["forwards_by_kind"] = *row.parts;
  if (row.first_other_call >= 0) json["first_other_forward"] = row.first_other_call;
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
  ReferenceTrace reference = read_reference_trace(options.reference, traits, original.takes_mask);
  const ComponentEntry* entry = run.registry().find(ComponentKind::kRollout, original.rollout);
  const auto rollout = make_original(run.host(), *entry, run.config.section("rollout"));
  const std::int64_t length = checked_response_length(*rollout);
  if (original.ends_early) lengthen(reference, length);
  require_comparable(reference, length, traits);
  reference.draws.most_probable = original.draws_most_probable;
  const auto model = open_model(shapes);

  const ModelPolicy model_policy(*model);
  const TracePolicy policy(model_policy, reference.draws);
  RolloutInput input;
  input.policy = &policy;
  input.prompts = reference.prompts;
  input.random = RandomStream(run.seed(), "generate");
  const at::NoGradGuard no_gradient;
  const Trajectories made = checked_trajectories(*rollout, input);
  auto rows = compare_trace(made, reference, traits, options.tolerance);
  if (traits.block_size > 0) {
    observe(*rollout, input, model_policy, reference, original, rows, policy);
  } else {
    for (TraceRow& row : rows) row.is_equal = row.is_equal && row.forwards == original.forwards.value_or(row.forwards);
  }
  const bool passed = std::ranges::all_of(rows, &TraceRow::is_equal);
  const std::string section = section_text(run.config, original);
  if (!options.json) {
    print_rows(rows, original);
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
       "probability and the number of forwards (of a model with blocks: of the prompt, of those that may commit and "
       "of\n"
       "those that keep a block's keys, each compared with the trace's `calls`); then the [rollout] section that the "
       "settings mean here.\n"
       "Exit status 0: all is equal. 1: something differs. 2: nothing was compared.",
       "rollout verify tests/golden/data/ckpt/MODEL_a --original drift_MODEL --settings "
       "tests/golden/data/manifest.json --reference tests/golden/data/decode/drift_MODEL_dyn_prefix_b1.safetensors"},
      verify_trace, [](OptionList& list, TraceOptions& options) {
        list.add("reference", "FILE",
                 "safetensors with prompt_ids, tokens, commit_step, perhaps commit_prob, attention_mask or prompt_mask",
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
