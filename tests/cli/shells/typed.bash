# bash typed.bash RCFILE: an interactive bash in which each line of standard input is typed, with a pause after each part
# that ends with a tab. `drift` prints its words there.
{
  sleep 1
  while IFS= read -r line; do
    while [[ $line == *$'\t'* ]]; do
      printf '%s\t' "${line%%$'\t'*}"
      line=${line#*$'\t'}
      sleep 3
    done
    printf '%s\n' "$line"
  done
  printf 'exit\n'
} | script -qec "bash --rcfile $1 -i" /dev/null
