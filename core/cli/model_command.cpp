#include <core/base/adapters.h>
#include <core/base/trainable.h>
#include <core/boundary/components.h>
#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/cli/run_place.h>
#include <core/eval/block_forwards.h>
#include <core/eval/logit_check.h>
#include <core/io/adapter_files.h>
#include <core/io/atomic.h>
#include <core/io/checkpoint.h>
#include <core/io/random_weights.h>
#include <core/text/shape_tokenizer.h>

#include <c10/core/ScalarType.h>

namespace drift {
namespace {

using Row = std::vector<std::string>;

struct InfoOptions {
  CheckpointOptions checkpoint;
  bool json = false;
};

struct VerifyOptions {
  CheckpointOptions checkpoint;
  fs::path reference;
  double tolerance = 1e-3;
  double relative_tolerance = 1e-5;
  std::string mode;
  std::int64_t block = 0;
  bool json = false;
};

struct MergeOptions {
  fs::path checkpoint, adapter, out;
};

struct RandomOptions {
  CheckpointOptions shape;
  fs::path out;
  std::string dtype = "bfloat16";
  std::int64_t seed = 1;
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

/// What --json prints of a checkpoint, and the rows that a reader sees, made together.
struct Described {
  Json json = {};
  std::vector<Row> rows = {};

  void add(const std::string& name, const std::string& text) { rows.push_back({name, text}); }
};

void describe_adapter(const ModelShapes& shapes, std::int64_t parameters, Described& made) {
  const auto& adapter = shapes.adapter();
  if (!adapter) return;
  const auto path = shapes.config().get<AdapterSettings>().path;
  made.add("adapter", (path.empty() ? "" : path + ": ") + adapter_text(*adapter));
  made.add("",
           format_integer(parameters) + " parameters on " + std::to_string(adapter->modules.size()) + " projections");
  made.json["adapter"] = {
      {"rank", adapter->rank}, {"alpha", adapter->alpha}, {"modules", adapter->modules}, {"parameters", parameters}};
}

void describe_traits(const Model& model, Described& made) {
  const ModelTraits& traits = model.traits();
  made.add("layers, hidden size", std::to_string(traits.layers) + ", " + std::to_string(traits.hidden_size));
  made.add("vocabulary", format_integer(traits.vocabulary_size) + " rows of the LM head");
  made.add("context", format_integer(traits.context_length) + " tokens");
  made.add("mask, pad, end ids", special_ids(traits));
  made.add("never written", ranges_text(traits));
  made.add("row that predicts", row_name(model));
  if (traits.block_size > 0)
    made.add("attention", "of blocks of " + std::to_string(traits.block_size) + " tokens and those before them");
  made.json.update(Json{{"layers", traits.layers},
                        {"hidden_size", traits.hidden_size},
                        {"vocabulary_size", traits.vocabulary_size},
                        {"context_length", traits.context_length},
                        {"mask_id", traits.mask_id},
                        {"pad_id", traits.pad_id},
                        {"end_id", traits.end_id},
                        {"end_ids", end_ids(traits)},
                        {"forbidden_output_ids", traits.forbidden_output_ids},
                        {"prediction_row", row_name(model)},
                        {"block_size", traits.block_size}});
  for (const ChatFormat& format : traits.chat_formats) {
    const std::string turns = format.opening + format.turn_begin + "…" + format.turn_end + format.reply_begin;
    made.add("chat format", "`" + format.name + "`: " + replaced(turns, "\n", "⏎"));
    made.json["chat_formats"].push_back(format.name);
  }
}

int print_info(const InfoOptions& options) {
  const LoadedRun run = load_run(options.checkpoint.run(), ConfigPurpose::kModelOnly);
  const fs::path folder = run.model_folder();
  const ModelShapes shapes(run.host(), run.config, WhichAdapters::kAll);
  const Loaded<Model>& model = shapes.model();
  const std::int64_t count = weight_count(shapes);
  const std::string family = model->traits().family;
  Described made{{{"family", family}, {"model", model.name()}, {"parameters", count}}};
  made.add("checkpoint", folder.string());
  made.add("family", family + "    (model `" + model.name() + "`)");
  made.add("parameters", format_integer(count) + "    (" + format_parameters(count) + ")");
  const CheckpointSummary disk = summarize_checkpoint(folder);
  for (const auto& [dtype, total] : disk.types) {
    const std::string type = c10::getDtypeNames(dtype).first;
    made.add("on disk", type + ": " + format_integer(total.tensors) + " tensors, " + gibibytes(total.bytes) + "    (" +
                            count_of(disk.files.size(), "file") + ")");
    made.json["on_disk"][type] = {{"tensors", total.tensors}, {"bytes", total.bytes}};
  }
  describe_traits(*model, made);
  if (const auto words = last_words(shapes.adaptable_modules()); !words.empty())
    made.add("adapter.targets", joined(words) + "    (of each layer)");
  describe_adapter(shapes, parameter_count(*model) - count, made);
  TextTable memory{{"type", "to run", "to train"}, {false, true, true}};
  for (const auto& [type, to_run, to_train] : kTypes) {
    memory.rows.push_back({type, gibibytes(count * to_run), gibibytes(count * to_train)});
    made.json["memory"][type] = {{"run", count * to_run}, {"train", count * to_train}};
  }
  if (options.json) {
    std::cout << json_text(made.json, 1) << "\n";
    return 0;
  }
  std::cout << to_text({.rows = made.rows}) << "\n"
            << to_text(memory)
            << "to train: weights, gradient, AdamW's moments and float32 masters; activations come on top\n";
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
  const fs::path folder = run.model_folder();
  const auto model = open_model({run.host(), run.config, WhichAdapters::kSaved});
  const SafetensorsFile file(options.reference);
  const std::string mode = options.mode.empty() ? forward_mode_of(file) : options.mode;
  const auto found = check_forward(*model, file, mode, options.block, options.relative_tolerance);
  const bool passed = found.largest_excess <= options.tolerance;
  if (options.json) {
    std::cout << json_text(verdict_json(found, passed), 1) << "\n";
    return passed ? 0 : 1;
  }
  std::cout << to_text(
      {.rows = {
           {"largest difference", print_text("%.3g    (mean %.3g)", found.largest_difference, found.mean_difference)},
           {"where", (found.worst_tensor.empty() ? "" : found.worst_tensor + ": ") + "sequence " +
                         std::to_string(found.worst_sequence) + ", position " + std::to_string(found.worst_position) +
                         ", token " + std::to_string(found.worst_token) +
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
  const AdapterDescription adapter = ModelShapes(run.host(), run.config, WhichAdapters::kSaved).adapter().value();
  require_trained_base(options.adapter, options.checkpoint);
  const std::size_t changed = merge_adapter(options.checkpoint, options.adapter, options.out);
  const CheckpointSummary made = summarize_checkpoint(options.out);
  if (changed == 0)
    std::cerr << "warning: nothing changed: what the adapter adds is 0, or lost where the weights' type rounds\n";
  std::cout << to_text({.rows = {{changed == 0 ? "unchanged" : "merged", std::to_string(changed) + " of " +
                                                                             std::to_string(adapter.modules.size()) +
                                                                             " projections, " + adapter_text(adapter)},
                                 {"checkpoint", options.out.string() + "    (" + count_of(made.files.size(), "file") +
                                                    ", " + gibibytes(made.total.bytes) + ")"}}});
  return 0;
}

int write_random(const RandomOptions& options) {
  ConfigOptions config = options.shape.run();
  config.overrides.push_back({"--dtype " + options.dtype, "model.dtype", options.dtype, /*literal=*/true});
  const LoadedRun run = load_run(config, ConfigPurpose::kModelOnly);
  prepare_device(run.config);
  const ModelShapes shapes(run.host(), run.config, WhichAdapters::kAll);
  const Model& model = *shapes.model();
  const auto parameters = model.parameters();
  const std::int64_t bytes = bytes_of(parameters);
  if (const auto [place, available] = free_space(options.out); available < bytes) {
    throw Error(
        "the weights take " + gibibytes(bytes) + ", and " + place.string() + " has " + gibibytes(available) + " free",
        "choose another --out, or a smaller shape");
  }
  AtomicFolder folder(options.out);
  if (!has_tokenizer(options.shape.folder))
    write_file_atomically(folder.path() / "tokenizer.json", shape_tokenizer_json(model.traits()));
  write_checkpoint_files(folder.path(), parameters, read_config_json(options.shape.folder), options.shape.folder,
                         kMaxWeightFileBytes, random_weights(static_cast<std::uint64_t>(options.seed)));
  folder.publish();
  std::cout << printable(options.out.string()) << ": " << format_parameters(parameter_count(model)) << " parameters, "
            << options.dtype << ", " << gibibytes(bytes) << "\n";
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
       "Exit status 1 beyond the tolerance. Modes: `plain`, as the model is; `block_causal` (block 1: causal);\n"
       "two copies, clean and noisy, in one row; a cache of blocks (tests/golden/block/README.md).",
       "model verify tests/golden/data/ckpt/MODEL_a --reference "
       "tests/golden/data/forward/fwd_MODEL_a_plain.safetensors"},
      verify, [](OptionList& list, VerifyOptions& options) {
        list.add("reference", "FILE", "safetensors with input_ids, logits and perhaps attention_mask",
                 options.reference)
            .required = true;
        list.add("tolerance", "X", "largest difference that passes", options.tolerance);
        list.add("relative-tolerance", "X", "X times the reference's size is added to it", options.relative_tolerance);
        list.add("mode", "MODE", "the forward that was done (default: what the file's tensors show, else `plain`)",
                 options.mode)
            .choices = forward_modes();
        list.add("block", "N", "tokens of a block (default: the model's)", options.block);
        list.add_switch("json", "print JSON instead of text", options.json);
        add_checkpoint(list, options.checkpoint, {"adapter", "dtype", "device"});
      });
}

Command model_random_command() {
  return make_command<RandomOptions>(
      {"model random", "write a checkpoint of random weights, to measure what its shape costs",
       "Reads config.json of SHAPE_DIR, and writes weights that mean nothing: normal with standard deviation\n"
       "0.02, norms 1, biases 0. The same seed gives the same bytes. The tokenizer is that of SHAPE_DIR, or has\n"
       "a token for each byte. Memory stays small, and the folder appears when it is complete. Shapes:\n"
       "assets/shapes.",
       "model random assets/shapes/57m --out runs/random"},
      write_random, [](OptionList& list, RandomOptions& options) {
        list.argument("SHAPE_DIR", options.shape.folder);
        list.add("out", "FOLDER", "the new checkpoint", options.out).required = true;
        list.add("dtype", "TYPE", "bfloat16 or float32 (default: bfloat16)", options.dtype).candidates =
            "bfloat16|float32";
        list.add("seed", "N", "which weights", options.seed);
        add_config(list, options.shape.config, {});
      });
}

}  // namespace drift
