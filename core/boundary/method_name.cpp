#include <core/boundary/method_name.h>

namespace drift {

std::string method_name(const Registry& registry, const RunConfig& config) {
  const std::string algorithm = config.component("algorithm");
  const Bundle* bundle = registry.find_bundle(algorithm);
  if (bundle == nullptr) return algorithm;
  std::string parts;
  // A purpose that trains with neither, like pretraining, has the sections only where a file or a preset has them.
  const auto add = [&](const std::string& kind, const std::string& own) {
    const std::string section = "algorithm." + kind;
    const std::string name = config.has(section) ? config.component(section) : own;
    if (name != own) parts += (parts.empty() ? " with " : " and ") + kind + " " + name;
  };
  add("masking", bundle->masking);
  add("loss", bundle->loss);
  return algorithm + parts;
}

}  // namespace drift
