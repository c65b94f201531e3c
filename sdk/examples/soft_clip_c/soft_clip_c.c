// PPO's clip replaced by a smooth weight, over plain arrays: the loss of ../soft_clip in C.
#include <drift/pure.h>

#include <math.h>
#include <stdlib.h>

typedef struct SoftClip {
  double width;
} SoftClip;

static const DriftParam parameters[] = {{.size = sizeof(DriftParam),
                                         .name = DRIFT_TEXT("width"),
                                         .doc = DRIFT_TEXT("curvature of the weight"),
                                         .default_value = {.type = DRIFT_NUMBER, .number = 4.0},
                                         .flags = DRIFT_HAS_MINIMUM,
                                         .minimum = 0}};

static DriftStatus create(const DriftHost* host, void* data, const DriftValue* values, void** self) {
  (void)data;
  SoftClip* loss = malloc(sizeof *loss);
  if (loss == NULL) {
    host->error(host, (DriftText)DRIFT_TEXT("out of memory"), (DriftText){NULL, 0});
    return DRIFT_FAILED;
  }
  loss->width = values[0].number;
  *self = loss;
  return DRIFT_OK;
}

// The ratio is taken token by token, so any split of the views into micro-batches gives the same gradient.
static uint32_t coupling(const void* self) {
  (void)self;
  return DRIFT_COUPLING_VIEW;
}

static DriftStatus evaluate(const DriftHost* host, const void* self, const DriftLossInput* in,
                            DriftLossResult* result) {
  (void)host;
  const double width = ((const SoftClip*)self)->width, bound = 20, targets = (double)in->total_targets;
  for (int64_t f = 0; f < in->views; ++f) {
    for (int64_t i = 0; i < in->length; ++i) {
      const int64_t at = f * in->length + i;
      if (!in->target_FL[at]) continue;
      // Bounded, or exp() would be infinite for a token that the old policy all but excluded.
      const double difference = in->current_FL[at] - in->old_FL[at];
      const double log_ratio = fmin(fmax(difference, -bound), bound);
      const double advantage = in->advantage_BL[in->response_F[f] * in->length + i];
      const double divisor = 1 + width * log_ratio * log_ratio;
      const double gain = advantage * exp(log_ratio) / divisor;
      result->value -= gain / targets;
      const double slope = gain * (1 - 2 * width * log_ratio / divisor);
      result->current_gradient_FL[at] = fabs(difference) > bound ? 0 : -slope / targets;
    }
  }
  return DRIFT_OK;
}

DRIFT_PURE_PLUGIN("soft_clip_c", "1.0.0", "Apache-2.0") {
  static const DriftLoss loss = {.size = sizeof loss, .coupling = coupling, .evaluate = evaluate};
  const DriftComponent component = {.size = sizeof component,
                                    .name = DRIFT_TEXT("soft_clip_c"),
                                    .doc = DRIFT_TEXT("PPO with a smooth clip, in C."),
                                    .params = parameters,
                                    .param_count = 1,
                                    .create = create,
                                    .destroy = free,
                                    .loss = &loss};
  registry->add(registry, &component);
}
