#include <core/boundary/guarded.h>
#include <core/cli/load_run.h>
#include <core/components/components.h>
#include <core/config/nearest.h>
#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/text_table.h>
#include <core/update/loss_case.h>

#include <nlohmann/json.hpp>

#include <iostream>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

const ComponentEntry& find_loss(const Registry& registry, const std::string& name) {
  if (const ComponentEntry* entry = registry.find(ComponentKind::kLossEstimator, name)) return *entry;
  std::vector<std::string> names;
  for (const ComponentEntry& entry : registry.components()) {
    if (entry.kind == ComponentKind::kLossEstimator) names.push_back(entry.name);
  }
  const std::string nearest = nearest_name(name, names);
  throw Error("no plugin brings a loss `" + name + "`",
              (nearest.empty() ? "" : "did you mean `" + nearest + "`?\n  = ") + "losses: " + joined(names));
}

std::vector<LossCase> chosen_cases(const CommandLine& line, const ComponentEntry& entry) {
  auto cases = read_loss_cases(line.in, entry);
  if (line.variant.empty()) return cases;
  std::vector<std::string> names;
  for (LossCase& one : cases) {
    if (one.variant == line.variant) return {std::move(one)};
    if (!one.variant.empty()) names.push_back(one.variant);
  }
  const std::string nearest = nearest_name(line.variant, names);
  throw Error("`" + line.in.string() + "` has no variant `" + line.variant + "`",
              (nearest.empty() ? "" : "did you mean `" + nearest + "`?\n  = ") + "variants: " + joined(names));
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
    row.push_back("response " + std::to_string(plan.sample_F.const_data_ptr<std::int64_t>()[v]) + ", forward " +
                  std::to_string(plan.forward_F.const_data_ptr<std::int64_t>()[v]) + ":");
    for (std::int64_t i = 0; i < length; ++i) {
      const bool scored = plan.target_FL.const_data_ptr<bool>()[v * length + i];
      row.push_back(scored ? number(gradient_FL.const_data_ptr<double>()[v * length + i]) : ".");
    }
  }
  std::cout << (of.variant.empty() ? "case" : "variant `" + of.variant + "`") << "\n"
            << to_text(values, /*unicode=*/true, "  ") << "  d loss / d log-probability, positions 0 to " << length - 1
            << "\n"
            << to_text(gradient, /*unicode=*/true, "    ");
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

}  // namespace

int run_loss(const CommandLine& line) {
  const auto plugins = load_plugins(plugin_paths(load_document(line.config, line.overrides)));
  const ComponentEntry& entry = find_loss(plugins->registry, line.name);
  bool as_expected = true;
  for (const LossCase& one : chosen_cases(line, entry)) {
    const auto loss = make_guarded<LossEstimator>(entry, Params(entry.params, one.parameters));
    const auto result = evaluate_case(*loss, one.input);
    const auto wrong = differences(result, one.expected);
    as_expected = as_expected && wrong.empty();
    if (line.json) {
      std::cout << json_text(json_of(one, result, wrong)) << "\n";
      continue;
    }
    print_result(one, result);
    for (const std::string& difference : wrong) std::cout << "  not as expected: " << difference << "\n";
    if (!one.loss.empty() && one.loss != entry.name) {
      std::cout << "  written for loss `" << one.loss << "`: its parameters and expectations are left out\n";
    }
    std::cout << std::flush;
  }
  return as_expected ? 0 : 1;
}

}  // namespace drift
