#include "tests/support/training_run.h"
#include "tests/support/support.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace drift::test {
namespace {

namespace fs = std::filesystem;

std::string toml(const fs::path& model) {
  return R"([run]
name = "tiny"
seed = 5
threads = 1
[model]
name = "llada"
path = ")" +
         model.string() + R"("
[task]
name = "sudoku"
[reward]
name = "sudoku"
score = "cells"
truncation_is_wrong = false
[rollout]
name = "block"
length = 20
block = 5
[evaluation]
items = 4
[evaluation.rollout]
temperature = 0.0
)";
}

constexpr const char* kPretrain = R"([pretrain]
steps = 80
batch_size = 32
response_length = 20
learning_rate = 3e-3
checkpoint_every = 0
)";

constexpr const char* kTrain = R"([algorithm]
name = "rldf"
[algorithm.masking]
k = 2
[algorithm.loss]
beta = 0.0
[train]
steps = 4
prompts_per_step = 2
group_size = 4
learning_rate = 1e-3
checkpoint_every = 1
)";

fs::path base_run() { return build_dir() / "tests/base"; }

nlohmann::json without_times(nlohmann::json line) {
  std::erase_if(line.get_ref<nlohmann::json::object_t&>(),
                [](const auto& entry) { return entry.first.starts_with("rank_idle"); });
  line.erase("seconds");
  line.erase("tokens_per_second");
  if (line.contains("held_out")) line["held_out"].erase("seconds");
  return line;
}

}  // namespace

void make_base_checkpoint() {
  const TemporaryFolder folder;
  write_file(folder.path() / "base.toml", toml(source_dir() / "assets/sudoku-llada") + kPretrain);
  fs::remove_all(base_run());
  const auto made =
      run_command(program().string() + " pretrain " + (folder.path() / "base.toml").string() +
                  " --set model.initialize=random --set evaluation.before=false --out " + base_run().string());
  if (made.status != 0) throw std::runtime_error("drift pretrain failed: " + made.error);
}

fs::path base_checkpoint() { return fs::canonical(base_run() / "checkpoints/last"); }

TrainingRuns::TrainingRuns() {
  write_file(path() / "run.toml", toml(base_checkpoint()) + kTrain);
  write_file(path() / "blocks.toml", R"(extends = ["run.toml"]
[model]
name = "sdar"
path = ")" + (source_dir() / "assets/sudoku-sdar").string() +
                                         R"("
[rollout]
block = 4
temperature = 2.0
)");
}

std::vector<nlohmann::json> TrainingRuns::metrics_in(const std::string& run) const { return metrics_of(path(run)); }

std::string TrainingRuns::difference_of(const std::string& run, const std::string& expected) const {
  return difference(path(run), path(expected));
}

RunningProgram::RunningProgram(const fs::path& folder, const std::string& arguments,
                               const std::vector<std::string>& variables)
    : folder_(folder) {
  const auto file = [&](const char* name) {
    return Descriptor(::open((folder / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), name);
  };
  const Descriptor output = file("output"), error = file("error");
  ChildCommand command{.arguments = {program().string()},
                       .environment = environment_with(variables),
                       .descriptors = {{output.get(), STDOUT_FILENO}, {error.get(), STDERR_FILENO}},
                       .folder = folder};
  std::istringstream words(arguments);
  for (std::string word; words >> word;) command.arguments.push_back(word);
  process_ = ChildProcess(command);
}

bool RunningProgram::wait_until(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (!is_running() || std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return true;
}

std::vector<nlohmann::json> metrics_of(const fs::path& run) { return json_lines(read_file(run / "metrics.jsonl")); }

std::pair<std::string, double> best_checkpoint_of(const fs::path& run) {
  std::int64_t step = 0;
  double best = -1;
  for (const auto& line : metrics_of(run)) {
    if (!line.contains("held_out") || line["held_out"]["accuracy"] <= best) continue;
    best = line["held_out"]["accuracy"];
    step = line["step"];
  }
  const std::string digits = std::to_string(step);
  return {"step-" + std::string(6 - digits.size(), '0') + digits, best};
}

std::map<std::string, std::vector<nlohmann::json>> results_of(const fs::path& sweep) {
  std::map<std::string, std::vector<nlohmann::json>> all;
  for (const auto& run : fs::directory_iterator(sweep / "runs")) {
    auto& lines = all[run.path().filename().string()];
    for (const auto& line : metrics_of(run.path())) lines.push_back(without_times(line));
  }
  return all;
}

std::string difference(const fs::path& run, const fs::path& expected) {
  const auto found = metrics_of(run), wanted = metrics_of(expected);
  std::string text;
  if (found.size() != wanted.size()) {
    text += std::to_string(found.size()) + " lines of metrics, not " + std::to_string(wanted.size()) + "\n";
  }
  for (std::size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
    const auto line = without_times(found[i]), other = without_times(wanted[i]);
    if (line != other) text += "metrics: " + line.dump() + "\n  not " + other.dump() + "\n";
  }
  const bool adapts = fs::exists(expected / "checkpoints/last/adapter_model.safetensors");
  for (const char* file : {adapts ? "adapter_model.safetensors" : "model.safetensors", "training_state.safetensors"}) {
    const auto last = fs::path("checkpoints/last") / file;
    if (read_file(run / last) != read_file(expected / last)) text += std::string(file) + " differs\n";
  }
  return text;
}

}  // namespace drift::test
