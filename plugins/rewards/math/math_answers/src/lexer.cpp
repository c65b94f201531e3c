#include "lexer.h"

#include "units.h"
#include "vocabulary.h"

#include <algorithm>

namespace math_answers {

namespace {

constexpr std::uint8_t detail(Relation relation) { return static_cast<std::uint8_t>(relation); }

constexpr std::string_view kDollar = "dollar";

// What one ASCII sign means; kEnd: nothing.
Token meaning_of(char c) {
  switch (c) {
    case '+': return {Sign::kPlus};
    case '-': return {Sign::kMinus};
    case '*': return {Sign::kTimes};
    case '/': return {Sign::kSlash};
    case ':': return {Sign::kColon};
    case '^': return {Sign::kCaret};
    case '_': return {Sign::kUnderscore};
    case '!': return {Sign::kFactorial};
    case '\'': return {Sign::kPrime};
    case '%': return {Sign::kPercent};
    case '=': return {Sign::kRelation, detail(Relation::kEqual)};
    case '<': return {Sign::kRelation, detail(Relation::kLess)};
    case '>': return {Sign::kRelation, detail(Relation::kGreater)};
    case ',':
    case ';': return {Sign::kComma};
    case '.': return {Sign::kFullStop};
    case '&': return {Sign::kAmpersand};
    case '(': return {Sign::kOpenRound};
    case ')': return {Sign::kCloseRound};
    case '[': return {Sign::kOpenSquare};
    case ']': return {Sign::kCloseSquare};
    case '{': return {Sign::kOpenBrace};
    case '}': return {Sign::kCloseBrace};
    case '|': return {Sign::kBar};
    case '~': return {Sign::kSpace};
    case '$':
    case '"':
    case '`': return {Sign::kSkipped};
    default: return {Sign::kEnd};
  }
}

bool opens(Sign sign) { return sign == Sign::kOpenRound || sign == Sign::kOpenSquare || sign == Sign::kOpenSet; }
bool closes(Sign sign) { return sign == Sign::kCloseRound || sign == Sign::kCloseSquare || sign == Sign::kCloseSet; }

}  // namespace

class Lexer {
 public:
  Lexer(Tokens& tokens, std::string_view text) : tokens_(tokens), text_(text) {}

  void run() {
    while (at_ < text_.size()) step();
  }

 private:
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  std::string_view rest() const { return text_.substr(at_); }
  const Token* last() const { return tokens_.list_.empty() ? nullptr : &tokens_.list_.back(); }
  Sign last_sign() const { return last() ? last()->sign : Sign::kEnd; }

  void push(Token token) {
    if (token.sign == Sign::kSkipped) return;
    if (token.sign == Sign::kNotANumber) throw Unreadable{kNotANumber};
    if (token.sign == Sign::kCurrency) {
      tokens_.currency_ = token.text;
      return;
    }
    if (token.sign == Sign::kSpace) {
      spaced_ = true;
      return;
    }
    if (tokens_.list_.size() == kMostTokens) throw Unreadable{"too many signs"};
    depth_ += opens(token.sign);
    depth_ -= closes(token.sign) && depth_ > 0;
    token.spaced = spaced_;
    spaced_ = false;
    tokens_.list_.push_back(token);
  }

  void step() {
    const char c = here();
    if (is_space(c)) {
      spaced_ = true;
      ++at_;
    } else if (is_digit(c) || (c == '.' && begins_fraction())) {
      number();
    } else if (is_letter(c)) {
      letters();
    } else if (c == '\\') {
      backslash();
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      beyond_ascii();
    } else {
      sign();
    }
  }

  // Whether the point here begins a number: .5, .\overline{3}
  bool begins_fraction() const {
    const std::string_view behind = text_.substr(at_ + 1);
    return !behind.empty() && (is_digit(behind.front()) || behind.starts_with("\\overline") ||
                               behind.starts_with("\\bar") || behind.starts_with("\\dot{"));
  }

  void number() {
    char* const kept = tokens_.digits_.data() + tokens_.digits_used_;
    const std::size_t size = read_number(text_, at_, depth_ > 0, kept, tokens_.digits_.size() - tokens_.digits_used_);
    if (size == 0) return sign();  // the point of .\overline{x}
    tokens_.digits_used_ += size;
    push({Sign::kNumber, 0, false, {kept, size}});
  }

  void letters() {
    std::size_t end = at_;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (read_meridiem(end)) return;
    if (constexpr std::string_view kPerCent = "per cent";
        last_sign() == Sign::kNumber && rest().starts_with(kPerCent)) {
      at_ += kPerCent.size();
      return push({Sign::kPercent});
    }
    if (word.size() > 1 && spaced_ && may_carry_unit(last_sign()) && (is_unit(word) || abbreviates(word, end))) {
      push({Sign::kUnit, 0, false, word});
    } else if (const auto known = word.size() > 1 ? plain_word(word) : std::nullopt) {
      push(*known);
    } else {
      for (std::size_t i = 0; i < word.size(); ++i) push({Sign::kLetter, 0, false, word.substr(i, 1)});
    }
    at_ = end;
  }

  // Whether a word that may name a function is a unit, since it has no argument: 5 min. `end`: of the word.
  bool abbreviates(std::string_view word, std::size_t end) const {
    if (word != "min" && word != "sec") return false;
    end = std::min(text_.find_first_not_of(" ~\t\n\r$", end), text_.size());
    constexpr std::string_view kEnds = ",;.)]}/";
    return end == text_.size() || kEnds.find(text_[end]) != std::string_view::npos;
  }

  static bool may_carry_unit(Sign sign) {
    return sign == Sign::kDegrees || sign == Sign::kCircle || sign == Sign::kNumber || sign == Sign::kCloseBrace ||
           sign == Sign::kPi || sign == Sign::kUnit || sign == Sign::kCloseRound;
  }

  // "p.m." behind a number; `end`: of the letters here.
  bool read_meridiem(std::size_t end) {
    if (last_sign() != Sign::kNumber) return false;
    for (const std::size_t length : {std::size_t{4}, std::size_t{3}, end - at_}) {
      const std::uint8_t half = meridiem(rest().substr(0, length));
      if (half == 0 || (length > 4)) continue;
      push({Sign::kMeridiem, half});
      at_ = std::min(at_ + length, text_.size());
      return true;
    }
    return false;
  }

  void sign() {
    const char c = here();
    const char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    ++at_;
    if (c == '.' && next == '.') {
      while (here() == '.') ++at_;
      spaced_ = true;
      return;
    }
    if (c == '*' && next == '*') return ++at_, push({Sign::kCaret});
    if (next == '=' && (c == '<' || c == '>')) {
      return ++at_, push({Sign::kRelation, detail(c == '<' ? Relation::kLessEqual : Relation::kGreaterEqual)});
    }
    if (next == '=' && c == '!' && last_sign() != Sign::kNumber) {
      return ++at_, push({Sign::kRelation, detail(Relation::kNotEqual)});
    }
    // One that no other closes is no bracket of mathematics: $12.50
    if (c == '$' && is_digit(next) && std::ranges::count(text_, '$') == 1) {
      return push({Sign::kCurrency, 0, false, kDollar});
    }
    const Token token = meaning_of(c);
    if (token.sign == Sign::kEnd) throw Unreadable{"a sign without a meaning in mathematics"};
    push(token);
  }

  void beyond_ascii() {
    if (raised_or_lowered()) return;
    std::size_t length = 0;
    if (const std::string_view written = spelled_out(rest(), length); !written.empty()) {
      at_ += length;
      return Lexer(tokens_, written).run();
    }
    const auto token = unicode_sign(rest(), length);
    if (!token) throw Unreadable{"a sign without a meaning in mathematics"};
    at_ += length;
    push(*token);
  }

  // ¹² is ^{12}, ₁₀ is _{10}. They are kept with the digits, of which there are fewer than bytes here.
  bool raised_or_lowered() {
    char* const kept = tokens_.digits_.data() + tokens_.digits_used_;
    std::size_t size = 0;
    std::size_t length = 0;
    char kind = 0;
    for (char c = 0; at_ < text_.size() && (c = small_sign(rest(), kind, length)) != 0; at_ += length) {
      if (tokens_.digits_used_ + size + 4 > tokens_.digits_.size()) throw Unreadable{"too many digits"};
      if (size == 0) {
        kept[size++] = kind;
        kept[size++] = '{';
      }
      kept[size++] = c;
    }
    if (size == 0) return false;
    kept[size++] = '}';
    tokens_.digits_used_ += size;
    Lexer(tokens_, {kept, size}).run();
    return true;
  }

  void backslash() {
    ++at_;
    std::size_t size = 0;
    while (at_ + size < text_.size() && is_letter(text_[at_ + size])) ++size;
    if (size == 0) size = 1;
    const std::string_view name = rest().substr(0, size);
    at_ = std::min(at_ + size, text_.size());
    if (name.empty() || is_space(name.front())) {
      spaced_ = true;
      return;
    }
    const auto found = command(name);
    if (!found) throw Unreadable{"an unknown command"};
    with_argument(*found, name);
  }

  void with_argument(Token token, std::string_view name) {
    switch (token.sign) {
      case Sign::kLeft:
      case Sign::kRight: return delimiter(token.sign == Sign::kLeft ? Sign::kOpenBar : Sign::kCloseBar);
      case Sign::kTextCommand: return text(token.detail, name == "mathrm" || name == "operatorname");
      case Sign::kBlackboard: return blackboard();
      case Sign::kBegin:
      case Sign::kClose:
        token.text = argument();
        if (token.text == "array" && token.sign == Sign::kBegin) argument();
        return push(token);
      case Sign::kRowEnd: row_gap(); return push(token);
      default: push(token);
    }
  }

  void skip_spaces() {
    while (is_space(here())) ++at_;
  }

  void delimiter(Sign bar) {
    skip_spaces();
    if (here() == '.') ++at_;
    const bool angle = here() == (bar == Sign::kOpenBar ? '<' : '>');
    if (!angle && here() != '|') return;
    ++at_;
    push({!angle ? bar : bar == Sign::kOpenBar ? Sign::kOpenRound : Sign::kCloseRound});
  }

  // The content of the braces that come next, or the one sign where there are none.
  std::string_view argument() {
    skip_spaces();
    if (here() != '{') {
      const std::string_view one = rest().substr(0, 1);
      at_ += one.size();
      return one;
    }
    const std::size_t begin = ++at_;
    for (int depth = 1; at_ < text_.size(); ++at_) {
      if (here() == '\\') {
        ++at_;
      } else if (here() == '{') {
        ++depth;
      } else if (here() == '}' && --depth == 0) {
        return text_.substr(begin, at_++ - begin);
      }
    }
    throw Unreadable{"a brace is not closed"};
  }

  void text(std::uint8_t emphasis, bool upright) {
    skip_spaces();
    if (here() != '{') return;
    const std::string_view content = argument();
    const auto first = content.find_first_not_of(" ~\t\n\r");
    if (first == std::string_view::npos) {
      spaced_ = true;
      return;
    }
    const std::string_view word = content.substr(first, content.find_last_not_of(" ~\t\n\r") - first + 1);
    spaced_ = spaced_ || first > 0;
    if (const Sign joins = conjunction(word); joins != Sign::kEnd) return push({joins});
    if (const std::uint8_t half = meridiem(word); half != 0 && word.size() > 1) return push({Sign::kMeridiem, half});
    if (const auto known = plain_word(word); known && last_sign() != Sign::kNumber) return push(*known);
    if (word == "degrees" || word == "degree") return push({Sign::kDegrees});
    if (word == "mod" || word == "modulo") return push({Sign::kModulo});
    if (word == "percent" || word == "per cent" || word == "pct" || word == "\\%" || word == "%") {
      return push({Sign::kPercent});
    }
    if (word == "\\$" || word == "$") return push({Sign::kCurrency, 0, false, kDollar});
    const bool letters_only = std::ranges::all_of(word, is_letter);
    const bool symbol =
        word.size() == 1 && letters_only && (emphasis != 0 || (upright && (word == "e" || word == "i" || word == "d")));
    const bool number = word.find_first_not_of("0123456789.,-+/ ") == std::string_view::npos;
    if (symbol || number || (emphasis != 0 && !letters_only)) return Lexer(tokens_, word).run();
    push({Sign::kText, emphasis, false, word});
  }

  void blackboard() {
    if (argument() != "R") throw Unreadable{"an unknown set"};
    push({Sign::kReals});
  }

  // The [2pt] of \\[2pt].
  void row_gap() {
    if (here() != '[') return;
    const auto end = text_.find(']', at_);
    const std::string_view gap = text_.substr(at_, end - at_);
    if (end != std::string_view::npos && gap.size() > 2 && is_letter(gap.back())) at_ = end + 1;
  }

  Tokens& tokens_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;  // of the brackets within which a comma separates
  bool spaced_ = false;
};

void Tokens::read(std::string_view text) {
  if (text.size() > kLongestAnswer) throw Unreadable{"too long"};
  while (text.starts_with("**")) text.remove_prefix(2);  // Markdown's bold
  while (text.ends_with("**")) text.remove_suffix(2);
  list_.clear();
  currency_ = {};
  Lexer(*this, text).run();
  list_.push_back({Sign::kEnd});
}

}  // namespace math_answers
