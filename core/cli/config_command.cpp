#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/config/config_json.h>
#include <core/report/section_reference.h>

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
  bool json = false;
};

struct DocsOptions {
  std::string section;  ///< empty: all
  ConfigOptions config;
  bool json = false;
};

/// A file with [pretrain] and without [algorithm] is for pretraining.
ConfigPurpose purpose_of(const ShowOptions& options) {
  if (!options.purpose.empty()) return kPurposes.at(options.purpose);
  bool pretrain = false;
  bool train = false;
  for (const ConfigLayer& layer : load_document(options.config.file, options.config.overrides).layers) {
    pretrain = pretrain || layer.tables.contains("pretrain");
    train = train || layer.tables.contains("algorithm");
  }
  return pretrain && !train ? ConfigPurpose::kPretrain : ConfigPurpose::kTrain;
}

int show(const ShowOptions& options) {
  const LoadedRun run = load_run(options.config, purpose_of(options));
  std::cout << (options.json ? json_text(json_of(run.config), 1) + "\n" : run.config.resolved_toml());
  return 0;
}

int print_docs(const DocsOptions& options) {
  if (options.json) {
    std::cout << json_text(sections_json(load_plugins(options.config)->registry, options.section), 1) << "\n";
  } else if (options.section.empty()) {
    std::cout << sections_text() << "\nwith the parameters of components: drift config docs SECTION\n";
  } else {
    std::cout << printable(section_text(load_plugins(options.config)->registry, options.section));
  }
  return 0;
}

}  // namespace

Command config_show_command() {
  return make_command<ShowOptions>(
      {"config show", "every value of a run and where it came from",
       "Prints the resolved file, which repeats the run by itself. Exit status 2 if the file has mistakes.\n"
       "--json: values.SECTION.KEY with value and origin, and the notes of the preset.",
       "config show configs/quickstart.toml --set train.steps=20"},
      show, [](OptionList& list, ShowOptions& options) {
        list.argument("CONFIG.toml", options.config.file);
        list.add("for", "COMMAND", "train, pretrain, eval or generate; default: what the file is for", options.purpose)
            .choices = {"train", "pretrain", "eval", "generate"};
        list.add_switch("json", "print JSON instead of TOML", options.json);
        add_settings(list, options.config, {"algorithm", "model", "task", "seed", "dtype", "device"});
        add_short_form(list, options.config, "steps", "train.steps");
      });
}

Command config_docs_command() {
  return make_command<DocsOptions>(
      {"config docs", "every key of a run's file: type, default, range, meaning",
       "With SECTION, also the parameters of every component that the section may name: algorithm.loss, rollout, ….\n"
       "One key, and which presets set it: drift help KEY.",
       "config docs algorithm.loss"},
      print_docs, [](OptionList& list, DocsOptions& options) {
        list.argument("SECTION", options.section, /*required=*/false).candidates = "sections";
        list.add_switch("json", "print JSON instead of text, with the parameters of components", options.json);
        add_config(list, options.config);
      });
}

}  // namespace drift
