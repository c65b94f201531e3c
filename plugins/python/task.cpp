#include "components.h"
#include "script.h"

#include <drift/task.h>

namespace drift::python {
namespace {

void fill(const Object& made, TaskItem& item) {
  item.id = made[0].text();
  item.prompt = made[1].text();
  item.reference = made[2].text();
  item.demonstration = made[3].text();
  item.response_prefix = made[4].text();
}

class PythonTask final : public Task {
 public:
  explicit PythonTask(const ComponentContext& context) : script_(kKind, context) {}

  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override {
    const Gil gil;
    fill(call("training_item", {script_.object(), integer(index), bits(random.key())}), item);
  }

  std::int64_t held_out_size() const override {
    const Gil gil;
    return call("held_out_size", {script_.object()}).integer();
  }

  void held_out_item(std::int64_t index, TaskItem& item) const override {
    const Gil gil;
    fill(call("held_out_item", {script_.object(), integer(index)}), item);
  }

 private:
  Script script_;
};

}  // namespace

std::unique_ptr<Component> make_task(const ComponentContext& context) { return std::make_unique<PythonTask>(context); }

}  // namespace drift::python
