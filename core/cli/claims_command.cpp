#include <core/base/device.h>
#include <core/base/share_folder.h>
#include <core/boundary/method_name.h>
#include <core/cli/data_source.h>
#include <core/cli/machine_settings.h>
#include <core/cli/printing.h>
#include <core/io/atomic.h>
#include <core/lab/claims/claims_page.h>
#include <core/lab/claims/run_quantities.h>
#include <core/lab/claims/token_quantities.h>
#include <core/lab/claims/update_quantities.h>
#include <core/report/progress.h>
#include <core/sweep/sweep_runner.h>
#include <core/train/training_task.h>

#include <algorithm>
#include <map>

namespace drift {
namespace {

struct ClaimsOptions {
  CheckpointOptions checkpoint;
  fs::path file;
  std::vector<std::string> only;
  std::int64_t batches = 8;
  fs::path out;
  bool json = false;
};

/// The run that the claims are about, and a configuration for each setting of each claim.
struct LoadedClaims {
  LoadedRun run;
  ClaimsFile file;
  std::vector<std::vector<RunConfig>> settings;  ///< of each claim
};

/// The claims that ship for the run's algorithm, unless a file is named.
fs::path claims_path(const ClaimsOptions& options, const RunConfig& config) {
  if (!options.file.empty()) return options.file;
  const auto algorithm = config.get<AlgorithmSettings>().name;
  const fs::path shipped = share_folder() / "configs" / "claims" / (algorithm + ".toml");
  if (std::error_code ignored; !fs::is_regular_file(shipped, ignored))
    throw Error("no claims ship for the algorithm `" + algorithm + "`", "name a file of claims: --claims FILE");
  // Short where it lies below the working folder: messages name it.
  const fs::path file = fs::weakly_canonical(shipped), near = fs::proximate(file);
  return *near.begin() == ".." ? file : near;
}

void choose_claims(ClaimsFile& file, const std::vector<std::string>& only) {
  std::vector<std::string> known;
  for (const Claim& claim : file.claims) known.push_back(claim.name);
  for (const std::string& name : only) require_known("there is no claim", name, known, "claims");
  if (!only.empty())
    std::erase_if(file.claims, [&](const Claim& claim) { return std::ranges::count(only, claim.name) == 0; });
}

/// What they are, by their names; of the runs there are kRunNumbers.
const auto& quantities_of(ClaimMeasure measure) {
  return measure == ClaimMeasure::kTokens ? token_quantities() : update_quantities();
}

std::string quantity_doc(ClaimMeasure measure, const std::string& quantity) {
  if (measure == ClaimMeasure::kRuns) return run_quantity_doc(quantity);
  const auto& known = quantities_of(measure);
  const auto found = known.find(quantity);
  if (found != known.end()) return found->second;
  return measure == ClaimMeasure::kUpdates && quantity.starts_with("loss/") ? "a metric of the loss" : "";
}

void check_quantities(const ClaimsFile& file) {
  for (const Claim& claim : file.claims) {
    for (const std::string& quantity : claim.quantities) {
      if (!quantity_doc(claim.measure, quantity).empty()) continue;
      std::vector<std::string> known;
      if (claim.measure == ClaimMeasure::kRuns) {
        for (const RunNumber& number : kRunNumbers) known.emplace_back(number.name);
      } else {
        for (const auto& [name, doc] : quantities_of(claim.measure)) known.push_back(name);
      }
      throw Error(file.file.string() + ": claim `" + claim.name + "`: there is no quantity `" + quantity + "`",
                  name_hint(quantity, known, "quantities"));
    }
  }
}

LoadedClaims load_claims(const ClaimsOptions& options) {
  const ConfigOptions run = options.checkpoint.run("task.name");
  LoadedClaims loaded{load_run(run, ConfigPurpose::kTrain), {}, {}};
  loaded.file = read_claims_file(claims_path(options, loaded.run.config));
  choose_claims(loaded.file, options.only);
  check_quantities(loaded.file);
  for (const Claim& claim : loaded.file.claims) {
    auto& configs = loaded.settings.emplace_back();
    for (const ClaimSetting& setting : claim.settings) {
      std::vector<ConfigOverride> overrides = run.overrides;
      overrides.insert(overrides.end(), setting.set.begin(), setting.set.end());
      configs.push_back(
          resolve_config(load_document(run.file, overrides), loaded.run.registry(), ConfigPurpose::kTrain));
    }
  }
  return loaded;
}

UpdateMeasurement make_measurement(const LoadedClaims& loaded, std::size_t number) {
  const Claim& claim = loaded.file.claims[number];
  std::vector<UpdateSetting> settings;
  for (std::size_t s = 0; s < claim.settings.size(); ++s) {
    const RunConfig& config = loaded.settings[number][s];
    settings.push_back({claim.settings[s].name,
                        create_component<MaskingStrategy>(loaded.run.host(), config, "algorithm.masking"),
                        create_component<LossEstimator>(loaded.run.host(), config, "algorithm.loss")});
  }
  return {claim, std::move(settings), loaded.run.config.get<TrainSettings>().memory_budget};
}

/// What the sweep's folder holds, where there is one.
void measure_runs(ClaimResult& result) {
  const LoadedSweep sweep = load_sweep({result.claim.sweep, {}});
  const SweepFolder folder{default_sweep_folder(sweep.plan)};
  fill_from_runs(result, collect_results(sweep.plan, folder.path / "runs"));
}

struct Totals {
  std::int64_t responses = 0, groups = 0, live_groups = 0;
};

/// Everything that one checkpoint shows, batch by batch.
std::vector<ClaimResult> measure(const LoadedClaims& loaded, const Model& model, const Tokenizer& tokenizer,
                                 const ClaimBatches& batches, std::int64_t count, Totals& totals, Terminal& terminal) {
  std::vector<ClaimResult> results;
  std::map<std::size_t, UpdateMeasurement> updates;
  bool needs_batches = false, needs_entropies = false;
  for (std::size_t number = 0; number < loaded.file.claims.size(); ++number) {
    const Claim& claim = loaded.file.claims[number];
    results.push_back({claim});
    if (claim.measure == ClaimMeasure::kUpdates) updates.emplace(number, make_measurement(loaded, number));
    needs_batches = needs_batches || claim.measure != ClaimMeasure::kRuns;
    needs_entropies = needs_entropies || claim.measure == ClaimMeasure::kTokens ||
                      std::ranges::count(claim.quantities, kEntropyOfUpdates) > 0;
  }
  TokenStatistics tokens;
  if (needs_batches) {
    Progress progress(terminal, "claims", count, "batch");
    for (std::int64_t number = 1; number <= count; ++number) {
      const ClaimBatch batch = batches.draw(number, needs_entropies);
      if (needs_entropies) tokens.add(batch);
      for (auto& [claim, update] : updates) update.add(model, batches, batch);
      totals.responses += batch.made.tokens_BL.size(0);
      totals.groups += batch.groups, totals.live_groups += batch.live_groups;
      progress.update(number);
    }
  }
  for (std::size_t number = 0; number < results.size(); ++number) {
    ClaimResult& result = results[number];
    if (result.claim.measure == ClaimMeasure::kTokens) tokens.fill(result, tokenizer);
    if (result.claim.measure == ClaimMeasure::kUpdates) updates.at(number).fill(result);
    if (result.claim.measure == ClaimMeasure::kRuns) measure_runs(result);
  }
  judge_claims(results);
  return results;
}

std::string claims_text(const ClaimsReport& report, bool unicode) {
  std::string text = to_text(claims_table(report), unicode) + "\n" + sentence_of_verdicts(report.results) + "\n\n";
  for (const ClaimResult& result : report.results) {
    text += result.claim.name + ": " + result.claim.statement + "\n";
    if (!result.reason.empty()) text += "  " + result.reason + "\n";
    for (const std::string& quantity : result.claim.quantities) {
      const TextTable numbers = numbers_table(result, quantity);
      if (result.has(quantity)) text += to_text(numbers, unicode, "  ");
    }
    text += "\n";
  }
  return text;
}

fs::path claims_folder(const ClaimsOptions& options) {
  if (!options.out.empty()) return options.out;
  const fs::path own = (options.checkpoint.folder / ".." / "..").lexically_normal();
  std::error_code ignored;
  if (fs::is_regular_file(own / "config.toml", ignored)) return own / "claims";
  fs::path folder = fs::absolute(options.checkpoint.folder).lexically_normal();
  if (folder.filename().empty()) folder = folder.parent_path();
  return fs::path("runs") / "claims" / folder.filename();
}

int test_claims(const ClaimsOptions& options) {
  LoadedClaims loaded = load_claims(options);
  const RunConfig& config = loaded.run.config;
  RunHost& host = loaded.run.host();
  prepare_device(config);
  const ModelShapes shapes(host, config, WhichAdapters::kAll);
  const RunPrompts prompts(loaded.run, shapes.traits());
  auto task = open_training_task(host, config, prompts.encoder);
  Ranks alone;
  settle_memory_budget(alone, host, loaded.run.config, *shapes.model(),
                       run_device(config.get<RunSettings>().device_name()));
  const auto model = open_initial_model(alone, shapes);
  const ClaimBatches batches(host, config, *model, prompts.encoder, std::move(task.task));

  Totals totals;
  ClaimsReport report;
  report.paper = loaded.file.paper;
  report.checkpoint = options.checkpoint.folder.string();
  Terminal progress(std::cerr, detect_terminal(2));
  report.results = measure(loaded, *model, prompts.tokenizer, batches, options.batches, totals, progress);
  report.facts = {
      {"claims", loaded.file.file.string()},
      {"algorithm", method_name(host.registry(), config)},
      {"task", config.component("task")},
      {"model", config.component("model")},
      {"parameters", std::to_string(parameter_count(*model))},
      {"seed", std::to_string(loaded.run.seed())},
      {"batches", std::to_string(options.batches)},
      {"responses", std::to_string(totals.responses)},
      {"groups with differing rewards", std::to_string(totals.live_groups) + " of " + std::to_string(totals.groups)},
      {"version", DRIFT_VERSION}};
  const fs::path out = claims_folder(options);
  fs::create_directories(out);
  write_file_atomically(out / "claims.html", claims_html(report, quantity_doc));
  write_file_atomically(out / "claims.json", claims_json(report));
  if (options.json) {
    std::cout << claims_json(report);
    return 0;
  }
  const Terminal terminal(std::cout, detect_terminal(1));
  std::cout << printable(claims_text(report, terminal.unicode())) << "page   "
            << printable((out / "claims.html").string()) << "\n"
            << "json   " << printable((out / "claims.json").string()) << "\n";
  return 0;
}

}  // namespace

Command claims_command() {
  return make_command<ClaimsOptions>(
      {"claims", "what a paper claims, measured with a checkpoint",
       "Writes responses as the checkpoint's run would, computes updates of them without changing a weight, and puts\n"
       "what comes out beside what the paper printed: one page with pictures, claims.html, and claims.json. A claim\n"
       "holds if a t-test of its margin over the batches has a p below 0.05 after Holm's correction for all claims\n"
       "that are tested at once. Claims about training need runs: they are read from the folder of the sweep that\n"
       "the claim names (docs/paper.md).",
       "claims runs/quickstart/checkpoints/last --batches 2 --only entropy,clipping"},
      test_claims, [](OptionList& list, ClaimsOptions& options) {
        list.add("claims", "FILE", "the claims; default: those that ship for the run's algorithm", options.file);
        list.add("only", "NAME,NAME", "only these claims", options.only);
        list.add("batches", "N", "training steps whose responses are written and measured", options.batches);
        list.add("out", "FOLDER", "where the page goes; default: into the run's folder, or runs/claims/", options.out);
        list.add_switch("json", "print claims.json; progress goes to standard error", options.json);
        add_checkpoint(list, options.checkpoint, {"algorithm", "adapter", "task", "seed", "dtype", "device"});
      });
}

}  // namespace drift
