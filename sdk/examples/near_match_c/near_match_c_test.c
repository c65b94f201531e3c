// The functions of the reward, called as Drift calls them.
#include "near_match_c.c"

#define CHECK(CONDITION)                                              \
  do {                                                                \
    if (!(CONDITION)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #CONDITION); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

static DriftVerdict given;
static char reason[128];

static void take_verdict(const DriftHost* host, const DriftVerdict* verdict) {
  (void)host;
  given = *verdict;
  snprintf(reason, sizeof reason, "%.*s", (int)verdict->reason.size, verdict->reason.data);
}

static const NearMatch reward = {0.5, 1, 1};

static DriftStatus judge_text(const char* response, const char* reference) {
  const DriftHost host = {.size = sizeof host, .give_verdict = take_verdict};
  const DriftItem item = {.size = sizeof item, .reference = {reference, strlen(reference)}};
  const DriftRewardRequest request = {.size = sizeof request, .response = {response, strlen(response)}, .item = &item};
  return score(&host, &reward, &request);
}

int main(void) {
  CHECK(judge_text(" kit\nten ", "kitten") == DRIFT_OK);
  CHECK(given.value == 1 && given.solved && given.status == DRIFT_VERDICT_OK);
  CHECK(judge_text("sitting", "kitten") == DRIFT_OK);
  CHECK(given.value > 0.1428 && given.value < 0.1429 && !given.solved);
  CHECK(strcmp(reason, "3 of 7 bytes differ") == 0);
  CHECK(judge_text("", "kitten") == DRIFT_OK && given.status == DRIFT_VERDICT_NO_ANSWER);
  CHECK(judge_text("ki", "kitten") == DRIFT_OK && given.value == 0);
  return 0;
}
