#include "legacy_repeats.h"

#include <cstddef>
#include <map>
#include <vector>

namespace math_reward {
namespace {

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

}  // namespace math_reward
