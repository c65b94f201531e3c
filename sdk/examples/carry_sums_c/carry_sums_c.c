// Sums of two numbers, made from a seed: "12+7=", "19". The task of ../carry_sums in C.
#include <drift/pure.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  HELD_OUT_SEED = 12,  // The held-out sums are the same in every run, whatever its seed.
  HELD_OUT_OF = 10     // one pair of so many is held out
};

typedef struct Pair {
  int64_t first, second;
  uint64_t order;
} Pair;

typedef struct Sums {
  int64_t number_high, held_out_size;
  double correct;
  char *opening, *closing;
  Pair* held_out;
} Sums;

#define INTEGER(NAME, DEFAULT, DOC, LOW, HIGH)                                                                    \
  {                                                                                                               \
    .size = sizeof(DriftParam), .name = DRIFT_TEXT(NAME), .doc = DRIFT_TEXT(DOC),                                 \
    .default_value = {.type = DRIFT_INTEGER, .integer = DEFAULT}, .flags = DRIFT_HAS_MINIMUM | DRIFT_HAS_MAXIMUM, \
    .minimum = LOW, .maximum = HIGH                                                                               \
  }
#define STRING(NAME, DEFAULT, DOC)                                                                   \
  {                                                                                                  \
    .size = sizeof(DriftParam), .name = DRIFT_TEXT(NAME), .doc = DRIFT_TEXT(DOC), .default_value = { \
      .type = DRIFT_STRING,                                                                          \
      .string = DRIFT_TEXT(DEFAULT)                                                                  \
    }                                                                                                \
  }

static const DriftParam parameters[] = {
    INTEGER("number_high", 99, "largest number; the smallest is 0", 9, 999),
    {.size = sizeof(DriftParam),
     .name = DRIFT_TEXT("correct"),
     .doc = DRIFT_TEXT("share of correct demonstrations; the others forget to carry"),
     .default_value = {.type = DRIFT_NUMBER, .number = 0.7},
     .flags = DRIFT_HAS_MINIMUM | DRIFT_HAS_MAXIMUM,
     .minimum = 0,
     .maximum = 1},
    INTEGER("held_out_size", 200, "number of held-out sums, at most", 1, 10000),
    STRING("opening", "<|startoftext|>", "special tokens before the sum"),
    STRING("closing", "<|sep|>", "special tokens behind it")};

static DriftText text(const char* terminated) { return (DriftText){terminated, strlen(terminated)}; }

static DriftStatus fail(const DriftHost* host, const char* what, const char* hint) {
  host->error(host, text(what), text(hint));
  return DRIFT_FAILED;
}

// A pair is held out or not by a hash of its numbers in either order, so that no held-out sum is ever trained on.
static int is_held_out(const DriftHost* host, int64_t a, int64_t b) {
  const DriftStream random = host->seeded_stream(host, HELD_OUT_SEED, text("sums held out"));
  return host->below(host, random, HELD_OUT_OF, (DriftPoint){a < b ? a : b, a < b ? b : a, 0, 0}) == 0;
}

static int by_order(const void* left, const void* right) {
  const uint64_t a = ((const Pair*)left)->order, b = ((const Pair*)right)->order;
  return a < b ? -1 : a > b;
}

static char* copied(DriftText given) {
  char* copy = malloc(given.size + 1);
  if (copy == NULL) return NULL;
  memcpy(copy, given.data, given.size);
  copy[given.size] = '\0';
  return copy;
}

static void destroy(void* self) {
  Sums* sums = self;
  free(sums->opening);
  free(sums->closing);
  free(sums->held_out);
  free(sums);
}

static DriftStatus create(const DriftHost* host, void* data, const DriftValue* values, void** self) {
  (void)data;
  Sums* sums = calloc(1, sizeof *sums);
  if (sums == NULL) return fail(host, "out of memory", "");
  sums->number_high = values[0].integer;
  sums->correct = values[1].number;
  sums->opening = copied(values[3].string);
  sums->closing = copied(values[4].string);
  const size_t numbers = (size_t)sums->number_high + 1;
  sums->held_out = malloc(numbers * numbers * sizeof *sums->held_out);
  if (sums->opening == NULL || sums->closing == NULL || sums->held_out == NULL) {
    destroy(sums);
    return fail(host, "out of memory", "");
  }
  // In a random order: the first ones of a short evaluation are not the smallest.
  const DriftStream random = host->seeded_stream(host, HELD_OUT_SEED, text("sums order"));
  for (int64_t a = 0; a <= sums->number_high; ++a) {
    for (int64_t b = 0; b <= sums->number_high; ++b) {
      if (!is_held_out(host, a, b)) continue;
      const Pair pair = {a, b, host->bits(host, random, (DriftPoint){a, b, 0, 0})};
      sums->held_out[sums->held_out_size++] = pair;
    }
  }
  qsort(sums->held_out, (size_t)sums->held_out_size, sizeof *sums->held_out, by_order);
  if (sums->held_out_size > values[2].integer) sums->held_out_size = values[2].integer;
  if (sums->held_out_size == 0) {
    destroy(sums);
    return fail(host, "no sum is held out", "raise number_high");
  }
  *self = sums;
  return DRIFT_OK;
}

// The sum of someone who forgets every carry.
static int64_t careless_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  for (int64_t place = 1; a > 0 || b > 0; place *= 10, a /= 10, b /= 10) sum += place * ((a % 10 + b % 10) % 10);
  return sum;
}

// The id names the problem, not its place in a run.
static DriftStatus give(const DriftHost* host, const Sums* self, int64_t a, int64_t b, int has_demonstration,
                        int is_correct) {
  char id[48], reference[24], demonstration[24] = "";
  snprintf(id, sizeof id, "%lld+%lld", (long long)a, (long long)b);
  snprintf(reference, sizeof reference, "%lld", (long long)(a + b));
  if (has_demonstration)
    snprintf(demonstration, sizeof demonstration, "%lld", (long long)(is_correct ? a + b : careless_sum(a, b)));
  const size_t size = strlen(self->opening) + strlen(id) + 1 + strlen(self->closing) + 1;
  char* prompt = malloc(size);
  if (prompt == NULL) return fail(host, "out of memory", "");
  snprintf(prompt, size, "%s%s=%s", self->opening, id, self->closing);
  const DriftItem item = {.size = sizeof item,
                          .id = text(id),
                          .prompt = text(prompt),
                          .reference = text(reference),
                          .demonstration = text(demonstration)};
  host->give_item(host, &item);
  free(prompt);
  return DRIFT_OK;
}

// Of `random` and `index` alone: any thread may ask for any item, in any order.
static DriftStatus training_item(const DriftHost* host, const void* self, int64_t index, DriftStream random) {
  const Sums* sums = self;
  const DriftStream firsts = host->child(host, random, text("first"));
  const DriftStream seconds = host->child(host, random, text("second"));
  const DriftStream demonstrations = host->child(host, random, text("demonstration"));
  // A field of a point holds 32 bits.
  DriftPoint point = {index & 0xFFFFFFFF, index >> 32, 0, 0};
  const int is_correct = host->uniform(host, demonstrations, point) < sums->correct;
  int64_t a, b;
  do {
    a = host->below(host, firsts, sums->number_high + 1, point);
    b = host->below(host, seconds, sums->number_high + 1, point);
    ++point.draw;
  } while (is_held_out(host, a, b));
  return give(host, sums, a, b, 1, is_correct);
}

static int64_t held_out_size(const void* self) { return ((const Sums*)self)->held_out_size; }

static DriftStatus held_out_item(const DriftHost* host, const void* self, int64_t index) {
  const Sums* sums = self;
  return give(host, sums, sums->held_out[index].first, sums->held_out[index].second, 0, 0);
}

DRIFT_PURE_PLUGIN("carry_sums_c", "1.0.0", "Apache-2.0") {
  static const DriftTask task = {.size = sizeof task,
                                 .training_item = training_item,
                                 .held_out_size = held_out_size,
                                 .held_out_item = held_out_item};
  const DriftComponent component = {.size = sizeof component,
                                    .name = DRIFT_TEXT("carry_sums_c"),
                                    .doc = DRIFT_TEXT("Sums of two numbers, in C."),
                                    .params = parameters,
                                    .param_count = sizeof parameters / sizeof *parameters,
                                    .create = create,
                                    .destroy = destroy,
                                    .task = &task};
  registry->add(registry, &component);
}
