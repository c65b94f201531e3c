// Partial credit: how near a response comes to the reference, letter by letter. The reward of ../near_match in C.
#include <drift/pure.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct NearMatch {
  double floor;
  int ignores_spaces, truncated_earns;
} NearMatch;

static const DriftParam parameters[] = {{.size = sizeof(DriftParam),
                                         .name = DRIFT_TEXT("floor"),
                                         .doc = DRIFT_TEXT("similarity from which a response earns something"),
                                         .default_value = {.type = DRIFT_NUMBER, .number = 0.5},
                                         .flags = DRIFT_HAS_MINIMUM | DRIFT_HAS_MAXIMUM | DRIFT_MAXIMUM_EXCLUDED,
                                         .minimum = 0,
                                         .maximum = 1},
                                        {.size = sizeof(DriftParam),
                                         .name = DRIFT_TEXT("ignore_spaces"),
                                         .doc = DRIFT_TEXT("white space does not count"),
                                         .default_value = {.type = DRIFT_TRUTH, .truth = 1}},
                                        {.size = sizeof(DriftParam),
                                         .name = DRIFT_TEXT("truncated_earns"),
                                         .doc = DRIFT_TEXT("a response without an end may earn something"),
                                         .default_value = {.type = DRIFT_TRUTH, .truth = 1}}};

static DriftStatus fail(const DriftHost* host, const char* what, const char* hint) {
  host->error(host, (DriftText){what, strlen(what)}, (DriftText){hint, strlen(hint)});
  return DRIFT_FAILED;
}

static DriftStatus create(const DriftHost* host, void* data, const DriftValue* values, void** self) {
  (void)data;
  NearMatch* made = malloc(sizeof *made);
  if (made == NULL) return fail(host, "out of memory", "");
  *made = (NearMatch){values[0].number, values[1].truth != 0, values[2].truth != 0};
  *self = made;
  return DRIFT_OK;
}

// The bytes that are compared, to be freed. NULL: out of memory.
static char* counted(DriftText text, int ignores_spaces, size_t* size) {
  char* kept = malloc(text.size + 1);
  *size = 0;
  for (size_t i = 0; kept != NULL && i < text.size; ++i) {
    const char c = text.data[i];
    if (!ignores_spaces || !(c == ' ' || (c >= '\t' && c <= '\r'))) kept[(*size)++] = c;
  }
  return kept;
}

// Insertions, deletions and replacements of bytes that turn one text into the other. `row` has room for to_size + 1.
static size_t edit_distance(const char* from, size_t from_size, const char* to, size_t to_size, size_t* row) {
  for (size_t j = 0; j <= to_size; ++j) row[j] = j;
  for (size_t i = 0; i < from_size; ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < to_size; ++j) {
      size_t least = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      if (row[j] + 1 < least) least = row[j] + 1;
      if (row[j + 1] + 1 < least) least = row[j + 1] + 1;
      row[j + 1] = least;
    }
  }
  return row[to_size];
}

// `solved` is what accuracy counts: partial credit is not a right answer.
static DriftStatus judge(const DriftHost* host, double value, uint32_t status, const char* reason) {
  const DriftVerdict verdict = {sizeof verdict, value, status == DRIFT_VERDICT_OK, status, {reason, strlen(reason)}};
  host->give_verdict(host, &verdict);
  return DRIFT_OK;
}

static DriftStatus judge_counted(const DriftHost* host, const NearMatch* self, const DriftRewardRequest* request,
                                 const char* response, size_t size, const char* reference, size_t reference_size) {
  char reason[128];
  if (reference_size == 0) {
    const DriftText id = request->item->id;
    snprintf(reason, sizeof reason, "item `%.*s` has no reference to compare with", id.size < 64 ? (int)id.size : 64,
             id.data);
    return fail(host, reason, "give every record an answer, or leave it out");
  }
  if (size == 0) return judge(host, 0, DRIFT_VERDICT_NO_ANSWER, "the response is empty");
  if (request->truncated && !self->truncated_earns)
    return judge(host, 0, DRIFT_VERDICT_WRONG, "the response has no end");

  // What is much longer or shorter cannot be similar. This also bounds the time for a response of any length.
  const size_t longest = size > reference_size ? size : reference_size;
  const size_t shortest = size > reference_size ? reference_size : size;
  if ((double)shortest / (double)longest < self->floor)
    return judge(host, 0, DRIFT_VERDICT_WRONG, "the length is far from the reference's");

  size_t* row = malloc((reference_size + 1) * sizeof *row);
  if (row == NULL) return fail(host, "out of memory", "");
  const size_t distance = edit_distance(response, size, reference, reference_size, row);
  free(row);
  if (distance == 0) return judge(host, 1, DRIFT_VERDICT_OK, "equals the reference");
  const double similarity = 1 - (double)distance / (double)longest;
  const double value = (similarity - self->floor) / (1 - self->floor);
  snprintf(reason, sizeof reason, "%zu of %zu bytes differ", distance, longest);
  return judge(host, value > 0 ? value : 0, DRIFT_VERDICT_WRONG, reason);
}

// Called from several threads at once: nothing here is kept between calls.
static DriftStatus score(const DriftHost* host, const void* self, const DriftRewardRequest* request) {
  const NearMatch* own = self;
  size_t size, reference_size;
  char* response = counted(request->response, own->ignores_spaces, &size);
  char* reference = counted(request->item->reference, own->ignores_spaces, &reference_size);
  const DriftStatus status = response == NULL || reference == NULL
                                 ? fail(host, "out of memory", "")
                                 : judge_counted(host, own, request, response, size, reference, reference_size);
  free(response);
  free(reference);
  return status;
}

DRIFT_PURE_PLUGIN("near_match_c", "1.0.0", "Apache-2.0") {
  static const DriftReward reward = {.size = sizeof reward, .score = score};
  const DriftComponent component = {.size = sizeof component,
                                    .name = DRIFT_TEXT("near_match_c"),
                                    .doc = DRIFT_TEXT("Partial credit for a similar response, in C."),
                                    .params = parameters,
                                    .param_count = sizeof parameters / sizeof *parameters,
                                    .create = create,
                                    .destroy = free,
                                    .reward = &reward};
  registry->add(registry, &component);
}
