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

/// A file with [pretrain] and without [algorithm] is for pretraining.
ConfigPurpose purpose_of(const CommandLine& line) {
  if (!line.purpose.empty()) {
    const auto found = kPurposes.find(line.purpose);
    if (found != kPurposes.end()) return found->second;
    std::vector<std::string> names;
    for (const auto& [name, purpose] : kPurposes) names.push_back(name);
    const std::string nearest = nearest_name(line.purpose, names);
    throw UsageError("--for `" + line.purpose + "` is no command that reads a run's file",
                     (nearest.empty() ? "" : "did you mean `" + nearest + "`?\n  = ") + "one of: " + joined(names));
  }
  bool pretrain = false;
  bool train = false;
  for (const ConfigLayer& layer : load_document(line.config, line.overrides).layers) {
    pretrain = pretrain || layer.tables.contains("pretrain");
    train = train || layer.tables.contains("algorithm");
  }
  return pretrain && !train ? ConfigPurpose::kPretrain : ConfigPurpose::kTrain;
}

}  // namespace

int run_config_show(const CommandLine& line) {
  const LoadedRun run = load_run(line, purpose_of(line));
  std::cout << run.config.resolved_toml();
  const auto& notes = run.config.preset_notes();
  if (!notes.empty()) std::cout << "\n# Notes of the preset:\n";
  for (const std::string& note : notes) std::cout << "#   " << note << "\n";
  return 0;
}

}  // namespace drift
