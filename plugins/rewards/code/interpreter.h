#pragma once

#include <string>
#include <utility>
#include <vector>

namespace drift::code {

/// A Python interpreter, and what of the file system it needs to run.
struct Interpreter {
  std::string executable;         ///< the file itself: no link, no wrapper, no virtual environment
  std::string version;            ///< such as 3.11.2
  std::vector<std::string> read;  ///< files and folders: itself, its standard library, the shared libraries
  std::vector<std::pair<std::string, std::string>> links;  ///< (path, target): such as /lib, which is usr/lib
  std::string packages;                                    ///< folders of the wanted packages, for PYTHONPATH
};

/// @param python  path or name; empty: /usr/bin/python3, else the first python3 in PATH.
/// @param packages  of its site packages: shown too, with the libraries that they load.
/// @throws drift::Error if there is none, it is older than 3.11, or it lacks a package.
Interpreter find_interpreter(const std::string& python, const std::vector<std::string>& packages);

}  // namespace drift::code
