// The functions of the strategy, called as Drift calls them, with random numbers of the test.
#include "span_masks_c.c"

#include <stdio.h>

#define CHECK(CONDITION)                                              \
  do {                                                                \
    if (!(CONDITION)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #CONDITION); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

static DriftStream same_stream(const DriftHost* host, DriftStream stream, DriftText name) {
  (void)host, (void)name;
  return stream;
}
static double half(const DriftHost* host, DriftStream stream, DriftPoint point) {
  (void)host, (void)stream, (void)point;
  return 0.5;
}
static int64_t at_attempt(const DriftHost* host, DriftStream stream, int64_t bound, DriftPoint point) {
  (void)host, (void)stream;
  return point.position * 3 % bound;
}
static void ignore(const DriftHost* host, DriftText name, double sum, double count) {
  (void)host, (void)name, (void)sum, (void)count;
}

static uint8_t masked[8];
static int views;
static double weight;

static void take_view(const DriftHost* host, const DriftView* view) {
  (void)host;
  memcpy(masked, view->masked_L, sizeof masked);
  weight = *view->weight;
  ++views;
}

int main(void) {
  const DriftHost host = {.size = sizeof host,
                          .metric = ignore,
                          .child = same_stream,
                          .uniform = half,
                          .below = at_attempt,
                          .add_view = take_view};
  // Six tokens and their end; padding.
  const int64_t tokens_BL[] = {5, 5, 5, 5, 5, 0, 0, 0}, number_B[] = {0};
  const DriftMaskingInput in = {
      .size = sizeof in, .responses = 1, .length = 8, .end_id = 0, .number_B = number_B, .tokens_BL = tokens_BL};
  DriftPlanResult result = {.size = sizeof result};
  const SpanMasks strategy = {.views = 2, .span = 1, .share_low = 0, .share_high = 1};
  CHECK(plan(&host, &strategy, &in, &result) == DRIFT_OK);
  CHECK(result.forwards == 2 && views == 2);
  // Half of the six tokens, in spans of one: at 0, at 3, and at 0 again, which is taken, so at 1.
  const uint8_t expected[] = {1, 1, 0, 1, 0, 0, 0, 0};
  CHECK(memcmp(masked, expected, sizeof masked) == 0);
  CHECK(weight == 2);
  return 0;
}
