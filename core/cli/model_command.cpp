#include <core/base/adapters.h>
#include <core/boundary/components.h>
#include <core/cli/load_run.h>
#include <core/config/nearest.h>
#include <core/eval/logit_check.h>
#include <core/io/adapter_files.h>
#include <core/io/checkpoint.h>
#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/text_table.h>

#include <c10/core/ScalarType.h>
#include <nlohmann/json.hpp>

#include <iostream>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

using Row = std::vector<std::string>;

struct InfoOptions {
  CheckpointOptions checkpoint;
  bool json = false;
};

struct VerifyOptions {
  CheckpointOptions checkpoint;
  std::filesystem::path reference;
  double tolerance = 1e-3;
  double relative_tolerance = 1e-5;
  bool json = false;
};

struct MergeOptions {
  std::filesystem::path checkpoint, adapter, out;
};

struct MemoryOfType {
  const char* name;
  std::int64_t bytes_per_weight;
  std::int64_t bytes_per_trained_weight;
};

// A trained weight has its gradient in float32 and AdamW's two moments; in bfloat16 also its float32 master.
constexpr MemoryOfType kTypes[] = {{"float32", 4, 4 + 4 + 8}, {"bfloat16", 2, 2 + 4 + 4 + 8}};

std::string gibibytes(std::int64_t bytes) {
  const double value = static_cast<double>(bytes) / (1 << 30);
  if (value >= 0.1) return format_decimal(value, 2) + " GiB";
  return format_decimal(static_cast<double>(bytes) / (1 << 20), 2) + " MiB";
}

/// Of what the checkpoint holds: all but the run's adapters.
std::int64_t weight_count(const ModelShapes& shapes) {
  std::int64_t count = parameter_count(*shapes.model());
  if (!shapes.adapter()) return count;
  for (const NamedTensor& parameter : adapter_parameters(*shapes.model())) count -= parameter.tensor.numel();
  return count;
}

std::string adapter_text(const AdapterDescription& adapter) {
  return "rank " + std::to_string(adapter.rank) + ", alpha " + print_text("%g", adapter.alpha);
}

/// Of the run's adapters; nothing where it has none.
std::vector<Row> adapter_rows(const ModelShapes& shapes) {
  const auto& adapter = shapes.adapter();
  if (!adapter) return {};
  const auto path = shapes.config().get<AdapterSettings>().path;
  return {{"adapter", (path.empty() ? "" : path + ": ") + adapter_text(*adapter)},
          {"", format_integer(parameter_count(*shapes.model()) - weight_count(shapes)) + " parameters on " +
                   std::to_string(adapter->modules.size()) + " projections"}};
}

std::string row_name(const Model& model) {
  std::string name = model.traits().prediction_row == PredictionRow::kSame ? "its own" : "the one before";
  if (model.traits().first_scored_at_own_row) name += "; where scored, the first response token's own";
  return name;
}

std::string special_ids(const ModelTraits& traits) {
  std::string text = std::to_string(traits.mask_id) + ", " + std::to_string(traits.pad_id);
  for (const std::int64_t id : end_ids(traits)) text += ", " + std::to_string(id);
  return text;
}

std::string ranges_text(const ModelTraits& traits) {
  std::string text;
  for (const auto& [first, end] : traits.forbidden_output_ids) {
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (end - first > 1) text += " to " + std::to_string(end - 1);
  }
  return text.empty() ? "none" : text;
}

Row chat_row(const ChatFormat& format) {
  // Line breaks are shown, not made.
  std::string text = format.opening + format.turn_begin + "…" + format.turn_end + format.reply_begin;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 3) text.replace(at, 1, "⏎");
  return {"chat format", "`" + format.name + "`: " + text};
}

Row weights_row(const CheckpointSummary& summary, const WeightTypeSummary& type) {
  const std::string files = std::to_string(summary.files.size()) + (summary.files.size() == 1 ? " file" : " files");
  return {"on disk", c10::getDtypeNames(type.dtype).first + ": " + format_integer(type.total.tensors) + " tensors, " +
                         gibibytes(type.total.bytes) + "    (" + files + ")"};
}

void print_info(const ModelShapes& shapes, const std::filesystem::path& folder) {
  const Loaded<Model>& model = shapes.model();
  const ModelTraits& traits = shapes.traits();
  const std::int64_t count = weight_count(shapes);
  const CheckpointSummary disk = summarize_checkpoint(folder);
  std::vector<Row> rows = {{"checkpoint", folder.string()},
                           {"family", traits.family + "    (model `" + model.name() + "`)"},
                           {"parameters", format_integer(count) + "    (" + format_parameters(count) + ")"}};
  for (const WeightTypeSummary& type : disk.types) rows.push_back(weights_row(disk, type));
  rows.insert(rows.end(),
              {{"layers, hidden size", std::to_string(traits.layers) + ", " + std::to_string(traits.hidden_size)},
               {"vocabulary", format_integer(traits.vocabulary_size) + " rows of the LM head"},
               {"context", format_integer(traits.context_length) + " tokens"},
               {"mask, pad, end ids", special_ids(traits)},
               {"never written", ranges_text(traits)},
               {"row that predicts", row_name(*model)}});
  for (const ChatFormat& format : traits.chat_formats) rows.push_back(chat_row(format));
  if (const auto words = last_words(shapes.adaptable_modules()); !words.empty())
    rows.push_back({"adapter.targets", joined(words) + "    (of each layer)"});
  for (Row& row : adapter_rows(shapes)) rows.push_back(std::move(row));
  TextTable memory{{"type", "to run", "to train"}, {false, true, true}};
  for (const MemoryOfType& type : kTypes)
    memory.rows.push_back(
        {type.name, gibibytes(count * type.bytes_per_weight), gibibytes(count * type.bytes_per_trained_weight)});
  std::cout << to_text({.rows = rows}) << "\n"
            << to_text(memory)
            << "to train: weights, gradient, AdamW's moments and float32 masters; activations come on top\n";
}

Json info_json(const ModelShapes& shapes, const std::filesystem::path& folder) {
  const Loaded<Model>& model = shapes.model();
  const ModelTraits& traits = shapes.traits();
  Json json;
  json["family"] = traits.family;
  json["model"] = model.name();
  const std::int64_t count = weight_count(shapes);
  json["parameters"] = count;
  if (const auto& adapter = shapes.adapter()) {
    json["adapter"] = {{"rank", adapter->rank},
                       {"alpha", adapter->alpha},
                       {"modules", adapter->modules},
                       {"parameters", parameter_count(*model) - count}};
  }
  json["layers"] = traits.layers;
  json["hidden_size"] = traits.hidden_size;
  json["vocabulary_size"] = traits.vocabulary_size;
  json["context_length"] = traits.context_length;
  json["mask_id"] = traits.mask_id;
  json["pad_id"] = traits.pad_id;
  json["end_id"] = traits.end_id;
  json["end_ids"] = end_ids(traits);
  json["forbidden_output_ids"] = traits.forbidden_output_ids;
  json["prediction_row"] = row_name(*model);
  for (const ChatFormat& format : traits.chat_formats) json["chat_formats"].push_back(format.name);
  for (const WeightTypeSummary& type : summarize_checkpoint(folder).types) {
    json["on_disk"][c10::getDtypeNames(type.dtype).first] = {{"tensors", type.total.tensors},
                                                             {"bytes", type.total.bytes}};
  }
  for (const MemoryOfType& type : kTypes) {
    json["memory"][type.name] = {{"run", count * type.bytes_per_weight},
                                 {"train", count * type.bytes_per_trained_weight}};
  }
  return json;
}

int print_info(const InfoOptions& options) {
  const LoadedRun run = load_run(options.checkpoint.run(), ConfigPurpose::kModelOnly);
  const std::filesystem::path folder = run.model_folder();
  const ModelShapes shapes(run.registry(), run.config, WhichAdapters::kAll);
  if (options.json) {
    std::cout << json_text(info_json(shapes, folder), 1) << "\n";
  } else {
    print_info(shapes, folder);
  }
  return 0;
}

Json verdict_json(const LogitComparison& found, bool passed) {
  return {{"passed", passed},
          {"largest_difference", found.largest_difference},
          {"mean_difference", found.mean_difference},
          {"equal_argmax", found.equal_argmax},
          {"rows", found.rows},
          {"worst",
           {{"sequence", found.worst_sequence},
            {"position", found.worst_position},
            {"token", found.worst_token},
            {"value", found.worst_value},
            {"reference", found.worst_reference}}}};
}

int verify(const VerifyOptions& options) {
  const LoadedRun run = load_run(options.checkpoint.run(), ConfigPurpose::kModelOnly);
  prepare_device(run.config);
  const auto model = open_model({run.registry(), run.config, WhichAdapters::kSaved});
  const auto reference = read_reference_logits(options.reference, model->traits());
  const auto found = check_logits(*model, reference, options.relative_tolerance);
  const bool passed = found.largest_excess <= options.tolerance;
  if (options.json) {
    std::cout << json_text(verdict_json(found, passed), 1) << "\n";
    return passed ? 0 : 1;
  }
  std::cout << to_text(
      {.rows = {
           {"largest difference", print_text("%.3g    (mean %.3g)", found.largest_difference, found.mean_difference)},
           {"where", "sequence " + std::to_string(found.worst_sequence) + ", position " +
                         std::to_string(found.worst_position) + ", token " + std::to_string(found.worst_token) +
                         print_text(": %.6g, the reference has %.6g", found.worst_value, found.worst_reference)},
           {"equal arg-maxima",
            print_text("%.2f %% of ", 100 * found.equal_argmax) + std::to_string(found.rows) + " rows"},
           {"tolerance", print_text("%.3g + %.3g x |reference|: %s", options.tolerance, options.relative_tolerance,
                                    passed ? "kept" : "exceeded")}}});
  return passed ? 0 : 1;
}

int merge(const MergeOptions& options) {
  // What takes an adapter beside a checkpoint takes it here, and refuses what it refuses.
  CheckpointOptions checkpoint{options.checkpoint, {}};
  const std::string path = options.adapter.string();
  checkpoint.config.overrides.push_back({"--adapter " + path, "adapter.path", path, /*literal=*/true});
  const LoadedRun run = load_run(checkpoint.run(), ConfigPurpose::kModelOnly);
  const AdapterDescription adapter = ModelShapes(run.registry(), run.config, WhichAdapters::kSaved).adapter().value();
  require_trained_base(options.adapter, options.checkpoint);
  const std::size_t changed = merge_adapter(options.checkpoint, options.adapter, options.out);
  const CheckpointSummary made = summarize_checkpoint(options.out);
  const std::string files = std::to_string(made.files.size()) + (made.files.size() == 1 ? " file" : " files");
  if (changed == 0)
    std::cerr << "warning: nothing changed: what the adapter adds is 0, or lost where the weights' type rounds\n";
  std::cout << to_text(
      {.rows = {{changed == 0 ? "unchanged" : "merged", std::to_string(changed) + " of " +
                                                            std::to_string(adapter.modules.size()) + " projections, " +
                                                            adapter_text(adapter)},
                {"checkpoint", options.out.string() + "    (" + files + ", " + gibibytes(made.total.bytes) + ")"}}});
  return 0;
}

}  // namespace

Command model_merge_command() {
  return make_command<MergeOptions>(
      {"model merge", "write a checkpoint with an adapter added to its weights",
       "Each weight W of the adapter's projections becomes W + alpha / rank B A, rounded to the checkpoint's type.\n"
       "Files, order and headers are those of the checkpoint; one tensor at a time is in memory.",
       "model merge tests/golden/data/ckpt/MODEL_a --adapter tests/golden/adapters/MODEL_some --out runs/merged"},
      merge, [](OptionList& list, MergeOptions& options) {
        list.argument("CHECKPOINT_DIR", options.checkpoint);
        list.add("adapter", "DIR", "the adapter, as peft or a run saved it", options.adapter).required = true;
        list.add("out", "FOLDER", "where the new checkpoint is written", options.out).required = true;
      });
}

Command model_info_command() {
  return make_command<InfoOptions>({"model info", "what a checkpoint is: parameters, memory per type, traits",
                                    "Reads config.json and the headers of the weights' files, not the weights.",
                                    "model info runs/quickstart/checkpoints/last"},
                                   print_info, [](OptionList& list, InfoOptions& options) {
                                     list.add_switch("json", "print JSON instead of text", options.json);
                                     add_checkpoint(list, options.checkpoint, {"adapter"});
                                   });
}

Command model_verify_command() {
  return make_command<VerifyOptions>(
      {"model verify", "compare a checkpoint's logits with those of another program",
       "Computes the logits of the reference's input_ids. Prints the largest difference and its place, and the share\n"
       "of rows whose arg-max is equal. Rows at padding do not count, nor those where the file's compare_mask is 0.\n"
       "Exit status 1 beyond the tolerance.",
       "model verify tests/golden/data/ckpt/MODEL_a --reference "
       "tests/golden/data/forward/fwd_MODEL_a_plain.safetensors"},
      verify, [](OptionList& list, VerifyOptions& options) {
        list.add("reference", "FILE", "safetensors with input_ids, logits and perhaps attention_mask",
                 options.reference)
            .required = true;
        list.add("tolerance", "X", "largest difference that passes", options.tolerance);
        list.add("relative-tolerance", "X", "X times the reference's size is added to it", options.relative_tolerance);
        list.add_switch("json", "print JSON instead of text", options.json);
        add_checkpoint(list, options.checkpoint, {"adapter", "dtype", "device"});
      });
}

}  // namespace drift
