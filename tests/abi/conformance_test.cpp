// The rules of `drift plugin check`: each is shown to find a component that breaks it, and to find nothing in one that
// keeps all of them. What ends or stops a process: plugin_check_test.cpp.

#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <tests/abi/plugin_files.h>

#include <core/boundary/plugin_call.h>
#include <core/lab/conformance/rules.h>
#include <core/plugin/plugin_loader.h>

namespace drift::conformance_test {

using namespace testing;

std::vector<Outcome> examine(const ComponentEntry& entry, const std::set<std::string>& rules,
                             const ExaminedWith& with = {test::host(), {}, {}, {}}) {
  std::vector<Outcome> outcomes;
  Examination examination(component_id(entry), callee(entry).text, rules,
                          {[](const std::string&) {}, [&](const Outcome& outcome) { outcomes.push_back(outcome); }});
  check_rules(entry, with, examination);
  return outcomes;
}

/// "RULE: VERDICT: TEXT" of what is not in order.
std::vector<std::string> words(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> words;
  for (const Outcome& outcome : outcomes) {
    if (outcome.verdict != RuleVerdict::kOk)
      words.push_back(outcome.rule + ": " + std::string(rule_verdict_name(outcome.verdict)) + ": " + outcome.text);
  }
  return words;
}

struct Broken {
  const char* component;
  const char* rule;
  const char* text;
  const char* verdict = "found";
};

/// Also what each kind is tried with: the global generators, and memory that is lost.
void expect_broken(ComponentKind kind, std::vector<Broken> all) {
  all.push_back({"draws from rand", "random numbers", "it draws from rand()"});
  all.push_back({"draws from LibTorch", "random numbers", "LibTorch's global generator"});
  all.push_back({"leaks memory", "leak", "its memory grows by"});
  for (const auto& [name, rule, text, verdict] : all) {
    const ComponentEntry* entry = test::registry_of("rule_breakers").find(kind, name);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_THAT(words(examine(*entry, {rule})),
                Contains(testing::AllOf(HasSubstr(std::string(rule) + ": " + verdict + ": "), HasSubstr(text))))
        << name;
  }
}

void expect_good(ComponentKind kind) {
  const auto outcomes = examine(*test::registry_of("rule_breakers").find(kind, "good"), {});
  EXPECT_GE(outcomes.size(), 6U);
  EXPECT_THAT(words(outcomes), IsEmpty()) << kind_name(kind);
}

TEST(Conformance, Losses) {
  expect_good(ComponentKind::kLossEstimator);
  expect_broken(
      ComponentKind::kLossEstimator,
      {{"throws at an edge", "made", "with width = 0.0: constructor: width"},
       {"divides by an edge", "results", "with width = 0.0: evaluate: the loss is"},
       {"needs what it did not ask for", "results", "evaluate: it reads `reference_FL`, which is undefined: "},
       {"multiplies what does not fit", "results", "`current_FL` is [12, 8], "},
       {"multiplies what does not fit", "results", "`advantage_B` is [6]"},
       {"has no finite gradient", "results", "gradient: it is not finite"},
       {"writes", "results", "it changed `advantage_B`"},
       {"fails without targets", "empty views", "evaluate: "},
       {"overflows", "extremes", "evaluate: the loss is inf"},
       {"loses a gradient", "gradient", "but finite differences give"},
       {"has a gradient of 0", "gradient", "its gradient is 0 everywhere"},
       {"detaches", "gradient", "it calls detach(): is that meant?", "note"},
       {"divides by what it sees", "split", "called part by part, the loss is"},
       {"adds a constant for every response", "split", "called part by part, the loss is"},
       {"depends on the order", "split", "with the views in another order, the loss is"},
       {"counts its calls", "deterministic", "gives another loss the second time"},
       {"loses digits", "float32", "float32 log-probabilities"},
       {"leaks files", "leak", "it leaves files open"}});
}

TEST(Conformance, MaskingStrategies) {
  expect_good(ComponentKind::kMaskingStrategy);
  expect_broken(ComponentKind::kMaskingStrategy,
                {{"gives no terms", "results", "terms (K) must be at least 1"},
                 {"divides by the length", "empty responses", "plan: no tokens"},
                 {"counts its calls", "deterministic", "give another plan the second time"}});
}

TEST(Conformance, Rollouts) {
  expect_good(ComponentKind::kRollout);
  expect_broken(ComponentKind::kRollout,
                {{"makes too few", "results", "`tokens_BL` must be int64 [6, 4]"},
                 {"looks at the second token", "short prompts", "generate: "},
                 {"counts its calls", "deterministic", "other responses the second time"},
                 {"forgets the first response", "batch", "other responses group by group"},
                 {"ignores its random stream", "different responses", "the same response for every member of a group"},
                 {"attends to padding", "padding", "with more padding on the left"},
                 {"reads float32", "bfloat16", "generate: "},
                 {"throws when cancelled", "cancelled", "generate: cancelled"},
                 {"estimates too much", "cost", "it says 2 to 2 forwards a response, and there were 1 to 1"}});
}

TEST(Conformance, Models) {
  expect_good(ComponentKind::kModel);
  expect_broken(
      ComponentKind::kModel,
      {{"needs a width", "made", "constructor: key 'width' not found (name a config.json: --model-config FILE)"},
       {"sorts the rows", "results", "rows_N gives other states"},
       {"is too large for meta", "without memory", "constructor: "},
       {"counts its calls", "deterministic", "other states the second time"},
       {"mixes the rows", "batch", "a row gives other states alone than in a batch"},
       {"attends to padding", "padding", "padding on the left changes the states"},
       {"leaves a parameter unused", "reached", "no gradient reaches parameter `unused`"},
       {"loses a gradient", "gradient", "that by parameter `embedding` is"},
       {"recomputes something else", "recompute", "changes the gradient of parameter `embedding`"},
       {"is coarse in bfloat16", "bfloat16", "bfloat16 and float32 give different states"},
       {"forgets its cache", "cache", "a window of unchanged tokens gives other states"},
       {"trains the weights beside the adapters", "adapters", "`embedding` still requires gradients"},
       {"adapts other modules", "adapters", "gives adapters to other modules"},
       {"makes a wide adapter", "adapters", "`mix.lora_B.weight` is [8, 3], not [8, 2]"},
       {"forgets to name its adapters", "adapters", "parameters() lacks `mix.lora_A.weight`"},
       {"forgets alpha", "adapters", "are not those of the weights W + lora_alpha / r B A"},
       {"always adapts", "adapters", "a row for which adapted_B is false does not see the weights alone"},
       {"leaves nothing out", "adapters", "the states do not depend on dropout_key_B"},
       {"draws its dropout", "adapters", "the same dropout keys leave out other inputs"},
       {"shares its scratch", "threads", "several threads give other states"}});
}

TEST(Conformance, AModelMayRefuseDropoutInItsAdapters) {
  const auto outcomes =
      examine(*test::registry_of("rule_breakers").find(ComponentKind::kModel, "refuses dropout"), {"adapters"});
  EXPECT_THAT(words(outcomes), IsEmpty());
  EXPECT_EQ(outcomes.back().text, "2 modules, it refuses lora_dropout");
}

TEST(Conformance, Rewards) {
  expect_good(ComponentKind::kReward);
  expect_broken(ComponentKind::kReward,
                {{"needs a machine", "made", "there is no such machine", "not checked"},
                 {"needs a file", "made", "constructor: bad file (give values by --set)"},
                 {"reads no reference", "results", "it can read none of the made-up references", "not checked"},
                 {"fails on an empty text", "results", "score: "},
                 {"gives too much", "results", "the value is 2.000000"},
                 {"writes two lines", "results", "the reason is more than one line"},
                 {"copies the response", "results", "the reason is"},
                 {"counts its calls", "deterministic", "gets another verdict the second time"},
                 {"shares its scratch", "threads", "gets another verdict from several threads"}});
}

TEST(Conformance, Tasks) {
  expect_good(ComponentKind::kTask);
  expect_broken(ComponentKind::kTask, {{"names no item", "results", "an item has no id"},
                                       {"trains on held-out items", "held out", "has the id of a held-out item"},
                                       {"repeats an id", "held out", "two held-out items have the id `item 0`"},
                                       {"counts its calls", "deterministic", "is another one the second time"},
                                       {"keeps others", "list", "is another one after keep()"},
                                       {"shares its scratch", "threads", "is another one from several threads"}});
}

// What the guards find in a run (plugin_faults_test.cpp), the rules find beforehand.
TEST(Conformance, FindsTheFaultsOfRuns) {
  const auto find_all = [](ComponentKind kind, const std::vector<const char*>& faults) {
    const ComponentEntry& entry = *test::registry_of("faulty").find(kind, "faulty");
    EXPECT_THAT(words(examine(entry, {"made", "results"})), IsEmpty()) << kind_name(kind);
    for (const char* fault : faults) {
      const auto found =
          words(examine(entry, {"made", "results"}, {test::host(), {{"fault", std::string(fault)}}, "", {}}));
      EXPECT_THAT(found, Contains(HasSubstr(": found: "))) << kind_name(kind) << ", " << fault;
    }
  };
  find_all(ComponentKind::kLossEstimator,
           {"standard", "number", "libtorch", "constructor", "coupling", "nothing", "vector", "integer", "nan",
            "detached", "elsewhere", "gradient", "metric name", "no metric", "advantage", "old", "target", "pokes"});
  find_all(ComponentKind::kMaskingStrategy, {"error", "standard", "unscored", "weight", "mask type", "sample", "writes",
                                             "pokes", "early", "no response", "position", "weigh", "random", "step"});
  find_all(ComponentKind::kRollout, {"error", "length", "nothing", "one row", "twice as long", "token type", "large id",
                                     "mask token", "valid", "step", "logprob", "positive", "prompts", "writes"});
  find_all(ComponentKind::kModel, {"error", "hidden size", "mask id", "allows mask", "forbids all", "double",
                                   "computed", "names", "nan", "states type", "all rows", "writes"});
  find_all(ComponentKind::kReward, {"standard", "number", "nan", "large", "status", "bytes"});
  find_all(ComponentKind::kTask, {"error", "no id", "no prompt", "bytes", "negative size"});
}

}  // namespace drift::conformance_test
