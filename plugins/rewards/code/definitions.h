#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drift::code {

/// The names that Python gives a meaning to outside of functions and classes, in order; read without a parser, so that
/// code with mistakes has some, too.
struct Definitions {
  std::vector<std::string> made;  ///< by def, class or an assignment
  std::vector<std::string> imported;
};
Definitions definitions_of(std::string_view code);

}  // namespace drift::code
