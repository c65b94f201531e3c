// A plugin that loads, but whose declarations are not in order: `drift plugin check` finds each.
#include <drift/masking_strategy.h>
#include <drift/plugin.h>

namespace {

class Careless final : public drift::MaskingStrategy {
 public:
  explicit Careless(const drift::Parameters& params) { params.get<std::int64_t>("rate"); }
  void plan(const drift::MaskingInput&, drift::MaskPlan&) const override {}
};

}  // namespace

DRIFT_PLUGIN("careless", "0.1", "MIT") {
  registry.add<Careless>("careless", "", {{"rate", 0.5, "share of masked positions"}});
  registry.add<Careless>("outside", "Default outside its range.", {{"rate", 2, "", drift::between(0, 1)}});
}
