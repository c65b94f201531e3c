#include <core/base/quote.h>
#include <core/cli/completion_script.h>
#include <core/cli/load_run.h>
#include <core/config/nearest.h>
#include <core/reference/key_candidates.h>
#include <core/reference/metric_reference.h>
#include <core/reference/section_reference.h>

#include <algorithm>
#include <iostream>

namespace drift {
namespace {

int print_script(const std::string& shell) {
  if (std::ranges::count(completion_shells(), shell) == 0)
    throw UsageError("there is no completion for the shell `" + shell + "`",
                     name_hint(shell, completion_shells(), "shells"));
  std::cout << completion_script(shell);
  return 0;
}

void append(std::vector<Candidate>& all, const std::vector<Candidate>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

/// What `drift help` takes beside commands.
std::vector<Candidate> topics(const Registry& registry) {
  std::vector<Candidate> all = section_candidates();
  append(all, key_candidates(registry));
  for (const std::string& metric : metric_names()) all.push_back({metric, "a metric"});
  append(all, name_candidates(registry));
  return all;
}

std::vector<Candidate> candidates_for(const Registry& registry, const std::string& what) {
  if (what == "keys") return key_candidates(registry);
  if (what == "names") return name_candidates(registry);
  if (what == "sections") return section_candidates();
  if (what == "topics") return topics(registry);
  std::vector<std::string> known = {"keys", "names", "sections", "topics"};
  for (const Candidate& key : key_candidates(registry)) known.push_back(key.word);
  const std::vector<Candidate> values = value_candidates(registry, what);
  if (values.empty() && std::ranges::count(known, what) == 0)
    throw UsageError("there is no key `" + what + "`", did_you_mean(what, known));
  return values;
}

int print_candidates(const std::string& what) {
  for (const Candidate& candidate : candidates_for(load_plugins()->registry, what))
    std::cout << on_one_line(candidate.word) << "\t" << on_one_line(candidate.doc) << "\n";
  return 0;
}

}  // namespace

Command completion_command() {
  return make_command<std::string>(
      {"completion", "a script that lets a shell complete the words of a command",
       "SHELL is bash, zsh or fish. An installed Drift has the scripts where these shells look for them. For a shell\n"
       "that is open: source <(drift completion bash), and in fish: drift completion fish | source.\n"
       "Commands and options are in the script; keys and the names of what plugins bring are asked of the program.",
       "completion bash"},
      print_script, [](OptionList& list, std::string& shell) {
        list.argument("SHELL", shell).candidates = joined(completion_shells(), "|");
      });
}

Command completion_candidates_command() {
  return make_command<std::string>(
      {"completion candidates", "what may be typed for a key, one a line",
       "WHAT is a key, for its values; or keys, names (algorithms, components, plugins), sections or topics (what\n"
       "`drift help` takes). Each line is the word, a tab, and what it means. Nothing is printed for a key that takes\n"
       "a number or a path.",
       "completion candidates run.device"},
      print_candidates, [](OptionList& list, std::string& what) {
        list.argument("WHAT", what).candidates = "keys|names|sections|topics";
      });
}

}  // namespace drift
