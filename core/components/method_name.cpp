#include <core/components/method_name.h>

namespace drift {

std::string method_name(const Registry& registry, const RunConfig& config) {
  const std::string algorithm = config.component("algorithm");
  const Bundle* bundle = registry.find_bundle(algorithm);
  if (bundle == nullptr) return algorithm;
  std::string parts;
  const auto add = [&](const char* kind, const std::string& name, const std::string& own) {
    if (name != own) parts += (parts.empty() ? " with " : " and ") + (kind + (" " + name));
  };
  add("masking", config.component("algorithm.masking"), bundle->masking);
  add("loss", config.component("algorithm.loss"), bundle->loss);
  return algorithm + parts;
}

}  // namespace drift
