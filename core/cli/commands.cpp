#include <core/cli/command.h>

namespace drift {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"train",
       "CONFIG.toml",
       true,
       "train a model with reinforcement learning",
       "Trains the model that the file names and writes metrics, checkpoints and a report into the run's folder.\n"
       "--set changes any value of the file; Ctrl-C finishes the step, saves, and says how to go on. --dry-run checks\n"
       "everything but the weights themselves and prints the plan: steps, forwards, tokens, memory; exit status 1 if\n"
       "something would not fit.",
       "train configs/quickstart.toml --seed 2 --set train.steps=20",
       {"set", "algorithm", "model", "task", "seed", "dtype", "device", "steps", "out", "resume", "dry-run", "json"},
       run_train},
      {"pretrain",
       "CONFIG.toml",
       true,
       "train a model on a task's demonstrations",
       "Masked-diffusion likelihood training: what makes the checkpoint that `drift train` starts from.",
       "pretrain configs/pretrain.toml --out runs/base",
       {"set", "model", "task", "seed", "dtype", "device", "steps", "out", "resume"},
       run_pretrain},
      {"sweep",
       "SWEEP.toml",
       true,
       "train a grid of runs and compare them",
       "Runs what the file asks for and is not finished yet, whoever stopped it and when; ends in tables, with mean "
       "and\n"
       "standard error over the seeds, and in a report with the curves of all runs. Exit status 1 if a run failed.",
       "sweep configs/sweeps/quick.toml --jobs 2",
       {"set", "out", "jobs", "dry-run", "report"},
       run_sweep},
      {"eval",
       "CHECKPOINT_DIR",
       true,
       "accuracy of a checkpoint on held-out items",
       "Task, reward and rollout come from the run that the checkpoint belongs to, from --config, or from --suite, "
       "which\n"
       "answers many tasks at many lengths and prints the published tables with this checkpoint's row. With --out (a "
       "suite\n"
       "always has one) every response is kept with its score and reason, and the same command goes on where it "
       "stopped.",
       "eval runs/quickstart/checkpoints/last --set evaluation.items=100",
       {"suite", "tasks", "out", "config", "set", "task", "seed", "dtype", "device"},
       run_eval},
      {"eval diff",
       "RESULTS RESULTS",
       true,
       "which items changed between two evaluations",
       "RESULTS is the folder of an evaluation, or one file of responses in it. Prints for every cell that both have "
       "the\n"
       "accuracies, their difference with a paired test, and the items that one side solves and the other does not.",
       "eval diff runs/eval/paper/base runs/eval/paper/trained",
       {"json"},
       run_eval_diff},
      {"generate",
       "CHECKPOINT_DIR",
       true,
       "write responses to a prompt",
       "The rollout comes from the run that the checkpoint belongs to, from --config, or from --set.",
       "generate runs/quickstart/checkpoints/last --prompt '2 + 2 =' --show-steps",
       {"prompt", "token-ids", "json", "show-steps", "config", "set", "seed", "dtype", "device"},
       run_generate},
      {"model info",
       "CHECKPOINT_DIR",
       true,
       "what a checkpoint is: parameters, memory per type, traits",
       "Reads config.json and the headers of the weights; no weights are opened.",
       "model info runs/quickstart/checkpoints/last",
       {"json", "config", "set"},
       run_model_info},
      {"model verify",
       "CHECKPOINT_DIR",
       true,
       "compare a checkpoint's logits with those of another program",
       "Computes the logits of the reference's input_ids and prints the largest difference, where it is, and the "
       "share\n"
       "of equal arg-maxima. Exit status 1 beyond the tolerance. Rows at padding do not count, or those where a\n"
       "compare_mask in the file is 0.",
       "model verify DIR --reference logits.safetensors --dtype bfloat16 --tolerance 1",
       {"reference", "tolerance", "relative-tolerance", "config", "set", "dtype", "device"},
       run_model_verify},
      {"data stats",
       "CONFIG.toml",
       true,
       "a task's items: how many, how long, answers, duplicates",
       "Looks at every item of a list, or at the first 1,000 (--items) that a generator makes for this seed. Tokens "
       "are\n"
       "counted where the file or --model names a model's folder.",
       "data stats configs/tasks/math.toml --model DIR",
       {"items", "json", "set", "task", "model", "seed"},
       run_data_stats},
      {"data show",
       "CONFIG.toml",
       true,
       "items as the model reads them",
       "Prints prompt, reference and demonstration of the first item (--items) of each set, or of the one called --id.",
       "data show configs/tasks/math.toml --model DIR --items 2",
       {"items", "id", "json", "set", "task", "model", "seed"},
       run_data_show},
      {"data check",
       "CONFIG.toml",
       true,
       "everything that is wrong with a task's items",
       "Bad records, training questions that evaluation asks, too, prompts that do not fit into the model's context, "
       "and\n"
       "references that the reward cannot read. Exit status 1 if something is wrong.",
       "data check configs/tasks/math.toml --model DIR",
       {"json", "set", "task", "model", "seed"},
       run_data_check},
      {"tokenize",
       "PATH",
       true,
       "text to token ids and back, as a checkpoint's tokenizer has them",
       "PATH is a checkpoint folder or a tokenizer.json. The text is --text, or standard input, or the `text` of "
       "every\n"
       "line of --in. With --decode it is the other way round: the ids are its value, or the `ids` of every line of "
       "--in.",
       "tokenize runs/quickstart/checkpoints/last --text '1 + 2 ='",
       {"text", "decode", "keep-special", "clean-up", "in", "json"},
       run_tokenize},
      {"plugin list",
       "CONFIG.toml",
       false,
       "everything that plugins bring",
       "Lists kind, name, version, tier and file. Plugins are looked for in the file's [plugins] paths, "
       "DRIFT_PLUGIN_PATH,\n"
       "beside the program, and in the installed folder.",
       "plugin list",
       {"set"},
       run_plugin_list},
      {"plugin info",
       "NAME",
       true,
       "one algorithm, component or plugin: its parameters and presets",
       "Prints what it is, its paper, and every parameter with type, range and default.",
       "plugin info NAME",
       {"config", "set"},
       run_plugin_info},
      {"plugin check",
       "FILE",
       true,
       "judge a plugin's file and try what it registers",
       "Reads the handshake, loads the file, and checks what it declares. Exit status 1 if something is wrong.",
       "plugin check build/libmy_loss.so",
       {},
       run_plugin_check},
      {"plugin presets",
       "NAME",
       true,
       "the presets of an algorithm, side by side",
       "Prints Markdown tables: what each preset is, where they differ, and what they share; the algorithm's page in\n"
       "docs/algorithms holds them.",
       "plugin presets NAME",
       {"config", "set"},
       run_plugin_presets},
      {"reward",
       "NAME",
       true,
       "judge stored responses",
       "Every line of --in is a record: {\"response\": …, \"reference\": …}, or a response beside the fields of a "
       "dataset's\n"
       "record. Prints score, verdict and reason of each. The reward's parameters are set with --set reward.KEY=VALUE; "
       "a\n"
       "file with [reward.added.LABEL] sections adds further rewards. Exit status 1 if one could not be judged.",
       "reward NAME --in responses.jsonl --json",
       {"in", "json", "config", "set"},
       run_reward},
      {"loss",
       "NAME",
       true,
       "evaluate one loss on stored numbers",
       "Reads log-probabilities, masks, advantages and parameters, and prints the loss, what it reports and its "
       "gradient\n"
       "at every scored position. Exit status 1 if the file expects other values. The golden values of Drift's own\n"
       "losses are such files.",
       "loss NAME --case FILE.json --variant 'no clipping'",
       {"case", "variant", "json", "config", "set"},
       run_loss},
      {"config show",
       "CONFIG.toml",
       true,
       "every value of a run and where it came from",
       "Prints the resolved file: with it alone, the run can be repeated. Exit status 2 if the file has mistakes.",
       "config show configs/quickstart.toml --set train.steps=20",
       {"for", "set", "algorithm", "model", "task", "seed", "dtype", "device", "steps"},
       run_config_show},
      {"doctor",
       "",
       false,
       "what works here, what does not, and what to do",
       "Checks the compiler, LibTorch, CUDA, threads, plugins, what rewards need (a sandbox) and the runs folder.\n"
       "Exit status 1 if something is wrong.",
       "doctor",
       {},
       run_doctor},
      {"sdk",
       "",
       false,
       "where the SDK for plugins lies",
       "Prints the folder that a plugin's CMake build takes as CMAKE_PREFIX_PATH.",
       "sdk --prefix",
       {"prefix"},
       run_sdk},
      {"version",
       "",
       false,
       "version, core ABI and LibTorch of this program",
       "Prints what a bug report should hold.",
       "version",
       {},
       run_version},
  };
  return all;
}

}  // namespace drift
