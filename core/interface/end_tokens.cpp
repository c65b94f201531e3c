// The one place that says which tokens end a response.

#include <drift/model.h>

#include <ATen/TensorOperators.h>

#include <algorithm>

namespace drift {

std::vector<std::int64_t> end_ids(const ModelTraits& traits) {
  std::vector<std::int64_t> ids;
  if (traits.end_id >= 0) ids.push_back(traits.end_id);
  for (const std::int64_t id : traits.further_end_ids) {
    if (id != 0) ids.push_back(id);
  }
  return ids;
}

bool ends_response(std::int64_t token, const ModelTraits& traits) {
  if (token == traits.end_id || token == traits.pad_id) return true;
  return token != 0 && std::ranges::count(traits.further_end_ids, token) > 0;
}

at::Tensor ends_response(const at::Tensor& tokens, const ModelTraits& traits) {
  at::Tensor ends = tokens == traits.pad_id;
  for (const std::int64_t id : end_ids(traits)) ends = ends.logical_or(tokens == id);
  return ends;
}

}  // namespace drift
