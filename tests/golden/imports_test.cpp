// Every configuration that other programs publish (tests/golden/imports) becomes a run that resolves, nothing in it is
// unknown, and where a preset was made from the same file, both say the same.

#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <core/config/preset.h>
#include <core/config/run_config.h>
#include <core/import/import_run.h>

#include <drift/error.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

const fs::path kImports = test::source_dir() / "tests/golden/imports";

struct Imported {
  std::string program;
  ImportedRun run;
  std::string toml;
};

std::vector<fs::path> configurations() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(kImports)) {
    if (entry.is_regular_file() && entry.path().extension() != ".md") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

Imported import_file(const fs::path& file, const std::vector<std::string>& words = {}) {
  const ForeignSettings settings = read_foreign_settings(file, words);
  static const std::vector<ImportTable> tables = shipped_import_tables();
  const ImportTable& table = table_for(tables, settings, "");
  Imported imported{table.name, import_run(table, settings), ""};
  imported.toml = toml_of(imported.run, table, settings, "drift config import");
  return imported;
}

ConfigPurpose purpose_of(const std::string& program) {
  if (program.ends_with("-eval")) return ConfigPurpose::kEval;
  return program.ends_with("-sft") ? ConfigPurpose::kPretrain : ConfigPurpose::kTrain;
}

/// The TOML as a run; of the model there is only the family that the original names.
RunConfig resolved(const Imported& imported, const std::string& family = "llada") {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "model/config.json", "{\"model_type\": \"" + family + "\"}");
  test::write_file(folder.path() / "run.toml", imported.toml);
  const std::string model = (folder.path() / "model").string();
  const ConfigDocument document = load_document(folder.path() / "run.toml", {{model, "model.path", model, true}});
  return resolve_config(document, test::all_plugins(), purpose_of(imported.program));
}

std::string family_of(const Imported& imported) {
  return imported.toml.find("dream-7b") != std::string::npos ||
                 imported.toml.find("name = \"dream\"") != std::string::npos
             ? "Dream"
             : "llada";
}

TEST(Imports, EveryPublishedConfigurationResolves) {
  std::map<std::string, int> files;
  for (const fs::path& file : configurations()) {
    SCOPED_TRACE(file);
    Imported imported;
    // ESPO's train.yaml names no task: its scripts do.
    const bool without_task = file.parent_path().parent_path().filename() == "espo" && file.extension() == ".yaml";
    ASSERT_NO_THROW(imported = import_file(file));
    EXPECT_EQ(imported.run.needed.size(), without_task ? 1u : 0u);
    if (without_task) imported = import_file(file, {"--dataset_name", "math"});
    ++files[imported.program];
    EXPECT_TRUE(imported.program.starts_with(file.lexically_relative(kImports).begin()->string()));
    try {
      resolved(imported, family_of(imported));
    } catch (const Error& error) {
      ADD_FAILURE() << error.what() << "\n" << imported.toml;
    }
  }
  EXPECT_EQ(files, (std::map<std::string, int>{{"d1", 10},
                                               {"dllm-rl", 11},
                                               {"dllm-rl-eval", 7},
                                               {"dllm-rl-sft", 4},
                                               {"drift-py", 7},
                                               {"drift-py-eval", 5},
                                               {"espo", 8},
                                               {"ml-diffucoder", 2}}));
}

TEST(Imports, EveryKeyBecomesAValueOrHasAReason) {
  for (const fs::path& file : configurations()) {
    SCOPED_TRACE(file);
    const Imported imported = import_file(file);
    for (const LeftOut& one : imported.run.unknown) ADD_FAILURE() << "unknown: " << one.what;
    for (const LeftOut& one : imported.run.left_out) EXPECT_FALSE(one.why.empty()) << one.what;
    for (const ImportedValue& value : imported.run.values) EXPECT_FALSE(value.origin.empty()) << value.key;
  }
}

TEST(Imports, EveryLineNamesItsOrigin) {
  const std::string toml = import_file(kImports / "espo/recipes/run_gsm8k_llada.sh").toml;
  EXPECT_THAT(toml, testing::ContainsRegex("num_mc = 2 +# origin: [^\n]*run_gsm8k_llada.sh:[0-9]+ --num_mc\n"));
  EXPECT_THAT(toml, testing::ContainsRegex("beta1 = 0.9 +# origin: [^\n]*train.yaml:[0-9]+ adam_beta1\n"));
  EXPECT_THAT(toml, testing::ContainsRegex("prompts_per_step = 16 +# origin: [^\n]*--per_device_train_batch_size x "
                                           "gradient_accumulation_steps x devices / num_generations: 3 x 4 x 8 / 6\n"));
}

/// A preset that was made from a published file, and that file.
struct Made {
  std::string file, plugin, preset;
};

/// Whether a value of the preset has an effect in the run.
bool counts(const RunConfig& run, const std::string& key) {
  const auto text = [&](const char* section, const char* name) { return run.section(section).get<std::string>(name); };
  if (key == "train.final_fraction") return text("train", "schedule") != "constant";
  if (key == "reference.sync_steps" || key == "reference.mix") return text("reference", "policy") == "ema";
  if (key.starts_with("adapter.")) return text("adapter", "kind") == "lora";
  return run.find(key) != nullptr;
}

TEST(Imports, SayWhatThePresetsSayThatWereMadeFromTheSameFiles) {
  const std::vector<Made> all = {
      {"espo/recipes/train.yaml", "espo", "train"},
      {"espo/recipes/run_gsm8k_llada.sh", "espo", "gsm8k"},
      {"espo/recipes/run_math_llada.sh", "espo", "math"},
      {"espo/recipes/run_countdown_llada.sh", "espo", "countdown"},
      {"espo/recipes/run_sudoku_llada.sh", "espo", "sudoku"},
      {"espo/recipes/run_code_llada.sh", "espo", "code"},
      {"espo/recipes/run_demo_llada.sh", "espo", "demo_llada_sudoku"},
      {"espo/recipes/run_demo_dream.sh", "espo", "demo_dream_countdown"},
      {"ml-diffucoder/recipes/config_coupled_code.yaml", "coupled_grpo", "code_dream"},
      {"ml-diffucoder/run.sh", "coupled_grpo", "code_dream"},
      {"d1/slurm_scripts/train.yaml", "d1", "train"},
      {"d1/slurm_scripts/gsm_base.sbatch", "d1", "gsm8k"},
      {"d1/slurm_scripts/math_sft.sbatch", "d1", "math"},
      {"d1/slurm_scripts/countdown_base.sbatch", "d1", "countdown"},
      {"d1/slurm_scripts/sudoku_base.sbatch", "d1", "sudoku"},
      {"d1/run.sh", "d1", "sudoku_run_sh"},
      {"dllm-rl/rl_llada.yaml", "tracerl", "rl_llada"},
      {"dllm-rl/rl_dream.yaml", "tracerl", "rl_dream"},
      {"dllm-rl/multinode_rl_llada.yaml", "tracerl", "multinode_rl_llada"},
      {"drift-py/configs/llada_math.yaml", "rldf", "rldf_release"},
      {"drift-py/configs/llada_code.yaml", "rldf", "rldf_release"},
      {"drift-py/configs/dream_math.yaml", "rldf", "rldf_release_dream"},
      {"drift-py/configs/dream_code.yaml", "rldf", "rldf_release_dream"},
  };
  for (const Made& made : all) {
    SCOPED_TRACE(made.file + " and the preset " + made.preset);
    Imported imported = import_file(kImports / made.file);
    if (!imported.run.needed.empty()) imported = import_file(kImports / made.file, {"--dataset_name", "math"});
    const RunConfig run = resolved(imported, family_of(imported));
    const Bundle& bundle = test::load_plugin(made.plugin).bundles().front();
    const Preset preset = read_preset(bundle, *preset_in_force(bundle, made.preset));
    for (const auto& [key, leaf] : preset.layer.leaves) {
      if (!counts(run, key)) continue;
      const ResolvedValue& value = *run.find(key);
      EXPECT_EQ(to_toml(value.value), to_toml(value.value.index() == 2 && leaf.value->index() == 1
                                                  ? ParamValue(static_cast<double>(std::get<std::int64_t>(*leaf.value)))
                                                  : *leaf.value))
          << key << " from " << value.origin.text();
    }
  }
}

TEST(Imports, MoreDevicesAreMorePrompts) {
  const ForeignSettings settings = read_foreign_settings(kImports / "drift-py/configs/llada_math.yaml", {});
  const std::vector<ImportTable> tables = shipped_import_tables();
  const ImportedRun run = import_run(table_for(tables, settings, "drift-py"), settings, 8);
  const auto value = [&](const std::string& key) {
    return std::ranges::find(run.values, key, &ImportedValue::key)->value;
  };
  EXPECT_EQ(value("train.prompts_per_step"), ParamValue(std::int64_t{64}));
  EXPECT_EQ(value("filter.max_groups"), ParamValue(std::int64_t{32}));
}

TEST(Imports, ALineThatTheShellLosesIsNamed) {
  const Imported imported = import_file(kImports / "d1/slurm_scripts/sudoku_base.sbatch");
  ASSERT_EQ(imported.run.remarks.size(), 1u);
  EXPECT_THAT(imported.run.remarks[0], testing::HasSubstr("--temperature 0.3: not part of the command"));
  EXPECT_THAT(imported.toml, testing::HasSubstr("temperature = 0.9"));
}

TEST(Imports, WhatDriftDoesNotHaveIsListedWithAReason) {
  const std::string trado = import_file(kImports / "dllm-rl/rl_trado.yaml").toml;
  EXPECT_THAT(trado, testing::ContainsRegex("#   [^\n]*model.model_base = trado: there is no backbone for it"));
  const std::string sft = import_file(kImports / "dllm-rl/sft_sdar.yaml").toml;
  EXPECT_THAT(sft, testing::ContainsRegex("#   [^\n]*training.method = semi-ar: drift pretrain draws random masks"));
  const std::string eval = import_file(kImports / "drift-py/configs/eval/eval_llada_math.yaml").toml;
  EXPECT_THAT(eval, testing::ContainsRegex("length = 128 +# origin: [^\n]*; the first of 128, 256, 512\n"));
}

}  // namespace
}  // namespace drift
