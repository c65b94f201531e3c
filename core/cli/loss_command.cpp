#include <core/boundary/components.h>
#include <core/boundary/made.h>
#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/config/merge.h>
#include <core/lab/loss_case.h>
#include <core/lab/loss_slope.h>

namespace drift {
namespace {

struct LossOptions {
  std::string name;
  std::filesystem::path file;
  std::string variant;
  bool json = false;
  bool finite_differences = false;
  ConfigOptions config;
};

std::vector<LossCase> chosen_cases(const LossOptions& options, const ComponentEntry& entry) {
  auto cases = read_loss_cases(options.file, entry);
  if (options.variant.empty()) return cases;
  std::vector<std::string> names;
  for (const LossCase& one : cases) names.push_back(one.variant);
  require_known("`" + options.file.string() + "` has no variant", options.variant, names, "variants");
  std::erase_if(cases, [&](const LossCase& one) { return one.variant != options.variant; });
  return cases;
}

std::string number(double value) { return print_text("%.8f", value); }

void print_result(const LossCase& of, const LossCaseResult& result) {
  TextTable values{.is_number = {false, true, false, true}};
  const auto add = [&](const std::string& name, double value, std::optional<double> expected) {
    values.rows.push_back({name, number(value), expected ? "expected" : "", expected ? number(*expected) : ""});
  };
  add("loss", result.loss, of.expected.loss);
  for (const auto& [name, value] : result.metrics) {
    const auto expected = of.expected.metrics.find(name);
    add(name, value, expected == of.expected.metrics.end() ? std::nullopt : std::optional(expected->second));
  }

  const auto gradient_FL = result.gradient_FL.contiguous();
  const std::int64_t views = gradient_FL.size(0), length = gradient_FL.size(1);
  const MaskPlan& plan = of.input.plan;
  TextTable gradient;
  gradient.is_number.assign(static_cast<std::size_t>(length) + 1, true);
  for (std::int64_t v = 0; v < views; ++v) {
    auto& row = gradient.rows.emplace_back();
    row.push_back("response " + std::to_string(plan.response_F.const_data_ptr<std::int64_t>()[v]) + ", forward " +
                  std::to_string(plan.term_F.const_data_ptr<std::int64_t>()[v]) + ":");
    for (std::int64_t i = 0; i < length; ++i) {
      const bool scored = plan.target_FL.const_data_ptr<bool>()[v * length + i];
      row.push_back(scored ? number(gradient_FL.const_data_ptr<double>()[v * length + i]) : ".");
    }
  }
  std::cout << (of.variant.empty() ? "case" : "variant " + quoted_name(of.variant)) << "\n"
            << to_text(values, /*unicode=*/true, "  ") << "  d loss / d log-probability, positions 0 to " << length - 1
            << "\n"
            << to_text(gradient, /*unicode=*/true, "    ");
}

/// "the gradient by the current log-probability of view 0, position 3 is 0.5, but its finite difference is 0.25"
std::string text_of(const SlopeDifference& difference) {
  return "the gradient by the " + std::string(difference.by) + " value of view " + std::to_string(difference.view) +
         ", position " + std::to_string(difference.position) + " is " + number(difference.gradient) +
         ", but its finite difference is " + number(difference.slope);
}

void print_slopes(const SlopeComparison& slopes) {
  std::cout << "  finite differences: " << slopes.compared << " of the gradient's values compared";
  if (slopes.kinks > 0) std::cout << "; " << slopes.kinks << " at a kink, where there is no one slope";
  std::cout << "\n";
  for (const SlopeDifference& difference : slopes.differences) std::cout << "  " << text_of(difference) << "\n";
  if (!slopes.differences.empty() && slopes.detached > 0)
    std::cout << "  the loss calls detach() on what depends on these: its gradient may be meant to differ\n";
}

Json json_of(const SlopeComparison& slopes) {
  Json json = {{"compared", slopes.compared}, {"kinks", slopes.kinks}, {"differences", Json::array()}};
  for (const SlopeDifference& difference : slopes.differences) json["differences"].push_back(text_of(difference));
  return json;
}

Json json_of(const LossCase& of, const LossCaseResult& result, const std::vector<std::string>& wrong) {
  Json json;
  if (!of.variant.empty()) json["variant"] = of.variant;
  json["loss"] = result.loss;
  json["metrics"] = Json::object();
  for (const auto& [name, value] : result.metrics) json["metrics"][name] = value;
  const auto gradient_FL = result.gradient_FL.contiguous();
  json["gradient"] = Json::array();
  for (std::int64_t v = 0; v < gradient_FL.size(0); ++v) {
    const double* row = gradient_FL.const_data_ptr<double>() + v * gradient_FL.size(1);
    json["gradient"].push_back(std::vector<double>(row, row + gradient_FL.size(1)));
  }
  json["differences"] = wrong;
  return json;
}

constexpr const char* kMissing = "which the loss needs of each view with these parameters, and the case lacks";

int evaluate(const LossOptions& options) {
  const auto document = load_document(options.config.file, options.config.overrides);
  const auto plugins = load_plugins(plugin_paths(document));
  const ComponentEntry entry =
      declared_entry(known_component(plugins->registry, ComponentKind::kLossEstimator, options.name, "losses"),
                     merge_layers(document, plugins->registry));
  RunHost host(plugins->registry);
  bool as_expected = true;
  for (const LossCase& one : chosen_cases(options, entry)) {
    const auto loss = make_from_plugin<LossEstimator>(host, entry, Parameters(entry.params, one.parameters));
    const auto missing = missing_fields(*loss, one.input);  // some losses do without what they ask for
    const auto result = evaluate_case(*loss, one.input);
    const auto wrong = differences(result, one.expected);
    const auto slopes = options.finite_differences ? compare_slopes(*loss, one.input) : SlopeComparison();
    as_expected = as_expected && wrong.empty() && slopes.differences.empty();
    if (options.json) {
      Json json = json_of(one, result, wrong);
      if (!missing.empty()) json["missing"] = missing;
      if (options.finite_differences) json["finite_differences"] = json_of(slopes);
      std::cout << json_text(json) << "\n";
      continue;
    }
    print_result(one, result);
    if (!missing.empty())
      std::cout << "  evaluated without `" << printable(joined(missing, "`, `")) << "`, " << kMissing << "\n";
    if (options.finite_differences) print_slopes(slopes);
    for (const std::string& difference : wrong) std::cout << "  not as expected: " << printable(difference) << "\n";
    if (!one.loss.empty() && one.loss != entry.name) {
      std::cout << "  written for loss " << quoted_name(one.loss)
                << ": its parameters and expected values do not apply\n";
    }
    std::cout << std::flush;
  }
  return as_expected ? 0 : 1;
}

}  // namespace

Command loss_command() {
  return make_command<LossOptions>(
      {"loss", "evaluate one loss on stored numbers",
       "Reads log-probabilities, masks, advantages and parameters. Prints the loss, its metrics, and its\n"
       "gradient at every scored position. Exit status 1 if the file expects other values, or finite differences\n"
       "are others. The golden values of Drift's own losses are such files.",
       "loss ALGORITHM --case tests/golden/losses/ALGORITHM.json"},
      evaluate, [](OptionList& list, LossOptions& options) {
        list.argument("NAME", options.name).candidates = "algorithm.loss.name";
        list.add("case", "FILE.json", "the numbers, in the format of docs/algorithms.md", options.file).required = true;
        list.add("variant", "NAME", "one variant of the case, instead of all", options.variant);
        list.add_switch("finite-differences", "compare the gradient with finite differences of the loss",
                        options.finite_differences);
        list.add_switch("json", "print JSON instead of text", options.json);
        add_config(list, options.config);
      });
}

}  // namespace drift
