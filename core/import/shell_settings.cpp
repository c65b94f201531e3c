#include <core/base/quote.h>
#include <core/import/foreign_settings.h>

#include <drift/error.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace drift {
namespace {

using Command = std::vector<ShellWord>;

constexpr std::size_t kMostOptions = 2'000;
constexpr std::size_t kMostPutIn = 8'000'000;  ///< variables of variables can make very much of a short script

bool is_option(const std::string& word) {
  return word.size() > 2 && word.starts_with("--") && std::isalpha(static_cast<unsigned char>(word[2])) != 0;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

/// As much of a shell as the scripts that start a training need: quotes, comments, continued lines, variables. Nothing
/// is run; what a program would print, $(...), stays as it is written.
class ShellReader {
 public:
  ShellReader(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  std::vector<Command> commands() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') {
      at_ += 2, ++line_;
      end_word();
    } else if (c == '\n' || c == ';' || c == '|' || c == '&' || c == '>' || c == '<') {
      end_command(/*rest=*/c == '>' || c == '<');
      line_ += c == '\n' ? 1 : 0;
      ++at_;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      end_word();
      ++at_;
    } else if (c == '#' && !in_word_) {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      begin_word();
      if (c == '\'' || c == '"') {
        quoted(c);
      } else if (c == '$') {
        variable();
      } else {
        if (c == '\\') ++at_;
        if (at_ < text_.size()) word_.text += text_[at_++];
      }
    }
  }

  void begin_word() {
    if (!in_word_) word_ = {"", line_};
    in_word_ = true;
  }

  void quoted(char mark) {
    const int begin = line_;
    for (++at_; at_ < text_.size() && text_[at_] != mark;) {
      if (mark == '"' && text_[at_] == '$') {
        variable();
        continue;
      }
      if (mark == '"' && text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      line_ += text_[at_] == '\n' ? 1 : 0;
      word_.text += text_[at_++];
    }
    if (at_ == text_.size()) throw Error(name_ + ":" + std::to_string(begin) + ": the quote is never closed");
    ++at_;
  }

  /// $NAME, ${NAME}, ${NAME:-default}. A variable of the environment stays as it is written.
  void variable() {
    std::size_t end = at_ + 1;
    if (end < text_.size() && (text_[end] == '{' || text_[end] == '(')) {
      end = closed(end);
      const std::string inner = text_.substr(at_ + 2, end - at_ - 3);
      word_.text +=
          text_[at_ + 1] == '{' ? value_of(inner, text_.substr(at_, end - at_)) : text_.substr(at_, end - at_);
    } else {
      while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_'))
        ++end;
      word_.text += value_of(text_.substr(at_ + 1, end - at_ - 1), text_.substr(at_, end - at_));
    }
    at_ = end;
  }

  std::size_t closed(std::size_t open) const {
    int depth = 0;
    for (std::size_t at = open; at < text_.size() && text_[at] != '\n'; ++at) {
      if (text_[at] == '{' || text_[at] == '(') ++depth;
      if ((text_[at] == '}' || text_[at] == ')') && --depth == 0) return at + 1;
    }
    throw Error(name_ + ":" + std::to_string(line_) + ": a bracket after `$` is never closed");
  }

  std::string value_of(const std::string& inner, const std::string& written) {
    const std::size_t fallback = inner.find(":-");
    const auto found = variables_.find(inner.substr(0, fallback));
    if (found != variables_.end()) {
      put_in_ += found->second.size();
      if (put_in_ > kMostPutIn)
        throw Error(name_ + ":" + std::to_string(line_) + ": its variables repeat a large part too often");
      return found->second;
    }
    return fallback == std::string::npos ? written : inner.substr(fallback + 2);
  }

  void end_word() {
    if (in_word_) command_.push_back(word_);
    in_word_ = false;
  }

  /// @param rest  up to the end of the line, files follow that the command reads or writes
  void end_command(bool rest = false) {
    if (rest && in_word_ && word_.text.size() == 1) in_word_ = false;  // the 2 of 2>&1
    end_word();
    std::size_t first = 0;
    if (!command_.empty() && command_[0].text == "export") ++first;
    for (; first < command_.size(); ++first) {
      const std::string& word = command_[first].text;
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos || !is_name(std::string_view(word).substr(0, equals))) break;
      variables_[word.substr(0, equals)] = word.substr(equals + 1);
    }
    command_.erase(command_.begin(), command_.begin() + static_cast<std::ptrdiff_t>(first));
    if (!command_.empty()) commands_.push_back(std::move(command_));
    command_.clear();
    if (rest) at_ = std::min(text_.find_first_of("\n|;", at_ + 1), text_.size()) - 1;
  }

  const std::string& text_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool in_word_ = false;
  ShellWord word_;
  Command command_;
  std::vector<Command> commands_;
  std::map<std::string, std::string> variables_;
  std::size_t put_in_ = 0;  ///< bytes that variables stood for
};

/// Whether a word gives a value without dashes, as OmegaConf has it: "config=configs/rl.yaml".
bool is_assignment(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos) return false;
  const std::string_view key = std::string_view(word).substr(0, equals);
  return !key.empty() &&
         std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
}

std::ptrdiff_t settings_in(const Command& command) {
  return std::ranges::count_if(command,
                               [](const ShellWord& word) { return is_option(word.text) || is_assignment(word.text); });
}

}  // namespace

std::vector<ShellWord> longest_command(const std::string& script, const std::string& name,
                                       std::vector<std::string>& remarks) {
  const std::vector<Command> commands = ShellReader(script, name).commands();
  const auto longest = std::ranges::max_element(commands, {}, settings_in);
  if (longest == commands.end() || settings_in(*longest) == 0)
    throw Error(name + ": there is no command with options", "a script starts a program with --key value or key=value");
  for (const Command& command : commands) {
    if (!is_option(command.front().text)) continue;
    std::string words;
    for (const ShellWord& word : command) words += (words.empty() ? "" : " ") + word.text;
    remarks.push_back(name + ":" + std::to_string(command.front().line) + " " + words +
                      ": not part of the command, since the line before it does not end in a backslash");
  }
  return *longest;
}

std::vector<std::pair<std::string, ForeignValue>> options_of(const std::vector<ShellWord>& words,
                                                             const std::string& name) {
  std::vector<std::pair<std::string, ForeignValue>> options;
  const auto program = std::ranges::find_if(words, [](const ShellWord& word) { return word.text.ends_with(".py"); });
  bool launcher = program != words.end(), open = false;  // open: the last option may still take a value
  for (auto word = words.begin(); word != words.end(); ++word) {
    if (word == program) launcher = open = false;
    const std::size_t equals = word->text.find('=');
    if (is_option(word->text) || is_assignment(word->text)) {
      const std::size_t begin = is_option(word->text) ? 2 : 0;
      const std::string key = word->text.substr(begin, equals == std::string::npos ? equals : equals - begin);
      ForeignValue value;
      value.origin = (name.empty() ? "command line" : name + ":" + std::to_string(word->line)) + " " +
                     (begin == 0 ? key : "--" + key);
      if (equals != std::string::npos) value.texts.push_back(word->text.substr(equals + 1));
      open = equals == std::string::npos;
      if (options.size() == kMostOptions) throw Error(value.origin + ": the command has too many options");
      options.emplace_back((launcher ? "launcher." : "") + key, std::move(value));
    } else if (open && word != program) {
      open = !launcher;  // whose next word may be another program: srun --label accelerate launch
      options.back().second.texts.push_back(word->text);
      options.back().second.is_list = options.back().second.texts.size() > 1;
    } else if (name.empty()) {
      throw Error("no option comes before " + quoted_name(word->text), "write --key value, --key=value or key=value");
    }
  }
  for (auto& [key, value] : options) {
    if (value.texts.empty()) value.texts.push_back("true");
    if (value.texts.size() == 1 && value.texts[0] == "null") value.texts.clear();
  }
  return options;
}

}  // namespace drift
