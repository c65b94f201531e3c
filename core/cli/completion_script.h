#pragma once

#include <string>
#include <vector>

namespace drift {

/// The shells that can complete the words of a command: bash, zsh, fish.
const std::vector<std::string>& completion_shells();

/// The script that teaches a shell to complete the words of `drift`. @param shell  one of completion_shells()
std::string completion_script(const std::string& shell);

}  // namespace drift
