// The loss, called as Drift calls it.
#include "soft_clip_pure.cpp"

#include <cstdio>
#include <vector>

int main() {
  // A token whose probability has halved, one that is as likely as before, and one that is not scored.
  const std::vector<double> current_FL = {std::log(0.25), std::log(0.5), 0}, old_FL = {std::log(0.5), std::log(0.5), 0};
  const std::vector<double> advantage_BL = {2, 2, 2};
  const std::vector<std::uint8_t> target_FL = {1, 1, 0};
  const std::vector<std::int64_t> response_F = {0};
  DriftLossInput in = {};
  in.size = sizeof in;
  in.views = 1;
  in.length = 3;
  in.responses = 1;
  in.current_FL = current_FL.data();
  in.old_FL = old_FL.data();
  in.response_F = response_F.data();
  in.target_FL = target_FL.data();
  in.advantage_BL = advantage_BL.data();
  in.total_targets = 2;
  std::vector<double> gradient_FL(3);
  DriftLossResult result = {sizeof result, 0, gradient_FL.data(), nullptr};

  drift::pure::Parameters defaults;
  const SoftClip loss(defaults);
  DriftHost host = {};
  loss.evaluate(drift::pure::Host(host), in, result);

  const double log_2 = std::log(2.0), divisor = 1 + 4 * log_2 * log_2;
  const std::vector<double> expected = {-(0.5 / divisor + 1), -0.5 / divisor * (1 + 8 * log_2 / divisor), -1, 0};
  const std::vector<double> found = {result.value, gradient_FL[0], gradient_FL[1], gradient_FL[2]};
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::abs(found[i] - expected[i]) < 1e-12) continue;
    std::fprintf(stderr, "number %zu is %g, not %g\n", i, found[i], expected[i]);
    return 1;
  }
  return 0;
}
