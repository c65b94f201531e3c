#include <core/cli/load_run.h>
#include <core/eval/held_out.h>
#include <core/report/terminal.h>
#include <core/train/components.h>

#include <cstdio>
#include <iostream>

namespace drift {

int run_eval(const CommandLine& line) {
  const LoadedRun run = load_run(line, ConfigPurpose::kEval);
  const auto& config = run.config;
  const auto& registry = run.plugins->registry;
  prepare_device(config);
  const std::filesystem::path folder = config.section("model").get<std::string>("path");
  const Tokenizer tokenizer = Tokenizer::open(folder);
  const PromptEncoder prompts(config.section("prompt"), tokenizer, read_model_traits(registry, config));
  const auto task = create_component<Task>(registry, config, "task");
  const Judge judge(registry, config);
  const auto rollout = create_component<Rollout>(registry, config, "evaluation.rollout");
  if (task->held_out_size() == 0) throw Error("the task `" + task.name() + "` has no held-out items");
  const auto model = open_model(registry, config, folder);

  HeldOutSettings settings;
  settings.model = &*model;
  settings.prompts = &prompts;
  settings.task = &task;
  settings.judge = &judge;
  settings.rollout = &rollout;
  settings.items = config.section("evaluation").get<std::int64_t>("items");
  settings.seed = static_cast<std::uint64_t>(config.section("run").get<std::int64_t>("seed"));
  Terminal progress(std::cerr, detect_terminal(2));
  settings.progress = [&](std::int64_t done, std::int64_t total) {
    progress.show_live("evaluation " + std::to_string(done) + " / " + std::to_string(total));
  };
  const auto result = evaluate_held_out(settings).result;
  progress.show_live("", true);
  std::printf("%-20s %s\n%-20s %s\n%-20s %lld\n%-20s %.1f %%   (standard error %.1f)\n%-20s %.2f\n%-20s %.2f s\n",
              "checkpoint", folder.string().c_str(), "task", task.name().c_str(), "held-out items",
              static_cast<long long>(result.items), "solved", 100 * result.accuracy, 100 * result.standard_error,
              "forwards / response", result.forwards_per_response, "time", result.seconds);
  return 0;
}

}  // namespace drift
