#include "blocks.h"

#include "definitions.h"
#include "python_scanner.h"

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <algorithm>
#include <cctype>
#include <set>

namespace drift::code {
namespace {

constexpr std::size_t kFewestTicks = 3;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t count_at(std::string_view text, std::size_t at, char c) {
  return std::min(text.find_first_not_of(c, at), text.size()) - at;
}

/// A line's first run of three or more backticks, or of tildes that it begins with.
struct Fence {
  std::size_t begin = 0;
  std::size_t ticks = 0;
  char tick = '`';
};

std::optional<Fence> first_fence(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  if (const std::size_t tildes = count_at(line, begin, '~'); tildes >= kFewestTicks) return Fence{begin, tildes, '~'};
  for (std::size_t at = line.find('`'); at != line.npos; at = line.find('`', at)) {
    const std::size_t ticks = count_at(line, at, '`');
    if (ticks >= kFewestTicks) return Fence{at, ticks};
    at += ticks;
  }
  return std::nullopt;
}

enum class Language { kPython, kNone, kOther };

/// Takes the language off the front of what follows a fence: `python`, ` Python3`, `{.python}`.
Language take_language(std::string_view& rest) {
  static const std::set<std::string, std::less<>> kPythons = {"python", "python2", "python3", "py",
                                                              "py3",    "pycon",   "ipython"};
  rest = trimmed(rest);
  if (rest.empty()) return Language::kNone;
  std::string_view named = rest.substr(std::min(rest.find_first_not_of("{."), rest.size()));
  const auto end =
      std::ranges::find_if_not(named, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
  const std::string word = boost::to_lower_copy(std::string(named.begin(), end));
  if (kPythons.count(word) == 0) return Language::kOther;
  rest = trimmed(named.substr(word.size()));
  return Language::kPython;
}

/// Words behind the language are a title; code begins like one of these, or assigns.
bool is_code(std::string_view rest) {
  static constexpr std::string_view kBegins[] = {"def ", "class ", "import ", "from ", "async ", "@", "#"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return rest.starts_with(begin); }) ||
         (rest.find(" = ") != rest.npos && !definitions_of(rest).made.empty());
}

/// All shapes that README.md lists; strictly: lines of ``` and of ```python, nothing else.
class Finder {
 public:
  Finder(Blocks& blocks, const PrefixCode& before, bool strict) : blocks_(blocks), strict_(strict) {
    if (!before.open) return;
    inside_ = Inside{.continued = true, .tick = before.tick};
    for (std::size_t at = 0; at < before.code.size(); ++at) inside_->scanner.next(before.code, at);
  }

  void line(std::string_view line) {
    if (strict_) {
      strict_line(line);
    } else if (!inside_) {
      outer_line(line, true);
    } else if (inside_->language == Language::kOther) {
      other_line(line);
    } else if (inside_->tick == '~') {
      line_between_tildes(line);
    } else {
      python_line(line);
    }
  }

  /// A fence with nothing behind it counts: the prefix may end with it.
  void end() {
    if (inside_) finish(false, true);
  }

 private:
  struct Inside {
    bool continued = false;
    Language language = Language::kPython;
    std::size_t ticks = kFewestTicks;
    char tick = '`';
    std::size_t indent = 0;  ///< of its fence
    PythonScanner scanner = {};
    std::string code = {};
  };

  void finish(bool closed, bool at_end = false) {
    Block block{std::move(inside_->code), closed, inside_->language == Language::kPython, inside_->tick};
    if (inside_->continued) {
      blocks_.continued = std::move(block);
    } else if (inside_->language != Language::kOther && (at_end || strict_ || !trimmed(block.code).empty())) {
      blocks_.own.push_back(std::move(block));
    }
    inside_.reset();
  }

  void strict_line(std::string_view line) {
    const bool closes = trimmed(line) == "```";
    std::string_view rest = line.starts_with("```") ? line.substr(kFewestTicks) : "";
    if (closes || (take_language(rest) == Language::kPython && rest.empty())) {
      blocks_.fenced = true;
      // A block that another one opens in is not closed, unless it is the prefix's.
      if (inside_ && (closes || inside_->continued)) finish(true);
      if (!closes) inside_ = Inside{};
    } else if (inside_) {
      inside_->code += line;
    }
  }

  void other_line(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (opens_python(text)) {
      finish(false);
      outer_line(line, true);
    } else if (const std::size_t ticks = count_at(text, 0, inside_->tick); ticks >= inside_->ticks) {
      if (ticks == text.size() || text[ticks] == ' ') finish(true);
    }
  }

  void line_between_tildes(std::string_view line) {
    const std::string_view text = trimmed(line);
    if (text.size() >= inside_->ticks && count_at(text, 0, '~') == text.size()) return finish(true);
    inside_->code += line;
  }

  /// Outside of its texts and comments Python has no three backticks.
  void python_line(std::string_view line) {
    const auto closing = closing_fence(line);
    if (!closing) {
      inside_->code += line;
      return;
    }
    const std::string_view before = line.substr(0, closing->begin);
    const bool begins = trimmed(before).empty();
    if (!begins) (inside_->code += before) += '\n';
    const std::string_view rest = line.substr(closing->begin + closing->ticks);
    // A new block, and the end of the one before, which is not closed unless it is the prefix's.
    if (begins && opens_python(trimmed(line))) {
      finish(inside_->continued);
      return outer_line(line, true);
    }
    finish(true);
    const bool opens_another = begins && !rest.empty() && std::isalnum(static_cast<unsigned char>(rest.front())) != 0;
    outer_line(opens_another ? line : rest, opens_another);
  }

  static bool opens_python(std::string_view text) {
    const std::size_t ticks = count_at(text, 0, '`');
    std::string_view rest = text.substr(ticks);
    return ticks >= kFewestTicks && take_language(rest) == Language::kPython;
  }

  std::optional<Fence> closing_fence(std::string_view line) {
    const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::size_t first = count_at(line, begin, '`');
    // In a docstring there may be examples, which are indented.
    if (inside_->scanner.in_long_text() && first >= inside_->ticks && begin <= inside_->indent)
      return Fence{begin, first};
    for (std::size_t at = 0; at < line.size(); ++at) {
      if (inside_->scanner.next(line, at) != PythonScanner::Part::kCode || line[at] != '`') continue;
      if (const std::size_t ticks = count_at(line, at, '`'); ticks >= kFewestTicks) return Fence{at, ticks};
    }
    if (inside_->scanner.in_long_text()) return std::nullopt;
    // Behind a comment, or a text that is not closed.
    const std::string_view text = line.substr(0, line.find_last_not_of(" \t\r\n") + 1);
    const std::size_t last = text.size() - (text.find_last_not_of('`') + 1);
    if (last != inside_->ticks) return std::nullopt;
    return Fence{text.size() - last, last};
  }

  /// @param begins  whether it is all of a line, and not what follows a closing fence
  void outer_line(std::string_view line, bool begins) {
    const auto fence = first_fence(line);
    if (!fence) return;
    blocks_.fenced = true;
    const std::string_view before = line.substr(0, fence->begin);
    begins = begins && trimmed(before).empty();
    std::string_view rest = line.substr(fence->begin + fence->ticks);
    const Language language = take_language(rest);
    // Within a line only Python's fence opens a block: others quote a word.
    if (!begins && language != Language::kPython) return;
    inside_ =
        Inside{.language = language, .ticks = fence->ticks, .tick = fence->tick, .indent = begins ? before.size() : 0};
    if (language == Language::kPython && is_code(rest)) return this->line(std::string(rest) + "\n");
    const auto closing = first_fence(rest);
    if (!closing || closing->ticks != fence->ticks) return;
    inside_->code += rest.substr(0, closing->begin);  // all in one line
    finish(true);
  }

  Blocks& blocks_;
  bool strict_;
  std::optional<Inside> inside_;
};

}  // namespace

Blocks find_blocks(std::string_view text, const PrefixCode& before, Fences fences) {
  Blocks blocks;
  blocks.first = text.size();
  Finder finder(blocks, before, fences == Fences::kStrict);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::size_t next = std::min(end + 1, text.size());
    finder.line(text.substr(at, next - at));
    if (blocks.fenced) blocks.first = std::min(blocks.first, at);
    at = next;
  }
  finder.end();
  return blocks;
}

}  // namespace drift::code
