#include <core/base/device.h>
#include <core/base/log.h>
#include <core/boundary/checked.h>
#include <core/boundary/components.h>
#include <core/boundary/method_name.h>
#include <core/boundary/model_policy.h>
#include <core/cli/data_source.h>
#include <core/cli/fidelity_report.h>
#include <core/cli/load_run.h>
#include <core/cli/machine_settings.h>
#include <core/cli/printing.h>
#include <core/io/atomic.h>
#include <core/lab/fidelity/reference_study.h>
#include <core/lab/fidelity/study.h>
#include <core/report/json_table.h>
#include <core/rollout/judge.h>
#include <core/rollout/together.h>
#include <core/train/advantage.h>
#include <core/train/scored_responses.h>
#include <core/train/training_task.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

namespace drift {
namespace {

struct FidelityOptions {
  ConfigOptions config;
  std::vector<std::string> algorithms;
  std::vector<std::string> decoders = {"random", "confidence", "threshold=0.9"};
  std::vector<std::int64_t> views;  ///< empty: kViews
  std::int64_t draws = 200;
  std::string item;
  std::int64_t reference_views = 0;
  std::string reference;
  std::filesystem::path csv;
  bool json = false;
};

constexpr const char* kEvery = "all";
const std::vector<std::int64_t> kViews = {1, 2, 4};

/// A masking strategy and a loss, with the settings that the algorithm's preset and the file give them.
struct Method {
  std::string name;
  RunConfig config;
  Loaded<MaskingStrategy> masking;
  Loaded<LossEstimator> loss;

  GradientEstimator estimator(const Model& model) const {
    const auto train = config.get<TrainSettings>();
    return {model, *masking, *loss, {train.group_size, train.memory_budget}};
  }
  at::Tensor advantages_of(const at::Tensor& reward_B) const {
    return advantages(reward_B, config.get<TrainSettings>().group_size, config.get<AdvantageSettings>());
  }
};

/// What all methods share.
struct Bench {
  mutable Ranks alone;
  LoadedRun run;
  ModelShapes shapes;
  RunPrompts prompts;
  TrainingTask task;
  Judge judge;
  Loaded<Rollout> rollout;
  Loaded<Model> model;

  explicit Bench(LoadedRun loaded)
      : run(std::move(loaded)),
        shapes(run.host(), run.config, WhichAdapters::kAll),
        prompts(run, shapes.traits()),
        task(open_training_task(run.host(), run.config, prompts.encoder)),
        judge(run.host(), run.config),
        rollout(create_component<Rollout>(run.host(), run.config, "rollout")),
        model(open_initial_model(alone, shapes)) {}

  const Registry& registry() const { return run.registry(); }
  RandomStream random() const { return RandomStream(run.seed(), "fidelity"); }

  /// As training has them: `item` of each response, whose text it is.
  at::Tensor rewards(const Trajectories& responses, const std::vector<TaskItem>& items) const {
    const std::int64_t each = responses.tokens_BL.size(0) / std::ssize(items);
    const auto scored = score_responses(alone, items, responses, each, judge, prompts.encoder, model->traits(),
                                        run.config.get<RewardSettings>());
    for (const Judgement& judgement : scored.judgements) {
      if (judgement.status == RewardStatus::kInfrastructure)
        throw Error("a response could not be judged: " + judgement.reason);
    }
    return scored.reward_B;
  }
};

Method method_of(const Bench& bench, RunConfig config) {
  Method method{method_name(bench.registry(), config), std::move(config), {}, {}};
  method.masking = create_component<MaskingStrategy>(bench.run.host(), method.config, "algorithm.masking");
  method.loss = create_component<LossEstimator>(bench.run.host(), method.config, "algorithm.loss");
  const auto device = run_device(method.config.get<RunSettings>().device_name());
  settle_memory_budget(bench.alone, bench.run.host(), method.config, *bench.shapes.model(), device);
  const ResolvedValue* part = method.config.find("algorithm.loss.micro_batch");
  if (part != nullptr && part->origin.kind == Origin::Kind::kDerived)
    log_warning(method.name + ": micro_batch = " + to_toml(part->value) + ": " + part->origin.text());
  return method;
}

/// A parameter of a masking strategy or a loss, as --set names it. Several algorithms share one command line.
bool is_of_method(const ConfigOverride& setting) {
  return (setting.key.starts_with("algorithm.masking.") || setting.key.starts_with("algorithm.loss.")) &&
         name_of(setting.key) != "name";
}

Method algorithm_of(const Bench& bench, const FidelityOptions& options, const std::string& algorithm) {
  ConfigOptions config = options.config;
  for (ConfigOverride& setting : config.overrides) setting.optional = is_of_method(setting);
  config.overrides.push_back({"--algorithms " + algorithm, "algorithm.name", to_toml(Parameter::Value(algorithm))});
  return method_of(
      bench, resolve_config(load_document(config.file, config.overrides), bench.registry(), ConfigPurpose::kTrain));
}

std::vector<Method> methods_of(const Bench& bench, const FidelityOptions& options) {
  std::vector<std::string> names = options.algorithms;
  if (names == std::vector<std::string>{kEvery}) {
    names.clear();
    for (const Algorithm& algorithm : bench.registry().algorithms()) names.push_back(algorithm.name);
  }
  std::vector<Method> methods;
  if (names.empty()) methods.push_back(method_of(bench, bench.run.config));
  for (const std::string& name : names) methods.push_back(algorithm_of(bench, options, name));
  for (const ConfigOverride& setting : options.config.overrides) {
    const auto takes = [&](const Method& method) { return method.config.find(setting.key) != nullptr; };
    if (is_of_method(setting) && std::ranges::none_of(methods, takes))
      throw UsageError(setting.flag + ": none of these algorithms has such a parameter: " + joined(names),
                       "drift plugin info " + names.front());
  }
  return methods;
}

TaskItem chosen_item(const Bench& bench, const std::string& id) {
  if (!id.empty()) return item_with_id(bench.task.task, bench.run.seed(), id).item;
  return checked_training_item(*bench.task.task, 0, bench.random().child("task"));
}

/// Every response of the space, to judge.
Trajectories every_response(const ResponseSpace& space) {
  Trajectories all;
  all.tokens_BL = space.tokens_NL(0);
  all.valid_BL = all.tokens_BL != space.traits().pad_id;
  all.prompts.tokens_BP = at::tensor(space.prompt(), at::kLong).expand({space.responses(), -1});
  return all;
}

template <class Line>
void write_fidelity(const FidelityOptions& options, const std::vector<Line>& lines, Json json) {
  if (!options.csv.empty()) write_file_atomically(options.csv, to_csv(full_table(lines)));
  if (options.json) {
    json["rows"] = to_json(full_table(lines));
    std::cout << json_text(json, 1) << "\n";
  } else {
    std::cout << to_text(shown_table(lines)) << "\n";
    if (const std::string note = table_note(lines); !note.empty()) std::cout << note << "\n";
  }
}

int compare_with_exact(const FidelityOptions& options, const Bench& bench, const std::vector<Method>& methods) {
  const TaskItem item = chosen_item(bench, options.item);
  const ResponseSpace space(bench.model->traits(), bench.prompts.encoder.ids(item),
                            checked_response_length(*bench.rollout));
  const at::Tensor reward = bench.rewards(every_response(space), {item});
  const StateScores scores = score_states(*bench.model, space);
  if (!options.json) {
    std::cout << "item " << quoted_name(item.id) << ": " << format_integer(space.responses()) << " responses, "
              << format_integer(space.states()) << " states; " << options.draws << " draws of one group\n";
  }
  Json json{{"item", item.id}, {"states", space.states()}, {"responses", space.responses()}};
  std::vector<ExactLine> lines;
  for (const std::string& name : options.decoders) {
    const Decoder decoder = Decoder::named(name);
    const auto exact = exact_gradient(*bench.model, space, decoder, scores, reward);
    const double norm = exact.gradient_P.norm().item<double>();
    json["exact"].push_back(
        {{"decoder", decoder.name()}, {"expected_reward", exact.expected_reward}, {"gradient_norm", norm}});
    if (!options.json) {
      std::cout << "  decoder " << decoder.name() << ": expected reward " << format_adaptive(exact.expected_reward)
                << ", norm of its gradient " << format_adaptive(norm) << "\n"
                << std::flush;
    }
    if (norm == 0)
      throw Error(
          "the expected reward of item `" + item.id + "` has no gradient: every response has the same",
          "choose another with --item, or another [reward]; reward.truncation_is_wrong = true, which presets may "
          "set, makes every response wrong that fills its length");
    const TableDecoder writer(space, decoder, scores);
    for (const Method& method : methods) {
      const GradientEstimator estimator = method.estimator(*bench.model);
      const StudySubject subject{
          &space, &writer,          &estimator,
          reward, exact.gradient_P, [&](const at::Tensor& reward_B) { return method.advantages_of(reward_B); }};
      const StudySettings settings{options.draws, std::min<std::int64_t>(20, options.draws / 2),
                                   method.config.get<TrainSettings>().group_size, options.views};
      for (const StudyRow& row : study_estimator(subject, settings, bench.random()))
        lines.push_back({method.name, decoder.name(), row});
    }
  }
  if (!options.json) std::cout << "\n";
  write_fidelity(options, lines, std::move(json));
  return 0;
}

/// Responses as training step `step` writes them, and their rewards.
struct Rollouts {
  Trajectories responses;
  at::Tensor reward_B;
};

Rollouts roll_out(const Bench& bench, std::int64_t step) {
  const auto train = bench.run.config.get<TrainSettings>();
  const auto prompts = train.prompts_per_step;
  const RandomStream random = bench.random();
  const std::vector<TaskItem> items = draw_items(*bench.task.task, step * prompts, prompts, random.child("task"));
  const ModelPolicy policy(*bench.model);
  RolloutInput input;
  input.policy = &policy;
  input.random = random.child("rollout");
  input.step = step;
  Rollouts made;
  const at::NoGradGuard no_gradient;
  input.prompts = bench.prompts.encoder.encode(items, train.group_size, checked_response_length(*bench.rollout));
  generate_together(bench.alone, *bench.rollout, *bench.model, input, made.responses);
  made.reward_B = bench.rewards(made.responses, items);
  return made;
}

/// For each number of views, of the responses of step `step`.
std::vector<at::Tensor> mean_gradients(const Bench& bench, const Method& method, const Rollouts& rollout,
                                       const RandomStream& random, std::int64_t step,
                                       const std::vector<std::int64_t>& views) {
  const at::Tensor advantage_B = method.advantages_of(rollout.reward_B);
  std::vector<at::Tensor> gradients;
  for (const GradientEstimate& mean :
       method.estimator(*bench.model).means(rollout.responses, advantage_B, random, step, views))
    gradients.push_back(mean.gradient_P);
  return gradients;
}

int compare_with_reference(const FidelityOptions& options, const Bench& bench, const std::vector<Method>& methods) {
  std::optional<Method> reference;
  if (!options.reference.empty()) reference = algorithm_of(bench, options, options.reference);
  std::vector<ReferenceStudy> studies(methods.size(), ReferenceStudy(*bench.model, options.views));
  std::int64_t without_signal = 0;
  for (std::int64_t step = 0; step < options.draws; ++step) {
    const Rollouts rollout = roll_out(bench, step);
    if (rollout.reward_B.max().item<double>() == rollout.reward_B.min().item<double>()) {
      ++without_signal;
      continue;
    }
    for (std::size_t m = 0; m < methods.size(); ++m) {
      const auto target = mean_gradients(bench, reference ? *reference : methods[m], rollout,
                                         bench.random().child("reference"), step, {options.reference_views});
      studies[m].add(target.front(),
                     mean_gradients(bench, methods[m], rollout, bench.random().child("masking"), step, options.views));
    }
  }
  std::vector<ReferenceLine> lines;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    for (const ReferenceRow& row : studies[m].rows()) lines.push_back({methods[m].name, row});
  }
  const std::string of = reference ? reference->name : "the same method";
  if (!options.json) {
    std::cout << "reference: " << options.reference_views << " views of " << of << "; " << options.draws << " rollouts";
    if (without_signal > 0) std::cout << ", " << without_signal << " of them with equal rewards: left out";
    std::cout << "\n\n";
  }
  write_fidelity(options, lines,
                 Json{{"reference", of},
                      {"reference_views", options.reference_views},
                      {"rollouts", options.draws},
                      {"equal_rewards", without_signal}});
  return 0;
}

void check_fidelity_options(FidelityOptions& options) {
  if (options.views.empty()) options.views = kViews;
  std::ranges::sort(options.views);
  if (options.views.front() < 1) throw UsageError("--views expects numbers from 1", "for example --views 1,2,4,8");
  if (options.reference_views == 0 && !options.reference.empty())
    throw UsageError("--reference goes with --reference-views", "for example --reference-views 64");
  if (options.reference_views == 0 && options.draws < 4)
    throw UsageError("--draws: an error needs at least 4 draws", "a few hundred give errors of a few per cent");
  for (const std::string& name : options.decoders) Decoder::named(name);
}

int measure_fidelity(const FidelityOptions& given) {
  FidelityOptions options = given;
  check_fidelity_options(options);
  ConfigOptions shared = options.config;
  if (!options.algorithms.empty())  // the file's own is not measured, and settings for them need not fit it
    std::erase_if(shared.overrides, [](const auto& setting) { return setting.key.starts_with("algorithm."); });
  LoadedRun run = load_run(shared, ConfigPurpose::kTrain);
  check_trainable(run.config);
  prepare_device(run.config);
  const Bench bench(std::move(run));
  const auto methods = methods_of(bench, options);
  return options.reference_views > 0 ? compare_with_reference(options, bench, methods)
                                     : compare_with_exact(options, bench, methods);
}

}  // namespace

Command fidelity_command() {
  return make_command<FidelityOptions>(
      {"fidelity", "compare an algorithm's gradient with the exact policy gradient",
       "On a model that is small enough to enumerate, the probability of every response and the gradient of the\n"
       "expected reward are computed exactly. Prints for the masking strategy and loss of the file, or of several\n"
       "algorithms, bias, cosine, norm, variance and signal-to-noise ratio of their gradients (docs/paper.md).\n"
       "With --reference-views, on any model: the cosine with a reference of many views on the same responses, for\n"
       "each block.",
       "fidelity configs/fidelity.toml --algorithms all --views 1,4 --draws 100 --csv fidelity.csv"},
      measure_fidelity, [](OptionList& list, FidelityOptions& options) {
        list.argument("CONFIG.toml", options.config.file);
        list.add("algorithms", "LIST", "instead of the file's: names of algorithms, or `all`", options.algorithms)
            .candidates = "algorithm.name";
        list.add("decoders", "LIST",
                 "that write the responses: random, confidence, margin, entropy, threshold=X; default: "
                 "random,confidence,threshold=0.9",
                 options.decoders)
            .candidates = "random|confidence|margin|entropy|threshold=";
        list.add("views", "LIST", "how many independent plans of the strategy are averaged; default: 1,2,4",
                 options.views);
        list.add("draws", "N", "groups of responses; with --reference-views: rollouts", options.draws);
        list.add("item", "ID", "the prompt; default: the first training item", options.item);
        list.add("reference-views", "N", "compare with the mean of so many plans instead of the exact gradient",
                 options.reference_views);
        list.add("reference", "NAME", "with --reference-views: the algorithm of the reference; default: the same",
                 options.reference)
            .candidates = "algorithm.name";
        list.add("csv", "FILE", "write all numbers with their standard errors", options.csv);
        list.add_switch("json", "print JSON instead of text", options.json);
        add_settings(list, options.config, {"algorithm", "model", "adapter", "task", "seed", "dtype", "device"});
      });
}

}  // namespace drift
