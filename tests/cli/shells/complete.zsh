# zsh -f complete.zsh LINE: the words that zsh offers for the last word of LINE. It types the line into a zsh in a
# terminal of its own, in which compadd, which takes what completion offers, also prints it.
zmodload zsh/zpty
zpty shell zsh -f -i
setup='PS1=; autoload -Uz compinit; compinit -u -D
compadd() {
  if [[ "${@[1,(i)(-|--)]}" == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -A hits "$@"
  (( ! $#hits )) || print -rl -- "HIT "${^hits}
  builtin compadd "$@"
}
offer() { _main_complete; print DONE }
zle -C offer complete-word offer
bindkey "^I" offer
print READY$((1))'
file=$(mktemp)
print -r -- "$setup" >$file
zpty -w shell "source $file"
text=
while [[ $text != *READY1* ]] && zpty -r shell chunk; do text+=$chunk; done
rm $file
zpty -w -n shell "$1"$'\t'
text=
while [[ $text != *DONE* ]] && zpty -r shell chunk; do text+=$chunk; done
zpty -d shell
print -r -- $text | tr -d '\r' | grep -o 'HIT .*' | sed 's/^HIT //' | sort -u
