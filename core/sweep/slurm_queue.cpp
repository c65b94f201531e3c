#include <core/sweep/slurm_queue.h>

#include <core/base/child_process.h>

#include <drift/error.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <sstream>
#include <utility>

namespace drift {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// "12_3"; anything else is no task of an array.
bool read_id(SlurmTask& task) {
  const auto line = task.id.find('_');
  if (line == std::string::npos) return false;
  const std::string_view number = std::string_view(task.id).substr(line + 1);
  task.job = task.id.substr(0, line);
  if (!is_number(task.job) || !is_number(number)) return false;
  return std::from_chars(number.data(), number.data() + number.size(), task.number).ec == std::errc();
}

/// What the user sees first: without "sbatch: error: ", the first line that says something.
std::string without_prefix(const std::string& text, const std::string& program) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (const std::string& prefix : {program + ": ", std::string("error: ")})
      if (line.starts_with(prefix)) line.erase(0, prefix.size());
    if (!line.empty()) return line;
  }
  return "it says nothing";
}

/// Found anew each time: a test's stand on PATH, as a cluster's module does.
std::string program(const std::string& name) {
  std::string file = find_program(name);
  if (file.empty()) throw Error("`" + name + "` is no longer on PATH", "load Slurm's commands, and repeat");
  return file;
}

}  // namespace

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
    std::array<std::string, 3> fields;
    std::istringstream rest(line);
    for (std::string& field : fields) std::getline(rest, field, '|');
    std::string script;
    std::getline(rest, script);
    SlurmTask task{.id = fields[0], .state = fields[1], .reason = fields[2], .script = script};
    if (read_id(task)) tasks.push_back(std::move(task));
  }
  return tasks;
}

std::vector<SlurmTask> slurm_queue() {
  const CommandOutput answer = run({.arguments = {program("squeue"), "--me", "--array", "--states=all", "--noheader",
                                                  "--format=" + std::string(kSlurmFormat)}});
  if (answer.end.status() != 0) throw Error("squeue fails: " + without_prefix(answer.error, "squeue"));
  return parse_slurm_queue(answer.output);
}

std::string submit_to_slurm(const std::filesystem::path& script) {
  const CommandOutput answer = run({.arguments = {program("sbatch"), "--parsable", script.string()}});
  const std::string job = answer.output.substr(0, answer.output.find_first_of(";\n"));  // "12;cluster"
  if (answer.end.status() == 0 && is_number(job)) return job;
  throw Error("sbatch did not take the job array: " + without_prefix(answer.error, "sbatch"),
              "the script is " + script.string() + "; what it asks for is set in the file's section `slurm`");
}

}  // namespace drift
