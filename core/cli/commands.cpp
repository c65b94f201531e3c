#include <core/cli/command.h>

namespace drift {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"train", "CONFIG.toml", true, "train a model with reinforcement learning",
       "Trains the model that the file names and writes metrics, checkpoints and a report into the run's folder.\n"
       "--set changes any value of the file; Ctrl-C finishes the step, saves, and says how to go on.",
       "train configs/quickstart.toml --seed 2 --set train.steps=20",
       {"set", "algorithm", "model", "task", "seed", "device", "steps", "out", "resume"}, run_train},
      {"pretrain", "CONFIG.toml", true, "train a model on a task's demonstrations",
       "Masked-diffusion likelihood training: what makes the checkpoint that `drift train` starts from.",
       "pretrain configs/pretrain.toml --out runs/base",
       {"set", "model", "task", "seed", "device", "steps", "out", "resume"}, run_pretrain},
      {"eval", "CHECKPOINT_DIR", true, "accuracy of a checkpoint on held-out items",
       "Task, reward and rollout come from the run that the checkpoint belongs to, or from --config.",
       "eval runs/quickstart/checkpoints/last --set evaluation.items=100",
       {"config", "set", "task", "seed", "device"}, run_eval},
      {"generate", "CHECKPOINT_DIR", true, "write responses to a prompt",
       "The rollout comes from the run that the checkpoint belongs to, from --config, or from --set.",
       "generate runs/quickstart/checkpoints/last --prompt '2 + 2 =' --show-steps",
       {"prompt", "token-ids", "json", "show-steps", "config", "set", "seed", "device"}, run_generate},
      {"plugin list", "CONFIG.toml", false, "everything that plugins bring",
       "Lists kind, name, version, tier and file. Plugins are looked for in the file's [plugins] paths, DRIFT_PLUGIN_PATH,\n"
       "beside the program, and in the installed folder.",
       "plugin list", {"set"}, run_plugin_list},
      {"plugin info", "NAME", true, "one algorithm, component or plugin: its parameters and presets",
       "Prints what it is, its paper, and every parameter with type, range and default.",
       "plugin info NAME", {"config", "set"}, run_plugin_info},
      {"plugin check", "FILE", true, "judge a plugin's file and try what it registers",
       "Reads the handshake, loads the file, and checks what it declares. Exit status 1 if something is wrong.",
       "plugin check build/libmy_loss.so", {}, run_plugin_check},
      {"config show", "CONFIG.toml", true, "every value of a run and where it came from",
       "Prints the resolved file: with it alone, the run can be repeated. Exit status 2 if the file has mistakes.",
       "config show configs/quickstart.toml --set train.steps=20",
       {"for", "set", "algorithm", "model", "task", "seed", "device", "steps"}, run_config_show},
      {"doctor", "", false, "what works here, what does not, and what to do",
       "Checks the compiler, LibTorch, CUDA, threads, plugins and the runs folder. Exit status 1 if something is wrong.",
       "doctor", {}, run_doctor},
      {"sdk", "", false, "where the SDK for plugins lies", "Prints the folder that a plugin's CMake build takes as CMAKE_PREFIX_PATH.",
       "sdk --prefix", {"prefix"}, run_sdk},
      {"version", "", false, "version, core ABI and LibTorch of this program", "Prints what a bug report should hold.", "version", {},
       run_version},
  };
  return all;
}

}  // namespace drift
