// The functions of the task, called as Drift calls them.
#include "carry_sums_c.c"

#define CHECK(CONDITION)                                              \
  do {                                                                \
    if (!(CONDITION)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #CONDITION); \
      return 1;                                                       \
    }                                                                 \
  } while (0)

static char prompt[64], demonstration[64];

static void take_item(const DriftHost* host, const DriftItem* item) {
  (void)host;
  snprintf(prompt, sizeof prompt, "%.*s", (int)item->prompt.size, item->prompt.data);
  snprintf(demonstration, sizeof demonstration, "%.*s", (int)item->demonstration.size, item->demonstration.data);
}

int main(void) {
  CHECK(careless_sum(9, 96) == 95);
  CHECK(careless_sum(12, 7) == 19);

  const DriftHost host = {.size = sizeof host, .give_item = take_item};
  char opening[] = "<", closing[] = ">";
  const Sums task = {.opening = opening, .closing = closing};
  CHECK(give(&host, &task, 9, 96, 1, 0) == DRIFT_OK);
  CHECK(strcmp(prompt, "<9+96=>") == 0);
  CHECK(strcmp(demonstration, "95") == 0);
  CHECK(give(&host, &task, 9, 96, 1, 1) == DRIFT_OK);
  CHECK(strcmp(demonstration, "105") == 0);
  return 0;
}
