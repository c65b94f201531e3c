# bash complete.bash LINE: the words that bash offers for the last word of LINE, once bash-completion has loaded the
# script of `drift` from where it is installed.
source /usr/share/bash-completion/bash_completion
_completion_loader drift
declare -F _drift >/dev/null || { echo "bash-completion does not find the script"; exit 1; }
COMP_LINE=$1
COMP_POINT=${#1}
_drift "${1%% *}"
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
