// Components that break the rules of drift/pure.h, one each, and some that use all that it offers.
#include <drift/pure.h>

#include <math.h>
#include <stdlib.h>

static DriftText text(const char* terminated) {
  size_t size = 0;
  while (terminated[size] != '\0') ++size;
  return (DriftText){terminated, size};
}

static uint32_t by_view(const void* self) {
  (void)self;
  return DRIFT_COUPLING_VIEW;
}

// ---- losses ----

static DriftStatus fails_with_reason(const DriftHost* host, const void* self, const DriftLossInput* in,
                                     DriftLossResult* result) {
  (void)self, (void)in, (void)result;
  host->error(host, text("the table has no row 3"), text("add one"));
  host->error(host, text("a second mistake"), text(""));
  return DRIFT_FAILED;
}

static DriftStatus fails_without_reason(const DriftHost* host, const void* self, const DriftLossInput* in,
                                        DriftLossResult* result) {
  (void)host, (void)self, (void)in, (void)result;
  return DRIFT_FAILED;
}

// The value is right, the gradient is missing.
static DriftStatus forgets_gradient(const DriftHost* host, const void* self, const DriftLossInput* in,
                                    DriftLossResult* result) {
  (void)host, (void)self;
  for (int64_t at = 0; at < in->views * in->length; ++at) {
    if (in->target_FL[at]) result->value -= in->current_FL[at] / (double)in->total_targets;
  }
  return DRIFT_OK;
}

// It needs what it does not ask for.
static DriftStatus reads_reference(const DriftHost* host, const void* self, const DriftLossInput* in,
                                   DriftLossResult* result) {
  (void)host, (void)self;
  result->value = in->reference_FL[0];
  return DRIFT_OK;
}

// Everything that a loss is lent, used: each part of the sum would be wrong if an array were.
static DriftStatus uses_everything(const DriftHost* host, const void* self, const DriftLossInput* in,
                                   DriftLossResult* result) {
  (void)self;
  double scored = 0, committed = 0;
  for (int64_t f = 0; f < in->views; ++f) {
    for (int64_t i = 0; i < in->length; ++i) {
      const int64_t at = f * in->length + i, token = in->response_F[f] * in->length + i;
      if (!in->target_FL[at]) continue;
      const double scale = in->weight_F[f] * in->advantage_BL[token] / (double)in->scored_B[in->response_F[f]];
      const double difference = in->current_FL[at] - in->reference_FL[at];
      result->value += scale * difference * difference - 0.1 * in->entropy_FL[at] * in->reference_entropy_FL[at];
      result->current_gradient_FL[at] = 2 * scale * difference;
      result->entropy_gradient_FL[at] = -0.1 * in->reference_entropy_FL[at];
      scored += 1;
      committed += in->committed_FL[at];
    }
  }
  host->loss_metric(host, text("committed"), committed, scored);
  // What stands where nothing is scored is ignored.
  for (int64_t at = 0; at < in->views * in->length; ++at) {
    if (!in->target_FL[at]) result->current_gradient_FL[at] = NAN;
  }
  return DRIFT_OK;
}

static uint32_t needs_everything(const void* self) {
  (void)self;
  return DRIFT_NEEDS_OLD | DRIFT_NEEDS_REFERENCE | DRIFT_NEEDS_ENTROPY;
}

// ---- masking strategies ----

static uint8_t all[4096];

static DriftStatus outside(const DriftHost* host, const void* self, const DriftMaskingInput* in,
                           DriftPlanResult* result) {
  (void)self, (void)in;
  host->add_view(host, &(DriftView){.size = sizeof(DriftView), .response = -1, .masked_L = all});
  result->terms = 1;
  return DRIFT_OK;
}

static DriftStatus without_size(const DriftHost* host, const void* self, const DriftMaskingInput* in,
                                DriftPlanResult* result) {
  (void)self, (void)in;
  host->add_view(host, &(DriftView){.masked_L = all});
  result->terms = 1;
  return DRIFT_OK;
}

static DriftStatus bad_point(const DriftHost* host, const void* self, const DriftMaskingInput* in,
                             DriftPlanResult* result) {
  (void)self;
  host->uniform(host, in->random, (DriftPoint){-1, 0, 0, 0});
  result->terms = 1;
  return DRIFT_OK;
}

// A structure as an older version had it: a view without a weight.
static DriftStatus older_view(const DriftHost* host, const void* self, const DriftMaskingInput* in,
                              DriftPlanResult* result) {
  (void)self;
  const double never_read = 7;
  for (int64_t b = 0; b < in->responses; ++b) {
    host->add_view(host, &(DriftView){.size = offsetof(DriftView, weight),
                                      .response = b,
                                      .masked_L = in->valid_BL + b * in->length,
                                      .weight = &never_read});
  }
  result->terms = 1;
  return DRIFT_OK;
}

// Every position up to the first end token.
static DriftStatus through_end(const DriftHost* host, const void* self, const DriftMaskingInput* in,
                               DriftPlanResult* result) {
  (void)self;
  static uint8_t masked[64];
  for (int64_t b = 0; b < in->responses; ++b) {
    int ended = 0;
    for (int64_t i = 0; i < in->length; ++i) {
      masked[i] = !ended;
      ended = ended || in->tokens_BL[b * in->length + i] == in->end_id;
    }
    host->add_view(host, &(DriftView){.size = sizeof(DriftView), .response = b, .masked_L = masked});
  }
  result->terms = 1;
  return DRIFT_OK;
}

static uint32_t each_iteration(const void* self) {
  (void)self;
  return DRIFT_EACH_INNER_ITERATION;
}

// ---- tasks ----

// Every text of an item. Which one is a number that is the same in every run.
static DriftStatus every_text(const DriftHost* host, const void* self, int64_t index) {
  (void)self;
  static const char letters[] = "abcdefgh";
  const DriftStream stream = host->child(host, host->seeded_stream(host, 7, text("item")), text("letter"));
  const DriftText letter = {letters + host->below(host, stream, 8, (DriftPoint){index, 0, 0, 0}), 1};
  host->give_item(
      host, &(DriftItem){sizeof(DriftItem), letter, text("prompt"), text("answer"), text("imitate"), text("begin")});
  return DRIFT_OK;
}

static DriftStatus training_text(const DriftHost* host, const void* self, int64_t index, DriftStream random) {
  (void)random;
  return every_text(host, self, index);
}

static int64_t one(const void* self) {
  (void)self;
  return 1;
}

// ---- rewards ----

static DriftStatus no_verdict(const DriftHost* host, const void* self, const DriftRewardRequest* request) {
  (void)host, (void)self, (void)request;
  return DRIFT_OK;
}

static DriftStatus item_of_a_task(const DriftHost* host, const void* self, const DriftRewardRequest* request) {
  (void)self;
  host->give_item(host, request->item);
  return DRIFT_OK;
}

// Every kind of parameter, given back in the reason.
static DriftStatus create_echo(const DriftHost* host, void* data, const DriftValue* values, void** self) {
  (void)data;
  DriftValue* kept = malloc(7 * sizeof *kept);
  if (kept == NULL) return DRIFT_FAILED;
  for (int i = 0; i < 7; ++i) kept[i] = values[i];
  const int good = values[0].truth == 1 && values[1].integer == -3 && values[2].number == 0.5 &&
                   values[3].string.size == 3 && values[4].count == 2 && values[4].strings[1].size == 1 &&
                   values[5].count == 3 && values[5].integers[2] == 9 && values[6].count == 1 &&
                   values[6].numbers[0] == 0.25;
  if (!good) {
    host->error(host, text("the parameters are not the defaults"), text("set none"));
    free(kept);
    return DRIFT_FAILED;
  }
  *self = kept;
  return DRIFT_OK;
}

static DriftStatus judged(const DriftHost* host, const void* self, const DriftRewardRequest* request) {
  (void)self;
  host->give_verdict(
      host, &(DriftVerdict){sizeof(DriftVerdict), 0.5, request->truncated, DRIFT_VERDICT_WRONG, request->item->prompt});
  return DRIFT_OK;
}

// ---- registration ----

static void add(const DriftRegistry* registry, const char* name, DriftComponent component) {
  component.size = sizeof component;
  component.name = text(name);
  component.doc = text("A component of a test.");
  registry->add(registry, &component);
}

static void add_loss(const DriftRegistry* registry, const char* name,
                     DriftStatus (*evaluate)(const DriftHost*, const void*, const DriftLossInput*, DriftLossResult*),
                     uint32_t (*needs)(const void*)) {
  const DriftLoss loss = {sizeof loss, by_view, needs, evaluate};
  add(registry, name, (DriftComponent){.loss = &loss});
}

static void add_masking(const DriftRegistry* registry, const char* name,
                        DriftStatus (*plan)(const DriftHost*, const void*, const DriftMaskingInput*,
                                            DriftPlanResult*)) {
  const DriftMaskingStrategy strategy = {.size = sizeof strategy, .plan = plan};
  add(registry, name, (DriftComponent){.masking_strategy = &strategy});
}

static void add_reward(const DriftRegistry* registry, const char* name,
                       DriftStatus (*score)(const DriftHost*, const void*, const DriftRewardRequest*)) {
  const DriftReward reward = {.size = sizeof reward, .score = score};
  add(registry, name, (DriftComponent){.reward = &reward});
}

DRIFT_PURE_PLUGIN("pure_faults", "1.0.0", "Apache-2.0") {
  for (size_t i = 0; i < sizeof all; ++i) all[i] = 1;
  add_loss(registry, "fails_with_reason", fails_with_reason, NULL);
  add_loss(registry, "fails_without_reason", fails_without_reason, NULL);
  add_loss(registry, "forgets_gradient", forgets_gradient, NULL);
  add_loss(registry, "reads_reference", reads_reference, NULL);
  add_loss(registry, "uses_everything", uses_everything, needs_everything);
  add_masking(registry, "outside", outside);
  add_masking(registry, "without_size", without_size);
  add_masking(registry, "bad_point", bad_point);
  add_masking(registry, "older_view", older_view);
  const DriftMaskingStrategy to_the_end = {sizeof to_the_end, each_iteration, through_end};
  add(registry, "through_end", (DriftComponent){.masking_strategy = &to_the_end});
  const DriftTask task = {sizeof task, training_text, one, every_text};
  add(registry, "every_text", (DriftComponent){.task = &task});
  add_reward(registry, "no_verdict", no_verdict);
  add_reward(registry, "item_of_a_task", item_of_a_task);

  const DriftText texts[] = {DRIFT_TEXT("x"), DRIFT_TEXT("y")};
  const int64_t integers[] = {1, 4, 9};
  const double numbers[] = {0.25};
#define DECLARED(NAME, ...)                                                                                \
  {                                                                                                        \
    .size = sizeof(DriftParam), .name = DRIFT_TEXT(NAME), .doc = DRIFT_TEXT("a value"), .default_value = { \
      __VA_ARGS__                                                                                          \
    }                                                                                                      \
  }
  DriftParam params[] = {DECLARED("truth", .type = DRIFT_TRUTH, .truth = 1),
                         DECLARED("integer", .type = DRIFT_INTEGER, .integer = -3),
                         DECLARED("number", .type = DRIFT_NUMBER, .number = 0.5),
                         DECLARED("string", .type = DRIFT_STRING, .string = DRIFT_TEXT("abc")),
                         DECLARED("strings", .type = DRIFT_STRINGS, .strings = texts, .count = 2),
                         DECLARED("integers", .type = DRIFT_INTEGERS, .integers = integers, .count = 3),
                         DECLARED("numbers", .type = DRIFT_NUMBERS, .numbers = numbers, .count = 1)};
  params[4].choices = texts;
  params[4].choice_count = 2;
  const DriftReward reward = {.size = sizeof reward, .score = judged};
  add(registry, "every_parameter",
      (DriftComponent){.params = params, .param_count = 7, .create = create_echo, .destroy = free, .reward = &reward});
}
