#include <core/sweep/slurm_script.h>

#include <core/base/child_process.h>

#include <algorithm>

namespace drift {
namespace {

/// A file's name in an option of sbatch, which takes quotes away and replaces %A and the like.
std::string option_path(const std::filesystem::path& path) {
  std::string text;
  for (const char c : path.string()) {
    if (c == '"' || c == '\\') text += '\\';
    text += c == '%' ? "%%" : std::string(1, c);
  }
  return text.find_first_of(" \t'\"\\#") == std::string::npos ? text : '"' + text + '"';
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string options_text(const SlurmScript& script, std::size_t tasks) {
  const SlurmSettings& settings = script.settings;
  std::vector<std::string> options = {"--job-name=drift-" + script.name, "--array=1-" + std::to_string(tasks),
                                      "--output=" + option_path(script.files.folder) + "/%A_%a.txt"};
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
  std::vector<std::string> set = {"set", "--"};
  set.insert(set.end(), job.arguments.begin(), job.arguments.end());
  return "  " + std::to_string(task) + ")  # " + one_line(job.label) +
         "\n    output=" + shell_command({job.output.string()}) + "\n" +
         (job.continues.empty() ? "" : "    begun=" + shell_command({job.continues.string()}) + "\n") + "    " +
         shell_command(set) + " ;;\n";
}

}  // namespace

std::string slurm_script_text(const SlurmScript& script, const std::vector<Job>& jobs) {
  std::string text = "#!/bin/bash\n" + options_text(script, jobs.size()) +
                     "# Written by drift, which submits it. Every task is one command of drift; what it prints goes to "
                     "`output`.\ncd " +
                     shell_command({script.working.string()}) + " || exit\nbegun=\ncase $SLURM_ARRAY_TASK_ID in\n";
  for (std::size_t i = 0; i < jobs.size(); ++i) text += case_text(i + 1, jobs[i]);
  return text + "esac\nstatus_file=" + shell_command({script.files.folder.string()}) +
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

}  // namespace drift
