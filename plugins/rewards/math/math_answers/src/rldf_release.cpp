#include "rldf_release.h"

#include <boost/algorithm/string/replace.hpp>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace math_answers {

namespace {

// Characters, not bytes: some rules count them or take one.
using Text = std::u32string;
constexpr std::size_t npos = Text::npos;

Text decode(std::string_view bytes) {
  Text text;
  text.reserve(bytes.size());
  const auto size = static_cast<std::int32_t>(bytes.size());
  for (std::int32_t i = 0; i < size;) {
    UChar32 c = 0;
    U8_NEXT_OR_FFFD(bytes.data(), i, size, c);
    text += static_cast<char32_t>(c);
  }
  return text;
}

void replace(Text& text, std::u32string_view from, std::u32string_view to) {
  if (text.find(from) != npos) boost::algorithm::replace_all(text, from, to);
}

void remove(Text& text, std::initializer_list<std::u32string_view> parts) {
  for (const auto part : parts) replace(text, part, U"");
}

/// What stands between occurrences of `separator`, as Python's split gives it.
std::vector<std::u32string_view> split(const Text& text, std::u32string_view separator) {
  std::vector<std::u32string_view> parts;
  std::size_t begin = 0;
  for (std::size_t at = 0; (at = text.find(separator, begin)) != npos; begin = at + separator.size()) {
    parts.emplace_back(text.data() + begin, at - begin);
  }
  parts.emplace_back(text.data() + begin, text.size() - begin);
  return parts;
}

// ---- The fast path ----

/// \sqrt3 -> \sqrt{3}
Text brace_sqrt(const Text& text) {
  const auto parts = split(text, U"\\sqrt");
  Text braced(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    braced += U"\\sqrt";
    if (parts[i].empty() || parts[i].front() == U'{') {
      braced += parts[i];
    } else {
      braced.append(U"{").append(parts[i].substr(0, 1)).append(U"}").append(parts[i].substr(1));
    }
  }
  return braced;
}

/// \frac12 -> \frac{1}{2}, \frac1{72} -> \frac{1}{72}; the text as it is if a \frac has one character only.
Text brace_frac(const Text& text) {
  const auto parts = split(text, U"\\frac");
  Text braced(parts.front());
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::u32string_view part = parts[i];
    braced += U"\\frac";
    if (part.empty() || part.front() == U'{') {
      braced += part;
      continue;
    }
    if (part.size() < 2) return text;
    braced.append(U"{").append(part.substr(0, 1)).append(U"}");
    if (part[1] == U'{') {
      braced += part.substr(1);
    } else {
      braced.append(U"{").append(part.substr(1, 1)).append(U"}").append(part.substr(2));
    }
  }
  return braced;
}

/// As Python prints an integer: no zeros in front, no plus, not more than the 4,300 digits that it reads.
bool is_printed_integer(std::u32string_view text) {
  if (text == U"0") return true;
  if (text.starts_with(U'-')) text.remove_prefix(1);
  return !text.empty() && text.size() <= 4300 && text.front() != U'0' &&
         std::all_of(text.begin(), text.end(), [](char32_t c) { return c >= U'0' && c <= U'9'; });
}

/// 3/4 -> \frac{3}{4}
Text slash_to_frac(const Text& text) {
  const auto parts = split(text, U"/");
  if (parts.size() != 2 || !is_printed_integer(parts[0]) || !is_printed_integer(parts[1])) return text;
  Text fraction = U"\\frac{";
  return fraction.append(parts[0]).append(U"}{").append(parts[1]).append(U"}");
}

Text normalise(Text text) {
  remove(text, {U"\n", U"\\!"});
  replace(text, U"\\\\", U"\\");
  replace(text, U"tfrac", U"frac");
  replace(text, U"dfrac", U"frac");
  remove(text, {U"\\left", U"\\right", U"^{\\circ}", U"^\\circ", U"\\$", U"$", U","});
  if (const auto parts = split(text, U"\\text{ "); parts.size() == 2) text = Text(parts.front());
  remove(text, {U"\\%"});
  replace(text, U" .", U" 0.");
  replace(text, U"{.", U"{0.");
  if (text.starts_with(U'.')) text.insert(0, U"0");
  if (const auto sides = split(text, U"="); sides.size() == 2 && sides[0].size() <= 2) text = Text(sides[1]);
  text = brace_sqrt(text);
  remove(text, {U" "});
  text = brace_frac(text);
  if (text == U"0.5") text = U"\\frac{1}{2}";
  return slash_to_frac(text);
}

// ---- The last resort: Minerva's normalisation (arXiv 2206.14858, appendix) as the original has it ----

/// `text` with `change` made to each of its lines: the `.` of Python's patterns ends there.
template <class Change>
Text each_line(const Text& text, Change change) {
  Text changed;
  for (const auto line : split(text, U"\n")) changed.append(change(line)).append(U"\n");
  changed.pop_back();
  return changed;
}

/// Of a line with two dollar signs what is between the first two, with them.
std::u32string_view keep_dollars(std::u32string_view line) {
  const std::size_t open = line.find(U'$');
  const std::size_t close = open == npos ? npos : line.find(U'$', open + 1);
  return close == npos ? line : line.substr(open, close + 1 - open);
}

/// \text{cm} -> cm in a line, where `open` is `\text{`: up to the next brace, or with `last` up to the last one.
Text unwrap(std::u32string_view line, std::u32string_view open, bool last = false) {
  Text unwrapped;
  for (std::size_t begin = 0; (begin = line.find(open)) != npos;) {
    const std::size_t content = begin + open.size();
    const std::size_t close = last ? line.rfind(U'}') : line.find(U'}', content);
    if (close == npos || close < content) break;
    unwrapped.append(line.substr(0, begin)).append(line.substr(content, close - content));
    line.remove_prefix(close + 1);
  }
  return unwrapped.append(line);
}

/// \frac12 -> \frac{1}{2}, \sqrt2 -> \sqrt{2}: the next characters, whatever they are, unless a brace comes first.
Text brace_arguments(const Text& text, std::u32string_view command, std::size_t count) {
  Text braced;
  std::size_t at = 0;
  for (std::size_t found = 0; (found = text.find(command, found)) != npos;) {
    const std::size_t first = found + command.size();
    const bool fits = first + count <= text.size() && text[first] != U'{' && (count < 2 || text[first + 1] != U'\n');
    if (!fits) {
      ++found;
      continue;
    }
    braced.append(text, at, first - at);
    for (std::size_t i = 0; i < count; ++i) braced.append(U"{").append(1, text[first + i]).append(U"}");
    found = at = first + count;
  }
  return braced.append(text, at);
}

Text normalise_as_minerva(Text text) {
  remove(text, {U"an ", U"a "});
  replace(text, U".$", U"$");
  remove(text, {U"\\$", U"\\ ", U" "});
  replace(text, U"mbox", U"text");
  replace(text, U",\\text{and}", U",");
  replace(text, U"\\text{and}", U",");
  replace(text, U"\\text{m}", U"\\text{}");
  remove(text, {U"square",          U"ways",     U"integers", U"dollars", U"mph",
                U"inches",          U"ft",       U"hours",    U"km",      U"units",
                U"\\ldots",         U"sue",      U"points",   U"feet",    U"minutes",
                U"digits",          U"cents",    U"degrees",  U"cm",      U"gm",
                U"pounds",          U"meters",   U"meals",    U"edges",   U"students",
                U"childrentickets", U"multiples"});
  remove(text, {U"\\text{s}", U"\\text{.}", U"\\text{\ns}", U"\\text{}^2", U"\\text{}^3", U"\\text{\n}", U"\\text{}",
                U"\\mathrm{th}", U"^\\circ", U"^{\\circ}", U"\\;", U",\\!", U"{,}", U"\"", U"\\dots"});
  text = each_line(text, keep_dollars);
  text = each_line(text, [](std::u32string_view line) { return unwrap(line, U"\\text{"); });
  text = each_line(text, [](std::u32string_view line) { return unwrap(line, U"\\textbf{"); });
  text = each_line(text, [](std::u32string_view line) { return unwrap(line, U"\\overline{"); });
  text = each_line(text, [](std::u32string_view line) { return unwrap(line, U"\\boxed{", true); });
  text = brace_arguments(text, U"frac", 2);
  text = brace_arguments(text, U"sqrt", 1);
  remove(text, {U"$"});
  Text bare = text;
  remove(bare, {U","});
  return python_is_digit(bare) ? bare : text;
}

bool equal_when_normalised(const Text& prediction, const Text& truth) {
  const Text left = normalise(prediction);
  const Text right = normalise(truth);
  const auto left_number = python_float(left);
  const auto right_number = python_float(right);
  return left_number && right_number ? *left_number == *right_number : left == right;
}

// ---- Texts that repeat themselves ----

/// A suffix automaton (Blumer et al. 1985): the smallest automaton that accepts the substrings of what it was fed.
class SuffixAutomaton {
 public:
  SuffixAutomaton() : states_(1) {}

  void feed(char32_t c) {
    const int added = static_cast<int>(states_.size());
    states_.push_back({states_[last_].length + 1, 0, {}});
    int at = last_;
    for (; at != kNone && states_[at].next.emplace(c, added).second; at = states_[at].link) {
    }
    if (at != kNone) states_[added].link = split(at, c);
    last_ = added;
  }

  /// Number of different substrings, the empty one not counted.
  double distinct_substrings() const {
    double count = 0;
    for (const State& state : states_) {
      if (state.link != kNone) count += state.length - states_[state.link].length;
    }
    return count;
  }

 private:
  static constexpr int kNone = -1;
  struct State {
    int length = 0;  ///< of the longest substring that ends here
    int link = kNone;
    std::map<char32_t, int> next;
  };

  /// The state for the longest suffix that ends in `c` after `at`: its successor, or a copy of it for the shorter ones.
  int split(int at, char32_t c) {
    const int target = states_[at].next.at(c);
    if (states_[target].length == states_[at].length + 1) return target;
    const int copy = static_cast<int>(states_.size());
    states_.push_back(State(states_[target]));
    states_[copy].length = states_[at].length + 1;
    states_[target].link = copy;
    for (; at != kNone && states_[at].next[c] == target; at = states_[at].link) states_[at].next[c] = copy;
    return copy;
  }

  std::vector<State> states_;
  int last_ = 0;
};

}  // namespace

std::optional<std::string_view> rldf_release_boxed_answer(std::string_view response) {
  constexpr std::string_view open = "\\boxed{";
  const std::size_t found = response.rfind(open);
  if (found == std::string_view::npos) return std::nullopt;
  const std::size_t begin = found + open.size();
  std::size_t depth = 1;
  for (std::size_t i = begin; i < response.size(); ++i) {
    if (response[i] == '{') ++depth;
    if (response[i] == '}' && --depth == 0) return response.substr(begin, i - begin);
  }
  return std::nullopt;
}

bool rldf_release_equal(std::string_view prediction, std::string_view truth) {
  const Text left = decode(prediction);
  const Text right = decode(truth);
  if (equal_when_normalised(left, right)) return true;
  if (repeats_itself(left) || repeats_itself(right)) return false;
  return normalise_as_minerva(left) == normalise_as_minerva(right);
}

bool repeats_itself(std::u32string_view text) {
  if (text.size() <= 128) return false;
  SuffixAutomaton automaton;
  for (const char32_t c : text) automaton.feed(c);
  // Two neighbours share exactly the prefixes that are not new with the second: the sum is what n(n+1)/2 has more than
  // the number of different substrings.
  const auto n = static_cast<double>(text.size());
  const double sum = n * (n + 1) / 2 - automaton.distinct_substrings();
  return sum * 2 / (n * (n + 1)) > 0.2;
}

}  // namespace math_answers
