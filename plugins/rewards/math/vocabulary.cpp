#include "vocabulary.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "ascii.h"
#include "vocabulary_tables.h"

namespace math_reward {
namespace {

std::optional<Token> find(std::span<const Meaning> table, std::string_view written) {
  const auto found = std::ranges::lower_bound(table, written, {}, &Meaning::written);
  if (found == table.end() || found->written != written) return std::nullopt;
  return Token{found->sign, found->detail, false, found->text};
}

// `text` in lower case; empty if it is longer than any word of the tables.
class Folded {
 public:
  explicit Folded(std::string_view text) {
    if (text.size() > folded_.size()) return;
    std::ranges::transform(text, folded_.begin(), to_lower);
    size_ = text.size();
  }
  std::string_view view() const { return {folded_.data(), size_}; }

 private:
  std::array<char, 16> folded_;
  std::size_t size_ = 0;
};

std::string_view trim(std::string_view text, std::string_view signs) {
  const auto first = text.find_first_not_of(signs);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(signs) - first + 1);
}

}  // namespace

std::optional<Token> command(std::string_view name) { return find(command_table(), name); }

std::optional<Token> plain_word(std::string_view word) { return find(word_table(), word); }

std::optional<Token> unicode_sign(std::string_view text, std::size_t& length) {
  for (length = 2; length <= 3 && length <= text.size(); ++length) {
    if (auto found = find(unicode_table(), text.substr(0, length))) return found;
  }
  return std::nullopt;
}

bool is_unit(std::string_view word) {
  return word.size() > 1 && std::ranges::binary_search(unit_table(), Folded(word).view());
}

bool multiplies(std::string_view text) {
  constexpr std::string_view kMultipliers[] = {"hundred", "thousand", "million", "billion", "trillion",
                                               "dozen",   "half",     "halves",  "thirds",  "tenths"};
  while (!text.empty()) {
    const auto letters = static_cast<std::size_t>(std::ranges::find_if_not(text, is_letter) - text.begin());
    const Folded word(text.substr(0, letters));
    if (letters > 0 && std::ranges::find(kMultipliers, word.view()) != std::end(kMultipliers)) return true;
    text.remove_prefix(std::max<std::size_t>(letters, 1));
  }
  return false;
}

bool is_short_unit(char letter) { return letter == 'm' || letter == 's' || letter == 'g' || letter == 'h'; }

Sign conjunction(std::string_view text) {
  const Folded word(trim(text, " ,;~\t\n"));
  if (word.view() == "and") return Sign::kAnd;
  return word.view() == "or" ? Sign::kOr : Sign::kEnd;
}

std::uint8_t meridiem(std::string_view text) {
  const Folded word(trim(text, " ~\t\n"));
  for (const std::string_view written : {"a.m.", "am", "a.m", "a. m."}) {
    if (word.view() == written) return kMorning;
  }
  for (const std::string_view written : {"p.m.", "pm", "p.m", "p. m."}) {
    if (word.view() == written) return kAfternoon;
  }
  return 0;
}

}  // namespace math_reward
