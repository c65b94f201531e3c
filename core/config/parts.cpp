#include <core/config/parts.h>

#include <algorithm>

namespace drift {

ResolvedValue* unequal_parts(ResolvedSection& loss, std::int64_t group_size) {
  const auto part = std::ranges::find(loss.values, "micro_batch", &ResolvedValue::name);
  const auto norm = std::ranges::find(loss.values, "norm", &ResolvedValue::name);
  if (part == loss.values.end()) return nullptr;
  // Means over a response, or by its length, have no parts.
  if (norm != loss.values.end() && norm->value != Parameter::Value(std::string("token"))) return nullptr;
  const auto* size = std::get_if<std::int64_t>(&part->value);
  return size == nullptr || *size <= 0 || group_size % *size == 0 ? nullptr : &*part;
}

void make_equal(ResolvedValue& part, std::int64_t group_size) {
  std::int64_t size = std::min(std::get<std::int64_t>(part.value), group_size);
  while (group_size % size != 0) --size;
  const std::string where = "the largest divisor of train.group_size = " + std::to_string(group_size) + " up to " +
                            to_toml(part.value) + ", the value of " + part.origin.text();
  part.origin = {Origin::Kind::kDerived, where, {}, {}};
  part.value = size;
}

std::string divisors_of(std::int64_t group_size) {
  std::string sizes;
  for (std::int64_t size = 1; size <= group_size; ++size) {
    if (group_size % size == 0) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
  }
  return sizes;
}

}  // namespace drift
