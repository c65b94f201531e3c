#include <core/sweep/slurm_text.h>

#include <core/base/child_process.h>

#include <drift/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <utility>

namespace drift {
namespace {

constexpr std::string_view kNameOfJob = "    job=";

/// A file's name in an option of sbatch, which takes quotes away and replaces %A and the like.
std::string option_path(const std::filesystem::path& path) {
  std::string text;
  for (const char c : path.string()) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '%' ? "%%" : std::string(1, c);
  }
  return text.find_first_of(" \t'\"\\#") == std::string::npos ? text : '"' + text + '"';
}

std::string options_text(const SlurmScript& script, std::size_t tasks) {
  const SlurmSettings& settings = script.settings;
  std::vector<std::string> options = {"--job-name=drift-" + script.name, "--array=1-" + std::to_string(tasks),
                                      "--output=" + option_path(script.folder) + "/%A_%a.txt"};
  if (script.at_a_time > 0) options[1] += "%" + std::to_string(script.at_a_time);
  if (!settings.partition.empty()) options.push_back("--partition=" + settings.partition);
  if (!settings.time.empty()) options.push_back("--time=" + settings.time);
  if (settings.gpus > 0) options.push_back("--gpus=" + std::to_string(settings.gpus));
  options.insert(options.end(), settings.lines.begin(), settings.lines.end());
  std::string text;
  for (const std::string& option : options) text += "#SBATCH " + option + "\n";
  return text;
}

std::string case_text(std::size_t task, const Job& job) {
  const auto path = [](const std::filesystem::path& file) {
    return shell_command({std::filesystem::absolute(file).lexically_normal().string()}) + "\n";
  };
  std::string label = job.label;
  std::ranges::replace(label, '\n', ' ');
  std::vector<std::string> set = {"set", "--"};
  set.insert(set.end(), job.arguments.begin(), job.arguments.end());
  return "  " + std::to_string(task) + ")  # " + label + "\n" + std::string(kNameOfJob) + job.name +
         "\n    output=" + path(job.output) + (job.continues.empty() ? "" : "    begun=" + path(job.continues)) +
         "    " + shell_command(set) + " ;;\n";
}

/// "12_3"; anything else is no task of an array.
bool read_id(SlurmTask& task) {
  const auto line = task.id.find('_');
  if (line == std::string::npos) return false;
  task.job = task.id.substr(0, line);
  const char *const begin = task.id.data() + line + 1, *const end = task.id.data() + task.id.size();
  const auto [behind, error] = std::from_chars(begin, end, task.number);
  return error == std::errc() && behind == end && task.job.find_first_not_of("0123456789") == std::string::npos;
}

/// One of Slurm's commands, found anew each time: a test's stand on PATH, as a cluster's module does.
/// @param problem  becomes what the user sees first: without "sbatch: error: ", the first line that says something
CommandOutput ask(const std::string& name, const std::vector<std::string>& arguments, std::string& problem) {
  std::vector<std::string> command = {find_program(name)};
  if (command[0].empty()) throw Error("`" + name + "` is no longer on PATH", "load Slurm's commands, and repeat");
  command.insert(command.end(), arguments.begin(), arguments.end());
  CommandOutput answer = run({.arguments = std::move(command)});
  std::istringstream lines(answer.error);
  for (std::string line; problem.empty() && std::getline(lines, line);) {
    for (const std::string& prefix : {name + ": ", std::string("error: ")})
      if (line.starts_with(prefix)) line.erase(0, prefix.size());
    problem = line;
  }
  if (problem.empty()) problem = "it says nothing";
  return answer;
}

}  // namespace

std::string slurm_script_text(const SlurmScript& script, const std::vector<Job>& jobs) {
  std::string text = "#!/bin/bash\n" + options_text(script, jobs.size()) +
                     "# Written by drift, which submits it. Every task is one command of drift; what it prints goes to "
                     "`output`.\ncd " +
                     shell_command({script.working.string()}) + " || exit\nbegun=\ncase $SLURM_ARRAY_TASK_ID in\n";
  for (std::size_t i = 0; i < jobs.size(); ++i) text += case_text(i + 1, jobs[i]);
  return text + "esac\nstatus_file=" + shell_command({script.folder.string()}) +
         R"("/${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID.status"
# Slurm may start a task again, after a node failed.
rm -f "$status_file"
if [[ $begun && -e $begun ]]; then set -- "$@" --resume; fi
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$SLURM_CPUS_ON_NODE}"
)" + shell_command({script.program.string()}) +
         R"( "$@" >>"$output" 2>&1 &
program=$!
# SIGTERM comes at the time limit and at scancel: the program saves and ends, and this shell waits for it.
trap 'kill -TERM "$program" 2>/dev/null' TERM
while kill -0 "$program" 2>/dev/null; do wait "$program"; done
wait "$program"
status=$?
echo $status >"$status_file"
exit $status
)";
}

std::vector<std::string> jobs_in_slurm_script(std::string_view text) {
  std::vector<std::string> names;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kNameOfJob)) names.push_back(line.substr(kNameOfJob.size()));
  }
  return names;
}

std::string submit_to_slurm(const std::filesystem::path& script) {
  std::string problem;
  const CommandOutput answer = ask("sbatch", {"--parsable", script.string()}, problem);
  const std::string job = answer.output.substr(0, answer.output.find_first_of(";\n"));  // "12;cluster"
  if (answer.end.status() == 0 && !job.empty() && job.find_first_not_of("0123456789") == std::string::npos) return job;
  throw Error("sbatch did not take the job array: " + problem,
              "the script is " + script.string() + "; what it asks for is set in the file's section `slurm`");
}

bool SlurmTask::is_waiting() const { return state != "RUNNING" && state != "COMPLETING" && !has_ended(); }

bool SlurmTask::has_ended() const {
  static constexpr std::array kEnded = {"BOOT_FAIL", "CANCELLED",     "COMPLETED", "DEADLINE", "FAILED",
                                        "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "REVOKED",  "TIMEOUT"};
  return std::ranges::find(kEnded, state) != kEnded.end();
}

std::string SlurmTask::how() const {
  static constexpr std::array<std::pair<const char*, const char*>, 7> kWords = {
      {{"CANCELLED", "cancelled"},
       {"TIMEOUT", "time limit reached"},
       {"OUT_OF_MEMORY", "out of memory"},
       {"NODE_FAIL", "its node failed"},
       {"BOOT_FAIL", "its node did not start"},
       {"PREEMPTED", "preempted"},
       {"DEADLINE", "deadline reached"}}};
  for (const auto& [name, words] : kWords)
    if (state == name) return words;
  return {};
}

std::vector<SlurmTask> parse_slurm_queue(std::string_view text) {
  std::vector<SlurmTask> tasks;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    SlurmTask task;
    std::string script;
    std::istringstream rest(line);
    for (std::string* field : {&task.id, &task.state, &task.reason}) std::getline(rest, *field, '|');
    std::getline(rest, script);
    task.script = script;
    if (read_id(task)) tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<SlurmTask> slurm_queue() {
  std::string problem;
  const CommandOutput answer = ask(
      "squeue", {"--me", "--array", "--states=all", "--noheader", "--format=" + std::string(kSlurmFormat)}, problem);
  if (answer.end.status() != 0) throw Error("squeue fails: " + problem);
  return parse_slurm_queue(answer.output);
}

}  // namespace drift
