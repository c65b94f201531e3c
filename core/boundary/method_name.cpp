#include <core/boundary/method_name.h>

namespace drift {

std::string method_name(const Registry& registry, const RunConfig& config) {
  const std::string name = config.component("algorithm");
  const Algorithm* algorithm = registry.find_algorithm(name);
  if (algorithm == nullptr) return name;
  std::string parts;
  // A purpose that trains with neither, like pretraining, has the sections only where a file or a preset has them.
  const auto add = [&](const std::string& kind, const std::string& own) {
    const std::string section = "algorithm." + kind;
    const std::string chosen = config.has(section) ? config.component(section) : own;
    if (chosen != own) parts += (parts.empty() ? " with " : " and ") + kind + " " + chosen;
  };
  add("masking", algorithm->masking);
  add("loss", algorithm->loss);
  return name + parts;
}

}  // namespace drift
