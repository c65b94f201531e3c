#include "definitions.h"

#include "python_scanner.h"

#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/split.hpp>
#include <boost/algorithm/string/trim.hpp>

#include <algorithm>
#include <cctype>

namespace drift::code {
namespace {

bool part_of_name(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return c == '_' || byte >= 0x80 || std::isalnum(byte) != 0;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, part_of_name) &&
         std::isdigit(static_cast<unsigned char>(text[0])) == 0;
}

struct Statement {
  std::size_t indent = 0;
  std::string text = {};  ///< in one line, without comments, and with an empty text for each text
};

class StatementReader {
 public:
  std::vector<Statement> read(std::string_view code) {
    PythonScanner scanner;
    bool text = false;
    for (std::size_t at = 0; at < code.size(); ++at) {
      const auto part = scanner.next(code, at);
      if (part == PythonScanner::Part::kText && !text) found_.back().text += "''";
      text = part == PythonScanner::Part::kText;
      if (part == PythonScanner::Part::kCode) take(code[at], code.substr(at + 1));
    }
    return std::move(found_);
  }

 private:
  void take(char c, std::string_view rest) {
    Statement& last = found_.back();
    if (c == '\n') {
      const bool goes_on = continued_;
      continued_ = false;
      if (rest.starts_with("def ") || rest.starts_with("class ")) open_ = 0;  // a bracket is missing before
      if (open_ == 0 && !goes_on) start(0, true);
    } else if (c == '\\') {
      continued_ = true;
    } else if (c == ';' && open_ == 0) {
      start(last.indent, false);
    } else if (c == ' ' || c == '\t' || c == '\r') {
      if (!last.text.empty()) last.text += ' ';
      if (last.text.empty() && at_line_start_) ++last.indent;
    } else {
      open_ += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
      open_ = std::max(open_, 0);
      last.text += c;
    }
  }

  void start(std::size_t indent, bool at_line_start) {
    found_.push_back({indent});
    at_line_start_ = at_line_start;
  }

  std::vector<Statement> found_ = std::vector<Statement>(1);
  int open_ = 0;            ///< brackets
  bool continued_ = false;  ///< in the next line
  bool at_line_start_ = true;
};

std::string taken_word(std::string& text) {
  boost::trim(text);
  const auto end = std::ranges::find_if_not(text, part_of_name);
  std::string word(text.begin(), end);
  text.erase(text.begin(), end);
  boost::trim(text);
  return word;
}

std::vector<std::string> split(std::string text, char separator) {
  std::vector<std::string> parts;
  boost::split(parts, text, [&](char c) { return c == separator; });
  for (std::string& part : parts) boost::trim(part);
  return parts;
}

/// `a.b as c, d`
void add_imports(std::string names, std::vector<std::string>& found) {
  boost::trim_if(names, boost::is_any_of("() "));
  for (std::string& name : split(names, ',')) {
    const std::size_t as = name.find(" as ");
    std::string known = as != name.npos ? name.substr(as + 4) : name.substr(0, name.find('.'));
    boost::trim(known);
    if (is_name(known)) found.push_back(std::move(known));
  }
}

/// `a, (b, c) = d: int = …`: of texts with `=` between them, all but the last.
void add_targets(std::string statement, std::vector<std::string>& found) {
  for (const char* comparison : {"==", "!=", "<=", ">=", ":="}) boost::replace_all(statement, comparison, "  ");
  int open = 0;
  for (char& c : statement) {
    open += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (open > 0 && c == '=') c = ' ';  // names an argument
  }
  std::vector<std::string> parts = split(statement, '=');
  parts.pop_back();
  for (std::string& part : parts) {
    if (part.find('.') != part.npos) continue;
    part.erase(std::min(part.find(':'), part.size()));
    for (std::string& name : split(part, ',')) {
      boost::trim_if(name, boost::is_any_of("()[]* "));
      if (is_name(name)) found.push_back(std::move(name));
    }
  }
}

}  // namespace

Definitions definitions_of(std::string_view code) {
  Definitions found;
  constexpr std::size_t kNone = std::string::npos;
  std::size_t scope = kNone;  // the indentation of the function or class that a statement is in
  bool begun = false;         // the first statement is not indented
  for (const auto& [indent, text] : StatementReader().read(code)) {
    if (text.empty() || (!begun && indent > 0) || (scope != kNone && indent > scope)) continue;
    begun = true;
    scope = kNone;
    std::string rest = text;
    std::string word = taken_word(rest);
    if (word == "async") word = taken_word(rest);
    if (word == "def" || word == "class") {
      scope = indent;
      found.made.push_back(taken_word(rest));
    } else if (word == "import") {
      add_imports(rest, found.imported);
    } else if (word == "from") {
      const std::size_t names = rest.find(" import");
      if (names != kNone) add_imports(rest.substr(names + 7), found.imported);
    } else {
      add_targets(text, found.made);
    }
  }
  return found;
}

}  // namespace drift::code
