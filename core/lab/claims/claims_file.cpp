#include <core/lab/claims/claims_file.h>

#include <core/base/quote.h>
#include <core/config/nearest.h>
#include <core/config/toml_layer.h>
#include <core/io/atomic.h>
#include <core/report/format.h>

#include <drift/error.h>

#include <algorithm>

namespace drift {
namespace {

constexpr std::size_t kLargestClaimsFile = std::size_t{1} << 20;
constexpr const char* kClaimsHint = "docs/paper.md describes the file";

class ClaimsReader {
 public:
  explicit ClaimsReader(const std::filesystem::path& file) : file_(file) {}

  ClaimsFile read() {
    const toml::table root = parse();
    check_keys(root, "the file", {"paper", "claim"});
    ClaimsFile claims{file_, text(root, "paper", true), {}};
    for (const toml::table* table : tables(root, "claim")) {
      claims.claims.push_back(read_claim(*table));
      const Claim& read = claims.claims.back();
      const auto same = [&](const Claim& other) { return other.name == read.name; };
      if (std::ranges::count_if(claims.claims, same) > 1)
        fail(*table, "there are two claims " + quoted_name(read.name));
    }
    if (claims.claims.empty()) fail(root, "there is no [[claim]]");
    return claims;
  }

 private:
  toml::table parse() const {
    try {
      return parse_toml(read_whole_file(file_, kLargestClaimsFile), file_.string());
    } catch (const toml::parse_error& error) {
      throw Error(file_.string() + ":" + std::to_string(error.source().begin.line) + ": " + toml_syntax_message(error));
    }
  }

  [[noreturn]] void fail(const toml::node& node, const std::string& message,
                         const std::string& hint = kClaimsHint) const {
    throw Error(file_.string() + ":" + std::to_string(node.source().begin.line) + ": " + message, hint);
  }

  void check_keys(const toml::table& table, const std::string& where, const std::vector<std::string>& known) const {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (std::ranges::count(known, name) == 0)
        fail(node, "unknown key " + quoted_name(name) + " of " + where, name_hint(name, known, "keys"));
    }
  }

  std::string text(const toml::table& table, const char* key, bool needed = false) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (needed) fail(table, std::string("there is no text `") + key + "`");
      return {};
    }
    if (!node->is_string()) fail(*node, std::string("`") + key + "` is not a text");
    return node->as_string()->get();
  }

  std::optional<double> number(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_number()) fail(*node, std::string("`") + key + "` is not a number");
    return node->value<double>();
  }

  std::vector<const toml::table*> tables(const toml::table& table, const char* key) const {
    std::vector<const toml::table*> list;
    const toml::node* node = table.get(key);
    if (node == nullptr) return list;
    if (!node->is_array()) fail(*node, std::string("`") + key + "` is not a list of tables");
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_table()) fail(item, std::string("`") + key + "` is not a list of tables");
      list.push_back(item.as_table());
    }
    return list;
  }

  std::vector<std::string> texts(const toml::table& table, const char* key) const {
    std::vector<std::string> list;
    const toml::node* node = table.get(key);
    if (node == nullptr) return list;
    if (!node->is_array()) fail(*node, std::string("`") + key + "` is not a list of texts");
    for (const toml::node& item : *node->as_array()) {
      if (!item.is_string()) fail(item, std::string("`") + key + "` is not a list of texts");
      list.push_back(item.as_string()->get());
    }
    return list;
  }

  Claim read_claim(const toml::table& table) const {
    check_keys(table, "a claim",
               {"name", "title", "statement", "source", "note", "measure", "quantities", "settings", "reference",
                "draws", "sweep", "lines", "published", "expect"});
    Claim claim;
    claim.name = text(table, "name", true);
    claim.title = text(table, "title", true);
    claim.statement = text(table, "statement", true);
    claim.source = text(table, "source", true);
    claim.note = text(table, "note");
    claim.measure = measure(table);
    claim.quantities = texts(table, "quantities");
    if (claim.quantities.empty()) fail(table, "the claim names no `quantities`");
    claim.reference = text(table, "reference");
    claim.draws = static_cast<std::int64_t>(number(table, "draws").value_or(1));
    if (claim.draws < 1) fail(table, "`draws` is a count from 1");
    for (const toml::table* setting : tables(table, "settings")) claim.settings.push_back(read_setting(*setting));
    if (const std::string sweep = text(table, "sweep", claim.measure == ClaimMeasure::kRuns); !sweep.empty())
      claim.sweep = (file_.parent_path() / sweep).lexically_normal();
    claim.lines = texts(table, "lines");
    if (claim.settings.empty() == (claim.measure == ClaimMeasure::kUpdates))
      fail(table, "a claim on updates, and no other, has `settings`");
    for (const toml::table* one : tables(table, "published")) claim.published.push_back(read_published(*one, claim));
    for (const toml::table* one : tables(table, "expect")) claim.expect.push_back(read_expectation(*one, claim));
    if (!claim.reference.empty()) check_setting(table, claim.reference, claim);
    return claim;
  }

  ClaimMeasure measure(const toml::table& table) const {
    const std::string name = text(table, "measure", true);
    if (name == "tokens") return ClaimMeasure::kTokens;
    if (name == "updates") return ClaimMeasure::kUpdates;
    if (name == "runs") return ClaimMeasure::kRuns;
    fail(*table.get("measure"), "unknown measure " + quoted_name(name),
         name_hint(name, {"tokens", "updates", "runs"}, "measures"));
  }

  ClaimSetting read_setting(const toml::table& table) const {
    check_keys(table, "a setting", {"name", "set", "x"});
    ClaimSetting setting{text(table, "name", true), {}, number(table, "x")};
    const toml::node* set = table.get("set");
    if (set == nullptr) return setting;
    if (!set->is_table()) fail(*set, "`set` is not a table of keys and values");
    for (const auto& [key, leaf] : toml_layer(*set->as_table(), file_).leaves) {
      // Prompts, rollouts and rewards are the same for all settings; only the update differs.
      if (!key.starts_with("algorithm.masking.") && !key.starts_with("algorithm.loss."))
        fail(*set, "a setting changes the masking strategy or the loss, not " + quoted_name(key));
      setting.set.push_back({file_.string() + ": " + key + " = " + leaf.text(), key, leaf.text()});
    }
    // The keys of a component come after its name.
    std::ranges::stable_partition(setting.set, [](const ConfigOverride& one) { return name_of(one.key) == "name"; });
    return setting;
  }

  void check_quantity(const toml::table& table, const std::string& quantity, const Claim& claim) const {
    if (std::ranges::count(claim.quantities, quantity) == 0)
      fail(table, "the claim does not measure " + quoted_name(quantity),
           name_hint(quantity, claim.quantities, "quantities"));
  }

  void check_setting(const toml::table& table, const std::string& setting, const Claim& claim) const {
    if (claim.measure == ClaimMeasure::kRuns) return;  // the sweep knows them
    if (setting.empty() && claim.settings.empty()) return;
    std::vector<std::string> names;
    for (const ClaimSetting& one : claim.settings) names.push_back(one.name);
    if (std::ranges::count(names, setting) == 0)
      fail(table, "the claim has no setting " + quoted_name(setting), name_hint(setting, names, "settings"));
  }

  PublishedNumber read_published(const toml::table& table, const Claim& claim) const {
    check_keys(table, "a published number", {"quantity", "setting", "of", "value"});
    PublishedNumber published{text(table, "quantity", true), text(table, "setting"), text(table, "of"), 0};
    check_quantity(table, published.quantity, claim);
    check_setting(table, published.setting, claim);
    const auto value = number(table, "value");
    if (!value) fail(table, "a published number has a `value`");
    published.value = *value;
    return published;
  }

  Expectation read_expectation(const toml::table& table, const Claim& claim) const {
    check_keys(table, "an expectation", {"quantity", "more", "less", "times", "setting", "above", "below"});
    Expectation expect;
    expect.quantity = text(table, "quantity", true);
    check_quantity(table, expect.quantity, claim);
    expect.more = text(table, "more"), expect.less = text(table, "less"), expect.setting = text(table, "setting");
    expect.times = number(table, "times").value_or(1);
    expect.above = number(table, "above"), expect.below = number(table, "below");
    const bool compares = !expect.more.empty() && !expect.less.empty();
    if (compares == (expect.above.has_value() || expect.below.has_value()))
      fail(table, "an expectation has `more` and `less`, or `above` or `below`");
    for (const std::string& setting : compares ? std::vector{expect.more, expect.less} : std::vector{expect.setting})
      check_setting(table, setting, claim);
    return expect;
  }

  const std::filesystem::path& file_;
};

}  // namespace

std::string Expectation::text() const {
  const auto of = [&](const std::string& setting) { return setting.empty() ? "" : " (" + setting + ")"; };
  if (!more.empty()) {
    return quantity + of(more) + " > " + (times == 1 ? "" : print_text("%g times ", times)) + quantity + of(less);
  }
  std::string text = quantity + of(setting);
  if (above) text += print_text(" > %g", *above);
  if (below) text += print_text("%s < %g", above ? " and" : "", *below);
  return text;
}

ClaimsFile read_claims_file(const std::filesystem::path& file) { return ClaimsReader(file).read(); }

}  // namespace drift
