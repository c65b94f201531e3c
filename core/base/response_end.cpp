#include <core/base/response_end.h>

#include <ATen/TensorOperators.h>

#include <string>
#include <variant>

namespace drift {

bool drops_after_end(const Parameters& rollout) {
  const auto found = rollout.values().find("after_end");
  return found == rollout.values().end() || std::get<std::string>(found->second) == "dropped";
}

void drop_after_end(const ModelTraits& traits, Trajectories& made) {
  const auto ends_BL = ends_response(made.tokens_BL, traits).to(at::kLong);
  made.valid_BL = made.valid_BL.logical_and(ends_BL.cumsum(1) == ends_BL);  // the first end is still part of it
}

}  // namespace drift
