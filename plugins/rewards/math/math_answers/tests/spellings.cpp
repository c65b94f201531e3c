#include "spellings.h"

#include <boost/algorithm/string/case_conv.hpp>
#include <boost/algorithm/string/join.hpp>
#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <regex>

namespace math_answers::test {
namespace {

using boost::algorithm::join;
using boost::algorithm::replace_all_copy;
using boost::algorithm::trim_copy;
using Strings = std::vector<std::string>;

const std::string kNumber = R"(-?\d+(?:\.\d+)?)";

/// Compiled once: compiling takes far longer than matching an answer.
const std::regex& compiled(const std::string& pattern) {
  static std::map<std::string, std::regex> patterns;
  const auto found = patterns.find(pattern);
  return found != patterns.end() ? found->second : patterns.emplace(pattern, std::regex(pattern)).first->second;
}

bool matches(const std::string& text, const std::string& pattern) { return std::regex_match(text, compiled(pattern)); }

bool has(const std::string& text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return text.find(part) != std::string::npos; });
}

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by) {
  return std::regex_replace(text, compiled(pattern), by);
}

/// The parts between separators that stand in no bracket or brace.
Strings split_outside(const std::string& text, const std::string& separator) {
  Strings parts(1);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (depth == 0 && text.compare(i, separator.size(), separator) == 0) {
      parts.emplace_back();
      i += separator.size() - 1;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    parts.back() += c;
  }
  for (std::string& part : parts) part = trim_copy(part);
  return parts;
}

/// The terms of a sum, each with its sign.
Strings terms_of(const std::string& text) {
  Strings terms(1);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    const bool binary = (c == '+' || c == '-') && depth == 0 && !trim_copy(terms.back()).empty();
    if (binary) terms.emplace_back();
    terms.back() += c;
  }
  return terms;
}

/// The number `digits`, written in decimal, plus one.
std::string plus_one(std::string digits) {
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    if (*digit != '9') {
      ++*digit;
      return digits;
    }
    *digit = '0';
  }
  return "1" + digits;
}

/// `text` with its first or last whole number raised by one; empty if it has none.
std::string other_number(const std::string& text, bool last) {
  constexpr const char* kDigits = "0123456789";
  const std::size_t found = last ? text.find_last_of(kDigits) : text.find_first_of(kDigits);
  if (found == std::string::npos) return {};
  const std::size_t begin = text.find_last_not_of(kDigits, found) + 1;  // npos + 1 is 0
  const std::size_t end = std::min(text.find_first_not_of(kDigits, found), text.size());
  return text.substr(0, begin) + plus_one(text.substr(begin, end - begin)) + text.substr(end);
}

/// One value: no list, relation, unit, text, set or matrix in it.
bool is_scalar(const std::string& text) {
  return !text.empty() &&
         !has(text, {",", "=", "<", ">",   "\\le", "\\ge", "\\cup", "text", "mbox", "\\in", "begin",   "_",
                     ":", ";", "%", "\\$", "circ", "\\pm", "math",  "\\{",  "[",    "\\!",  "triangle"}) &&
         !matches(text, R"([A-Z]|[A-Za-z]{2,}|\\emptyset)") &&
         terms_of(text).back().find_first_not_of("+- .") != std::string::npos && text.back() != '.';
}

void add(Strings& to, std::initializer_list<std::string> spellings) { to.insert(to.end(), spellings); }

// ---- What can be done to each shape ----

void change_layout(const std::string& truth, Spellings& to) {
  add(to.equal,
      {truth, "$" + truth + "$", "\\(" + truth + "\\)", "{" + truth + "}", "\n " + truth + " ",
       "\\displaystyle " + truth, replace_all_copy(truth, "\\frac", "\\dfrac"),
       replaced(truth, R"(\\left(?=[(\[\\])|\\right(?=[)\]\\]))", ""), replaced(truth, R"(\\[dt]frac)", "\\frac"),
       replaced(truth, R"(\^([0-9a-z]))", "^{$1}"), replaced(truth, R"(\\sqrt\s*([0-9a-z]))", "\\sqrt{$1}")});
  if (truth.back() != '.') to.equal.push_back(truth + ".");
  const bool has_words = has(truth, {"text", "mbox", " and ", " or "});
  if (!has(truth, {"\\left"}) && !has_words) {
    const std::string left = replaced(truth, R"(\\?[(\[])", "\\left$&");
    if (left != truth && !has(truth, {"\\{"})) to.equal.push_back(replaced(left, R"([)\]])", "\\right$&"));
  }
  if (!has_words && !matches(truth, R"(.*\d \d.*|.*[a-zA-Z]{2} [a-zA-Z].*)"))
    to.equal.push_back(replaced(truth, " ", "  "));
  if (!has_words) to.equal.push_back(replaced(truth, R"(([,+=<>]|\\cup|\\pm)\s*)", " $1 "));
}

void change_scalar(const std::string& truth, Spellings& to) {
  if (!is_scalar(truth)) return;
  const std::string in = "(" + truth + ")";
  add(to.equal, {in, "\\frac{2" + in + "}{2}", "1\\cdot" + in, in + "+0", "-(-" + in + ")", "\\frac{" + truth + "}{1}",
                 "5" + in + " - 4" + in, "\\frac{\\sqrt{7}" + in + "}{\\sqrt{7}}",
                 "\\frac{" + in + "}{3}+\\frac{2" + in + "}{3}", "\\frac{" + in + "(q+1)}{q+1}"});
  Strings terms = terms_of(truth);
  if (terms.size() > 1) {
    if (terms.front().find_first_of("+-") != 0) terms.front() = "+" + terms.front();
    to.equal.push_back(std::accumulate(terms.rbegin(), terms.rend(), std::string()));
  }
  add(to.unequal, {in + "+1", other_number(truth, false), other_number(truth, true)});
  if (!matches(truth, "-?0")) add(to.unequal, {"-" + in, "2" + in});
}

void change_integer(const std::string& truth, Spellings& to) {
  if (!matches(truth, R"(-?\d+|-?\d{1,3}((,|,\\!\s?|,\s\\!\s|\\!|\{,\}|\\,)\d{3})+)")) return;
  const std::string digits = replaced(truth, R"([^-\d])", "");
  const std::string grouped = replaced(digits, R"((\d)(?=(\d{3})+$))", "$1,");
  add(to.equal, {digits, grouped, replace_all_copy(grouped, ",", ",\\!"), replace_all_copy(grouped, ",", "{,}"),
                 replace_all_copy(grouped, ",", "\\,"), digits + ".0", digits + ".", "x = " + digits,
                 "\\text{" + digits + "}", digits + "\\text{ units}", "\\frac{" + digits + "}{1}",
                 "\\frac{6 \\cdot " + digits + "}{6}", "\\frac{" + digits + "0}{10}"});
  if (digits.front() != '-') to.equal.push_back("+" + digits);
  for (const auto& other : {other_number(digits, true), digits + "0", digits + ".5", digits + ", 98765", digits + "x",
                            digits + " \\pm 1"}) {
    if (!matches(digits, "-?0") || other != digits + "0") to.unequal.push_back(other == "0x" ? "x" : other);
  }
}

std::string decimals(double value, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

void change_fraction(const std::string& truth, Spellings& to) {
  std::smatch match;
  const std::string part = R"((?:\{\s*(-?\d{1,9})\s*\}|\s*(\d)))";
  const std::string fraction = R"((-?)\s*\\[dt]?frac)" + part + part + R"(|(-?)(\d{1,9})/(\d{1,9}))";
  if (!std::regex_match(truth, match, compiled(fraction))) return;
  const auto number = [&](int a, int b) { return std::stoll(match[a].matched ? match[a].str() : match[b].str()); };
  const bool slash = match[7].matched;
  long long p = slash ? std::stoll(match[7]) : number(2, 3);
  long long q = slash ? std::stoll(match[8]) : number(4, 5);
  if (match[1].str() + match[6].str() == "-") p = -p;
  if (q < 0) p = -p, q = -q;
  const auto frac = [](long long a, long long b) {
    return "\\frac{" + std::to_string(a) + "}{" + std::to_string(b) + "}";
  };
  for (const long long k : {-1, 2, 3, 7, -12}) to.equal.push_back(frac(k * p, k * q));
  to.equal.push_back(std::to_string(p) + "/" + std::to_string(q));
  to.equal.push_back((p < 0 ? "-" : "") + ("\\tfrac{" + std::to_string(std::abs(p))) + "}{" + std::to_string(q) + "}");
  const double value = static_cast<double>(p) / static_cast<double>(q);
  to.equal.push_back(decimals(value, 9));
  const double rest = std::abs(value * 1e4 - std::round(value * 1e4));
  if (rest > 0.02) to.unequal.push_back(decimals(value, 4));  // further off than the sixth place
  if (std::abs(p) > q && q > 1) {
    const std::string mixed = (p < 0 ? "-" : "") + std::to_string(std::abs(p) / q);
    if (p % q != 0) to.equal.push_back(mixed + frac(std::abs(p) % q, q));
    if (p % q != 0) to.equal.push_back(mixed + " " + std::to_string(std::abs(p) % q) + "/" + std::to_string(q));
  }
  for (const auto& [a, b] : {std::pair{p + 1, q}, {p, q + 1}, {-p, q}}) {
    if (a * q != b * p) to.unequal.push_back(frac(a, b));
  }
  if (p != 0 && std::abs(p) != q) to.unequal.push_back(frac(q, p));
}

void change_decimal(const std::string& truth, Spellings& to) {
  std::smatch match;
  if (!std::regex_match(truth, match, compiled(R"((-?)(\d*)\.(\d{1,9}))"))) return;
  const std::string digits = std::to_string(std::stoll(match[2].str() + match[3].str()));
  add(to.equal, {truth + "0", match[1].str() + "\\frac{" + digits + "}{1" + std::string(match[3].length(), '0') + "}",
                 match[1].str() + digits + "\\cdot 10^{-" + std::to_string(match[3].length()) + "}"});
  if (match[2] == "0") to.equal.push_back(match[1].str() + "." + match[3].str());
  to.unequal.push_back(truth + "5");
}

/// What surrounds a tuple or interval and the entries in it.
struct Bracketed {
  std::string open, close;
  Strings entries;
};
bool read_bracketed(const std::string& truth, Bracketed& found) {
  std::smatch match;
  if (!std::regex_match(truth, match, compiled(R"((?:\\left)?\s*([(\[])(.*?)(?:\\right)?\s*([)\]]))"))) return false;
  found = {match[1], match[3], split_outside(match[2], ",")};
  return found.entries.size() > 1 && !has(truth, {"\\cup"}) &&
         split_outside("(" + match[2].str() + ")", ",").size() == 1;
}

bool is_infinite(const std::string& text) { return has(text, {"\\infty"}); }

void change_tuple(const std::string& truth, Spellings& to) {
  Bracketed tuple;
  if (!read_bracketed(truth, tuple)) return;
  const auto write = [&](const Strings& entries) { return tuple.open + join(entries, ", ") + tuple.close; };
  to.equal.push_back(write(tuple.entries));
  to.equal.push_back("\\left" + tuple.open + " " + join(tuple.entries, " , ") + " \\right" + tuple.close);
  Strings doubled = tuple.entries;
  for (std::string& entry : doubled) {
    if (!is_infinite(entry) && is_scalar(entry)) entry = "\\frac{2(" + entry + ")}{2}";
  }
  to.equal.push_back(write(doubled));
  Strings other = tuple.entries;
  if (other[0] != other[1]) {
    std::swap(other[0], other[1]);
    to.unequal.push_back(write(other));
  }
  other = tuple.entries;
  other.push_back("0");
  to.unequal.push_back(write(other));
  to.unequal.push_back((tuple.open == "(" ? "[" : "(") + join(tuple.entries, ",") + tuple.close);
  to.unequal.push_back("\\{" + join(tuple.entries, ",") + "\\}");
  for (std::size_t i = 0; i < tuple.entries.size(); ++i) {
    other = tuple.entries;
    other[i] = is_infinite(other[i]) ? "17" : "(" + other[i] + ")+1";
    to.unequal.push_back(write(other));
  }
}

void change_list(const std::string& truth, Spellings& to) {
  const Strings entries = split_outside(truth, ",");
  if (entries.size() < 2 || has(truth, {"text", "mbox", "=", "\\pm", " and ", ";", "\\$"}) ||
      matches(truth, R"([A-Z].*|.*\d,(\\!|\s)*\d{3}(\D.*|$))"))
    return;
  Strings reversed(entries.rbegin(), entries.rend());
  add(to.equal, {join(reversed, ", "), join(reversed, " and "), join(reversed, ", \\text{ and } "),
                 "\\{" + join(entries, " , ") + "\\}"});
  Strings other = entries;
  other.push_back("98765");
  to.unequal.push_back(join(other, ", "));
  other = entries;
  other[0] = "98765";
  to.unequal.push_back(join(other, ", "));
}

void change_measure(const std::string& truth, Spellings& to) {
  std::smatch match;
  const auto is = [&](const std::string& pattern) { return std::regex_match(truth, match, compiled(pattern)); };
  const auto end_in = [&](std::initializer_list<const char*> endings) {
    for (const char* ending : endings) to.equal.push_back(match[1].str() + ending);
    add(to.unequal, {other_number(match[1], true), "-" + match[1].str()});
  };
  if (is("(" + kNumber + R"()\s*\^\{?\\circ\}?)"))
    end_in({"", "^\\circ", "^{\\circ}", "\\text{ degrees}", " degrees", "\\degree", "\xC2\xB0"});
  if (is("(" + kNumber + R"()\s*\\%)")) end_in({"", "\\%", "%", " \\%", " percent", "\\text{ percent}"});
  if (is(R"(\\\$\s*()" + kNumber + ")")) end_in({"", " dollars", "\\text{ dollars}"});
  if (is("(" + kNumber + R"()\s*\\(?:text|mbox|textnormal)\s*\{\s*[a-z ]{2,}\}(?:\^\{?\d\}?)?)"))
    end_in({"", "\\text{ units}"});
}

void change_words(const std::string& truth, Spellings& to) {
  std::smatch match;
  if (!std::regex_match(truth, match, compiled(R"(\\(?:text|mbox)\{\s*([A-Za-z ]+?)\s*\})"))) return;
  const std::string words = match[1];
  add(to.equal, {words, "\\textbf{" + words + "}", "\\mbox{" + words + "}", "\\text{ " + words + " }",
                 "\\text{" + boost::algorithm::to_upper_copy(words) + "}", "\\mathrm{" + words + "}"});
  to.unequal.push_back("\\text{un" + words + "}");
}

void change_choice(const std::string& truth, Spellings& to) {
  std::smatch match;
  if (!std::regex_match(truth, match, compiled(R"(\\(?:text|mbox)\{\(([A-Z])\)\}|\\text\{([A-Z])\})"))) return;
  const std::string letter = match[1].str() + match[2].str();
  add(to.equal, {letter, "(" + letter + ")", "\\text{" + letter + "}", "\\text{(" + letter + ")}",
                 "\\textbf{(" + letter + ")}", "\\mathrm{" + letter + "}"});
  to.unequal.push_back(std::string(1, static_cast<char>(letter[0] + 1)));
}

void change_matrix(const std::string& truth, Spellings& to) {
  std::smatch match;
  if (!std::regex_match(truth, match, compiled(R"(\\begin\{pmatrix\}(.*)\\end\{pmatrix\})")) || has(truth, {"phantom"}))
    return;
  const auto write = [](const std::vector<Strings>& rows, const std::string& kind) {
    Strings lines;
    for (const Strings& row : rows) lines.push_back(join(row, " & "));
    return "\\begin{" + kind + "} " + join(lines, " \\\\ ") + " \\end{" + kind + "}";
  };
  std::vector<Strings> rows;
  for (const std::string& line : split_outside(match[1], "\\\\")) rows.push_back(split_outside(line, "&"));
  to.equal.push_back(write(rows, "bmatrix"));
  to.equal.push_back(write(rows, "pmatrix"));
  auto other = rows;
  for (Strings& row : other) {
    for (std::string& entry : row) entry = "\\frac{2(" + entry + ")}{2}";
  }
  to.equal.push_back(write(other, "pmatrix"));
  for (Strings& row : other) {
    for (std::string& entry : row) entry = "3\\left(" + entry + "\\right)";
  }
  to.equal.push_back("\\frac{1}{3}" + write(other, "pmatrix"));
  other = rows;
  other[0][0] = "(" + other[0][0] + ")+1";
  to.unequal.push_back(write(other, "pmatrix"));
  if (rows.size() == 1 || rows[0].size() == 1) {
    Strings entries;
    for (const Strings& row : rows) entries.insert(entries.end(), row.begin(), row.end());
    other.clear();
    if (rows.size() == 1) {
      for (const auto& entry : entries) other.push_back({entry});
    } else {
      other.push_back(entries);
    }
    to.unequal.push_back(write(other, "pmatrix"));
  }
}

void change_equation(const std::string& truth, Spellings& to) {
  const Strings sides = split_outside(truth, "=");
  if (sides.size() != 2 || !is_scalar(sides[1]) || has(truth, {"text", "%", ","})) return;
  if (matches(sides[0], "[A-Za-z]")) {
    add(to.equal, {sides[1], sides[0] + "=(" + sides[1] + ")"});
    add(to.unequal, {sides[0] + "=" + sides[1] + "+1", (sides[0] == "q" ? "w=" : "q=") + sides[1]});
    return;
  }
  if (!is_scalar(sides[0])) return;
  const std::string left = "(" + sides[0] + ")";
  const std::string right = "(" + sides[1] + ")";
  add(to.equal,
      {right + "=" + left, "2" + left + "=2" + right, left + "-" + right + "=0", "0=-3" + left + "+3" + right});
  add(to.unequal, {left + "=" + right + "+1", left + "=-" + right + "+1"});
}

void change_base(const std::string& truth, Spellings& to) {
  std::smatch match;
  if (!std::regex_match(truth, match, compiled(R"((\d+)_\{?(\d+)\}?)"))) return;
  add(to.equal, {match[1].str(), match[1].str() + "_{" + match[2].str() + "}"});
  add(to.unequal,
      {match[1].str() + "_{" + plus_one(match[2]) + "}", "1" + match[1].str() + "_{" + match[2].str() + "}"});
}

void change_union(const std::string& truth, Spellings& to) {
  const Strings parts = split_outside(replaced(truth, R"(\\left|\\right)", ""), "\\cup");
  if (parts.size() < 2) return;
  // Half-open brackets do not nest, so the split must have left whole intervals.
  for (const auto& part : parts) {
    if (!matches(part, R"([(\[].*[)\]])")) return;
  }
  to.equal.push_back(join(Strings(parts.rbegin(), parts.rend()), " \\cup "));
  to.unequal.push_back(join(Strings(parts.begin() + 1, parts.end()), " \\cup "));
}

}  // namespace

Spellings spellings_of(const std::string& truth) {
  Spellings found;
  change_layout(truth, found);
  for (const auto change :
       {change_scalar, change_integer, change_fraction, change_decimal, change_tuple, change_list, change_measure,
        change_words, change_choice, change_matrix, change_equation, change_base, change_union}) {
    change(trim_copy(truth), found);
  }
  std::erase(found.unequal, "");
  for (Strings* spellings : {&found.equal, &found.unequal}) {
    std::sort(spellings->begin(), spellings->end());
    spellings->erase(std::unique(spellings->begin(), spellings->end()), spellings->end());
  }
  return found;
}

}  // namespace math_answers::test
