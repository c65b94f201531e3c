#include "equivalence.h"

#include <flint/flint.h>

#include <algorithm>
#include <exception>

#include "comparison.h"
#include "plain_number.h"
#include "reading.h"

namespace math_reward {
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

// Two plain numbers; nothing where rounding decides.
std::optional<Comparison> compare_plain(std::string_view truth, std::string_view prediction,
                                        const EquivalenceOptions& options) {
  const auto wanted = plain_number(truth);
  if (!wanted) return std::nullopt;
  const auto given = plain_number(prediction);
  if (!given) return std::nullopt;
  if (*wanted == *given) return Comparison{true, "equal as rational numbers", true, true};
  if (wanted->decimal != given->decimal && options.decimal_places >= 0) return std::nullopt;
  return Comparison{false, not_equal(truth, prediction), true, true};
}

// FLINT keeps a few hundred kilobytes for each thread that used it.
struct ThreadCaches {
  ~ThreadCaches() { flint_cleanup(); }
};

class Judgement {
 public:
  Judgement(std::string_view truth, std::string_view prediction, const EquivalenceOptions& options)
      : truth_(truth), prediction_(prediction), options_(options) {}

  Comparison run() {
    Comparison result = judge(ShortUnits::kDrop);
    if (!result.equal && short_unit_) {
      const Comparison other = judge(ShortUnits::kKeep);
      if (other.equal) result = other;
    }
    if (!result.equal && written_alike()) {
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
    const Reading wanted = read_answer(truth_, short_units, truth_tokens, tree);
    const Reading given = read_answer(prediction_, short_units, prediction_tokens, tree);
    short_unit_ = wanted.short_unit || given.short_unit;
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
  const EquivalenceOptions& options_;
  bool short_unit_ = false;
};

}  // namespace

Comparison compare_answers(std::string_view truth, std::string_view prediction, const EquivalenceOptions& options) {
  if (auto plain = compare_plain(truth, prediction, options)) return *plain;
  thread_local const ThreadCaches caches;
  return Judgement(truth, prediction, options).run();
}

}  // namespace math_reward
