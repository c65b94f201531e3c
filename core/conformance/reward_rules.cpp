#include <core/base/log.h>
#include <core/boundary/checks.h>
#include <core/conformance/inputs.h>
#include <core/conformance/rules.h>
#include <core/conformance/watches.h>
#include <core/process/threads.h>
#include <core/text/utf8.h>

#include <algorithm>
#include <utility>

namespace drift {
namespace {

/// A verdict, or that the reward cannot read the reference.
struct Judged {
  bool refused = false;
  RewardResult result;

  bool operator==(const Judged& other) const {
    return refused == other.refused && result.value == other.result.value && result.solved == other.result.solved &&
           result.status == other.result.status && result.reason == other.result.reason;
  }
};

/// Items with references in forms that rewards read: texts, numbers, records.
std::vector<TaskItem> items_of(const std::vector<std::string>& references) {
  std::vector<TaskItem> items;
  for (const std::string& reference : references) {
    TaskItem item;
    item.id = "made up " + std::to_string(items.size());
    item.prompt = "6 x 7 = ";
    item.reference = reference;
    items.push_back(std::move(item));
  }
  return items;
}

/// A reward without its guard, which would hide whether it threw a drift::Error.
class Scorer {
 public:
  Scorer(const ComponentEntry& entry, const ParamValues& values)
      : callee_(callee(entry)), reward_(make_unguarded<Reward>(entry, values)) {}

  Judged operator()(const TaskItem& item, const std::string& response, bool truncated) const {
    Judged judged;
    RewardRequest request;
    request.response = response;
    request.item = &item;
    request.truncated = truncated;
    in_plugin(callee_, "score", [&] {
      try {
        reward_->score(request, judged.result);
      } catch (const Error&) {
        judged.refused = true;  // it may: of an item that it cannot judge
        return;
      }
      check_verdict(judged.result, item);
      if (!is_valid_utf8(judged.result.reason)) throw Error("the reason is not UTF-8");
      if (judged.result.reason.find('\n') != std::string::npos) throw Error("the reason is more than one line");
    });
    return judged;
  }

  /// Of every response to every item, cut off or not.
  std::vector<Judged> all(const std::vector<TaskItem>& items) const {
    const auto responses = made_up_responses();
    std::vector<Judged> verdicts;
    for (const TaskItem& item : items) {
      for (const std::string& response : responses) {
        for (const bool truncated : {false, true}) verdicts.push_back((*this)(item, response, truncated));
      }
    }
    return verdicts;
  }

 private:
  const Callee& callee_;
  std::unique_ptr<Reward> reward_;
};

void require_same(const std::vector<Judged>& a, const std::vector<Judged>& b, const char* when) {
  if (a == b) return;
  throw Error(std::string("the same request gets another verdict ") + when,
              "a verdict depends on the request alone: keep no state that it could depend on, draw nothing");
}

}  // namespace

void check_reward_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const auto settings = edge_settings(entry.params, with.values);
  const auto items =
      items_of(with.references.empty() ? std::vector<std::string>{"", "42", R"({"answer": "42"})"} : with.references);
  const auto each = [&](const std::function<void(const Scorer&)>& body) {
    return for_each_setting(settings, [&](const Setting& setting) { body(Scorer(entry, setting.values)); });
  };

  examination.basic_rule("made", [&] { return or_not_checked(entry, [&] { return each([](const Scorer&) {}); }); });
  // Value, status and reason are what the guards of core/boundary check in every call.
  examination.basic_rule("results", [&] {
    const std::string tried = each([&](const Scorer& scorer) { scorer.all(items); });
    if (std::ranges::all_of(Scorer(entry, with.values).all(items), &Judged::refused))
      throw RuleNotChecked("it can read none of the made-up references", "give it one: --reference TEXT");
    return tried + ", " + std::to_string(2 * items.size() * made_up_responses().size()) + " requests each";
  });
  examination.rule("deterministic", [&] {
    return for_each_setting(settings, [&](const Setting& setting) {
      const Scorer scorer(entry, setting.values);
      const auto first = scorer.all(items);
      require_same(scorer.all(items), first, "the second time");
      require_same(Scorer(entry, setting.values).all(items), first, "from another object");
    });
  });
  examination.rule("threads", [&] {
    const Scorer scorer(entry, with.values);
    const auto expected = scorer.all(items);
    for_each_at_once(
        2 * kThreads, [&](std::size_t) { require_same(scorer.all(items), expected, "from several threads"); },
        kThreads);
    return std::to_string(kThreads) + " threads";
  });
  examination.rule("random numbers", [&] {
    return each([&](const Scorer& scorer) { without_global_random([&] { scorer.all(items); }); });
  });
  examination.rule("leak", [&] {
    const Scorer scorer(entry, with.values);
    const auto responses = made_up_responses();
    std::size_t next = 0;
    return without_leak([&] {
      scorer(items[next % items.size()], responses[next % 10], false);
      ++next;
    });
  });
}

}  // namespace drift
