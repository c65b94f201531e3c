#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift::code {

/// How to treat a block that is never closed.
enum class Unclosed { kStrict, kLenient };

/// Which fences are read (README.md has the table): lenient takes the shapes that published programs take, strict only
/// lines of ```python and ```.
enum class Fences { kLenient, kStrict };

struct Extraction {
  bool found = false;
  std::string code = {};
  bool continues = false;  ///< it begins with the code of the prefix
  std::string rule;        ///< for the user: where the code comes from, or why there is none
};

struct ExtractionRules {
  Unclosed unclosed = Unclosed::kLenient;
  Fences fences = Fences::kLenient;
};

/// The code in a response.
/// @param prefix  the text before the response. If it opens a block, the response continues that block, unless
///                it has a complete block of its own that defines what is tested
/// @param tested  the names that the tests call; nothing: a whole program, for which any block will do
Extraction extract_code(std::string_view response, std::string_view prefix,
                        const std::optional<std::vector<std::string>>& tested, const ExtractionRules& rules);

/// What of `prefix` is code: all after the fence that opens its last block; nothing if that is closed or there is none.
struct PrefixCode {
  bool open = false;
  std::string code;
  char tick = '`';  ///< of its fence
};
PrefixCode code_of_prefix(std::string_view prefix, Fences fences);

}  // namespace drift::code
