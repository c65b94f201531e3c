#include <core/boundary/tensor_words.h>

namespace drift {

std::string shape_words(at::IntArrayRef sizes) {
  std::string text = "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  return text + "]";
}

std::string type_words(at::ScalarType type) {
  switch (type) {
    case at::kLong: return "int64";
    case at::kInt: return "int32";
    case at::kBool: return "bool";
    case at::kFloat: return "float32";
    case at::kDouble: return "float64";
    case at::kBFloat16: return "bfloat16";
    case at::kHalf: return "float16";
    default: return c10::toString(type);
  }
}

std::string tensor_words(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return type_words(tensor.scalar_type()) + " " + shape_words(tensor.sizes()) + " on " + tensor.device().str();
}

void require_tensor(const char* name, const at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes,
                    at::Device device, const char* hint) {
  const bool fits = tensor.defined() && tensor.scalar_type() == type && tensor.sizes() == sizes &&
                    tensor.device().type() == device.type() && tensor.layout() == at::kStrided;
  if (fits) return;
  std::string text = "`";
  text.append(name).append("` must be ").append(type_words(type)).append(" ").append(shape_words(sizes));
  text.append(" on ").append(at::Device(device.type()).str()).append(", not ").append(tensor_words(tensor));
  throw Error(text, hint);
}

void require_if_defined(const char* name, at::Tensor& tensor, at::ScalarType type, at::IntArrayRef sizes,
                        const char* hint) {
  if (!tensor.defined()) return;
  require_tensor(name, tensor, type, sizes, at::kCPU, hint);
  tensor = tensor.contiguous();
}

}  // namespace drift
