#include <core/lab/conformance/settings.h>

#include <core/base/component_host.h>
#include <core/report/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace drift {
namespace {

constexpr double kNear = 1e-3;  // of an end that does not belong to the range

template <class Number>
std::vector<Number> ends_of(const Parameter& parameter) {
  const AllowedValues& range = parameter.allowed;
  std::vector<Number> ends;
  const auto add = [&](double end, bool excluded, double inwards) {
    if (!std::isfinite(end)) return;
    const double step = std::is_integral_v<Number> ? 1 : kNear * std::max(1.0, std::abs(end));
    const double value = excluded ? end + inwards * step : end;
    if (parameter.violation(static_cast<Number>(value)).empty()) ends.push_back(static_cast<Number>(value));
  };
  add(range.minimum, range.minimum_excluded, 1);
  add(range.maximum, range.maximum_excluded, -1);
  if constexpr (std::is_floating_point_v<Number>) {
    if (range.allow_infinite) ends.push_back(std::numeric_limits<double>::infinity());
  }
  return ends;
}

/// Values at the edges of a parameter's range, its default perhaps among them.
std::vector<Parameter::Value> edges(const Parameter& spec) {
  std::vector<Parameter::Value> values;
  const auto add = [&](const auto& ends) {
    for (const auto& end : ends) values.emplace_back(end);
  };
  const auto add_lists = [&](const auto& ends) {
    for (const auto& end : ends) values.emplace_back(std::vector{end});
  };
  const auto& choices = spec.allowed.choices;
  std::visit(
      [&]<class Value>(const Value& value) {
        if constexpr (std::is_same_v<Value, bool>) values.emplace_back(!value);
        if constexpr (std::is_same_v<Value, std::int64_t>) add(ends_of<std::int64_t>(spec));
        if constexpr (std::is_same_v<Value, double>) add(ends_of<double>(spec));
        if constexpr (std::is_same_v<Value, std::string>) add(choices);
        if constexpr (std::is_same_v<Value, std::vector<std::int64_t>>) add_lists(ends_of<std::int64_t>(spec));
        if constexpr (std::is_same_v<Value, std::vector<double>>) add_lists(ends_of<double>(spec));
        if constexpr (std::is_same_v<Value, std::vector<std::string>>) add_lists(choices);
      },
      spec.default_value);
  return values;
}

/// What the kit may lack to make a component, and what gives it; empty: nothing.
std::string missing_for(const ComponentEntry& entry, const ParamValues& values, const ModelConfig* model_config) {
  if (model_config != nullptr)
    return model_config->config_json == "{}" ? "name a config.json: --model-config FILE" : "";
  const bool may_need = entry.kind == ComponentKind::kReward || entry.kind == ComponentKind::kTask ||
                        std::ranges::any_of(entry.params, &Parameter::is_path);
  return may_need && values.empty() ? "give values by --set" : "";
}

}  // namespace

std::vector<Setting> edge_settings(const std::vector<Parameter>& specs, const ParamValues& given) {
  std::vector<Setting> settings = {{"", given}};
  for (const Parameter& spec : specs) {
    // What reproduces an original's defects breaks rules on purpose.
    if (given.contains(spec.name) || spec.name == "quirks") continue;
    for (const Parameter::Value& value : edges(spec)) {
      if (value == spec.default_value) continue;
      ParamValues values = given;
      values.insert_or_assign(spec.name, value);
      settings.push_back({spec.name + " = " + to_toml(value), std::move(values)});
    }
  }
  return settings;
}

std::string for_each_setting(const std::vector<Setting>& settings, const std::function<void(const Setting&)>& body) {
  std::size_t tried = 0;
  for (const Setting& setting : settings) {
    const std::string with = setting.text.empty() ? "" : "with " + setting.text + ": ";
    try {
      body(setting);
      ++tried;
    } catch (const RuleNotChecked&) {
      throw;
    } catch (const RuleNote& note) {
      throw RuleNote(with + note.what(), note.hint());
    } catch (const Refused& refusal) {
      if (setting.text.empty()) throw;
    } catch (...) {
      const Error error = describe_exception();
      throw Error(with + error.what(), error.hint());
    }
  }
  return count_of(tried, "setting");
}

std::string or_not_checked(const ComponentEntry& entry, const std::function<std::string()>& body,
                           const ModelConfig* model_config) {
  try {
    return body();
  } catch (const Refused& refusal) {
    const std::string what = refusal.what(), missing = missing_for(entry, {}, model_config);
    if (missing.empty() || what.starts_with("constructor: the component reads parameter")) throw;
    throw RuleNotChecked(what, (refusal.hint().empty() ? "" : refusal.hint() + "; ") + missing);
  }
}

std::unique_ptr<Component> construct(RunHost& host, const ComponentEntry& entry, const ParamValues& values,
                                     const ModelConfig* model_config) {
  const Callee maker = callee(entry);
  try {
    const PluginCall call(maker, "constructor");
    return host.make(entry, Parameters(entry.params, values), model_config);
  } catch (const Error& refusal) {
    throw Refused(std::string("constructor: ") + refusal.what(), refusal.hint());
  } catch (...) {
    const Error error = describe_exception();
    const std::string missing = missing_for(entry, values, model_config);
    throw PluginError(maker.text + ", constructor: " + error.what(), missing.empty() ? error.hint() : missing);
  }
}

}  // namespace drift
