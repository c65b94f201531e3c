#include "bench/recipe.h"

#include "bench/measure.h"

#include <core/base/tensor_memory.h>
#include <core/rollout/prompt_encoder.h>
#include <core/text/tokenizer.h>

#include <drift/task.h>

#include <ATen/Parallel.h>

#include <boost/program_options.hpp>

#include <cstdio>
#include <filesystem>

namespace drift::bench {
namespace {

namespace fs = std::filesystem;

bool has_weights(const fs::path& folder) {
  return fs::exists(folder / "model.safetensors") || fs::exists(folder / "model.safetensors.index.json");
}

fs::path model_folder(const RunConfig& config) { return config.get<ModelSettings>().path; }

}  // namespace

Recipe::Recipe(int count, char** arguments) {
  namespace options = boost::program_options;
  std::string file;
  std::vector<std::string> assignments;
  options::options_description known;
  auto add = known.add_options();
  add("config", options::value(&file)->default_value(source_file("configs/quickstart.toml")));
  add("set", options::value(&assignments));
  add("rounds", options::value(&rounds_)->default_value(31));
  options::variables_map values;
  options::store(options::parse_command_line(count, arguments, known), values);
  options::notify(values);

  std::vector<ConfigOverride> overrides;
  for (const std::string& assignment : assignments) overrides.push_back(ConfigOverride::from_set(assignment));
  for (const SearchPath& folder : plugin_search_paths({}, fs::read_symlink("/proc/self/exe")))
    loader_.load_folder(folder);
  config_ = resolve_config(load_document(file, overrides), registry_, ConfigPurpose::kTrain);
  if (!has_weights(model_folder(config_))) {
    random_weights_ = true;
    overrides.push_back(ConfigOverride::from_set("model.initialize=random"));
    config_ = resolve_config(load_document(file, overrides), registry_, ConfigPurpose::kTrain);
  }
  prepare_device(config_);
  model_ = open_initial_model(alone_, {host_, config_, WhichAdapters::kAll});
  policy_.emplace(*model_);
}

Prompts Recipe::prompts() const {
  const auto task = create_component<Task>(host_, config_, "task");
  const auto rollout = create_component<Rollout>(host_, config_, "rollout");
  const auto train = config_.get<TrainSettings>();
  std::vector<TaskItem> items(static_cast<std::size_t>(train.prompts_per_step));
  for (std::size_t i = 0; i < items.size(); ++i)
    task->training_item(static_cast<std::int64_t>(i), RandomStream(1, "task"), items[i]);
  const Tokenizer tokenizer = Tokenizer::open(model_folder(config_));
  return PromptEncoder(config_.get<PromptSettings>(), tokenizer, model_->traits())
      .encode(items, train.group_size, rollout->response_length());
}

RolloutInput Recipe::rollout_input() const {
  RolloutInput input;
  input.policy = &*policy_;
  input.prompts = prompts();
  input.random = RandomStream(1, "rollout");
  return input;
}

void Recipe::print_heading() const {
  const ModelTraits& model = model_->traits();
  std::printf("model %s%s: %lld layers, hidden %lld, vocabulary %lld; %d threads, %d rounds\n",
              model_folder(config_).c_str(), random_weights_ ? " (RANDOM WEIGHTS: the folder has none)" : "",
              static_cast<long long>(model.layers), static_cast<long long>(model.hidden_size),
              static_cast<long long>(model.vocabulary_size), at::get_num_threads(), rounds_);
}

int guarded(void (*run)(int, char**), int count, char** arguments) {
  keep_memory_of_large_tensors();
  try {
    run(count, arguments);
    return 0;
  } catch (const ConfigError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace drift::bench
