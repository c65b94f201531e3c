// One component of each kind, built against version 1.0 of drift/pure.h and kept as a binary for ever: every later
// Drift of version 1 must load it and get the same from it (tests/abi/pure_recorded_test.cpp).
// tests/abi/recorded/record makes the binary.
#include <drift/pure.h>

#include <stdlib.h>

#define TEXT(LITERAL) ((DriftText)DRIFT_TEXT(LITERAL))

static DriftStatus create(const DriftHost* host, void* data, const DriftValue* values, void** self) {
  double* scale = malloc(sizeof *scale);
  if (scale == NULL || data == NULL) {
    host->error(host, TEXT("out of memory"), TEXT(""));
    return DRIFT_FAILED;
  }
  *scale = values[0].number;
  *self = scale;
  return DRIFT_OK;
}

// ---- loss: the policy gradient, and the gap to the reference policy as a metric ----

static uint32_t coupling(const void* self) {
  (void)self;
  return DRIFT_COUPLING_VIEW;
}

static uint32_t needs(const void* self) {
  (void)self;
  return DRIFT_NEEDS_OLD | DRIFT_NEEDS_REFERENCE;
}

static DriftStatus evaluate(const DriftHost* host, const void* self, const DriftLossInput* in,
                            DriftLossResult* result) {
  const double scale = *(const double*)self / (double)in->total_targets;
  double gap = 0, count = 0;
  for (int64_t at = 0; at < in->views * in->length; ++at) {
    if (!in->target_FL[at]) continue;
    const int64_t f = at / in->length, i = at % in->length;
    const double weight = -scale * in->weight_F[f] * in->advantage_BL[in->response_F[f] * in->length + i];
    result->value += weight * in->current_FL[at];
    result->current_gradient_FL[at] = weight;
    gap += in->current_FL[at] - in->reference_FL[at];
    count += 1;
  }
  host->loss_metric(host, TEXT("gap"), gap, count);
  return DRIFT_OK;
}

// ---- masking strategy: each valid position is masked or not, in two views ----

static DriftStatus plan(const DriftHost* host, const void* self, const DriftMaskingInput* in, DriftPlanResult* result) {
  (void)self;
  uint8_t* masked_L = malloc((size_t)in->length + 1);
  if (masked_L == NULL) return DRIFT_FAILED;
  const DriftStream random = host->child(host, in->random, TEXT("recorded"));
  for (int64_t b = 0; b < in->responses; ++b) {
    for (int64_t k = 0; k < 2; ++k) {
      for (int64_t i = 0; i < in->length; ++i) {
        const DriftPoint point = {in->step, in->number_B[b], i, k};
        masked_L[i] = in->valid_BL[b * in->length + i] && host->uniform(host, random, point) < 0.5;
      }
      const double weight = 0.5;
      const DriftView view = {.size = sizeof view, .response = b, .term = k, .masked_L = masked_L, .weight = &weight};
      host->add_view(host, &view);
    }
  }
  free(masked_L);
  result->terms = 2;
  return DRIFT_OK;
}

// ---- reward: by length ----

static DriftStatus score(const DriftHost* host, const void* self, const DriftRewardRequest* request) {
  (void)self;
  const uint32_t same = request->response.size == request->item->reference.size;
  const DriftVerdict verdict = {sizeof verdict, same ? 1.0 : 0.25, same, same ? DRIFT_VERDICT_OK : DRIFT_VERDICT_WRONG,
                                request->item->id};
  host->give_verdict(host, &verdict);
  return DRIFT_OK;
}

// ---- task: single digits ----

static DriftStatus give(const DriftHost* host, int64_t digit) {
  static const char digits[] = "0123456789";
  const DriftText one = {digits + digit, 1};
  const DriftItem item = {.size = sizeof item, .id = one, .prompt = one, .reference = one};
  host->give_item(host, &item);
  return DRIFT_OK;
}

static DriftStatus training_item(const DriftHost* host, const void* self, int64_t index, DriftStream random) {
  (void)self;
  return give(host, host->below(host, random, 9, (DriftPoint){index, 0, 0, 0}));
}

static int64_t held_out_size(const void* self) {
  (void)self;
  return 1;
}

static DriftStatus held_out_item(const DriftHost* host, const void* self, int64_t index) {
  (void)self;
  return give(host, 9 + index);
}

DRIFT_PURE_PLUGIN("pure_1_0", "1.0.0", "Apache-2.0") {
  static char data;
  static const DriftParam scale[] = {{.size = sizeof(DriftParam),
                                      .name = DRIFT_TEXT("scale"),
                                      .doc = DRIFT_TEXT("of the loss"),
                                      .default_value = {.type = DRIFT_NUMBER, .number = 2},
                                      .flags = DRIFT_HAS_MINIMUM | DRIFT_MINIMUM_EXCLUDED,
                                      .minimum = 0}};
  const DriftLoss loss = {sizeof loss, coupling, needs, evaluate};
  const DriftMaskingStrategy strategy = {.size = sizeof strategy, .plan = plan};
  const DriftReward reward = {.size = sizeof reward, .score = score};
  const DriftTask task = {sizeof task, training_item, held_out_size, held_out_item};
  DriftComponent component = {.size = sizeof component,
                              .name = DRIFT_TEXT("recorded"),
                              .doc = DRIFT_TEXT("As it was in version 1.0."),
                              .params = scale,
                              .param_count = 1,
                              .data = &data,
                              .create = create,
                              .destroy = free,
                              .loss = &loss};
  registry->add(registry, &component);
  component = (DriftComponent){.size = sizeof component, .name = component.name, .doc = component.doc};
  component.masking_strategy = &strategy;
  registry->add(registry, &component);
  component.masking_strategy = NULL;
  component.reward = &reward;
  registry->add(registry, &component);
  component.reward = NULL;
  component.task = &task;
  registry->add(registry, &component);
}
