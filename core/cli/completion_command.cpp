#include <core/cli/load_run.h>
#include <core/config/nearest.h>
#include <core/report/known_words.h>
#include <core/report/metric_reference.h>

#include <algorithm>
#include <cctype>
#include <iostream>

namespace drift {
namespace {

/// It follows the table, an associative array: what may be typed after what has been typed.
///
///     drift            train eval … help --help --version
///     drift train      --resume --device … --help
///     drift train 1    FILES:toml       the argument at this place; +: from here on
///     drift train --device  cpu cuda    what follows an option; a switch has no row
///     keys             train.steps= …
///     run.device       cpu cuda         the values of a key
///
/// Beside words there are FILES:toml (whose names end so; FILES:any), FOLDERS, SETTINGS (KEY=VALUE), COMMAS (several,
/// with commas between) and NONE.
const char* const kScript = R"sh(
_drift() {
  local line=${COMP_LINE:0:COMP_POINT} current='' node=drift place=1 wanted='' prefix='' part offer word
  local -a words offers candidates=()
  read -ra words <<<"$line"
  if [[ $line != *[[:space:]] ]]; then
    current=${words[-1]}
    unset 'words[-1]'
  fi
  for word in "${words[@]:1}"; do
    if [[ $node == 'drift help' ]]; then node=drift; fi
    if [[ -n $wanted ]]; then
      wanted=''
    elif [[ $word == -* ]]; then
      if [[ -n ${_drift_table["$node $word"]} ]]; then wanted=$word; fi
    elif [[ $place == 1 && $word == [a-z]* && -n ${_drift_table["$node $word"]} ]]; then
      node+=" $word"
    else
      place=$((place + 1))
    fi
  done
  if [[ -z $wanted && $current == --*=* ]]; then
    wanted=${current%%=*}
    prefix=$wanted=
  fi
  offer=${_drift_table["$node $place"]:-${_drift_table["$node +"]}}
  if [[ -n $wanted ]]; then
    offer=${_drift_table["$node $wanted"]}
  elif [[ $current == -* || -z $offer ]]; then
    offer=${_drift_table["$node"]}
  fi
  read -ra offers <<<"$offer"
  for offer in "${offers[@]}"; do
    part=${current#"$prefix"}
    words=()
    case $offer in
      NONE) ;;
      COMMAS) if [[ $part == *,* ]]; then prefix+=${part%,*},; fi ;;
      SETTINGS)
        if [[ $part == *=* ]]; then
          prefix+=${part%%=*}=
          read -ra words <<<"${_drift_table["${part%%=*}"]}"
        else
          compopt -o nospace 2>/dev/null
          read -ra words <<<"${_drift_table[keys]}"
        fi ;;
      FOLDERS | FILES:*)
        compopt -o filenames 2>/dev/null
        mapfile -t words < <(
          compgen -d -- "$part"
          case $offer in
            FILES:any) compgen -f -- "$part" ;;
            FILES:*) compgen -f -X "!*.${offer#FILES:}" -- "$part" ;;
          esac
        ) ;;
      *) words=("$offer") ;;
    esac
    for word in "${words[@]}"; do candidates+=("$prefix$word"); done
  done
  # Where bash takes a part of the word as a word, that part is what it completes.
  part=''
  if [[ $current == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]]; then part=${current%"${current##*[=:]}"}; fi
  COMPREPLY=()
  for word in "${candidates[@]}"; do
    if [[ $word == "$current"* ]]; then COMPREPLY+=("${word#"$part"}"); fi
  done
}

complete -F _drift drift
)sh";

using Words = std::vector<std::string>;

/// What the name of a value says: "CONFIG.toml", "FOLDER|NAME", "float32|bfloat16".
Words words_by_name(const std::string& name) {
  Words words;
  if (name.find(',') != name.npos || name == "LIST") words.emplace_back("COMMAS");
  for (const std::string& part : split_list(name, '|')) {
    const auto dot = part.rfind('.');
    const bool is_word = std::ranges::none_of(part, [](unsigned char letter) { return std::isupper(letter) != 0; });
    if (part == "KEY=VALUE") words.emplace_back("SETTINGS");
    if (part == "FILE" || part == "PATH" || part == "RESULTS") words.emplace_back("FILES:any");
    if (part == "DIR" || part == "FOLDER" || part == "RUN" || part.ends_with("_DIR")) words.emplace_back("FOLDERS");
    if (dot != part.npos && dot + 1 < part.size() && !is_word) words.push_back("FILES:" + part.substr(dot + 1));
    if (is_word && name.find('|') != name.npos) words.push_back(part);
  }
  return words;
}

void append(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

class Table {
 public:
  explicit Table(const Registry& registry) : registry_(registry) {}

  void add(const std::string& typed, const Words& words) {
    text_ += "  ['" + typed + "']='" + joined(words, " ") + "'\n";
  }
  void add(const Command& command);
  const std::string& text() const { return text_; }

 private:
  /// @param value  what --help calls the value
  template <class OptionOrArgument>
  Words words_for(const std::string& value, const OptionOrArgument& of, const std::string& key = {}) const;

  const Registry& registry_;
  std::string text_;
};

template <class OptionOrArgument>
Words Table::words_for(const std::string& value, const OptionOrArgument& of, const std::string& key) const {
  const std::string& candidates = of.candidates;
  Words words = words_by_name(value);
  append(words, of.choices);
  if (candidates.find('|') != candidates.npos) append(words, split_list(candidates, '|'));
  if (candidates == "names") append(words, known_names(registry_));
  if (candidates == "sections") append(words, known_sections());
  append(words, known_values(registry_, candidates.empty() && value.find("NAME") != value.npos ? key : candidates));
  return words.empty() ? Words{"NONE"} : words;
}

void Table::add(const Command& command) {
  const std::string typed = "drift " + command.name;
  const Words further = next_words(command.name + " ");  // `eval` takes an argument, or `diff`
  Words options = further;
  for (const Option& option : command.options.options()) {
    options.push_back("--" + option.name);
    // An option that may stand without its value does not take the next word as one.
    if (!option.value.empty() && !option.value_is_optional)
      add(typed + " --" + option.name, words_for(option.value, option, option.key));
  }
  options.emplace_back("--help");
  add(typed, options);
  int place = 0;
  for (const Argument& argument : command.options.argument_list()) {
    Words words = words_for(argument.name.substr(0, argument.name.find("...")), argument);
    if (++place == 1) append(words, further);
    add(typed + (argument.repeats ? " +" : " " + std::to_string(place)), words);
  }
}

int print_script(const bool&) {
  const auto plugins = load_plugins();
  const Registry& registry = plugins->registry;
  Table table(registry);
  Words all = next_words("");
  for (const std::string& word : all) table.add("drift " + word, next_words(word + " "));  // `plugin` is no command
  for (const Command& command : all_commands()) table.add(command);
  Words topics = all, keys = known_keys(registry);
  append(topics, known_sections());
  append(topics, keys);
  append(topics, metric_names());
  append(topics, known_names(registry));
  table.add("drift help", topics);
  for (std::string& key : keys) {
    if (const Words values = known_values(registry, key); !values.empty()) table.add(key, values);
    key += "=";
  }
  table.add("keys", keys);
  append(all, {"help", "--help", "--version"});
  table.add("drift", all);
  std::cout << "# Completion of drift for bash, printed by `drift completion`.\ndeclare -gA _drift_table=(\n"
            << table.text() << ")\n"
            << kScript;
  return 0;
}

}  // namespace

Command completion_command() {
  return make_command<bool>(
      {"completion", "a script that lets bash complete the words of a command",
       "An installed Drift has the script where bash-completion looks for it. For a shell that is open:\n"
       "source <(drift completion). The script knows the plugins that were there when it was printed.",
       "completion", /*hidden=*/true},
      print_script, [](OptionList&, bool&) {});
}

}  // namespace drift
