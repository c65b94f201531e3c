// The functions of the loss, called as Drift calls them.
#include "soft_clip_c.c"

#include <stdio.h>

#define CHECK(CONDITION)                                              \
  do {                                                                \
    if (!(CONDITION)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #CONDITION); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

int main(void) {
  // A token whose probability has halved, one that is as likely as before, and one that is not scored.
  const double current_FL[] = {log(0.25), log(0.5), 0}, old_FL[] = {log(0.5), log(0.5), 0};
  const double advantage_BL[] = {2, 2, 2};
  const uint8_t target_FL[] = {1, 1, 0};
  const int64_t response_F[] = {0};
  const DriftLossInput in = {.size = sizeof in,
                             .views = 1,
                             .length = 3,
                             .responses = 1,
                             .current_FL = current_FL,
                             .old_FL = old_FL,
                             .response_F = response_F,
                             .target_FL = target_FL,
                             .advantage_BL = advantage_BL,
                             .total_targets = 2};
  double gradient_FL[3] = {0};
  DriftLossResult result = {.size = sizeof result, .current_gradient_FL = gradient_FL};
  const SoftClip loss = {4};
  CHECK(evaluate(NULL, &loss, &in, &result) == DRIFT_OK);

  const double log_2 = log(2), divisor = 1 + 4 * log_2 * log_2;
  CHECK(fabs(result.value + 2 * (0.5 / divisor + 1) / 2) < 1e-12);
  CHECK(fabs(gradient_FL[0] + 2 * 0.5 / divisor * (1 + 8 * log_2 / divisor) / 2) < 1e-12);
  CHECK(fabs(gradient_FL[1] + 1) < 1e-12);
  CHECK(gradient_FL[2] == 0);
  return 0;
}
