#pragma once

// A task makes problems:
//
//     void Sums::training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const {
//       const auto a = random.below(100, {index, 0, 0, 0}), b = random.below(100, {index, 0, 0, 1});
//       item.id = "train/" + std::to_string(index);
//       item.prompt = std::to_string(a) + " + " + std::to_string(b) + " = ";
//       item.reference = std::to_string(a + b);
//     }

#include <drift/component.h>
#include <drift/params.h>
#include <drift/random.h>
#include <drift/reserved.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift {

/// One problem. Texts are UTF-8; special tokens are written as in the tokenizer.
struct TaskItem {
  std::string id;               ///< unique within the task, the same in every run
  std::string prompt;           ///< the question; [prompt] of the configuration adds the words and turns around it
  std::string reference;        ///< what the reward needs to judge an answer, in the form that the reward expects
  std::string demonstration;    ///< a response to imitate in `drift pretrain`; empty if the task has none
  std::string response_prefix;  ///< first words of the response, given to the model; empty: none
  /// Turns of a conversation before the question, as JSON: [{"role": "user", "content": "1 + 1?"}, {"role":
  /// "assistant", "content": "2"}]. A role is one of the chat template's; empty: none.
  std::string earlier_turns;
  Reserved<std::string, 3> reserved_texts = {};
  Reserved<std::int64_t, 4> reserved_numbers = {};
};

/// Where problems come from: a generator or a dataset. Constructors: registry.h.
class DRIFT_API Task : public Component {
 public:
  static constexpr ComponentKind kKind = ComponentKind::kTask;

  /// The training item of number `index` (0, 1, 2, … without end: generators make new ones, data sets start over). A
  /// pure function of (random, index). Safe to call from several threads concurrently.
  virtual void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const = 0;

  /// Number of held-out items. None of them is ever a training item.
  virtual std::int64_t held_out_size() const = 0;
  /// Held-out item 0 <= index < held_out_size(), the same for every seed.
  virtual void held_out_item(std::int64_t index, TaskItem& item) const = 0;
};

/// Capability of a task whose training items are a fixed list, like those of a data set: the host can inspect them and
/// select some.
class DRIFT_API TrainingList {
 public:
  virtual ~TrainingList() = default;

  virtual std::int64_t training_size() const = 0;
  /// Training item 0 <= index < training_size() in the order of the list, not shuffled.
  virtual void listed_item(std::int64_t index, TaskItem& item) const = 0;
  /// Keep only the items with these ascending indices: training_size, listed_item and training_item then refer to these
  /// alone. Called before the first training_item, from one thread.
  virtual void keep(const std::vector<std::int64_t>& indices) = 0;
};

}  // namespace drift
