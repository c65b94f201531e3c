#include "comparison.h"
#include "reading.h"

#include <flint/flint.h>

#include <algorithm>

namespace math_answers {
namespace {

constexpr std::size_t kLongestQuote = 60;

// The start of an answer on one line, in ASCII.
std::string quoted(std::string_view text) {
  std::string quote(text.substr(0, kLongestQuote));
  for (char& c : quote) c = c == '\n' || c == '\t' || c == '\r' ? ' ' : c < ' ' || c > '~' ? '?' : c;
  if (text.size() > kLongestQuote) quote += "...";
  return quote;
}

std::string not_equal(std::string_view truth, std::string_view prediction, const char* why = "") {
  std::string reason = quoted(prediction) + " is not " + quoted(truth);
  if (*why != '\0') reason += std::string(" (") + why + ")";
  return reason;
}

// FLINT keeps a few hundred kilobytes for each thread that used it.
struct ThreadCaches {
  ~ThreadCaches() { flint_cleanup(); }
};

// The set that words name, if the other answer is mathematics: "all real numbers" is \mathbb{R}.
void read_set_in_words(Tree& tree, std::string_view text, Reading& reading, const Reading& other) {
  const auto is_words = [&](const Reading& one) { return tree.kind(one.root) == Kind::kText; };
  if (!reading.parsed() || !other.parsed() || !is_words(reading) || is_words(other)) return;
  const std::string said = words(text);
  for (const std::string_view all : {"all real numbers", "all reals", "the real numbers", "real numbers"}) {
    if (said == all) reading.root = tree.add(Kind::kReals);
  }
  for (const std::string_view none : {"no solution", "no solutions", "empty set", "the empty set"}) {
    if (said == none) reading.root = tree.add(Kind::kSet);
  }
}

class Judgement {
 public:
  Judgement(std::string_view truth, std::string_view prediction, const Options& options)
      : truth_(truth), prediction_(prediction), options_(options) {}

  Comparison run() {
    Comparison result = judge(ShortUnits::kDrop);
    if (!result.equal && short_unit_) {
      const Comparison other = judge(ShortUnits::kKeep);
      if (other.equal) result = other;
    }
    if (!result.equal && !not_a_number_ && written_alike()) {
      result.equal = true;
      result.reason = "written the same";
    }
    return result;
  }

 private:
  Comparison judge(ShortUnits short_units) {
    Tree tree;
    Tokens truth_tokens;
    Tokens prediction_tokens;
    Reading wanted = read_answer(truth_, short_units, truth_tokens, tree);
    Reading given = read_answer(prediction_, short_units, prediction_tokens, tree);
    read_set_in_words(tree, truth_, wanted, given);
    read_set_in_words(tree, prediction_, given, wanted);
    short_unit_ = wanted.short_unit || given.short_unit;
    const auto is_nan = [](const Reading& one) { return std::string_view(one.reason) == kNotANumber; };
    not_a_number_ = is_nan(wanted) || is_nan(given);
    Comparison result{false, {}, wanted.parsed(), given.parsed()};
    const bool wanted_words = wanted.parsed() && tree.kind(wanted.root) == Kind::kText;
    const bool given_words = given.parsed() && tree.kind(given.root) == Kind::kText;
    if (wanted_words || given_words) {
      const std::string said = words(truth_);
      result.equal = !said.empty() && said == words(prediction_);
      result.reason = result.equal ? "the same words" : not_equal(truth_, prediction_);
      return result;
    }
    if (!wanted.parsed()) {
      result.reason = not_equal(truth_, prediction_, "the truth cannot be read");
    } else if (!given.parsed()) {
      result.reason = not_equal(truth_, prediction_, given.reason);
    } else if (!fit(wanted.measures, given.measures)) {
      result.reason = not_equal(truth_, prediction_, "another unit");
    } else {
      compare(tree, wanted.root, given.root, result);
    }
    return result;
  }

  void compare(Tree& tree, Place truth, Place prediction, Comparison& result) const {
    Comparer comparer(tree, options_);
    try {
      result.equal = comparer.equal(truth, prediction);
      const std::string how = comparer.how();
      result.reason =
          result.equal ? (how.empty() ? "equal" : "equal " + how) : not_equal(truth_, prediction_, comparer.how());
    } catch (const Unreadable& limit) {
      result.reason = not_equal(truth_, prediction_, limit.reason);
    }
  }

  bool written_alike() const {
    const std::string wanted = squeezed(truth_);
    return !wanted.empty() && wanted == squeezed(prediction_);
  }

  std::string_view truth_;
  std::string_view prediction_;
  const Options& options_;
  bool short_unit_ = false;
  bool not_a_number_ = false;
};

}  // namespace

Comparison compare_answers(std::string_view truth, std::string_view prediction, const Options& options) {
  for (const auto rewritten : {in_ascii, undoubled, undecorated}) {
    const std::string plain_truth = rewritten(truth), plain_prediction = rewritten(prediction);
    if (plain_truth != truth || plain_prediction != prediction)
      return compare_answers(plain_truth, plain_prediction, options);
  }
  if (const Choice wanted = choice(truth); !wanted.letter.empty()) {
    const Comparison by_letter = compare_answers(wanted.letter, prediction, options);
    const bool has_letter = !choice(prediction).letter.empty() || wanted.content == wanted.letter;
    return by_letter.equal || has_letter ? by_letter : compare_answers(wanted.content, prediction, options);
  }
  if (const Choice given = choice(prediction); !given.letter.empty()) {
    const std::string said = words(truth);
    const bool by_letter = said.size() == 1 || (said.size() == 3 && said.front() == '(' && said.back() == ')');
    return compare_answers(truth, by_letter && !is_digit(said[0]) ? given.letter : given.content, options);
  }
  thread_local const ThreadCaches caches;
  return Judgement(truth, prediction, options).run();
}

}  // namespace math_answers
