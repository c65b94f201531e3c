#include <core/base/quote.h>
#include <core/cli/completion_script.h>
#include <core/cli/shell_table.h>

namespace drift {
namespace {

/// For every shell: it is written for sh, so that bash and zsh run it themselves and fish runs it with sh. It prints
/// what may be typed, one a line, in three fields with tabs between, none of them empty:
///
///     prefix  --out=   .     what of the word is before the things that follow
///     word    train    doc
///     key     train.steps doc    "=" follows
///     files   toml     .
///     folders .        .
const char* const kOffers = R"sh(
# What may be typed in place of the word $2, after the words $3...; the program is $1.
_drift_offers() {
  local program="$1" current="$2" command= drop=0 seen=' ' name word follows doc first wanted= place=1 found=
  shift 2
  local help=
  if [ "$1" = help ]; then help=yes; shift; fi
  if [ $# -eq 0 ]; then
    while IFS=$_drift_tab read -r name word follows doc; do
      [ "$word" = . ] || continue
      first=${name%% *}
      case $seen in *" $first "*) continue ;; esac
      seen="$seen$first "
      [ "$name" = "$first" ] || doc="drift $first ..."
      printf 'word\t%s\t%s\n' "$first" "$doc"
    done <<END
$_drift_table
END
    if [ -n "$help" ]; then
      _drift_ask topics word
    else
      printf 'word\t%s\t%s\n' help 'what a command, a key, a metric or a plugin is'
      case $current in -*) printf 'word\t%s\t%s\n' --help 'print all commands' --version 'print the version' ;; esac
    fi
    return
  fi
  while IFS=$_drift_tab read -r name word follows doc; do
    [ "$word" = . ] || continue
    if [ $# -ge 2 ] && [ "$name" = "$1 $2" ]; then command=$name drop=2; fi
    if [ "$name" = "$1" ]; then command=$name drop=1; fi
    case $name in "$1 "*) [ $# -gt 1 ] || printf 'word\t%s\t%s\n' "${name#"$1 "}" "$doc" ;; esac
  done <<END
$_drift_table
END
  if [ -n "$help" ] || [ -z "$command" ]; then return; fi
  shift "$drop"
  for word in "$@"; do
    case $word in
      --*=*) wanted= ;;
      --*) if [ -n "$wanted" ]; then wanted=; elif [ "$(_drift_follows "$word")" != switch ]; then wanted=$word; fi ;;
      *) if [ -n "$wanted" ]; then wanted=; else place=$((place + 1)); fi ;;
    esac
  done
  if [ -n "$wanted" ]; then
    _drift_offer $(_drift_follows "$wanted")
    return
  fi
  case $current in
    --*=*)
      printf 'prefix\t%s\t.\n' "${current%%=*}="
      word=${current%%=*}
      current=${current#*=}
      _drift_offer $(_drift_follows "$word")
      return ;;
    -*) ;;
    *)
      found=$(_drift_follows "$place")
      [ -n "$found" ] || found=$(_drift_follows +)
      if [ -n "$found" ]; then
        _drift_offer $found
        return
      fi ;;
  esac
  while IFS=$_drift_tab read -r name word follows doc; do
    case $name/$word in "$command"/-*) printf 'word\t%s\t%s\n' "$word" "$doc" ;; esac
  done <<END
$_drift_table
END
}

# What follows the word $1 of $command.
_drift_follows() {
  local name word follows doc
  while IFS=$_drift_tab read -r name word follows doc; do
    if [ "$name" = "$command" ] && [ "$word" = "$1" ]; then
      printf '%s\n' "$follows"
      return
    fi
  done <<END
$_drift_table
END
}

# Each of the arguments is something that may follow.
_drift_offer() {
  local part
  for part in "$@"; do
    case $part in
      files:*) printf 'files\t%s\t.\n' "${part#files:}" ;;
      folders) printf 'folders\t.\t.\n' ;;
      word:*) printf 'word\t%s\t.\n' "${part#word:}" ;;
      ask:*) _drift_ask "${part#ask:}" word ;;
      commas) case $current in *,*) printf 'prefix\t%s\t.\n' "${current%,*}," ;; esac ;;
      settings)
        case $current in
          *=*)
            printf 'prefix\t%s\t.\n' "${current%%=*}="
            _drift_ask "${current%%=*}" word ;;
          *) _drift_ask keys key ;;
        esac ;;
    esac
  done
}

# What plugins bring, from the program.
_drift_ask() {
  local word doc
  "$program" completion candidates "$1" 2>/dev/null | while IFS=$_drift_tab read -r word doc; do
    printf '%s\t%s\t%s\n' "$2" "$word" "${doc:-.}"
  done
}
)sh";

const char* const kBash = R"sh(
_drift() {
  local line=${COMP_LINE:0:COMP_POINT} current='' prefix='' kind value doc part candidate
  local -a words candidates=() found=()
  read -ra words <<<"$line"
  if [[ $line != *[[:space:]] ]]; then
    current=${words[-1]}
    unset 'words[-1]'
  fi
  while IFS=$_drift_tab read -r kind value doc; do
    part=${current#"$prefix"}
    case $kind in
      prefix) prefix+=$value ;;
      word) candidates+=("$prefix$value") ;;
      key)
        compopt -o nospace 2>/dev/null
        candidates+=("$prefix$value=") ;;
      files | folders)
        compopt -o filenames 2>/dev/null
        mapfile -t found < <(
          compgen -d -- "$part"
          if [[ $kind == files && $value == any ]]; then compgen -f -- "$part"; fi
          if [[ $kind == files && $value != any ]]; then compgen -f -X "!*.$value" -- "$part"; fi
        )
        for candidate in "${found[@]}"; do candidates+=("$prefix$candidate"); done ;;
    esac
  done < <(_drift_offers "$1" "$current" "${words[@]:1}")
  # Where bash takes a part of the word as a word, that part is what it completes.
  part=''
  if [[ $current == *[=:]* && $COMP_WORDBREAKS == *[=:]* ]]; then part=${current%"${current##*[=:]}"}; fi
  COMPREPLY=()
  for candidate in "${candidates[@]}"; do
    if [[ $candidate == "$current"* ]]; then COMPREPLY+=("${candidate#"$part"}"); fi
  done
}

complete -F _drift drift
)sh";

const char* const kZsh = R"sh(
_drift() {
  local line prefix='' filter
  local -a fields described keys
  local program=${~words[1]} current=$PREFIX matches=$compstate[nmatches]
  local -a before=("${(@)words[2,CURRENT-1]}")
  for line in "${(@f)$(emulate sh; _drift_offers "$program" "$current" "${before[@]}")}"; do
    fields=("${(@ps:\t:)line}")
    case $fields[1] in
      prefix)
        IPREFIX+=$fields[2]
        PREFIX=${PREFIX#$fields[2]} ;;
      word | key)
        line=${fields[2]//:/\\:}
        if [[ $fields[3] != . ]]; then line+=:$fields[3]; fi
        if [[ $fields[1] == key ]]; then keys+=("$line"); else described+=("$line"); fi ;;
      files)
        if [[ $fields[2] == any ]]; then _files; else _files -g "*.$fields[2]"; fi ;;
      folders) _files -/ ;;
    esac
  done
  if (( $#described )); then _describe -t words 'drift' described; fi
  if (( $#keys )); then _describe -t keys 'key' keys -S '='; fi
  (( compstate[nmatches] > matches ))
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _drift "$@"; else compdef _drift drift; fi
)sh";

const char* const kFish = R"sh(
function __drift_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l prefix ''
  sh -c "$__drift_offers"' _drift_offers "$@"' sh $words[1] "$current" $words[2..-1] |
  while read -d \t -l kind value doc
    set -l part (string sub -s (math (string length -- "$prefix") + 1) -- "$current")
    switch $kind
      case prefix
        set prefix $prefix$value
      case word
        printf '%s%s\t%s\n' "$prefix" $value (string replace -r '^\.$' '' -- $doc)
      case key
        printf '%s%s=\t%s\n' "$prefix" $value $doc
      case files
        set -l pattern '/$'
        if test $value = any
          set pattern .
        else
          set pattern '/$|\.'$value'$'
        end
        printf '%s\n' (__fish_complete_path "$part" | string replace -r '\t.*' '' | string match -er -- $pattern | string replace -r '^' -- "$prefix")
      case folders
        printf '%s\n' (__fish_complete_directories "$part" '' | string replace -r '\t.*' '' | string replace -r '^' -- "$prefix")
    end
  end
end

complete -c drift -f -a '(__drift_complete)'
)sh";

/// The text between single quotes, where a quote and, for fish, a backslash need something before them.
std::string quoted_for_sh(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }
std::string quoted_for_fish(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

}  // namespace

const std::vector<std::string>& completion_shells() {
  static const std::vector<std::string> shells = {"bash", "zsh", "fish"};
  return shells;
}

std::string completion_script(const std::string& shell) {
  const std::string comment = "# Completion of drift for " + shell + ", printed by `drift completion " + shell + "`.\n";
  std::string table = shell_table();
  table.pop_back();  // the last line break, which would be an empty row
  const std::string offers = "_drift_tab='\t'\n_drift_table=" + quoted_for_sh(table) + "\n" + kOffers;
  if (shell == "bash") return comment + offers + kBash;
  if (shell == "zsh") return "#compdef drift\n" + comment + offers + kZsh;
  return comment + "set -g __drift_offers " + quoted_for_fish(offers) + "\n" + kFish;
}

}  // namespace drift
