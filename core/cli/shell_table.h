#pragma once

// The commands and their options as a table that a shell can read. The scripts of `drift completion` contain it, so
// that the program is started only for what plugins bring.

#include <string>

namespace drift {

/// Lines of four fields with tabs between, none of them empty: the command, the word, what follows the word, what it
/// means.
///
///     train       .          command         train a model with reinforcement learning
///     train       1          files:toml      CONFIG.toml
///     train       --resume   switch          continue from the run's last checkpoint; …
///     train       --device   word:cpu word:cuda  short for --set run.device=…
///     report      +          folders         RUN...
///
/// The word is `.` for the command itself, a number for the argument at this place, `+` for the arguments from here on,
/// or an option. What follows is `command`, `switch`, `none`, or some of these, with spaces between:
///
///     files:toml   files whose names end so; files:any
///     folders
///     word:cpu     this word
///     ask:KEY      what `drift completion candidates KEY` prints
///     settings     KEY=VALUE
///     commas       several, with commas between
std::string shell_table();

}  // namespace drift
