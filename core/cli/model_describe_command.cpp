#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/io/checkpoint.h>
#include <core/io/checkpoint_weights.h>
#include <core/nn/draft_description.h>

#include <iostream>

namespace drift {
namespace {

struct DescribeOptions {
  fs::path folder;
};

int describe(const DescribeOptions& options) {
  const std::string config = read_config_json(options.folder);
  std::map<std::string, std::vector<std::int64_t>> tensors;
  if (CheckpointWeights::exist_in(options.folder)) {
    const CheckpointWeights weights(options.folder);
    for (const SafetensorsFile& file : weights.files()) {
      for (const SafetensorsEntry& entry : file.entries()) tensors[entry.name] = entry.shape;
    }
  }
  const fs::path name = fs::absolute(options.folder / "").lexically_normal().parent_path().filename();
  std::cout << nn::draft_description(config, name.string(), tensors);
  return 0;
}

}  // namespace

Command model_describe_command() {
  return make_command<DescribeOptions>(
      {"model describe", "print a first description of a checkpoint whose family is not known",
       "Reads config.json and the headers of the weights' files. Prints TOML for [model] description: which keys mean\n"
       "what, the names of the tensors, the values that are required; and behind \"TELL\" what the files do not say.\n"
       "docs/backbones.md goes on from there; `drift model verify` then compares logits.",
       "model describe tests/golden/data/ckpt/MODEL_a"},
      describe, [](OptionList& list, DescribeOptions& options) { list.argument("CHECKPOINT_DIR", options.folder); });
}

}  // namespace drift
