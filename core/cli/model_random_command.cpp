#include <core/base/quote.h>
#include <core/cli/load_run.h>
#include <core/components/components.h>
#include <core/io/atomic.h>
#include <core/io/checkpoint.h>
#include <core/io/random_weights.h>
#include <core/report/format.h>
#include <core/text/byte_tokenizer.h>

#include <nlohmann/json.hpp>

#include <iostream>
#include <map>
#include <set>

namespace drift {
namespace {

namespace fs = std::filesystem;

struct RandomOptions {
  CheckpointOptions shape;
  fs::path out;
  std::string dtype = "bfloat16";
  std::int64_t seed = 1;
};

std::string gigabytes(std::int64_t bytes) { return format_decimal(static_cast<double>(bytes) / 1e9, 2) + " GB"; }

std::int64_t bytes_of(const std::vector<NamedTensor>& parameters) {
  std::int64_t bytes = 0;
  for (const NamedTensor& parameter : parameters) bytes += static_cast<std::int64_t>(parameter.tensor.nbytes());
  return bytes;
}

void check_room(const fs::path& out, std::int64_t needed) {
  fs::path existing = fs::absolute(out);
  std::error_code failed;
  while (!fs::exists(existing, failed) && existing.has_relative_path()) existing = existing.parent_path();
  const auto space = fs::space(existing, failed);
  if (failed || needed <= static_cast<std::int64_t>(space.available)) return;
  throw Error("the weights take " + gigabytes(needed) + ", and " + existing.string() + " has " +
                  gigabytes(static_cast<std::int64_t>(space.available)) + " free",
              "choose another --out, or a smaller shape");
}

/// `<|name|>`, as the model's chat formats write them.
std::set<std::string> chat_tokens(const ModelTraits& traits) {
  std::set<std::string> tokens;
  for (const ChatFormat& format : traits.chat_formats) {
    for (const std::string& text : {format.opening, format.turn_begin, format.turn_end, format.reply_begin}) {
      for (std::size_t at = 0; (at = text.find("<|", at)) != text.npos;) {
        const std::size_t end = text.find("|>", at);
        if (end == text.npos) break;
        tokens.insert(text.substr(at, end + 2 - at));
        at = end + 2;
      }
    }
  }
  return tokens;
}

/// The ids that the model declares, and below them those of its chat formats.
std::map<std::int64_t, std::string> special_tokens(const ModelTraits& traits) {
  std::map<std::int64_t, std::string> tokens{{traits.end_id, "<|endoftext|>"}};
  tokens.emplace(traits.pad_id, "<|padding|>");
  tokens.emplace(traits.mask_id, "<|mask|>");
  std::set<std::string> named;
  for (const auto& [id, text] : tokens) named.insert(text);
  std::int64_t id = std::min({traits.end_id, traits.pad_id, traits.mask_id});
  for (const std::string& text : chat_tokens(traits)) {
    if (named.contains(text)) continue;
    do {
      id = id == 0 ? traits.vocabulary_size - 1 : id - 1;
    } while (tokens.contains(id));
    tokens.emplace(id, text);
  }
  return tokens;
}

bool has_tokenizer(const fs::path& folder) {
  return fs::exists(folder / "tokenizer.json") || fs::exists(folder / "vocab.json");
}

int write_random(const RandomOptions& options) {
  ConfigOptions config = options.shape.run();
  config.overrides.push_back({"--dtype " + options.dtype, "model.dtype", options.dtype, /*literal=*/true});
  const LoadedRun run = load_run(config, ConfigPurpose::kModelOnly);
  prepare_device(run.config);
  const auto model = open_model_shapes(run.plugins->registry, run.config);
  const auto parameters = model->parameters();
  check_room(options.out, bytes_of(parameters));
  AtomicFolder folder(options.out);
  if (!has_tokenizer(options.shape.folder)) {
    write_file_atomically(folder.path() / "tokenizer.json",
                          byte_tokenizer_json(special_tokens(model->traits()), model->traits().vocabulary_size));
  }
  write_checkpoint_files(folder.path(), parameters, read_config_json(options.shape.folder), options.shape.folder,
                         kMaxWeightFileBytes, random_weights(static_cast<std::uint64_t>(options.seed)));
  folder.publish();
  std::cout << printable(options.out.string()) << ": " << format_parameters(parameter_count(*model)) << " parameters, "
            << options.dtype << ", " << gigabytes(bytes_of(parameters)) << "\n";
  return 0;
}

}  // namespace

Command model_random_command() {
  return make_command<RandomOptions>(
      {"model random", "write a checkpoint of random weights, to measure what its shape costs",
       "Reads config.json of SHAPE_DIR, and writes weights that mean nothing: normal with standard deviation 0.02, "
       "norms\n"
       "1, biases 0. The same seed gives the same bytes. The tokenizer is that of SHAPE_DIR, or has a token for each\n"
       "byte. Memory stays small, and the folder appears when it is complete. Shapes: assets/shapes.",
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
