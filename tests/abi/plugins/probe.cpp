// The plugin that the tests patch and break. It leaves a mark when any of its code runs, and registers badly on
// request.
#include <drift/error.h>
#include <drift/loss_estimator.h>
#include <drift/plugin.h>

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace {

[[maybe_unused]] const int kMark = setenv("DRIFT_PROBE_RAN", "1", 1);

class Probe final : public drift::LossEstimator {
 public:
  explicit Probe(const drift::Parameters&) {}
  drift::Coupling coupling() const override { return drift::Coupling::kResponse; }
  drift::Loss evaluate(const drift::LossInput&) const override { throw drift::Error("asked the probe", "do not"); }
};

}  // namespace

DRIFT_PLUGIN("probe", "1.2.3", "MIT") {
  registry.add<Probe>("probe", "A loss that only throws.");
  registry.add_algorithm(
      {.name = "probe", .doc = "", .paper = "", .masking = "", .loss = "probe", .presets = {}, .plugin = ""});
  const char* misbehave = std::getenv("DRIFT_PROBE_MISBEHAVE");
  const std::string_view how = misbehave == nullptr ? "" : misbehave;
  if (how == "error") throw drift::Error("the weights are missing", "fetch them");
  if (how == "standard") throw std::out_of_range("index 7");
  if (how == "number") throw 7;
}
