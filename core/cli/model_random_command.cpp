#include <core/base/quote.h>
#include <core/base/trainable.h>
#include <core/boundary/components.h>
#include <core/cli/load_run.h>
#include <core/io/atomic.h>
#include <core/io/checkpoint.h>
#include <core/io/random_weights.h>
#include <core/report/format.h>
#include <core/text/shape_tokenizer.h>

#include <nlohmann/json.hpp>

#include <iostream>

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

int write_random(const RandomOptions& options) {
  ConfigOptions config = options.shape.run();
  config.overrides.push_back({"--dtype " + options.dtype, "model.dtype", options.dtype, /*literal=*/true});
  const LoadedRun run = load_run(config, ConfigPurpose::kModelOnly);
  prepare_device(run.config);
  const ModelShapes shapes(run.registry(), run.config, WhichAdapters::kAll);
  const Model& model = *shapes.model();
  const auto parameters = model.parameters();
  check_room(options.out, bytes_of(parameters));
  AtomicFolder folder(options.out);
  if (!has_tokenizer(options.shape.folder))
    write_file_atomically(folder.path() / "tokenizer.json", shape_tokenizer_json(model.traits()));
  write_checkpoint_files(folder.path(), parameters, read_config_json(options.shape.folder), options.shape.folder,
                         kMaxWeightFileBytes, random_weights(static_cast<std::uint64_t>(options.seed)));
  folder.publish();
  std::cout << printable(options.out.string()) << ": " << format_parameters(parameter_count(model)) << " parameters, "
            << options.dtype << ", " << gigabytes(bytes_of(parameters)) << "\n";
  return 0;
}

}  // namespace

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
