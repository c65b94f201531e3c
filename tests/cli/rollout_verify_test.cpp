// `drift rollout verify`: every trace of an original, from the original's own settings; and traces that are wrong.

#include <core/io/safetensors.h>

#include <tests/support/program.h>

#include <ATen/TensorOperators.h>

namespace drift::rollout_verify_test {

using namespace test;
using namespace testing;

using Json = nlohmann::json;

/// Traces that no decoder here reproduces yet.
const std::set<std::string> kNotYet = {};

std::filesystem::path golden() { return source_dir() / "tests/golden/data"; }

const Json& manifest() {
  static const Json read = Json::parse(read_file(golden() / "manifest.json"));
  return read;
}

std::vector<Json> required_traces() {
  std::vector<Json> traces;
  for (const Json& one : manifest().at("cases")) {
    if (one.at("group") == "decode" && one.at("required").get<bool>()) traces.push_back(one);
  }
  return traces;
}

CommandResult verify(const Json& trace, const std::string& options) {
  return run_command(program().string() + " rollout verify " +
                     (golden() / "ckpt" / trace.at("checkpoint").get<std::string>()).string() + " --original " +
                     trace.at("algorithm").get<std::string>() + " " + options);
}

class OriginalTrace : public TestWithParam<Json> {};

TEST_P(OriginalTrace, IsReproduced) {
  const Json& trace = GetParam();
  if (kNotYet.contains(trace.at("id"))) GTEST_SKIP() << "not yet: " << trace.at("id");
  EXPECT_THAT(verify(trace, "--settings " + (golden() / "manifest.json").string() + " --reference " +
                                (golden() / trace.at("file").get<std::string>()).string()),
              prints());
}

INSTANTIATE_TEST_SUITE_P(Golden, OriginalTrace, ValuesIn(required_traces()),
                         [](const auto& trace) { return trace.param.at("id").template get<std::string>(); });

class RolloutVerify : public Test, public ProgramFolder {
 protected:
  static Json trace_called(const std::string& id) {
    for (const Json& one : manifest().at("cases")) {
      if (one.at("id") == id) return one;
    }
    throw std::runtime_error("no trace " + id);
  }

  /// The trace with tensors changed by `change`, against settings that `edit` has changed.
  CommandResult verify_changed(const std::function<void(const std::string& name, at::Tensor& tensor)>& change,
                               const std::function<void(Json& given)>& edit = {},
                               const std::string& options = "") const {
    const SafetensorsFile file(golden() / trace_.at("file").get<std::string>());
    std::vector<NamedTensor> tensors;
    for (const auto& entry : file.entries()) {
      at::Tensor tensor = file.tensor(entry.name).clone();
      if (change) change(entry.name, tensor);
      if (tensor.defined()) tensors.push_back({entry.name, tensor});
    }
    write_safetensors(path("trace.safetensors"), tensors);
    Json given = trace_;
    if (edit) edit(given);
    write("settings.json", given.dump());
    return verify(trace_, "--reference " + path("trace.safetensors").string() + " --settings " +
                              path("settings.json").string() + " " + options);
  }

  CommandResult verify_settings(const std::function<void(Json& given)>& edit) const { return verify_changed({}, edit); }

  void expect_mistake(const std::function<void(Json& given)>& edit, const std::string& message) const {
    EXPECT_THAT(verify_settings(edit), mistake(message));
  }

  const Json trace_ = trace_called("drift_llada_dyn_window_b3pad");
};

TEST_F(RolloutVerify, SaysWhatTheSettingsMeanHere) {
  EXPECT_THAT(
      verify_settings({}),
      prints("row  first difference  largest difference of a probability  forwards  of the original", "  2  none ",
             "\nequal to the original: 3 of 3 rows\n", "\n[rollout]\nname = \"block\"\nlength = 32\nblock = 16\n",
             "\nquirks = [\"counts_batch\", \"writes_any_id\", \"second_forward\", "));
}

TEST_F(RolloutVerify, TakesTheSettingsAlone) {
  EXPECT_THAT(verify_settings([](Json& given) { given = Json(given.at("settings")); }),
              prints(Not(HasSubstr("of the original\n"))))
      << "nfe is not known";
  const auto more = [](Json& given) {
    given = Json(given.at("settings"));
    given["nfe"] = 29;
  };
  EXPECT_EQ(verify_settings(more).status, 1);
}

TEST_F(RolloutVerify, FindsAChangedToken) {
  EXPECT_THAT(verify_changed([](const std::string& name, at::Tensor& tensor) {
                if (name == "tokens") tensor[1][-3] = 7;
              }),
              finds("  1  position 29: token ", " instead of 7, step ", "\nequal to the original: 2 of 3 rows\n"));
}

TEST_F(RolloutVerify, FindsAChangedStep) {
  EXPECT_THAT(verify_changed([](const std::string& name, at::Tensor& tensor) {
                if (name == "commit_step") tensor[2][4] += 1, tensor[2][9] += 1;
              }),
              finds(ContainsRegex("  2  position 4: token [0-9]+, step [0-9]+ instead of [0-9]+ ")));
}

TEST_F(RolloutVerify, FindsAChangedProbability) {
  const auto change = [](const std::string& name, at::Tensor& tensor) {
    if (name == "commit_prob") tensor[0][11] += 0.002;
  };
  const auto result = verify_changed(change, {}, "--json");
  EXPECT_THAT(result, fails());
  const Json found = Json::parse(result.output);
  EXPECT_EQ(found.at("passed"), false);
  EXPECT_NEAR(found.at("rows").at(0).at("largest_probability_difference").get<double>(), 0.002, 1e-5);
  EXPECT_EQ(found.at("rows").at(0).at("first_difference"), nullptr);
  EXPECT_EQ(found.at("rows").at(1).at("equal"), true);
  EXPECT_THAT(found.at("rollout").get<std::string>(), StartsWith("[rollout]\nname = \"block\"\n"));
  EXPECT_EQ(verify_changed(change, {}, "--tolerance 0.003").status, 0);
}

TEST_F(RolloutVerify, FindsAnotherNumberOfForwards) {
  EXPECT_THAT(verify_settings([](Json& given) { given["nfe"] = 31; }),
              finds("        30               31\n", "equal to the original: 0 of 3 rows\n"));
}

TEST_F(RolloutVerify, ComparesAResponseThatStillHoldsMasks) {
  // So few steps that the original gives up.
  auto trace = trace_called("fast_dream_dual_entropy");
  trace["settings"]["steps"] = 8;
  write("settings.json", trace.dump());
  const auto result = verify(trace, "--json --settings " + path("settings.json").string() + " --reference " +
                                        (golden() / trace.at("file").get<std::string>()).string());
  EXPECT_THAT(result, fails());
  EXPECT_EQ(Json::parse(result.output).at("rows").size(), 1u);
}

TEST_F(RolloutVerify, RefusesWhatTheOriginalDoesNotHave) {
  expect_mistake([](Json& given) { given["settings"]["blok_length"] = 8; },
                 "drift_llada has no option `blok_length`\n  = did you mean `block_length`?");
  expect_mistake([](Json& given) { given["settings"]["target"] = "confidenc"; },
                 "`target` of drift_llada is \"confidenc\"\n  = did you mean `confidence`?");
  expect_mistake([](Json& given) { given["settings"]["steps"] = 2.5; },
                 "`steps` of drift_llada is 2.5, expected: integer");
  expect_mistake([](Json& given) { given["settings"]["steps"] = nullptr; }, "`steps` of drift_llada is null");
  expect_mistake([](Json& given) { given["algorithm"] = "fast_llada"; },
                 "these are settings of \"fast_llada\", not of drift_llada");
  expect_mistake([](Json& given) { given["settings"]["block_length"] = -1; }, "rollout.block");
  auto trace = trace_;
  trace["algorithm"] = "drift_lada";
  EXPECT_THAT(verify(trace, "--reference x.safetensors --settings " + (golden() / "manifest.json").string()),
              mistake("did you mean `drift_llada`?", "fast_dream_block"));
}

TEST_F(RolloutVerify, RefusesIdsOfAnotherModel) {
  expect_mistake([](Json& given) { given["settings"]["mask_id"] = 249; },
                 "`mask_id` is 249, but that of the model is 250");
  expect_mistake([](Json& given) { given["settings"]["pad_id"] = 0; }, "`pad_id` is 0, but that of the model is 241");
}

TEST_F(RolloutVerify, RefusesATraceThatCannotBeCompared) {
  const auto without = [&](const std::string& gone) {
    return verify_changed([&](const std::string& name, at::Tensor& tensor) {
      if (name == gone) tensor = at::Tensor();
    });
  };
  for (const std::string name : {"prompt_ids", "tokens", "commit_step"})
    EXPECT_THAT(without(name), mistake("there is no tensor `" + name + "`"));
  EXPECT_THAT(without("commit_prob").output, HasSubstr("not known")) << "then tokens and steps are compared";
  expect_mistake([](Json& given) { given["settings"]["gen_length"] = 16; },
                 "responses of 16 tokens, and the trace has 32");
  const auto too_long = [](Json& given) { given["settings"]["gen_length"] = std::int64_t{1} << 40; };
  expect_mistake(too_long, "responses of 1099511627776 tokens, and the trace has 32");
  EXPECT_THAT(verify_changed([](const std::string& name, at::Tensor& tensor) {
                if (name == "tokens") tensor[0][0] += 1;
              }),
              mistake("`tokens` is not `prompt_ids` with responses behind them"));
}

TEST_F(RolloutVerify, RefusesATraceThatIsLongerThanTheModelsContext) {
  const auto config = Json::parse(read_file(golden() / "ckpt/llada_a/config.json"));
  const std::filesystem::path model = path("model");
  std::filesystem::copy(golden() / "ckpt/llada_a", model);
  Json shorter = config;
  shorter["max_sequence_length"] = 40;
  write_file(model / "config.json", shorter.dump());
  EXPECT_THAT(run_command(program().string() + " rollout verify " + model.string() +
                          " --original drift_llada --settings " + (golden() / "manifest.json").string() +
                          " --reference " + (golden() / trace_.at("file").get<std::string>()).string()),
              mistake("tokens, which exceeds the model's context of 40"));
}

TEST_F(RolloutVerify, ReadsTheOriginalsOfAnotherFile) {
  const auto run = [&](const Json& mine) {
    write("mine.json", Json{{"originals", {{"mine", mine}}}}.dump());
    return drift("rollout verify " + (golden() / "ckpt/llada_a").string() +
                 " --original mine --originals mine.json --settings settings.json --reference " +
                 (golden() / "decode/llada_gen_pure_b1.safetensors").string());
  };
  write("settings.json", R"({"n": 16})");
  Json mine = {{"rollout", "block"},
               {"options", {{"n", 8}}},
               {"settings", {{"length", "$n"}, {"block", 8}, {"temperature", 0.0}}}};
  EXPECT_THAT(run(mine), finds("[rollout]\nname = \"block\"\nlength = 16\nblock = 8\ntemperature = 0.0\n"));
  mine.erase("settings");
  EXPECT_THAT(run(mine).error, HasSubstr("mine.json: mine: key 'settings' not found"));
}

}  // namespace drift::rollout_verify_test
