#include <core/lab/fidelity/reference_study.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/dot.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

namespace drift {
namespace {

/// The parameter's name up to its first number between dots; all of it if there is none.
std::string part_of(const std::string& name) {
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    const bool is_number = end > begin && std::all_of(name.begin() + static_cast<std::ptrdiff_t>(begin),
                                                      name.begin() + static_cast<std::ptrdiff_t>(end),
                                                      [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_number) return name.substr(0, end);
    begin = end + 1;
  }
  return name;
}

double dot_in(const ModelPart& part, const at::Tensor& a_P, const at::Tensor& b_P) {
  double sum = 0;
  for (const ParameterRange& range : part.parameters)
    sum += a_P.narrow(0, range.begin, range.size).dot(b_P.narrow(0, range.begin, range.size)).item<double>();
  return sum;
}

}  // namespace

std::vector<ModelPart> model_parts(const Model& model) {
  std::vector<ModelPart> parts{{"all", parameter_ranges(model)}};
  for (const ParameterRange& range : parts.front().parameters) {
    const std::string name = part_of(range.name);
    const auto found = std::ranges::find(parts.begin() + 1, parts.end(), name, &ModelPart::name);
    if (found != parts.end()) {
      found->parameters.push_back(range);
    } else {
      parts.push_back({name, {range}});
    }
  }
  return parts;
}

ReferenceStudy::ReferenceStudy(const Model& model, std::vector<std::int64_t> views)
    : parts_(model_parts(model)),
      views_(std::move(views)),
      values_(parts_.size(), std::vector<Values>(views_.size())) {}

void ReferenceStudy::add(const at::Tensor& reference_P, const std::vector<at::Tensor>& estimates) {
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const double reference = dot_in(parts_[p], reference_P, reference_P);
    for (std::size_t k = 0; k < views_.size(); ++k) {
      const double estimate = dot_in(parts_[p], estimates[k], estimates[k]);
      if (reference == 0 || estimate == 0) continue;
      const double product = dot_in(parts_[p], estimates[k], reference_P);
      values_[p][k].cosine.push_back(product / std::sqrt(estimate * reference));
      values_[p][k].norm_ratio.push_back(std::sqrt(estimate / reference));
    }
  }
}

std::vector<ReferenceRow> ReferenceStudy::rows() const {
  std::vector<ReferenceRow> rows;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    for (std::size_t k = 0; k < views_.size(); ++k) {
      const Values& values = values_[p][k];
      rows.push_back({parts_[p].name, views_[k], estimate(values.cosine), estimate(values.norm_ratio)});
    }
  }
  return rows;
}

}  // namespace drift
