#include <core/cli/load_run.h>
#include <core/config/nearest.h>

#include <iostream>
#include <map>

namespace drift {
namespace {

const std::map<std::string, ConfigPurpose> kPurposes = {{"train", ConfigPurpose::kTrain},
                                                        {"pretrain", ConfigPurpose::kPretrain},
                                                        {"eval", ConfigPurpose::kEval},
                                                        {"generate", ConfigPurpose::kGenerate}};

struct ShowOptions {
  ConfigOptions config;
  std::string purpose;
};

/// A file with [pretrain] and without [algorithm] is for pretraining.
ConfigPurpose purpose_of(const ShowOptions& options) {
  if (!options.purpose.empty()) {
    const auto found = kPurposes.find(options.purpose);
    if (found != kPurposes.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, purpose] : kPurposes) names.push_back(name);
    throw UsageError("--for expects a command that reads a run's file, found `" + options.purpose + "`",
                     name_hint(options.purpose, names, "commands"));
  }
  bool pretrain = false;
  bool train = false;
  for (const ConfigLayer& layer : load_document(options.config.file, options.config.overrides).layers) {
    pretrain = pretrain || layer.tables.contains("pretrain");
    train = train || layer.tables.contains("algorithm");
  }
  return pretrain && !train ? ConfigPurpose::kPretrain : ConfigPurpose::kTrain;
}

int show(const ShowOptions& options) {
  std::cout << load_run(options.config, purpose_of(options)).config.resolved_toml();
  return 0;
}

}  // namespace

Command config_show_command() {
  return make_command<ShowOptions>(
      {"config show", "every value of a run and where it came from",
       "Prints the resolved file, which repeats the run by itself. Exit status 2 if the file has mistakes.",
       "config show configs/quickstart.toml --set train.steps=20"},
      show, [](OptionList& list, ShowOptions& options) {
        list.argument("CONFIG.toml", options.config.file);
        list.add("for", "COMMAND", "train, pretrain, eval or generate; default: what the file is for", options.purpose);
        add_settings(list, options.config, {"algorithm", "model", "task", "seed", "dtype", "device"});
        add_short_form(list, options.config, "steps", "train.steps");
      });
}

}  // namespace drift
