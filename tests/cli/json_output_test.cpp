// What commands print for programs, read with the project's own reader: one object, and nothing else on standard
// output.

#include <tests/support/training_run.h>

#include <core/io/json.h>

#include <sched.h>

namespace drift::json_output_test {

using namespace test;
using namespace testing;

using Json = nlohmann::json;

Json printed(const CommandResult& result) {
  EXPECT_EQ(result.status, 0) << result.error;
  return parse_json_object(result.output, "standard output");
}

Json drift(const std::string& arguments) { return printed(run_command(program().string() + " " + arguments)); }

/// The element whose `key` is `value`.
Json find(const Json& list, const std::string& key, const std::string& value) {
  for (const Json& one : list) {
    if (one.at(key) == value) return one;
  }
  ADD_FAILURE() << "no " << key << " " << value << " in " << list;
  return Json::object();
}

TEST(JsonOutput, OfPlugins) {
  const Json list = drift("plugin list --json");
  EXPECT_EQ(find(list.at("plugins"), "name", "rldf").at("sha256").get<std::string>().size(), 64u);
  EXPECT_EQ(find(list.at("algorithms"), "name", "rldf").at("plugin"), "rldf");
  EXPECT_EQ(find(list.at("components"), "name", "block").at("kind"), "rollout");
  EXPECT_TRUE(list.at("refused").empty());

  const Json rldf = drift("plugin info rldf --json");
  const Json paper = find(rldf.at("algorithms").at(0).at("presets"), "name", "paper");
  EXPECT_TRUE(paper.at("settings").at("train.learning_rate").is_number());
  const Json loss = find(rldf.at("components"), "kind", "loss");
  const Json eps_low = find(loss.at("parameters"), "name", "eps_low");
  EXPECT_EQ(eps_low.at("type"), "number");
  EXPECT_EQ(eps_low.at("minimum"), 0);
  EXPECT_EQ(eps_low.at("maximum"), 1);
  EXPECT_THAT(find(loss.at("parameters"), "name", "norm").at("choices"), Contains("token"));

  EXPECT_THAT(run_command(program().string() + " plugin info rldff --json"), finds(IsEmpty()));
}

TEST(JsonOutput, OfAConfiguration) {
  const TrainingRuns runs;
  const Json config = printed(runs.drift("config show run.toml --steps 7 --json"));
  EXPECT_EQ(config.at("values").at("train").at("steps"), (Json{{"value", 7}, {"origin", "--steps 7"}}));
  EXPECT_EQ(config.at("values").at("algorithm.loss").at("name").at("value"), "rldf");
  EXPECT_TRUE(config.at("notes").is_array());
}

TEST(JsonOutput, OfWhatMayBeConfigured) {
  const Json train = find(drift("config docs --json").at("sections"), "name", "train");
  EXPECT_EQ(find(train.at("keys"), "name", "group_size"), (Json{{"name", "group_size"},
                                                                {"type", "integer"},
                                                                {"default", 8},
                                                                {"meaning", "responses per prompt"},
                                                                {"minimum", 2}}));
  const Json rollout = drift("config docs rollout --json").at("sections");
  ASSERT_EQ(rollout.size(), 1u);
  const Json block = find(rollout.at(0).at("components"), "name", "block");
  EXPECT_THAT(find(block.at("parameters"), "name", "schedule").at("choices"), Contains("static"));
}

TEST(JsonOutput, OfAnEvaluation) {
  const TrainingRuns runs;
  const std::string command = "eval " + base_checkpoint().string() + " --config run.toml --json";
  const Json result = printed(runs.drift(command));
  EXPECT_EQ(result.at("complete"), true);
  EXPECT_EQ(result.at("folder"), nullptr);
  ASSERT_EQ(result.at("cells").size(), 1u);
  EXPECT_EQ(result.at("cells").at(0).at("items"), 4);
  EXPECT_EQ(result.at("cells").at(0).at("responses"), 4);
  EXPECT_TRUE(result.at("cells").at(0).at("accuracy").is_number());

  runs.write("suite.toml",
             "[rollout]\nname = \"block\"\n[evaluation]\nitems = 3\n[suite]\ntasks = [{ name = \"grids\", file = \"" +
                 source("configs/tasks/sudoku.toml") + "\", lengths = [20, 40] }]\n");
  const Json suite =
      printed(runs.drift("eval " + base_checkpoint().string() + " --suite suite.toml --out answers --json"));
  EXPECT_EQ(suite.at("folder"), "answers");
  ASSERT_EQ(suite.at("cells").size(), 2u);
  EXPECT_EQ(suite.at("cells").at(1).at("length"), 40);
  EXPECT_EQ(suite.at("cells").at(1).at("items"), 3);
}

TEST(JsonOutput, OfASweep) {
  const TrainingRuns runs;
  runs.write("grid.toml",
             "extends = [\"run.toml\"]\n[train]\nsteps = 1\n[sweep]\nseeds = [1, 2]\n[sweep.grid]\n"
             "algorithm.masking.k = [1, 2]\n");
  const Json planned = printed(runs.drift("sweep grid.toml --out out --dry-run --json"));
  EXPECT_EQ(planned.at("runs").size(), 4u);
  EXPECT_EQ(planned.at("runs").at(0).at("status"), "new");
  EXPECT_EQ(planned.at("runs").at(0).at("seconds"), nullptr);
  const Json done = printed(runs.drift("sweep grid.toml --out out --json"));
  EXPECT_EQ(done.at("cells").size(), 2u);
  EXPECT_EQ(done.at("cells").at(0).at("runs"), 2);
  for (const Json& run : done.at("runs")) {
    EXPECT_EQ(run.at("status"), "finished");
    EXPECT_EQ(run.at("step"), 1);
    EXPECT_TRUE(run.at("training_reward").is_number());
  }
}

// ---- threads ----

std::string first_processor() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  int first = 0;
  while (first < CPU_SETSIZE && !CPU_ISSET(first, &allowed)) ++first;
  return std::to_string(first);
}

/// "threads" of `drift doctor --json`, whatever else is wrong here.
Json threads(const std::string& environment, const std::string& before = "") {
  const auto result =
      run_command("env -u OMP_NUM_THREADS " + environment + " " + before + " " + program().string() + " doctor --json");
  const Json report = parse_json_object(result.output, "standard output");
  EXPECT_EQ(report.at("healthy"), result.status == 0);
  const std::string text = find(report.at("findings"), "subject", "threads").at("text");
  EXPECT_THAT(text, StartsWith(report.at("threads").at("used").dump() + " thread"));
  return report.at("threads");
}

TEST(JsonOutput, DoctorSaysHowManyThreadsComputeAndWhy) {
  const Json all = threads("");
  EXPECT_EQ(all.at("omp_num_threads"), nullptr);
  const Json told = threads("OMP_NUM_THREADS=1");
  EXPECT_EQ(told.at("omp_num_threads"), 1);
  EXPECT_EQ(told.at("used"), 1);
  EXPECT_EQ(told.at("affinity"), all.at("affinity"));
  const Json bound = threads("", "taskset -c " + first_processor());
  EXPECT_EQ(bound.at("affinity"), 1);
  EXPECT_EQ(bound.at("used"), 1);
  EXPECT_EQ(bound.at("processors"), all.at("processors"));
  EXPECT_EQ(threads("OMP_PROC_BIND=true"), all)
      << "OpenMP ties the first thread to one processor; the others are there";
}

TEST(JsonOutput, ARunUsesTheThreadsThatItMayUse) {
  const TrainingRuns runs;
  const auto threads_of = [&](const std::string& name, const std::string& before) {
    EXPECT_THAT(run_command("cd " + runs.path().string() + " && " + before + " " + program().string() +
                            " train run.toml --steps 1 --set run.threads=0 --out " + name),
                prints());
    return read_json_object(runs.path(name) / "summary.json").at("threads");
  };
  EXPECT_EQ(threads_of("told", "env OMP_NUM_THREADS=1"), 1);
  EXPECT_EQ(threads_of("bound", "env -u OMP_NUM_THREADS taskset -c " + first_processor()), 1);
}

}  // namespace drift::json_output_test
