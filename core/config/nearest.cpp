#include <core/config/nearest.h>

namespace drift {
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "did you mean `" + nearest + "`?";
}

std::string name_hint(std::string_view name, const std::vector<std::string>& candidates, const std::string& what) {
  const std::string nearest = did_you_mean(name, candidates);
  return (nearest.empty() ? "" : nearest + "\n  = ") +
         (candidates.empty() ? "there are no " + what : what + ": " + joined(candidates));
}

std::string joined(const std::vector<std::string>& names, const std::string& separator) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : separator).append(name);
  return text;
}

}  // namespace drift
