#pragma once

// Losses, masking strategies, rewards and tasks over plain arrays, in any language that can call C. A plugin that
// includes this header (C99) needs neither LibTorch nor libdrift, and one binary serves every Drift
// (docs/sdk.md):
//
//     static DriftStatus evaluate(const DriftHost* host, const void* self, const DriftLossInput* in, DriftLossResult*
//     result) {
//       for (int64_t i = 0; i < in->views * in->length; ++i) {
//         if (!in->target_FL[i]) continue;
//         const double advantage = in->advantage_BL[in->response_F[i / in->length] * in->length + i % in->length];
//         result->value -= advantage * in->current_FL[i] / (double)in->total_targets;
//         result->current_gradient_FL[i] = -advantage / (double)in->total_targets;
//       }
//       return DRIFT_OK;
//     }
//     static uint32_t coupling(const void* self) { return DRIFT_COUPLING_VIEW; }
//
//     DRIFT_PURE_PLUGIN("reinforce", "1.0.0", "Apache-2.0") {
//       static const DriftLoss loss = {.size = sizeof loss, .coupling = coupling, .evaluate = evaluate};
//       const DriftComponent component = {.size = sizeof component, .name = DRIFT_TEXT("reinforce"),
//                                         .doc = DRIFT_TEXT("The policy gradient."), .loss = &loss};
//       registry->add(registry, &component);
//     }
//
// For everything here:
//
//   Structures  begin with their size in bytes, as whoever made them knows it. Later versions add fields at the end. A
//               field that lies beyond `size` is not there, which means the same as 0. Where several follow each other
//               in an array, they are `size` of the first one apart. Those called final have no size and never change.
//   Texts       are a pointer and a number of bytes, without a zero at the end; {NULL, 0} is the empty text. UTF-8,
//               but for a response, which holds any bytes.
//   Arrays      are row-major without gaps, aligned as their element needs. The letters at the end of a name are the
//               shape: B responses, L response positions, P prompt positions, F views, K terms
//               (docs/architecture.md).
//               Real numbers are double, whatever the run computes in. Truth values are 0 or 1.
//   Ownership   What a function is lent is valid until it returns, and is not changed by it. What it gives to a
//   function
//               of its host is copied before that returns. Only `self` is kept: from create() to destroy().
//   Errors      error() of the host says what is wrong and what to do, then the function returns DRIFT_FAILED. A call
//   in
//               which error() was called has failed, whatever it returns. No C++ exception, panic or longjmp may leave
//               a function of a plugin, and none leaves one of the host.
//   Threads     A function is called by one thread at a time per component, unless it says otherwise. A host is for one
//               call, and for the thread of that call.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The version of this interface, independent of that of LibTorch and of the other public headers. A plugin loads if
/// the major number is equal and its minor number is not above the host's.
#define DRIFT_PURE_MAJOR 1
#define DRIFT_PURE_MINOR 0

typedef uint32_t DriftStatus;
enum { DRIFT_OK = 0, DRIFT_FAILED = 1 };

/// Final.
typedef struct DriftText {
  const char* data;
  size_t size;
} DriftText;

/// Initialiser of a DriftText from a literal.
#define DRIFT_TEXT(LITERAL) \
  { LITERAL, sizeof(LITERAL) - 1 }

// ---- random numbers ----

/// A named stream of random numbers: RandomStream of drift/random.h, with the same numbers. Final.
typedef struct DriftStream {
  uint64_t key;
} DriftStream;

/// The place in a run at which a random number is used; each field is in [0, 2^32). RandomPoint of drift/random.h.
/// Final.
typedef struct DriftPoint {
  int64_t step;      ///< training step, or item number
  int64_t response;  ///< its number within the step
  int64_t position;
  int64_t draw;  ///< which draw at this point: attempt, view, …
} DriftPoint;

// ---- the host ----

enum { DRIFT_LOG_INFO = 0, DRIFT_LOG_WARNING = 1 };

typedef struct DriftView DriftView;
typedef struct DriftVerdict DriftVerdict;
typedef struct DriftItem DriftItem;
typedef struct DriftHost DriftHost;

/// The program that calls a component: one for each call. Each function takes the host that it is a member of.
struct DriftHost {
  size_t size;
  void (*error)(const DriftHost* host, DriftText what, DriftText hint);
  /// A line that begins with the component's kind and name: in log.txt, a warning also on the terminal.
  void (*log)(const DriftHost* host, uint32_t level, DriftText text);
  /// A warning, the first time that the component gives this text.
  void (*warn_once)(const DriftHost* host, DriftText text);
  /// A number for metrics.jsonl, as `COMPONENT/name`: sum / count, each added up over the training step. The name is of
  /// letters, digits and `_`.
  void (*metric)(const DriftHost* host, DriftText name, double sum, double count);

  /// A stream that depends on the run's seed, the component and `name`.
  DriftStream (*stream)(const DriftHost* host, DriftText name);
  /// One that is the same in every run.
  DriftStream (*seeded_stream)(const DriftHost* host, uint64_t seed, DriftText name);
  /// An independent one below `stream`: one for each kind of draw.
  DriftStream (*child)(const DriftHost* host, DriftStream stream, DriftText name);
  // A pure function of stream and point: 64 bits; uniform in [0, 1); uniform in {0, …, bound - 1}, bound >= 1.
  uint64_t (*bits)(const DriftHost* host, DriftStream stream, DriftPoint point);
  double (*uniform)(const DriftHost* host, DriftStream stream, DriftPoint point);
  int64_t (*below)(const DriftHost* host, DriftStream stream, int64_t bound, DriftPoint point);

  // Results. Each belongs to one kind of call, and is an error in any other.
  void (*loss_metric)(const DriftHost* host, DriftText name, double sum, double count);  ///< evaluate(): as `loss/name`
  void (*add_view)(const DriftHost* host, const DriftView* view);                        ///< plan(): any number
  void (*give_verdict)(const DriftHost* host, const DriftVerdict* verdict);              ///< score(): one
  void (*give_item)(const DriftHost* host, const DriftItem* item);  ///< training_item(), held_out_item(): one
};

// ---- parameters ----

enum {
  DRIFT_TRUTH = 1,
  DRIFT_INTEGER = 2,
  DRIFT_NUMBER = 3,
  DRIFT_STRING = 4,
  DRIFT_STRINGS = 5,
  DRIFT_INTEGERS = 6,
  DRIFT_NUMBERS = 7,
};

/// The value of a parameter: in the field of its type, the others 0. Final.
typedef struct DriftValue {
  uint32_t type;
  uint32_t truth;            ///< DRIFT_TRUTH
  int64_t integer;           ///< DRIFT_INTEGER
  double number;             ///< DRIFT_NUMBER
  DriftText string;          ///< DRIFT_STRING
  const DriftText* strings;  ///< DRIFT_STRINGS: `count` of them
  const int64_t* integers;   ///< DRIFT_INTEGERS
  const double* numbers;     ///< DRIFT_NUMBERS
  size_t count;
} DriftValue;

/// Bits of DriftParam::flags.
enum {
  DRIFT_HAS_MINIMUM = 1,
  DRIFT_HAS_MAXIMUM = 2,
  DRIFT_MINIMUM_EXCLUDED = 4,
  DRIFT_MAXIMUM_EXCLUDED = 8,
  DRIFT_ALLOW_INFINITE = 16,
  DRIFT_IS_PATH = 32,  ///< of a file or folder: in a TOML file relative to that file, absolute in create()
};

/// The declaration of a parameter. What a run sets is checked against it before create() is called.
typedef struct DriftParam {
  size_t size;
  DriftText name;
  DriftText doc;  ///< one line, without a full stop
  DriftValue default_value;
  uint32_t flags;
  uint32_t reserved;  ///< 0
  double minimum;     ///< of numbers, also those of a list
  double maximum;
  const DriftText* choices;  ///< of texts, also those of a list; null: any
  size_t choice_count;
} DriftParam;

// ---- losses ----

/// Which views a loss couples; Coupling of drift/loss_estimator.h.
enum {
  DRIFT_COUPLING_VIEW = 0,      ///< the loss is a sum over views
  DRIFT_COUPLING_RESPONSE = 1,  ///< the views of one response belong together
  DRIFT_COUPLING_BATCH = 2,     ///< all views belong together
};

/// What a loss needs besides the current log-probabilities; bits.
enum { DRIFT_NEEDS_OLD = 1, DRIFT_NEEDS_REFERENCE = 2, DRIFT_NEEDS_ENTROPY = 4 };

/// The views of one call: one or more complete coupled units. LossInput of drift/loss_estimator.h, which says more.
typedef struct DriftLossInput {
  size_t size;
  int64_t views;      ///< F, of this call
  int64_t length;     ///< L
  int64_t responses;  ///< B, of the whole batch

  // Log-probabilities of the sampled tokens at scored positions, 0 elsewhere. Null if the loss does not need them.
  const double* current_FL;
  const double* old_FL;
  const double* reference_FL;
  const double* entropy_FL;            ///< of the predicted distributions
  const double* reference_entropy_FL;  ///< null unless both are needed

  const int64_t* response_F;        ///< in [0, B)
  const int64_t* term_F;            ///< in [0, terms)
  const uint8_t* masked_FL;         ///< replaced by the mask token
  const uint8_t* target_FL;         ///< scored: a loss leaves out all other positions
  const uint8_t* committed_FL;      ///< scored positions that this very step committed
  const uint8_t* attended_FL;       ///< that others attend to
  const double* weight_F;           ///< of the view's contribution
  const uint8_t* prompt_masked_FP;  ///< null: none
  int64_t prompt_length;            ///< P; 0 without prompt_masked_FP

  const double* advantage_B;   ///< of the responses
  const double* advantage_BL;  ///< of the tokens: the response's, unless a value model or a correction tells them apart
  const uint8_t* valid_BL;     ///< neither padding nor mask token
  const int64_t* scored_B;     ///< positions that at least one view of the plan scores

  // Totals of the complete plan, of which a call may see only some views: what a mean is taken over.
  int64_t total_responses;  ///< including those without a view
  int64_t group_size;
  int64_t terms;            ///< K of the plan
  int64_t total_targets;    ///< at least 1
  int64_t optimizer_steps;  ///< per rollout
  int64_t total_views;
} DriftLossInput;

/// Made by the host, all 0; a loss fills it. Metrics: DriftHost::loss_metric.
typedef struct DriftLossResult {
  size_t size;
  double value;  ///< values of different views add up to the loss of the batch. Finite, if the log-probabilities are
  double* current_gradient_FL;  ///< d value / d current_FL; what stands at positions that are not scored is ignored
  double* entropy_gradient_FL;  ///< d value / d entropy_FL; null unless the entropy is needed
} DriftLossResult;

typedef struct DriftLoss {
  size_t size;
  uint32_t (*coupling)(const void* self);
  uint32_t (*needs)(const void* self);  ///< null: DRIFT_NEEDS_OLD
  /// A pure function of its input.
  DriftStatus (*evaluate)(const DriftHost* host, const void* self, const DriftLossInput* input,
                          DriftLossResult* result);
} DriftLoss;

// ---- masking strategies ----

enum { DRIFT_ONCE_PER_ROLLOUT = 0, DRIFT_EACH_INNER_ITERATION = 1 };

/// The responses for which a plan is made. MaskingInput and Trajectories of drift/masking_strategy.h, which say more.
typedef struct DriftMaskingInput {
  size_t size;
  int64_t responses;      ///< B
  int64_t length;         ///< L
  int64_t prompt_length;  ///< P
  int64_t step;           ///< training step
  int64_t inner_iteration;
  int64_t end_id;  ///< the model's end token, and in tokens_BL all tokens that end a response; may equal pad_id
  int64_t pad_id;
  DriftStream random;  ///< draw at {step, number_B[b], position, draw}

  const int64_t* number_B;          ///< DriftPoint::response of the draws for response b
  const int64_t* tokens_BL;         ///< the final tokens
  const uint8_t* valid_BL;          ///< neither padding nor mask token
  const int32_t* step_BL;           ///< the forward that committed the position; -1: never
  const double* commit_logprob_BL;  ///< at that time, temperature 1
  const int64_t* forwards_B;        ///< forwards that the response took part in
  const int64_t* prompt_tokens_BP;  ///< padded on the left
  const uint8_t* prompt_mask_BP;    ///< a token, not padding
  const int64_t* group_B;           ///< number of the response's group
} DriftMaskingInput;

/// A masked context that is scored.
struct DriftView {
  size_t size;
  int64_t response;                ///< in [0, B)
  int64_t term;                    ///< in [0, terms): which term of the estimator's sum
  const uint8_t* masked_L;         ///< replaced by the mask token; null: none
  const uint8_t* target_L;         ///< scored; null: what is masked
  const uint8_t* committed_L;      ///< scored positions that this very step committed; null: all of them
  const uint8_t* attended_L;       ///< that others attend to; null: all
  const uint8_t* prompt_masked_P;  ///< null: none
  const double* weight;            ///< of the view's contribution; null: 1
};

/// Made by the host, all 0; a strategy fills it. Views, in any order: DriftHost::add_view.
typedef struct DriftPlanResult {
  size_t size;
  int64_t terms;  ///< K: the estimator's sum over a response has this many terms
} DriftPlanResult;

typedef struct DriftMaskingStrategy {
  size_t size;
  uint32_t (*refresh)(const void* self);  ///< null: DRIFT_ONCE_PER_ROLLOUT
  DriftStatus (*plan)(const DriftHost* host, const void* self, const DriftMaskingInput* input, DriftPlanResult* result);
} DriftMaskingStrategy;

// ---- tasks ----

/// One problem. Texts are UTF-8; special tokens are written as in the tokenizer.
struct DriftItem {
  size_t size;
  DriftText id;               ///< unique within the task, the same in every run
  DriftText prompt;           ///< the question
  DriftText reference;        ///< what the reward needs, in the form that it expects
  DriftText demonstration;    ///< a response to imitate in `drift pretrain`
  DriftText response_prefix;  ///< first words of the response, given to the model
};

/// Every function may be called from several threads at once, and gives the same for the same arguments.
typedef struct DriftTask {
  size_t size;
  /// Item `index` of 0, 1, 2, … without end. Of `random` and `index` alone.
  DriftStatus (*training_item)(const DriftHost* host, const void* self, int64_t index, DriftStream random);
  int64_t (*held_out_size)(const void* self);
  /// 0 <= index < held_out_size(), the same for every seed. None is ever a training item.
  DriftStatus (*held_out_item)(const DriftHost* host, const void* self, int64_t index);
} DriftTask;

// ---- rewards ----

/// RewardStatus of drift/reward.h.
enum {
  DRIFT_VERDICT_OK = 0,
  DRIFT_VERDICT_NO_ANSWER = 1,
  DRIFT_VERDICT_PARSE_ERROR = 2,
  DRIFT_VERDICT_WRONG = 3,
  DRIFT_VERDICT_TIMEOUT = 4,
  DRIFT_VERDICT_CRASHED = 5,
  DRIFT_VERDICT_RESOURCE = 6,
  DRIFT_VERDICT_FORGED = 7,
  DRIFT_VERDICT_INFRASTRUCTURE = 8,  ///< could not be judged; never counts as 0: the group is dropped
};

typedef struct DriftRewardRequest {
  size_t size;
  DriftText response;  ///< any bytes, of any length
  const DriftItem* item;
  uint32_t truncated;  ///< the response ran out of positions before an end token
  uint32_t reserved;   ///< 0
} DriftRewardRequest;

struct DriftVerdict {
  size_t size;
  double value;     ///< in [0, 1]
  uint32_t solved;  ///< what accuracy counts, independent of the value
  uint32_t status;
  DriftText reason;  ///< one line for the user
};

typedef struct DriftReward {
  size_t size;
  /// Deterministic. Called from several threads at once.
  DriftStatus (*score)(const DriftHost* host, const void* self, const DriftRewardRequest* request);
} DriftReward;

// ---- registration ----

/// A component under a name: exactly one of the pointers to its functions is set. The functions stay valid until the
/// program ends; everything else is copied by DriftRegistry::add.
typedef struct DriftComponent {
  size_t size;
  DriftText name;
  DriftText doc;             ///< one sentence
  const DriftParam* params;  ///< null: none
  size_t param_count;
  void* data;  ///< given to create(); stays valid until the program ends
  /// Makes *self from the values of all parameters, in the order of their declaration. Null: *self is `data`.
  DriftStatus (*create)(const DriftHost* host, void* data, const DriftValue* values, void** self);
  void (*destroy)(void* self);  ///< null: nothing is to be freed

  const DriftLoss* loss;
  const DriftMaskingStrategy* masking_strategy;
  const DriftReward* reward;
  const DriftTask* task;
} DriftComponent;

typedef struct DriftRegistry DriftRegistry;
struct DriftRegistry {
  size_t size;
  void (*error)(const DriftRegistry* registry, DriftText what, DriftText hint);  ///< the plugin is refused
  void (*add)(const DriftRegistry* registry, const DriftComponent* component);
};

// ---- the plugin's file ----

/// What the host reads from the section `.drift_plugin` of the file before any code of the plugin runs. Final; texts
/// end with a zero.
typedef struct DriftPureDescriptor {
  char magic[16];        ///< "DRIFT PLUGIN"
  uint32_t struct_size;  ///< 224
  uint32_t abi_major;    ///< DRIFT_PURE_MAJOR, DRIFT_PURE_MINOR
  uint32_t abi_minor;
  uint32_t tier;  ///< 2: plain arrays
  char name[64];
  char version[32];
  char licence[64];   ///< an SPDX name
  char compiler[32];  ///< for information
} DriftPureDescriptor;

/// What the only exported function, `drift_plugin_entry`, returns. Final.
typedef struct DriftPureEntry {
  uint32_t struct_size;  ///< 24
  uint32_t reserved;     ///< 0
  const DriftPureDescriptor* descriptor;
  void (*register_components)(const DriftRegistry* registry);
} DriftPureEntry;

#ifdef __cplusplus
}
#define DRIFT_PURE_EXPORTED extern "C"
#else
#define DRIFT_PURE_EXPORTED extern
#endif

#define DRIFT_PURE_LITERAL_(x) #x
#define DRIFT_PURE_LITERAL(x) DRIFT_PURE_LITERAL_(x)
#if defined(__clang__)
#define DRIFT_PURE_COMPILER "clang " DRIFT_PURE_LITERAL(__clang_major__)
#elif defined(__GNUC__)
#define DRIFT_PURE_COMPILER "gcc " DRIFT_PURE_LITERAL(__GNUC__)
#else
#define DRIFT_PURE_COMPILER "unknown"
#endif

/// Makes a shared library a plugin. Use it once per library; the arguments are literals, and the body sees
/// `const DriftRegistry* registry`.
#define DRIFT_PURE_PLUGIN(NAME, VERSION, LICENCE)                                                                     \
  static void drift_plugin_register(const DriftRegistry* registry);                                                   \
  __attribute__((section(".drift_plugin"), used)) static const DriftPureDescriptor drift_plugin_descriptor = {        \
      "DRIFT PLUGIN", sizeof(DriftPureDescriptor), DRIFT_PURE_MAJOR, DRIFT_PURE_MINOR, 2, NAME, VERSION,              \
      LICENCE,        DRIFT_PURE_COMPILER};                                                                           \
  DRIFT_PURE_EXPORTED __attribute__((visibility("default"))) const DriftPureEntry* drift_plugin_entry(void);          \
  const DriftPureEntry* drift_plugin_entry(void) {                                                                    \
    static const DriftPureEntry entry = {sizeof(DriftPureEntry), 0, &drift_plugin_descriptor, drift_plugin_register}; \
    return &entry;                                                                                                    \
  }                                                                                                                   \
  static void drift_plugin_register(const DriftRegistry* registry)
