// Masks of whole spans: neighbouring tokens are hidden together. The masking strategy of ../span_masks in C.
#include <drift/pure.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct SpanMasks {
  int64_t views;
  double span, share_low, share_high;
} SpanMasks;

#define NUMBER(NAME, DEFAULT, DOC, LOW, HIGH)                                                                   \
  {                                                                                                             \
    .size = sizeof(DriftParam), .name = DRIFT_TEXT(NAME), .doc = DRIFT_TEXT(DOC),                               \
    .default_value = {.type = DRIFT_NUMBER, .number = DEFAULT}, .flags = DRIFT_HAS_MINIMUM | DRIFT_HAS_MAXIMUM, \
    .minimum = LOW, .maximum = HIGH                                                                             \
  }

static const DriftParam parameters[] = {{.size = sizeof(DriftParam),
                                         .name = DRIFT_TEXT("views"),
                                         .doc = DRIFT_TEXT("masked contexts of a response"),
                                         .default_value = {.type = DRIFT_INTEGER, .integer = 4},
                                         .flags = DRIFT_HAS_MINIMUM | DRIFT_HAS_MAXIMUM,
                                         .minimum = 1,
                                         .maximum = 256},
                                        NUMBER("span", 3.0, "mean length of a span, in tokens", 1, 1024),
                                        NUMBER("share_low", 0.2, "smallest share of masked tokens", 0, 1),
                                        NUMBER("share_high", 0.8, "largest share of masked tokens", 0, 1)};

static DriftStatus fail(const DriftHost* host, const char* what, const char* hint) {
  host->error(host, (DriftText){what, strlen(what)}, (DriftText){hint, strlen(hint)});
  return DRIFT_FAILED;
}

static DriftStatus create(const DriftHost* host, void* data, const DriftValue* values, void** self) {
  (void)data;
  SpanMasks* made = malloc(sizeof *made);
  if (made == NULL) return fail(host, "out of memory", "");
  *made = (SpanMasks){values[0].integer, values[1].number, values[2].number, values[3].number};
  if (made->share_low > made->share_high) {
    free(made);
    return fail(host, "share_low is above share_high", "set both, the smaller one low");
  }
  *self = made;
  return DRIFT_OK;
}

// New masks for every pass over the responses.
static uint32_t refresh(const void* self) {
  (void)self;
  return DRIFT_EACH_INNER_ITERATION;
}

// Tokens through the end of the text; the padding behind it teaches nothing.
static int64_t tokens_through_end(const DriftMaskingInput* in, int64_t b) {
  int64_t tokens = 0;
  while (tokens < in->length && in->tokens_BL[b * in->length + tokens] != in->end_id) ++tokens;
  return tokens < in->length ? tokens + 1 : tokens;
}

// Tokens of a span beyond its first, of the mean span - 1, from a uniform number.
static int64_t geometric(double span, double uniform) {
  return span == 1 ? 0 : (int64_t)floor(log1p(-uniform) / log1p(-1 / span));
}

// Masks some of `tokens` positions, at least one, and returns how many. Each kind of draw has its own stream, each draw
// its own point: a response gets the same spans in any batch.
static int64_t mask_spans(const DriftHost* host, const SpanMasks* self, DriftStream random, DriftPoint point,
                          int64_t tokens, uint8_t* masked_L) {
  const DriftStream starts = host->child(host, random, (DriftText)DRIFT_TEXT("start"));
  const DriftStream lengths = host->child(host, random, (DriftText)DRIFT_TEXT("length"));
  const DriftStream shares = host->child(host, random, (DriftText)DRIFT_TEXT("share"));
  const double share = self->share_low + (self->share_high - self->share_low) * host->uniform(host, shares, point);
  const int64_t wanted = (int64_t)fmax(1.0, round(share * (double)tokens));
  int64_t masked = 0;
  for (; masked < wanted; ++point.position) {  // one span each time
    int64_t length = 1 + geometric(self->span, host->uniform(host, lengths, point));
    int64_t i = host->below(host, starts, tokens, point);
    while (masked_L[i]) i = (i + 1) % tokens;
    for (; length > 0 && i < tokens && masked < wanted && !masked_L[i]; --length, ++i, ++masked) masked_L[i] = 1;
  }
  return masked;
}

static DriftStatus plan(const DriftHost* host, const void* self, const DriftMaskingInput* in, DriftPlanResult* result) {
  const SpanMasks* own = self;
  uint8_t* masked_L = malloc((size_t)in->length + 1);
  if (masked_L == NULL) return fail(host, "out of memory", "");
  for (int64_t b = 0; b < in->responses; ++b) {
    const int64_t tokens = tokens_through_end(in, b);
    for (int64_t view = 0; view < own->views; ++view) {
      const DriftPoint point = {in->step, in->number_B[b], 0, in->inner_iteration * own->views + view};
      memset(masked_L, 0, (size_t)in->length);
      const int64_t masked = mask_spans(host, own, in->random, point, tokens, masked_L);
      const double weight = (double)tokens / (double)masked;
      // What is masked is scored.
      const DriftView made = {
          .size = sizeof made, .response = b, .forward = view, .masked_L = masked_L, .weight = &weight};
      host->add_view(host, &made);
      host->metric(host, (DriftText)DRIFT_TEXT("masked_share"), (double)masked, (double)tokens);
    }
  }
  free(masked_L);
  result->forwards = own->views;
  return DRIFT_OK;
}

DRIFT_PURE_PLUGIN("span_masks_c", "1.0.0", "Apache-2.0") {
  static const DriftMaskingStrategy strategy = {.size = sizeof strategy, .refresh = refresh, .plan = plan};
  const DriftComponent component = {.size = sizeof component,
                                    .name = DRIFT_TEXT("span_masks_c"),
                                    .doc = DRIFT_TEXT("Random spans of a response, masked and scored together, in C."),
                                    .params = parameters,
                                    .param_count = sizeof parameters / sizeof *parameters,
                                    .create = create,
                                    .destroy = free,
                                    .masking_strategy = &strategy};
  registry->add(registry, &component);
}
