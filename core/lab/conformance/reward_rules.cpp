#include <core/boundary/checks.h>
#include <core/lab/conformance/inputs.h>
#include <core/lab/conformance/trials.h>
#include <core/text/utf8.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace drift {
namespace {

/// A verdict, or that the reward cannot read the reference.
struct Judged {
  bool refused = false;
  RewardResult result;
};
bool operator==(const Judged& a, const Judged& b) {
  const auto fields = [](const Judged& of) {
    return std::tie(of.refused, of.result.value, of.result.solved, of.result.status, of.result.reason);
  };
  return fields(a) == fields(b);
}

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

/// It may throw a drift::Error: of an item that it cannot judge.
Judged judge(const Reward& reward, const TaskItem& item, const std::string& response, bool truncated) {
  Judged judged;
  RewardRequest request;
  request.response = response;
  request.item = &item;
  request.truncated = truncated;
  in_plugin(reward, "score", [&] {
    try {
      reward.score(request, judged.result);
    } catch (const Error&) {
      judged.refused = true;
      return;
    }
    check_verdict(judged.result, item);
    if (!is_valid_utf8(judged.result.reason)) throw Error("the reason is not UTF-8");
    if (judged.result.reason.find('\n') != std::string::npos) throw Error("the reason is more than one line");
  });
  return judged;
}

/// Of every response to every item, cut off or not.
std::vector<Judged> judge_all(const Reward& reward, const std::vector<TaskItem>& items) {
  const auto responses = made_up_responses();
  std::vector<Judged> verdicts;
  for (const TaskItem& item : items) {
    for (const std::string& response : responses) {
      for (const bool truncated : {false, true}) verdicts.push_back(judge(reward, item, response, truncated));
    }
  }
  return verdicts;
}

void require_same_verdicts(const std::vector<Judged>& a, const std::vector<Judged>& b, const char* when) {
  if (a == b) return;
  throw Error(std::string("the same request gets another verdict ") + when,
              "a verdict depends on the request alone: keep no state that it could depend on, draw nothing");
}

}  // namespace

void check_reward_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const Trials<Reward> trials(entry, with, examination);
  const auto items =
      items_of(with.references.empty() ? std::vector<std::string>{"", "42", R"({"answer": "42"})"} : with.references);
  const auto all = [&](const Reward& reward) { return judge_all(reward, items); };

  trials.made();
  examination.basic_rule("results", [&] {
    const std::string tried = trials.each([&](const Reward& reward) { all(reward); });
    if (std::ranges::all_of(all(*trials.usual()), &Judged::refused))
      throw RuleNotChecked("it can read none of the made-up references", "give it one: --reference TEXT");
    return tried + ", " + std::to_string(2 * items.size() * made_up_responses().size()) + " requests each";
  });
  trials.repeats(all, require_same_verdicts);
  trials.threads(all, require_same_verdicts);
  const auto responses = made_up_responses();
  std::size_t next = 0;
  trials.leak([&](const Reward& reward) {
    judge(reward, items[next % items.size()], responses[next % 10], false);
    ++next;
  });
}

}  // namespace drift
