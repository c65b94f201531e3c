#include <core/import/import_run.h>

#include <core/base/quote.h>
#include <core/config/nearest.h>

#include <drift/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

namespace drift {
namespace {

constexpr const char* kDevices = "devices";
constexpr const char* kLauncher = "launcher.";

/// A scalar as YAML and command lines have it: a truth, a number, else a text.
ParamValue param_of(const std::string& text) {
  for (const char* truth : {"true", "True", "TRUE"}) {
    if (text == truth) return true;
  }
  for (const char* truth : {"false", "False", "FALSE"}) {
    if (text == truth) return false;
  }
  const char* const end = text.data() + text.size();
  std::int64_t integer = 0;
  if (const auto [last, error] = std::from_chars(text.data(), end, integer); error == std::errc() && last == end)
    return integer;
  if (text == "inf" || text == ".inf") return std::numeric_limits<double>::infinity();
  double number = 0;
  const bool numeric = text.find_first_not_of("+-.0123456789eE") == std::string::npos;
  if (const auto [last, error] = std::from_chars(text.data(), end, number);
      numeric && error == std::errc() && last == end)
    return number;
  return text;
}

std::optional<double> number_of(const ParamValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

/// As `values` of a rule names it: truths in small letters.
std::string plain_text(const std::string& text) {
  const ParamValue value = param_of(text);
  return std::holds_alternative<bool>(value) ? to_toml(value) : text;
}

/// None of the patterns that begin with "!" fits, and one of the others, if there are any.
bool holds(const std::string& text, const std::vector<std::string>& patterns) {
  bool wanted = true, fitted = false;
  for (const std::string& pattern : patterns) {
    if (pattern.starts_with('!')) {
      if (fits(text, std::string_view(pattern).substr(1))) return false;
      continue;
    }
    wanted = false;
    fitted = fitted || fits(text, pattern);
  }
  return wanted || fitted;
}

class Import {
 public:
  Import(const ImportTable& table, const ForeignSettings& settings, std::optional<std::int64_t> devices)
      : table_(table), settings_(settings) {
    for (const ImportRule& rule : table.rules) {
      if (!rule.define.empty() && applies(rule)) define(rule);
    }
    if (devices) set_named(kDevices, {{std::to_string(*devices)}, false, "--devices"});
  }

  ImportedRun run() {
    run_.remarks = settings_.remarks;
    for (const ImportRule& rule : table_.rules) {
      if (rule.define.empty() && applies(rule)) take(rule);
    }
    for (const auto& [key, value] : settings_.values) account_for(key, value);
    if (!is_given("task.name", "configs/tasks/"))
      run_.needed.push_back("a task: [task] name, or a file of configs/tasks under extends");
    if (!is_given("model.path", "configs/models/")) run_.needed.push_back("a model: [model] path");
    return std::move(run_);
  }

 private:
  /// By a value, or by a file that the run extends.
  bool is_given(const std::string& key, const std::string& folder) const {
    return std::ranges::any_of(run_.values, [&](const ImportedValue& value) {
      return value.key == key || (value.key == "extends" && to_toml(value.value).find(folder) != std::string::npos);
    });
  }

  static std::string said(const ForeignValue& value) { return value.origin + " = " + value.text(); }

  void set_named(const std::string& name, ForeignValue value) {
    std::erase_if(named_, [&](const auto& one) { return one.first == name; });
    named_.emplace_back(name, std::move(value));
  }

  /// A value of the files, or "key.0" the first of a list, or a name that a rule defines, or their program's default.
  std::optional<ForeignValue> find(const std::string& key) const {
    for (const auto& [name, value] : named_) {
      if (name == key) return value;
    }
    if (const ForeignValue* value = settings_.find(key); value != nullptr && !value->is_null()) return *value;
    if (const std::size_t point = key.rfind('.'); point != std::string::npos) {
      const ForeignValue* list = settings_.find(std::string_view(key).substr(0, point));
      const ParamValue index = param_of(key.substr(point + 1));
      const auto* at = std::get_if<std::int64_t>(&index);
      if (list != nullptr && at != nullptr && *at >= 0 && *at < static_cast<std::int64_t>(list->texts.size()))
        return ForeignValue{{list->texts[static_cast<std::size_t>(*at)]}, false, list->origin};
    }
    const auto found = table_.defaults.find(key);
    if (found == table_.defaults.end()) return std::nullopt;
    return ForeignValue{
        {found->second}, false, "not in the file: " + key + " is " + found->second + " in " + table_.title};
  }

  bool applies(const ImportRule& rule) const {
    if (!rule.from.empty() && !find(rule.from)) return false;
    return std::ranges::all_of(rule.when, [&](const auto& condition) {
      const auto value = find(condition.first);
      const std::string text = value ? plain_text(value->text()) : "";
      return holds(text, condition.second);
    });
  }

  void define(const ImportRule& rule) {
    const ForeignValue value = *find(rule.from);
    const auto listed = rule.values.find(plain_text(value.text()));
    done_.insert(rule.from);
    if (listed != rule.values.end()) {
      set_named(rule.define, {{to_toml(listed->second.front().second)}, false, value.origin});
    } else if (number_of(param_of(value.text()))) {
      set_named(rule.define, value);
    } else {
      leave_out(rule.from, value,
                "no number that is known here" + std::string(rule.define == kDevices ? ": --devices N says it" : ""));
    }
  }

  static std::string otherwise(const ImportRule& rule) {
    return rule.otherwise.empty() ? "there is no such choice here" : rule.otherwise;
  }

  void take(const ImportRule& rule) {
    if (rule.from.empty()) return give(rule.values.at("*"), "every file of " + table_.title, rule.why);
    const ForeignValue value = *find(rule.from);
    if (!rule.has_counterpart()) {
      if (settings_.find(rule.from) != nullptr) leave_out(rule.from, value, rule.why);
      return;
    }
    for (const std::string& text : {plain_text(value.text()), std::string("*")}) {
      const auto listed = rule.values.find(text);
      if (listed == rule.values.end() || (text == "*" && rule.open)) continue;
      done_.insert(rule.from);
      return give(listed->second, value.origin, rule.why);
    }
    if (!rule.values.empty() && !rule.open && !value.is_list) return leave_out(rule.from, value, otherwise(rule));
    done_.insert(rule.from);
    copy(rule, value);
  }

  /// The value as it is, calculated, or as a part of a text. Of a list the first, where ours is none.
  void copy(const ImportRule& rule, const ForeignValue& value) {
    std::string remark = rule.why, origin = value.origin;
    if (value.texts.size() > 1 && !rule.list) remark += (remark.empty() ? "" : "; ") + ("the first of " + value.text());
    if (value.is_list && !rule.values.empty()) {
      const auto listed = rule.values.find(value.texts.front());
      if (listed == rule.values.end()) return leave_out(rule.from, value, otherwise(rule));
      return give(listed->second, origin, remark);
    }
    ParamValue result = param_of(value.texts.front());
    if (rule.list || !rule.pattern.empty()) {
      std::vector<std::string> texts;
      for (const std::string& text : value.texts)
        texts.push_back(rule.pattern.empty() ? text : replaced(rule.pattern, "{}", text));
      result = rule.list ? ParamValue(texts) : ParamValue(texts.front());
    }
    if (!rule.times.empty() || !rule.over.empty()) {
      const auto calculated = calculate(rule, value, origin);
      if (!calculated) return;
      result = *calculated;
    }
    for (const std::string& key : rule.to) give({{key, result}}, origin, remark);
  }

  /// A product, which must be whole.
  std::optional<ParamValue> calculate(const ImportRule& rule, const ForeignValue& value, std::string& origin) {
    std::string formula = value.text();
    auto result = number_of(param_of(value.text()));
    const auto by = [&](const std::string& key, const char* sign) {
      const auto factor = find(key);
      const auto number = factor ? number_of(param_of(factor->text())) : std::nullopt;
      formula += sign + (factor ? factor->text() : "?");
      done_.insert(key);
      if (!number || *number == 0) result.reset();
      if (result) result = *sign == ' ' && sign[1] == 'x' ? *result * *number : *result / *number;
      origin += sign + key;
    };
    for (const std::string& key : rule.times) by(key, " x ");
    for (const std::string& key : rule.over) by(key, " / ");
    if (result && *result == std::floor(*result) && std::abs(*result) < 1e15) {
      origin += ": " + formula;
      return static_cast<std::int64_t>(*result);
    }
    leave_out(rule.from, value, formula + " is no whole number: set " + joined(rule.to, " and ") + " yourself");
    return std::nullopt;
  }

  void give(const ImportedValues& values, const std::string& origin, const std::string& remark) {
    for (const auto& [key, value] : values) {
      if (const auto* files = std::get_if<std::vector<std::string>>(&value); key == "extends" && files != nullptr) {
        for (const std::string& file : *files) run_.values.push_back({key, file, origin, remark});
        continue;
      }
      const auto same = std::ranges::find(run_.values, key, &ImportedValue::key);
      if (same != run_.values.end())
        throw Error(table_.file.string() + ": two rules set `" + key + "`: " + same->origin + "; " + origin);
      run_.values.push_back({key, value, origin, remark});
    }
  }

  void leave_out(const std::string& key, const ForeignValue& value, const std::string& why) {
    done_.insert(key);
    if (const ForeignValue* own = settings_.find(key); own != nullptr && !own->is_null())
      run_.left_out.push_back({said(value), why});
  }

  /// Nothing of theirs is passed over in silence.
  void account_for(const std::string& key, const ForeignValue& value) {
    const auto is_part = [&](const std::string& used) { return used == key || used.starts_with(key + "."); };
    if (std::ranges::any_of(done_, is_part)) return;
    for (const ImportRule& rule : table_.rules) {
      if (rule.from.find('*') != std::string::npos && fits(key, rule.from)) {
        if (!value.is_null()) run_.left_out.push_back({said(value), rule.why});
        return;
      }
    }
    if (table_.knows(key)) {
      if (!value.is_null()) run_.left_out.push_back({said(value), "has no effect beside the other values"});
    } else if (key.starts_with(kLauncher)) {
      run_.left_out.push_back({said(value), "the launcher's: mpirun or srun start Drift (docs/distributed.md)"});
    } else {
      run_.unknown.push_back({said(value), ""});
    }
  }

  const ImportTable& table_;
  const ForeignSettings& settings_;
  std::vector<std::pair<std::string, ForeignValue>> named_;
  std::set<std::string> done_;
  ImportedRun run_;
};

}  // namespace

ImportedRun import_run(const ImportTable& table, const ForeignSettings& settings, std::optional<std::int64_t> devices) {
  return Import(table, settings, devices).run();
}

}  // namespace drift
