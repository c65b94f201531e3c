#include "blocks.h"

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/predicate.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <algorithm>
#include <cctype>

namespace drift::code {
namespace {

constexpr std::size_t kFewestTicks = 3;

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t ticks_at(std::string_view text, std::size_t at) {
  return std::min(text.find_first_not_of('`', at), text.size()) - at;
}

/// A line's first run of three or more backticks.
struct Fence {
  std::size_t begin = 0;
  std::size_t ticks = 0;
};

std::optional<Fence> first_fence(std::string_view line) {
  for (std::size_t at = line.find('`'); at != line.npos; at = line.find('`', at)) {
    const std::size_t ticks = ticks_at(line, at);
    if (ticks >= kFewestTicks) return Fence{at, ticks};
    at += ticks;
  }
  return std::nullopt;
}

enum class Language { kPython, kNone, kOther };

/// Takes the language off the front of what follows a fence.
Language take_language(std::string_view& rest) {
  rest = trimmed(rest);
  const auto end =
      std::ranges::find_if_not(rest, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
  const std::string word = boost::to_lower_copy(std::string(rest.begin(), end));
  if (rest.empty()) return Language::kNone;
  if (word != "python" && word != "py" && word != "python3") return Language::kOther;
  rest = trimmed(rest.substr(word.size()));
  return Language::kPython;
}

/// Words behind the language are a title; code begins like one of these.
bool is_code(std::string_view rest) {
  static constexpr std::string_view kBegins[] = {"def ", "class ", "import ", "from ", "async ", "@"};
  return std::ranges::any_of(kBegins, [&](std::string_view begin) { return rest.starts_with(begin); });
}

class Finder {
 public:
  Finder(bool open, Fences fences) : strict_(fences == Fences::kStrict) {
    if (open) inside_ = Inside{.continued = true, .language = Language::kPython, .ticks = kFewestTicks, .indent = 0};
  }

  Blocks find(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::size_t next = std::min(end + 1, text.size());
      strict_ ? strict_line(text.substr(at, next - at)) : line(text.substr(at, next - at));
      at = next;
    }
    if (inside_) finish(false);
    return std::move(blocks_);
  }

 private:
  struct Inside {
    bool continued = false;
    Language language = Language::kPython;
    std::size_t ticks = 0;
    std::size_t indent = 0;  ///< of its fence: as much is taken off its lines
    std::string code = {};
  };

  void finish(bool closed) {
    Block block{std::move(inside_->code), closed, inside_->language == Language::kPython};
    if (inside_->continued) {
      blocks_.continued = std::move(block);
    } else if (inside_->language != Language::kOther && (strict_ || !trimmed(block.code).empty())) {
      blocks_.own.push_back(std::move(block));
    }
    inside_.reset();
  }

  /// Lines of ``` and of ```python, nothing else.
  void strict_line(std::string_view line) {
    const std::string text = boost::trim_right_copy(std::string(line));
    const bool closes = boost::trim_left_copy(text) == "```";
    std::string_view rest = text;
    if (text.starts_with("```")) rest.remove_prefix(kFewestTicks);
    const bool opens = !closes && text.starts_with("```") && take_language(rest) == Language::kPython && rest.empty();
    if (opens || closes) {
      blocks_.fenced = true;
      // A block that another one opens in is not closed, unless it is the prefix's.
      if (inside_ && (closes || inside_->continued)) finish(true);
      if (opens) inside_ = Inside{.ticks = kFewestTicks};
    } else if (inside_) {
      inside_->code += line;
    }
  }

  void line(std::string_view line) { inside_ ? inner_line(line) : outer_line(line); }

  void inner_line(std::string_view line) {
    const std::string_view text = trimmed(line);
    const std::size_t before = text.find_last_not_of('`') + 1;  // 0 where there is nothing else
    const std::size_t ticks = text.size() - before;
    if (ticks >= inside_->ticks && (before == 0 || ticks == inside_->ticks)) {
      if (before > 0) add(line.substr(0, line.rfind(text.substr(before)))), inside_->code += '\n';
      return finish(true);
    }
    // Python has no line that begins with a fence and a language: a new block, and the end of the one before.
    std::string_view rest = text.substr(std::min(text.size(), ticks_at(text, 0)));
    if (ticks_at(text, 0) >= inside_->ticks && take_language(rest) == Language::kPython) {
      finish(inside_->continued);
      return outer_line(line);
    }
    add(line);
  }

  void add(std::string_view line) {
    std::size_t indent = 0;
    while (indent < inside_->indent && indent < line.size() && (line[indent] == ' ' || line[indent] == '\t')) ++indent;
    inside_->code += line.substr(indent);
  }

  void outer_line(std::string_view line) {
    const auto fence = first_fence(line);
    if (!fence) return;
    blocks_.fenced = true;
    const std::string_view before = line.substr(0, fence->begin);
    const bool begins = trimmed(before).empty();
    std::string_view rest = line.substr(fence->begin + fence->ticks);
    const Language language = take_language(rest);
    // Within a line only Python's fence opens a block: others quote a word.
    if (!begins && language != Language::kPython) return;
    inside_ = Inside{.language = language, .ticks = fence->ticks, .indent = begins ? before.size() : 0};
    if (language == Language::kPython && is_code(rest)) return inner_line(std::string(rest) + "\n");
    const auto closing = first_fence(rest);
    if (!closing || closing->ticks != fence->ticks) return;
    add(rest.substr(0, closing->begin));  // all in one line
    finish(true);
  }

  const bool strict_;
  Blocks blocks_;
  std::optional<Inside> inside_;
};

}  // namespace

Blocks find_blocks(std::string_view text, bool open, Fences fences) { return Finder(open, fences).find(text); }

}  // namespace drift::code
