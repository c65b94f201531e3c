#include <core/base/model_policy.h>
#include <core/cli/load_run.h>
#include <core/components/components.h>
#include <core/io/json.h>
#include <core/rollout/prompt_encoder.h>
#include <core/rollout/response_text.h>
#include <core/text/tokenizer.h>

#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>

#include <iostream>

namespace drift {
namespace {

std::vector<std::int64_t> prompt_ids(const CommandLine& line, const RunConfig& config, const Tokenizer& tokenizer,
                                     const ModelTraits& traits) {
  const PromptEncoder prompts(config.section("prompt"), tokenizer, traits);
  auto ids = line.prompt ? prompts.ids(*line.prompt) : line.token_ids;
  if (ids.empty()) throw Error("the prompt is empty", "give --prompt TEXT or --token-ids 1,2,3");
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

}  // namespace

int run_generate(const CommandLine& line) {
  const LoadedRun run = load_run(line, ConfigPurpose::kGenerate);
  const auto& config = run.config;
  prepare_device(config);
  const std::filesystem::path folder = config.section("model").get<std::string>("path");
  const Tokenizer tokenizer = Tokenizer::open(folder);
  const auto ids = prompt_ids(line, config, tokenizer, read_model_traits(run.plugins->registry, config));
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
  if (line.json) {
    print_json(made, text);
  } else {
    if (line.show_steps) print_steps(made, tokenizer);
    std::cout << text << "\n";
  }
  return 0;
}

}  // namespace drift
