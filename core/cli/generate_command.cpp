#include <core/base/log.h>
#include <core/base/model_policy.h>
#include <core/base/quote.h>
#include <core/cli/data_source.h>
#include <core/cli/load_run.h>
#include <core/components/components.h>
#include <core/io/json.h>
#include <core/report/terminal.h>
#include <core/rollout/prompt_encoder.h>
#include <core/rollout/response_text.h>
#include <core/text/tokenizer.h>

#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include <iostream>

namespace drift {
namespace {

struct GenerateOptions {
  CheckpointOptions checkpoint;
  std::optional<std::string> prompt;
  std::vector<std::int64_t> token_ids;
  std::string item;
  bool json = false;
  bool show_steps = false;
};

/// The prompt of a task's item, in the words that training gives it.
std::vector<std::int64_t> item_ids(const std::string& id, const LoadedRun& run, const PromptEncoder& prompts) {
  if (!run.config.has("task"))
    throw Error("--item chooses from a task, and none is named", "name a run's file: --config configs/quickstart.toml");
  const auto task = create_component<Task>(run.plugins->registry, run.config, "task");
  const TaskItem item = item_with_id(task, seed_of(run.config), id).item;
  return prompts.ids(item.prompt, item.response_prefix);
}

std::vector<std::int64_t> prompt_ids(const GenerateOptions& options, const LoadedRun& run, const Tokenizer& tokenizer,
                                     const ModelTraits& traits) {
  const PromptEncoder prompts(run.config.section("prompt"), tokenizer, traits);
  auto ids = options.prompt          ? prompts.ids(*options.prompt)
             : !options.item.empty() ? item_ids(options.item, run, prompts)
                                     : options.token_ids;
  if (ids.empty()) throw Error("the prompt is empty", "give --prompt TEXT, --item ID or --token-ids 1,2,3");
  for (const std::int64_t id : ids) {
    if (id < 0 || id >= traits.vocabulary_size) {
      throw Error("token id " + std::to_string(id) + " is outside the model's vocabulary of " +
                  std::to_string(traits.vocabulary_size));
    }
  }
  return ids;
}

template <class T>
std::vector<T> first_row(const at::Tensor& tensor) {
  const T* data = tensor.const_data_ptr<T>();
  return std::vector<T>(data, data + tensor.size(1));
}

void print_json(const Trajectories& made, const std::string& text) {
  nlohmann::ordered_json object;
  object["token_ids"] = first_row<std::int64_t>(made.tokens_BL);
  object["steps"] = first_row<std::int32_t>(made.step_BL);
  object["commit_logprob"] = first_row<float>(made.commit_logprob_BL);
  object["forwards"] = made.forwards_B.item<std::int64_t>();
  object["text"] = text;
  std::cout << json_text(object) << "\n";
}

// The response as it stood after each forward, a dot for every position that was still masked.
void print_steps(const Trajectories& made, const Tokenizer& tokenizer) {
  const auto ids = first_row<std::int64_t>(made.tokens_BL);
  const auto steps = first_row<std::int32_t>(made.step_BL);
  const auto pieces = display_pieces(ids, tokenizer);
  for (std::int64_t step = 0; step < made.forwards_B.item<std::int64_t>(); ++step) {
    std::cout << "step " << step + 1 << "\n";
    for (std::size_t i = 0; i < ids.size(); ++i) std::cout << (steps[i] <= step ? pieces[i] : "\u00b7");
    std::cout << "\n\n";
  }
}

int generate(const GenerateOptions& options) {
  if (int{options.prompt.has_value()} + int{!options.token_ids.empty()} + int{!options.item.empty()} != 1)
    throw UsageError("`drift generate` expects one of --prompt, --item and --token-ids",
                     "for example: --prompt '2 + 2 ='");
  const LoadedRun run = load_run(options.checkpoint.run("rollout.name"), ConfigPurpose::kGenerate);
  const auto& config = run.config;
  for (const std::string& note : config.notes()) log_warning(note);
  prepare_device(config);
  const std::filesystem::path folder = config.section("model").get<std::string>("path");
  const Tokenizer tokenizer = Tokenizer::open(folder);
  const auto ids = prompt_ids(options, run, tokenizer, read_model_traits(run.plugins->registry, config));
  const auto model = open_model(run.plugins->registry, config, folder);
  const auto rollout = create_component<Rollout>(run.plugins->registry, config, "rollout");

  RolloutInput input;
  const ModelPolicy policy(*model);
  input.policy = &policy;
  input.prompts = single_prompt(ids);
  input.random = RandomStream(static_cast<std::uint64_t>(config.section("run").get<std::int64_t>("seed")), "generate");
  Trajectories made;
  const at::NoGradGuard no_gradient;
  rollout->generate(input, made);
  const std::string text = response_text(made, 0, tokenizer);
  if (options.json) {
    print_json(made, text);
  } else {
    if (options.show_steps) print_steps(made, tokenizer);
    std::cout << (detect_terminal(1).is_terminal ? printable(text) : text) << "\n";
  }
  return 0;
}

}  // namespace

Command generate_command() {
  return make_command<GenerateOptions>(
      {"generate", "write responses to a prompt",
       "The rollout is that of the run that made the checkpoint, of --config, or of --set.",
       "generate runs/quickstart/checkpoints/last --prompt $'0040\\n4301\\n0004\\n1400' --show-steps"},
      generate, [](OptionList& list, GenerateOptions& options) {
        list.add("prompt", "TEXT", "the prompt", options.prompt);
        list.add("item", "ID", "the prompt of an item of the run's task (drift data show prints ids)", options.item);
        list.add("token-ids", "1,2,3", "the prompt as token ids", options.token_ids);
        list.add_switch("json", "print token ids, denoising steps and log-probabilities as JSON", options.json);
        list.add_switch("show-steps", "print the response after every denoising step", options.show_steps);
        add_checkpoint(list, options.checkpoint, {"seed", "dtype", "device"});
      });
}

}  // namespace drift
